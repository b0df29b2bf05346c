"""What is asked for wrongly is refused where it is asked for, in a sentence that says what is wanted and what came."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import envs
import lsip
import rl
from rl import validation

torch = pytest.importorskip("torch")
gym = pytest.importorskip("gymnasium")

from tests.test_si_cppo import Pull, limit  # noqa: E402
from tests.test_updates import toy  # noqa: E402

MDP = toy()
SPEC = MDP.specification
DATA = MDP.sample(per_pair=1000, seed=0)
COST = SPEC.constraint
UNIT = lsip.Interval(0, 1)


def refused(call: Any, message: str) -> None:
    with pytest.raises(lsip.ModelError, match=message):
        call()


# ---- the checks ------------------------------------------------------------------------------------------------------


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_pass_as_they_are(value):
    for given_ in (value, np.float64(value), np.array(value)):
        assert validation.number("x", given_) == value


@pytest.mark.parametrize("value", ["1", None, [1.0], np.nan, np.inf, 1j, float, np.array([1.0, 2.0])])
@pytest.mark.parametrize("kind", [k for k in validation.RANGES if k != "nonnegative"])
def test_what_is_no_number_is_refused_for_every_range(value, kind):
    refused(lambda: validation.number("x", value, kind), "`x` .*; got ")


@pytest.mark.parametrize("value", [0, -1, 2.0, True, "3", None, [2]])
def test_counts_are_positive_integers(value):
    refused(lambda: validation.count("x", value), "`x` must be a whole number, at least 1; got ")
    assert validation.count("x", np.int64(7)) == 7


# ---- parts of an agent -----------------------------------------------------------------------------------------------

WRONG_PARTS: list[tuple[dict[str, Any], str]] = [
    ({"oracle": lsip.oracles.Grid}, r"`oracle` must have a method `maximise`.* got the class Grid \(make one of it"),
    ({"oracle": "x"}, "`oracle` must have a method `maximise`, as .* has; got 'x'"),
    ({"oracle": 100}, "got 100"),
    ({"update": rl.NPG}, r"`update` must have a method `step`, as rl.NPG\(\) has; got the class NPG"),
    ({"update": "npg"}, "`update` must have a method `step`.* got 'npg'"),
    ({"evaluation": rl.MonteCarlo}, "`evaluation` must have a method `evaluate`.* got the class MonteCarlo"),
    ({"evaluation": 7}, "got 7"),
    ({"policy": rl.uniform_policy(2, 2)}, r"`policy` must be a policy over 2 actions.*SoftmaxTable\(2, 2\); got"),
    ({"policy": rl.SoftmaxTable}, "got the class SoftmaxTable"),
    ({"features": "x", "policy": rl.MLPCategorical(2, 2)}, "`features` must be real numbers"),
    ({"eta": "a"}, "`eta` must be a finite number; got 'a'"),
    ({"eta": None}, "`eta` must be a finite number; got None"),
    ({"rule": "worst"}, "`rule` must have a method `choose`"),
    ({"fallback": 3}, "`fallback` must have a method `maximise`"),
    ({"learning_rate": "fast"}, "`learning_rate` must be positive; got 'fast'"),
    ({"learning_rate": np.inf}, "`learning_rate` must be positive; got inf"),
    ({"seed": "a"}, "`seed` must be an integer, at least 0, or None for a random one; got 'a'"),
    ({"seed": -1}, "got -1"),
    ({"seed": 1.5}, "got 1.5"),
]


@pytest.mark.parametrize(("options", "message"), WRONG_PARTS)
def test_parts_of_si_cpo(options, message):
    refused(lambda: rl.SICPO(MDP, **options), message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"oracle": lsip.oracles.Grid}, "`oracle` must have a method `maximise`.* got the class Grid"),
        ({"oracle": 3}, "got 3"),
        ({"seed": "a"}, "`seed` must be"),
        ({"tensorboard": True}, "Logs go to a folder, given by its name, .* got True"),
        ({"config": {"eta": 0.1}}, "`config` must be an rl.SICPPOConfig"),
        ({"eta": np.inf}, "`eta` must be a finite number; got inf"),
        ({"update": "ppo"}, "`update` must have a method `step`"),
        ({"confidence": 1.0}, "`confidence` is a probability"),
        ({"gamma": 3}, "`gamma` must be between 0 and 1; got 3"),
        ({"gamma": "x"}, "`gamma` must be between 0 and 1; got 'x'"),
        ({"trace": None}, "`trace` must be between 0 and 1; got None"),
        ({"learning_rate": "x"}, "`learning_rate` must be positive; got 'x'"),
        ({"log_std": "x"}, "`log_std` is the logarithm of a number, between -40 and 40; got 'x'"),
        ({"log_std": 1e308}, r"between -40 and 40; got 1e\+308"),
    ],
)
def test_parts_of_si_cppo(options, message):
    refused(lambda: rl.SICPPO(Pull(), limit(), **options), message)


@pytest.mark.parametrize("points", [0, -3, 2.5, "250", None])
def test_crpo_has_a_positive_number_of_points(points):
    refused(lambda: rl.baselines.CRPO(MDP, points), "`points` must be a whole number, at least 1; got")


def test_a_seed_of_none_is_drawn_and_recorded():
    for make in (lambda seed: rl.SICPO(MDP, seed=seed), lambda seed: rl.SICPPO(Pull(), limit(), seed=seed)):
        one, two = make(None), make(None)
        assert one.seed != two.seed
        again = make(one.seed)
        assert again.rng.bit_generator.state == one.rng.bit_generator.state


def test_an_evaluation_that_needs_a_model_is_refused_at_once():
    class Hidden:
        specification, reset, step = SPEC, staticmethod(lambda n, rng: None), staticmethod(lambda s, a, rng: None)

    for evaluation in (rl.Exact(), rl.MonteCarlo(mode="population")):
        refused(lambda e=evaluation: rl.SICPO(Hidden(), evaluation=e), f"{type(evaluation).__name__}.*known model")


# ---- the wrong kind of thing -----------------------------------------------------------------------------------------


def test_a_model_stands_for_its_specification():
    one, other = rl.si_crl(DATA, MDP, 1e-4), rl.si_crl(DATA, SPEC, 1e-4)
    assert one.value == other.value
    assert rl.BinaryModel(MDP).specification.states == rl.BinaryModel(SPEC).specification.states
    assert rl.baselines.discretise(MDP, 3, data=DATA, delta=1e-4).value > 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rl.si_crl(MDP, SPEC, 1e-4), r"`data` must be an rl.Dataset, as mdp.sample\(…\) .* got"),
        (lambda: rl.si_crl(DATA, DATA, 1e-4), r"An rl.Specification\(r, constraint, mu, gamma\) is needed.* got"),
        (lambda: next(rl.si_crl_steps(MDP, SPEC, 1e-4)), "`data` must be an rl.Dataset"),
        (lambda: rl.si_crl(DATA, SPEC, "a"), "`delta` is a probability between 0 and 1; got 'a'"),
        (lambda: rl.si_crl(DATA, SPEC, 1e-4, oracle=lsip.oracles.Grid), "`oracle` must have .* the class Grid"),
        (lambda: rl.si_crl(DATA, SPEC, 1e-4, tolerance="x"), "`tolerance` must be a number, not negative; got 'x'"),
        (lambda: rl.plan(SPEC), r"A known model, an rl.SICMDP, is needed.*with_transitions\(P\).*rl.si_crl\("),
        (lambda: rl.plan(DATA), "A known model, an rl.SICMDP, is needed; got Dataset of 4000 transitions"),
        (lambda: rl.plan_optimistically(SPEC, DATA), r"`models` must be an rl.OptimisticSet, as data.optimistic_set"),
        (lambda: rl.plan(MDP, oracle=lsip.oracles.Grid), "the class Grid"),
        (lambda: rl.plan(MDP, method="decompose", oracle="grid"), "`oracle` must have a method"),
        (lambda: rl.plan(MDP, method="decompose", master="highs"), 'Unknown option master; method "decompose"'),
        (lambda: rl.plan(MDP, method="decompose", foo=1), "Unknown option foo.*max_iterations, time_limit, seed"),
        (lambda: rl.plan(MDP, tol="x"), "`tol`"),
        (lambda: rl.baselines.discretise(DATA, 10), "An rl.Specification"),
        (lambda: rl.baselines.discretise(SPEC, 3, data=MDP, delta=0.1), "`data` must be an rl.Dataset"),
        (lambda: rl.BinaryModel(DATA), "An rl.Specification"),
        (lambda: rl.BinaryModel(SPEC).model(SPEC), "A known model"),
        (lambda: rl.SICMDP.from_specification(MDP.P, None), "An rl.Specification"),
        (lambda: MDP.sample(per_pair="x"), "`per_pair` must be a whole number, at least 1; got 'x'"),
        (lambda: MDP.sample(per_pair=3, seed="a"), "`seed` must be an integer, at least 0, None or a NumPy generator"),
        (lambda: MDP.worst_violation([0, 1], oracle=lsip.oracles.Grid), "the class Grid"),
        (lambda: MDP.worst_violation([0, 1], tol="x"), "`tol` must be positive; got 'x'"),
        (lambda: rl.uniform_policy(0, 0), "`states` must be a whole number, at least 1; got 0"),
        (lambda: rl.uniform_policy(3, 1.5), "`actions` must be a whole number, at least 1; got 1.5"),
        (lambda: rl.theory.samples_two_successors(2, 2, gamma="x", eps=0.1, delta=0.1), "`gamma` must satisfy"),
        (lambda: rl.WorstCost(gym.make("lsip/ShipRoute-v0"), None), "`constraint` must be an rl.SemiInfiniteCost"),
        (lambda: rl.WorstCost(Pull(), limit()), "`env` must be a single Gymnasium environment.*wrappers="),
        (lambda: rl.WorstCost(gym.make("lsip/ShipRoute-v0"), limit(), point=limit()), "`point` must be an rl.Worst"),
        (lambda: rl.WorstPoint(limit(), oracle=lsip.oracles.Grid), "the class Grid"),
        (lambda: envs.sewage(gamma="x"), "`gamma` must be"),
        (lambda: DATA + 3, "`data` must be an rl.Dataset"),
        (lambda: rl.Dataset.from_transitions([(0, 0, 0)], states="x", actions=1), "`states` must be a whole number"),
        (lambda: rl.OptimisticSet("x", 1), "`centre` must be real numbers"),
        (lambda: rl.OptimisticSet(np.eye(2), np.eye(2)), r"must have shape \(S, A, S\); got \(2, 2\)"),
        (lambda: MDP.violations([0, 1], "x"), "`y` must be real numbers"),
        (lambda: rl.SoftmaxTable(0, 2), "`states` must be a whole number, at least 1"),
        (lambda: rl.SICPO(MDP).learn(1, callback=3), "`callback` must be a function of agent, report; got 3"),
        (lambda: rl.SICPO(MDP).learn(1, callback=lambda row: 0), r"callback\(agent, report\); .* takes \(row\)"),
        (lambda: rl.SICPPO(Pull(), limit()).learn(1, callback=3), "`callback` must be a function"),
        (lambda: envs.sewage(seed="a"), "`seed` must be"),
    ],
)
def test_the_wrong_kind_of_thing_is_named(call, message):
    refused(call, message)


def test_what_has_a_policy_stands_for_it():
    best = rl.plan(MDP)
    assert MDP.value(best) == MDP.value(best.policy)
    naive = rl.baselines.discretise(MDP, 3)
    assert MDP.worst_violation(naive).value == MDP.worst_violation(naive.policy).value


# ---- specifications --------------------------------------------------------------------------------------------------


def test_a_specification_takes_lists_and_a_uniform_beginning():
    spec = rl.Specification([[0, 1], [2, 3]], COST, None, 0.5)
    np.testing.assert_array_equal(spec.mu, [0.5, 0.5])
    assert (spec.r.dtype, spec.gamma, spec.states, spec.actions) == (np.float64, 0.5, 2, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0], COST), r"`r` must have one number for every state and action, shape \(S, A\); got \(2,\)"),
        (("r", COST), "`r` must be real numbers"),
        (([[np.nan, 0], [0, 0]], COST), "`r` must be finite"),
        ((np.zeros((2, 0)), COST), "`r` must have one number"),
        ((SPEC.r, None), "`constraint` must be an rl.SemiInfiniteCost"),
        ((SPEC.r, COST, [1.0]), r"`mu` must be a distribution over the 2 states; got shape \(1,\)"),
        ((SPEC.r, COST, [0.5, 0.6]), "`mu` must sum to one"),
        ((SPEC.r, COST, None, 1.5), "`gamma` must be between 0 and 1; got 1.5"),
        ((SPEC.r, COST, None, "x"), "`gamma` must be between 0 and 1; got 'x'"),
        ((SPEC.r, COST, None, 0.5, -1), "`idle` must be a whole number, at least 0; got -1"),
        ((np.zeros((3, 2)), COST), r"`cost` must give one number a state, shape \(3,\)"),
    ],
)
def test_wrong_specifications_are_refused(arguments, message):
    refused(lambda: rl.Specification(*arguments), message)


# ---- constraints of environments -------------------------------------------------------------------------------------


def constraint(cost: Any = None, bound: Any = 1.0) -> rl.SemiInfiniteCost:
    return rl.SemiInfiniteCost(UNIT, cost or (lambda y, o, a: np.ones((len(y), len(o)))), bound)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: constraint(cost=lambda y: y),
            r"called as cost\(y, observations, actions\); the one given takes \(y\)",
        ),
        (lambda: constraint(bound=lambda: 1), r"called as bound\(y\); the one given takes \(\)"),
        (lambda: constraint(bound="x"), "`bound` must be a finite number; got 'x'"),
        (lambda: constraint(bound=lambda y: np.ones((len(y), 1))), r"`bound\(y\)` must give one number a point"),
        (
            lambda: constraint(bound=lambda y: np.full(len(y), np.nan)),
            r"`bound\(y\)` is not finite at y = .* nan there",
        ),
        (
            lambda: constraint(cost=lambda y, o, a: np.full((len(y), len(o)), np.nan)),
            "`cost.*` is not finite at y = .* nan there",
        ),
        (lambda: rl.SemiInfiniteCost.finite([lambda o, a: 0], ["x"]), r"`bounds\[0\]` must be a finite number"),
    ],
)
def test_wrong_constraints_of_environments_are_refused(make, message):
    refused(lambda: rl.SICPPO(Pull(), make(), episodes=8, device="cpu").learn(1), message)
    refused(lambda: rl.WorstPoint(make()).add(np.zeros((3, 2)), np.zeros((3, 1))), message)


# ---- numbers that are none -------------------------------------------------------------------------------------------


class Broken(Pull):
    """A reward, or an observation, that is not a number."""

    def __init__(self, place: int) -> None:
        super().__init__(actions=gym.spaces.Discrete(2))
        self.place = place

    def step(self, actions: Any) -> tuple[Any, ...]:
        results = super().step(actions)
        if self.time == 3:
            results[self.place][2] = np.nan
        return results


@pytest.mark.parametrize(("place", "name"), [(0, "observation"), (1, "reward")])
def test_an_environment_must_give_numbers(place, name):
    made = rl.SICPPO(Broken(place), limit(), episodes=8, device="cpu")
    refused(lambda: made.learn(40), f"The environment gave the {name} .*nan.* at step {3 - place} of an episode")
    assert made.iteration == 0


def test_estimates_must_be_numbers():
    class Lost:
        def evaluate(self, simulator: Any, policy: Any, rng: Any) -> Any:
            found = rl.Exact().evaluate(simulator, policy, rng)
            return type(found)(found.visits, float("nan"))

    refused(lambda: rl.SICPO(MDP, evaluation=Lost()).learn(1), "iteration 0 is no number: nan")


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        ([np.nan, 0], "`observation` must be finite"),
        ([0.0, 1.0, 2.0], r"Observations have shape \(2,\), or \(N, 2\) for many; got \(3,\)"),
        (0.5, r"got \(\)"),
        (np.zeros((2, 2, 2)), r"got \(2, 2, 2\)"),
        ("x", "`observation` must be real numbers"),
    ],
)
def test_predictions_are_for_observations(observation, message):
    refused(lambda: rl.SICPPO(Pull(), limit(), device="cpu").predict(observation), message)


# ---- simulators of one's own -----------------------------------------------------------------------------------------


def simulator(reset: Any = None, step: Any = None, specification: Any = SPEC) -> Any:
    class Mine:
        pass

    mine: Any = Mine()
    mine.specification = specification
    mine.reset = reset or (lambda count, rng: np.zeros(count, dtype=int))
    mine.step = step or (lambda states, actions, rng: np.asarray(actions))
    return mine


@pytest.mark.parametrize("update", [rl.NPG(samples=20, horizon=5), rl.PolicyGradient(paths=20, horizon=5)])
def test_a_simulator_of_ones_own_is_learned_from(update):
    agent = rl.SICPO(simulator(), update=update, evaluation=rl.MonteCarlo(50, 5), device="cpu")
    assert agent.learn(3).iteration == 3


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"reset": lambda count, rng: 0}, r"`reset\(count, rng\)`.* 50 copies, integers from 0 to 1 .*of shape \(\)"),
        ({"reset": lambda count, rng: np.zeros(count)}, "type float64"),
        ({"reset": lambda count, rng: np.full(count, 2)}, "got numbers from 2 to 2"),
        ({"reset": lambda count, rng: None}, "type object"),
        ({"step": lambda states, actions, rng: states - 1}, r"`step\(states, actions, rng\)`.*from -1 to -1"),
        ({"step": lambda states, actions, rng: states[:3]}, r"of shape \(3,\)"),
        ({"step": lambda states, actions, rng: 0.5 * states}, "type float64"),
        ({"reset": lambda count: None}, r"called as reset\(count, rng\); the one given takes \(count\)"),
        ({"step": lambda state, action: 0}, r"called as step\(states, actions, rng\); the one given takes"),
        ({"specification": None}, "An rl.Specification"),
    ],
)
def test_wrong_simulators_are_refused(parts, message):
    refused(lambda: rl.SICPO(simulator(**parts), evaluation=rl.MonteCarlo(50, 5)).learn(1), message)


# ---- files -----------------------------------------------------------------------------------------------------------


def agents() -> list[Any]:
    quick = {"hidden": (8,), "episodes": 8, "device": "cpu"}
    return [rl.SICPO(MDP, update=rl.NPG(20, 5), evaluation=rl.MonteCarlo(50, 5)), rl.SICPPO(Pull(), limit(), **quick)]


@pytest.mark.parametrize("which", [0, 1])
def test_what_cannot_be_written_is_refused_before_anything_is_done(which, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for target, message in (
        (folder, "folder is a directory"),
        (tmp_path / "none" / "c.npz", "no directory .*none"),
        (True, "got True"),
        (7, "got 7"),
    ):
        made = agents()[which]
        refused(lambda m=made, t=target: m.save(t), message)
        refused(lambda m=made, t=target: m.learn(1, checkpoint=t), message)
        assert made.iteration == 0
    assert [p.name for p in tmp_path.rglob("*")] == ["folder"]


@pytest.mark.parametrize("which", [0, 1])
def test_what_cannot_be_read_is_named(which, tmp_path):
    kind, world = (rl.SICPO, (MDP,)) if which == 0 else (rl.SICPPO, (Pull(), limit()))
    text = tmp_path / "notes.txt"
    text.write_text("pickle", encoding="utf-8")
    refused(lambda: kind.load(tmp_path / "gone.npz", *world), r"There is no file .*gone.npz; SICPP?O.save writes one")
    refused(lambda: kind.load(tmp_path, *world), "is a directory")
    refused(lambda: kind.load(3, *world), r"load takes the name of a file; got 3")
    with pytest.raises(
        lsip.ModelError, match=r"notes.txt is not a file written by .*: it is not an .npz file"
    ) as error:
        kind.load(text, *world)
    assert "pickle" not in str(error.value)


def test_a_loaded_run_keeps_its_settings(tmp_path):
    path = tmp_path / "c.npz"
    agents()[0].save(path)
    refused(
        lambda: rl.SICPO.load(path, MDP, eta=0.5), "A loaded run keeps its own eta; `load` takes update, evaluation"
    )


@pytest.mark.parametrize("log", [True, 3])
def test_logs_go_to_folders(log):
    made = agents()[0]
    refused(lambda: made.learn(1, log=log), f"Logs go to a folder.* got {log}")
    assert made.iteration == 0


# ---- what is said unasked --------------------------------------------------------------------------------------------


def never() -> rl.SICPO:
    t = lsip.Index("t", UNIT)
    strict = rl.SICMDP(MDP.P, MDP.r, np.array([0.1, 1.0]) * (1 + t), 0.01, t, None, 0.5)
    return rl.SICPO(strict, update=rl.NPG(20, 5), evaluation=rl.MonteCarlo(50, 5)).learn(3)


def test_a_policy_that_breaks_constraints_comes_with_a_warning():
    made = never()
    with pytest.warns(rl.NoGoodPolicyWarning, match="None of 3 iterates kept every constraint") as seen:
        policy = made.policy
    assert Path(seen[0].filename) == Path(__file__)
    np.testing.assert_array_equal(policy, made.choose("last"))
    with pytest.warns(rl.NoGoodPolicyWarning):
        made.predict([0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made.predict([0, 1], choice="last")
        assert rl.SICPO(MDP, update=rl.NPG(20, 5), eta=10).learn(2).policy.shape == (2, 2)


def test_agents_show_themselves_in_a_line():
    made = never()
    assert repr(made) == "SICPO with 2 states and 2 actions, 3 iterations done, 0 of them good"
    assert repr(rl.baselines.CRPO(MDP, 4)).startswith("CRPO with 2 states and 2 actions, 0 iterations")
    assert repr(agents()[1]) == "SICPPO on Pull, 0 iterations, 0 steps, no feasible policy yet"
    shown = repr(rl.baselines.discretise(MDP, 3))
    assert shown.startswith("Discretised on 3 index points, value ")
    assert "\n" not in shown


# ---- options that play no part ---------------------------------------------------------------------------------------

QUICK: dict[str, Any] = {"hidden": (4,), "device": "cpu"}
UNUSED: dict[str, tuple[Any, str]] = {
    "config of a table": (lambda: rl.EPO(MDP, None, rl.SICPPOConfig()), "`config` cannot be used with a tabular model"),
    "nonsense for it": (lambda: rl.EPO(MDP, None, "nonsense"), "`config` cannot be used with a tabular model"),
    "switch of EPO, table": (lambda: rl.EPO(MDP, switch="set"), "cannot be used with a `rule`"),
    "switch of EPO": (lambda: rl.EPO(Pull(), limit(), switch="set", **QUICK), "`switch` cannot be used with a `rule`"),
    "arrival": (lambda: rl.EPO(Pull(), limit(), only_arrived=True, **QUICK), "`only_arrived` cannot be used"),
    "eta and rule": (lambda: rl.SICPO(MDP, eta=0.5, rule=rl.rules.Exchange()), "`eta` and `switch` cannot be used"),
    "eta beside a rule": (
        lambda: rl.SICPPO(Pull(), limit(), eta=0.5, rule=rl.rules.Exchange(), **QUICK),
        "`eta` cannot be used with a `rule` in place of the switch; leave it out",
    ),
    "two of PPO": (
        lambda: rl.SICPPO(Pull(), limit(), clip=0.5, epochs=3, update=rl.TRPO(), **QUICK),
        "`clip` and `epochs` cannot be used with an `update` of your own; leave them out",
    ),
    "deviation": (
        lambda: rl.SICPPO(Pull(), limit(), log_std=0.5, policy=rl.MLPGaussian(2, 1, (4,)), **QUICK),
        "`log_std` cannot be used with a `policy`",
    ),
    "switch of Lagrangian": (
        lambda: rl.baselines.PPOLagrangian(Pull(), limit(), switch="set", **QUICK),
        "`switch` cannot be used with a `rule`",
    ),
    "pace of nothing": (lambda: rl.SICPPO(Pull(), limit(), **QUICK).learn(10, every=3), "without a `checkpoint`"),
    "published loop": (
        lambda: rl.si_crl(DATA, SPEC, 0.1, iterations=2, method="decompose"),
        "ask for the published loop, which solves LPs",
    ),
    "pace, table": (lambda: rl.SICPO(MDP).learn(10, every=3), "without a `checkpoint`"),
}


@pytest.mark.parametrize("name", UNUSED)
def test_options_that_play_no_part_are_not_swallowed(name):
    refused(*UNUSED[name])


@pytest.mark.parametrize("steps", [1e308, 10**400, 2**60, np.inf, 2.5, "many", True, None, -3])
def test_nobody_counts_that_far(steps):
    refused(lambda: rl.SICPPO(Pull(), limit(), **QUICK).learn(steps), "`total_steps` must be")
    refused(lambda: rl.SICPO(MDP).learn(steps), "`iterations` must be")


def test_a_round_float_is_a_number_of_steps():
    assert rl.SICPPO(Pull(), limit(), episodes=8, **QUICK).learn(4e1).total_steps == 40


def test_what_plays_a_part_later_is_checked_at_once():
    refused(lambda: rl.SICPO(MDP).learn(1, tensorboard=np), "`tensorboard` is True or False")
    refused(lambda: rl.RayRollouts(address=0), "`address` must be text")
    refused(lambda: rl.si_crl(DATA, SPEC, 0.1, iterations=2, method=np), "`method` is one of")
    with pytest.raises(lsip.LSIPError, match="cost"):
        limit().steps(np.zeros((1, 1)), np.zeros((1, 2)), np)


def test_what_every_malformed_argument_of_every_call_found():
    refused(lambda: rl.SICPPOConfig(penalty=0), "`penalty` is one of 'kl'")
    refused(lambda: rl.baselines.discretise(MDP, 3, delta="a"), "`delta` is a probability")
    refused(lambda: rl.baselines.discretise(MDP, 3, delta=0.1), "`delta` cannot be used with a model that is known")
    refused(lambda: rl.baselines.discretise(MDP, range(10**15)), "`points` is a number, or points")
    refused(lambda: rl.plan(MDP, tol=...), "`tol` must be positive")
    refused(lambda: MDP.keeps(rl.plan(MDP).policy, known=int), "known")
