"""Derivatives of formulas in their index, as formulas: exact, like what they are made of.

Each node says what its derivative is, given those of its arguments (`Expression.derivative`). A formula is gone through
once, so that shared parts are differentiated once, too.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeAlias

import numpy as np

from ..errors import ModelError, NotAffineError
from ..validation import shown, whole
from .affine import Affine, Term
from .arrangements import Gather
from .folds import Folded
from .graph import Constant, Expression, Index
from .operators import Operators, operand

HIGHEST = 8  # order of a derivative: each may have three times as many operations as the one before
Differentiable: TypeAlias = Expression | Affine


def derivative(expression: object, index: Expression, order: int = 1) -> Any:
    """The derivative of an expression in an index, or in one coordinate of it.

    Parameters
    ----------
    expression
        A formula of the index, or an array that is affine in variables with such coefficients, of any shape.
    index
        A scalar index, or a coordinate such as `y[0]`.
    order
        How many times to differentiate, at most 8 times.

    Returns
    -------
    Expression
        An expression of the same shape. At a kink of `np.abs` or `np.maximum` it has the slope of one side.

    Examples
    --------
    A polynomial that is largest at 0.3, and concave everywhere:

    >>> import lsip
    >>> p, t = lsip.Variable(4, name="p"), lsip.Index("t", lsip.Interval(0, 1))
    >>> curve = p @ lsip.bases.monomial(t, 3)
    >>> concave = lsip.forall(t, lsip.derivative(curve, t, order=2) <= 0)
    >>> print(concave)
    d²/dt² (p · t^[0 1 2 3]) ≤ 0   for all t ∈ [0, 1]
    >>> float(lsip.derivative(t**3 + 2 * t, t).at({t: 1.0}))
    5.0
    """
    of, place = _coordinate(index)
    found = given = _read(expression)
    times = whole("order", order, least=1)
    if times > HIGHEST:
        raise ModelError(
            f"`order` must be at most {HIGHEST}, as formulas grow with every derivative; got {shown(order)}."
        )
    for _ in range(times):
        found = _derived(found, of, place)
    found.origin = ("derivative", given, index, times)
    return found


def gradient(expression: object, index: Index) -> Any:
    """The derivatives of an expression in all coordinates of an index, along a new last axis.

    Examples
    --------
    >>> import lsip
    >>> y = lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    >>> lsip.gradient(y[0] ** 2 * y[1], y).at({y: [0.5, 0.25]})
    array([0.25, 0.25])
    """
    if not isinstance(index, Index):
        raise ModelError(f"lsip.gradient takes an index as its second argument; got {shown(index)}.")
    found = _read(expression)
    slopes: Any = np.stack([_derived(found, index, k) for k in range(index.size)], axis=-1)
    slopes.origin = ("gradient", found, index)
    return slopes


def _read(expression: object) -> Differentiable:
    """What can be differentiated."""
    found = operand(expression)
    if isinstance(found, Expression | Affine):
        return found
    if isinstance(found, Operators):
        raise NotAffineError(
            f"{found} is convex in its variables, and has no derivative here. Differentiate what is affine in it."
        )
    return Constant(np.asarray(found))


def _coordinate(index: object) -> tuple[Index, int]:
    """The index that is meant, and which of its coordinates."""
    if isinstance(index, Expression) and index.size == 1:
        node, place = index.source(0)
        if isinstance(node, Index):
            return node, place
    if isinstance(index, Index):
        raise ModelError(
            f"{index.name} has {index.size} coordinates: lsip.derivative takes one of them, such as {index.name}[0]; "
            "lsip.gradient takes all."
        )
    raise ModelError(f"lsip.derivative takes an index or a coordinate such as y[0] second; got {shown(index)}.")


def _derived(found: Differentiable, of: Index, place: int) -> Differentiable:
    if isinstance(found, Expression):
        return _formula(found, of, place)
    terms = []
    for term in found.terms:
        slope = _formula(term.coefficient, of, place)
        if not (isinstance(slope, Constant) and not slope.value.any()):
            terms.append(Term(term.variable, term.rows, term.columns, slope))
    varying = None if found.varying is None else _formula(found.varying, of, place)
    return Affine(found.shape, tuple(terms), varying)


def _formula(e: Expression, of: Index, place: int) -> Expression:
    """The derivative of a formula in a coordinate of an index."""
    slopes: dict[int, Expression | None] = {}
    for node in e.nodes():
        if isinstance(node, Folded) and node.of is of:
            _refuse_pieces(of)
        if node is of:
            slopes[id(node)] = Constant(np.eye(of.size)[place].reshape(of.shape))
            continue
        args = [slopes[id(a)] for a in node.args]
        known = None if all(a is None for a in args) else node.derivative(args)
        slopes[id(node)] = None if known is None else _shaped(known, node.shape)
    found = slopes[id(e)]
    return Constant(np.zeros(e.shape)) if found is None else found


def _shaped(e: Expression, shape: tuple[int, ...]) -> Expression:
    """In the shape of the node, where a scalar stands for as many elements as there are."""
    if e.shape == shape:
        return e
    size = int(np.prod(shape))
    return Gather(
        e, np.broadcast_to(np.arange(e.size), (size,)).reshape(shape) if e.size == 1 else np.arange(size).reshape(shape)
    )


def _refuse_pieces(index: Index) -> NoReturn:
    raise ModelError(
        f"A rule in pieces has kinks in {index.name}, and no derivative there. Use pieces=1, or the coefficients of "
        "the rule, which are its slopes."
    )
