"""Problems and solutions in files: the same model comes back, and no file does harm or escapes as another error."""

from __future__ import annotations

import copy
import io
import json
import os
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline

import envs
import lsip
import rl
from lsip import catalogue
from lsip.expressions.graph import Constant
from lsip.model.fingerprint import fingerprint
from lsip.solver import Exchange
from tests.strategies import affine_formulas, domains

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def tangent(p: Any = 1.0) -> lsip.Problem:
    x, t = lsip.Variable(3, name="x", lower=[-5, -np.inf, 0], upper=5), lsip.Index("t", lsip.Interval(0, 1))
    limit = lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= np.tan(p * t), name="limit")
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2 + x[2] / 3 + 1), [limit, (x[0] <= 10).named("cap")], name="tan")


def again(problem: lsip.Problem, folder: Path) -> lsip.Problem:
    problem.save(folder / "problem.json")
    found = lsip.load(folder / "problem.json")
    assert isinstance(found, lsip.Problem)
    return found


# ---- the same model --------------------------------------------------------------------------------------------------


@st.composite
def problems(draw: st.DrawFn) -> lsip.Problem:
    """Random models, with every kind of index set and of formula."""
    domain = draw(domains())
    y = lsip.Index("y", domain)
    x, z, w = lsip.Variable(3, name="x", lower=-2, upper=2), lsip.Variable(name="z"), lsip.Variable((2, 2), name="w")
    constraints: list[Any] = [z >= -10, w <= 1, w >= -1, z + x.sum() == 0.5]
    for shape in ((), (2,)):
        left = draw(affine_formulas(domain.dim, domain.scalar, shape))(y, x, z, w)
        try:
            constraints.append(lsip.forall(y, left <= 3))
        except lsip.ModelError:
            assume(False)
    return lsip.Problem(lsip.maximize(z + w[0, 0] - x[1]), constraints)


@QUICK
@given(problem=problems())
def test_random_problems_come_back_as_they_were(problem, tmp_path_factory):
    try:
        program = problem.compile()
    except lsip.ModelError:
        assume(False)
    loaded = again(problem, tmp_path_factory.mktemp("files"))
    assert fingerprint(loaded.compile()) == fingerprint(program)
    assert problem.data()["steps"] == loaded.data()["steps"]
    assert str(loaded)


@settings(QUICK, max_examples=12)
@given(problem=problems())
def test_they_have_the_same_solution(problem, tmp_path_factory):
    options = {"verbose": False, "max_iterations": 3, "seed": 1}
    try:
        before = problem.solve(**options)
    except lsip.ModelError:
        assume(False)
    after = again(problem, tmp_path_factory.mktemp("files")).solve(**options)
    assert after.status is before.status
    np.testing.assert_equal(after.value, before.value)


@pytest.mark.parametrize("name", catalogue.names()[::3])
def test_the_catalogue_comes_back(name, tmp_path):
    problem = catalogue.get(name).build()
    assert fingerprint(again(problem, tmp_path).compile()) == fingerprint(problem.compile())


def index_sets() -> list[lsip.Domain]:
    ball, box = lsip.Ball([0, 0], 1), lsip.Box([0, 0], [1, 2])
    return [
        lsip.Interval(0, 1) | lsip.Interval(2, 3),
        ball,
        lsip.Ellipsoid([0, 0], [[2, 0.5], [0.5, 1]]),
        lsip.Polytope.from_vertices([[0, 0], [1, 0], [0, 1]]),
        ball & box,
        box.where(lambda y: [y[0] ** 2 >= y[1] / 4, np.sin(y).sum() <= 1]),
        (box & ball).where(lambda y: y[0] >= y[1]),
        lsip.Simplex(3),
        lsip.Budget(3, 1.5),
        lsip.Finite([[0.0, 1.0], [2.0, 3.0]]),
        lsip.Interval(0, 1) * ball,
    ]


@pytest.mark.parametrize("domain", index_sets(), ids=str)
def test_index_sets(domain, tmp_path):
    z, y = lsip.Variable(name="z"), lsip.Index("y", domain)
    problem = lsip.Problem(lsip.minimize(z), [lsip.forall(y, z >= np.sum(y) ** 2)])
    loaded = again(problem, tmp_path)
    assert loaded.constraints[0].indices[0].domain == domain
    assert fingerprint(loaded.compile()) == fingerprint(problem.compile())


def test_unbounded_index_sets(tmp_path):
    z, t = lsip.Variable(2, name="z"), lsip.Index("t", lsip.Interval(0, np.inf))
    constraints = [lsip.forall(t, z[0] + z[1] * t**2 >= t), z[1] <= 1]
    problem = lsip.Problem(lsip.minimize(z[0]), constraints)
    value = problem.solve(verbose=False).value
    assert again(problem, tmp_path).solve(verbose=False).value == pytest.approx(value, abs=1e-9)


def test_functions_that_are_not_elementary(tmp_path):
    from scipy.special import gammaln, j0, ndtr

    z, t = lsip.Variable(name="z"), lsip.Index("t", lsip.Interval(0, 2))
    f = CubicSpline([0, 0.5, 1, 2], [0, 1, 0.5, 2], extrapolate=False)
    right = lsip.spline(f, t) + np.interp(t, [0, 1, 2], [1, 0, 1]) + j0(t) + ndtr(t) + gammaln(t + 1)
    right = right + np.sin(t) / t + np.where(t > 1, t, 1) + np.maximum(t, 1 - t) + np.arctan2(t, 1 + t) + t**1.5
    right = right + 2**t + np.abs(t - 1) + np.floor(t) + np.hypot(t, 1) + np.deg2rad(t)
    problem = lsip.Problem(lsip.minimize(z), [lsip.forall(t, z >= right)])
    loaded = again(problem, tmp_path)
    assert fingerprint(loaded.compile()) == fingerprint(problem.compile())
    points = np.linspace(0, 2, 30)
    np.testing.assert_array_equal(
        loaded.compile().families[0].rows(points[:, None])[1], problem.compile().families[0].rows(points[:, None])[1]
    )


def test_names_bounds_and_parameters(tmp_path):
    p = lsip.Parameter(name="p", value=1.0)
    problem = tangent(p)
    loaded = again(problem, tmp_path)
    (x,), (q,) = loaded.variables, loaded.parameters
    assert (loaded.name, x.name, q.name, q.value) == ("tan", "x", "p", 1.0)
    np.testing.assert_array_equal(x.lower, problem.variables[0].lower)
    q.value = 0.5
    solution = loaded.solve(verbose=False)
    assert solution.certified
    assert len(solution.dual("limit")) > 0
    assert solution.dual("cap") == 0
    p.value = 0.5
    assert problem.solve(verbose=False).value == pytest.approx(solution.value, abs=1e-9)


def test_a_parameter_without_a_value(tmp_path):
    loaded = again(tangent(lsip.Parameter(name="p")), tmp_path)
    assert loaded.parameters[0].value is None
    with pytest.raises(lsip.ModelError, match="has no value"):
        loaded.solve(verbose=False)


def test_numbers_that_were_rounded_once_still_are(tmp_path):
    x = lsip.Variable(name="x")
    problem = lsip.Problem(lsip.minimize(x), [0.1 * (3 * x) + 1e16 + 1 - 1e16 >= 0.3 * x / 7])
    assert fingerprint(again(problem, tmp_path).compile()) == fingerprint(problem.compile())


def test_what_is_printed_is_read_off_the_formulas(tmp_path):
    tangent().save(tmp_path / "p.json")
    data = json.loads((tmp_path / "p.json").read_text())
    assert (
        data["constraints"][0]["reads"] == "x[0] + x[1] t + x[2] t² ≥ tan(t)"
        or "tan" in data["constraints"][0]["reads"]
    )
    data["constraints"][0]["reads"] = "x[0] ≥ 0"
    (tmp_path / "p.json").write_text(json.dumps(data))
    shown = str(lsip.load(tmp_path / "p.json"))
    assert "-x[0] - t x[1] - t² x[2] + tan(t) ≤ 0   for all t ∈ [0, 1]" in shown.replace("1 t", "t")
    assert "x[0] ≥ 0" not in shown


# ---- convex pieces, decision rules, integrals ------------------------------------------------------------------------


def pieces() -> dict[str, lsip.Problem]:
    """Models with pieces that are not affine with doubles, or with rules."""
    x, v, most = lsip.Variable(2, name="x"), lsip.Variable(9, name="v"), lsip.Variable(name="most", lower=1)
    t, z = lsip.Index("t", lsip.Interval(0, 1)), lsip.Index("z", lsip.Box([0, 0], [1, 1]))
    order, plan = lsip.Rule(of=z[:1], name="order"), lsip.Rule(2, of=[t, z[1:]], degree=2, name="plan")
    plan.coefficients.upper = 50
    p = lsip.Parameter(name="p", value=0.2)
    error = x[0] + x[1] * t - np.exp(t)
    above, endless = lsip.forall(t, x[0] + x[1] * t >= np.sin(t)), lsip.Index("u", lsip.Interval(0, np.inf))
    matrix = np.stack([np.stack([x[0], t]), np.stack([t, 2.0 + 0 * x[1]])])
    risk = lsip.cvar(t - 3 * most, 0.75, [0.1, 0.2, 0.3, 0.6])
    P, minimize, forall = lsip.Problem, lsip.minimize, lsip.forall
    return {
        "worst error": P(minimize(np.abs(error), over=t), [forall(t, error <= 1), np.abs(x) <= 5]),
        "worst over no end": P(minimize(x[0] + x[1] * endless - endless**2, over=endless), [np.abs(x) <= 5]),
        "absolute": P(minimize(x.sum()), [forall(t, np.abs(error) <= p, name="error"), np.abs(x) <= 3]),
        "norms": P(
            minimize(x[0]),
            [
                forall(t, np.linalg.norm(np.stack([x[0] - t, x[1]])) <= 1 + x[0]),
                lsip.norm1(x) <= 5,
                np.linalg.norm(x) <= 9,
                np.maximum(x[0], x[1]) + np.abs(x[0]) <= 4,
            ],
        ),
        "long sums": P(minimize(lsip.norm1(v - np.arange(9.0))), [lsip.norm1(v) <= 30, lsip.norm_inf(v) <= 7]),
        "least": P(lsip.maximize(np.minimum(x[0] - x[1], 3 - x[0])), [np.abs(x) <= 2]),
        "semidefinite": P(minimize(x[0]), [forall(t, lsip.psd(matrix)), x[1] == 0]),
        "rule": P(minimize(most), forall(z, [order >= z[0] + z[1], order <= z[0] + most])),
        "rules": P(minimize(most), [forall((t, z), [plan >= z[0] + z[1] * t, plan <= z[0] + most])]),
        "rule of nothing": P(minimize(most), [lsip.Rule(name="r") + most >= 2, forall(z, most >= z[0])]),
        "integral": P(minimize(lsip.integral(np.exp(t) * x[0] + x[1], t)), [above]),
        "integrals": P(
            minimize(x.sum()),
            [lsip.integral(np.exp(t * t) * x[0] + x[1], t) >= 1, lsip.integral(t**2 * x[0] + x[1], t) == 1, above],
        ),
        "risk": P(minimize(risk.value), [*risk.constraints, most <= 2]),
    }


@pytest.mark.parametrize("name", pieces())
def test_pieces_come_back_as_they_were(name, tmp_path):
    problem = pieces()[name]
    loaded = again(problem, tmp_path)
    assert fingerprint(loaded.compile()) == fingerprint(problem.compile())
    assert loaded.data() == {**problem.data(), "constraints": loaded.data()["constraints"]}
    before, after = problem.solve(verbose=False), loaded.solve(verbose=False)
    assert before.certified
    assert (after.status, after.value, after.certified) == (before.status, before.value, True)
    before.save(tmp_path / "s.npz")
    found = lsip.load(tmp_path / "s.npz")
    assert (found.certified, found.value) == (True, before.value)
    assert [v.name for v in found.problem.variables] == [v.name for v in problem.variables]


def test_what_is_convex_reads_off_its_formulas(tmp_path):
    shown = {name: str(again(problem, tmp_path)) for name, problem in pieces().items()}
    assert shown["worst error"].startswith("minimize |x[0] + t x[1] - exp(t)|   at its worst over t ∈ [0, 1]")
    assert "-x[0] - 1 + ‖(x[0] - t, x[1])‖ ≤ 0   for all t ∈ [0, 1]" in shown["norms"]
    assert "-4 + max(x[0], x[1]) + |x[0]| ≤ 0" in shown["norms"]
    assert shown["least"].startswith("maximize -max(-x[0] + x[1], x[0] - 3)")
    assert "largest_eigenvalue(((-x[0], -t), (-t, -0 x[1] - 2))) ≤ 0" in shown["semidefinite"]
    assert "1.46265 x[0]" in shown["integrals"]


def test_a_rule_comes_back_as_a_rule(tmp_path):
    problem = pieces()["rules"]
    loaded = again(problem, tmp_path)
    (rule,) = (v.rule for v in loaded.variables if v.name == "plan")
    assert (rule.shape, rule.degree, [k for _, k in rule.entries]) == ((2,), 2, [0, 1])
    assert (rule.coefficients.upper == 50).all()
    loaded.solve(verbose=False)
    assert rule.value([0.5, 0.5]).shape == (2,)


def test_an_exact_fraction_lies_between_its_ends():
    data = pieces()["integrals"].data()
    (step,) = (s for s in data["steps"] if s["op"] == "between" and s["exact"])
    assert step["exact"] == ["1/3"]
    for wrong in (["3/1"], ["1/0"], ["1e9"], [0.5], ["1/" + "3" * 5000]):
        step["exact"] = wrong
        with pytest.raises(lsip.ModelError):
            lsip.Problem.from_data(data)


# ---- what cannot be written ------------------------------------------------------------------------------------------


def test_functions_are_refused(tmp_path):
    x = lsip.Variable(3, name="x")
    above = lsip.Family(lsip.Interval(0, 1), lambda y: -(y ** np.arange(3)), lambda y: -np.tan(y[:, 0]))
    problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2 + x[2] / 3), [above.on(x)])
    with pytest.raises(lsip.ModelError, match=r"given by functions, which are code.*Write the constraint with an lsip"):
        problem.save(tmp_path / "p.json")
    assert not list(tmp_path.iterdir())
    solution = problem.solve(verbose=False)
    solution.save(tmp_path / "s.npz")
    with pytest.raises(lsip.ModelError, match=r"does not hold the problem.*give it: load"):
        lsip.load(tmp_path / "s.npz")
    assert lsip.load(tmp_path / "s.npz", problem).certified == solution.certified


def test_index_sets_of_others_are_refused(tmp_path):
    from tests.extensions.test_domain_template import Annulus

    z, y = lsip.Variable(name="z"), lsip.Index("y", Annulus(1, 2))
    with pytest.raises(lsip.ModelError, match="no word for an index set of your own"):
        lsip.Problem(lsip.minimize(z), [lsip.forall(y, z >= y[0])]).save(tmp_path / "p.json")


class Other(Constant):
    """Numbers that stand for others."""


class OtherConstraint(lsip.Constraint):
    """A constraint that says more than its body."""


class OtherVariable(lsip.Variable):
    """A variable that is more than its bounds."""


@pytest.mark.parametrize("kind", ["Other", "OtherConstraint", "OtherVariable"])
def test_kinds_of_what_is_known_are_not_taken_for_it(kind):
    z, t = lsip.Variable(name="z"), lsip.Index("t", lsip.Interval(0, 1))
    if kind == "OtherVariable":
        z = OtherVariable(name="z")
    found = z >= t + Other(1.0) * t if kind == "Other" else z >= t
    if kind == "OtherConstraint":
        found = OtherConstraint(found.body, False, found.origin)
    problem = lsip.Problem(lsip.minimize(z), [lsip.forall(t, found)])
    with pytest.raises(lsip.ModelError, match=f"A file has no word for {kind}, as.*Pickle the problem instead"):
        problem.data()


# ---- solutions -------------------------------------------------------------------------------------------------------


def test_a_solution_brings_its_problem(tmp_path):
    p = lsip.Parameter(name="p", value=1.0)
    problem = tangent(p)
    solution = problem.solve(verbose=False)
    p.value = 0.5  # what is saved is what was solved
    problem.add(problem.variables[0] >= 0.1)
    problem.variables[0].upper = 4
    solution.save(tmp_path / "s.npz")
    loaded = lsip.load(tmp_path / "s.npz")
    assert isinstance(loaded, lsip.Solution)
    assert (loaded.value, loaded.certified, loaded.status) == (solution.value, True, solution.status)
    np.testing.assert_array_equal(loaded["x"], solution["x"])
    assert loaded.problem.parameters[0].value == 1.0
    assert loaded.problem.solve(verbose=False).value == pytest.approx(solution.value, abs=1e-9)
    unchecked = lsip.load(tmp_path / "s.npz", verify=False)
    assert not unchecked.certified


def test_what_is_not_a_problem_or_a_solution_is_told(tmp_path):
    mdp = envs.sewage(states=4, actions=2, seed=0)
    rl.plan(mdp, method="decompose").save(tmp_path / "plan.npz")
    tangent().solve(verbose=False).export(tmp_path / "proof.json")
    tangent().save(tmp_path / "problem.json")
    (tmp_path / "text").write_text("hello")
    (tmp_path / "empty").write_text("")
    for name, why in {
        "plan.npz": "was written by Plan.save",
        "proof.json": "is a proof, written by Solution.export: `lsip check",
        "text": "is not a file of lsip",
        "empty": "is not a file of lsip",
        "nowhere": "cannot be read: No such file",
        "": "cannot be read: Is a directory",
    }.items():
        with pytest.raises(lsip.ModelError, match=why):
            lsip.load(tmp_path / name)
    with pytest.raises(lsip.ModelError, match="name of a file"):
        lsip.load(3)
    with pytest.raises(lsip.ModelError, match="leave `problem` out"):
        lsip.load(tmp_path / "problem.json", tangent())


# ---- files that somebody has changed ---------------------------------------------------------------------------------


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places in plain data."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, item in items for place in places(item, (*at, key)))]


def everything() -> lsip.Problem:
    """A problem with all that a file can hold."""
    x, p = lsip.Variable((2, 2), name="x", lower=-3, upper=3), lsip.Parameter(2, name="p", value=[1, 2])
    y = lsip.Index("y", lsip.Box([0, 0], [1, 2]).where(lambda y: y[0] ** 2 >= y[1] / 4))
    s = lsip.Index("s", lsip.Interval(0, 1) * lsip.Simplex(2))
    f = CubicSpline([0, 0.5, 1], [0, 1, 0.5])
    rows = x @ y + np.maximum(y, 0.5) * p + lsip.spline(f, y[0]) <= 20 + np.where(y >= 0.5, y**3, 1)
    return lsip.Problem(
        lsip.maximize(x.sum()), [lsip.forall(y, rows), lsip.forall((s, y), x[0, 0] * s[0] <= 3 + y[1]), x[0] <= 2]
    )


def curved() -> lsip.Problem:
    """One with every kind of convex piece, a rule, and integrals."""
    x, t = lsip.Variable(2, name="x", lower=-3, upper=3), lsip.Index("t", lsip.Interval(0, 1))
    z = lsip.Index("z", lsip.Box([0, 0], [1, 1]))
    rule = lsip.Rule(of=z[:1], name="rule", degree=2)
    matrix = np.stack([np.stack([x[0], t]), np.stack([t, 2.0])])
    constraints = [
        lsip.forall(t, [np.abs(x[0] - t) + np.linalg.norm(x * t) <= 3, lsip.psd(matrix)]),
        np.maximum(x[0], x[1]) + lsip.norm1(x) <= 9,
        lsip.forall(z, rule >= z[0] * z[1]),
        lsip.integral(np.exp(t) * x[0], t) + lsip.integral(t**2 * x[1], t) <= 4,
    ]
    return lsip.Problem(lsip.minimize(np.abs(x[0] + x[1] * t - 1), over=t), constraints)


DATA = json.dumps(everything().data())
CURVED = json.dumps(curved().data())
JUNK = [
    None, True, -1, 0, 1, 3, 10**12, 1e308, -0.5, "x", "index",
    "definite", "1/3", [], [0], [-1.0], [10**9, 10**9], {}, {"op": "exp"}, [[1.0]],
]  # fmt: skip


@settings(QUICK, max_examples=int(os.environ.get("LSIP_FUZZ", "100")))
@given(
    given=st.sampled_from([DATA, CURVED]),
    choice=st.integers(0, 10**6),
    junk=st.sampled_from(JUNK),
    drop=st.booleans(),
)
def test_changed_data_are_refused_or_mean_something(given, choice, junk, drop):
    data = json.loads(given)
    every = places(data)[1:]
    *path, last = every[choice % len(every)]
    at = data
    for key in path:
        at = at[key]
    if drop:
        del at[last]
    else:
        at[last] = copy.deepcopy(junk)
    try:
        lsip.Problem.from_data(data).compile()
    except lsip.LSIPError:
        return
    assert not (drop and isinstance(at, dict)), "a missing field must be refused"


@settings(QUICK, max_examples=150)
@given(place=st.integers(0, 10**6), byte=st.integers(0, 255), end=st.booleans())
def test_damaged_files_are_refused_or_mean_something(place, byte, end, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "p.json"
    text = bytearray(DATA.encode())
    if end:
        del text[place % len(text) :]
    else:
        text[place % len(text)] = byte
    path.write_bytes(text)
    try:
        lsip.load(path)
    except lsip.LSIPError as found:
        told = str(found)
    else:
        told = "" if end else str(path)
    assert str(path) in told


BOMBS = {
    "variables": [{"name": "x", "shape": [10**11], "lower": [None], "upper": [None]}],
    "parameters": [{"name": "p", "shape": [10**6, 10**6], "value": None}],
    "indices": [{"name": "t", "domain": {"kind": "Simplex", "arguments": [10**9]}}],
    "steps": [
        {"op": "constant", "shape": [2], "value": [1.0, 2.0]},
        *({"op": "join", "args": [k, k]} for k in range(60)),
    ],
    "objective": {"shape": [10**11], "terms": [], "constants": [], "varying": None},
}


@pytest.mark.parametrize("where", BOMBS)
def test_few_words_do_not_fill_the_memory(where):
    data = tangent().data() | {where: BOMBS[where]}
    tracemalloc.start()
    try:
        with pytest.raises(lsip.ModelError):
            lsip.Problem.from_data(data)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def test_sets_in_sets_in_sets(tmp_path):
    deep = '{"kind": "Product", "arguments": [' * 400 + '{"kind": "Simplex", "arguments": [2]}' + "]}" * 400
    data = json.dumps(tangent().data() | {"indices": ["here"]}).replace('"here"', f'{{"name": "t", "domain": {deep}}}')
    (tmp_path / "p.json").write_text(data)
    with pytest.raises(lsip.ModelError, match=r"p\.json is not a problem"):
        lsip.Problem.load(tmp_path / "p.json")


def test_other_versions_are_told():
    with pytest.raises(lsip.ModelError, match="it has not the format lsip-problem, version 1"):
        lsip.Problem.from_data(tangent().data() | {"version": 2})


def test_a_maximum_is_decided_by_its_operands():
    """A step that could choose the smaller one would make a proof of something false."""
    z, t = lsip.Variable(name="z"), lsip.Index("t", lsip.Interval(0, 1))
    data = lsip.Problem(lsip.minimize(z), [lsip.forall(t, z >= np.maximum(t, 0.5 - t))]).data()
    (step,) = (s for s in data["steps"] if s["op"] == "maximum")
    assert len(step["args"]) == 2
    step["args"].reverse()
    assert lsip.Problem.from_data(data).solve(verbose=False).value == pytest.approx(1.0)


# ---- archives --------------------------------------------------------------------------------------------------------


def archive(path: Path, **arrays: Any) -> None:
    np.savez(path, **arrays)


def solution_parts(folder: Path) -> tuple[lsip.Problem, dict[str, Any]]:
    problem = tangent()
    problem.solve(verbose=False).save(folder / "s.npz")
    with np.load(folder / "s.npz") as data:
        return problem, dict(data)


@settings(QUICK, max_examples=150)
@given(
    choice=st.integers(0, 10**6), junk=st.sampled_from([*JUNK, "OPTIMAL", float("nan")]), given_problem=st.booleans()
)
def test_changed_facts_of_a_solution_are_refused_or_proven(choice, junk, given_problem, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    problem, parts = PARTS or solution_parts(folder)
    PARTS[:] = [problem, parts]
    facts = json.loads(str(parts["facts"]))
    every = places(facts)[1:]
    *path, last = every[choice % len(every)]
    at = facts
    for key in path:
        at = at[key]
    at[last] = copy.deepcopy(junk)
    np.savez(folder / "t.npz", **{**parts, "facts": np.array(json.dumps(facts))})
    try:
        found = lsip.load(folder / "t.npz", problem if given_problem else None)
    except lsip.LSIPError:
        return
    if found.certified:
        found.verify()


PARTS: list[Any] = []


def test_archives_that_claim_more_than_they_hold(tmp_path):
    problem, parts = solution_parts(tmp_path)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**11,)})
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as made:
        for name, value in parts.items():
            stream = io.BytesIO()
            np.save(stream, value)
            made.writestr(f"{name}.npy", header.getvalue() if name == "x" else stream.getvalue())
    with pytest.raises(lsip.ModelError, match="an array has another size than it says"):
        lsip.Solution.load(tmp_path / "t.npz", problem)
    np.savez_compressed(tmp_path / "t.npz", **{**parts, "x": np.zeros(10**6)})
    with pytest.raises(lsip.ModelError, match="claims to hold more than there is"):
        lsip.Solution.load(tmp_path / "t.npz", problem)
    np.savez(tmp_path / "t.npz", **{**parts, "x": np.array([{}], dtype=object)})
    with pytest.raises(lsip.ModelError, match="pickled objects"):
        lsip.Solution.load(tmp_path / "t.npz", problem)


def test_a_solution_that_was_solved_with_options_of_its_own(tmp_path):
    problem = tangent()
    solution = Exchange(tol=1e-6).solve(problem, verbose=False)
    solution.save(tmp_path / "s.npz")
    assert lsip.load(tmp_path / "s.npz").tol == 1e-6
