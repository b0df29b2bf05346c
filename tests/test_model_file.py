"""`Solution.write`: the last relaxation in MPS and LP files, which HiGHS reads back to the same optimum."""

from __future__ import annotations

import highspy
import numpy as np
import pytest

import lsip

T = lsip.Index("t", lsip.Interval(-1, 1))


def read(path):
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    assert h.readModel(str(path)) == highspy.HighsStatus.kOk
    return h


def optimum(path):
    h = read(path)
    h.setOptionValue("primal_feasibility_tolerance", 1e-10)
    h.setOptionValue("dual_feasibility_tolerance", 1e-10)
    h.setOptionValue("mip_rel_gap", 0.0)
    h.run()
    assert h.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return h.getInfo().objective_function_value


def linear():
    x, e = lsip.Variable(3, name="x", upper=[4, np.inf, 9]), lsip.Variable(name="e", lower=0)
    rest = x[0] + x[1] * T + x[2] * T**2 - np.exp(T)
    return lsip.Problem(
        lsip.minimize(e + 7.25),
        [
            lsip.forall(T, rest <= e, name="above"),
            lsip.forall(T, rest >= -e),
            (x[:2] <= 3).named("cap"),
            x[0] + 2 * x[1] - x[2] == 2.5,
            x[1] >= -8,
        ],
    )


def whole():
    n, rng = 8, np.random.default_rng(0)
    weight, worth = rng.integers(20, 30, n), rng.integers(16, 78, n)
    x, z = lsip.Variable((2, 4), name="take", boolean=True), lsip.Index("z", lsip.Budget(n, 2))
    k = lsip.Variable(name="end", integer=True, lower=-3)
    load = (weight + 0.1 * weight * z) @ x.reshape(n)
    return lsip.Problem(lsip.maximize(worth @ x.reshape(n) - k), [lsip.forall(z, load - 20 * k <= 70.5)])


MODELS = {"linear": linear, "integers": whole}


@pytest.mark.parametrize("ending", ["mps", "lp"])
@pytest.mark.parametrize("model", MODELS)
def test_the_same_optimum_is_read_back(tmp_path, model, ending):
    solution = MODELS[model]().solve(verbose=False, method=lsip.Exchange(oracle="branch-and-bound"))
    path = tmp_path / f"model.{ending}"
    solution.write(path)
    assert optimum(path) == pytest.approx(solution.value, rel=1e-7)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", ["mps", "lp"])
def test_every_number_and_name_is_there(tmp_path, ending):
    solution = linear().solve(verbose=False)
    path = tmp_path / f"model.{ending}"
    solution.write(path)
    lp, program = read(path).getLp(), solution.program
    place = [lp.col_names_.index(name) for name in ("x(0)", "x(1)", "x(2)", "e")]
    assert np.array_equal(np.array(lp.col_lower_)[place], program.lower)
    assert np.array_equal(np.array(lp.col_upper_)[place], program.upper)
    assert lp.offset_ == 7.25
    assert {"cap(0)", "cap(1)", "c1", "c2"} <= set(lp.row_names_)
    at = [name for name in lp.row_names_ if name.startswith("above@")]
    held = {f"{s.point[0]:.6g}".replace("-", "~") for s in solution.cuts if s.component == 0}
    assert {name.partition("@")[2].partition("#")[0] for name in at} >= held
    assert any("~" in name for name in at)


def test_integers_are_marked(tmp_path):
    for ending in ("mps", "lp"):
        whole().solve(verbose=False, method=lsip.Exchange(oracle="branch-and-bound")).write(tmp_path / f"m.{ending}")
        lp = read(tmp_path / f"m.{ending}").getLp()
        assert sum(kind == highspy.HighsVarType.kInteger for kind in lp.integrality_) == 9
        assert {"take(0,0)", "take(1,3)", "_end"} <= set(lp.col_names_)
        assert lp.sense_ == highspy.ObjSense.kMaximize


def test_a_counterpart_over_whole_values_holds_no_relaxation(tmp_path):
    solution = whole().solve(verbose=False)
    with pytest.raises(lsip.ModelError, match=r"no rows at index points .* solve\(oracle='support'\)"):
        solution.write(tmp_path / "m.lp")
    assert not list(tmp_path.iterdir())


def test_functions_have_numbered_rows(tmp_path):
    above = lsip.Family(lsip.Interval(0, 1), lambda y: -(y ** np.arange(2)), lambda y: -np.exp(y[:, 0]))
    solution = lsip.linsip([1, 0.5], [above], A_ub=[[1, 1]], b_ub=[9])
    solution.write(tmp_path / "m.lp")
    lp = read(tmp_path / "m.lp").getLp()
    assert lp.col_names_[:2] == ["x(0)", "x(1)"]
    assert "A_ub(0)" in lp.row_names_
    assert optimum(tmp_path / "m.lp") == pytest.approx(solution.value, rel=1e-7)


def test_two_rows_never_share_a_name(tmp_path):
    x = lsip.Variable(name="x y")
    t = lsip.Index("t", lsip.Finite(1 + 1e-9 * np.arange(5)))
    lsip.Problem(lsip.minimize(x), [lsip.forall(t, x >= t)]).solve(verbose=False).write(tmp_path / "m.mps")
    names = read(tmp_path / "m.mps").getLp().row_names_
    assert len(set(names)) == len(names) >= 2
    assert "c0@1#2" in names


REFUSED = {"model.txt": "ends in .mps or .lp", "nowhere/model.mps": "There is no directory"}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_a_sentence(tmp_path, name):
    solution = linear().solve(verbose=False)
    with pytest.raises(lsip.ModelError, match=REFUSED[name]):
        solution.write(tmp_path / name)
