"""Index sets as plain data: {kind, arguments}, the name of the class and what its constructor takes.

A missing end of an interval or a box is null. A set that is cut by inequalities holds them as steps of formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..domains import Domain
from ..domains.base import KINDS
from ..errors import ModelError
from ..schema import Schema, Tagged, demand, text, whole
from .graph import Condition, Index
from .limits import LIMITS
from .parameter import Parameter, parameters_in
from .parametric_region import ParametricRegion, moved_by
from .region import Region
from .serialize import Data, Writer, finite_or_none, read_steps, step_schema

Cut = Region | ParametricRegion


def domain_schema() -> Tagged:
    """What an index set must look like."""
    kinds: dict[str, dict[str, Schema]] = {}
    some = Tagged("kind", kinds)
    for name, kind in KINDS.items():
        kinds[name] = {"arguments": [some] if kind.filed == [Domain] else kind.filed}
    kinds["Region"] = {"arguments": (some,), "name": text, "steps": [step_schema()], "inside": [whole]}
    return some


def inequalities(region: Cut, parameters: Sequence[Parameter] = ()) -> Data:
    """What cuts a set: the name of the index, steps, and which of their results are nowhere negative."""
    index = region.index
    writer = Writer([index], parameters)
    inside = [writer.place(condition.u) for condition in region.conditions]
    return {"name": index.name, "steps": writer.steps, "inside": inside}


def domain_data(domain: Domain, cut: Callable[[Cut], Data] = inequalities) -> Data:
    """An index set as plain data; `cut` writes the inequalities of a region."""
    if isinstance(domain, Cut):
        return {"kind": "Region", "arguments": [domain_data(domain.base, cut)], **cut(domain)}
    if KINDS.get(type(domain).__name__) is not type(domain):
        raise ModelError(f"A file has no word for an index set of your own, {domain!r}. Pickle the problem instead.")
    return {"kind": type(domain).__name__, "arguments": [_argument(a, cut) for a in domain._arguments()]}


def _argument(value: object, cut: Callable[[Cut], Data]) -> Any:
    if isinstance(value, Domain):
        return domain_data(value, cut)
    if isinstance(value, np.ndarray):
        return [_argument(v, cut) for v in value.tolist()] if value.ndim == 1 else value.tolist()
    return finite_or_none(value) if isinstance(value, float) else value


def read_domain(data: Data, parameters: Sequence[Parameter] = ()) -> Domain:
    """The index set; its data have been compared with the schema."""
    demand(_coordinates(data) <= LIMITS.most_unlisted, f"Index sets have {LIMITS.most_unlisted} coordinates at most.")
    return _made(data, parameters)


def _coordinates(data: Data) -> int:
    given: list[Any] = data["arguments"]
    filed: Any = KINDS[data["kind"]].filed
    counts = (v for v, schema in zip(given, filed, strict=False) if schema is whole)
    return sum(counts) + sum(_coordinates(part) for part in given if isinstance(part, dict))


def _made(data: Data, parameters: Sequence[Parameter]) -> Domain:
    kind, given = data["kind"], data["arguments"]
    if kind in ("Interval", "Box"):
        return KINDS[kind](*(_ends(part, sign) for part, sign in zip(given, (-np.inf, np.inf), strict=True)))
    if kind == "Region":
        base = _made(given[0], parameters)
        index = Index(data["name"], base)
        steps = read_steps(data["steps"], [index], parameters)
        demand(data["inside"] and max(data["inside"]) < len(steps), "A region needs inequalities, made by its steps.")
        inside = [steps[i] for i in data["inside"]]
        demand(all(u.indices() for u in inside), "An inequality of a region does not depend on its index.")
        conditions = tuple(Condition(u, False, (">=", u, 0.0)) for u in inside)
        waits = moved_by(base) or parameters_in(*inside)
        return ParametricRegion(base, index, conditions) if waits else Region(base, index, conditions)
    return KINDS[kind](*(_made(part, parameters) if isinstance(part, dict) else part for part in given))


def _ends(part: Any, missing_end: float) -> Any:
    if isinstance(part, list):
        return [_ends(end, missing_end) for end in part]
    return missing_end if part is None else float(part)
