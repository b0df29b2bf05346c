"""Guarantees from fresh episodes: right as often as they promise, and as sharp as the inequality says."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import envs
import lsip
import rl
from benchmarks.certify import KINDS, constraint, episodes, mixture
from lsip.deadline import EFFORT, EffortTuning
from rl.bernstein import EmpiricalBernstein
from rl.certify import _Certification
from rl.discounted_costs import EVERY, of_episodes
from rl.rollouts import Episodes

DELTA = 0.05


@given(st.floats(-1, 1e6), st.floats(1e-6, 1 - 1e-6))
def test_the_inequality_behind_the_bound(xi: float, rate: float) -> None:
    psi = -math.log1p(-rate) - rate
    assert rate * xi - psi * xi * xi <= math.log1p(rate * xi) + 1e-12 * (1 + psi * xi * xi)


@given(st.floats(1e-3, 1e3), st.integers(2, 10**7), st.floats(0.01, 20.0), st.floats(0, 1))
def test_the_rate_is_the_best_one(width: float, n: int, log_inverse: float, share: float) -> None:
    inequality, square = EmpiricalBernstein(), share * width**2

    def total(rate: float) -> float:
        constant, factor = inequality.terms(width, n, log_inverse, rate)
        return constant + factor * square

    rate = inequality.rate(width, n, log_inverse, square)
    assert 0 < rate <= inequality.fastest
    for other in np.geomspace(1e-6, inequality.fastest, 60):
        assert total(rate) <= total(other) * (1 + 1e-6)


@pytest.mark.parametrize("draw", ["uniform", "rare"])
def test_means_are_covered(draw: str) -> None:
    rng, n, misses, tries = np.random.default_rng(0), 200, 0, 2000
    for _ in range(tries):
        z = rng.uniform(size=n) if draw == "uniform" else (rng.uniform(size=n) < 2 / n).astype(float)
        truth, guess = (0.5, 0.5) if draw == "uniform" else (2 / n, 0.0)
        inequality = EmpiricalBernstein()
        rate = inequality.rate(1.0, n, -math.log(DELTA), 0.08 if draw == "uniform" else 0.01)
        constant, factor = inequality.terms(1.0, n, -math.log(DELTA), rate)
        misses += z.mean() + constant + factor * float(((z - guess) ** 2).mean()) < truth
    assert misses <= DELTA * tries


def test_squares_come_from_episodes_or_from_their_moments() -> None:
    rng = np.random.default_rng(3)
    routes, lengths = rng.uniform(size=(9, 6)).round(1), rng.integers(1, 7, size=9)
    sample = of_episodes(constraint(0.9), episodes(routes, lengths, rng.integers(9, size=300)), None, True)
    guess, rest = sample.mean(slice(20)), slice(20, None)
    form, costs = sample.scattered(rest, guess), sample.costs(np.array([[0.3], [0.8]]), EVERY)
    totals = (sample.weights @ costs.T).T + sample.tails  # (N, E)
    wanted = ((totals - guess(costs)[:, None]) ** 2) @ sample.shares(rest)
    assert form.squares(costs) == pytest.approx(wanted)


def test_equal_episodes_are_within_the_best_possible() -> None:
    routes, n = np.linspace(0.1, 0.6, 6)[None, :], 1000
    found = rl.certify(constraint(1.0), episodes(routes, np.array([6]), np.zeros(n, dtype=int)), horizon=6)
    at = found.y[None, :]
    value = float(constraint(1.0).cost(at, routes.T, None).sum() - constraint(1.0).bound(at)[0])
    assert found.mean_violation == pytest.approx(value, abs=1e-9)
    best = 6 * math.log(1 / DELTA) / n  # what a path of cost 6, as likely as can be unseen, may add
    assert best <= found.bound - value <= 1.5 * best


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0.7, 1.0]))
def test_bounds_lie_above_what_was_seen(seed: int, rare: bool, gamma: float) -> None:
    _, found = mixture(np.random.default_rng(seed), 60, rare, gamma)
    assert found.bound >= found.mean_violation
    assert math.isfinite(found.bound)
    assert found.delta == DELTA


def test_guarantees_are_wrong_at_most_as_often_as_they_say() -> None:
    rng = np.random.default_rng(7)
    pairs = [draw(rng) for draw in KINDS.values() for _ in range(15)]
    assert sum(found.bound < truth for truth, found in pairs) <= DELTA * len(pairs)


def test_a_true_bound_is_not_loose_with_many_episodes() -> None:
    truth, found = mixture(np.random.default_rng(1), 50_000, False, 0.8)
    assert 0 <= found.bound - truth <= 0.05


def black_box(**known: object) -> rl.SemiInfiniteCost:
    def cost(y: object, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return np.exp(-4 * (np.asarray(y, dtype=float) - observations[:, 0]) ** 2)

    return rl.SemiInfiniteCost(lsip.Interval(0, 1), cost, lambda y: 1.5 + np.asarray(y, dtype=float)[:, 0], **known)


def some(n: int = 400) -> Episodes:
    rng = np.random.default_rng(2)
    return episodes(rng.uniform(size=(3, 6)), np.array([6, 4, 2]), rng.integers(3, size=n))


def test_lipschitz_constants_do_for_black_boxes() -> None:
    traced = rl.certify(constraint(1.0), some(), horizon=6)
    found = rl.certify(black_box(range=(0, 1), lipschitz=(2.5, 1.0)), some(), horizon=6)
    assert found.assumptions
    assert not traced.assumptions
    assert found.bound == pytest.approx(traced.bound, rel=0.1)


def test_many_steps_are_bounded_by_lipschitz_constants_given_or_proven() -> None:
    """What is proven from enclosures of a few steps at a time is a little looser than from one of all."""
    tuning = rl.CertifyTuning(most_steps=3)
    kept = rl.certify(black_box(range=(0, 1), lipschitz=(2.5, 1.0)), some(), horizon=6, tuning=tuning)
    assert kept.episodes == 400
    rng = np.random.default_rng(4)
    varied = episodes(rng.uniform(size=(400, 6)), np.full(400, 6), np.arange(400))
    whole, parts = (
        rl.certify(constraint(1.0), varied, horizon=6, tuning=rl.CertifyTuning(most_steps=most))
        for most in (10_000, 300)
    )
    assert (whole.episodes, parts.episodes) == (400, 400)
    assert whole.mean_violation == pytest.approx(parts.mean_violation, abs=1e-3)
    assert whole.bound - 1e-9 <= parts.bound <= whole.bound + 0.05
    assert (whole.assumptions, len(parts.assumptions)) == ((), 1)
    assert "if rounding errors in the costs of single steps do not matter." in str(parts)


def test_constants_that_were_given_are_believed_only_where_that_is_said() -> None:
    """A formula is its own proof, whatever was given with it: a wrong constant must not make a bound smaller."""
    rng = np.random.default_rng(4)
    varied = episodes(rng.uniform(size=(400, 6)), np.full(400, 6), np.arange(400))
    right, own = constraint(1.0), {"range": (0.0, 1.0)}
    wrong = rl.SemiInfiniteCost(lsip.Interval(0, 1), right.cost, right.bound, lipschitz=(1e-9, 1e-9), **own)
    found = [rl.certify(each, varied, horizon=6) for each in (right, wrong)]
    assert found[0].bound == found[1].bound
    assert not found[1].assumptions
    long = rl.certify(wrong, varied, horizon=6, tuning=rl.CertifyTuning(most_steps=300))
    assert long.assumptions


@pytest.mark.parametrize("limit", [3.0, lambda y: np.full(len(y), 3.0)])
def test_constants_of_bounds_that_are_numbers(limit: object) -> None:
    rng = np.random.default_rng(4)
    varied = episodes(rng.uniform(size=(40, 6)), np.full(40, 6), np.arange(40))
    flat = rl.SemiInfiniteCost(lsip.Interval(0, 1), constraint(1.0).cost, limit, range=(0.0, 1.0))
    found = [rl.certify(flat, varied, horizon=6, tuning=rl.CertifyTuning(most_steps=most)) for most in (1000, 7)]
    assert found[1].bound == pytest.approx(found[0].bound, abs=0.05)
    assert found[1].bound >= found[0].bound - 1e-9


def test_constants_of_parts_are_those_of_all() -> None:
    rng = np.random.default_rng(4)
    varied = episodes(rng.uniform(size=(40, 6)), np.full(40, 6), np.arange(40))
    sample = of_episodes(constraint(1.0), varied, 6, True)
    found = [_Certification(sample, None, 0.05, rl.CertifyTuning(most_steps=most)).slopes for most in (1000, 7)]
    assert found[0][0] == found[1][0]
    assert found[1][1] == pytest.approx(1.0)  # of the bound, which is asked for where formulas are too long
    y = np.linspace(0, 1, 1001)[:, None]
    steep = np.abs(np.diff(sample.costs(y, EVERY), axis=0)).max() * 1000
    assert steep <= found[0][0]


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        (black_box(lipschitz=(2.5, 1.0)), {"horizon": 6}, "range=(0, 1)"),
        (black_box(range=(0, 1)), {"horizon": 6}, "lipschitz="),
        (constraint(1.0), {}, "horizon="),
        (constraint(1.0), {"horizon": 5}, "6 steps"),
        (constraint(1.0), {"horizon": 6, "delta": 0.0}, "delta"),
        ("a policy", {}, "rl.SICMDP"),
    ],
)
def test_what_is_missing_is_said(given: object, options: dict[str, object], said: str) -> None:
    with pytest.raises(lsip.ModelError) as error:
        rl.certify(given, some(), **options)
    assert said in str(error.value)


def test_episodes_that_were_cut_off_may_go_on() -> None:
    whole = some()
    cut = Episodes(**{**vars(whole), "terminated": np.zeros(whole.count, dtype=bool)})
    c = constraint(0.5)
    ended, went_on, limit = rl.certify(c, whole), rl.certify(c, cut), rl.certify(c, cut, tail=False)
    # Episodes of 2, 4 and 6 steps, each cost at most 1.
    assert went_on.mean_violation - ended.mean_violation == pytest.approx(
        np.mean([2 * 0.5**k for k in (2, 4, 6)]), rel=0.1
    )
    assert limit.bound == ended.bound


def test_finitely_many_constraints_need_no_constants() -> None:
    near = [lambda o, a: (o[:, 0] < 0.5) * 1.0, lambda o, a: (o[:, 0] >= 0.5) * 1.0]
    found = rl.certify(rl.SemiInfiniteCost.finite(near, [3.0, 4.0], range=(0, 1)), some(), horizon=6)
    assert found.bound >= found.mean_violation
    assert found.y[0] in (0, 1)


@pytest.mark.parametrize("ends", [(1, 0), (0,), (0, np.inf), "wide"])
def test_a_range_is_a_pair(ends: object) -> None:
    with pytest.raises(lsip.ModelError):
        black_box(range=ends)


def test_known_models_need_no_episodes() -> None:
    mdp = envs.sewage(states=4, actions=2, seed=1)
    plan = rl.plan(mdp)
    found = rl.certify(mdp, plan)
    assert found.delta == 0
    assert found.bound == pytest.approx(
        mdp.worst_violation(plan.policy).bound, rel=1e-12
    )  # boxes that are kept round otherwise
    assert str(found).startswith("Proven: V_c(y) - u(y) <= ")


def test_a_sentence() -> None:
    found = rl.certify(constraint(1.0), some(), horizon=6)
    assert str(found).startswith("With probability 0.95, V_c(y) - u(y) <= ")
    assert "400 fresh episodes" in str(found)


def test_the_ship_is_certified_within_two_hundredths() -> None:
    from benchmarks.certify import ship

    found = ship(20_000)
    assert found["mean_violation"] == pytest.approx(-0.00228369, abs=1e-6)
    assert 100 * math.log(1 / DELTA) / 20_000 <= found["excess"] <= 0.02


def test_a_queue_is_certified_within_a_few_standard_errors() -> None:
    from benchmarks.certify import queue

    assert queue(3_000)["errors"] <= 5.5


def test_the_bound_is_that_of_the_worst_place_alone() -> None:
    """Many places that are alike cost nothing: δ is not divided among them."""
    rng = np.random.default_rng(5)
    seen = rng.uniform(size=(1, 500, 1))
    none, live = np.zeros((1, 500)), np.ones((1, 500), dtype=bool)
    played = Episodes(seen, seen, seen, none, live, np.ones(500, dtype=bool), seen[0])

    def bound(places: int) -> float:
        costs = [lambda o, a: o[:, 0]] * places
        c = rl.SemiInfiniteCost.finite(costs, [0.5] * places, range=(0.0, 1.0))
        return rl.certify(c, played, horizon=1).bound

    assert bound(40) == bound(1)


def test_the_steepest_cost_is_proven() -> None:
    mdp = envs.sewage(states=5, actions=2, seed=0)
    steep = mdp.costs.steepest()
    y = np.random.default_rng(0).uniform(size=(500, 2, 2)) * [1, 1e-5] + [[0, 0], [0, 0]]
    a, b = y[:, 0], np.clip(y[:, 0] + 1e-6, 0, 1)
    slope = np.abs(mdp.costs.at(a)[0] - mdp.costs.at(b)[0]).max(axis=1) / np.abs(a - b).max(axis=1)
    assert slope.max() <= steep <= 20 * slope.max()
    lowest, highest = mdp.costs.extremes()
    values = mdp.costs.at(mdp.domain.grid(101))[0]
    assert lowest <= values.min() <= lowest + 0.02
    assert values.max() <= highest <= 1.01


def test_what_si_crl_learned_keeps_its_guarantee() -> None:
    mdp = envs.sewage(states=4, actions=2, seed=1)
    learned = rl.si_crl(mdp.sample(per_pair=10_000, seed=0), mdp.specification, delta=1e-4)
    found, truth = learned.guarantee, mdp.worst_violation(learned.policy).value
    assert learned.samples == 10_000
    assert truth <= found.bound <= learned.theorem.value + 1e-6
    assert found.delta == learned.failure
    more = rl.si_crl(mdp.sample(per_pair=10**7, seed=0), mdp.specification, delta=1e-4).guarantee
    assert more.bound < 0.1 * found.bound
    few = rl.si_crl(mdp.sample(per_pair=10, seed=0), mdp.specification, delta=1e-4)
    lowest, highest = mdp.specification.costs.extremes()
    assert few.guarantee.bound <= (highest - lowest) / (1 - mdp.gamma) + 1e-6  # what holds without any data
    assert "80 sampled transitions leave a model that has" in str(few.guarantee)


def costly(share: float, size: float, n: int = 100, low: float = 0.0) -> Episodes:
    """Episodes of one step, some of which are dear."""
    seen = np.full((1, n, 1), low)
    seen[0, : int(share * n), 0] = size
    zeros = np.zeros((1, n))
    return Episodes(seen, seen, seen, zeros, np.ones((1, n), dtype=bool), np.ones(n, dtype=bool), seen[0])


def as_seen(**known: object) -> rl.SemiInfiniteCost:
    """The cost is what is seen, times a bump around 0.37."""

    def cost(y: Any, observations: Any, actions: Any) -> Any:
        return np.exp(-900 * (y.reshape(len(y), 1) - 0.37) ** 2) * observations[:, 0]

    return rl.SemiInfiniteCost(lsip.Interval(0, 1), cost, 0.0, **known)


@pytest.mark.parametrize(
    ("played", "ends", "said"),
    [
        (costly(0.1, 20.0), (0, 1), "A step costs 20 at y"),
        (costly(0.01, 1.01), (0, 1), "A step costs 1.01 at y"),
        (costly(0.01, -0.5), (0, 1), "A step costs -0.5 at y"),
        (costly(1.0, 3.0), (0, 1), "A step costs 3 at y"),  # all alike
        (costly(0.5, 0.5, low=-3.0), (-2, 1), "A step costs -3 at y"),
    ],
)
def test_costs_outside_of_their_range_are_no_evidence(
    played: Episodes, ends: tuple[float, float], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(lsip.ModelError, match=f"{said}.*outside of the declared range") as error:
        rl.certify(as_seen(range=ends), played, horizon=1)
    assert "range" in str(error.value)
    for tuning, entries in ((None, EFFORT.entries), (rl.CertifyTuning(most_steps=1), 1000)):
        monkeypatch.setattr(import_module("rl.certify"), "EFFORT", EffortTuning(entries=entries))
        inside = rl.certify(as_seen(range=(-3.0, 20.0), lipschitz=(600.0, 0.0)), played, horizon=1, tuning=tuning)
        assert inside.bound >= inside.mean_violation


def test_a_range_of_a_table_is_checked_too() -> None:
    mdp = envs.sewage(states=3, actions=2, gamma=0.7, seed=1)
    c = mdp.specification.constraint
    short = rl.SemiInfiniteCost(c.domain, c.cost, c.bound, range=(0.0, 0.01))
    spec = rl.Specification(mdp.specification.r, short, mdp.specification.mu, mdp.specification.gamma)
    visits = np.repeat(mdp.occupancy(np.full((3, 2), 0.5))[None] / 0.3, 40, axis=0)
    with pytest.raises(lsip.ModelError, match="outside of the declared range"):
        rl.certify(spec, visits)


def test_options_that_play_no_part_are_refused() -> None:
    mdp = envs.sewage(states=3, actions=2, gamma=0.7, seed=1)
    plan, visits = rl.plan(mdp), np.repeat(mdp.occupancy(np.full((3, 2), 0.5))[None] / 0.3, 40, axis=0)
    given: dict[str, Any] = {"delta": 0.1, "horizon": 5, "tail": False, "tuning": rl.CertifyTuning()}
    for name, value in given.items():
        with pytest.raises(lsip.ModelError, match=f"`{name}` cannot be used with a known model"):
            rl.certify(mdp, plan, **{name: value})
    for name in ("horizon", "tail"):
        with pytest.raises(lsip.ModelError, match=f"`{name}` cannot be used with a tabular model"):
            rl.certify(mdp.specification, visits, **{name: given[name]})
    with pytest.raises(lsip.ModelError, match="`tail` cannot be used with costs that are not discounted"):
        rl.certify(constraint(1.0), some(), horizon=6, tail=True)
    with pytest.raises(lsip.ModelError, match=r"`tuning` is an rl.CertifyTuning"):
        rl.certify(constraint(1.0), some(), horizon=6, tuning="fine")


@pytest.mark.parametrize("evidence", [[some()], "episodes", None, np.zeros((3, 2, 2)), Episodes])
def test_only_episodes_are_evidence_about_an_environment(evidence: object) -> None:
    with pytest.raises(lsip.ModelError, match="are episodes"):
        rl.certify(constraint(1.0), evidence, horizon=6)


def test_a_horizon_sharpens_discounted_costs_that_end_with_it() -> None:
    whole = some()
    c = constraint(0.9)
    known, unknown = rl.certify(c, whole, horizon=6, tail=False), rl.certify(c, whole, tail=False)
    assert known.bound < unknown.bound
    with pytest.raises(lsip.ModelError, match="6 steps"):
        rl.certify(c, whole, horizon=5, tail=False)
