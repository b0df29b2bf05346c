"""The state of a run: one value that is saved, loaded, copied and undone as such."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lsip.schema import Schema, conform, double, flag, number, whole

from .flat import Memory
from .lifted import doubles
from .policies import Policy

Array = NDArray[np.float64]
Tree = Any  # dictionaries of trees, arrays, and what JSON can hold
BETWEEN = "/"  # the names of a path through a tree
SCALARS: dict[Any, Schema] = {int: whole, float: double, bool: flag}
KINDS: dict[Any, str] = {int: "iu", float: "f", bool: "b", Array: "f"}  # of columns, as NumPy names them


class Report(NamedTuple):
    """One iteration, or one evaluation."""

    iteration: int
    steps: int  # of the environment so far; 0 for tabular models
    reward: float  # the mean return, discounted
    violation: float  # V_{c_y} - u_y at the worst y found
    y: Array  # (m,)
    good: bool  # whether that is within the tolerance
    arrived: float  # share of episodes that ended by themselves
    seconds: float
    undiscounted: float = np.nan  # the mean return as it was paid
    margin: float = 0.0  # what chance may add to the violation, at the confidence that was asked for
    numbers: Mapping[str, float] = {}  # what else was measured: loss, kl, entropy, explained_variance, …


class Normaliser(NamedTuple):
    """Running mean and mean square of numbers or vectors, on the device where these are."""

    mean: Tensor
    square: Tensor
    seen: int = 0

    @classmethod
    def of(cls, shape: tuple[int, ...] = (), device: torch.device | None = None) -> Normaliser:
        """One that has seen nothing."""
        kind = doubles(device or torch.device("cpu"))
        return cls(torch.zeros(shape, dtype=kind, device=device), torch.ones(shape, dtype=kind, device=device))

    def saw(self, values: Tensor) -> Normaliser:
        """With the rows of `values` (N, …), too."""
        values = values.to(self.mean)
        share = len(values) / (self.seen + len(values))
        square = self.square if self.seen else torch.zeros_like(self.square)
        return Normaliser(
            (1 - share) * self.mean + share * values.mean(dim=0),
            (1 - share) * square + share * (values**2).mean(dim=0),
            self.seen + len(values),
        )

    def to(self, device: torch.device) -> Normaliser:
        """The same on another device."""
        kind = doubles(device)
        return self._replace(mean=self.mean.to(device, kind), square=self.square.to(device, kind))

    @property
    def deviation(self) -> Tensor:
        """Never zero."""
        return (self.square - self.mean**2).clamp(min=1e-8).sqrt()


class KeptPolicy(NamedTuple):
    """A policy that was kept, and how it did in episodes after that, which had no part in the choice."""

    reward: float
    parameters: Tensor  # as one vector
    violation: float = np.nan
    normaliser: Normaliser | None = None  # of the observations, when it was kept


@dataclass(eq=False)
class State:
    """All that an iteration may change. Networks, memories and lists are changed in place, all else is replaced."""

    policy: Policy
    rng: np.random.Generator
    critics: nn.ModuleDict = field(default_factory=nn.ModuleDict)
    memory: Memory = field(default_factory=dict)  # of the update
    critic_memory: Memory = field(default_factory=dict)
    observed: Normaliser = field(default_factory=lambda: Normaliser.of((0,)))
    returned: Normaliser = field(default_factory=Normaliser.of)
    spent: Normaliser = field(default_factory=Normaliser.of)
    points: Array = field(default_factory=lambda: np.zeros((0, 0)))  # (k, m), the working set of index points
    prices: Array = field(default_factory=lambda: np.zeros(0))  # (k,), their multipliers
    iteration: int = 0
    steps: int = 0
    good: int = 0  # iterations within the tolerance
    confirmed: int = 0  # policies that looked feasible, and were played again
    trial: float = 0.0  # chance by which the next one may be wrong; 0 where nothing is random
    most: int = 0  # episodes that it may take
    judged: int = 0  # steps of the environment that trials have taken
    run: int = 0  # of the log, where there are several
    best: KeptPolicy | None = None  # the largest return of all feasible policies
    drawn: KeptPolicy | None = None  # uniform among all good policies so far
    recent: tuple[Array, ...] = ()  # tables of the last good policies
    history: list[Report] = field(default_factory=list)
    evaluations: list[Report] = field(default_factory=list)


# ---- undoing ---------------------------------------------------------------------------------------------------------


def snapshot(state: State) -> Callable[[], None]:
    """What puts the state back to what it is now."""
    undo = [_undo(state, f.name, getattr(state, f.name)) for f in fields(state)]

    def back() -> None:
        for each in undo:
            each()

    return back


def _undo(state: State, name: str, value: object) -> Callable[[], None]:
    if isinstance(value, nn.Module):
        saved = {key: part.clone() for key, part in value.state_dict().items()}
        return lambda: value.load_state_dict(saved) and None
    if isinstance(value, np.random.Generator):
        position = value.bit_generator.state
        return lambda: setattr(value.bit_generator, "state", position)
    if isinstance(value, dict):
        copied = {key: part.clone() if isinstance(part, Tensor) else part for key, part in value.items()}
        return lambda: setattr(state, name, copied)
    if isinstance(value, list):
        length = len(value)
        return lambda: value.__delitem__(slice(length, None))
    return lambda: setattr(state, name, value)


class Misfit(ValueError):  # noqa: N818
    """A file of another problem."""


# ---- files -----------------------------------------------------------------------------------------------------------


def pack(state: State) -> tuple[dict[str, Any], dict[str, Any]]:
    """What JSON can hold of a state, and its arrays, by their paths."""
    facts: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    for path, leaf in _leaves("", {f.name: _plain(getattr(state, f.name)) for f in fields(state)}):
        (arrays if isinstance(leaf, np.ndarray) else facts)[path] = leaf
    return facts, arrays


def is_part(name: str) -> bool:
    """Whether an array of a file belongs to a state, by its path."""
    return name.split(BETWEEN)[0] in {f.name for f in fields(State)}


def unpack(state: State, facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Fill a new state of the same problem with what was packed."""
    tree: dict[str, Any] = {}
    for path, leaf in (*facts.items(), *arrays.items()):
        *above, last = path.split(BETWEEN)
        branch = tree
        for name in above:
            branch = branch.setdefault(name, {})
        branch[last] = leaf
    kinds, width = get_type_hints(State), state.observed.mean.shape
    for f in fields(state):
        setattr(state, f.name, _build(kinds[f.name], getattr(state, f.name), tree[f.name], f.name))
    if state.observed.mean.shape != width or state.observed.square.shape != width:
        raise Misfit(f"observations have shape {state.observed.mean.shape} instead of {width}")
    _check(state)


def _check(state: State) -> None:
    """Refuse vectors that do not fit the networks, and move them to where these are."""
    size = sum(p.numel() for p in state.policy.parameters())
    for memory, count in (
        (state.memory, size),
        (state.critic_memory, sum(p.numel() for p in state.critics.parameters())),
    ):
        for name, part in memory.items():
            if isinstance(part, Tensor):
                if part.ndim and part.shape != (count,):
                    raise ValueError(f"{name} of a memory has shape {tuple(part.shape)}")
                memory[name] = part.to(next(state.policy.parameters()).device)
    place = next(state.policy.parameters()).device
    for name in ("observed", "returned", "spent"):
        setattr(state, name, getattr(state, name).to(place))
    for which in ("best", "drawn"):
        kept = getattr(state, which)
        if kept is not None and kept.normaliser is not None:
            setattr(state, which, kept._replace(normaliser=kept.normaliser.to(place)))
    for kept in (state.best, state.drawn):
        if kept is not None and kept.parameters.shape != (size,):
            raise ValueError(f"a kept policy has {tuple(kept.parameters.shape)} parameters")
        seen = None if kept is None else kept.normaliser
        if seen is not None and (seen.mean.shape, seen.square.shape) != (state.observed.mean.shape,) * 2:
            raise ValueError(f"a kept policy observes {seen.mean.shape} numbers")
    if len(state.prices) != len(state.points):
        raise ValueError(f"there are {len(state.points)} index points and {len(state.prices)} prices")
    if any(row.y.shape != state.points.shape[1:] for row in (*state.history, *state.evaluations)):
        raise ValueError("index points have another dimension")


def _plain(value: object) -> Tree:
    """A value as a tree."""
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy()
    if isinstance(value, nn.Module):
        return {key: _plain(part) for key, part in value.state_dict().items()}
    if isinstance(value, np.random.Generator):
        return {"state": [value.bit_generator.state]}
    if isinstance(value, Mapping):
        return {"parts": len(value), **{key: _plain(part) for key, part in value.items()}}
    if isinstance(value, list):
        return {"rows": len(value)} | {name: _column([getattr(row, name) for row in value]) for name in Report._fields}
    if hasattr(value, "_fields"):
        return {name: _plain(getattr(value, name)) for name in value._fields}
    return np.array(value) if isinstance(value, tuple) else value


def _column(values: list[Any]) -> Tree:
    """One field of many rows; of dictionaries, one column a key, nan where it is missing."""
    if values and isinstance(values[0], Mapping):
        keys = sorted({key for each in values for key in each})
        return {"parts": len(keys), **{key: np.array([each.get(key, np.nan) for each in values]) for key in keys}}
    return np.array(values)


def _leaves(path: str, tree: Tree) -> Iterator[tuple[str, Any]]:
    if not isinstance(tree, dict) or not tree:
        yield path, tree
        return
    for name, part in tree.items():
        yield from _leaves(f"{path}{BETWEEN}{name}" if path else name, part)


def _build(kind: Any, now: Any, tree: Tree, path: str) -> Any:
    """A value of this type from its tree; `now` is what it replaces, or what is filled."""
    if get_origin(kind) in (Union, type(int | None)):  # it may be missing
        inner = next(each for each in get_args(kind) if each is not type(None))
        return None if tree is None else _build(inner, now, tree, path)
    if isinstance(now, nn.Module):
        for key, part in now.state_dict().items():
            _fill(part, tree[key], f"{path}{BETWEEN}{key}")
        return now
    if kind is np.random.Generator:
        now.bit_generator.state = tree["state"][0]
        return now
    if isinstance(now, np.ndarray | Tensor) and np.ndim(tree) != now.ndim:
        raise ValueError(f"{path} has shape {np.shape(tree)}")
    if kind is Tensor:
        return torch.as_tensor(_floats(tree, path))
    if get_origin(kind) is dict:
        if tree.pop("parts") != len(tree):
            raise KeyError(f"a part of {path}")
        return {key: _part(part, f"{path}{BETWEEN}{key}") for key, part in tree.items()}
    if get_origin(kind) is list:
        return _rows(tree, path)
    if get_origin(kind) is tuple:
        return tuple(_floats(tree, path))
    if isinstance(kind, type) and hasattr(kind, "_fields"):
        kinds = get_type_hints(kind)
        return kind(
            **{
                name: _build(kinds[name], getattr(now, name, None), tree[name], f"{path}{BETWEEN}{name}")
                for name in kinds
            }
        )
    if kind in SCALARS:
        conform(tree, SCALARS[kind], path)
        return kind(tree)
    return _floats(tree, path)


def _floats(tree: Tree, path: str) -> Array:
    """An array of floats."""
    if not isinstance(tree, np.ndarray) or tree.dtype.kind != "f":
        raise ValueError(f"{path} must be an array of floats; got {getattr(tree, 'dtype', type(tree).__name__)}")
    return tree


def _part(tree: Tree, path: str) -> Tensor | float:
    """What a memory holds: a number, or an array of floats as a tensor."""
    if isinstance(tree, np.ndarray):
        return torch.as_tensor(_floats(tree, path))
    conform(tree, number, path)
    plain: float = tree
    return plain


def _fill(part: Tensor, saved: Array, path: str) -> None:
    if part.shape != saved.shape:
        raise Misfit(f"{path} has shape {saved.shape} instead of {tuple(part.shape)}")
    part.copy_(torch.as_tensor(saved))


def _rows(tree: Tree, path: str) -> list[Report]:
    conform(tree["rows"], whole, f"{path}{BETWEEN}rows")
    if not tree["rows"]:
        return []
    numbers, kinds = tree["numbers"], get_type_hints(Report)
    if numbers.pop("parts") != len(numbers):
        raise KeyError(f"a column of {path}")
    names = Report._fields[:-1]
    columns = [tree[name] for name in names]
    for name, column in (*zip(names, columns, strict=True), *numbers.items()):
        if not isinstance(column, np.ndarray) or not column.ndim or len(column) != tree["rows"]:
            raise ValueError(f"{path} has columns of different lengths")
        if column.ndim != (2 if name == "y" else 1):
            raise ValueError(f"{path}{BETWEEN}{name} has shape {column.shape}")
        if column.dtype.kind not in KINDS[kinds.get(name, float)]:
            raise ValueError(f"{path}{BETWEEN}{name} holds {column.dtype}")
    return [
        Report(*(part if np.ndim(part) else part.item() for part in row))._replace(
            numbers={key: float(v[i]) for key, v in numbers.items() if np.isfinite(v[i])}
        )
        for i, row in enumerate(zip(*columns, strict=True))
    ]
