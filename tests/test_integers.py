"""Integer variables: whole values proposed by a branch and bound, feasible for every index by proof."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

import lsip
from lsip.masters.base import FiniteProgram
from lsip.masters.checked import open_program
from lsip.masters.registry import integer_backend
from lsip.proof.certificate import Support, TreeAssumption
from lsip.reductions.forcing_rows import ForcingRows

T = lsip.Index("t", lsip.Interval(0, 1))


def solved(problem, **options):
    """The answer, which has to be what it says when it is checked again."""
    solution = problem.solve(verbose=False, **options)
    return solution.verify()


def on_trust(solution):
    """Feasible for every index by proof, optimal by the word of a branch and bound."""
    whole = solution.x[solution.program.integer]
    assert solution.status is lsip.Status.UNCERTIFIED
    assert not solution.certified
    assert solution.violation_proven
    assert solution.max_violation <= 0
    assert (whole == np.rint(whole)).all()
    assert "branch and bound" in solution.message
    assert "trust" in solution.message
    assert any(isinstance(a, TreeAssumption) for a in solution.certificate.assumptions)
    assert solution.gap <= solution.tol
    return True


# ---- Bertsimas & Sim, "The price of robustness" (2004), section 6.1: weights in [w - d, w + d], at most Γ deviate


def knapsack(n, budget, capacity, seed):
    rng = np.random.default_rng(seed)
    weight, worth = rng.integers(20, 30, n).astype(float), rng.integers(16, 78, n).astype(float)
    deviation = 0.1 * weight
    x, z = lsip.Variable(n, name="x", boolean=True), lsip.Index("z", lsip.Budget(n, budget))
    robust = lsip.forall(z, (weight + deviation * z) @ x <= capacity, name="capacity")
    return lsip.Problem(lsip.maximize(worth @ x), [robust]), x, weight, deviation, worth


def best_knapsack(weight, deviation, worth, budget, capacity):
    """Every choice, and the worst deviations of each: the largest, and a part of the next."""
    chosen = np.array(list(product((0.0, 1.0), repeat=len(weight))))
    worst = -np.sort(-chosen * deviation, axis=1)
    full = int(budget)
    part = (budget - full) * worst[:, full] if full < len(weight) else 0.0
    fits = chosen @ weight + worst[:, :full].sum(axis=1) + part <= capacity
    return (chosen @ worth)[fits].max()


@pytest.mark.parametrize("budget", [1, 2.5, 4, 12])
def test_a_robust_knapsack_is_the_best_of_all(budget):
    problem, x, weight, deviation, worth = knapsack(12, budget, 151.3, 4)
    solution = solved(problem)
    assert on_trust(solution)
    assert solution.value == best_knapsack(weight, deviation, worth, budget, 151.3)
    assert solution[x] @ weight + np.sort(solution[x] * deviation)[-int(budget) :].sum() <= 151.3


@pytest.mark.parametrize("method", [lsip.Counterpart(), lsip.Exchange(), None], ids=["counterpart", "exchange", "own"])
def test_every_method_keeps_whole_variables_whole(method):
    problem, x, *data = knapsack(12, 2.5, 151.3, 4)
    solution = solved(problem, method=method)
    assert on_trust(solution)
    assert solution.value == best_knapsack(*data, 2.5, 151.3)
    assert set(solution[x].tolist()) == {0.0, 1.0}


def test_counterparts_with_cones_keep_whole_variables_whole():
    x, z = lsip.Variable(3, name="x", integer=True, lower=0, upper=5), lsip.Index("z", lsip.Ball([0, 0, 0], 1))
    problem = lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(z, (2 + z) @ x <= 7.9)])
    solution = solved(problem, method=lsip.Counterpart())
    assert on_trust(solution)
    every = np.array(list(product(range(6), repeat=3)), dtype=float)
    fits = 2 * every.sum(axis=1) + np.linalg.norm(every, axis=1) <= 7.9
    assert solution.value == every[fits].sum(axis=1).max()


def test_one_branch_and_bound_where_there_is_a_counterpart():
    """Rules beside binaries: no exchange of index points, and no second visit."""
    problem, *_ = facilities(3, 2)
    solution, other = solved(problem), solved(problem, method=lsip.Exchange())
    assert on_trust(solution)
    assert len(solution.history) == 1
    assert solution.value == pytest.approx(other.value, rel=2e-8)
    assert solution.active


def test_a_best_that_needs_no_integrality_is_proven():
    x, z = lsip.Variable(4, name="x", boolean=True), lsip.Index("z", lsip.Budget(4, 2))
    solution = solved(lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(z, (2 + z) @ x <= 10)]))
    assert solution.status is lsip.Status.OPTIMAL
    assert solution.value == pytest.approx(4.0)


def test_gurobi_says_the_same():
    pytest.importorskip("gurobipy")
    problem, *data = knapsack(12, 3, 151.3, 7)
    solution = solved(problem, master="gurobi")
    assert on_trust(solution)
    assert "gurobi" in solution.message
    assert solution.value == best_knapsack(*data[1:], 3, 151.3)


# ---- Baron, Milner & Naseraldin, "Facility location: a robust optimization approach" (2011): demand in a set


def facilities(budget, seed):
    """Open sites and assign shares of customers, so that no site is overrun whatever the demand."""
    rng = np.random.default_rng(seed)
    sites, customers = 4, 5
    place, home = rng.uniform(size=(sites, 2)), rng.uniform(size=(customers, 2))
    distance = np.linalg.norm(place[:, None] - home[None], axis=2)
    fixed, capacity = rng.uniform(1, 2, sites), rng.uniform(12, 18, sites)
    demand, deviation = rng.uniform(4, 6, customers), rng.uniform(0.5, 1.5, customers)
    opened, share = lsip.Variable(sites, name="open", boolean=True), lsip.Variable((sites, customers), lower=0)
    z = lsip.Index("z", lsip.Budget(customers, budget))
    load = [(demand + deviation * z) @ share[i] <= capacity[i] * opened[i] for i in range(sites)]
    cost = fixed @ opened + (distance * demand * share).sum()
    problem = lsip.Problem(lsip.minimize(cost), [share.sum(axis=0) == 1, lsip.forall(z, load)])
    return problem, opened, (fixed, capacity, demand, deviation, distance)


def cheapest(fixed, capacity, demand, deviation, distance, budget):
    """Every choice of sites, with the linear program over the corners of the demand set."""
    sites, customers = distance.shape
    corners = [demand + deviation * np.isin(np.arange(customers), c) for c in combinations(range(customers), budget)]
    best = np.inf
    for chosen in product((0.0, 1.0), repeat=sites):
        rows = np.concatenate([np.kron(np.eye(sites), d[None, :]) for d in corners])
        found = linprog(
            (distance * demand).ravel(), rows, np.tile(capacity * chosen, len(corners)),
            np.tile(np.eye(customers), sites), np.ones(customers),
        )  # fmt: skip
        best = min(best, found.fun + fixed @ chosen) if found.status == 0 else best
    return best


@pytest.mark.parametrize("budget", [1, 3])
def test_robust_facilities_are_the_cheapest(budget):
    problem, opened, data = facilities(budget, 2)
    solution = solved(problem)
    assert on_trust(solution)
    assert solution.value == pytest.approx(cheapest(*data, budget), rel=1e-7)
    assert 0 < solution[opened].sum() < 4


def test_binaries_now_and_an_affine_rule_later():
    """Build plants now, and make later what the demand is seen to be, by a rule that is affine in it."""
    demand, swing, size, price = np.array([5.0, 7]), np.array([2.0, 3]), np.array([6.0, 9, 11]), np.array([4.0, 5, 7])
    build, base = lsip.Variable(3, name="build", boolean=True), lsip.Variable(3, name="base")
    slope, worst = lsip.Variable((3, 2), name="slope"), lsip.Variable(name="worst")
    z, cost = lsip.Index("z", lsip.Box([-1, -1], [1, 1])), np.array([1.0, 0.7, 0.4])
    make = base + slope @ z
    rows = [make >= 0, make - size * build <= 0, make.sum() >= (demand + swing * z).sum(), cost @ make <= worst]
    solution = solved(lsip.Problem(lsip.minimize(price @ build + worst), [lsip.forall(z, row) for row in rows]))
    corners, best = np.array(list(product((-1, 1), repeat=2))), np.inf
    for chosen in product((0.0, 1.0), repeat=3):
        rule = np.array([np.concatenate([np.eye(3)[i], np.kron(np.eye(3)[i], c)]) for c in corners for i in range(3)])
        total, spent = (np.stack([w @ rule[3 * k : 3 * k + 3] for k in range(4)]) for w in (np.ones(3), cost))
        wide = np.zeros((12, 1))
        table = np.block([[-rule, wide], [rule, wide], [-total, wide[:4]], [spent, -np.ones((4, 1))]])
        needed = (demand + swing * corners).sum(axis=1)
        sides = np.concatenate([np.zeros(12), np.tile(size * chosen, 4), -needed, np.zeros(4)])
        found = linprog(np.append(np.zeros(9), 1), table, sides, bounds=(None, None))
        best = min(best, found.fun + price @ chosen) if found.status == 0 else best
    assert solution.value == pytest.approx(best, rel=1e-7)
    assert solution.violation_proven
    assert solution.max_violation <= 0


# ---- nonlinear in the index, general integers


def polynomial(lower=-5, upper=5, target=lambda t: 3 * np.sin(4 * t)):
    k, e = lsip.Variable(3, name="k", integer=True, lower=lower, upper=upper), lsip.Variable(name="e", lower=0)
    rest = k[0] + k[1] * T + k[2] * T**2 - target(T)
    return lsip.Problem(lsip.minimize(e), [lsip.forall(T, rest <= e), lsip.forall(T, -rest <= e)]), k, e


def test_whole_coefficients_of_a_polynomial():
    problem, k, e = polynomial()
    solution = solved(problem)
    assert on_trust(solution)
    t = np.linspace(0, 1, 2001)
    all_k = np.array(list(product(range(-5, 6), repeat=3)))
    errors = np.abs(all_k @ np.stack([t**0, t, t**2]) - 3 * np.sin(4 * t)).max(axis=1)
    assert (solution[k] == all_k[errors.argmin()]).all()
    assert 0 <= solution[e] - errors.min() <= 1e-5  # between the points of the grid


def test_without_other_variables():
    v = lsip.Variable(2, name="v", integer=True, lower=0)
    solution = solved(lsip.Problem(lsip.minimize(v.sum()), [lsip.forall(T, v[0] + v[1] * T >= np.exp(T))]))
    assert on_trust(solution)
    assert solution.value == 3


def test_a_relaxation_that_is_whole_proves_the_optimum():
    v = lsip.Variable(2, name="v", integer=True, lower=0)
    solution = solved(lsip.Problem(lsip.minimize(2 * v[0] + v[1]), [lsip.forall(T, v[0] + v[1] * T >= 1 + T**2)]))
    assert solution.certified
    assert solution.value == 3
    assert list(solution[v]) == [1, 1]


def test_multipliers_are_those_with_the_integers_fixed():
    q, c = lsip.Variable(2, name="q", boolean=True), lsip.Variable(name="c")
    above = lsip.forall(T, c + q @ [1, 2] * T >= np.exp(T) / 2, name="above")
    most = (c <= 0.9).named("most")
    problem = lsip.Problem(lsip.minimize(c + q @ [0.3, 0.7]), [above, most])
    solution = solved(problem)
    assert on_trust(solution)
    assert sum(a.multiplier for a in solution.dual("above")) == pytest.approx(1, abs=1e-6)
    assert solution.reduced_costs(c) == pytest.approx(0, abs=1e-6)
    assert solution.dual("most") == pytest.approx(0, abs=1e-6)
    q.lower = q.upper = solution[q]
    fixed = problem.solve(verbose=False)
    assert fixed.value == pytest.approx(solution.value, rel=1e-7)


# ---- problems without a solution


def test_no_whole_values():
    w = lsip.Variable(2, name="w", boolean=True)
    near = [lsip.forall(T, w.sum() >= 0.5 + 0.1 * T), lsip.forall(T, w.sum() <= 0.9 - 0.1 * T)]
    solution = lsip.Problem(lsip.minimize(w[0]), near).solve(verbose=False)
    assert solution.status is lsip.Status.UNCERTIFIED
    assert "No whole values" in solution.message
    assert solution.upper == np.inf
    assert solution.lower <= 0


def test_a_contradiction_without_integrality_is_proven():
    w = lsip.Variable(2, name="w", boolean=True)
    solution = solved(lsip.Problem(lsip.minimize(w[0]), [lsip.forall(T, w.sum() >= 2.5 + 0.1 * T)]))
    assert solution.status is lsip.Status.INFEASIBLE
    assert solution.certified


def test_unbounded_with_proof_and_without():
    w, u = lsip.Variable(name="w", boolean=True), lsip.Variable(name="u")
    solution = solved(lsip.Problem(lsip.minimize(u + w), [lsip.forall(T, u + w * T <= 1)]))
    assert solution.status is lsip.Status.UNBOUNDED
    assert solution.certified
    v = lsip.Variable(name="v", integer=True)
    solution = lsip.Problem(lsip.maximize(v), [lsip.forall(T, v * T >= -1)]).solve(verbose=False)
    assert solution.status is lsip.Status.UNCERTIFIED
    assert "Give the integer variables bounds" in solution.message


def test_nothing_to_minimise():
    q = lsip.Variable(4, name="q", boolean=True)
    solution = solved(lsip.Problem(lsip.minimize(0 * q[0]), [q.sum() == 2, lsip.forall(T, q[0] * T + q[1] >= 0.3)]))
    assert solution.value == 0
    assert solution.upper < 1e-300
    assert solution[q][1] == 1


# ---- limits, files, doors


def test_a_time_limit_is_kept_with_valid_bounds():
    problem, *_ = knapsack(60, 11.5, 777.7, 3)
    limited = problem.solve(verbose=False, time_limit=0.6, tol=1e-12)
    full = problem.solve(verbose=False)
    assert limited.seconds <= 0.6 * 1.3 + 0.2
    assert limited.lower <= full.value <= limited.upper


def test_a_callback_stops_and_steps_can_be_seen():
    problem, *_ = knapsack(12, 2, 150, 1)
    seen = []
    method = lsip.Exchange(oracle="support")
    stopped = problem.solve(method=method, verbose=False, callback=lambda i: seen.append(i) or len(seen) == 2)
    assert stopped.status is lsip.Status.INTERRUPTED
    assert len(stopped.history) == 2
    steps = list(lsip.exchange(problem, method))
    assert [s.iteration for s in steps] == list(range(1, len(steps) + 1))
    uppers = [s.upper for s in steps]
    assert uppers == sorted(uppers, reverse=True)


def test_an_iteration_limit():
    problem, *_ = polynomial()
    solution = problem.solve(verbose=False, max_iterations=1)
    assert solution.status is lsip.Status.ITERATION_LIMIT
    assert solution.lower > 0


def test_a_file_keeps_what_is_taken_on_trust(tmp_path):
    problem, *_ = polynomial()
    solution = problem.solve(verbose=False)
    solution.save(tmp_path / "s.npz")
    again = lsip.Solution.load(tmp_path / "s.npz", problem)
    assert again.message == solution.message
    assert not again.certified
    assert again.verify().violation_proven
    other, *_ = polynomial(lower=-4)
    with pytest.raises(lsip.ModelError, match="another model"):
        lsip.Solution.load(tmp_path / "s.npz", other)
    with pytest.raises(lsip.ModelError, match="certified can be exported"):
        solution.export(tmp_path / "p.json")


def test_a_point_that_is_not_whole_is_no_proof():
    v = lsip.Variable(2, name="v", integer=True, lower=0)
    solution = solved(lsip.Problem(lsip.minimize(2 * v[0] + v[1]), [lsip.forall(T, v[0] + v[1] * T >= 1 + T**2)]))
    moved = replace(solution.certificate, x=solution.x + np.array([1e-9, 0]), upper=solution.upper + 1e-8)
    with pytest.raises(lsip.ProofError, match="not whole"):
        replace(solution, certificate=moved).verify()


def test_a_parameter_changes_and_the_next_solve_knows_the_cuts():
    v, limit = lsip.Variable(2, name="v", integer=True, lower=0, upper=9), lsip.Parameter(name="limit", value=3.0)
    problem = lsip.Problem(lsip.minimize(v.sum()), [lsip.forall(T, v[0] + v[1] * T >= limit * np.exp(T))])
    first = problem.solve(verbose=False).value
    limit.value = 2.0
    assert (first, problem.solve(verbose=False).value) == (9, 6)


def test_arrays_say_which_variables_are_whole():
    above = lsip.Family(lsip.Interval(0, 1), lambda y: -(y ** np.arange(2)), lambda y: -np.exp(y[:, 0]))
    solution = lsip.linsip([1, 0.6], [above], integrality=[1, 0])
    assert solution.x[0] == 1
    assert solution.x[1] == pytest.approx(np.e - 1, abs=1e-6)
    program = lsip.Program.from_arrays([1, 0.6], families=[above], integrality=1, bounds=(0.5, 8.5))
    assert list(program.lower) == [1, 1]
    assert list(program.upper) == [8, 8]
    assert list(lsip.Program.from_arrays(**program.to_arrays()).integer) == [True, True]
    assert program.solve(verbose=False).value == pytest.approx(1.6 + 0.6)


def test_a_discretisation_is_whole_too():
    problem, *_ = polynomial()
    assert problem.discretise(5).solve().x[:3] == pytest.approx(np.rint(problem.discretise(5).solve().x[:3]))
    assert (problem.to_scipy(5)["integrality"] == [1, 1, 1, 0]).all()
    cvxpy = pytest.importorskip("cvxpy")
    assert problem.to_cvxpy(5).solve(solver=cvxpy.HIGHS) == pytest.approx(problem.discretise(5).solve().value, rel=1e-5)


def test_cvxpy_variables_may_be_whole():
    cp = pytest.importorskip("cvxpy")
    from lsip.interop.cvxpy import Index, Problem, forall

    t, b, k = Index("t", lsip.Interval(0, 1)), cp.Variable(2, boolean=True), cp.Variable((2, 2), integer=True)
    u = cp.Variable()
    problem = Problem(
        cp.Minimize(u + b @ np.array([1, 2]) + cp.sum(k)),
        [forall(t, u + b[0] * t + 2 * b[1] * t**2 + k[0, 1] * t >= np.exp(t)), k >= 0.5, u <= 1.2],
    )
    solution = problem.solve()
    assert solution.violation_proven
    assert problem.value == pytest.approx(6, rel=1e-7)
    assert (k.value == [[1, 2], [1, 1]]).all()
    assert not b.value.any()
    assert b.attributes["boolean"] is True


def test_pyomo_variables_may_be_whole():
    pyo = pytest.importorskip("pyomo.environ")
    from pyomo.dae import ContinuousSet

    import lsip.interop.pyomo  # noqa: F401 - registers the solver

    m = pyo.ConcreteModel()
    m.x, m.u, m.k = pyo.Var(domain=pyo.Binary), pyo.Var(), pyo.Var(domain=pyo.NonNegativeIntegers)
    m.t = ContinuousSet(bounds=(0, 1))
    m.cost = pyo.Objective(expr=m.u + 2 * m.x + m.k)
    m.above = pyo.Constraint(m.t, rule=lambda m, t: m.u + 2 * m.x * t + m.k * t >= pyo.exp(t))
    m.most = pyo.Constraint(expr=m.u <= 1.2)
    results = pyo.SolverFactory("lsip").solve(m)
    assert pyo.value(m.cost) == pytest.approx(3, rel=1e-7)
    assert (m.x.value, m.k.value) in ((0, 2), (1, 0))
    assert (results.problem.number_of_integer_variables, results.problem.number_of_continuous_variables) == (2, 1)


# ---- what is refused, and how it prints

REFUSED = {
    "no whole number": (lambda: lsip.Variable(integer=True, lower=0.2, upper=0.8), "no whole number lies between"),
    "neither": (lambda: lsip.Variable(boolean=True, lower=2), "neither 0 nor 1"),
    "a word": (lambda: lsip.Variable(integer="yes"), "`integer` is True or False"),
    "integrality": (lambda: lsip.linsip([1, 1], [], integrality=[1, 2]), "`integrality` is 0"),
    "arrays": (lambda: lsip.linsip([1], [], integrality=1, bounds=(0.2, 0.8)), "No whole number"),
    "master": (lambda: polynomial()[0].solve(master="cvxpy", verbose=False), "'highs' or 'gurobi'"),
    "decompose": (
        lambda: lsip.decompose(polynomial()[0], lambda d: lsip.Extreme(d, 0.0)),
        "decompose takes no integer variables",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_sentence(case):
    build, sentence = REFUSED[case]
    with pytest.raises(lsip.ModelError, match=sentence):
        build()


def test_models_print_their_integers():
    problem, *_ = polynomial()
    assert "k ∈ ℤ³" in str(problem)
    assert r"k \in \mathbb{Z}^{3}" in problem._repr_latex_()
    assert "b ∈ ℤ" in str(lsip.Problem(lsip.minimize(lsip.Variable(name="b", boolean=True))))


# ---- parts


@pytest.mark.parametrize("master", ["highs", "gurobi"])
def test_what_a_branch_and_bound_says(master):
    if master == "gurobi":
        pytest.importorskip("gurobipy")
    nothing = sparse.csr_matrix((0, 2))
    whole, none = np.array([True, False]), np.zeros(0)

    def opened(c, upper):
        program = FiniteProgram(np.array(c), np.zeros(2), np.array(upper), nothing, none, none, whole)
        return open_program(integer_backend(master), program, 1e-8)

    tree = opened([-1.0, -1.0], [9.0, 1.0])
    tree.add(np.array([[2.0, 2.0]]), np.array([7.5]))
    found = tree.solve(gap=0.0)
    assert found.status == "optimal"
    assert found.bound == pytest.approx(-3.75)
    assert found.x == pytest.approx([3, 0.75])
    tree.add(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([0.9, -0.1]))
    assert tree.solve(gap=0.0, start=found.x).status == "infeasible"
    assert opened([-1.0, 0.0], [np.inf, np.inf]).solve(gap=0.0).status == "unbounded"


def test_rows_without_room_force_variables_to_zero():
    opened, share = lsip.Variable(2, name="open"), lsip.Variable((2, 2), name="share", lower=0)
    z = lsip.Index("z", lsip.Box([-1, -1], [1, 1]))
    load = [(3 + z) @ share[i] <= 9 * opened[i] for i in range(2)]
    problem = lsip.Problem(lsip.minimize(opened.sum()), [lsip.forall(z, load), share[1, 0] <= 4 * share[0, 0]])
    opened.lower = opened.upper = [0, 1]
    program = problem.compile()
    assert list(ForcingRows().apply(program).upper) == [0, 1, *[np.inf] * 4], "no finite row is without room"
    cuts = tuple(Support(0, i, np.zeros(2), 0.0) for i in range(2))
    assert list(ForcingRows(cuts).apply(program).upper) == [0, 1, 0, 0, 0, np.inf], (
        "the finite row follows from the first cut"
    )


DIRECTIONS = np.random.default_rng(5).normal(size=(20, 3))
SETS = (
    lsip.Box([-1, 0, 2], [1, 0.1, 3]),
    lsip.Budget(3, 1.7),
    lsip.Simplex(3),
    lsip.Finite(np.random.default_rng(6).normal(size=(9, 3))),
)


@pytest.mark.parametrize("domain", SETS, ids=lambda d: type(d).__name__)
def test_suprema_in_rational_numbers(domain):
    _, bounds = domain.support(DIRECTIONS)
    for d, bound in zip(DIRECTIONS, bounds, strict=True):
        exact = domain.exact_support([Fraction(v) for v in d.tolist()])
        assert exact <= Fraction(bound) <= exact + Fraction(1, 10**12)


def test_where_rounding_decides_rational_numbers_do():
    n = 40
    x, z = lsip.Variable(n, name="x"), lsip.Index("z", lsip.Budget(n, 7))
    weight = np.arange(1.0, n + 1)
    for capacity, fits in ((weight.sum() + 7 * n / 4, True), (np.nextafter(weight.sum() + 7 * n / 4, 0), False)):
        problem = lsip.Problem(lsip.minimize(x.sum()), [lsip.forall(z, (weight + n / 4 * z) @ x <= capacity)])
        worst = problem.worst_violation(np.ones(n))
        assert (worst.bound <= 0) is fits


def test_no_time_at_all():
    problem, *_ = polynomial()
    solution = problem.solve(verbose=False, time_limit=0)
    assert solution.status is lsip.Status.TIME_LIMIT
    assert solution.upper == np.inf


def test_functions_without_a_formula_are_searched():
    def steep(y):
        return -0.9 * np.array([float(np.exp(v)) for v in y[:, 0]])

    above = lsip.Family(lsip.Interval(0, 1), lambda y: -np.column_stack([np.ones(len(y)), y[:, 0]]), steep)
    solution = lsip.linsip([1, 0.6], [above], integrality=[1, 0])
    assert solution.status is lsip.Status.UNCERTIFIED
    assert solution.upper == np.inf
    assert solution.x == pytest.approx([1, 0.9 * np.e - 1], abs=1e-6)
    assert "not excluded" in solution.message


@pytest.mark.parametrize("seed", range(6))
def test_random_models_agree_with_every_choice_solved_by_itself(seed):
    rng = np.random.default_rng(seed)
    k = lsip.Variable(2, name="k", integer=True, lower=-1, upper=rng.integers(1, 3))
    u = lsip.Variable(2, name="u", lower=-3, upper=3)
    a, b, c, d = (rng.normal(size=2).round(2) for _ in range(4))
    wave = np.sin(3 * T + d[0]) * k[0] + np.cos(2 * T + d[1]) * k[1] + np.exp(-T) * u[0] + T * u[1]
    rows = [
        lsip.forall(T, wave >= np.sin(5 * T)),
        lsip.forall(T, u[0] + a[0] * T * k[1] <= 2 + T),
        b @ k + c @ u <= 1.5,
    ]
    problem = lsip.Problem(lsip.minimize(a @ k + c @ u + 3 * u[0]), rows)
    best = np.inf
    for chosen in product(*(np.arange(low, high + 1) for low, high in zip(k.lower, k.upper, strict=True))):
        fixed = replace(problem.compile(), integer=np.zeros(0, dtype=bool))
        ends = [np.concatenate([chosen, end[2:]]) for end in (fixed.lower, fixed.upper)]
        found = replace(fixed, lower=ends[0], upper=ends[1]).solve(verbose=False)
        assert found.status in (lsip.Status.OPTIMAL, lsip.Status.INFEASIBLE)
        best = min(best, found.value) if found.status is lsip.Status.OPTIMAL else best
    solution = solved(problem)
    if best == np.inf:
        assert "No whole values" in solution.message or solution.status is lsip.Status.INFEASIBLE
    else:
        assert solution.value == pytest.approx(best, rel=1e-6, abs=1e-7)
        assert solution.gap <= solution.tol


def test_a_point_is_known_early():
    """Where trees take long, a feasible point is there before the last of them is done."""
    rng = np.random.default_rng(0)
    weight = rng.integers(5, 60, (5, 60)).astype(float)
    x, z = lsip.Variable(60, name="x", boolean=True), lsip.Index("z", lsip.Budget(60, 6))
    load = [(row + 0.1 * row * z) @ x <= 0.4 * row.sum() for row in weight]
    problem = lsip.Problem(lsip.maximize((weight.mean(axis=0) + rng.uniform(0, 5, 60)) @ x), [lsip.forall(z, load)])
    solution = problem.solve(verbose=False, callback=lambda i: np.isfinite(i.lower))
    assert solution.status is lsip.Status.INTERRUPTED
    assert 0.8 * solution.upper <= solution.lower <= solution.value
    assert solution.max_violation <= 0
    assert solution.violation_proven


def test_rules_of_what_is_not_built_vanish() -> None:
    """Location and transport of Zeng and Zhao (2013): the published optimum, which an affine rule reaches."""
    sides = np.r_[np.ones(3), np.zeros(3), 1.8, 1.2]
    g = lsip.Index("g", lsip.Polytope(np.vstack([np.eye(3), -np.eye(3), np.ones((1, 3)), [[1, 1, 0]]]), sides))
    is_open, built = lsip.Variable(3, name="open", integer=True, lower=0, upper=1), lsip.Variable(3, name="b", lower=0)
    moved, spent = lsip.Rule((3, 3), of=g, name="moved"), lsip.Variable(name="spent")
    ship = np.array([[22.0, 33, 24], [33, 23, 30], [20, 25, 27]])
    rows = [(ship * moved).sum() <= spent, moved.sum(axis=1) <= built, moved >= 0]
    rows += [moved.sum(axis=0) >= np.array([206.0, 274, 220]) + 40 * g]
    cost = np.array([400.0, 414, 326]) @ is_open + np.array([18.0, 25, 20]) @ built + spent
    problem = lsip.Problem(lsip.minimize(cost), [lsip.forall(g, rows), built <= 800 * is_open])
    solution = problem.solve(verbose=False)
    assert solution.max_violation <= 0
    assert solution.gap <= 1e-6
    assert solution.value == pytest.approx(33680.0, rel=2e-6)
    assert solution["open"].tolist() == [1, 0, 1]


@pytest.mark.parametrize("seed", [0, 6])
def test_no_bound_of_a_branch_and_bound_is_better_than_what_is_attained(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight, _, worth = (rng.integers(5, 60, 30) for _ in range(3))
    z, u = lsip.Variable(30, name="z", integer=True, lower=0, upper=5), lsip.Index("u", lsip.Budget(30, 5.5))
    problem = lsip.Problem(lsip.maximize(worth @ z), [lsip.forall(u, (weight + 3 * u) @ z <= 1001)])
    found = problem.solve(method=lsip.Counterpart(max_iterations=1), verbose=False)
    assert found.lower <= worth @ found.x <= found.upper
