"""Decision rules: decisions that may depend on what has been seen of an index.

A rule is written down like a variable, and is one: its coefficients are decided here and now, and it is their sum with
monomials in the entries of the index that it may see. What it must not see, it has no coefficients for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import combinations_with_replacement, groupby
from math import comb
from operator import index as whole
from operator import mul
from typing import Any, Never

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..validation import MOST_AXES, Array, shown
from .affine import Affine, Term, Variable
from .arrangements import Gather, Join
from .decision_rule import DecisionRule, EntrySlice
from .dependent_monomials import Entry, dependent_monomials
from .folds import Pieces, breaks_of, fold, is_affine, refuse_outside
from .graph import Constant, Expression, Index, as_expression
from .operands import Ints
from .printing import text

Seen = Expression | Sequence["Seen"] | None


class Rule(Affine):
    """A decision that depends on entries of an index. Use it like a variable inside of `forall`.

    Parameters
    ----------
    shape
        Nothing or () for one decision, n for a vector of them, a tuple for an array.
    of
        The entries of the index that the decision may depend on, such as `z[:t]`, a list of such, or nothing.
    name
        How it prints.
    degree
        1 for rules that are affine in these entries, more for polynomials.
    pieces
        1 for rules that are affine over the whole range of an entry, more for as many pieces of equal width, or a list
        of the points where pieces meet. The slope along an entry is another one in each piece.

    After a solve, the solution has the rule that was found under it: its coefficients, and a function of data. The
    coefficients are a variable of the problem, with one more axis: the constant part, then one for each entry. Of all
    entries of a `Simplex`, which add up to 1, a rule has no constant part: it is 0. So it is where such a set is a
    factor of another one. Over a `Finite` set with few points, entries that others span have a slope of 0.

    Examples
    --------
    >>> import lsip
    >>> z = lsip.Index("z", lsip.Box([0, 0], [1, 1]))
    >>> order = lsip.Rule(of=z[:1], name="order")
    >>> most = lsip.Variable(name="most", lower=1)
    >>> meet = lsip.forall(z, [order >= z[0] + z[1], order <= z[0] + most])
    >>> print(meet[0])
    order(z[:1]) ≥ z[0] + z[1]   for all z ∈ [0, 1]²
    >>> solution = lsip.Problem(lsip.minimize(most), meet).solve(verbose=False)
    >>> print(round(solution.value, 6), solution[order]([[0.25], [0.5]]).round(6))
    1.0 [1.25 1.5 ]
    """

    hint = "Write constraints such as forall(z, rule >= 0)."

    def __init__(
        self,
        shape: int | tuple[int, ...] = (),
        *,
        of: Seen = None,
        name: str | None = None,
        degree: int = 1,
        pieces: Pieces = 1,
        **unknown: Never,
    ) -> None:
        if unknown:
            raise ModelError(
                f"A rule has a shape, `of`, `name`, `degree` and `pieces`; got {', '.join(unknown)}. Bounds are "
                "constraints, such as forall(z, rule >= 0), and whole numbers are decided before, as a Variable."
            )
        entries = _entries(of)
        exponents = exponents_up_to(len(entries), _degree(degree))
        parts, self.parts = ((), ()) if is_affine(pieces) or not entries else _parts(entries, degree, pieces)
        given = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
        k = len(exponents) + len(self.parts)
        most = np.where(
            np.append(dependent_monomials(entries, exponents), np.zeros(len(self.parts), dtype=bool)), 0.0, np.inf
        )
        self.coefficients = Coefficients(self, (*given, k), name, most)
        self.name, self.entries, self.exponents = self.coefficients.name, entries, exponents
        size = self.coefficients.size // k
        rows, place = np.arange(size), np.arange(size * k).reshape(size, k)
        terms = [Term(self.coefficients, rows, place[:, 0], Constant(np.ones(size)))]
        if k > 1:
            seen = _monomials(entries, exponents[1:])
            each = Gather(Join((seen, *parts)) if parts else seen, np.tile(np.arange(k - 1), size))
            terms.append(Term(self.coefficients, np.repeat(rows, k - 1), place[:, 1:].ravel(), each))
        super().__init__(self.coefficients.shape[:-1], tuple(terms))
        self.origin = ("rule", self.name, *_written(of)) if entries else ("name", self.name)

    @property
    def degree(self) -> int:
        """That of its polynomials."""
        return max(1, int(self.exponents.sum(axis=1).max()))

    @property
    def value(self) -> DecisionRule | None:
        """The rule that the last solution of a problem has; None without one."""
        found = self.coefficients.value
        return None if found is None else self.found(np.asarray(found))

    def found(self, coefficients: Array) -> DecisionRule:
        """The rule with these coefficients."""
        seen = tuple(text(i) if not i.shape else f"{text(i)}[{k}]" for i, k in self.entries)
        return DecisionRule(self.name, seen, coefficients, self.exponents, self.parts)


class Coefficients(Variable):
    """What is decided about a rule: a variable with one more axis, along which its monomials are."""

    hint = "Assign its bounds `lower` and `upper`."

    def __init__(self, rule: Rule, shape: tuple[int, ...], name: str | None, most: Array) -> None:
        self.rule = rule
        super().__init__(shape, name=name, lower=-most, upper=most)

    def element(self, i: int) -> str:
        """The element of the decision, and the monomial that it is a coefficient of."""
        k, place = i % self.shape[-1], np.unravel_index(i // self.shape[-1], self.shape[:-1])
        rule = self.rule.found(np.zeros(self.shape))
        name = self.name + (f"[{', '.join(map(str, place))}]" if place else "")
        return f"{name}: {rule.monomial(k)}"


def _degree(degree: int) -> int:
    try:
        found = 0 if isinstance(degree, bool | np.bool_) else whole(degree)
    except TypeError:
        found = 0
    if found < 1:
        raise ModelError(f"The degree of a rule is a whole number, 1 for an affine one; got {shown(degree)}.")
    return found


def _parts(
    entries: tuple[Entry, ...], degree: int, pieces: Pieces
) -> tuple[tuple[Expression, ...], tuple[EntrySlice, ...]]:
    """What of the entries lies above their breakpoints: as expressions, and of which entries, between which numbers."""
    if degree != 1:
        raise ModelError(f"A rule has a `degree` or `pieces`, not both; got degree {degree}, pieces {shown(pieces)}.")
    breaks = {i: breaks_of(i, pieces) for i, _ in entries}
    ends = (np.concatenate([getattr(i.domain, end) for i in breaks]) for end in ("lower", "upper"))
    refuse_outside(pieces, ", ".join(i.name for i in breaks), *ends)
    each = [(j, fold(i, breaks[i]), k) for j, (i, k) in enumerate(entries) if breaks[i][k]]
    parts = tuple(Gather(f, f.parts(k)) for _, f, k in each)
    return parts, tuple(EntrySlice(j, *ends) for j, f, k in each for ends in f.limits(k))


def _written(of: Seen) -> tuple[Any, ...]:
    """What a rule sees, as it was typed."""
    return tuple(of) if isinstance(of, list | tuple) else (of,)


def _entries(of: Seen, depth: int = 0) -> tuple[Entry, ...]:
    """The entries of indices that a rule sees, in order."""
    if of is None:
        return ()
    if depth > MOST_AXES:
        raise ModelError("`of` of a rule is a list of entries of indices; got lists in lists without end.")
    if isinstance(of, list | tuple):
        found = tuple(entry for part in of for entry in _entries(part, depth + 1))
    elif isinstance(of, Expression):
        found = tuple(_places(of))
    else:
        raise ModelError(f"`of` of a rule has entries of an index, such as z[:2], or a list of such; got {shown(of)}.")
    if len({(id(i), k) for i, k in found}) < len(found):
        raise ModelError("`of` of a rule has an entry twice; name each entry of the index once.")
    return found


def _places(e: Expression) -> list[Entry]:
    """Which entry of an index each element is; a ModelError where one is something else."""
    places = []
    for node, k in map(e.source, range(e.size)):
        if not isinstance(node, Index):
            raise ModelError(
                f"`of` of a rule has entries of an index, such as z[:2], and {node} is a formula. Declare an index "
                "that ranges over the values of the formula, and write the model in terms of that one."
            )
        places.append((node, k))
    return places


def exponents_up_to(count: int, degree: int, most: int = 100_000) -> Ints:
    """The powers (K, count) of all monomials up to a degree: 1, the entries, their products, …."""
    if comb(count + degree, degree) > most:
        raise ModelError(
            f"A rule of degree {degree} in {count} entries has {comb(count + degree, degree)} coefficients an element; "
            "lower the degree, or let it see less."
        )
    rows = [c for d in range(degree + 1) for c in combinations_with_replacement(range(count), d)]
    found = np.zeros((len(rows), count), dtype=np.intp)
    for row, chosen in zip(found, rows, strict=True):
        np.add.at(row, list(chosen), 1)
    return found


def _monomials(entries: tuple[Entry, ...], exponents: NDArray[np.intp]) -> Expression:
    """The entries to these powers, multiplied: (K,)."""
    if exponents.sum() == len(exponents):  # the entries as they are
        runs = [list(run) for _, run in groupby(entries, lambda entry: id(entry[0]))]
        parts = tuple(Gather(run[0][0], np.array([k for _, k in run], dtype=np.intp)) for run in runs)
        return parts[0] if len(parts) == 1 else Join(parts)
    factors: list[Any] = []
    for i in dict.fromkeys(i for i, _ in entries):
        powers = np.zeros((len(exponents), i.domain.dim), dtype=np.intp)
        for place, (j, k) in enumerate(entries):
            if j is i:
                powers[:, k] = exponents[:, place]
        factors.append((i**powers).prod(axis=-1) if i.shape else i ** powers[:, 0])
    return as_expression(reduce(mul, factors))
