"""The judge of certificates can tell true answers from forged ones, and finds nothing wrong with those of lsip."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flint")

from benchmarks.harness.soundness.answers import Answer, Multiplier, ask
from benchmarks.harness.soundness.balls import BALLS, above, at, ball, below, precise
from benchmarks.harness.soundness.classes import CLASSES, generate
from benchmarks.harness.soundness.draw import SETS, UNARY, member
from benchmarks.harness.soundness.duality import lower_bound
from benchmarks.harness.soundness.equalities import equations
from benchmarks.harness.soundness.formulas import NUMPY, Formula, apply, coordinate, number
from benchmarks.harness.soundness.judge import judge
from benchmarks.harness.soundness.models import Atom, Cone, Family, Model, Row, Truth
from benchmarks.harness.soundness.planted import check
from benchmarks.harness.soundness.search import worst
from benchmarks.harness.soundness.sets import Box
from benchmarks.soundness import goals, summarise

ROOT = Path(__file__).resolve().parent.parent
T = coordinate(0)
UNIT = Box((0.0,), (1.0,), scalar=True)

# ---- forged answers --------------------------------------------------------------------------------------------------

HILL = Model(  # the least number above t (1 - t), which is 1/4; and 2 x <= 4
    c=(1.0,),
    lower=(-10.0,),
    upper=(10.0,),
    families=(Family(UNIT, (number(1.0),), T * (1.0 - T), above=True),),
    rows=(Row((2.0,), "<=", 4.0),),
    probe=(0.0,),
    truth=Truth(feasible=True, least=Fraction(1, 4), most=Fraction(1, 4)),
)
HONEST = Answer(
    status="OPTIMAL",
    certified=True,
    x=(0.25,),
    lower=0.25,
    upper=0.25,
    value=0.25,
    multipliers=(Multiplier(0, (0.5,), 1.0),),
    row_multipliers=(0.0,),
    probed=(0.25,),
)
JUST_BELOW = math.nextafter(0.25, 0.0)
JUST_ABOVE = math.nextafter(0.25, 1.0)


def test_an_honest_answer_is_accepted() -> None:
    verdict = judge(HILL, HONEST)
    assert (verdict.false, verdict.misleading, verdict.broken, verdict.confirmed) == ((), (), (), True)


@pytest.mark.parametrize(
    ("forged", "word"),
    [
        ({"x": (JUST_BELOW,), "value": JUST_BELOW}, "family 0 is broken by 2.78e-17"),
        ({"x": (2.5,), "value": 2.5, "upper": 2.5}, "row 0 is broken by 1"),
        ({"x": (10.5,), "value": 10.5, "upper": 10.5}, "is not between"),
        ({"lower": JUST_ABOVE, "upper": 0.3}, "lower 0.25"),
        ({"lower": 0.2, "upper": JUST_BELOW}, "upper 0.24"),
        ({"x": (0.3,), "value": 0.3}, "attains 0.3"),
        ({"value": 0.2500001}, "not the objective"),
        ({"status": "INFEASIBLE"}, "there is a feasible point"),
        ({"status": "UNBOUNDED"}, "the objective is bounded"),
        ({"status": "STALLED"}, "called certified"),
        ({"trusts": ("a radius",)}, "on trust: a radius"),
        ({"unverified": "ProofError: no"}, "does not accept"),
        ({"probed": (JUST_BELOW,)}, "exceeds its proven bound"),
    ],
)
def test_forged_answers_are_false(forged: dict[str, Any], word: str) -> None:
    verdict = judge(HILL, replace(HONEST, **forged))
    assert any(word in words for words in verdict.false), verdict


@pytest.mark.parametrize(
    "forged",
    [{"lower": math.nan}, {"upper": math.nan}, {"lower": 0.3}, {"x": (math.nan,)}, {"x": ()}, {"lower": -math.inf}],
)
def test_answers_that_contradict_themselves_are_broken(forged: dict[str, Any]) -> None:
    assert judge(HILL, replace(HONEST, **forged)).broken


def test_bounds_that_are_not_certified_may_mislead() -> None:
    stalled = replace(HONEST, status="STALLED", certified=False)
    assert not judge(HILL, stalled).misleading
    assert judge(HILL, replace(stalled, lower=JUST_ABOVE, upper=1.0)).misleading
    assert judge(HILL, replace(stalled, lower=0.0, upper=JUST_BELOW)).misleading
    assert not judge(HILL, replace(stalled, lower=JUST_ABOVE, upper=1.0, trusts=("a radius",))).misleading
    assert judge(HILL, replace(stalled, probed=(0.2,))).false  # a bound on a violation is always a theorem


def test_bounds_on_a_violation_are_theorems_whatever_the_status() -> None:
    stalled = replace(HONEST, status="STALLED", certified=False, x=(0.0,), lower=-1.0, upper=1.0)
    assert judge(HILL, replace(stalled, violation=(0.25,))).false == ()
    assert any("proven bound" in words for words in judge(HILL, replace(stalled, violation=(JUST_BELOW,))).false)
    assert judge(HILL, replace(stalled, violation=(JUST_BELOW,), trusts=("a constant",))).false == ()


RECEDING = Model(  # x[0] grows for ever, as x[1] does, and t x[0] + (1 - t) x[1] >= t
    c=(1.0, 0.0),
    lower=(0.0, -math.inf),
    upper=(math.inf, math.inf),
    families=(Family(UNIT, (T + 0.0, 1.0 - T), T, above=True),),
    rows=(Row((1.0, -1.0), "<=", 0.0),),
    maximise=True,
    truth=Truth(feasible=True, unbounded=True),
)


@pytest.mark.parametrize(
    ("direction", "word"),
    [
        ((1.0, 1.0), None),
        ((1.0, 2.0), None),
        ((-1.0, 1.0), "does not improve"),
        ((), "does not improve"),
        ((1.0, 0.5), "leaves row 0"),
        ((1.0, -1e-300), "rises"),
    ],
)
def test_directions_are_followed(direction: tuple[float, ...], word: str | None) -> None:
    found = judge(RECEDING, Answer("UNBOUNDED", True, (1.0, 1.0), 1.0, math.inf, math.inf, direction=direction)).false
    assert found == () if word is None else any(word in words for words in found)


def test_multipliers_that_prove_less_do_not_confirm() -> None:
    moved = replace(HONEST, multipliers=(Multiplier(0, (0.25,), 1.0),))
    assert judge(HILL, moved).confirmed is False
    assert judge(HILL, moved).false == ()  # the bound is right, whoever proves it
    assert judge(HILL, replace(HONEST, multipliers=())).confirmed is False


def test_what_has_no_solution_is_not_optimal() -> None:
    assert judge(replace(HILL, truth=Truth(feasible=False)), HONEST).false == (
        "OPTIMAL, but there is no feasible point",
    )
    assert judge(replace(HILL, truth=Truth(feasible=True, unbounded=True)), HONEST).false
    assert judge(replace(HILL, truth=Truth(meaningless=True)), HONEST).false
    assert not judge(replace(HILL, truth=Truth(feasible=False)), replace(HONEST, status="INFEASIBLE")).false
    assert judge(replace(HILL, truth=Truth(feasible=False)), replace(HONEST, status="UNBOUNDED")).false


def test_maxima_are_judged_in_their_own_sense() -> None:
    family = Family(UNIT, (number(-1.0),), T * (1.0 - T), above=True)
    turned = replace(HILL, families=(family,), rows=(Row((-2.0,), "<=", 4.0),), maximise=True)
    turned = replace(turned, probe=(), truth=Truth(feasible=True, least=Fraction(-1, 4), most=Fraction(-1, 4)))
    honest = replace(HONEST, x=(-0.25,), lower=-0.25, upper=-0.25, value=-0.25, probed=())
    assert judge(turned, honest).false == ()
    assert judge(turned, honest).confirmed is True
    assert judge(turned, replace(honest, lower=-0.2, upper=-0.1)).false
    assert judge(turned, replace(honest, upper=-0.26, lower=-0.3)).false


# ---- equalities and cones --------------------------------------------------------------------------------------------

THIRDS = replace(  # x[1] = 1/3, which no double is
    HILL,
    c=(1.0, 0.0),
    lower=(-10.0,) * 2,
    upper=(10.0,) * 2,
    families=(Family(UNIT, (number(1.0), number(0.0)), T * (1.0 - T), above=True),),
    rows=(Row((0.0, 3.0), "==", 1.0),),
    probe=(),
)
NEAR_THIRDS = replace(HONEST, x=(0.25, 1 / 3), box=(0.0, 1e-15), row_multipliers=(0.0,), probed=())


def test_equalities_hold_in_the_box() -> None:
    assert judge(THIRDS, NEAR_THIRDS).false == ()
    for wrong in (
        replace(NEAR_THIRDS, box=(1.0, 1e-18)),
        replace(NEAR_THIRDS, box=()),
        replace(NEAR_THIRDS, x=(0.25, 0.3)),
    ):
        assert any("no solution in" in words for words in judge(THIRDS, wrong).false)


def test_equalities_that_contradict_each_other() -> None:
    off = replace(THIRDS, rows=(*THIRDS.rows, Row((0.0, 6.0), "==", 2.0 + 1e-12)))
    said = replace(NEAR_THIRDS, row_multipliers=(0.0, 0.0), assumptions=("Equalities are rounded.",))
    assert any("contradict" in words for words in judge(off, said).false)
    by_rounding = replace(THIRDS, rows=(*THIRDS.rows, Row((0.0, 6.0), "==", math.nextafter(2.0, 3.0))))
    assert judge(by_rounding, said).false == ()
    assert any("nothing says so" in words for words in judge(by_rounding, replace(said, assumptions=())).false)
    exact = [Row((1.0, 2.0), "==", 3.0), Row((2.0, 4.0), "==", 6.0), Row((1.0, 0.0), "==", 1.0)]
    system = equations(exact, (Fraction(1), Fraction(1)))
    assert (len(system.a), system.contradiction) == (2, 0)


def test_norms_are_compared_exactly() -> None:
    held = replace(HILL, cone=Cone(1, 1e-12, 0.25e-12), rows=(), probe=())
    answer = replace(HONEST, row_multipliers=(), probed=())
    broken = Fraction(0.25e-12) < Fraction(1e-12) / 4
    assert bool(judge(held, answer).false) is broken
    assert judge(replace(held, cone=Cone(1, 1.0, JUST_BELOW)), answer).false
    assert judge(replace(held, cone=Cone(1, 1.0, 0.25)), answer).false == ()


# ---- the tools of the judge ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("height", [1e-3, 1e-9, 1e-15])
def test_narrow_and_low_peaks_are_found(height: float) -> None:
    family = Family(
        UNIT, (number(1.0),), T * (1.0 - T) + 1e-3 * apply("exp", apply("square", (T - 0.637) * 100.0) * -1.0)
    )
    x = worst(replace(family, above=True), (Fraction(0),), []).value
    below_top = float(x.mid()) - height
    assert worst(replace(family, above=True), (Fraction(below_top),), [], seed=3).value > 0


def test_bounds_by_duality_hold_for_free_variables() -> None:
    a = (number(1.0), apply("sin", T))
    points = [(Fraction(1, 3),), (Fraction(4, 5),)]
    model = Model((1.0, 0.5), (-math.inf,) * 2, (math.inf,) * 2, (Family(UNIT, a, apply("exp", T), above=True),))
    assert lower_bound(model, [Atom(0, points[0], 1.0)]) is None  # one row cannot balance two variables
    bound = lower_bound(model, [Atom(0, p, 0.5) for p in points])
    assert bound is not None
    sines, values = (np.array([f(float(p[0])) for p in points]) for f in (np.sin, np.exp))
    weights = np.linalg.solve(np.array([[1.0, 1.0], sines]), [1.0, 0.5])
    assert (weights > 0).all()
    assert float(bound) == pytest.approx(weights @ values, rel=1e-12)


BINARY = {"add", "subtract", "multiply", "divide", "maximum", "minimum", "arctan2", "hypot", "power"}


@pytest.mark.parametrize("name", sorted(NUMPY))
def test_both_readers_mean_the_same_function(name: str) -> None:
    """NumPy's value lies next to the ball, which is narrow."""
    rng = np.random.default_rng(0)
    low, high = UNARY[name][:2] if name in UNARY else (0.2, 2.0)
    count = 4 if name.startswith("where") else 2 if name in BINARY else 1
    formula = Formula(name, tuple(coordinate(i) for i in range(count)))
    for _ in range(20):
        y = rng.uniform(low, high, count)
        with precise():
            exact = at(formula, tuple(map(Fraction, y)))
            assert float(exact.rad()) < 1e-60
            assert float(formula(list(y))) == pytest.approx(float(exact.mid()), rel=1e-12, abs=1e-13)
    assert set(NUMPY) == set(BALLS)


def test_constants_are_not_folded() -> None:
    with pytest.raises(ValueError, match="rounded"):
        number(0.1) * 3.0


def test_ends_of_balls_enclose() -> None:
    with precise():
        third = ball(Fraction(1, 3))
        assert below(third) < Fraction(1, 3) < above(third)
        assert below(ball(0.1)) == above(ball(0.1)) == Fraction(0.1)
        tiny, huge = ball(-1e12).exp(), ball(1e12).exp()
        assert below(tiny) == 0 < above(tiny) < Fraction(1e-300)
        assert below(-tiny) < 0 == above(-tiny)
        assert below(huge) is above(huge) is None


@pytest.mark.parametrize("kind", sorted(SETS))
def test_points_of_index_sets_are_members_exactly(kind: str) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        over = SETS[kind](rng)
        written = over.write()
        width = float((over.box[1] - over.box[0]).max()) + 1.0
        for y in [member(rng, over), *over.sample(rng, 5), *over.corners()[:5]]:
            exact = over.exact(y)
            assert over.contains(exact)
            assert over.nearest(exact) == exact or kind == "ball"
            assert np.abs(np.array(exact, dtype=float) - y).max() < 1e-6 * width
            assert written.contains(np.array(exact, dtype=float)).all()
        outside = over.exact(np.array(over.box[1]) + 1.0)
        assert over.contains(outside)


# ---- the models ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_the_truth_about_a_model_is_true(name: str) -> None:
    """A seed gives one model; the point that is called feasible breaks nothing, and bounds are in order."""
    for seed in range(4):
        model = generate(name, seed)
        assert replace(generate(name, seed), written=None) == replace(model, written=None)
        truth = model.truth
        if truth.least is not None and truth.most is not None:
            assert truth.least <= truth.most
        if model.point:
            check(model, model.point)
            for family in model.families:
                assert not worst(family, model.point, [], seed).value > 0


def test_most_models_have_a_known_optimum() -> None:
    planted = [generate(kind, seed).truth for kind in SETS for seed in range(5)]
    known = [t for t in planted if t.least is not None and t.most is not None]
    assert len(known) >= 0.8 * len(planted)
    close = [t for t in known if t.most - t.least <= 1e-6 * max(abs(t.most), abs(t.least))]
    assert len(close) >= 0.8 * len(known)


def test_answers_of_lsip_are_read() -> None:
    answer = ask(HILL, 10.0)
    assert (answer.status, answer.certified, answer.unverified) == ("OPTIMAL", True, None)
    assert answer.probed[0] >= 0.25
    verdict = judge(HILL, answer)
    assert (verdict.false, verdict.broken, verdict.confirmed) == ((), (), True)
    refused = replace(HILL, families=(replace(HILL.families[0], over=Box((1.0,), (0.0,), scalar=True)),))
    assert ask(refused, 1.0).status == "REFUSED"


# ---- the benchmark ---------------------------------------------------------------------------------------------------


def test_a_short_run_finds_nothing_wrong() -> None:
    command = [
        sys.executable,
        "-m",
        "benchmarks",
        "soundness",
        "--json",
        "--tries",
        str(2 * len(CLASSES)),
        "--seed",
        "1000",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    summary = figures["summary"]
    assert summary["tries"] == 2 * len(CLASSES)
    assert (summary["false"], summary["crashes"], summary["faults"]) == (0, 0, 0), figures["findings"]
    assert summary["certified"] >= len(CLASSES) / 2
    assert {c["class"] for c in figures["classes"]} == set(CLASSES)


def test_figures_count_what_is_wrong() -> None:
    done = [
        {"class": "a", "seed": 0, "status": "OPTIMAL", "certified": True, "false": ["no"], "seconds": 0.1},
        {"class": "a", "seed": 1, "status": "STALLED", "certified": False, "misleading": ["no"], "seconds": 0.2},
        {"class": "a", "seed": 2, "status": "REFUSED", "certified": False, "seconds": 0.3},
        {"class": "a", "seed": 3, "crash": "TypeError: no"},
        {"class": "a", "seed": 4, "status": "INFEASIBLE", "certified": True, "confirmed": True, "seconds": 0.4},
    ]
    summary = summarise(done)
    counts = ("tries", "certified", "false", "crashes", "misleading", "refused", "answered")
    assert [summary[k] for k in counts] == [5, 2, 1, 1, 1, 1, 3]
    assert summary["unconditional_share"] == pytest.approx(2 / 3)
    assert [goal["met"] for goal in goals(summary)] == [False, False, False]
