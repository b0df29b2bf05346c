"""Integrals and expectations of what is affine in x: again affine, with coefficients that are enclosed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import fsum
from typing import Any

import numpy as np

from ..domains import Domain, Finite, Product
from ..domains.points import as_points
from ..errors import ModelError
from ..expressions.affine import Affine, Term, enclosed
from ..expressions.arrangements import Gather, Join
from ..expressions.enclosed import known
from ..expressions.folds import spelled
from ..expressions.graph import Expression, Index
from ..expressions.interval import Interval, reciprocal
from ..expressions.parameter import parameters_in
from ..expressions.parametric_region import moved_by
from ..expressions.polynomials import Polynomials, neighbours
from ..expressions.printing import text
from ..expressions.signs import GuardedCell
from ..expressions.tape import Tape
from ..expressions.undefined import coordinates, refuse_undefined
from ..validation import Array, numbers, shown
from .distributions import Distribution, read_distribution
from .quadrature import means
from .unit_cube_map import unit_cube_map
from .volume import ExactNumbers, Volume, between, mean, volume

Indices = Index | Sequence[Index]


@dataclass(frozen=True)
class IntegralTuning:
    """What is let pass.

    Parameters
    ----------
    mass
        How far the integral of a density may be from 1, and ends of a distribution from those of the index set.
    """

    mass: float = 1e-9


TUNING = IntegralTuning()


def integral(expression: Affine | Expression, index: Indices) -> Affine:
    """The integral over the set of an index (or of several) of what is affine in x and any function of the index.

    It is affine in x. Its coefficients are enclosed, polynomials exactly and all else by verified quadrature, and what
    is certified of a model holds for the true integrals. Sets are an Interval, a Box, a Simplex, a Ball, or products;
    the volume is that of `Domain.measure`, within the plane of a simplex for example.

    Examples
    --------
    >>> import numpy as np, lsip
    >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    >>> fit = x[0] + x[1] * t
    >>> problem = lsip.Problem(lsip.minimize(lsip.integral(fit - np.exp(t), t)), [lsip.forall(t, fit >= np.exp(t))])
    >>> print(problem)
    minimize ∫ (x[0] + x[1] t - exp(t)) dt
    subject to x[0] + x[1] t ≥ exp(t)   for all t ∈ [0, 1]
    >>> round(problem.solve(verbose=False).value, 6)
    0.140859
    """
    integrand = Integrand.of(expression, index, "integral")
    integrand.refuse_endless()
    size = volume(integrand.domain)
    return integrand.result(lambda e: integrand.enclosed(e, size), ("integral", expression, *integrand.indices))


def expectation(expression: Affine | Expression, index: Indices, over: object = None) -> Affine:
    """The expectation over a random index of an expression that is affine in x. The result is affine in x.

    Parameters
    ----------
    expression
        What is averaged.
    index
        The index that is random, or several.
    over
        How it is distributed. None: uniformly over its set. An array: one of these samples, (N, m) or (N,) for a
        number, each as likely as the others. An expression: a density over its set, proven to be nowhere negative; it
        has to integrate to 1 up to 1e-9, and is divided by its integral, so that rounded numbers in it do no harm. A
        distribution of scipy.stats with its parameters (uniform, norm, expon, gamma, beta, triang, truncnorm), for an
        index that is a number.

    Examples
    --------
    >>> import numpy as np, lsip
    >>> from scipy import stats
    >>> x, t = lsip.Variable(name="x"), lsip.Index("t", lsip.Interval(-np.inf, np.inf))
    >>> mean = lsip.expectation(x * t**2 + np.cos(t), t, stats.norm(1, 2))
    >>> round(mean.at({x: 1}), 6), round(float(5 + np.exp(-2) * np.cos(1)), 6)
    (5.073122, 5.073122)
    """
    integrand = Integrand.of(expression, index, "expectation")
    origin = ("expectation", expression, *integrand.indices)
    if over is None and isinstance(integrand.domain, Finite):
        over = integrand.domain.points
    if over is None:
        integrand.refuse_endless()
        return integrand.result(lambda e: integrand.enclosed(e, Volume(Fraction(1))), origin)
    if isinstance(over, Expression):
        return _weighted(integrand, over, origin)
    law = read_distribution(over)
    if law is not None:
        return _random(integrand, law, origin)
    points = samples_of(over, integrand.domain, "expectation")
    return integrand.result(lambda e: averages(Tape((e,), integrand.indices), points), origin)


def _weighted(integrand: Integrand, density: Expression, origin: tuple[Any, ...]) -> Affine:
    """With a density over the set."""
    if density.shape:
        raise ModelError(f"A density is one number at every index point; {text(density)} has shape {density.shape}.")
    _check_formula(density, integrand.indices, "expectation")
    integrand.refuse_endless()
    _refuse_negative(integrand, density)
    size = volume(integrand.domain)
    mass = integrand.enclosed(density, size)
    low, high = float(mass.ends.lo[0]), float(mass.ends.hi[0])
    if not (high >= 1 - TUNING.mass and low <= 1 + TUNING.mass):
        raise ModelError(
            f"The density {text(density)} integrates to {low:.10g} over {integrand.domain}, not to 1; divide it by "
            "that number."
        )
    return integrand.result(lambda e: _normalised(integrand.enclosed(e * density, size), mass), origin)


def _refuse_negative(integrand: Integrand, density: Expression) -> None:
    """Raise where a density is negative, or is not proven to be nonnegative on the whole set."""
    for cell in integrand.domain.flat_cells():
        found = GuardedCell(cell, integrand.indices).open_box(density)
        if found is not None:
            where = found.at(coordinates(integrand.indices))
            said = f"is negative at {where}" if found.negative else f"is not proven to be nonnegative where {where}"
            raise ModelError(
                f"The density {text(density)} {said}; a density is nowhere negative. Write np.maximum(…, 0) around it, "
                "or take a smaller index set."
            )


def _normalised(found: ExactNumbers, mass: ExactNumbers) -> ExactNumbers:
    """Integrals divided by that of the density, which may be off by the rounding of its numbers."""
    if mass.exact is not None and mass.exact[0] == 1:
        return found
    if found.exact is not None and mass.exact is not None:
        exact = [v / mass.exact[0] for v in found.exact]
        return ExactNumbers(between(exact), exact)
    return ExactNumbers(found.ends * reciprocal(mass.ends))


def _random(integrand: Integrand, law: Distribution, origin: tuple[Any, ...]) -> Affine:
    """With a distribution of a number."""
    domain = integrand.domain
    if domain.dim != 1:
        raise ModelError(
            f"{law.name} is the distribution of a number, and the index has {domain.dim} coordinates; give a density "
            "or samples."
        )
    low, high = law.ends
    room = TUNING.mass * law.scale  # ends are rounded
    if low < domain.lower[0] - room or high > domain.upper[0] + room:
        raise ModelError(
            f"{law.name} has values between {low:g} and {high:g}, and the index ranges over {domain} only; let it "
            "range over lsip.Interval(-np.inf, np.inf), or over a set with all of them."
        )
    index = integrand.indices[0]
    return integrand.result(lambda e: law.means(e, index), origin)


@dataclass(frozen=True, eq=False)
class Integrand:
    """What is integrated, and over which indices."""

    affine: Affine
    indices: tuple[Index, ...]
    domain: Domain

    @staticmethod
    def of(expression: object, index: Indices, name: str) -> Integrand:
        indices = (index,) if isinstance(index, Index) else tuple(index) if isinstance(index, list | tuple) else ()
        if not indices or not all(isinstance(i, Index) for i in indices):
            raise ModelError(f"lsip.{name} needs an Index, or several, after what it is of; got {shown(index)}.")
        affine = spelled(Affine.of(expression))
        for formula in (affine.offset, *(t.coefficient for t in affine.terms)):
            _check_formula(formula, indices, name)
        domains = [i.domain for i in indices]
        return Integrand(affine, indices, domains[0] if len(domains) == 1 else Product(*domains))

    def result(self, means: Callable[[Expression], ExactNumbers], origin: tuple[Any, ...]) -> Affine:
        """The affine array whose numbers are the means of those of this one."""
        affine = self.affine
        formulas = [t.coefficient if t.numbers is None else enclosed(t.numbers) for t in affine.terms]
        offset, *coefficients = _numbers([affine.offset, *formulas], means, origin)
        terms = zip(affine.terms, coefficients, strict=True)
        total = Affine(affine.shape, tuple(Term(t.variable, t.rows, t.columns, e) for t, e in terms), offset)
        total.origin = origin
        return total

    def enclosed(self, formula: Expression, size: Volume) -> ExactNumbers:
        """Integrals (K,): means times a volume."""
        found = Polynomials.of(Tape((formula,), self.indices))
        if found is not None:
            return size.exactly([mean(p, self.domain) for p in found.rational])
        refuse_undefined((formula,), self.indices, self.domain, "An integrand")
        chart = unit_cube_map(self.domain)
        u, instead, density = chart.pulled_back(self.indices)
        if not chart.dim:
            return size.times(Tape((formula,), (u,), instead).enclose(np.zeros((1, 1)), np.zeros((1, 1)))[0])
        return size.times(means(Tape((formula * density,), (u,), instead)))

    def refuse_endless(self) -> None:
        """Raise where the set has no ends."""
        if not self.domain.bounded:
            raise ModelError(
                f"An integral over {self.domain}, which has no ends, needs a density or a distribution: "
                "lsip.expectation takes one."
            )


def _check_formula(formula: Expression, indices: tuple[Index, ...], name: str) -> None:
    """Refuse other indices, and parameters."""
    other = [i.name for i in formula.indices() if all(i is not j for j in indices)]
    if other:
        names = ", ".join(i.name for i in indices)
        raise ModelError(f"An {name} over {names} cannot depend on {', '.join(other)} too; list every index.")
    given = (*parameters_in(formula), *(p for i in indices for p in moved_by(i.domain)))
    if given:
        raise ModelError(
            f"An {name} is computed when it is written, and takes no parameter; got {given[0].name}. Multiply it by "
            f"the parameter afterwards, or write its value, {given[0].name}.value."
        )


def _numbers(
    formulas: list[Expression], means: Callable[[Expression], ExactNumbers], origin: tuple[Any, ...]
) -> list[Expression]:
    """The means of all elements of formulas, in their shapes: those of polynomials apart, which are exact."""
    size = sum(e.size for e in formulas)
    lower, upper = np.zeros(size), np.zeros(size)
    exact: list[Fraction | None] = [None] * size
    for elements, places in _alike(formulas):
        found = means(elements)
        lower[places], upper[places] = found.ends.lo, found.ends.hi
        for place, value in zip(places, found.exact or (), strict=False):
            exact[place] = value
    if not (np.isfinite(lower) & np.isfinite(upper)).all():
        raise ModelError(
            f"{text(origin)} has an integrand for which no finite bounds were found: it may have a pole, or its powers "
            "a singular derivative. Substitute a variable in which it is bounded, or cut the set short of the pole."
        )
    ends = np.cumsum([0, *(e.size for e in formulas)]).tolist()
    parts = zip(formulas, ends, ends[1:], strict=False)
    return [known(lower[a:b].reshape(e.shape), upper[a:b].reshape(e.shape), _whole(exact[a:b])) for e, a, b in parts]


def _whole(exact: list[Fraction | None]) -> list[Fraction] | None:
    """Fractions, if all of them are known."""
    found = [v for v in exact if v is not None]
    return found if len(found) == len(exact) else None


def _alike(formulas: list[Expression]) -> Iterator[tuple[Expression, list[int]]]:
    """The elements of formulas that are polynomials, and those that are not, with their places among all."""
    found: dict[Expression, tuple[list[int], list[int]]] = {}  # by what they are elements of
    place = 0
    for formula in formulas:
        for k in range(formula.size):
            whole, element = formula.source(k)
            elements, places = found.setdefault(whole, ([], []))
            elements.append(element)
            places.append(place)
            place += 1
    exact = {e: Polynomials.of(Tape((e,), e.indices())) is not None for e in found}
    for kind in (True, False):
        some = [(e, *found[e]) for e, same in exact.items() if same is kind]
        if some:
            parts = tuple(Gather(e, np.array(elements, dtype=np.intp)) for e, elements, _ in some)
            yield Join(parts), [i for *_, places in some for i in places]


def samples_of(given: object, domain: Domain, name: str) -> Array:
    """Samples (N, m) of an index, refused where they are none."""
    points = numbers(given, f"Samples for lsip.{name}")
    if points.size == 0:
        raise ModelError(f"lsip.{name} needs at least one sample; got none.")
    if not np.isfinite(points).all():
        raise ModelError(f"Samples for lsip.{name} must be finite.")
    if points.ndim > 2 or (points.ndim == 1 and domain.dim > 1) or (points.ndim == 2 and points.shape[1] != domain.dim):
        raise ModelError(
            f"Samples of an index with {domain.dim} coordinate{'s' * (domain.dim > 1)} have the shape "
            f"(N, {domain.dim}); got {points.shape}."
        )
    points = as_points(points, domain.dim)
    outside = np.flatnonzero(~domain.contains(points))
    if len(outside):
        raise ModelError(
            f"Sample {outside[0]}, {points[outside[0]].tolist()}, lies outside of {domain}, where the index ranges."
        )
    return points


def averages(tape: Tape, points: Array) -> ExactNumbers:
    """The averages (K,) of all outputs over points (N, m); infinite where one is."""
    found = tape.enclose(points, points)
    lower = [_average(column, -1) for column in found.lo.T.tolist()]
    upper = [_average(column, 1) for column in found.hi.T.tolist()]
    ends = Interval(np.array([low for low, _ in lower]), np.array([high for high, _ in upper]))
    exact = [v for (_, v), (_, w) in zip(lower, upper, strict=True) if v is not None and v == w]
    return ExactNumbers(ends, exact if len(exact) == len(lower) else None)


def _average(values: list[float], side: int) -> tuple[float, Fraction | None]:
    """Of numbers: the double that it is, or the next one on that side; and as a fraction, where that is known."""
    if not np.isfinite(values).all():
        return side * np.inf, None
    try:
        total = fsum(values)
        left = fsum([*values, -total])  # what rounding took
    except OverflowError:
        return side * np.inf, None
    if left * side > 0:
        total = float(np.nextafter(total, side * np.inf))
    average = Fraction(total) / len(values)
    return neighbours(*average.as_integer_ratio())[max(side, 0)], average if left == 0 else None
