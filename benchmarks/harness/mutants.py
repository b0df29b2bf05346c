"""Small proofs whose truth is known in rational numbers, and false variants of them.

A mutant is a proof with one of its numbers, its index set or its status changed; with a multiplier or an index point,
the claim may be raised as well. It is called false only where fractions say so, by code that shares nothing with the
checker: the point breaks a bound, a finite row or a constraint at some index point of the set as it stands in the file;
its objective is above the claimed upper bound; the claimed bounds are above or below the optimum of the unchanged
model, which is known; the gap is not closed; the direction leaves the feasible set; or the status is another one.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import lsip
from lsip.proof.export import proof_data

Data = dict[str, Any]
POINTS = 33  # rational index points at which constraints are looked at
RAISED = 0.7  # of the mutants of multipliers and index points, how many claim more than is true
SIZES = (1e-12, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 10.0)  # relative changes


@dataclass(frozen=True)
class Example:
    """A model, and what is known of it."""

    build: Callable[[], lsip.Problem]
    optimum: Fraction | None  # of the minimisation form; None if infeasible or unbounded


def _hill() -> lsip.Problem:
    x, t = lsip.Variable(name="x"), lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(lsip.minimize(x), [lsip.forall(t, x >= t * (1 - t))])


def _chord() -> lsip.Problem:
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= t**2)])


def _row() -> lsip.Problem:
    x, t = lsip.Variable(2, name="x", lower=0, upper=10), lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(t, x[0] * t + x[1] <= 3), x[0] + x[1] <= 1])


def _few() -> lsip.Problem:
    x, y = lsip.Variable(name="x", lower=-100, upper=100), lsip.Index("y", lsip.Finite([[0.0], [0.25], [0.75], [1.0]]))
    return lsip.Problem(lsip.minimize(x), [lsip.forall(y, x >= 3 * y[0] - 2 * y[0] ** 2)])


def _share() -> lsip.Problem:
    x, t = lsip.Variable(2, name="x", lower=0), lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(lsip.minimize(x[0] + 2 * x[1]), [lsip.forall(t, x[0] + x[1] * t <= 2), x[0] + x[1] == 1])


def _clash() -> lsip.Problem:
    x, t = lsip.Variable(name="x", lower=-10, upper=10), lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(lsip.minimize(x), [lsip.forall(t, x >= t * (1 - t) + 0.125), x <= 0.25])


def _ray() -> lsip.Problem:
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(lsip.minimize(-x[0]), [lsip.forall(t, x[1] * t - x[0] <= 1)])


def _cut() -> lsip.Problem:
    x, t = lsip.Variable(name="x"), lsip.Index("t", lsip.Interval(0, 1).where(lambda t: t * t <= 0.25))
    return lsip.Problem(lsip.minimize(x), [lsip.forall(t, x >= 2 * t - t**2)])


EXAMPLES = {
    "hill": Example(_hill, Fraction(1, 4)),
    "chord": Example(_chord, Fraction(1, 2)),
    "row": Example(_row, Fraction(-1)),
    "few": Example(_few, Fraction(9, 8)),
    "share": Example(_share, Fraction(1)),
    "cut": Example(_cut, Fraction(3, 4)),
    "clash": Example(_clash, None),
    "ray": Example(_ray, None),
}
TOLERANCES = {"tol": (1e-20, 0.0, -1.0, 1e-30), "atol": (0.0, 1e-300, 1e-30, -1.0)}
KINDS = (
    "x",
    "lower",
    "upper",
    *TOLERANCES,
    "multiplier",
    "point",
    "coefficient",
    "side",
    "domain",
    "status",
    "direction",
)


def exported(solution: Any) -> Data:
    """What `solution.export` writes."""
    return proof_data(solution.program, solution.certificate, solution.status, solution.tol, solution.atol)


def proofs() -> dict[str, Data]:
    """The honest proof of every example, as plain data."""
    return {name: exported(example.build().solve(verbose=False)) for name, example in EXAMPLES.items()}


def mutant(data: Data, rng: random.Random) -> tuple[Data, str]:
    """A copy with one thing changed, and what it was."""
    changed = copy.deepcopy(data)
    kind = rng.choice([k for k in KINDS if k == "status" or k in TOLERANCES or _places(data, k, random.Random(0))])
    if kind == "status":
        changed["status"] = rng.choice([s for s in ("OPTIMAL", "INFEASIBLE", "UNBOUNDED") if s != data["status"]])
        return changed, kind
    if kind in TOLERANCES:
        for name in (kind, rng.choice(list(TOLERANCES))):  # the other one alone may still allow the gap
            changed[name] = rng.choice(TOLERANCES[name])
        return changed, kind
    for holder, key in _places(changed, kind, rng):
        old = holder[key]
        if isinstance(old, int | float) and not isinstance(old, bool):
            size = rng.choice(SIZES) * max(abs(old), 1.0)
            holder[key] = float(old) + rng.choice((-1.0, 1.0)) * size
            if kind in ("multiplier", "point") and data["status"] == "OPTIMAL" and rng.random() < RAISED:
                claim = changed["claim"]
                claim["lower"] = claim["upper"] = claim["upper"] + rng.choice(SIZES) * max(abs(claim["upper"]), 1.0)
            return changed, kind
    return changed, "nothing"


def _places(data: Data, kind: str, rng: random.Random) -> list[tuple[Any, Any]]:
    """Where numbers of this kind stand, in random order."""
    model, measure = data["model"], data["measure"]
    found: list[tuple[Any, Any]] = []
    if kind == "x":
        found = [(data["point"]["x"], i) for i in range(len(data["point"]["x"]))]
    elif kind in ("lower", "upper"):
        found = [(data["claim"], kind)]
    elif kind == "multiplier":
        found = [(atom, "multiplier") for atom in measure["atoms"]] + [
            (measure["rows"], i) for i in range(len(measure["rows"]))
        ]
    elif kind == "point":
        found = [(atom["point"], i) for atom in measure["atoms"] for i in range(len(atom["point"]))]
    elif kind == "coefficient":
        steps = model["families"][0]["steps"]
        lists = [model["c"], *(step["weights"] for step in steps if step["op"] == "linear")]
        found = [(part, i) for part in lists for i in range(len(part))]
        found += [(step, "value") for step in steps if step["op"] == "constant"]
        found += [(pair, 1) for row in model["rows"]["entries"] for pair in row]
    elif kind == "side":
        sides = [model["rows"]["lower"], model["rows"]["upper"], model["lower"], model["upper"]]
        found = [(side, i) for side in sides for i in range(len(side))]
    elif kind == "domain":
        found = list(_set_numbers(model["families"][0]["domain"]))
    elif kind == "direction" and data.get("direction"):
        found = [(data["direction"], i) for i in range(len(data["direction"]))]
    rng.shuffle(found)
    return found


def _set_numbers(domain: Data) -> Iterator[tuple[Any, Any]]:
    """The places of all numbers of an index set, and of the inequalities that cut it."""
    if domain["kind"] != "Region":
        yield from _numbers(domain["arguments"])
        return
    yield from _set_numbers(domain["arguments"][0])
    yield from ((step, "value") for step in domain["steps"] if step["op"] == "constant")


def _numbers(values: list[Any]) -> Iterator[tuple[Any, Any]]:
    """The places of all numbers in nested lists."""
    for i, value in enumerate(values):
        if isinstance(value, list):
            yield from _numbers(value)
        else:
            yield values, i


def false(name: str, honest: Data, data: Data, kind: str) -> bool:
    """Whether fractions show that a mutant claims something that is not so; False where they do not tell."""
    if kind == "status":
        return True
    if kind == "nothing" or data["status"] == "INFEASIBLE":
        return False  # a contradiction may be one with other numbers, too
    if data["status"] == "UNBOUNDED":
        d = [Fraction(v) for v in data["direction"]]
        if _broken(data, d, Fraction(0)) or _objective(data, d) - Fraction(data["model"]["constant"]) >= 0:
            return True
    x = [Fraction(v) for v in data["point"]["x"]]
    exact = not _equalities(data)  # otherwise the claim is about a point next to x
    if exact and _broken(data, x, Fraction(1)):
        return True
    if data["status"] == "UNBOUNDED":
        return False
    lower, upper = (Fraction(data["claim"][end]) for end in ("lower", "upper"))
    allowed = max(Fraction(data["tol"]) * max(abs(lower), abs(upper)), Fraction(data["atol"]))
    if upper - lower > allowed or lower > upper or (exact and _objective(data, x) > upper):
        return True
    optimum = EXAMPLES[name].optimum
    return bool(data["model"] == honest["model"] and optimum is not None and not lower <= optimum <= upper)


def _equalities(data: Data) -> bool:
    rows = data["model"]["rows"]
    return any(a == b for a, b in zip(rows["lower"], rows["upper"], strict=True))


def _objective(data: Data, x: list[Fraction]) -> Fraction:
    c = [Fraction(v) for v in data["model"]["c"]]
    return sum((a * b for a, b in zip(c, x, strict=True)), Fraction(data["model"]["constant"]))


def _broken(data: Data, x: list[Fraction], scale: Fraction) -> bool:
    """Whether a point (a direction, with scale 0) breaks a bound, a finite row, or a constraint at an index point."""
    model = data["model"]
    finite = [sum((Fraction(a) * x[int(j)] for j, a in row), Fraction(0)) for row in model["rows"]["entries"]]
    values, lower, upper = (
        [*parts]
        for parts in (
            (*x, *finite),
            (*model["lower"], *model["rows"]["lower"]),
            (*model["upper"], *model["rows"]["upper"]),
        )
    )
    for v, low, high in zip(values, lower, upper, strict=True):
        if (low is not None and v < scale * Fraction(low)) or (high is not None and v > scale * Fraction(high)):
            return True
    family = model["families"][0]
    return any(v > 0 for t in _index_points(family["domain"]) for v in _violations(family, x, t, scale))


def _violations(family: Data, x: list[Fraction], t: Fraction, scale: Fraction) -> list[Fraction]:
    """a(t) x - scale b(t) of every row, by the graph of the file."""
    known = _results(family["steps"], t)
    return [
        sum((known[k] * x[j] for j, k in zip(columns, steps, strict=True)), Fraction(0)) - scale * known[side]
        for columns, steps, side in zip(family["columns"], family["coefficients"], family["rhs"], strict=True)
    ]


def _results(steps: list[Data], t: Fraction) -> list[Fraction]:
    """What all steps of a formula find at an index point."""
    known: list[Fraction] = []
    for step in steps:
        known.append(_OPERATIONS[step["op"]](step, [known[i] for i in step["args"]], t))
    return known


_OPERATIONS: dict[str, Callable[[Data, list[Fraction], Fraction], Fraction]] = {
    "index": lambda step, args, t: t,
    "constant": lambda step, args, t: Fraction(step["value"]),
    "add": lambda step, args, t: sum(args, Fraction(0)),
    "multiply": lambda step, args, t: args[0] * args[1],
    "divide": lambda step, args, t: args[0] / args[1],
    "negate": lambda step, args, t: -args[0],
    "power": lambda step, args, t: args[0] ** int(step["exponent"]),
    "linear": lambda step, args, t: sum(
        (Fraction(w) * a for w, a in zip(step["weights"], args, strict=True)), Fraction(0)
    ),
}


def _index_points(domain: Data) -> list[Fraction]:
    """Rational points of the index set of a file, its ends among them."""
    arguments = domain["arguments"]
    if domain["kind"] == "Finite":
        return [Fraction(point[0]) for point in arguments[0]]
    if domain["kind"] == "Region":
        points = [(t, _results(domain["steps"], t)) for t in _index_points(arguments[0])]
        return [t for t, known in points if all(known[i] >= 0 for i in domain["inside"])]
    low, high = map(Fraction, arguments)
    return [low + (high - low) * k / (POINTS - 1) for k in range(POINTS)] if low <= high else []
