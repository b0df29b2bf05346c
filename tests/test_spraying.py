"""Agricultural Spraying: the environment, its vectorised twin, its continuum, and a route that keeps it."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import envs
import lsip
import rl
from envs import spraying
from envs.spraying import Spraying, SprayingVector, constraint, optimised_route, reference_route, route, violations
from rl.episode_violation import EpisodeViolation
from rl.rollouts import collect
from rl.separation import separate

ID = "lsip/Spraying-v0"


def played(copies: int = 3, actions: np.ndarray | None = None) -> object:
    """Episodes that follow the reference route."""
    plan, t = reference_route() if actions is None else actions, [0]

    def act(observations: np.ndarray) -> np.ndarray:
        step = np.rint(observations[0, 2] * spraying.MAX_STEPS).astype(int)
        t[0] = min(int(step), len(plan) - 1)
        return np.tile(plan[t[0]], (len(observations), 1))

    return collect(gymnasium.make_vec(ID, num_envs=copies), act, copies, seed=0)


def test_gymnasium_has_nothing_to_complain_about() -> None:
    check_env(gymnasium.make(ID).unwrapped, skip_render_check=True)


def test_copies_do_what_one_vehicle_does() -> None:
    rng = np.random.default_rng(0)
    many, singles = SprayingVector(4, max_episode_steps=12), [Spraying() for _ in range(4)]
    seen, _ = many.reset(seed=0)
    for env in singles:
        assert (env.reset(seed=0)[0] == seen[0]).all()
    ended = np.zeros(4, dtype=bool)
    for _ in range(60):
        actions = rng.uniform(-1.5, 1.5, size=(4, 3))
        observations, rewards, arrived, cut, _ = many.step(actions)
        for i, env in enumerate(singles):
            if ended[i]:
                assert rewards[i] == 0
                assert (observations[i] == env.reset()[0]).all()
                continue
            observation, reward, done, _, _ = env.step(actions[i])
            assert (observation == observations[i]).all()
            assert reward == pytest.approx(rewards[i], abs=1e-15)
            assert done == arrived[i]
        ended = arrived | cut
    assert SprayingVector(2).reset()[0].shape == (2, 3)


def test_actions_are_checked() -> None:
    env = Spraying()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step([0, 0, 0])
    env.reset()
    for wrong in ([0.0, 0.0], [np.nan, 0.0, 0.0]):
        with pytest.raises(lsip.ModelError):
            env.step(wrong)


def test_what_is_sprayed_is_what_costs() -> None:
    c, place = constraint(), np.array([[0.3, 0.1], [0.3, 0.7]])
    at = np.array([[0.3, 0.2, 0.0]])
    half, twice = (c.steps(place, at, np.array([[1.0, 0.0, flow]])) for flow in (0.5, 2.0))
    dose = np.exp(-(np.array([0.1, 0.5]) ** 2) / (2 * 0.15**2))
    assert half[:, 0] == pytest.approx(0.5 * dose * [-1, 1])
    assert twice[:, 0] == pytest.approx(dose * [-1, 1])  # a nozzle gives no more than it can


def test_the_reference_route_keeps_every_dose() -> None:
    positions, flows, total = route(reference_route())
    assert len(flows) == 11
    assert total == pytest.approx(3.0475, abs=1e-4)
    assert violations(positions, flows, constraint().domain.grid(201)).max() <= 0
    found = rl.certify(constraint(), played(), horizon=25)  # the supremum over crop and strip is proven
    assert -1e-3 < found.mean_violation <= 0
    assert not found.assumptions


def test_less_liquid_is_too_little_and_a_straight_route_too_near() -> None:
    plan = reference_route()
    positions, flows, _ = route(plan * [1, 1, 0.9])
    grid = constraint().domain.grid(101)
    worst = violations(positions, flows, grid)
    assert worst.max() > 0.05
    assert grid[worst.argmax(), 1] <= spraying.CROP
    positions, flows, _ = route(plan * [1, 0, 1])
    worst = violations(positions, flows, grid)
    assert worst.max() > 0
    assert grid[worst.argmax(), 1] >= spraying.STRIP


@pytest.mark.slow
def test_direct_optimisation_finds_the_reference_again() -> None:
    found, reference = (
        route(actions)[2] for actions in (optimised_route(11, margin=4e-4, starts=2), reference_route())
    )
    assert found >= reference - 0.02
    with pytest.raises(lsip.ModelError, match="more steps"):
        optimised_route(10, starts=1)


def test_oracles_find_the_worst_place() -> None:
    episodes = played(actions=reference_route() * [1, 1, 0.9])
    violation = EpisodeViolation(constraint(), episodes)
    found = separate(violation, lsip.oracles.RandomSearch(points=5000), 0.0, seed=0)
    positions, flows, _ = route(reference_route() * [1, 1, 0.9])
    assert found.value == pytest.approx(violations(positions, flows, constraint().domain.grid(201)).max(), rel=0.05)


def test_lipschitz_constants_hold() -> None:
    c, rng = constraint(), np.random.default_rng(1)
    y = c.domain.sample(400, rng)
    steps, actions = np.column_stack([rng.uniform(size=(50, 2)), np.zeros(50)]), rng.uniform(size=(50, 3))
    costs, bounds = c.steps(y, steps, actions), c.bounds(y)
    apart = np.abs(y[:, None] - y[None]).max(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        slopes = np.abs(costs[:, None] - costs[None]).max(axis=2) / apart
        others = np.abs(bounds[:, None] - bounds[None]) / apart
    assert np.nanmax(slopes) <= c.lipschitz[0]
    assert np.nanmax(others) <= c.lipschitz[1] * (1 + 1e-12)


def test_pictures() -> None:
    pytest.importorskip("matplotlib")
    env = gymnasium.make(ID, render_mode="rgb_array")
    env.reset(seed=0)
    first = env.render()
    env.step(np.array([1, 0, 1], dtype=np.float32))
    assert first.shape == (480, 480, 3)
    assert (env.render() != first).any()
    with pytest.raises(lsip.ModelError, match="render_mode"):
        Spraying(render_mode="human")


def test_the_papers_settings_are_one_call() -> None:
    sewage = envs.paper.sewage(seed=3)
    agent = rl.SICPO(**sewage)
    assert agent.eta == 0.013
    assert (agent.update.samples, agent.update.horizon, agent.update.radius) == (1000, 100, 1000.0)
    assert (sewage["evaluation"].paths, sewage["oracle"].points) == (100_000, 100)
    assert (sewage["problem"].P == envs.sewage(seed=3).P).all()
    ship = envs.paper.ship(copies=2)
    assert ship["config"].hidden == (512, 512)
    assert ship["config"].learning_rate == 1e-4
    assert rl.SICPPO(**ship, device="cpu").env.num_envs == 2
