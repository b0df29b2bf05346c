"""What users write themselves (oracles, masters, callbacks, costs, environments, updates), answering nonsense.

A hook is a call in which one function of the user's is replaced: it is handed the true answer, and gives back something
else. Whatever it gives, the call works, or says in an `LSIPError` whose answer was wrong. Errors that the function
raises itself come through.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

import lsip
import rl
from envs import ship
from lsip.masters import MasterResult, open_master

from . import specimens as own


def _recursion() -> Any:
    return _recursion()


def _fails(error: Exception) -> Any:
    raise error


def _shaped(value: Any, change: Callable[[Any], Any]) -> Any:
    array = np.asarray(value, dtype=float)
    return change(array if array.ndim else array[None])


def _circle() -> Any:
    ring: list[Any] = []
    ring.append(ring)
    return ring


def _expression() -> Any:
    import cvxpy as cp

    return cp.Variable(2)


def _tensor() -> Any:
    import torch

    return torch.zeros(2, 3, requires_grad=True)


NONSENSE: dict[str, Callable[[Any], Any]] = {
    "None": lambda v: None,
    "nan": lambda v: _shaped(v, lambda a: a * np.nan),
    "inf": lambda v: _shaped(v, lambda a: a + np.inf),
    "-inf": lambda v: _shaped(v, lambda a: a - np.inf),
    "wrong shape": lambda v: _shaped(v, lambda a: np.repeat(a[..., None], 3, axis=-1)),
    "one more": lambda v: _shaped(v, lambda a: np.concatenate([a, a])),
    "float16": lambda v: _shaped(v, lambda a: a.astype(np.float16)),
    "complex": lambda v: _shaped(v, lambda a: a + 1j),
    "objects": lambda v: np.array([None, "a", 1], dtype=object),
    "text": lambda v: "abc",
    "bytes": lambda v: b"abc",
    "huge": lambda v: _shaped(v, lambda a: a + 1e308),
    "10**400": lambda v: 10**400,
    "generator": lambda v: (k for k in (1.0, 2.0)),
    "exception": lambda v: _fails(ValueError("no answer")),
    "recursion": lambda v: _recursion(),
    "masked": lambda v: _shaped(v, lambda a: np.ma.masked_array(a, np.ones(a.shape))),
    "ragged": lambda v: [[1.0, 2.0], [3.0]],
    "booleans": lambda v: _shaped(v, lambda a: a > 0),
    "negative": lambda v: _shaped(v, lambda a: -np.abs(a) - 1),
    "empty": lambda v: np.zeros(0),
    "sparse": lambda v: sparse.csr_array(np.eye(2)),
    "cvxpy": lambda v: _expression(),
    "torch": lambda v: _tensor(),
    "dict": lambda v: {"a": 1},
    "class": lambda v: int,
    "function": lambda v: lambda *_: 0.0,
    "circle": lambda v: _circle(),
    "object": lambda v: object(),
    "dates": lambda v: np.array(["2020-01-01"], dtype="M8[D]"),
    "records": lambda v: np.zeros(2, dtype=[("a", float)]),
    "Fraction": lambda v: Fraction(1, 3),
    "NotImplemented": lambda v: NotImplemented,
    "expression": lambda v: lsip.Variable(2, name="v") @ np.ones(2),
    "tuple": lambda v: (v, v),
}
NO_NUMBERS = {  # never what a function with numbers for values may give
    *("None", "complex", "objects", "text", "bytes", "generator", "ragged", "dict", "class", "function", "object"),
    *("dates", "records", "NotImplemented", "expression", "cvxpy", "circle"),
}
OWN = (lsip.oracles.Separation, lsip.Extreme, MasterResult)  # what users make, to answer with
Answer = Callable[[Any], Any]  # from the true answer to another


class Lie:
    """One kind of nonsense; it remembers whether anybody asked for it."""

    def __init__(self, kind: str) -> None:
        self.kind, self.told = kind, False

    def __call__(self, value: Any) -> Any:
        self.told = True
        return NONSENSE[self.kind](value)


def partly(value: Any, answer: Answer, rng: random.Random) -> Any:
    """Nonsense in the place of an answer, or of a part of it."""
    if isinstance(value, OWN) and rng.random() < 0.6:
        field = rng.choice([f.name for f in fields(value) if f.init])
        return replace(value, **{field: answer(getattr(value, field))})
    if isinstance(value, tuple) and value and rng.random() < 0.7:
        place = rng.randrange(len(value))
        parts = [answer(part) if k == place else part for k, part in enumerate(value)]
        return tuple(parts)
    return answer(value)


class Instead:
    """An object of which one method answers nonsense, from some call on."""

    def __init__(self, behind: Any, method: str, answer: Answer, rng: random.Random) -> None:
        self.__dict__.update(behind=behind, method=method, answer=answer, rng=rng, good=rng.choice([0, 0, 1, 3]))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.behind, name)
        if name != self.method:
            return found

        def lie(*given: Any, **named: Any) -> Any:
            said = found(*given, **named) if callable(found) else found
            self.__dict__["good"] -= 1
            return said if self.good >= 0 else partly(said, self.answer, self.rng)

        return lie if callable(found) else partly(found, self.answer, self.rng)


def wrong(function: Callable[..., Any], answer: Answer, rng: random.Random) -> Callable[..., Any]:
    """A function that answers nonsense, from some call on."""
    good = rng.choice([0, 0, 1, 3])

    def lie(*given: Any, **named: Any) -> Any:
        nonlocal good
        said, good = function(*given, **named), good - 1
        return said if good >= 0 else partly(said, answer, rng)

    return lie


# ---- the hooks -------------------------------------------------------------------------------------------------------


class Square(lsip.Domain):
    """An index set of the user's: the unit square."""

    inside = lsip.Box([0, 0], [1, 1])

    def __init__(self) -> None:
        self._set(lower=np.zeros(2), upper=np.ones(2))

    def __getattr__(self, name: str) -> Any:
        return getattr(Square.inside, name)

    measure = property(lambda self: Square.inside.measure)
    diameter = property(lambda self: Square.inside.diameter)

    def _arguments(self) -> tuple[object, ...]:
        return ()

    def cells(self) -> Any:
        return self.inside.cells()

    def contains(self, y: Any, tol: float = 1e-9) -> Any:
        return self.inside.contains(y, tol)

    def project(self, y: Any) -> Any:
        return self.inside.project(y)

    def place(self, y: Any) -> Any:
        return self.inside.place(y)

    def sample(self, n: int, seed: Any = 0) -> Any:
        return self.inside.sample(n, seed)


def _linsip(part: str) -> Callable[[Answer, random.Random], Any]:
    def run(answer: Answer, rng: random.Random) -> Any:
        parts = {
            "a": lambda y: -np.stack([np.ones(len(y)), y[:, 0]], 1),
            "b": lambda y: -(y[:, 0] ** 2),
        }
        parts[part] = wrong(parts[part], answer, rng)
        more = {"lipschitz": (2.0, 2.0)} if rng.random() < 0.5 else {}
        family = lsip.Family(lsip.Interval(0, 1), parts["a"], parts["b"], **more)
        return lsip.linsip([1.0, 0.5], [family], bounds=(-10, 10), method=lsip.Exchange(time_limit=2), verbose=False)

    return run


def _oracle(answer: Answer, rng: random.Random) -> Any:
    kind = rng.choice([lsip.oracles.BranchAndBound, lsip.oracles.Grid, lsip.oracles.RandomSearch])
    oracle = Instead(kind(), "maximise", answer, rng)
    if rng.random() < 0.3:
        return own.solution().verify(oracle=oracle)
    return own.problem().solve(oracle=oracle, verbose=False, time_limit=3)


def _callback(answer: Answer, rng: random.Random) -> Any:
    return own.problem().solve(callback=wrong(lambda iterate: False, answer, rng), verbose=False)


def _master(answer: Answer, rng: random.Random) -> Any:
    if rng.random() < 0.2:
        return own.problem().solve(master=lambda *a, **k: answer(None), verbose=False, time_limit=3)
    method = rng.choice(["add", "drop", "centre", "best_margin", "solve", "solve", "solve"])
    return own.problem().solve(
        master=lambda *a, **k: Instead(open_master("highs")(*a, **k), method, answer, rng), verbose=False, time_limit=3
    )


def _method(answer: Answer, rng: random.Random) -> Any:
    method = Instead(lsip.Exchange(), rng.choice(["solve", "given"]), answer, rng)
    return own.problem().solve(method=method, verbose=False)


def _where(answer: Answer, rng: random.Random) -> Any:
    return lsip.Box([0, 0], [1, 1]).where(wrong(lambda y: y[0] <= y[1], answer, rng))


def _decompose(answer: Answer, rng: random.Random) -> Any:
    model, maximise = own.decomposed()
    return lsip.decompose(model, wrong(maximise, answer, rng), time_limit=2, verbose=False)


def _domain(answer: Answer, rng: random.Random) -> Any:
    method = rng.choice(["contains", "project", "sample", "cells", "spread", "grid", "support", "place"])
    square = type("Lying", (Square,), {method: wrong(getattr(lsip.Box([0, 0], [1, 1]), method), answer, rng)})()
    x, y = lsip.Variable(2, name="x", lower=-10, upper=10), lsip.Index("y", square)
    model = lsip.Problem(lsip.minimize(x[0] + x[1]), [lsip.forall(y, x[0] + x[1] * y[0] >= y[1] ** 2)])
    return model.solve(verbose=False, time_limit=2)


def _door(answer: Answer, rng: random.Random) -> Any:
    import cvxpy as cp

    from lsip.interop import cvxpy as opened

    x = cp.Variable(2)
    rule = wrong(lambda t: x[0] + x[1] * float(t) >= float(t) ** 2, answer, rng)
    rows = opened.forall(lsip.Interval(0, 1), rule, lipschitz=2.0 if rng.random() < 0.5 else None)
    return opened.Problem(cp.Minimize(x[0] + x[1] / 2), [rows, x <= 10, x >= -10]).solve(time_limit=2)


def _pyomo(answer: Answer, rng: random.Random) -> Any:
    from lsip.interop.pyomo import LSIPSolver

    keywords: dict[str, Any] = {rng.choice(["callback", "oracle", "master", "method", "tol", "nonsense"]): answer(1e-6)}
    if rng.random() < 0.5:
        return LSIPSolver().solve(own.pyomo_model(), options=answer({"tol": 1e-6}))
    return LSIPSolver().solve(own.pyomo_model(), **keywords)


def _cost(answer: Answer, rng: random.Random) -> Any:
    model = own.mdp()
    cost, bound = own.price_of_pairs, lambda y: np.ones(len(y))
    if rng.random() < 0.5:
        cost = wrong(cost, answer, rng)
    else:
        bound = wrong(bound, answer, rng)
    return rl.plan(rl.SICMDP(model.P, model.r, cost, bound, lsip.Interval(0, 1)), time_limit=2)


def _price(answer: Answer, rng: random.Random) -> Any:
    cost = rl.SemiInfiniteCost(lsip.Box([0, 0], [1, 1]), wrong(own.price_everywhere, answer, rng), 2.5, range=(0, 1))
    return rl.SICPPO(own.ships(), cost, **own.small()).learn(20)


def _env(answer: Answer, rng: random.Random) -> Any:
    env = own.ships()
    method = rng.choice(["step", "reset"])
    setattr(env, method, wrong(getattr(env, method), answer, rng))
    return rl.SICPPO(env, ship.constraint(), **own.small()).learn(20)


def _report(answer: Answer, rng: random.Random) -> Any:
    callback = wrong(lambda agent, report: False, answer, rng)
    if rng.random() < 0.5:
        return own.learner().learn(1, callback=callback)
    return own.deep().learn(20, callback=callback)


def _update(answer: Answer, rng: random.Random) -> Any:
    update = Instead(rl.NPG(30, 5), rng.choice(["step", "draw"]), answer, rng)
    return rl.SICPO(own.mdp(), update=update, evaluation=rl.MonteCarlo(50, 6), device="cpu").learn(1)


def _evaluation(answer: Answer, rng: random.Random) -> Any:
    evaluation = Instead(rl.MonteCarlo(50, 6), "evaluate", answer, rng)
    return rl.SICPO(own.mdp(), update=rl.NPG(30, 5), evaluation=evaluation, device="cpu").learn(1)


def _search(answer: Answer, rng: random.Random) -> Any:
    oracle = Instead(lsip.oracles.RandomSearch(), "maximise", answer, rng)
    if rng.random() < 0.4:
        return rl.si_crl(own.data(), own.mdp().specification, 0.1, iterations=3, oracle=oracle)
    if rng.random() < 0.5:
        return own.mdp().worst_violation(own.uniform(), oracle=oracle)
    return rl.SICPO(own.mdp(), oracle=oracle, **own.quick()).learn(1)


def _schedule(answer: Answer, rng: random.Random) -> Any:
    return rl.SICPO(own.mdp(), eta=answer(1.0), **own.quick()).learn(1)


HOOKS: dict[str, Callable[[Answer, random.Random], Any]] = {
    "linsip a": _linsip("a"),
    "linsip b": _linsip("b"),
    "oracle": _oracle,
    "callback": _callback,
    "master": _master,
    "where": _where,
    "decompose": _decompose,
    "domain": _domain,
    "CVXPY rule": _door,
    "Pyomo": _pyomo,
    "rl cost": _cost,
    "rl price": _price,
    "rl environment": _env,
    "rl callback": _report,
    "rl update": _update,
    "rl evaluation": _evaluation,
    "rl oracle": _search,
    "rl schedule": _schedule,
}
NUMBERS = {"linsip a", "linsip b", "rl cost", "rl price"}  # whose functions give numbers, and nothing else
TRUE = 0.5  # the optimum of the specimen, whatever an oracle, a master or a callback says


def silent(hook: str, lie: Lie, result: Any) -> bool:
    """Whether nonsense went through: functions whose values are no numbers, or a proof of another optimum."""
    if hook in NUMBERS:
        return lie.told and lie.kind in NO_NUMBERS
    if hook in ("oracle", "callback", "master") and isinstance(result, lsip.Solution) and result.certified:
        trusted = bool(result.certificate.trusts)
        return not trusted and not result.lower - 1e-6 <= TRUE <= result.upper + 1e-6
    return False
