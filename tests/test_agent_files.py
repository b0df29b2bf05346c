"""Agents in hostile files: what is declared is compared with what the file holds before anything is made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import envs
import lsip
import rl

torch = pytest.importorskip("torch")

from tests.test_si_cppo import Pull, agent, limit  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::rl.NoGoodPolicyWarning")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("agent") / "agent.npz"
    made = agent(constraint=limit(99.0), normalise=True).learn(80, evaluate_every=1)
    assert made.best is not None
    made.save(path)
    return path


@pytest.fixture(scope="module")
def tabular(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("agent") / "tabular.npz"
    mdp = envs.sewage(states=3, actions=2, seed=1)
    rl.SICPO(mdp, evaluation=rl.Exact(), update=rl.NPG(samples=20), eta=9.0).learn(3).save(path)
    return path


def forged(path: Path, out: Path, facts: dict[str, Any] | None = None, arrays: dict[str, Any] | None = None) -> Path:
    """The same file with other facts, by their paths, and other arrays."""
    with np.load(path) as held:
        parts = {name: held[name] for name in held}
    told = json.loads(str(parts.pop("facts")))
    for place, value in (facts or {}).items():
        branch: Any = told
        *above, last = place.split(".")
        for name in above:
            branch = branch[name]
        branch[last] = value
    parts |= arrays or {}
    np.savez(out, facts=np.array(json.dumps(told)), **{k: v for k, v in parts.items() if v is not None})
    return out


def loads(path: Path) -> rl.SICPPO:
    return rl.SICPPO.load(path, Pull(), limit(99.0), device="cpu")


def test_an_honest_file_is_read(written: Path, tabular: Path, tmp_path: Path) -> None:
    assert loads(forged(written, tmp_path / "same.npz")).iteration == 2
    assert rl.SICPO.load(tabular, envs.sewage(states=3, actions=2, seed=1)).iteration == 3


@pytest.mark.parametrize("hidden", [[10**8], [10**4, 10**4], [10**8, 1], [], [7], [8, 8], [2**62], [8.0], "8"])
def test_layers_that_the_file_does_not_hold_are_never_built(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: Any
) -> None:
    """One layer of 10**8 took 8 GB before it was refused."""
    path = forged(written, tmp_path / "large.npz", {"settings.config.hidden": hidden})
    monkeypatch.setattr(torch.nn.Linear, "__init__", lambda *given, **options: pytest.fail("a layer was made"))
    with pytest.raises(lsip.ModelError):
        loads(path)


@pytest.mark.parametrize("rows", [10**8, 2**40])
def test_layers_of_nothing_are_never_built(written: Path, tmp_path: Path, rows: int) -> None:
    """Arrays (10**8, 0) take no space in a file, and fit layers of that size."""
    hidden = {f"critics/{critic}.0.weight": np.zeros((rows, 0), np.float32) for critic in ("reward", "cost")}
    path = forged(written, tmp_path / "empty.npz", {"settings.config.hidden": [rows]}, hidden)
    with pytest.raises(lsip.ModelError, match="more than the file holds"):
        loads(path)
    long = {f"history/{name}": np.zeros((rows, 0)) for name in rl.state.Report._fields[:-1]}
    path = forged(written, tmp_path / "long.npz", {"state.history/rows": rows}, {**long, "recent": np.zeros((rows, 0))})
    with pytest.raises(lsip.ModelError, match="more than the file holds"):
        loads(path)


NO_COUNT = ("3", 2.5, -1, None, [1], True, 10**400, {"a": 1})
NO_NUMBER = ("3", None, [1.0], True, {"a": 1})


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        *((name, v) for name in ("iteration", "steps", "good", "confirmed", "run") for v in NO_COUNT),
        *((name, v) for name in ("best/reward", "best/violation", "trial", "memory/count") for v in NO_NUMBER),
        *((name, v) for name in ("observed/seen", "best/normaliser/seen", "history/rows") for v in NO_COUNT),
        ("best/parameters", 3.0),
        ("points", 1.0),
        ("rng/state", ["MT19937"]),
        ("rng/state", [{"bit_generator": "PCG64", "state": {"state": "x", "inc": 1}, "has_uint32": 0, "uinteger": 0}]),
    ],
)
def test_numbers_are_numbers(written: Path, tmp_path: Path, place: str, wrong: Any) -> None:
    with np.load(written) as held:
        drop = {name: None for name in held if name == place}
    path = forged(written, tmp_path / "typed.npz", None, drop)
    with np.load(path) as held:
        told = json.loads(str(held["facts"]))
        parts = {name: held[name] for name in held if name != "facts"}
    told["state"][place] = wrong
    np.savez(path, facts=np.array(json.dumps(told)), **parts)
    with pytest.raises(lsip.ModelError, match="typed"):
        loads(path)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("history/iteration", np.array([0.5, 1.5])),
        ("history/good", np.array([3, 4])),
        ("history/reward", np.array([1, 2])),
        ("history/reward", np.zeros((2, 3))),
        ("history/numbers/kl", np.zeros(5)),
        ("history/numbers/kl", np.zeros((2, 2))),
        ("history/y", np.zeros((2, 4))),
        ("best/parameters", np.arange(5)),
        ("best/normaliser/mean", np.zeros(9)),
        ("memory/mean", np.arange(3)),
        ("prices", np.zeros(4)),
        ("points", np.zeros((2, 1))),
        ("returned/mean", np.zeros(3)),
        ("recent", np.arange(3)),
        ("iteration", np.arange(3)),
        ("critics/reward.0.weight", np.zeros((8, 9), np.float32)),
        ("critics/cost.2.weight", np.zeros((2, 8), np.float32)),
    ],
)
def test_arrays_have_their_types_and_shapes(written: Path, tmp_path: Path, name: str, array: Any) -> None:
    with pytest.raises(lsip.ModelError):
        loads(forged(written, tmp_path / "shaped.npz", None, {name: array}))


@pytest.mark.parametrize("recent", [np.zeros((4, 9, 9)), np.zeros((2, 3)), np.arange(6).reshape(1, 3, 2)])
def test_tables_of_policies_have_their_shape(tabular: Path, tmp_path: Path, recent: Any) -> None:
    with pytest.raises(lsip.ModelError):
        rl.SICPO.load(
            forged(tabular, tmp_path / "tables.npz", None, {"recent": recent}),
            envs.sewage(states=3, actions=2, seed=1),
        )


def test_another_environment_is_told_from_damage(written: Path) -> None:
    with pytest.raises(lsip.ModelError, match="other observations, actions or index sets"):
        rl.SICPPO.load(written, Pull(), rl.SemiInfiniteCost(lsip.Box([0, 0], [1, 1]), limit().cost, 1.0), device="cpu")
