"""SI-CPPO in use: evaluations, the best policy, stopping, logs, predictions, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import lsip
import rl
from tests.test_rollouts import Walk

torch = pytest.importorskip("torch")

from rl.baselines import FixedGrid  # noqa: E402
from rl.policies import flat_parameters  # noqa: E402
from rl.si_cppo import SICPPO, SICPPOConfig  # noqa: E402
from rl.state import Report  # noqa: E402
from tests.test_si_cppo import STEPS, TWO, Always, Oracle, Pull, agent, assert_same_run, force, limit, rows_of  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU here")
# TensorBoard's own imports warn, on some versions of Python and NumPy.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:tensorboard"),
    pytest.mark.filterwarnings("ignore::rl.NoGoodPolicyWarning"),  # which has a test of its own
]


# ---- evaluations and the best policy ---------------------------------------------------------------------------------


def test_the_best_feasible_policy_is_kept(monkeypatch):
    """Which evaluations are feasible is told beforehand; they ask for a violation of 0, iterations for eta."""
    rewards: list[tuple[float, bool, Any]] = []
    feasible = [False, True, True, False, True, False, True, False]
    asked = [
        (0.0, seen, seen) for seen in (0.3 if ok else 0.4 for ok in feasible)
    ]  # an iteration, a mean, its upper bound
    oracle = Oracle([v for each in asked for v in each])

    def note(made: SICPPO, report: Report) -> None:
        found = made.evaluations[-1]
        rewards.append((found.reward, found.violation <= 0.3, flat_parameters(made.policy)))
        good = [(r, p) for r, ok, p in rewards if ok]
        if not good:
            assert made.best is None
        else:
            reward, parameters = max(good, key=lambda pair: pair[0])
            assert made.best is not None
            assert made.best[0] == reward
            assert torch.equal(made.best[1], parameters)

    made = agent(oracle=oracle, eta=0.125, learning_rate=0.02)

    def judge(feasible: float) -> None:
        found = made.evaluate()
        made.remember(found, found.violation <= feasible and (made.best is None or found.reward > made.best.reward))

    monkeypatch.setattr(made, "judge", judge)
    made.learn(8 * STEPS, evaluate_every=1, feasible=0.3, callback=note)
    assert [ok for _, ok, _ in rewards] == feasible
    assert {target for k in (1, 2) for target, _, _ in oracle.asked[k::3]} == {0.0}


@pytest.mark.parametrize("normalise", [False, True])
def test_predictions_are_those_of_the_best_policy_when_it_was_found(normalise, tmp_path):
    """Later iterations, and later observations, do not change what has been found feasible."""
    env, look = Pull(shift=1.0), np.random.default_rng(0).normal(size=(20, 2))
    # Only the first evaluation is feasible, and so are both that repeat it: means, and upper bounds of these.
    oracle = Oracle([-1.0] * 6 + [-1.0, 1.0] * 4)
    made = agent(env, oracle=oracle, learning_rate=0.02, normalise=normalise).learn(STEPS, evaluate_every=1)
    best = made.predict(look)[0]
    env.shift = 4.0
    made.learn(5 * STEPS, evaluate_every=1)
    np.testing.assert_allclose(made.predict(look)[0], best, rtol=1e-6)
    made.save(tmp_path / "c.npz")
    np.testing.assert_allclose(
        SICPPO.load(tmp_path / "c.npz", env, limit(), oracle=oracle).predict(look)[0], best, rtol=1e-6
    )


def test_evaluations_come_every_so_many_iterations():
    made = agent().learn(7 * STEPS, evaluate_every=3)
    assert [r.iteration for r in made.evaluations] == [3, 6]


def test_an_evaluation_plays_the_current_policy_without_noise():
    made = agent().learn(2 * STEPS)
    env = Pull()
    made.world.env = env
    report = made.evaluate()
    actions = np.stack(env.asked)
    assert actions.shape == (5, 8, 1)
    env.reset(seed=0)
    np.testing.assert_allclose(actions[0], made.predict(env.reset(seed=0)[0])[0])
    assert report.reward == pytest.approx(actions.sum(axis=0).mean(), rel=1e-5)
    assert report.violation == pytest.approx(max(report.reward, 0) - 2.5, abs=1e-5)
    assert report.arrived == 1
    made.evaluate(20)
    assert len(env.asked) == 5 + 15


@pytest.mark.parametrize("normalise", [False, True])
def test_the_normaliser_knows_mean_and_deviation(normalise):
    env = Pull(shift=1000.0)
    seen, plain = [], env.look
    env.look = lambda: seen.append(plain()) or seen[-1]
    made = agent(env, normalise=normalise).learn(4 * STEPS, evaluate_every=100)
    kept = np.concatenate([s for k, s in enumerate(seen) if k % 6 < 5]).astype(float)  # but what comes after the end
    values = made.world.player(made.state).tensor(kept.astype(np.float32)).numpy()
    if normalise:
        assert made.state.observed.seen == len(kept) == 4 * STEPS
        np.testing.assert_allclose(made.state.observed.mean, kept.mean(axis=0), rtol=1e-6)
        np.testing.assert_allclose(values.mean(axis=0), 0, atol=0.05)
        np.testing.assert_allclose(values.std(axis=0), 1, rtol=0.05)
    else:
        np.testing.assert_array_equal(values, kept.astype(np.float32))


# ---- stopping, callbacks, logs ---------------------------------------------------------------------------------------


def test_a_run_stops_at_its_target():
    made = agent(oracle=Always(-1.0)).learn(100 * STEPS, evaluate_every=4, target=-1e9)
    assert made.iteration == 4
    made = agent(oracle=Always(1.0)).learn(9 * STEPS, evaluate_every=4, target=-1e9)
    assert made.iteration == 9  # nothing was feasible
    made = agent(oracle=Always(-1.0)).learn(9 * STEPS, evaluate_every=4, target=1e9)
    assert made.iteration == 9


def test_a_callback_sees_every_iteration_and_may_stop(tmp_path):
    seen = []

    def stop(made: SICPPO, report: Report) -> bool:
        assert made.history[-1] is report
        seen.append(report.iteration)
        return report.iteration == 2

    made = agent(tensorboard=tmp_path).learn(10 * STEPS, callback=stop)
    assert seen == [0, 1, 2]
    assert made.iteration == len(made.history) == len(rows_of(tmp_path)) == 3


def test_the_table_holds_every_iteration(tmp_path):
    made = agent(tensorboard=tmp_path / "deep" / "log").learn(4 * STEPS)
    rows = rows_of(tmp_path / "deep" / "log")
    assert list(rows[0]) == [
        *["run", "iteration", "steps", "reward", "violation", "good", "good_share", "undiscounted", "arrived"],
        *["kl", "loss", "critic_loss", "explained_variance", "entropy"],
        *["return_deviation", "cost_deviation", "lacking", "y0"],
        *["evaluation_reward", "evaluation_violation"],
    ]
    for row, report in zip(rows, made.history, strict=True):
        assert (int(row["iteration"]), int(row["steps"])) == (report.iteration, report.steps)
        assert (float(row["reward"]), float(row["violation"])) == (report.reward, report.violation)
        assert row["good"] == str(report.good)
        assert (float(row["arrived"]), float(row["y0"])) == (report.arrived, report.y[0])


def test_the_table_of_a_resumed_run_is_that_of_the_uninterrupted_one(tmp_path):
    agent(tensorboard=tmp_path / "whole").learn(9 * STEPS, evaluate_every=1)
    stopped = agent(tensorboard=tmp_path / "parts").learn(4 * STEPS, evaluate_every=1, checkpoint=tmp_path / "c.npz")
    stopped.learn(6 * STEPS)
    assert len(rows_of(tmp_path / "parts")) == 6
    resumed = SICPPO.load(tmp_path / "c.npz", Pull(), limit(), device="cpu", tensorboard=tmp_path / "parts")
    resumed.learn(9 * STEPS, evaluate_every=1)
    assert rows_of(tmp_path / "parts") == rows_of(tmp_path / "whole")


def test_a_resumed_run_never_takes_old_rows_off_the_disk(tmp_path):
    """It may be killed at any time, and its checkpoint still says that these rows are written."""
    agent(tensorboard=tmp_path).learn(4 * STEPS, evaluate_every=1, checkpoint=tmp_path / "c.npz")
    resumed = SICPPO.load(tmp_path / "c.npz", Pull(), limit(), device="cpu", tensorboard=tmp_path)
    on_disk = []
    resumed.learn(6 * STEPS, callback=lambda made, report: on_disk.append(len(rows_of(tmp_path))))
    assert min(on_disk) >= 4


def test_tensorboard_gets_the_same_numbers(tmp_path):
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    made = agent(tensorboard=tmp_path).learn(3 * STEPS)
    board = reader.EventAccumulator(str(tmp_path)).Reload()
    np.testing.assert_allclose([e.value for e in board.Scalars("reward")], [r.reward for r in made.history], rtol=1e-6)


def test_progress_is_shown_when_asked_for(capsys):
    agent().learn(2 * STEPS)
    assert capsys.readouterr().err == ""
    agent().learn(2 * STEPS, verbose=True)
    assert f"{2 * STEPS}/{2 * STEPS}" in capsys.readouterr().err


@pytest.mark.parametrize("fails", [False, True])
def test_the_threads_of_torch_are_given_back(fails):
    before, inside = torch.get_num_threads(), []

    def look(made: SICPPO, report: Report) -> None:
        inside.append(torch.get_num_threads())
        if fails:
            raise RuntimeError("stop")

    try:
        torch.set_num_threads(2)
        if fails:
            with pytest.raises(RuntimeError, match="stop"):
                agent(threads=1).learn(STEPS, callback=look)
        else:
            agent(threads=1).learn(STEPS, callback=look)
        assert inside == [1]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


# ---- predictions -----------------------------------------------------------------------------------------------------


def test_predictions_for_one_and_for_many():
    made = agent(Pull(actions=gym.spaces.Box(-1, 2, (3,), np.float32))).learn(STEPS)
    look = np.random.default_rng(0).normal(size=(6, 2))
    actions, state = made.predict(look)
    assert state is None
    assert actions.shape == (6, 3)
    for one, action in zip(look, actions, strict=True):
        single, _ = made.predict(one)
        assert single.shape == (3,)
        np.testing.assert_allclose(single, action, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(made.predict(look.tolist())[0], actions)


def test_predictions_are_the_mean_or_drawn_around_it():
    made = agent(log_std=-1.0, oracle=Always(1.0)).learn(STEPS)
    look = np.tile([0.3, 0.2], (4000, 1))
    mean = made.policy.describe(torch.tensor([[0.3, 0.2]]))["mean"].item()
    np.testing.assert_allclose(made.predict(look)[0], mean, rtol=1e-5)
    drawn = made.predict(look, deterministic=False)[0]
    deviation = made.policy.log_std.detach().exp().item()
    assert drawn.mean() == pytest.approx(mean, abs=4 * deviation / np.sqrt(4000))
    assert drawn.std() == pytest.approx(deviation, rel=0.06)


def test_predictions_of_discrete_actions():
    made = agent(Pull(actions=gym.spaces.Discrete(4))).learn(STEPS)
    look = np.random.default_rng(0).normal(size=(200, 2))
    drawn = made.predict(look, deterministic=False)[0]
    assert drawn.shape == (200,)
    assert set(drawn) == {0, 1, 2, 3}
    assert made.env.single_action_space.contains(made.predict(look[0])[0])
    logits = made.policy.logits(torch.as_tensor(look, dtype=torch.float32)).detach().numpy()
    np.testing.assert_array_equal(made.predict(look)[0], logits.argmax(axis=1))


def test_actions_are_inside_their_space():
    env = Pull(actions=gym.spaces.Box(np.float32(0.1), np.float32(0.2), (1,), np.float32))
    made = agent(env).learn(STEPS)
    look = np.zeros((50, 2))
    for actions in (*env.asked, made.predict(look)[0], made.predict(look, deterministic=False)[0]):
        assert all(env.single_action_space.contains(a) for a in actions)


def test_discrete_actions_may_start_elsewhere():
    env = Pull(actions=gym.spaces.Discrete(2, start=5))
    made = agent(env).learn(2 * STEPS)
    assert {int(a) for a in np.ravel(env.asked)} == {5, 6}
    assert made.predict(np.zeros(2))[0] in (5, 6)


@pytest.mark.parametrize("mode", [None, "sync", "vector_entry_point", "async"])
def test_headings_of_ships_are_not_clipped(mode):
    """Any real number is a heading there, alone or in a vector of any kind."""
    envs, name = pytest.importorskip("envs"), "lsip/ShipRoute-v0"
    spawned = {"vector_kwargs": {"context": "spawn"}} if mode == "async" else {}
    ship = gym.make(name) if mode is None else gym.make_vec(name, num_envs=1, vectorization_mode=mode, **spawned)
    try:
        made = SICPPO(ship, envs.ship.constraint(), hidden=(8,), device="cpu")
        headings = made.predict(np.zeros((200, 6)), deterministic=False)[0]
        assert (headings < 0).mean() > 0.3
    finally:
        ship.close()


# ---- CRPO ------------------------------------------------------------------------------------------------------------


def test_a_fixed_grid_gives_crpo():
    def hill(y: np.ndarray, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return np.exp(-((y[:, :1] - force(actions)) ** 2))

    constraint = rl.SemiInfiniteCost(lsip.Interval(-1, 1), hill, 4.0)
    made = agent(constraint=constraint, oracle=FixedGrid(5)).learn(4 * STEPS, evaluate_every=1)
    assert all(np.isin(r.y, [-1, -0.5, 0, 0.5, 1]).all() for r in made.history + made.evaluations)
    free = agent(constraint=constraint).learn(STEPS)
    assert free.history[0].violation > made.history[0].violation
    assert not np.isin(free.history[0].y, [-1, -0.5, 0, 0.5, 1]).any()


def test_crpo_looks_at_its_grid_only_on_the_ship():
    envs = pytest.importorskip("envs")
    ships = gym.make_vec("lsip/ShipRoute-v0", num_envs=8)
    made = SICPPO(ships, envs.ship.constraint(), oracle=FixedGrid(6), episodes=8, device="cpu").learn(1)
    np.testing.assert_allclose(made.history[0].y, np.round(5 * made.history[0].y) / 5, atol=1e-12)


# ---- what is asked for -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"episodes": 0}, "`episodes` must be a whole number, at least 1; got 0"),
        ({"episodes": 2.5}, "`episodes` must be a whole number, at least 1; got 2.5"),
        ({"epochs": -1}, "`epochs` must be a whole number, at least 1; got -1"),
        ({"minibatch": 0}, "`minibatch` must be a whole number, at least 1; got 0"),
        ({"threads": 0}, "`threads` must be a whole number, at least 1; got 0"),
        ({"entropy": "x"}, "`entropy`"),
        ({"penalty": "l2"}, "`penalty`"),
        ({"switch": "all"}, "`switch`"),
        ({"evaluation_episodes": 0}, "`evaluation_episodes`"),
        ({"eta": float("nan")}, "`eta`"),
        ({"gamma": 1.1}, "`gamma`"),
        ({"gamma": -0.1}, "`gamma`"),
        ({"trace": 2}, "`trace`"),
        ({"learning_rate": 0.0}, "`learning_rate`"),
        ({"learning_rate": -1e-3}, "`learning_rate`"),
        ({"learning_rate": float("nan")}, "`learning_rate`"),
        ({"critic_rate": -1e-3}, "`critic_rate`"),
        ({"clip": -0.1}, "`clip`"),
        ({"divergence": -0.1}, "`divergence`"),
        ({"index_points": -1}, "`index_points`"),
        ({"hidden": 64}, "`hidden`"),
        ({"hidden": (64, 0)}, "`hidden`"),
        ({"speed": 3, "haste": 1}, "Unknown settings haste, speed; there are .*clip.*trace"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(lsip.ModelError, match=message):
        agent(**settings)


def test_settings_by_name_win_over_the_config():
    made = SICPPO(Pull(), limit(), SICPPOConfig(episodes=16, eta=0.5), eta=0.25, device="cpu")
    assert (made.config.episodes, made.config.eta) == (16, 0.25)


def test_the_settings_of_the_paper():
    config = SICPPOConfig.paper()
    assert tuple(config.hidden) == (512, 512)
    assert config.learning_rate == config.critic_rate == 1e-4
    made = SICPPO(Pull(), limit(), config, device="cpu")
    critic = made.state.critics["cost"]
    assert [m.out_features for m in critic if isinstance(m, torch.nn.Linear)] == [512, 512, 1]
    assert critic[0].in_features == 2 + 1
    assert (made.update.clip, made.update.penalty, made.update.divergence) == (0.3, "kl", 0.05)
    assert all(isinstance(m, torch.nn.Linear | torch.nn.Tanh) for m in made.policy.net)


@pytest.mark.parametrize(
    "space",
    [
        gym.spaces.MultiDiscrete([2, 2]),
        gym.spaces.MultiBinary(2),
        gym.spaces.Box(0, 1, (2, 2)),
        gym.spaces.Tuple((TWO, TWO)),
    ],
    ids=str,
)
def test_actions_are_discrete_or_vectors(space):
    with pytest.raises(lsip.ModelError, match=r"Actions must be Discrete or a Box of shape \(k,\); got "):
        agent(Pull(actions=space))


@pytest.mark.parametrize("env", [None, "CartPole-v1", Walk])
def test_what_is_no_environment_is_refused(env):
    with pytest.raises(lsip.ModelError, match="`env` must be a Gymnasium environment"):
        SICPPO(env, limit())


@pytest.mark.parametrize("constraint", [None, 3.0, lsip.Interval(0, 1)])
def test_what_is_no_constraint_is_refused(constraint):
    with pytest.raises(lsip.ModelError, match="SemiInfiniteCost"):
        SICPPO(Pull(), constraint, device="cpu")


def test_a_tabular_cost_is_refused():
    y = lsip.Index("y", lsip.Interval(0, 1))
    tabular = rl.SemiInfiniteCost(y, y * np.ones(3), 1)
    with pytest.raises(lsip.ModelError, match=r"cost\(y, observations, actions\)"):
        agent(constraint=tabular).learn(1)


@pytest.mark.parametrize("total", [0, -5])
def test_steps_are_positive(total):
    with pytest.raises(lsip.ModelError, match="`total_steps` must be positive"):
        agent().learn(total)


def test_steps_may_be_written_as_1e2(capsys):
    assert agent().learn(1e2, verbose=True).total_steps == 3 * STEPS


@pytest.mark.parametrize("option", ["evaluate_every", "every"])
def test_nothing_comes_every_zero_iterations(option, tmp_path):
    made = agent()
    with pytest.raises(lsip.ModelError, match=f"`{option}`"):
        made.learn(1, checkpoint=tmp_path / "c.npz", **{option: 0})
    assert made.iteration == 0


@pytest.mark.parametrize("device", ["cpu", "auto", pytest.param("cuda", marks=GPU)])
def test_devices(device, tmp_path):
    made = agent(device=device).learn(2 * STEPS, evaluate_every=1)
    assert device == "auto" or made.device.type == device
    assert all(p.device.type == made.device.type for p in made.policy.parameters())
    assert isinstance(made.predict(np.zeros(2))[0], np.ndarray)
    made.save(tmp_path / "c.npz")
    assert_same_run(made, SICPPO.load(tmp_path / "c.npz", Pull(), limit(), device=device))


def test_devices_have_names():
    with pytest.raises(lsip.ModelError, match="`device` is"):
        agent(device="gpu")
