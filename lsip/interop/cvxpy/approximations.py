"""Where CVXPY's canonical form is another model than the one written: atoms whose numbers it approximates.

CVXPY writes powers and means with rational exponents of small denominators, factors the matrix of a quadratic form in
floats and drops small pivots, and integrates matrix logarithms by quadrature. Proofs are about the canonical form. So
all atoms of a model are looked at, and compared in rational numbers with what CVXPY makes of them; where these differ,
a sentence names the atom, and nothing is certified.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...cones import Power
from ...legible import shortened
from ...proof.certificate import TrustAssumption
from .affine import dense
from .package import cp, factored

Array = NDArray[np.float64]
QUADRATURE = ("quantum_rel_entr", "RelEntrConeQuad", "OpRelEntrConeQuad")


def approximations(parts: Iterable[Any]) -> tuple[TrustAssumption, ...]:
    """A sentence for every atom of these objectives and constraints that CVXPY replaces by an approximation."""
    found = {_shown(node): reason for part in parts for node in _nodes(part, set()) if (reason := _replaced(node))}
    return tuple(TrustAssumption(f"What CVXPY makes of {atom} is near enough: {why}") for atom, why in found.items())


def _shown(node: object, longest: int = 60) -> str:
    """An atom as a message shows it: in so many letters at most."""
    return shortened(" ".join(str(node).split()), longest)


def _nodes(part: object, seen: set[int]) -> Iterator[Any]:
    """All expressions and constraints in one; those that CVXPY keeps apart from the arguments, too."""
    if id(part) in seen:
        return
    seen.add(id(part))
    yield part
    below = list(getattr(part, "args", ()))
    if isinstance(part, cp.Problem):  # in a partial optimisation
        below = [part.objective, *part.constraints]
    below += [inner for name in ("f", "f_recession") if isinstance(inner := getattr(part, name, None), cp.Expression)]
    below += getattr(getattr(part, "_parent", None), "constraints", None) or []  # the set of a support function
    for one in below:
        yield from _nodes(one, seen)


def _replaced(node: Any) -> str:
    """What CVXPY does with an atom or a cone, if that is not what was written, and what to write instead."""
    kind = type(node).__name__
    if kind in QUADRATURE or (kind == "von_neumann_entr" and node.quad_approx):
        return "it integrates a logarithm by quadrature."
    if kind == "QuadForm":
        return "" if _is_factored(node.args[1].value) else (
            "it factors the matrix in floats, and leaves small pivots out. Write the factor yourself, as in "
            "cp.sum_squares(F @ x) for the matrix F.T @ F."
        )  # fmt: skip
    if kind in ("Power", "PowerApprox") and node.args[0].variables():
        return _power(node)
    if kind in ("Pnorm", "PnormApprox"):
        return _exponent(_fraction(node.original_p), node.p, kind == "Pnorm")
    if kind in ("GeoMean", "GeoMeanApprox"):
        weights = [_fraction(w) for w in node.p]
        exact = [w / sum(weights) for w in weights]
        held = _covered(node.w, exact) if kind == "GeoMean" else list(node.w) == exact
        return "" if held else (
            f"its weights are {', '.join(map(str, node.w[:4]))}{', …' if len(node.w) > 4 else ''} there. Give integers "
            "or fractions of small denominators, or approx=False."
        )  # fmt: skip
    if kind == "PowCone3DApprox":
        return "it has rational exponents there. Write cp.PowCone3D."
    return ""


def _power(node: Any) -> str:
    wanted = _fraction(node._p_orig if isinstance(node._p_orig, Fraction) else node.p.value)
    if node.p_used is None:
        return "its exponent is a parameter. Write a number."
    used, approximate = _fraction(node.p_used), type(node).__name__ == "PowerApprox"
    wrong, numerator = _exponent(wanted, node.p_used, not approximate), used.numerator
    if not wrong and approximate and used > 1 and used.denominator > 1 and not numerator & (numerator - 1):
        return "it lets negative numbers in there. Give approx=False."
    return wrong


def _exponent(wanted: Fraction, used: float | Fraction, cone: bool) -> str:
    if wanted == _fraction(used) and (not cone or used in (0, 1, 2)):
        return ""
    if not cone:
        return (
            f"its exponent is {used} there. Give one of a small denominator exactly, such as 3 / 2 or "
            "fractions.Fraction(1, 3), or approx=False."
        )
    share, exact = float(_share(used)), Fraction(_share(wanted))
    held = used not in (0, 1) and _covered((share, 1.0 - share), [exact, 1 - exact])
    return "" if held else "its exponent is too near to 0 or 1 for a power cone, whose exponents are floats."


def _share(p: float | Fraction) -> float | Fraction:
    """The exponent of the power cone in which CVXPY writes a power p, computed as CVXPY does."""
    return p if 0 <= p < 1 else 1 / p if p >= 1 else p / (p - 1)


def _covered(exponents: Iterable[float], exact: list[Fraction]) -> bool:
    """Whether what is proven of a power cone with these exponents is proven of the exact ones."""
    given = tuple(map(float, exponents))
    if len(given) == 1:
        return True
    if not 0 < min(given) <= max(given) < 1:
        return False
    near = Power(given).enclosed()
    ends = zip(near.lo.tolist(), exact, near.hi.tolist(), strict=True)
    return all(Fraction(lo) <= e <= Fraction(hi) for lo, e, hi in ends)


def _is_factored(matrix: Array | sparse.sparray, most_products: int = 200_000) -> bool:
    """Whether CVXPY's factor of the matrix of a quadratic form is exact, in rational numbers.

    A factor that takes more products of fractions is not multiplied out, and counts as inexact.
    """
    scale, plus, minus = factored(matrix)
    if plus.size and minus.size:
        return False  # which CVXPY refuses
    given, factor = dense(matrix), sparse.csc_array(minus if minus.size else plus)
    size = Fraction(float(scale)) * (-1 if minus.size else 1)
    if not factor.nnz:
        return not given.any()
    if not np.array_equal(float(size) * (factor @ factor.T).toarray(), given):
        return False
    if int((np.diff(factor.indptr) ** 2).sum()) > most_products:
        return False
    total: dict[tuple[int, int], Fraction] = {}
    for start, end in zip(factor.indptr[:-1], factor.indptr[1:], strict=True):
        rows = factor.indices[start:end].tolist()
        entries = list(zip(rows, map(Fraction, factor.data[start:end].tolist()), strict=True))
        for i, a in entries:
            for j, b in entries:
                total[i, j] = total.get((i, j), Fraction(0)) + size * a * b
    return all(v == Fraction(float(given[place])) for place, v in total.items())


def _fraction(value: float | Fraction) -> Fraction:
    """A number as it was given, exactly."""
    return value if isinstance(value, Fraction) else Fraction(int(value) if isinstance(value, int) else float(value))
