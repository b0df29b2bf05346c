"""Parameters: numbers that enter a model by name, and change between two solves."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lsip
from lsip.expressions.ordered import Ordered
from lsip.proof.export import model_data

from .checks import assert_feasible

t = lsip.Index("t", lsip.Interval(0, 1))
y = lsip.Index("y", lsip.Box([0, 0], [1, 1]))
x = lsip.Variable(3, name="x", lower=-5, upper=5)
powers = np.arange(3)
Build = Callable[[Any], lsip.Problem]


def rows(left: Any) -> lsip.Problem:
    return lsip.Problem(lsip.minimize(x @ (1 / (1 + powers))), [left])


# Where a parameter may stand: each model is built from a parameter, or from its value.
PLACES: dict[str, tuple[Build, Any]] = {
    "right-hand side": (lambda p: rows(lsip.forall(t, t**powers @ x >= p * np.tan(t))), 1.5),
    "index expression": (lambda p: rows(lsip.forall(t, t**powers @ x >= np.exp(p * t))), -0.7),
    "coefficient": (lambda p: rows(lsip.forall(t, p * x[0] + x[1] * t + x[2] * t**2 >= np.cos(t))), 2.0),
    "vector": (lambda p: rows(lsip.forall(t, (p * t**powers) @ x >= np.cos(t))), np.array([1.0, 2.0, 3.0])),
    "finite": (lambda p: lsip.Problem(lsip.minimize(x.sum()), [x[0] + p * x[1] >= p - 1, x[2] == p / 3]), 0.9),
    "matrix": (lambda p: lsip.Problem(lsip.minimize(x.sum()), [p @ x >= 1]), np.arange(6.0).reshape(2, 3) + 1),
    "objective": (lambda p: lsip.Problem(lsip.maximize(p * x[0] + p), [lsip.forall(t, x[0] + x[1] * t <= 1 + t)]), 3.0),
    "kink": (lambda p: rows(lsip.forall(t, t**powers @ x >= abs(t - p) + np.maximum(p, t))), 0.4),
    "jump": (lambda p: rows(lsip.forall(t, t**powers @ x >= np.where(t <= p, t, 1 - t))), 0.3),
    "exponent": (lambda p: rows(lsip.forall(t, t**powers @ x >= (1 + t) ** p)), 1.5),
    "ball": (
        lambda p: (lambda b: rows(lsip.forall(b, x[0] + b @ x[1:] >= np.exp(p * b[0] * b[1]))))(
            lsip.Index("b", lsip.Ball([0, 0], 1))
        ),
        0.8,
    ),
    "support": (lambda p: rows(lsip.forall(y, x[0] + y @ x[1:] >= p * y[0] - y[1])), 1.7),
    "equality": (lambda p: rows([equal(p), lsip.forall(t, t**powers @ x >= np.exp(t) - 2)]), 0.6),
    "equality at points": (lambda p: rows([lsip.forall(few, x[0] + few * x[1] == p * np.exp(few * p))]), 0.8),
    "half line": (lambda p: rows(lsip.forall(far, x[0] + x[1] * far + x[2] * far**2 >= p * far - p**2)), 1.3),
    "plane": (lambda p: rows(lsip.forall(wide, x[0] + x[1] * wide[0] + p * wide @ wide >= wide[1])), 0.5),
    "region": (lambda p: around(lsip.Box([0, 0], [1, 1]).where(lambda y: p * y[0] ** 2 <= y[1])), 0.7),
    "region of numbers": (lambda p: over(lsip.Interval(0, 2).where(lambda t: np.exp(t) <= 2 + p)), 0.5),
    "points of a region": (lambda p: over(lsip.Finite([0.0, 0.25, 0.5, 1.0, 2.0]).where(lambda t: t <= p)), 0.6),
    "region of a union": (lambda p: over((lsip.Interval(0, 1) | lsip.Interval(2, 3)).where(lambda t: t <= 3 * p)), 0.8),
    "region and a box": (
        lambda p: around(lsip.Box([0, 0], [2, 2]).where(lambda y: y @ y <= p) & lsip.Box([-1, 0.1], [1, 1])),
        0.9,
    ),
    "region of a region": (
        lambda p: around(lsip.Box([0, 0], [2, 2]).where(lambda y: y @ y <= p).where(lambda y: y[0] <= y[1])),
        0.9,
    ),
    "region in a product": (
        lambda p: around(lsip.Interval(0, 1).where(lambda t: t**2 <= p) * lsip.Interval(0, 1)),
        0.5,
    ),
    "two indices": (lambda p: beside(lsip.Index("s", lsip.Interval(0, 1).where(lambda s: s**2 <= p))), 0.5),
}


few = lsip.Index("f", lsip.Finite([0.0, 0.5]))
far = lsip.Index("u", lsip.Interval(0, np.inf))
wide = lsip.Index("w", lsip.Box([-np.inf, -np.inf], [np.inf, np.inf]))


def equal(p: Any) -> Any:
    return lsip.forall(t, x[0] + x[1] * t + x[2] * (t - p) ** 2 == np.exp(p) + t / 2 + p**2 * t**2)


def over(domain: lsip.Domain) -> lsip.Problem:
    s = lsip.Index("s", domain)
    return rows(lsip.forall(s, s**powers @ x >= np.exp(s) - 3 * s**2))


def around(domain: lsip.Domain) -> lsip.Problem:
    b = lsip.Index("b", domain)
    return rows(lsip.forall(b, x[0] + b @ x[1:] >= np.exp(b[0] * b[1]) + b[0]))


def beside(s: lsip.Index) -> lsip.Problem:
    return rows(lsip.forall((s, t), x[0] + x[1] * s + x[2] * t >= np.exp(s * t)))


@pytest.mark.parametrize("place", PLACES)
def test_a_parameter_is_as_good_as_its_value(place: str) -> None:
    build, value = PLACES[place]
    p = lsip.Parameter(np.shape(value), name="p", value=value)
    known, found = (build(v).solve(verbose=False, tol=1e-7) for v in (value, p))
    assert known.status is found.status
    assert known.certified
    assert found.certified
    assert found.value == pytest.approx(known.value, rel=3e-7, abs=3e-7)
    found.verify()


@pytest.mark.parametrize("place", PLACES)
def test_another_value_is_another_model(place: str) -> None:
    build, value = PLACES[place]
    p = lsip.Parameter(np.shape(value), name="p", value=value)
    problem = build(p)
    first = problem.solve(verbose=False, tol=1e-7)
    for share in (1.02, 0.97, 1.6):
        p.value = share * np.asarray(value)
        known = build(share * np.asarray(value) if np.ndim(value) else share * value).solve(verbose=False, tol=1e-7)
        again = problem.solve(verbose=False, tol=1e-7)
        assert again.certified
        assert again.value == pytest.approx(known.value, rel=3e-7, abs=3e-7)
        assert_feasible(problem.compile(), again)
        again.verify()
        first.verify()  # its own data are what it was solved for
        assert problem.value == again.value
        assert problem.status is lsip.Status.OPTIMAL
        assert np.array_equal(x.value, again[x])  # type: ignore[arg-type]


def test_nothing_is_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    p = lsip.Parameter(name="p", value=1)
    problem = lsip.Problem(
        lsip.minimize(p * x.sum()),
        [lsip.forall(t, t**powers @ x >= p * np.tan(t)), x[0] <= p, lsip.forall(y, y @ x[1:] <= 9)],
    )
    before = problem.compile()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a graph was put in order again")

    p.value = 1.25
    monkeypatch.setattr(Ordered, "__init__", refuse)
    after = problem.compile()
    assert after.c == pytest.approx(1.25 * before.c)
    assert after.row_upper == pytest.approx([1.25])
    five = np.linspace(0, 1, 5)[:, None]
    assert after.families[0].rows(five)[1] == pytest.approx(1.25 * before.families[0].rows(five)[1])
    assert after.families[1] is before.families[1]  # nothing of it has changed


def test_enclosures_belong_to_the_values_of_their_time() -> None:
    p = lsip.Parameter(name="p", value=1)
    problem = rows(lsip.forall(t, t**powers @ x >= p * np.tan(t)))
    one = problem.compile()
    p.value = 3
    other = problem.compile()
    box = np.array([[0.25]]), np.array([[0.5]]), np.array([0])
    for program, value in ((one, 1.0), (other, 3.0)):
        b = program.families[0].enclosed(*box)[1]
        assert b.lo[0] <= -value * np.tan(0.5)
        assert b.hi[0] >= -value * np.tan(0.25)
        assert b.hi[0] - b.lo[0] < 0.4 * value


def test_bounds_from_kept_boxes_hold_for_the_new_values() -> None:
    """A box that is kept must not answer with what was true before."""
    p = lsip.Parameter(2, name="p", value=[1.0, 0.0])
    for formula in (p[0] * np.sin(5 * t) + p[1] * t, abs(t - p[1]) * p[0], np.where(t <= p[1], p[0] * t, t)):
        problem = rows(lsip.forall(t, x[0] + x[1] * t >= formula))
        point, grid = np.array([0.3, -0.2, 0.0]), np.linspace(0, 1, 2001)
        for value in ([1.0, 0.5], [2.0, 0.25], [-1.0, 0.75], [1.0, 0.5]):
            p.value = value
            worst = problem.worst_violation(point)
            sampled = (formula.at({t: grid}) - point[0] - point[1] * grid).max()
            assert worst.bound >= sampled - 1e-12
            assert worst.bound <= sampled + 1e-3


@pytest.mark.parametrize("name", ["half line", "region of numbers", "points of a region", "equality"])
def test_walks_of_values_are_walks_of_models(name: str) -> None:
    """Steps and jumps, there and back: each answer is that of a model that never had other values."""
    build, value = PLACES[name]
    rng = np.random.default_rng(len(name))
    p = lsip.Parameter(name="p", value=value)
    problem = build(p)
    for share in (1.0, *rng.uniform(0.4, 1.8, 4), 1.0):
        p.value = float(share * value)
        known, again = build(float(share * value)).solve(verbose=False), problem.solve(verbose=False)
        assert (again.status, again.certified) == (known.status, known.certified)
        assert again.certified
        assert again.lower <= known.upper + 1e-12 * abs(known.upper)
        assert again.upper >= known.lower - 1e-12 * abs(known.lower)
        again.verify()


def test_boxes_of_other_regions_answer_nothing() -> None:
    p = lsip.Parameter(name="p", value=1.0)
    b = lsip.Index("b", lsip.Box([0, 0], [2, 2]).where(lambda y: y[0] ** 2 + p * y[1] ** 2 <= 1.5 + p))
    problem = rows(lsip.forall(b, x[0] + b @ x[1:] >= np.sin(3 * b[0]) * b[1]))
    point = np.array([0.3, -0.2, 0.1])
    grid = np.stack(np.meshgrid(*[np.linspace(0, 2, 301)] * 2), axis=-1).reshape(-1, 2)
    for value in (1.0, 0.25, 3.0, 1.0, -0.5):
        p.value = value
        inside = grid[grid[:, 0] ** 2 + value * grid[:, 1] ** 2 <= 1.5 + value]
        sampled = (np.sin(3 * inside[:, 0]) * inside[:, 1] - point[0] - inside @ point[1:]).max()
        worst = problem.worst_violation(point)
        assert sampled - 1e-12 <= worst.bound <= sampled + 2e-2
        assert worst.value <= worst.bound


def test_a_parameter_without_a_value_is_named() -> None:
    q = lsip.Parameter(name="rate")
    problem = rows(lsip.forall(t, x[0] >= q * t))
    with pytest.raises(lsip.ModelError, match=r"The parameter rate has no value: assign one, rate.value = …"):
        problem.solve(verbose=False)
    assert q.value is None
    q.value = 1
    assert q.value == 1.0
    assert problem.solve(verbose=False).certified


@pytest.mark.parametrize(
    ("shape", "value", "message"),
    [
        (2, [1, 2, 3], r"must broadcast to \(2,\); got \(3,\)"),
        ((), np.nan, "must be finite"),
        ((), np.inf, "must be finite"),
        ((), "one", "Numbers|number|text"),
        (2, x, "is not a number|numbers"),
    ],
)
def test_values_are_checked_where_they_are_assigned(shape: Any, value: Any, message: str) -> None:
    p = lsip.Parameter(shape, name="p", value=1)
    with pytest.raises(lsip.ModelError, match=message):
        p.value = value
    assert np.all(p.value == np.ones(shape))


def test_what_is_no_parameter() -> None:
    for shape in (0, -1, 1.5, True, (2, 0)):
        with pytest.raises(lsip.ModelError, match="positive whole size"):
            lsip.Parameter(shape)  # type: ignore[arg-type]
    with pytest.raises(lsip.ModelError, match="name of a parameter is text"):
        lsip.Parameter(name=3)  # type: ignore[arg-type]
    p = lsip.Parameter(name="p", value=1)
    with pytest.raises(lsip.ModelError, match="Assign its `value`"):
        p.name = "q"
    with pytest.raises(lsip.ModelError, match="Two parameters of the problem are called 'p'"):
        lsip.Problem(lsip.minimize(x[0]), [x[0] >= p + lsip.Parameter(name="p", value=1)])


def test_values_are_read_once_and_stay() -> None:
    given = np.array([1.0, 2.0])
    p = lsip.Parameter(2, name="p", value=given)
    given[0] = 9
    assert p.value is not None
    assert p.value[0] == 1.0  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        p.value[0] = 3  # type: ignore[index]


def test_a_value_that_breaks_a_formula_is_told() -> None:
    p = lsip.Parameter(name="p", value=2)
    problem = lsip.Problem(lsip.minimize(x.sum()), [x[0] >= np.log(p)])
    assert problem.solve(verbose=False).certified
    p.value = -1
    with pytest.raises(lsip.ModelError, match=r"nan or infinite: p is -1"):
        problem.solve(verbose=False)


def test_models_with_parameters_print_and_compare_and_export() -> None:
    p = lsip.Parameter(name="p", value=2)
    problem = rows(lsip.forall(t, x[0] + x[1] * t >= p * t))
    assert "p t" in str(problem)
    assert problem.parameters == (p,)
    steps = model_data(problem.compile())["families"][0]["steps"]
    assert {"op": "constant", "args": [], "value": 2.0} in steps


def test_a_black_box_takes_no_multiple_of_variables_by_a_parameter() -> None:
    p = lsip.Parameter(name="p", value=1)
    family = lsip.Family(lsip.Interval(0, 1), lambda y: np.ones((len(y), 3)), lambda y: np.ones(len(y)))
    with pytest.raises(lsip.ModelError, match="takes a vector of variables"):
        family.on(p * x)


def test_rewritten_constraints_say_what_parameters_break() -> None:
    p, x = lsip.Parameter(name="p", value=0.0), lsip.Variable(2, name="x")
    far = lsip.Index("s", lsip.Interval(0, np.inf))
    match = lsip.forall(t, x[0] + x[1] * t == 1 + p * t**2)
    problem = lsip.Problem(lsip.minimize(x.sum()), [match])
    assert problem.solve(verbose=False).value == pytest.approx(1.0)
    p.value = 1
    with pytest.raises(lsip.ModelError, match="no variable on the other can match"):
        problem.solve(verbose=False)
    slope = lsip.Problem(lsip.minimize(x.sum()), [lsip.forall(far, x[0] + x[1] * far >= np.exp(p) * far)])
    for p.value in (1.0, 0.0):
        found = slope.solve(verbose=False)
        assert found.certified
        assert found.value == pytest.approx(np.exp(p.value), abs=1e-6)


def test_regions_with_parameters_have_no_points_of_their_own() -> None:
    p = lsip.Parameter(name="p")
    cut = lsip.Box([0, 0], [1, 1]).where(lambda y: y[0] >= p * y[1])
    assert str(cut) == "{y ∈ [0, 1]² : y[0] ≥ p y[1]}"
    assert cut.dim == 2
    asked = (cut.cells, lambda: cut.contains([0, 0]), lambda: cut.sample(1), lambda: cut.grid(3), lambda: cut.diameter)
    for ask in asked:
        with pytest.raises(lsip.ModelError, match=r"depends on the parameter p.*fixed\(\)"):
            ask()
    with pytest.raises(lsip.ModelError, match="The parameter p has no value"):
        cut.fixed()
    p.value = 2.0
    assert cut.fixed().contains([[1, 0.5], [0.5, 1]]).tolist() == [True, False]
    assert (cut * lsip.Interval(0, 1)).fixed().contains([[1, 0.5, 0.5], [0.5, 1, 0.5]]).tolist() == [True, False]
    assert lsip.Interval(0, 1).fixed() == lsip.Interval(0, 1)
    b = lsip.Index("b", cut)
    problem = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(b, x[0] >= b @ b)])
    assert problem.discretise({b: 3}).solve().value == problem.discretise(3).solve().value == pytest.approx(1.25)
    assert problem.parameters == (p,)
    assert problem.solve(verbose=False).value == pytest.approx(1.25)
    assert problem.constraints[0].violation({x: [1, 0, 0]}).value == pytest.approx(0.25)
    p.value = -1.0
    assert problem.constraints[0].violation({x: [1, 0, 0]}).value == pytest.approx(1)
    assert problem.solve(verbose=False).value == pytest.approx(2)
    problem.remove(problem.constraints[0])
    thin = lsip.Index("b", lsip.Interval(0, 1).where(lambda t: t >= p))
    problem.add(lsip.forall(thin, x[0] >= thin))
    p.value = 2.0
    with pytest.raises(lsip.ModelError, match="is empty"):
        problem.solve(verbose=False)


@pytest.mark.parametrize("place", ["equality", "half line", "region of numbers", "points of a region"])
def test_rewritten_models_are_kept(place: str, tmp_path: Any) -> None:
    build, value = PLACES[place]
    p = lsip.Parameter(name="p", value=value)
    problem = build(p)
    answer = problem.solve(verbose=False)
    problem.save(tmp_path / "problem.json")
    loaded, copied = lsip.Problem.load(tmp_path / "problem.json"), pickle.loads(pickle.dumps(problem))
    for other in (loaded, copied):
        (q,) = other.parameters
        q.value = 1.1 * value
        known = build(1.1 * value).solve(verbose=False)
        again = other.solve(verbose=False)
        assert again.certified
        assert again.value == pytest.approx(known.value, rel=3e-8, abs=3e-8)
    answer.save(tmp_path / "answer.json")
    lsip.Solution.load(tmp_path / "answer.json").verify()


def test_duals_of_rewritten_constraints(tmp_path: Any) -> None:
    p, far = lsip.Parameter(name="p", value=2.0), lsip.Index("s", lsip.Interval(0, np.inf))
    x = lsip.Variable(2, name="x")
    match = lsip.forall(t, x[0] + x[1] * t == p + t, name="match")
    assert lsip.Problem(lsip.minimize(x.sum()), [match]).solve(verbose=False).dual("match") == pytest.approx([-1, -1])
    high = lsip.forall(far, x[0] + x[1] * far >= p * far - 1, name="high")
    answer = lsip.Problem(lsip.minimize(x.sum()), [high]).solve(verbose=False)
    assert answer.value == pytest.approx(1.0)
    assert {a.constraint for a in answer.dual(high)} == {"high"}  # type: ignore[union-attr]
    assert set(answer.dual(high)) == set(answer.active)  # type: ignore[arg-type]
    assert answer.dual(high) == answer.dual("high")
    answer.save(tmp_path / "answer.json")
    loaded = lsip.Solution.load(tmp_path / "answer.json")
    assert [str(a) for a in loaded.dual("high")] == [str(a) for a in answer.dual("high")]  # type: ignore[union-attr]
    assert match.violation({x: [2, 2]}).value == pytest.approx(1)
    assert high.violation({x: [-1, 3]}).value <= 0


def test_bounds_of_variables_with_parameters() -> None:
    cap, t = lsip.Parameter(2, name="cap", value=[1.0, 2.0]), lsip.Index("t", lsip.Interval(0, 1))
    x = lsip.Variable(2, name="x", lower=-cap, upper=2 * cap)
    problem = lsip.Problem(lsip.maximize(x[0] + 0.3 * x[1]), [lsip.forall(t, x[0] * (1 + t) + x[1] * np.exp(t) <= 4)])
    assert problem.parameters == (cap,)
    assert "x ≥ -cap" in str(problem)
    for value in ([1.0, 2.0], [1.1, 2.0], [0.2, 0.1], [3.0, 1.0]):
        cap.value = value
        z = lsip.Variable(2, name="z", lower=-np.array(value), upper=2 * np.array(value))
        same = lsip.Problem(lsip.maximize(z[0] + 0.3 * z[1]), [lsip.forall(t, z[0] * (1 + t) + z[1] * np.exp(t) <= 4)])
        known, found = same.solve(verbose=False), problem.solve(verbose=False)
        assert found.certified  # type: ignore[attr-defined]
        assert found.value == pytest.approx(known.value, rel=3e-8)
        assert (x.lower == z.lower).all()
        assert (x.upper == z.upper).all()
    again = pickle.loads(pickle.dumps(problem))
    assert again.solve(verbose=False).value == pytest.approx(problem.value, rel=3e-8)
    with pytest.raises(lsip.ModelError, match=r"A file has numbers for the bounds.*as a constraint"):
        problem.data()
    cap.value = -1
    with pytest.raises(lsip.ModelError, match=r"lower bound 1\.0 exceeds upper bound -2\.0"):
        problem.solve(verbose=False)
    x.lower, x.upper = -1, cap + 3
    assert x.lower.tolist() == [-1, -1]
    assert x.upper.tolist() == [2, 2]
    x.upper = 5
    assert problem.parameters == ()


@pytest.mark.parametrize(
    ("bound", "message"),
    [
        (lsip.Parameter(3, name="p"), r"must broadcast to \(2,\); got \(3,\)"),
        (lsip.Index("t", lsip.Interval(0, 1)), "depends on the index t"),
        (lsip.Variable(2, name="z"), "write z as a constraint"),
        (np.nan, "holds nan"),
    ],
    ids=["shape", "index", "variable", "nan"],
)
def test_what_is_no_bound(bound: Any, message: str) -> None:
    with pytest.raises(lsip.ModelError, match=message):
        lsip.Variable(2, name="x", lower=bound)


def test_a_bound_needs_a_value_when_it_is_needed() -> None:
    x = lsip.Variable(name="x", upper=lsip.Parameter(name="q"))
    with pytest.raises(lsip.ModelError, match="The parameter q has no value"):
        lsip.Problem(lsip.maximize(x)).solve(verbose=False)
    with pytest.raises(lsip.ModelError, match=r"q is a parameter: write q\.value"):
        lsip.Interval(0, lsip.Parameter(name="q", value=1))  # type: ignore[arg-type]
