"""The fuzzer reaches everything public; nonsense from hooks is explained; what must be refused is refused."""

from __future__ import annotations

import random
from typing import Any

import pytest

import lsip

pytest.importorskip("torch")
pytest.importorskip("gymnasium")
pytest.importorskip("cvxpy")
pytest.importorskip("pyomo")
from benchmarks import fuzz
from benchmarks.harness.fuzz import hooks, refused, surface

pytestmark = pytest.mark.filterwarnings("ignore")


def test_everything_public_is_reached() -> None:
    assert surface.unreached() == {}


def test_every_room_and_both_doors_are_looked_through() -> None:
    found = {module.__name__ for module in surface.modules()}
    assert found >= {
        *("lsip", "lsip.ambiguity", "lsip.bases", "lsip.catalogue", "lsip.domains", "lsip.integrals", "lsip.masters"),
        *("lsip.oracles", "lsip.interop.cvxpy", "lsip.interop.pyomo", "rl", "rl.baselines", "rl.plotting", "rl.rules"),
        *("rl.theory", "envs", "envs.classic", "envs.paper", "envs.ship", "envs.spraying"),
    }


def test_a_new_public_name_is_found_without_being_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    def brand_new(domain: lsip.Domain, points: int, unheard_of: complex) -> None: ...

    brand_new.__module__ = "lsip.bases"
    monkeypatch.setattr(lsip.bases, "brand_new", brand_new, raising=False)
    monkeypatch.setattr(lsip.bases, "__all__", [*getattr(lsip.bases, "__all__", ()), "brand_new"], raising=False)
    for cached in (surface.targets, surface.surface):
        cached.cache_clear()
    try:
        assert "lsip.bases.brand_new" in surface.targets()
        with pytest.raises(LookupError, match="unheard_of"):
            surface.surface()["lsip.bases.brand_new"]()
    finally:
        monkeypatch.undo()
        for cached in (surface.targets, surface.surface):
            cached.cache_clear()


@pytest.mark.parametrize("label", sorted(refused.REFUSALS))
def test_what_must_be_refused_is_refused(label: str) -> None:
    with pytest.raises((lsip.LSIPError, TypeError)) as raised:
        refused.REFUSALS[label]()
    assert isinstance(raised.value, lsip.LSIPError) or "unexpected keyword" in str(raised.value)


@pytest.mark.parametrize("hook", sorted(hooks.HOOKS))
def test_nonsense_from_a_function_of_the_user_is_explained(hook: str) -> None:
    wrong = []
    for kind in hooks.NONSENSE:
        lie = hooks.Lie(kind)
        try:
            if hooks.silent(hook, lie, hooks.HOOKS[hook](lie, random.Random(len(kind)))):
                wrong.append((kind, "silent"))
        except lsip.LSIPError:
            continue
        except Exception as error:
            if not fuzz.theirs(error):
                wrong.append((kind, repr(error)))
    assert wrong == []


def test_there_are_twenty_kinds_of_nonsense() -> None:
    assert len(hooks.NONSENSE) >= 20


@pytest.mark.parametrize(
    ("function", "parameter", "kind"),
    [
        (lsip.Index, "name", "0"),
        (lsip.Problem, "name", "an object"),
        (lsip.Variable, "integer", "text"),
        (lsip.scenario_count, "variables", "text"),
    ],
)
def test_annotations_say_which_arguments_can_mean_nothing(function: Any, parameter: str, kind: str) -> None:
    assert refused.refused(function, parameter, kind)
    assert not refused.refused(function, parameter, "None")


def test_a_point_outside_of_the_index_set_is_no_cut() -> None:
    class Outside:
        def maximise(self, violation: Any, *, target: float = 0.0, seed: int = 0) -> lsip.oracles.Separation:
            import numpy as np

            return lsip.oracles.Separation(np.full((1, violation.domain.dim), 7.0), np.ones(1), 1.0)

    with pytest.raises(lsip.ModelError, match="must be in the index set"):
        surface.own.problem().solve(oracle=Outside(), verbose=False)
