"""Code that a learner was given and that fails: one sentence that says whose it is, and a run that can go on.

Every seam is tried with every learner that has it. Whoever adds one finds it missing here: parameters of learners,
protocols and methods of policies are read from the code.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any, Protocol, get_type_hints

import numpy as np
import pytest

import envs
import lsip
import rl

torch = pytest.importorskip("torch")

from rl.policies import METHODS, Categorical, MLPCategorical, MLPGaussian  # noqa: E402
from rl.rules import Exchange, Lagrangian, Switch  # noqa: E402
from rl.simulator import TabularSimulator  # noqa: E402
from rl.state import pack  # noqa: E402
from rl.updates import Paths  # noqa: E402
from tests.test_si_cppo import STEPS, TWO, Pull, force  # noqa: E402
from tests.test_updates import toy  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::rl.NoGoodPolicyWarning"),
    pytest.mark.filterwarnings("ignore::rl.OracleWarning"),
]
WHOLE, GOAL = 2, 4  # iterations before the failure, and of the run


class Slip(Exception):  # noqa: N818
    """Of somebody's code: nothing that anybody expects."""


class Fuse:
    """Somebody's code works until this is lit."""

    lit = False

    def burn(self) -> None:
        if self.lit:
            raise Slip("out of luck")

    def on(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, until it is lit."""

        def called(*given: Any, **options: Any) -> Any:
            self.burn()
            return function(*given, **options)

        return called


class Fused:
    """A part of a learner, one method of which fails when the fuse is lit."""

    def __init__(self, part: Any, method: str, fuse: Fuse) -> None:
        self.part, self.method, self.fuse = part, method, fuse

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__dict__["part"], name)
        return self.fuse.on(found) if name == self.method else found


def policy(method: str, fuse: Fuse, kind: type[Any], *sizes: Any) -> Any:
    """A network, one method of which fails when the fuse is lit."""
    torch.manual_seed(0)

    def fails(self: Any, *given: Any, **options: Any) -> Any:
        fuse.burn()
        return getattr(kind, method)(self, *given, **options)

    return type("Own", (kind,), {method: fails})(*sizes)


# ---- the learners ----------------------------------------------------------------------------------------------------

SMALL = {"hidden": (8,), "episodes": 8, "epochs": 3, "minibatch": 20, "scale_actions": False, "evaluation_episodes": 8}
BOUND = {"cost": lambda y, o, a: y[:, :1] * force(a), "bound": lambda y: np.full(len(y), 2.5), "candidates": None}


def tables(make: Callable[..., Any]) -> Callable[..., Any]:
    """A learner in a small model, of which parts may be replaced."""

    def made(problem: Any = None, **options: Any) -> Any:
        quick = {"update": rl.NPG(samples=50, horizon=5), "evaluation": rl.MonteCarlo(200, 5), "device": "cpu"}
        return make(toy() if problem is None else problem, **{**quick, **options})

    return made


def worlds(make: Callable[..., Any]) -> Callable[..., Any]:
    """A learner in a small environment, of which parts may be replaced."""

    def made(env: Any = None, constraint: Any = None, **options: Any) -> Any:
        config = {**SMALL, **{name: options.pop(name) for name in rl.SICPPOConfig.__annotations__ if name in options}}
        own = limit() if constraint is None else constraint
        options = {"oracle": lsip.oracles.RandomSearch(points=5), **options}
        return make(Pull() if env is None else env, own, rl.SICPPOConfig(**config), device="cpu", **options)

    return made


def limit(**parts: Any) -> rl.SemiInfiniteCost:
    options = {**BOUND, **parts}
    return rl.SemiInfiniteCost(lsip.Interval(0, 1), options.pop("cost"), options.pop("bound"), **options)


def crpo(env: Any, constraint: Any, config: Any, **options: Any) -> Any:
    return rl.SICPPO(env, constraint, config, **{**options, "oracle": rl.baselines.FixedGrid(4)})


TABLES: dict[str, Any] = {
    "SICPO": (rl.SICPO, tables(rl.SICPO)),
    "EPO of a table": (rl.EPO, tables(rl.EPO)),
    "CRPO": (rl.baselines.CRPO, tables(rl.baselines.CRPO)),
}
WORLDS: dict[str, Any] = {
    "SICPPO": (rl.SICPPO, worlds(rl.SICPPO)),
    "EPO": (rl.EPO, worlds(rl.EPO)),
    "CRPO of an environment": (rl.SICPPO, worlds(crpo)),
    "PPOLagrangian": (rl.baselines.PPOLagrangian, worlds(rl.baselines.PPOLagrangian)),
}
LEARNERS = TABLES | WORLDS


def learn(agent: Any, **options: Any) -> Any:
    """As far as the goal."""
    if isinstance(agent, rl.SICPPO):
        return agent.learn(GOAL * STEPS, evaluate_every=2, **options)
    return agent.learn(GOAL - agent.iteration, **options)


# ---- the seams -------------------------------------------------------------------------------------------------------

# Each is a function of a fuse that gives options of a learner, and how the message begins. A name is that of the
# parameter, and of a method or a field where there are several.
SEARCH = lsip.oracles.RandomSearch(points=5)
BOTH: dict[str, tuple[Callable[[Fuse], dict[str, Any]], str]] = {
    "oracle": (lambda f: {"oracle": Fused(SEARCH, "maximise", f)}, "The oracle Fused failed"),
    "fallback": (
        lambda f: {"oracle": Fused(SEARCH, "maximise", f), "fallback": Fused(SEARCH, "maximise", f)},
        "The oracle Fused failed",
    ),
    "rule": (lambda f: {"rule": Fused(Switch(), "choose", f)}, "The rule Fused failed"),
    "learning_rate": (
        lambda f: {"learning_rate": f.on(lambda share: 0.01 * (1 - share))},
        r"The schedule `learning_rate\(0\.5\)` failed",
    ),
}
IN_TABLES: dict[str, tuple[Callable[[Fuse], dict[str, Any]], str]] = {
    **BOTH,
    "update": (lambda f: {"update": Fused(rl.PolicyGradient(20, 5), "step", f)}, "The update Fused failed"),
    "update: sampling": (
        lambda f: {"update": Drawing(Fused(Paths(20, 5), "draw", f))},
        "The sampling Fused of the update failed",
    ),
    "evaluation": (
        lambda f: {"evaluation": Fused(rl.MonteCarlo(200, 5), "evaluate", f)},
        "The evaluation Fused failed",
    ),
    "problem: reset": (lambda f: {"problem": Simulated("reset", f)}, r"`reset\(count, rng\)` of the simulator failed"),
    "problem: step": (
        lambda f: {"problem": Simulated("step", f)},
        r"`step\(states, actions, rng\)` of the simulator failed",
    ),
    **{
        f"problem: {name}": (lambda f, name=name: {"problem": written(name, f)}, rf"`{name}\(y\)` failed")
        for name in ("cost", "bound")
    },
    **{
        f"policy: {name}": (
            lambda f, name=name: {
                "policy": policy(name, f, MLPCategorical, 2, 2, (4,)),
                "update": rl.PPO(paths=20, horizon=5, clip=None, penalty="kl", divergence=0.1, entropy=0.01),
            },
            f"`{name}` of the policy Own failed",
        )
        for name in sorted(METHODS - {"sample"})  # tables of probabilities are drawn from
    },
}
IN_WORLDS: dict[str, tuple[Callable[[Fuse], dict[str, Any]], str]] = {
    **BOTH,
    "update": (lambda f: {"update": Fused(rl.PolicyGradient(), "step", f)}, "The update Fused failed"),
    "entropy": (lambda f: {"entropy": f.on(lambda share: 0.01)}, r"The schedule `entropy\(0\.5\)` failed"),
    "env: reset": (lambda f: {"env": Fragile("reset", f)}, "`reset` of the environment failed"),
    "env: step": (lambda f: {"env": Fragile("step", f)}, "`step` of the environment failed"),
    **{
        f"constraint: {name}": (
            lambda f, name=name: {"constraint": limit(**{name: f.on(BOUND[name] or (lambda o: np.ones((1, 1))))})},
            rf"`{name}\(.*\)` failed",
        )
        for name in BOUND
    },
    **{
        f"constraint: {name} of tensors": (
            lambda f, name=name: {
                "constraint": tensors(name, f),
                "oracle": rl.BatchedSearch(points=4, starts=2, iterations=2),
            },
            rf"`{name}\(.*\)` failed",
        )
        for name in ("cost", "bound")
    },
    **{
        f"policy: {name}": (
            lambda f, name=name: {
                "policy": policy(name, f, MLPGaussian, 2, 1, (4,)),
                "update": rl.PPO(clip=None, penalty="kl", divergence=0.1),
            },
            f"`{name}` of the policy Own failed",
        )
        for name in sorted(METHODS - {"log_probs", "logits"})
    },
    **{
        f"policy: {name}": (
            lambda f, name=name: {
                "env": Pull(actions=TWO),
                "policy": policy(name, f, MLPCategorical, 2, 2, (4,)),
            },
            f"`{name}` of the policy Own failed",
        )
        for name in ("log_probs", "logits")
    },
}


class Drawing:
    """An update with its own way of drawing."""

    def __init__(self, sampling: Any) -> None:
        self.sampling, self.step = sampling, rl.PolicyGradient(20, 5).step


class Simulated:
    """A simulator of somebody's own."""

    def __init__(self, method: str, fuse: Fuse) -> None:
        inner = TabularSimulator(toy())
        self.specification, self.reset, self.step = toy().specification, inner.reset, inner.step
        setattr(self, method, fuse.on(getattr(self, method)))


class Fragile(Pull):
    """An environment, one method of which fails when the fuse is lit."""

    def __init__(self, method: str, fuse: Fuse) -> None:
        super().__init__()
        setattr(self, method, fuse.on(getattr(self, method)))


def written(part: str, fuse: Fuse) -> rl.SICMDP:
    """A model whose cost and bound are functions, of numbers alone: others are asked once, when they are traced."""
    parts: dict[str, Any] = {
        "cost": lambda y: np.array([0.1, 1.0]) * (1 - (np.asarray(y, dtype=float) - 0.3) ** 2),
        "bound": lambda y: 1.0 + 0.1 * np.asarray(y, dtype=float)[:, 0],
    }
    parts[part] = fuse.on(parts[part])
    mdp = toy()
    return rl.SICMDP(mdp.P, mdp.r, parts["cost"], parts["bound"], lsip.Interval(0, 1), mdp.mu, mdp.gamma)


def tensors(part: str, fuse: Fuse) -> rl.SemiInfiniteCost:
    """A constraint in torch's functions."""
    parts: dict[str, Any] = {
        "cost": lambda y, o, a: y[:, :1] * a.reshape(len(a), -1)[:, 0],
        "bound": lambda y: torch.full((len(y),), 2.5, dtype=y.dtype),
    }
    parts[part] = fuse.on(parts[part])
    return rl.SemiInfiniteCost(lsip.Interval(0, 1), parts["cost"], parts["bound"], tensors=True)


def cells() -> list[Any]:
    """All seams with all learners that have them."""
    found = []
    for kinds, seams in ((TABLES, IN_TABLES), (WORLDS, IN_WORLDS)):
        for name in kinds:
            own = {"rule"} if name in ("EPO", "EPO of a table", "PPOLagrangian") else set()
            own |= {"oracle", "fallback"} if name == "CRPO of an environment" else set()
            found += [pytest.param(name, seam, seams[seam], id=f"{name}, {seam}") for seam in seams if seam not in own]
    return found


@pytest.mark.parametrize(("name", "seam", "given"), cells())
def test_code_that_fails_is_named_and_its_iteration_undone(name, seam, given, tmp_path):
    options, said = given
    fuse, path = Fuse(), tmp_path / "run.npz"
    agent = LEARNERS[name][1](**options(fuse))
    states: list[Any] = []

    def light(agent: Any, report: Any) -> None:
        fuse.lit = report.iteration == WHOLE - 1
        states.append(copy.deepcopy(pack(agent.state)))

    with pytest.raises(rl.GivenCodeError, match=f"^{said}.*Slip: out of luck") as failure:
        learn(agent, callback=light, checkpoint=path)
    check(agent, failure.value, path, f"This was in iteration {WHOLE};", states[-1])
    fuse.lit = False
    again, whole = learn(agent), learn(LEARNERS[name][1](**options(fuse)))
    same(pack(again.state), pack(whole.state))


@pytest.mark.parametrize("name", LEARNERS)
def test_a_callback_that_fails_ends_a_run_after_its_iteration(name, tmp_path):
    agent, path = LEARNERS[name][1](), tmp_path / "run.npz"
    states: list[Any] = []

    def fails(agent: Any, report: Any) -> None:
        states.append(copy.deepcopy(pack(agent.state)))
        if report.iteration == WHOLE - 1:
            raise Slip("out of luck")

    with pytest.raises(rl.GivenCodeError, match=r"^The callback failed with Slip: out of luck") as failure:
        learn(agent, callback=fails, checkpoint=path)
    check(agent, failure.value, path, f"This was after iteration {WHOLE - 1};", states[-1])


def check(agent: Any, error: BaseException, path: Any, place: str, state: Any) -> None:
    """One error with its cause, the run as it was, and its file."""
    assert isinstance(error.__cause__, Slip)
    kept = f"the agent is as it was after {WHOLE} whole iterations, and so is the file {path}, and can go on."
    assert str(error).endswith(f"{place} {kept}")
    assert agent.iteration == WHOLE
    same(pack(agent.state), state)
    assert path.exists()


def same(one: Any, other: Any) -> None:
    """Two packed states, but for the clock."""
    assert one[0] == other[0]
    assert one[1].keys() == other[1].keys()
    for name in one[1]:
        if "second" not in name:
            np.testing.assert_array_equal(one[1][name], other[1][name], name)


# ---- nothing is forgotten --------------------------------------------------------------------------------------------

DATA = {  # parameters without code of anybody's
    *("self", "config", "eta", "switch", "seed", "device", "features", "points", "multiplier", "multiplier_rate"),
    *("rate", "merge", "gain", "saturation", "tensorboard", "workers", "iterations", "total_steps", "log", "verbose"),
    *("checkpoint", "every", "evaluate_every", "feasible", "target"),
}


def parameters(kind: Any) -> set[str]:
    """Of a learner and of its `learn`, options by name included."""
    found: set[str] = set()
    learns = [kind.learn] if isinstance(kind, type) else []
    for function in (kind, *learns):
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
                found.add(name)
    if kind in (rl.SICPO, rl.baselines.CRPO):
        found |= rl.si_cpo.SICPOOptions.__annotations__.keys()
    return found


def test_every_parameter_of_a_learner_is_tried_or_has_no_code():
    tried = {seam.partition(":")[0] for seam in (*IN_TABLES, *IN_WORLDS)} | {"callback", "evaluation_env"}
    for kind, _ in LEARNERS.values():
        assert parameters(kind) <= tried | DATA, f"{kind.__name__}: add a seam, or say that it is plain data"
    plain = {int, float, bool, str}
    for name, hint in get_type_hints(rl.SICPPOConfig).items():
        text = str(hint)
        assert hint in plain or "Callable" not in text or name in tried, f"the setting {name} may be code"


def test_every_protocol_of_learning_is_tried():
    named = {"Update": "update", "Sampling": "update: sampling", "Evaluator": "evaluation", "Rule": "rule"}
    named |= {"Simulator": "problem: step", "TensorEnv": "env: step"}
    inner = {"World", "Method", "Actor", "Solved", "HasPolicy"}  # nobody else implements these
    for module in pkgutil.walk_packages(rl.__path__, "rl."):
        try:
            found = vars(importlib.import_module(module.name))
        except ImportError:  # of a package that is not installed
            continue
        for name, each in found.items():
            if inspect.isclass(each) and Protocol in each.__bases__ and each.__module__.startswith("rl."):
                assert name in inner or named.get(name) in {**IN_TABLES, **IN_WORLDS}, (
                    f"{name} is a seam that nobody tries"
                )


def test_every_method_of_a_policy_says_whose_it_is():
    for kind in (rl.policies.Policy, Categorical):
        public = {name for name, part in vars(kind).items() if inspect.isfunction(part) and not name.startswith("_")}
        assert public - {"forward"} <= METHODS


@pytest.mark.parametrize(
    ("part", "given", "said"),
    [
        ("rule", Fused(Switch(), "choose", Fuse()), None),
        ("rule", type("No", (), {"eta": 0.0, "choose": lambda *a: None})(), "`choose` of a rule gives an rl.rules.Cho"),
        ("update", type("No", (), {"step": lambda *a: 3})(), "`step` of an update gives numbers by name"),
        ("update", type("No", (), {"step": lambda *a: {"loss": 1.0}})(), "`step` of an update gives numbers by name"),
        ("evaluation", type("No", (), {"evaluate": lambda *a: 3})(), "The evaluation No failed with AttributeError"),
        ("oracle", type("No", (), {"maximise": lambda *a, **o: 3})(), "must give an lsip.oracles.Separation"),
    ],
)
def test_answers_of_the_wrong_kind_are_refused(part, given, said):
    for make in (LEARNERS["SICPO"][1], LEARNERS["SICPPO"][1])[: 1 if part == "evaluation" else 2]:
        if said is None:
            assert learn(make(**{part: given})).iteration == GOAL
            continue
        with pytest.raises(lsip.ModelError, match=said):
            learn(make(**{part: given}))


def test_environments_of_older_interfaces_are_refused():
    old = Pull()
    old.step = lambda actions: (old.look(), np.zeros(8), np.ones(8, dtype=bool), {})  # type: ignore[method-assign]
    with pytest.raises(rl.GivenCodeError, match="`step` of the environment failed with ValueError: not enough values"):
        learn(LEARNERS["SICPPO"][1](env=old))


def test_a_policy_with_answers_of_another_shape_is_refused():
    wide = type("Wide", (MLPGaussian,), {"log_prob": lambda self, o, a: MLPGaussian.log_prob(self, o, a)[:, None]})
    with pytest.raises(lsip.ModelError, match=r"`log_prob` of the policy must give one number a step, shape \(40,\)"):
        learn(LEARNERS["SICPPO"][1](policy=wide(2, 1, (4,))))


def test_rules_of_the_house_are_rules():
    """What the table of learners takes for granted."""
    for name, kind in (("SICPPO", Switch), ("EPO", Exchange), ("PPOLagrangian", Lagrangian)):
        assert isinstance(LEARNERS[name][1]().rule, kind)


@pytest.mark.parametrize("method", ["reset", "step"])
def test_a_tensor_environment_that_fails_is_named(method):
    fuse = Fuse()
    ships = envs.tensors.ShipRouteTensors(4, device="cpu")
    setattr(ships, method, fuse.on(getattr(ships, method)))
    agent = rl.SICPPO(ships, envs.ship.constraint(), seed=0, hidden=(4,), episodes=4, epochs=1)

    def light(agent: Any, report: Any) -> None:
        fuse.lit = True

    with pytest.raises(rl.GivenCodeError, match=f"^`{method}` of the environment failed.*Slip: out of luck"):
        agent.learn(total_steps=10_000, callback=light)
    assert agent.iteration == 1


def test_an_evaluation_environment_that_fails_is_named():
    fuse = Fuse()
    agent = rl.SICPPO(
        Pull(), tensors("cost", Fuse()), evaluation_env=Fragile("step", fuse), seed=0, hidden=(4,), episodes=4, epochs=1
    )
    fuse.lit = True
    with pytest.raises(rl.GivenCodeError, match=r"^`step` of the environment failed.*Slip: out of luck"):
        agent.learn(total_steps=10_000, evaluate_every=1)
