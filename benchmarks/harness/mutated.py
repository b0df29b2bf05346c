"""Files of ours, and what may happen to them: flipped bits, cuts, other archives, other numbers and other words."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lsip
import rl
from envs import ship

from .fuzz import specimens as own

JUNK: tuple[Any, ...] = (None, True, -1, 10**18, 1.5, 1e300, "", "abc", "OPTIMAL", [], [[]], {}, {"a": 1}, [1, "b"])
SHAPES = ((), (0,), (1,), (3,), (10**5,), (2, 2), (1, 2, 3))
CLAIMS = ((10**11,), (10**6, 10**6), (2**62, 4), (-1, -8))


class Kind(NamedTuple):
    """A kind of file: one that is whole, and how it is read."""

    bytes: bytes
    ending: str
    load: Callable[[Path], Any]


def _written(name: str, save: Callable[[Path], Any]) -> bytes:
    path = own.folder() / name
    save(path)
    return path.read_bytes()


def kinds() -> dict[str, Kind]:
    """One of everything that we write and read."""
    mdp, plan = own.mdp(), rl.plan(own.mdp(), method="decompose")
    deep = own.deep().learn(20)
    priced = rl.baselines.PPOLagrangian(own.ships(), ship.constraint(), **own.small()).learn(20)

    return {
        "solution": Kind(_written("a.npz", own.solution().save), ".npz", lsip.load),
        "problem": Kind(_written("a.json", own.problem().save), ".json", lsip.load),
        "plan": Kind(_written("b.npz", own.plan().save), ".npz", lambda p: rl.Plan.load(p, mdp)),
        "mixture": Kind(_written("c.npz", plan.save), ".npz", lambda p: rl.Plan.load(p, mdp)),
        "SICPO": Kind(_written("d.npz", own.learned().save), ".npz", lambda p: rl.SICPO.load(p, mdp, device="cpu")),
        "SICPPO": Kind(
            _written("e.npz", deep.save),
            ".npz",
            lambda p: rl.SICPPO.load(p, own.ships(), ship.constraint(), device="cpu"),
        ),
        "PPOLagrangian": Kind(
            _written("f.npz", priced.save),
            ".npz",
            lambda p: rl.baselines.PPOLagrangian.load(p, own.ships(), ship.constraint(), device="cpu"),
        ),
        "transitions": Kind(
            own.table().read_bytes(), ".csv", lambda p: rl.Dataset.from_csv(p, states=3, actions=2).counts.tolist()
        ),
    }


def mutated(kind: Kind, rng: random.Random) -> tuple[str, bytes]:
    """What was done to a file, and what is left of it."""
    ways: list[Callable[[bytes, random.Random], tuple[str, bytes]]] = [_bits, _cut, _noise]
    if kind.ending == ".json":
        ways += [_other_words] * 4
    if kind.ending == ".npz":
        ways += [_other_facts, _other_array, _other_claim, _more_arrays, _compressed] * 2
    return rng.choice(ways)(kind.bytes, rng)


def _bits(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 20))):
        found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return "bits", bytes(found)


def _cut(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    return "cut", data[: rng.randrange(len(data))]


def _noise(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    start, length = rng.randrange(len(data)), rng.randrange(200)
    return "noise", data[:start] + rng.randbytes(length) + data[start + rng.randrange(200) :]


def _spoilt(data: Any, rng: random.Random) -> None:
    """Change one place of plain data, drop it, or double it."""
    places = list(_places(data))
    holder, key = rng.choice(places)
    what = rng.random()
    if what < 0.7:
        holder[key] = rng.choice(JUNK)
    elif what < 0.85:
        del holder[key]
    elif isinstance(holder, list):
        holder.append(holder[key])
    else:
        holder[f"{key} more"] = holder[key]


def _places(data: Any) -> Any:
    for key, part in list(data.items() if isinstance(data, dict) else enumerate(data)):
        yield data, key
        if isinstance(part, dict | list):
            yield from _places(part)


def _other_words(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    found = json.loads(data)
    _spoilt(found, rng)
    return "words", json.dumps(found).encode()


def _parts(data: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(data)) as held:
        return dict(held)


def _packed(parts: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **parts)
    return stream.getvalue()


def _other_facts(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    parts = _parts(data)
    facts = json.loads(str(parts["facts"]))
    _spoilt(facts, rng)
    return "facts", _packed({**parts, "facts": np.array(json.dumps(facts))})


def _other_array(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    parts = _parts(data)
    name = rng.choice(sorted(parts))
    array, way = parts[name], rng.randrange(6)
    if way == 0:
        del parts[name]
    elif way == 1:
        parts[name] = np.full(rng.choice(SHAPES), rng.choice((0.0, np.nan, np.inf, 1e308)))
    elif way == 2:
        parts[name] = array.astype("U") if array.size < 10**4 else array[:0]
    elif way == 3 and array.dtype.kind in "iuf" and array.size:
        parts[name] = array.copy()
        parts[name].flat[rng.randrange(array.size)] = rng.choice((-1, 99, 10**9))
    elif way == 4:
        parts[name] = array.astype(np.complex128) if array.dtype.kind in "iuf" else np.zeros(3)
    else:
        parts[name] = array[None]
    return f"array {name}", _packed(parts)


def _other_claim(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """An array whose header says that it is huge."""
    parts = _parts(data)
    name = rng.choice(sorted(parts))
    header, stream = io.BytesIO(), io.BytesIO()
    claim = {"descr": rng.choice(("<f8", "<U1000000", "|O", "|V1000000000")), "fortran_order": False}
    np.lib.format.write_array_header_1_0(header, {**claim, "shape": rng.choice(CLAIMS)})
    with zipfile.ZipFile(stream, "w") as made:
        for other, array in parts.items():
            written = io.BytesIO()
            np.save(written, array)
            made.writestr(f"{other}.npy", header.getvalue() if other == name else written.getvalue())
    return f"claim of {name}", stream.getvalue()


def _more_arrays(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    more: Any = rng.choice((np.zeros(10**6), np.array(["x" * 1000]), np.zeros((0, 5)), np.array([{}], dtype=object)))
    return "more arrays", _packed({**_parts(data), "unknown": more})


def _compressed(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    parts, stream = _parts(data), io.BytesIO()
    parts[rng.choice(sorted(parts))] = np.zeros(10**7)
    np.savez_compressed(stream, **parts)
    return "compressed", stream.getvalue()
