"""Whether an answer is true, decided in fractions and balls from the plain model: nothing of lsip is asked.

False is what is proven to be false: a point of an index set where the solution breaks its constraint, a finite row or
bound that it breaks, an optimum outside of the bounds, a model that has a feasible point after all. A lower bound is
moreover *confirmed* when its multipliers prove it once more here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite, isnan

from .answers import REFUSED, Answer
from .balls import Point, ball, precise
from .duality import lower_bound
from .equalities import ULPS, equations
from .formulas import number
from .models import Atom, Family, Model
from .search import violation, worst
from .seen import judge_duals

ULP = Fraction(1, 2**52)
NEAR = Fraction(1, 10**9)  # relative: how closely a bound is confirmed


@dataclass(frozen=True)
class Verdict:
    """What is wrong with an answer, in words; all empty when nothing is."""

    false: tuple[str, ...] = ()  # a certified statement that is not true
    misleading: tuple[str, ...] = ()  # a bound, neither certified nor said to rest on trust, that excludes the truth
    broken: tuple[str, ...] = ()  # an answer that contradicts itself or holds nan
    confirmed: bool | None = None  # whether the multipliers prove the statement once more; None where none is made


def judge(model: Model, answer: Answer, seed: int = 0) -> Verdict:
    """Compare an answer with the truth."""
    if answer.status == REFUSED:
        return Verdict()
    broken = tuple(_broken(model, answer))
    if model.truth.meaningless:
        return Verdict(false=(f"{answer.status} for a model that means nothing",) if answer.certified else ())
    probed = (*_probed(model, answer, seed), *_claimed(model, answer, seed))
    if not answer.certified:
        return Verdict(probed, () if answer.trusts else tuple(_bounds(model, answer)), broken)
    checks = {"OPTIMAL": _optimal, "INFEASIBLE": _infeasible, "UNBOUNDED": _unbounded}
    if answer.status not in checks:
        return Verdict((f"{answer.status} is called certified",), (), broken)
    false = (*probed, *_trust(model, answer))
    if broken:
        return Verdict(false, (), broken)
    return Verdict((*false, *checks[answer.status](model, answer, seed)), (), (), _confirmed(model, answer))


def _broken(model: Model, answer: Answer) -> Iterator[str]:
    if isnan(answer.lower) or isnan(answer.upper):
        yield f"bounds [{answer.lower}, {answer.upper}]"
    if answer.status not in ("INFEASIBLE", "UNBOUNDED") and answer.lower > answer.upper:
        yield f"lower {answer.lower!r} > upper {answer.upper!r}"
    if answer.status == "OPTIMAL" and not (len(answer.x) == model.n and all(map(isfinite, answer.x))):
        yield f"x = {answer.x}"
    if answer.status == "OPTIMAL" and not (isfinite(answer.lower) and isfinite(answer.upper)):
        yield f"optimal with bounds [{answer.lower}, {answer.upper}]"


def _trust(model: Model, answer: Answer) -> Iterator[str]:
    if model.truth.on_trust:
        yield f"{answer.status} is called certified, though nothing but another's word speaks for it"
    if answer.unverified is not None:
        yield f"verify() does not accept it: {answer.unverified}"
    yield from (f"certified on trust: {trust}" for trust in answer.trusts)


def _infeasible(model: Model, answer: Answer, seed: int) -> Iterator[str]:
    if model.truth.feasible:
        yield "INFEASIBLE, but there is a feasible point"


def _unbounded(model: Model, answer: Answer, seed: int) -> Iterator[str]:
    if (model.truth.most if model.maximise else model.truth.least) is not None:
        yield "UNBOUNDED, but the objective is bounded"
    if model.truth.feasible is False:
        yield "UNBOUNDED, but there is no feasible point"
    yield from _recedes(model, answer, seed)


def _recedes(model: Model, answer: Answer, seed: int) -> Iterator[str]:
    """Whether the direction improves the objective, and no constraint ends it."""
    d = tuple(map(Fraction, answer.direction))
    if len(d) != model.n or model.sign * (model.objective(d) - Fraction(model.constant)) >= 0:
        yield f"the direction {answer.direction} does not improve the objective"
        return
    sides = zip(d, model.lower, model.upper, strict=True)
    if any((v < 0 and isfinite(low)) or (v > 0 and isfinite(high)) for v, low, high in sides):
        yield f"the direction {answer.direction} leaves the bounds"
    for i, row in enumerate(model.rows):
        rise = sum((Fraction(a) * v for a, v in zip(row.a, d, strict=True)), Fraction(0))
        if rise and (row.sense == "==" or (rise > 0) == (row.sense == "<=")):
            yield f"the direction {answer.direction} leaves row {i}"
    for i, family in enumerate(model.families):
        found = worst(replace(family, b=number(0.0)), d, [], seed)
        if found.value > 0:
            at = ", ".join(f"{float(v)!r}" for v in found.point)
            yield f"along the direction, family {i} rises by {float(found.value.mid()):.3g} at ({at})"


def _optimal(model: Model, answer: Answer, seed: int) -> Iterator[str]:
    if model.truth.feasible is False:
        yield "OPTIMAL, but there is no feasible point"
    if model.truth.unbounded:
        yield "OPTIMAL, but the objective is unbounded"
    x = tuple(map(Fraction, answer.x))
    yield from _bounds(model, answer)
    yield from _value(model, answer, x)
    yield from _finite(model, answer, x)
    exact, complaint = _solved(model, answer, x)
    if complaint:
        yield complaint
    yield from _everywhere(model, answer, x, exact, seed)
    if answer.duals is not None:
        yield from judge_duals(model, answer.duals, answer.x, answer.value, answer.upper - answer.lower)


def _bounds(model: Model, answer: Answer) -> Iterator[str]:
    """Whether the optimum lies between the bounds."""
    least, most = model.truth.least, model.truth.most
    if most is not None and isfinite(answer.lower) and Fraction(answer.lower) > most:
        by = float(Fraction(answer.lower) - most)
        yield f"lower {answer.lower!r} exceeds the optimum, {float(most)!r}, by {by:.3g}"
    if least is not None and isfinite(answer.upper) and Fraction(answer.upper) < least:
        by = float(least - Fraction(answer.upper))
        yield f"upper {answer.upper!r} is below the optimum, {float(least)!r}, by {by:.3g}"


def _value(model: Model, answer: Answer, x: Point) -> Iterator[str]:
    """Whether the point attains the value and the bound that it is said to attain."""
    exact = model.objective(x)
    size = sum((abs(Fraction(c) * v) for c, v in zip(model.c, x, strict=True)), abs(Fraction(model.constant)))
    moved = sum((abs(Fraction(c)) * Fraction(w) for c, w in zip(model.c, answer.box, strict=False)), Fraction(0))
    if abs(Fraction(answer.value) - exact) > 4 * (model.n + 2) * ULP * size:
        yield f"value {answer.value!r} is not the objective at x, {float(exact)!r}"
    attained = Fraction(answer.lower if model.maximise else answer.upper)
    if model.sign * (exact - attained) > moved:
        yield f"x attains {float(exact)!r}, not {float(attained)!r}"


def _finite(model: Model, answer: Answer, x: Point) -> Iterator[str]:
    """Bounds, finite inequalities and the cone, relative to nothing; a mixture keeps the bounds within its box."""
    room = [Fraction(w) for w in answer.box] if model.door == "decomposed" else [Fraction(0)] * model.n
    for j, (v, w) in enumerate(zip(x, room, strict=True)):
        low, high = model.lower[j], model.upper[j]
        if (isfinite(low) and v + w < Fraction(low)) or (isfinite(high) and v - w > Fraction(high)):
            yield f"x[{j}] = {float(v)!r} is not between {low!r} and {high!r}"
    for i, row in enumerate(model.rows):
        left = sum((Fraction(a) * v for a, v in zip(row.a, x, strict=True)), Fraction(0))
        over = left - Fraction(row.b) if row.sense == "<=" else Fraction(row.b) - left
        if row.sense != "==" and over > 0:
            size = abs(Fraction(row.b)) + sum(abs(Fraction(a) * v) for a, v in zip(row.a, x, strict=True))
            yield f"row {i} is broken by {float(over):.3g}, {float(over / size):.3g} of its terms"
    if model.cone is not None:
        square = sum((v * v for v in x[: model.cone.size]), Fraction(0))
        most = (Fraction(model.cone.right) / Fraction(model.cone.scale)) ** 2
        if square > most:
            yield f"the norm is broken by {float(square - most) / (2 * float(most) ** 0.5):.3g}"


def _solved(model: Model, answer: Answer, x: Point) -> tuple[Point | None, str | None]:
    """An exact solution of the equalities within the certificate's box, or what is wrong."""
    if not any(row.sense == "==" for row in model.rows):
        return None, None
    rounded = bool(answer.assumptions)
    system = equations(model.rows, x, ULPS * ULP if rounded else Fraction(0), answer.dependent)
    if system.contradiction > ULPS * ULP:
        return None, f"equalities contradict each other by {float(system.contradiction):.3g} of their terms"
    if system.contradiction and not rounded:
        return None, f"equalities contradict each other by {float(system.contradiction):.3g}, and nothing says so"
    widths = [Fraction(w) for w in answer.box] or [Fraction(0)] * model.n
    step = system.correction(x, widths)
    if step is None:
        return None, "equalities have no solution in the certificate's box"
    length = sum((s / w) ** 2 for s, w in zip(step, widths, strict=True) if w)
    # Divided by the half-widths, a solution in the box is at most this long, and the step is the shortest of all.
    if length > model.n:
        return (
            None,
            f"equalities have no solution in the box: the nearest is {float(length) ** 0.5:.3g} half-widths away",
        )
    return tuple(v + s for v, s in zip(x, step, strict=True)), None


def _everywhere(model: Model, answer: Answer, x: Point, exact: Point | None, seed: int) -> Iterator[str]:
    """Whether the families hold at all index points that a search looks at."""
    for i, family in enumerate(model.families):
        hints = [m.point for m in answer.multipliers if m.family == i and len(m.point) == family.over.dim]
        hints += [tuple(map(float, a.point)) for a in model.atoms if a.point is not None and a.index == i]
        found = worst(family, x, hints, seed)
        at = ", ".join(f"{float(v)!r}" for v in found.point)
        if found.value > 0:
            yield f"family {i} is broken by {float(found.value.mid()):.3g} at ({at})"
        elif exact is not None:
            with precise():
                value = violation(family, [ball(v) for v in exact], found.point)
            if value > 0:
                yield f"family {i} is broken by {float(value.mid()):.3g} at ({at}), where the equalities hold"


def _claimed(model: Model, answer: Answer, seed: int) -> Iterator[str]:
    """Whether an index point exceeds what is proven about the violation at x, whatever the status is."""
    if answer.certified or len(answer.violation) != len(model.families) or not all(map(isfinite, answer.x)):
        return
    if len(answer.x) != model.n or answer.trusts:
        return
    x = tuple(map(Fraction, answer.x))
    for i, (family, bound) in enumerate(zip(model.families, answer.violation, strict=True)):
        hints = [m.point for m in answer.multipliers if m.family == i and len(m.point) == family.over.dim]
        yield from _exceeded(i, family, x, bound, hints, seed)


def _probed(model: Model, answer: Answer, seed: int) -> Iterator[str]:
    """Whether an index point exceeds the bound on the violation at the probe."""
    x = tuple(map(Fraction, model.probe))
    for i, (family, bound) in enumerate(zip(model.families, answer.probed, strict=False)):
        hints = [tuple(map(float, a.point)) for a in model.atoms if a.point is not None and a.index == i]
        yield from (f"at x = {model.probe} {words}" for words in _exceeded(i, family, x, bound, hints, seed))


def _exceeded(
    i: int, family: Family, x: Point, bound: float, hints: list[tuple[float, ...]], seed: int
) -> Iterator[str]:
    """Whether an index point has a larger violation at x than the bound that is proven."""
    if not isfinite(bound):
        return
    found = worst(family, x, hints, seed)
    if found.value > ball(Fraction(bound)):
        at = ", ".join(f"{float(v)!r}" for v in found.point)
        over = float((found.value - ball(Fraction(bound))).mid())
        yield f"family {i} exceeds its proven bound {bound!r} by {over:.3g} at ({at})"


def _confirmed(model: Model, answer: Answer) -> bool | None:
    """Whether the multipliers prove the lower bound, or the contradiction, once more."""
    if answer.status == "UNBOUNDED" or model.door == "cvxpy":
        return None  # a direction is judged as it is; the multipliers of cones are not part of an answer
    families = len(model.families)
    if len(answer.row_multipliers) not in (0, len(model.rows)) or any(m.family >= families for m in answer.multipliers):
        return False
    if model.limit is not None and answer.duals is not None and any(s.divided_by for s in answer.duals.points):
        return None  # rows in the limit are no rows of the model
    # Over an unbounded set, the atoms of a certificate are in coordinates of their own.
    held = answer.multipliers if model.limit is None or answer.duals is None else answer.duals.points
    atoms = [Atom(m.family, model.families[m.family].over.exact(m.point), m.weight) for m in held]
    atoms += [Atom(i, None, w) for i, w in enumerate(answer.row_multipliers) if w]
    bound = lower_bound(model, atoms, objective=answer.status == "OPTIMAL")
    if bound is None:
        return False
    if answer.status == "INFEASIBLE":
        return bound > 0
    claimed = Fraction(-answer.upper if model.maximise else answer.lower)
    return bound >= claimed - NEAR * max(abs(claimed), abs(Fraction(answer.value)))
