"""Exchange over a set that is known by its linear maximisation, and the small parts that came with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import lsip
from lsip.errors import ModelError, ProofError
from lsip.proof.certificate import Support
from lsip.solver.mixture import mixture

from .test_planning import DOMAINS, Model, models

Array = NDArray[np.float64]
PLAIN = [Phase.explicit, Phase.generate]
T = lsip.Index("t", lsip.Interval(0, 1))


# ---- the same set twice: by its linear maximisation, and written out -------------------------------------------------


@dataclass(frozen=True)
class Region:
    """A compact convex set X in R^n, of size about one."""

    kind: str
    n: int
    seed: int

    @property
    def vertices(self) -> Array:
        return np.random.default_rng(self.seed).normal(size=(2 * self.n + 3, self.n))

    @property
    def centre(self) -> Array:
        if self.kind == "polytope":
            return self.vertices.mean(axis=0)
        return np.full(self.n, 1 / self.n if self.kind == "simplex" else 0.0)

    @property
    def reach(self) -> float:
        return float(np.abs(self.vertices).max()) if self.kind == "polytope" else 1.0

    def __call__(self, w: Array) -> lsip.Extreme:
        if self.kind == "ball":
            x = w / max(np.linalg.norm(w), 1e-300)
        elif self.kind == "box":
            x = np.where(w > 0, 1.0, -1.0)
        else:
            corners = self.vertices if self.kind == "polytope" else np.eye(self.n)
            x = corners[np.argmax(corners @ w)]
        return lsip.Extreme(x, float(w @ x) + 1e-13 * float(np.abs(w).sum()) * (1 + self.reach))

    def written(self, x: Any) -> tuple[Any, list[Any]]:
        """x itself, or an expression for it, and the constraints that say x in X."""
        if self.kind == "polytope":
            share = lsip.Variable(len(self.vertices), lower=0, upper=1, name="share")
            return self.vertices.T @ share, [share.sum() == 1]
        if self.kind == "simplex":
            return x, [x.sum() == 1, x >= 0]
        if self.kind == "box":
            return x, [x <= 1, x >= -1]
        u = lsip.Index("u", lsip.Ball([0.0] * self.n, 1))
        return x, [lsip.forall(u, u @ x <= 1)]


@dataclass(frozen=True)
class Case:
    """Linear objective and a family of rows that the centre of X keeps by `slack`."""

    region: Region
    wave: bool
    maximise: bool
    rows: bool
    slack: float

    def parts(self, x: Any) -> tuple[Any, list[Any]]:
        rng = np.random.default_rng(self.region.seed + 1)
        n, centre = self.region.n, self.region.centre
        a = np.stack([np.sin((k + 1) * T + rng.uniform(0, 3)) if self.wave else T**k - 0.3 for k in range(n)])
        c = rng.normal(size=n)
        constraints: list[Any] = [lsip.forall(T, a @ x <= a @ centre + self.slack * (1 + T))]
        if self.rows:
            g = rng.normal(size=(2, n))
            constraints += [g[0] @ x <= g[0] @ centre + self.slack, g[1] @ x >= g[1] @ centre - self.slack]
        return (lsip.maximize if self.maximise else lsip.minimize)(c @ x), constraints

    def problem(self) -> lsip.Problem:
        reach = self.region.reach
        x = lsip.Variable(self.region.n, lower=-reach, upper=reach, name="x")
        return lsip.Problem(*self.parts(x))

    def optimum(self) -> float:
        x, inside = self.region.written(lsip.Variable(self.region.n, name="x"))
        objective, constraints = self.parts(x)
        solution = lsip.Problem(objective, constraints + inside).solve(verbose=False, tol=1e-9)
        assert solution.gap <= 1e-7
        return solution.value


def cases(**fixed: Any) -> st.SearchStrategy[Case]:
    free: dict[str, Any] = {
        "region": st.builds(
            Region, st.sampled_from(["polytope", "ball", "simplex", "box"]), st.integers(2, 4), st.integers(0, 1000)
        ),
        "wave": st.booleans(),
        "maximise": st.booleans(),
        "rows": st.booleans(),
        "slack": st.sampled_from([0.3, 0.05]),
    }
    return st.builds(Case, **{**free, **{k: st.just(v) for k, v in fixed.items()}})


DISC = Region("ball", 2, 0)
CASE = Case(DISC, True, True, True, 0.1)


def disc_problem(*constraints: Any, objective: Any = None) -> lsip.Problem:
    """max x0 + x1 over the unit disc, under constraints made by functions of x."""
    x = lsip.Variable(2, lower=-1, upper=1, name="x")
    return lsip.Problem(lsip.maximize(x[0] + x[1] if objective is None else objective(x)), [f(x) for f in constraints])


# ---- the answer ------------------------------------------------------------------------------------------------------


@settings(max_examples=20, phases=PLAIN)
@given(cases())
def test_it_agrees_with_the_set_written_out(case):
    problem, optimum = case.problem(), case.optimum()
    solution = lsip.decompose(problem, case.region, tol=1e-6)
    assert solution.status is lsip.Status.OPTIMAL
    assert solution.gap <= 1e-6
    slack = 1e-7 * (1 + abs(optimum))
    assert solution.lower - slack <= optimum <= solution.upper + slack
    assert abs(solution.value - optimum) <= 1.1e-6 * max(1, abs(optimum))
    # The bounds hold at every step, and never get worse.
    for before, after in zip(solution.history, solution.history[1:], strict=False):
        assert before.lower <= after.lower
        assert after.upper <= before.upper
    assert all(s.lower - slack <= optimum <= s.upper + slack for s in solution.history)
    # The point is what it claims to be.
    program = problem.compile()
    assert sum(a.weight for a in solution.atoms) == pytest.approx(1, abs=1e-12)
    assert all(a.weight > 0 for a in solution.atoms)
    assert np.allclose(sum(a.weight * a.x for a in solution.atoms), solution.x)
    assert program.violation(0, solution.x).values(np.linspace(0, 1, 2001)[:, None]).max() <= 1e-12
    assert program.finite_violation(solution.x) <= 1e-12
    assert solution.max_violation <= 0
    solution.verify(case.region)
    solution.verify(case.region, time_limit=600)
    with pytest.raises(lsip.OutOfTime, match="nothing was found to be wrong"):
        solution.verify(case.region, time_limit=0)


@pytest.mark.parametrize("maximise", [True, False])
def test_finite_rows_alone_are_enough(maximise):
    """Without a family it is a linear program over X: the half disc x0 <= 0.25 is reached at its corner."""
    x = lsip.Variable(2, lower=-1, upper=1, name="x")
    objective = lsip.maximize(x[0]) if maximise else lsip.minimize(-x[0])
    solution = lsip.decompose(lsip.Problem(objective, [x[0] <= 0.25]), DISC)
    assert solution.status is lsip.Status.OPTIMAL
    assert abs(solution.value) == pytest.approx(0.25, abs=1e-6)


def test_no_constraint_at_all_is_one_linear_maximisation():
    solution = lsip.decompose(disc_problem(), DISC)
    assert solution.value == pytest.approx(np.sqrt(2), abs=1e-6)
    assert not solution.active


def test_several_families_share_the_multipliers():
    other = lsip.Index("s", lsip.Interval(0, 1))
    problem = disc_problem(
        lambda x: lsip.forall(other, other * x[0] <= 0.5),
        lambda x: lsip.forall(T, T * x[1] + (1 - T) * x[0] <= 0.4 + 0.2 * T),
    )
    solution = lsip.decompose(problem, DISC, tol=1e-7)
    assert solution.status is lsip.Status.OPTIMAL
    assert solution.value == pytest.approx(1.0, abs=1e-6)  # x0 <= 0.4 and x1 <= 0.6
    assert all("t" in a.constraint for a in solution.active)
    assert len(solution.certificate.violation) == 2


@settings(max_examples=6, phases=PLAIN)
@given(cases(slack=0.3), st.sampled_from([1e-3, 0.2]))
def test_a_loose_bound_proves_less_but_nothing_false(case, excess):
    def loose(w: Array) -> lsip.Extreme:
        found = case.region(w)
        return replace(found, bound=found.bound + excess * float(np.abs(w).sum()))

    optimum = case.optimum()
    solution = lsip.decompose(case.problem(), loose, max_iterations=12, time_limit=1.0)
    assert solution.status is not lsip.Status.INFEASIBLE
    slack = 1e-7 * (1 + abs(optimum))
    assert solution.lower - slack <= optimum <= solution.upper + slack
    proven = -solution.upper if case.maximise else solution.lower
    assert proven < (-optimum if case.maximise else optimum)  # the loose side
    for s in solution.history:
        assert s.lower - slack <= optimum <= s.upper + slack


def test_points_to_begin_with_are_used():
    start = [lsip.Extreme(np.array([np.cos(t), np.sin(t)]), np.inf, "given") for t in np.linspace(0, 2 * np.pi, 50)]
    plain = lsip.decompose(CASE.problem(), DISC)
    warm = lsip.decompose(CASE.problem(), DISC, start=start)
    assert warm.value == pytest.approx(plain.value, abs=2e-6)
    assert warm.history[0].columns > 50
    assert warm.calls <= plain.calls
    with pytest.raises(ModelError, match="shape"):
        lsip.decompose(CASE.problem(), DISC, start=[lsip.Extreme(np.zeros(3), 0.0)])


def test_several_points_at_a_time_keep_their_data():
    """The best first; what comes with a point stays with it."""

    def many(w: Array) -> lsip.Extreme:
        turned = [np.array([[c, -s], [s, c]]) @ w for c, s in ((1, 0), (0.8, 0.6), (0.8, -0.6))]
        x = np.array([v / np.linalg.norm(v) for v in turned])
        return lsip.Extreme(x, DISC(w).bound, [tuple(p) for p in x])

    solution = lsip.decompose(CASE.problem(), many)
    assert solution.value == pytest.approx(CASE.optimum(), abs=2e-6)
    assert all(a.data == tuple(a.x) for a in solution.atoms)


def test_a_second_point_that_does_not_help_does_not_stop_the_search():
    """The only feasible points lie far from what the objective wants, and the second point is always the same one."""
    second = np.array([0.0, 1.0])
    problem = disc_problem(lambda x: lsip.forall(T, x[0] * (1 + T) <= -0.5))

    def pair(w: Array) -> lsip.Extreme:
        return lsip.Extreme(np.array([DISC(w).x, second]), DISC(w).bound)

    solution = lsip.decompose(problem, pair)
    assert solution.status is lsip.Status.OPTIMAL
    assert solution.value == pytest.approx(np.sqrt(0.75) - 0.5, abs=1e-5)


def test_tighter_tolerances_are_reached():
    for tol in (1e-3, 1e-6, 1e-9):
        solution = lsip.decompose(CASE.problem(), DISC, tol=tol)
        assert solution.status is lsip.Status.OPTIMAL
        assert solution.gap <= tol


# ---- honest ends -----------------------------------------------------------------------------------------------------


@settings(max_examples=20, phases=PLAIN)
@given(cases(), st.integers(1, 4))
def test_stopped_early_the_bounds_still_hold(case, iterations):
    optimum = case.optimum()
    solution = lsip.decompose(case.problem(), case.region, max_iterations=iterations, tol=1e-9)
    slack = 1e-7 * (1 + abs(optimum))
    assert solution.lower - slack <= optimum <= solution.upper + slack
    worst = case.problem().compile().violation(0, solution.x).values(np.linspace(0, 1, 501)[:, None]).max()
    assert worst <= solution.max_violation + 1e-12
    solution.verify(case.region)


def test_no_time_is_a_time_limit():
    solution = lsip.decompose(CASE.problem(), DISC, time_limit=0.0, tol=1e-9)
    assert solution.status is lsip.Status.TIME_LIMIT
    assert solution.lower <= CASE.optimum() <= solution.upper


def test_an_oracle_that_proves_nothing_gives_an_answer_without_proof():
    solution = lsip.decompose(CASE.problem(), DISC, oracle=lsip.oracles.Grid(1001), max_iterations=60)
    assert solution.status is lsip.Status.UNCERTIFIED
    assert not solution.certified
    assert solution.value == pytest.approx(CASE.optimum(), abs=1e-5)


# ---- infeasible problems ---------------------------------------------------------------------------------------------


INFEASIBLE = {
    "the family and X": [lambda x: lsip.forall(T, T * x[0] + (1 - T) * x[1] <= -1.1)],
    "two families": [
        lambda x: lsip.forall(T, x[0] + T * x[1] <= -0.8),
        lambda x: lsip.forall(T, T * x[0] - x[1] <= -0.8),
    ],
    "a family and a row": [lambda x: lsip.forall(T, x[0] * (1 + T) <= 0.2), lambda x: x[0] >= 0.15],
    "a row and X": [lambda x: lsip.forall(T, T * x[0] <= 5), lambda x: x[0] + x[1] >= 1.5],
    "rows alone": [lambda x: x[0] >= 1.01],
}


@pytest.mark.parametrize("why", INFEASIBLE)
def test_infeasible_problems_are_proven_so(why):
    problem = disc_problem(*INFEASIBLE[why])
    solution = lsip.decompose(problem, DISC)
    assert solution.status is lsip.Status.INFEASIBLE
    assert solution.certified
    assert np.isnan(solution.value)
    solution.verify(DISC)
    assert "INFEASIBLE" in str(solution)
    nothing = np.zeros_like(solution.certificate.row_multipliers)
    bare = forged(solution, support=(), row_multipliers=nothing)
    with pytest.raises(ProofError, match="contradict"):
        bare.verify(DISC)


@settings(max_examples=15, phases=PLAIN)
@given(case=cases(rows=False), depth=st.sampled_from([1e-3, 0.1, 1.0]))
def test_a_level_that_no_point_of_the_set_reaches_is_proven_out_of_reach(case, depth):
    """min over X of the largest row is found first; then it is asked to be lower by `depth`."""
    x, inside = case.region.written(lsip.Variable(case.region.n, name="x"))
    level = lsip.Variable(name="level")
    a = np.stack([np.cos((k + 1) * T) for k in range(case.region.n)])
    least = lsip.Problem(lsip.minimize(level), [lsip.forall(T, a @ x - level <= 0), *inside]).solve(verbose=False)
    reach = case.region.reach
    z = lsip.Variable(case.region.n, lower=-reach, upper=reach, name="x")
    low = lsip.Problem(lsip.minimize(z[0]), [lsip.forall(T, a @ z <= least.lower - depth)])
    high = lsip.Problem(lsip.minimize(z[0]), [lsip.forall(T, a @ z <= least.upper + depth)])
    assert lsip.decompose(low, case.region).verify(case.region).status is lsip.Status.INFEASIBLE
    assert lsip.decompose(high, case.region).verify(case.region).status is lsip.Status.OPTIMAL


# ---- wrong input -----------------------------------------------------------------------------------------------------


WRONG = {
    "an array": lambda w: w,
    "a pair": lambda w: (w, 1.0),
    "nothing": lambda w: None,
    "too many numbers": lambda w: lsip.Extreme(np.zeros(3), 1.0),
    "one number": lambda w: lsip.Extreme(np.float64(0.5), 1.0),
    "three axes": lambda w: lsip.Extreme(np.zeros((2, 2, 2)), 1.0),
    "not a number": lambda w: lsip.Extreme(np.array([np.nan, 0]), 1.0),
    "a bound that is not a number": lambda w: replace(DISC(w), bound=np.nan),
    "a bound below the value": lambda w: replace(DISC(w), bound=DISC(w).bound - 0.5),
    "a point outside the bounds of x": lambda w: lsip.Extreme(2 * DISC(w).x, 2 * DISC(w).bound),
    "data for other points": lambda w: lsip.Extreme(np.array([DISC(w).x, -DISC(w).x]), DISC(w).bound, ["only one"]),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_answers_of_the_maximisation_are_refused(what):
    with pytest.raises(ModelError, match=r"maximise|bound|Extreme"):
        lsip.decompose(CASE.problem(), WRONG[what], max_iterations=20)


@pytest.mark.parametrize("bounds", [{}, {"lower": 0}, {"upper": 1}, {"lower": [0, -np.inf], "upper": 1}])
def test_variables_without_bounds_are_refused(bounds):
    x = lsip.Variable(2, name="x", **bounds)
    with pytest.raises(ModelError, match="finite bounds"):
        lsip.decompose(lsip.Problem(lsip.minimize(x[0]), [lsip.forall(T, T * x[0] <= 1)]), DISC)


def test_equalities_belong_to_the_set():
    with pytest.raises(ModelError, match="inequalities"):
        lsip.decompose(disc_problem(lambda x: x[0] == 0.5), DISC)


@pytest.mark.parametrize("options", [{"tol": 0.0}, {"tol": 1.0}, {"max_iterations": 0}, {"oracle": "gird"}])
def test_wrong_options_are_refused(options):
    with pytest.raises(ModelError, match=next(iter(options))):
        lsip.decompose(CASE.problem(), DISC, **options)


# ---- tampering -------------------------------------------------------------------------------------------------------


def forged(solution: lsip.Decomposition, **claims: Any) -> lsip.Decomposition:
    """The solution with other claims in its certificate."""
    return replace(solution, certificate=replace(solution.certificate, **claims))


def test_what_was_tampered_with_does_not_verify():
    solution = lsip.decompose(CASE.problem(), DISC)
    assert solution.verify(DISC) is solution
    first, *others = solution.atoms
    scale = 1 + abs(solution.value)
    atoms = {
        "half the weight": (replace(first, weight=first.weight / 2), *others),
        "weights of sum two": tuple(replace(a, weight=2 * a.weight) for a in solution.atoms),
        "a weight below zero": (replace(first, weight=1.5), replace(first, weight=-0.5, x=-first.x)),
    }
    fakes = {name: replace(forged(solution, x=sum(p.weight * p.x for p in a)), atoms=a) for name, a in atoms.items()}
    proof = solution.certificate
    fakes |= {
        "a better lower bound": forged(solution, lower=proof.lower + 1e-4 * scale),
        "a better upper bound": forged(solution, upper=proof.upper - 1e-4 * scale),
        "another point": forged(solution, x=solution.x * 0.9),
        "other multipliers": forged(
            solution, support=tuple(replace(s, multiplier=2 * s.multiplier + 1) for s in proof.support)
        ),
        "multipliers below zero": forged(
            solution, support=tuple(replace(s, multiplier=-s.multiplier - 1) for s in proof.support)
        ),
        "an index outside of Y": forged(solution, support=tuple(replace(s, point=s.point + 5) for s in proof.support)),
    }
    passed = []
    for name, fake in fakes.items():
        try:
            fake.verify(DISC)
        except ProofError:
            continue
        passed.append(name)
    assert proof.support
    assert not passed


def test_a_point_that_breaks_a_finite_row_does_not_verify():
    problem = disc_problem(lambda x: x[0] <= 0.25, lambda x: lsip.forall(T, T * x[1] <= 2), objective=lambda x: x[0])
    solution = lsip.decompose(problem, DISC)
    best = DISC(np.array([1.0, 0.0])).x
    claimed = forged(solution, x=best, lower=-1.0, upper=-1.0)
    fake = replace(claimed, atoms=(replace(solution.atoms[0], weight=1.0, x=best),))
    with pytest.raises(ProofError):
        fake.verify(DISC)


FLAT = disc_problem(
    lambda x: lsip.forall(T, T * x[0] <= 3), objective=lambda x: x[0]
)  # never binding: the optimum is 1
EAST, WEST = np.array([1.0, 0.0]), np.array([-1.0, 0.0])


def claim(shares: tuple[float, float], bound: float, *support: Support) -> lsip.Decomposition:
    """Of `FLAT`: the mixture of its east and west ends, and an upper bound that the support is to prove."""
    honest = lsip.decompose(FLAT, DISC)
    atoms = tuple(replace(honest.atoms[0], weight=w, x=x) for w, x in zip(shares, (EAST, WEST), strict=True))
    x = sum(a.weight * a.x for a in atoms)
    x, box = mixture(atoms, 2) if min(shares) >= 0 and sum(shares) == 1 else (x, honest.certificate.box)
    low = float(x[0]) - 1e-12  # what it attains, of a maximum
    return replace(forged(honest, x=x, box=2 * box, support=support, lower=-bound, upper=-low), atoms=atoms)


FALSE = {
    "weights of sum two": claim((2.0, 0.0), 1.0),
    "a weight below zero": claim((1.5, -0.5), 1.0),
    "an index outside of Y": claim((0.8, 0.2), 0.6, Support(0, 0, np.array([5.0]), 0.2)),
    "a multiplier below zero": claim((0.5, 0.5), 0.0, Support(0, 0, np.array([1.0]), -0.5)),
}


def test_an_honest_claim_verifies():
    claim((1.0, 0.0), 1.0 + 1e-9).verify(DISC)


@pytest.mark.parametrize("what", FALSE)
def test_false_claims_do_not_verify(what):
    with pytest.raises(ProofError):
        FALSE[what].verify(DISC)


# ---- the supremum itself ---------------------------------------------------------------------------------------------


@settings(max_examples=20, phases=PLAIN)
@given(model=models(), tol=st.sampled_from([1e-2, 1e-5, 1e-9]), shift=st.sampled_from([-3.0, 0.0, 2.0]))
def test_the_supremum_lies_between_a_value_and_its_bound(model, tol, shift):
    costs = model.build().costs
    visits = np.random.default_rng(model.seed).uniform(size=costs.size)
    x = lsip.Variable(costs.size + 1, name="x")
    program = lsip.Problem(lsip.minimize(x[0]), [shifted(model, x)]).compile()
    domain = DOMAINS[model.domain]
    violation = program.violation(0, np.append(visits, shift))
    found = lsip.oracles.supremum(violation, tol=tol)
    assert found.worst <= found.bound <= found.worst + tol + 1e-12 * (1 + abs(found.bound))
    at = violation.values(found.points)[:, 0]
    assert at.max() == pytest.approx(found.worst, rel=1e-12, abs=1e-12)
    assert domain.contains(found.points).all()
    samples = np.concatenate([domain.sample(500, seed=2), domain.grid(11), found.points])
    assert violation.values(samples).max() <= found.bound + 1e-12 * (1 + abs(found.bound))


def shifted(model: Model, x: Any) -> Any:
    """c_y @ x[:-1] + x[-1] <= 1 for all y, so that the supremum may have either sign."""
    y = lsip.Index("y", DOMAINS[model.domain])
    cost = model.cost_at(y)
    size = cost.size
    return lsip.forall(y, cost.reshape(size) @ x[:size] + x[size] <= 1 + 0 * (y if not y.shape else y[0]))


def test_a_supremum_without_enough_boxes_is_still_a_bound():
    model = Model("box", "kinks", states=6)
    violation = model.build().costs.violation(np.ones(6))
    found = lsip.oracles.supremum(violation, tol=1e-12, max_boxes=20)
    assert violation.values(DOMAINS["box"].grid(60)).max() <= found.bound
    assert found.worst <= found.bound


# ---- families on chosen variables ------------------------------------------------------------------------------------


def tangent(y: Any) -> Any:
    return -np.tan(y[:, 0])


def powers(y: Any) -> Any:
    return -(y ** np.arange(3))


ABOVE = lsip.Family(lsip.Interval(0, 1), powers, tangent)


@pytest.mark.parametrize(
    "pick",
    [lambda x: x[:3], lambda x: x[2:5], lambda x: x[::-1][:3], lambda x: x[np.array([4, 0, 2])]],
    ids=["first", "last", "backwards", "chosen"],
)
def test_a_family_on_variables_is_the_same_as_forall(pick):
    values = []
    for form in ("on", "forall"):
        x = lsip.Variable(5, lower=-5, upper=5, name="x")
        z = pick(x)
        row = ABOVE.on(z) if form == "on" else lsip.forall(T, z[0] + z[1] * T + z[2] * T**2 >= np.tan(T))
        problem = lsip.Problem(lsip.minimize(z[0] + z[1] / 2 + z[2] / 3 + x.sum() * 1e-3), [row, x[0] <= 3])
        solution = problem.solve(verbose=False)
        assert solution.certified
        assert solution.verify()
        values.append(solution.value)
    assert values[0] == pytest.approx(values[1], abs=1e-7)


def test_families_mix_with_each_other_and_with_other_variables():
    x, other = lsip.Variable(3, name="x"), lsip.Variable(2, lower=0, upper=1, name="other")
    objective = lsip.minimize(x[0] + x[1] / 2 + x[2] / 3 - other.sum())
    low = lsip.Family(lsip.Interval(0, 1), lambda y: np.concatenate([y, 1 - y], axis=1), lambda y: 0.5 + 0 * y[:, 0])
    solution = lsip.Problem(objective, [low.on(other), ABOVE.on(x)]).solve(verbose=False)
    assert solution.value == pytest.approx(0.6490421 - 1.0, abs=1e-6)
    assert np.allclose(solution[other], 0.5, atol=1e-6)


@pytest.mark.parametrize(
    "what",
    [
        lambda x: 2 * x,
        lambda x: x + 1,
        lambda x: -x,
        lambda x: x[0],
        lambda x: x + x,
        lambda x: T * x,
        lambda x: lsip.Variable((3, 3)),
        lambda x: np.ones(3),
        lambda x: 3.0,
        lambda x: None,
        lambda x: T,
    ],
)
def test_what_is_not_a_vector_of_variables_is_refused(what):
    with pytest.raises(ModelError):
        ABOVE.on(what(lsip.Variable(3, name="x")))


def test_a_family_of_another_length_is_refused():
    x = lsip.Variable(4, name="x")
    with pytest.raises(ModelError, match="one coefficient per variable"):
        lsip.Problem(lsip.minimize(x.sum()), [ABOVE.on(x)]).solve(verbose=False)


# ---- the first index points ------------------------------------------------------------------------------------------


def tangent_problem() -> lsip.Problem:
    x = lsip.Variable(3, lower=-5, upper=5, name="x")
    return lsip.Problem(
        lsip.minimize(x[0] + x[1] / 2 + x[2] / 3), [lsip.forall(T, x[0] + x[1] * T + x[2] * T**2 >= np.tan(T))]
    )


def test_the_exchange_begins_with_the_points_that_it_is_given():
    """The first relaxation on two points: its value is that of the linear program on them."""
    points = np.array([[0.2], [0.9]])
    method = lsip.Exchange(start=[points], polish=False)
    first = next(iter(lsip.exchange(tangent_problem(), method)))
    assert first.rows - first.cuts == 2
    a = np.column_stack([np.ones(2), points[:, 0], points[:, 0] ** 2])
    assert (a @ first.x >= np.tan(points[:, 0]) - 1e-7).all()
    solution = tangent_problem().solve(method=method, verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(0.6490421, abs=1e-6)
    assert first.value <= solution.value


@pytest.mark.parametrize(
    "start",
    [
        [],
        [[[0.5]], [[0.5]]],
        [[[0.5, 0.5]]],
        [[[1.5]]],
        [[[0.5], [-0.1]]],
        [[[np.nan]]],
        [["middle"]],
        [[[0.1], [0.2, 0.3]]],
        0.5,
    ],
)
def test_wrong_first_points_are_refused(start):
    with pytest.raises(ModelError, match="start"):
        tangent_problem().solve(method=lsip.Exchange(start=start), verbose=False)


# ---- points of X keep the bounds of the variables --------------------------------------------------------------------


def wide_box(excess: float, radius: float = 0.0) -> Any:
    """The linear maximisation over [-1e9, 1e9 + excess]^2."""

    def maximise(w: Array) -> lsip.Extreme:
        x = np.where(w > 0, 1e9 + excess, -1e9)
        return lsip.Extreme(x, float(w @ x) + 1e-6 * float(np.abs(w).sum()), radius=radius)

    return maximise


def wide_problem() -> lsip.Problem:
    x = lsip.Variable(2, lower=-1e9, upper=1e9, name="x")
    return lsip.Problem(lsip.maximize(x[0]), [lsip.forall(T, T * x[0] + (1 - T) * x[1] <= 3e9)])


def test_points_beyond_the_bounds_are_refused_however_large_these_are() -> None:
    with pytest.raises(ModelError, match=r"outside the bounds of the variables, by 0\.9;.*radius"):
        lsip.decompose(wide_problem(), wide_box(0.9))
    exact = lsip.decompose(wide_problem(), wide_box(0.0))
    assert exact.certified
    assert exact.lower <= 1e9 <= exact.upper


@pytest.mark.parametrize(("excess", "radius"), [(2e-7, 0.0), (0.9, 0.9)])
def test_what_points_miss_the_bounds_by_is_what_they_are_inexact_by(excess: float, radius: float) -> None:
    """A rounded point, and one that says so: what is proven is about a point of X, which is inside."""
    solution = lsip.decompose(wide_problem(), wide_box(excess, radius))
    assert all((atom.x - atom.radius <= 1e9).all() for atom in solution.atoms)
    assert solution.lower <= 1e9
    solution.verify()
    forged = replace(solution, atoms=tuple(replace(atom, radius=0.0) for atom in solution.atoms))
    with pytest.raises(ProofError, match="outside the bounds"):
        forged.verify()


def test_a_decomposition_that_changes_nothing_any_more_ends():
    """The points of X are known too roughly to close the gap: prices stay, and the same points come again."""
    x = lsip.Variable(2, lower=-1.1, upper=1.1, name="x")
    t = lsip.Index("t", lsip.Interval(0, 1))
    problem = lsip.Problem(lsip.maximize(x[0] + x[1]), [lsip.forall(t, t * x[0] + (1 - t) * x[1] <= 0.6 + t**2)])

    def disc(w):
        return lsip.Extreme(w / np.linalg.norm(w), np.linalg.norm(w) * (1 + 1e-15), radius=1e-6)

    found = lsip.decompose(problem, disc, tol=1e-8)
    assert found.status is lsip.Status.STALLED
    assert len(found.history) < 100
    assert found.lower <= 1.3967951 <= found.upper
    assert lsip.decompose(problem, disc, tol=1e-5).certified
