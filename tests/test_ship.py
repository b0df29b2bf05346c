"""Ship Route Planning: Gymnasium's own check, ships in arrays against ships one by one, and the paper's numbers."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

import envs  # noqa: E402
import lsip  # noqa: E402
import rl  # noqa: E402
from envs.ship import (  # noqa: E402
    ShipRoute,
    ShipRouteVector,
    constraint,
    reference_routes,
    route,
    violations,
)

ID = "lsip/ShipRoute-v0"
EAST, NORTH, WEST, SOUTH, AHEAD = 0.0, np.pi / 2, np.pi, 3 * np.pi / 2, np.pi / 4
D, MPA = np.ones(2), np.full(2, 0.5)


def sail(env: Any, headings: Any) -> tuple[np.ndarray, list[float], bool, bool]:
    """Observations from `reset` on, rewards, and the last two flags."""
    first, _ = env.reset(seed=0)
    seen, rewards, terminated, truncated = [first], [], False, False
    for heading in headings:
        observation, reward, terminated, truncated, _ = env.step([heading])
        seen.append(observation)
        rewards.append(reward)
    return np.array(seen), rewards, terminated, truncated


def mesh(side: int) -> np.ndarray:
    line = np.linspace(0, 1, side)
    return np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)


# ---- one ship --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("symmetric", [False, True])
def test_gymnasium_finds_nothing_to_complain_about(symmetric):
    env = gymnasium.make(ID, symmetric=symmetric).unwrapped
    with warnings.catch_warnings():
        # A heading is an angle here, so that the space of actions is not the [-1, 1] that is recommended to everyone.
        warnings.filterwarnings("ignore", ".*we recommend using a symmetric and normalized space")
        check_env(env)


def test_a_step_by_hand():
    seen, rewards, terminated, truncated = sail(ShipRoute(), [EAST, NORTH])
    np.testing.assert_allclose(seen[:, :2], [[0, 0], [0.1, 0], [0.1, 0.1]], atol=1e-7)
    np.testing.assert_allclose(rewards, [-0.1 * (np.sqrt(2) + 1), -0.1 * (np.hypot(0.9, 1) + 1)])
    assert not terminated
    assert not truncated


def test_what_a_ship_observes():
    seen, _, _, _ = sail(ShipRoute(), [EAST])
    east = np.array([0.1, 0.0])
    for s, (a, d, b, e) in zip([np.zeros(2), east], seen[:, 2:], strict=True):
        for target, angle, distance in ((D, a, d), (MPA, b, e)):
            way = target - s
            np.testing.assert_allclose(angle * np.pi, np.arctan2(way[1], way[0]) - np.pi / 4, atol=1e-6)
            np.testing.assert_allclose(distance * np.sqrt(2), np.linalg.norm(way), rtol=1e-6)


def test_a_mirrored_ship_sees_the_mirror_image():
    headings = np.random.default_rng(0).uniform(0, np.pi / 2, 12)
    here, _, _, _ = sail(ShipRoute(), headings)
    there, _, _, _ = sail(ShipRoute(), np.pi / 2 - headings)
    np.testing.assert_allclose(there, here[:, [1, 0, 2, 3, 4, 5]] * [1, 1, -1, 1, -1, 1], atol=1e-6)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40), st.booleans())
def test_positions_and_observations_stay_in_their_spaces(headings, symmetric):
    env = ShipRoute(symmetric=symmetric)
    observation, info = env.reset()
    before = np.zeros(2)
    for heading in headings:
        observation, reward, terminated, truncated, info = env.step([heading])
        assert observation in env.observation_space
        assert observation.dtype == np.float32
        assert type(reward) is float
        assert (terminated, truncated, info) == (np.linalg.norm(env.positions[-1] - D) <= 0.1 + 1e-9, False, {})
        assert reward == pytest.approx(-0.1 * (np.linalg.norm(before - D) + 1) + 5 * terminated)
        before = np.array(env.positions[-1])
        if terminated:
            break


def test_the_border_holds_ships_back():
    seen, _, _, _ = sail(ShipRoute(), [WEST, SOUTH, *[EAST] * 12, SOUTH])
    np.testing.assert_allclose(seen[:3, :2], 0, atol=1e-12)
    np.testing.assert_allclose(seen[-3:, :2], [[1, 0]] * 3, atol=1e-7)


@pytest.mark.parametrize("turns", [-3, -1, 1, 2, 100])
def test_headings_are_taken_modulo_a_turn(turns):
    headings = np.linspace(0, 1.5, 9)
    seen, rewards, _, _ = sail(ShipRoute(), headings)
    other, same, _, _ = sail(ShipRoute(), headings + 2 * np.pi * turns)
    np.testing.assert_allclose(other, seen, atol=1e-6)
    np.testing.assert_allclose(same, rewards, atol=1e-9)
    assert ShipRoute().periodic_actions


def test_the_symmetric_sea_is_the_half_above_the_diagonal():
    env = ShipRoute(symmetric=True)
    assert not env.periodic_actions
    assert env.action_space.high == np.float32(np.pi / 2)
    seen, rewards, _, _ = sail(env, [EAST, NORTH, EAST, EAST, -1.0, 2.0])
    steps = [
        [0, 0],
        [0, 0.1],
        [0, 0.2],
        [0.1, 0.2],
        [0.2, 0.2],
        [0.2, 0.3],
        [0.2, 0.4],
    ]  # -1 is clipped to 0, 2 to pi/2
    np.testing.assert_allclose(seen[:, :2], steps, atol=1e-7)
    np.testing.assert_allclose(rewards, -0.1 * (np.linalg.norm(D - steps[:-1], axis=1) + 1))


def test_arrival_pays_once_and_ends_the_episode():
    env = ShipRoute()
    _, rewards, terminated, truncated = sail(env, [AHEAD] * 14)
    assert terminated
    assert not truncated
    assert rewards[-1] == pytest.approx(5 - 0.1 * (np.sqrt(2) - 1.3 + 1))
    assert max(rewards[:-1]) < 0
    with pytest.raises(gymnasium.error.ResetNeeded, match="arrived"):
        env.step([AHEAD])
    env.reset()
    env.step([AHEAD])


@pytest.mark.parametrize("headings", [[EAST] * 10 + [NORTH] * 9, [NORTH] * 10 + [EAST] * 9])
def test_a_tenth_from_the_goal_is_near_enough_however_it_is_rounded(headings):
    env = ShipRoute()
    _, _, terminated, _ = sail(env, headings)
    assert terminated
    assert np.linalg.norm(env.positions[-1] - D) > 0.1  # by rounding alone
    ships = ShipRouteVector(1)
    ships.reset()
    assert [bool(ships.step([[h]])[2][0]) for h in headings] == [False] * 18 + [True]


def test_seeds():
    env = ShipRoute()
    first, info = env.reset(seed=3)
    draw = env.np_random.random()
    again, _ = env.reset(seed=3)
    assert env.np_random.random() == draw
    assert np.array_equal(first, again)
    assert info == {}
    env.reset(seed=4)
    assert env.np_random.random() != draw


@pytest.mark.parametrize("action", [[np.nan], [np.inf], [0.1, 0.2], 0.1, [[0.1]]])
def test_what_is_no_heading_is_refused(action):
    env = ShipRoute()
    env.reset()
    with pytest.raises(lsip.ModelError, match=r"heading"):
        env.step(action)
    assert env.positions == [(0.0, 0.0)]


def test_misuse_is_explained():
    with pytest.raises(lsip.ModelError, match="render_mode"):
        ShipRoute(render_mode="human")
    with pytest.raises(gymnasium.error.ResetNeeded):
        ShipRoute().step([0.0])
    with pytest.raises(gymnasium.error.ResetNeeded):
        ShipRouteVector(2).step(np.zeros((2, 1)))
    with pytest.raises(gymnasium.error.ResetNeeded):
        ShipRouteVector(2).reset(options={"reset_mask": np.array([True, False])})
    for options in ({"num_envs": 0}, {"num_envs": 2, "max_episode_steps": 0}, {"num_envs": 1.5}):
        with pytest.raises(lsip.ModelError, match="at least 1"):
            ShipRouteVector(**options)
    ships = ShipRouteVector(3)
    ships.reset()
    for mask in (np.ones(2, dtype=bool), np.ones(3), [1, 0, 1]):
        with pytest.raises(lsip.ModelError, match="3 booleans"):
            ships.reset(options={"reset_mask": mask})
    for actions in (np.zeros(3), np.zeros((3, 2)), np.zeros((2, 1))):
        with pytest.raises(lsip.ModelError, match=r"shape \(3, 1\)"):
            ships.step(actions)
    with pytest.raises(lsip.ModelError, match="finite"):
        ships.step(np.array([[0.0], [np.nan], [0.0]]))


# ---- many ships ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("limit", [100, 20])
def test_ships_in_arrays_do_what_copies_do(symmetric, limit):
    n, rng = 7, np.random.default_rng(1)
    options: dict[str, Any] = {"num_envs": n, "symmetric": symmetric, "max_episode_steps": limit}
    ships = gymnasium.make_vec(ID, **options)
    copies = gymnasium.make_vec(ID, vectorization_mode="sync", **options)
    assert isinstance(ships, ShipRouteVector)
    assert isinstance(copies, gymnasium.vector.SyncVectorEnv)
    for name in ("observation_space", "action_space", "single_observation_space", "single_action_space", "num_envs"):
        assert getattr(ships, name) == getattr(copies, name)
    assert ships.metadata["autoreset_mode"] == copies.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    (seen, infos), (other, _) = ships.reset(seed=5), copies.reset(seed=5)
    np.testing.assert_array_equal(seen, other)
    assert infos == {}
    centre = np.linspace(0.5, 2.5, n)[:, None]  # the first arrive soon, the last never
    ends, cuts = np.zeros(n, dtype=int), np.zeros(n, dtype=int)
    for step in range(250):
        actions = (centre + rng.normal(scale=0.4, size=(n, 1))).astype(np.float32)
        if step % 60 == 59:
            mask = np.arange(n) % 2 == step % 4 // 2
            (seen, _), (other, _) = (e.reset(options={"reset_mask": mask}) for e in (ships, copies))
            np.testing.assert_allclose(seen, other, atol=1e-6)
        mine, theirs = ships.step(actions), copies.step(actions)
        for one, two in zip(mine[:2], theirs[:2], strict=True):
            np.testing.assert_allclose(one, two, atol=1e-6)
            assert one.dtype == two.dtype
        for one, two in zip(mine[2:4], theirs[2:4], strict=True):
            np.testing.assert_array_equal(one, two)
        assert mine[4] == theirs[4] == {}
        ends, cuts = ends + mine[2], cuts + mine[3]
    assert ends.sum() > 5
    assert cuts.sum() > 1


def test_truncation_after_a_hundred_steps_alone_and_in_arrays():
    env, ships = gymnasium.make(ID), gymnasium.make_vec(ID, num_envs=2)
    _, _, terminated, truncated = sail(env, [WEST] * 99)
    assert not truncated
    _, _, terminated, truncated, _ = env.step([WEST])
    assert truncated
    assert not terminated
    ships.reset()
    flags = np.array([ships.step(np.array([[WEST], [SOUTH]]))[3] for _ in range(202)])
    assert np.flatnonzero(flags[:, 0]).tolist() == [99, 200]  # a step in between puts the ship back
    assert (flags[:, 0] == flags[:, 1]).all()


def test_the_step_after_the_end_puts_a_ship_back():
    ships = ShipRouteVector(2)
    start, _ = ships.reset()
    for _ in range(13):
        ships.step([[AHEAD], [WEST]])
    last, rewards, terminated, _, _ = ships.step([[AHEAD], [WEST]])
    assert terminated.tolist() == [True, False]
    assert np.linalg.norm(last[0, :2] - D) < 0.1  # what is observed last belongs to the episode that ends
    assert rewards[0] > 4
    back, rewards, terminated, truncated, _ = ships.step([[NORTH], [NORTH]])
    assert np.array_equal(back[0], start[0])
    assert rewards[0] == 0
    assert rewards[1] < 0
    assert back[1, 1] == pytest.approx(0.1)
    assert not (terminated | truncated).any()
    on, rewards, _, _, _ = ships.step([[NORTH], [NORTH]])
    assert on[0, 1] == pytest.approx(0.1)
    assert rewards[0] == pytest.approx(-0.1 * (np.sqrt(2) + 1))


def test_results_are_not_written_over():
    ships = ShipRouteVector(3)
    first, _ = ships.reset()
    results = [ships.step(np.full((3, 1), AHEAD)) for _ in range(3)]
    assert (first[:, :2] == 0).all()
    for k in range(4):
        for one in results:
            for two in results:
                assert one is two or not np.shares_memory(one[k], two[k])
    np.testing.assert_allclose([r[0][0, 0] for r in results], np.arange(1, 4) * 0.1 / np.sqrt(2), rtol=1e-6)


def test_seeds_in_arrays():
    ships = ShipRouteVector(2)
    ships.reset(seed=3)
    draw = ships.np_random.random()
    ships.reset(seed=3)
    assert ships.np_random.random() == draw


# ---- registration and pictures ---------------------------------------------------------------------------------------


def test_gymnasium_knows_both():
    spec = gymnasium.spec(ID)
    assert spec.max_episode_steps == 100
    assert isinstance(gymnasium.make(ID).unwrapped, ShipRoute)
    assert isinstance(gymnasium.make("envs:" + ID).unwrapped, ShipRoute)
    ships = gymnasium.make_vec(ID, num_envs=64)
    assert isinstance(ships, ShipRouteVector)
    assert ships.max_episode_steps == 100
    assert ships.reset()[0].shape == (64, 6)
    importlib.reload(envs)  # registers nothing twice


def test_importing_envs_needs_no_gymnasium_and_loads_no_ship():
    absent = "import sys; sys.modules['gymnasium'] = None; import envs, lsip; assert callable(envs.sewage)\n"
    refused = "try: envs.ship\nexcept lsip.MissingExtraError as error: print(error)\n"
    present = (
        "import sys, envs; print('envs.ship' in sys.modules, 'torch' in sys.modules, envs.ship.ShipRoute.__name__)"
    )
    run = {"capture_output": True, "text": True, "check": True}
    assert "lsip[rl]" in subprocess.run([sys.executable, "-c", absent + refused], **run).stdout
    assert subprocess.run([sys.executable, "-c", present], **run).stdout.split() == ["False", "False", "ShipRoute"]
    with pytest.raises(AttributeError):
        _ = envs.boat


def test_pictures():
    pytest.importorskip("matplotlib")
    env = gymnasium.make(ID, render_mode="rgb_array")
    with pytest.raises(gymnasium.error.ResetNeeded):
        ShipRoute(render_mode="rgb_array").render()
    env.reset()
    pictures = [env.render()]
    for heading in reference_routes()["straight line"]:
        env.step([heading])
    pictures.append(env.render())
    for picture in pictures:
        assert picture.shape == (480, 480, 3)
        assert picture.dtype == np.uint8
    red = [((p[..., 0] > 150) & (p[..., 1] < 60) & (p[..., 2] < 60)).sum() for p in pictures]
    blue = [(p[..., 2] > p[..., 0].astype(int) + 60).sum() for p in pictures]
    assert red[0] == 0 < red[1]  # a violation only once the ship has passed the MPA
    assert 0 < blue[0] < blue[1]
    with pytest.warns(UserWarning, match="render mode"):
        assert ShipRoute().render() is None


# ---- the constraint and the reference routes -------------------------------------------------------------------------


def test_the_constraint_by_hand():
    c = constraint()
    assert c.gamma == 1
    assert c.domain == lsip.Box([0, 0], [1, 1])
    y = np.array([[0.5, 0.5], [0.5, 0.6], [0.0, 0.0]])
    np.testing.assert_allclose(c.bounds(y), [0.02, 0.015 + 0.005 * np.e**2, 0.015 + 0.005 * np.exp(10 * np.sqrt(2))])
    observations = np.zeros((2, 6), dtype=np.float32)
    observations[:, :2] = [[0.5, 0.5], [0.25, 0.5]]
    expected = np.exp([[0, -5], [-2, -20 * np.hypot(0.25, 0.1)], [-10 * np.sqrt(2), -20 * np.hypot(0.25, 0.5)]])
    np.testing.assert_allclose(c.steps(y, observations, np.zeros((2, 1))), expected)


def test_candidates_are_the_mpa_and_the_positions_nearest_to_it():
    observations = np.zeros((6, 6), dtype=np.float32)
    observations[:, :2] = [[0, 0], [0.5, 0.25], [0, 0], [0.75, 0.75], [1, 0.5], [0.5, 0.25]]
    expected = [[0.5, 0.5], [0.5, 0.25], [0.75, 0.75], [1, 0.5], [0, 0]]
    assert constraint().candidates(observations).tolist() == expected
    assert constraint(most=2).candidates(observations).tolist() == expected[:3]
    with pytest.raises(lsip.ModelError, match="most"):
        constraint(most=0)


def test_violations_add_up_what_the_constraint_charges():
    env, c = ShipRoute(), constraint()
    headings = reference_routes()["curve y = x^4"]
    seen, _, terminated, _ = sail(env, headings)
    assert terminated
    y = mesh(21)
    charged = c.steps(y, seen[:-1], headings[:, None]).sum(axis=1) - c.bounds(y)
    np.testing.assert_allclose(charged, violations(env.positions, y), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "steps", "total", "worst", "digits"),
    [("straight line", 14, 2.530, 1.292, 3), ("curve y = x^4", 15, 2.217, -0.0023, 4)],
)
def test_the_reference_routes(name, steps, total, worst, digits):
    headings = reference_routes()[name]
    positions, found = route(headings)
    assert positions.shape == (steps + 1, 2)
    assert len(headings) == steps
    np.testing.assert_allclose(np.linalg.norm(np.diff(positions, axis=0), axis=1), 0.1)
    assert round(found, 3) == total
    y = np.concatenate([mesh(401), positions])
    assert round(violations(positions, y).max(), digits) == worst
    if name == "curve y = x^4":
        np.testing.assert_allclose(positions[:, 1], positions[:, 0] ** 4, atol=1e-9)


def test_a_route_ends_with_its_headings_or_after_a_hundred():
    assert route([])[0].tolist() == [[0, 0]]
    assert route([])[1] == 0
    positions, total = route([EAST, NORTH])
    assert len(positions) == 3
    assert total == pytest.approx(-0.1 * (np.sqrt(2) + np.hypot(0.9, 1) + 2))
    assert len(route([WEST] * 150)[0]) == 101


def test_environments_bring_their_constraint_along(tmp_path):
    """So that an agent's file and an environment are enough to go on."""
    pytest.importorskip("torch")
    name, path = "lsip/ShipRoute-v0", tmp_path / "ship.zip"
    kinds = [
        gymnasium.make_vec(name, num_envs=4),
        gymnasium.make_vec(name, num_envs=4, vectorization_mode="sync"),
        gymnasium.make(name),
    ]
    rl.SICPPO(kinds[0], envs.ship.constraint(), episodes=4, hidden=(8,), device="cpu").learn(1, checkpoint=path)
    y = np.array([[0.5, 0.5], [0.1, 0.9]])
    for env in kinds:
        agent = rl.SICPPO.load(path, env)
        assert agent.iteration == 1
        np.testing.assert_array_equal(agent.constraint.bounds(y), envs.ship.constraint().bounds(y))
