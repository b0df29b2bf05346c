"""np.einsum, kron, convolve, diff, sign, floor, ceil, % and // of expressions: what NumPy has for numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lsip
from lsip.errors import LSIPError
from lsip.expressions.tape import Tape

A = np.random.default_rng(0).normal(size=(2, 3))
B = np.random.default_rng(1).normal(size=(3, 2, 2))
P = np.array([0.3, 1.7])
Y = lsip.Index("y", lsip.Box([0, 1], [1, 2]))
T = lsip.Index("t", lsip.Interval(-2, 3))

PRODUCTS: list[Callable[[Any], Any]] = [
    lambda v: np.einsum("i,i", v, v),
    lambda v: np.einsum("ijk,k->ij", B, v),
    lambda v: np.einsum("i, j -> ij", v, A[0]),
    lambda v: np.einsum("ii", np.outer(v, v)),
    lambda v: np.einsum("ij,jk->ik", A.T, np.outer(v, v)),
    lambda v: np.einsum("ij->ji", np.outer(v, A[0])),
    lambda v: np.einsum(",i->i", 2.0, v),
    lambda v: np.kron(v, A[0]),
    lambda v: np.kron(A, np.outer(v, v)),
    lambda v: np.convolve(v, [1, 2, 3.0]),
    lambda v: np.convolve([1, 2, 3.0], v, "same"),
    lambda v: np.convolve([1, 2, 3.0], v, mode="valid"),
    lambda v: np.diff(v),
    lambda v: np.diff(np.outer(v, A[0]), axis=0),
    lambda v: np.diff(np.outer(v, A[0]), n=2),
]


@pytest.mark.parametrize("f", PRODUCTS)
def test_products_are_those_of_numpy(f: Callable[[Any], Any]) -> None:
    e = f(Y)
    assert e.shape == np.shape(f(P))
    values = Tape((e,), (Y,)).values(P[None]).reshape(e.shape)
    np.testing.assert_allclose(values, f(P), rtol=1e-14)


@pytest.mark.parametrize(
    "f",
    [
        lambda v: np.einsum("ij,j->i", A, v),
        lambda v: np.einsum("i,j->ij", v, P),
        lambda v: np.kron(v, P),
        lambda v: np.convolve(v, P, "same"),
        lambda v: np.diff(v),
    ],
)
def test_products_with_variables(f: Callable[[Any], Any]) -> None:
    x = lsip.Variable(3, name="x")
    value = np.array([0.5, -1.0, 2.0])
    e = f(x)
    problem = lsip.Problem(lsip.minimize(x[0]), [e <= 0, lsip.forall(T, x[0] >= T)])
    np.testing.assert_allclose((problem.compile().A @ value).reshape(e.shape), f(value), rtol=1e-14)


@pytest.mark.parametrize(
    "f",
    [np.sign, np.floor, np.ceil, lambda v: v % 1.5, lambda v: v // 0.75, lambda v: np.mod(v, -2), lambda v: 3 - v % 1],
)
def test_steps_are_those_of_numpy(f: Callable[[Any], Any]) -> None:
    tape, t = Tape((f(T),), (T,)), np.linspace(-2, 3, 81)
    np.testing.assert_allclose(tape.values(t[:, None])[:, 0], f(t), atol=1e-15)
    lower, upper = t[:-1] - 1e-3, t[1:]
    box = tape.enclose(np.maximum(lower, -2)[:, None], upper[:, None])
    for share in np.linspace(0, 1, 9):
        u = np.clip(np.maximum(lower, -2) + share * (upper - lower), -2, upper)
        assert ((box.lo[:, 0] <= f(u)) & (f(u) <= box.hi[:, 0])).all()


def test_steps_are_proven() -> None:
    z = lsip.Variable(name="z")
    solution = lsip.Problem(lsip.minimize(z), [lsip.forall(T, z >= np.floor(T) - T**2)]).solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(0)  # at t = 0 and, just so, at t = 1
    solution = lsip.Problem(lsip.minimize(z), [lsip.forall(T, z >= T % 1.5)]).solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(1.5)  # which it comes close to, and never has


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: np.einsum("i,j", A, Y), "does not fit operands of shapes"),
        (lambda: np.einsum("i,i", A[0], Y), "'i' has the sizes 3 and 2"),
        (lambda: np.einsum("i...", Y), "without ellipses"),
        (lambda: np.einsum("i->ii", Y), "each of its letters once"),
        (lambda: np.kron(A, Y), "two vectors or two matrices"),
        (lambda: np.convolve(A, Y), "two vectors"),
        (lambda: np.convolve(P, Y, "half"), "'full', 'same' and 'valid'"),
        (lambda: np.diff(Y, prepend=0), "np.concatenate"),
        (lambda: np.diff(Y, axis=1), "no axis 1"),
        (lambda: (1000 * T) % 1, "may jump more than 64 times"),
        (lambda: T % T, "numbers other than 0 on its right"),
        (lambda: T % 0, "numbers other than 0 on its right"),
        (lambda: lsip.Variable(name="x") % 2, "not affine"),
        (lambda: np.sign(lsip.Variable(name="x")), "not affine"),
    ],
)
def test_what_makes_no_sense_is_refused(attempt: Callable[[], object], message: str) -> None:
    with pytest.raises(LSIPError, match=message):
        attempt()
