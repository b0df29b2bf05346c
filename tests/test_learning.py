"""Learning with defaults: steps in likely shares, trials that go on, and the simulators that judge."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rl

torch = pytest.importorskip("torch")

from benchmarks import __main__ as command_line  # noqa: E402
from benchmarks import keep, learning  # noqa: E402
from rl.rollouts import collect  # noqa: E402
from rl.rules import Exchange, Switch  # noqa: E402
from tests.test_rules import NONE, found  # noqa: E402
from tests.test_si_cppo import Pull, agent, limit  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::rl.NoGoodPolicyWarning")


def noisy(height: float, error: float, units: tuple[float, float] = (1.0, 1.0)) -> Any:
    return replace(found(height, 0.5), error=lambda points: np.full(len(points), error), units=units)


@pytest.mark.parametrize(("height", "share"), [(0.0, 0.5), (0.1, 0.8413), (-0.1, 0.1587)])
def test_a_step_is_on_costs_with_the_probability_that_they_are_too_high(height, share):
    choice = Switch(0.0, "likely").choose(noisy(height, 0.1), *NONE, 1.0)
    assert choice.objective.reward == pytest.approx(1 - share, abs=1e-4)
    assert choice.objective.prices.sum() == pytest.approx(share, abs=1e-4)
    assert choice.good == (height <= 0)


def test_far_from_the_bounds_it_is_the_switch():
    far, near = Switch(0.0, "likely").choose(noisy(-1.0, 0.1), *NONE, 1.0), noisy(1.0, 0.1)
    assert (far.objective.reward, len(far.points)) == (1.0, 0)
    assert Switch(0.0, "likely").choose(near, *NONE, 1.0).objective.reward == pytest.approx(0.0, abs=1e-9)
    plain = Switch(0.0, "likely").choose(found(0.2, 0.5), *NONE, 1.0)  # nothing is random
    assert (plain.objective.reward, plain.objective.prices.tolist()) == (0.0, [1.0])


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e4])
def test_prices_do_not_depend_on_the_units_of_costs(factor):
    """What a cost in other units is worth is in other units, too: the step is the same."""
    rule = Exchange(0.0, 0.3, gain=3.0, saturation=1.0)
    points, prices = NONE
    steps = []
    for height in (0.3, 0.2, -0.1):
        seen = noisy(height * factor, 0.1, (5.0, 0.4 * factor))
        seen = replace(seen, values=np.array([height * factor]))
        choice = rule.choose(seen, points, prices, 1.0)
        points, prices = choice.points, choice.prices
        steps.append(choice.objective.prices.sum() * factor / max(choice.objective.reward, 1e-12))
    assert steps[0] == pytest.approx((0.3 * 0.75 + 3.0 * 0.75) * 12.5)
    assert steps[1] == pytest.approx((0.3 * 0.75 + 3.3 * 0.5) * 12.5)


def test_steps_become_shorter_where_bounds_are_crossed():
    made = agent(learning_rate=None)
    assert made._slowed() == 1.0
    made.learn(400, evaluate_every=100)
    sides = [r.numbers["lacking"] > made.eta for r in made.history]
    crossings = sum(a != b for a, b in pairwise(sides))
    assert made._slowed() == pytest.approx(1 / np.sqrt(1 + crossings / 10))
    assert agent(learning_rate=1e-3)._slowed() == 1.0


def test_a_trial_goes_on_while_more_episodes_may_decide_it():
    """A policy that lies two standard errors of 256 episodes below its bounds is kept once learning has made steps."""
    shape = keep.SHAPES["largest mean elsewhere"]
    constraint, slack = shape.constraint(-2 * shape.error()), 2 * shape.error()
    kept = {}
    for steps in (0, 200_000):
        made = rl.SICPPO(keep.Drawn(shape), constraint, hidden=(4,), device="cpu", seed=3)
        made.state.steps = steps
        made.judge()
        kept[steps] = made.best is not None
        assert made.state.judged <= max(steps, 256) + 256
        if kept[steps]:
            assert made.best.violation < slack
    assert kept == {0: False, 200_000: True}


def test_a_trial_takes_no_more_steps_than_learning():
    made = agent(Pull(8), limit(99.0), evaluation_episodes=8)
    made.learn(200, evaluate_every=1)
    assert made.state.judged <= made.total_steps + 2 * 32 * 5 * made.state.confirmed


@pytest.mark.parametrize("name", learning.ARENAS)
def test_simulators_agree_with_the_environments(name):
    """The same controller, which follows observations a little."""
    arena = learning.ARENAS[name]
    env, constraint = arena.environment(), arena.constraint()

    def act(seen: Any) -> Any:
        pull = np.tanh(np.asarray(seen, dtype=float) @ np.linspace(-1, 1, seen.shape[1]))
        if name == "cartpole":
            return (pull > 0).astype(int)
        low, high = env.single_action_space.low, env.single_action_space.high
        return (low + (high - low) * (0.5 + 0.3 * pull[:, None])).astype(np.float32)

    played = collect(env, act, 1_024, 5, told=True)
    gamma = arena.settings.get("gamma", 1.0)
    returns = played.returns(gamma)
    earned, costs, bounds = arena.simulate(act, 1_024, 6)
    error = np.hypot(returns.std(), earned.std()) / 32
    assert abs(returns.mean() - earned.mean()) <= 4 * error + 1e-4
    violation = rl.episode_violation.EpisodeViolation(constraint, played)
    worst = violation.values(constraint.domain.grid(41))[:, 0].max()
    k = int((costs.mean(axis=0) - bounds).argmax())
    assert abs(worst - (costs.mean(axis=0) - bounds)[k]) <= 6 * costs[:, k].std() / 32 + 2e-3


def test_runs_are_kept_and_not_made_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [
        "learning",
        "--quick",
        "--only",
        "cartpole: EPO,ship: SICPPO",
        "--json",
        "--keep",
        str(tmp_path / "k.json"),
    ]
    assert command_line.main(asked) == 0
    first = json.loads(capsys.readouterr().out)
    assert [row["task"] for row in first["runs"]] == ["ship", "cartpole"]
    assert all(0 <= row["feasible"] <= row["kept"] <= row["seeds"] == 1 for row in first["rows"])
    assert command_line.main(asked) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == first["runs"]
