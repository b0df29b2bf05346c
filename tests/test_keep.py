"""Which policies are kept: those whose largest upper confidence bound over Y is feasible; and what is said of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import lsip
import rl

torch = pytest.importorskip("torch")

from benchmarks import keep  # noqa: E402
from rl.rollouts import Episodes  # noqa: E402
from rl.upper_violation import UpperViolation, alike  # noqa: E402
from tests.test_si_cppo import Pull, agent, force  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::rl.NoGoodPolicyWarning")


def bumps(**known: Any) -> rl.SemiInfiniteCost:
    def cost(y: Any, observations: Any, actions: Any) -> Any:
        return np.exp(-9 * (y.reshape(len(y), 1) - observations[:, 0]) ** 2)

    return rl.SemiInfiniteCost(lsip.Interval(0, 1), cost, lambda y: 1.0 + y[:, 0], gamma=0.8, **known)


def played(n: int = 30, T: int = 7, seed: int = 0) -> Episodes:
    rng = np.random.default_rng(seed)
    seen = rng.uniform(size=(T, n, 1)) ** 3
    live = np.arange(T)[:, None] < rng.integers(1, T + 1, size=n)
    return Episodes(seen, seen, seen, live * 1.0, live, np.ones(n, dtype=bool), seen[-1])


def by_hand(episodes: Episodes, y: float, chance: float) -> float:
    """Episode by episode."""
    sums = []
    for i in range(episodes.count):
        steps = episodes.observations[episodes.live[:, i], i, 0]
        sums.append(sum(0.8**t * np.exp(-9 * (y - s) ** 2) for t, s in enumerate(steps)))
    n, mean = len(sums), float(np.mean(sums))
    student = stats.t.ppf(1 - chance, n - 1) * np.std(sums, ddof=1) / np.sqrt(n)
    return mean + student + (max(sums) - mean) * np.log(1 / chance) / n - 1 - y


def test_the_bound_of_every_point() -> None:
    upper = UpperViolation(bumps(), played(), chance=0.03)
    for y in (0.0, 0.21, 0.8, 1.0):
        assert upper.values(np.array([[y]]))[0, 0] == pytest.approx(by_hand(played(), y, 0.03))


@pytest.mark.parametrize("seed", range(3))
def test_lipschitz_constants_bound_it_everywhere(seed: int) -> None:
    """The steepest slope of exp(-9 d²) is 6 exp(-1/2) / sqrt(2)."""
    episodes, steep = played(seed=seed), 6 * np.exp(-0.5) / np.sqrt(2)
    upper = UpperViolation(bumps(lipschitz=(steep, 1.0)), episodes, chance=0.01)
    found = lsip.oracles.supremum(upper.provable(), tol=1e-3)
    most = upper.values(np.linspace(0, 1, 2001)[:, None]).max()
    assert most <= found.bound <= most + 2e-3
    rough = lsip.oracles.BranchAndBound(max_boxes=50).maximise(upper.provable())
    assert rough.bound >= most


def test_one_episode_shows_nothing_and_equal_ones_leave_nothing_open() -> None:
    one = played().first(1)
    assert UpperViolation(bumps(), one, chance=0.05).values(np.zeros((1, 1)))[0, 0] == np.inf
    same = Episodes(**{k: np.repeat(v[:, :1], 9, axis=1) if np.ndim(v) > 1 else v for k, v in vars(played()).items()})
    assert alike(same)
    assert not alike(played())


@pytest.mark.parametrize("name", keep.SHAPES)
def test_what_violates_is_seldom_kept_and_what_is_feasible_is(name: str) -> None:
    """Fixed seeds; before, a bound of 0 at an end let 17 of 20 runs keep what violates."""
    shape = keep.SHAPES[name]
    assert sum(keep.kept(shape, keep.VIOLATION, seed) for seed in range(12)) <= 2
    assert keep.kept(shape, -6 * shape.error(), 0)


@pytest.mark.parametrize("name", [*keep.SHAPES, *keep.SELDOM])
def test_the_means_of_the_shapes_are_what_they_say(name: str) -> None:
    shape = (keep.SHAPES | keep.SELDOM)[name]
    seen, places = shape.draw(np.random.default_rng(7), 400_000), shape.domain.grid(9 if shape.domain.dim == 1 else 3)
    costs = shape.cost(places, seen)
    error = costs.std(axis=1) / np.sqrt(len(seen))
    assert (np.abs(costs.mean(axis=1) - shape.mean(places)) <= 5 * error + 1e-9).all()
    fine = shape.domain.grid(501 if shape.domain.dim == 1 else 101)
    assert (shape.mean(fine) - shape.constraint(0.02).bounds(fine)).max() == pytest.approx(0.02, abs=2e-3)


class Luck(Pull):
    """Every episode earns something by luck, which its policy has no part in."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        seen, info = super().reset(seed=seed)
        self.luck = self.np_random.normal(size=self.num_envs)
        return seen, info

    def step(self, actions: Any) -> Any:
        seen, rewards, *rest = super().step(actions)
        return seen, 0 * rewards + self.luck, *rest


def test_what_is_said_of_the_best_comes_from_episodes_that_chose_nothing() -> None:
    """Three sets of episodes: one to look, one to try, and a third one for the figures."""
    free = rl.SemiInfiniteCost(lsip.Interval(0, 1), lambda y, o, a: 0 * y * force(a), 1.0)
    made = agent(Luck(8), free, episodes=8, evaluation_episodes=8)
    seeds = [int(s) for s in np.random.default_rng([made.seed, 0, 1]).integers(2**30, size=3)]
    made.judge()
    wanted = [made.evaluate(32, seed=seed).reward for seed in seeds]
    assert made.best.reward == wanted[2]
    assert made.best.reward not in wanted[:2]
    assert made.evaluations[-1].reward == wanted[2]
    assert made.best.violation == made.evaluations[-1].violation


def test_the_largest_bound_is_looked_for_where_the_mean_is_not_largest() -> None:
    """Where the mean of a sample is not largest at y = 0, at which costs vary most, a trial must look there."""
    shape = keep.SHAPES["largest mean elsewhere"]
    made = rl.SICPPO(keep.Drawn(shape), shape.constraint(-0.01), hidden=(4,), device="cpu")
    reports = [made.evaluate(256, seed=seed) for seed in range(8)]
    misled = [report for report in reports if report.y[0] > 0.2]
    assert misled
    assert all(report.margin > 0.02 for report in misled)
