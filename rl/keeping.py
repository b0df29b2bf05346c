"""Which policies are kept: what fresh episodes show of them, as many as the noise that is seen asks for.

A policy is kept if the largest upper confidence bound over Y (`rl.upper_violation`) is feasible. With few episodes that
takes much room below the bounds, which costs return. So a trial goes on with twice the episodes as long as these may
decide it: the bound comes down with the square root of their number. Trials take no more steps than learning has taken
so far, but for their first look. The chance to be wrong is divided among all looks that a trial may take.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import lsip

from .episodic import EpisodicWorld
from .learner import Evaluation
from .policies import flat_parameters, set_flat_parameters
from .rollouts import Episodes, joined
from .separation import RankedPoints, separate
from .several import violation_of
from .state import KeptPolicy, Report, State
from .upper_violation import Margin, Moments, UpperViolation, alike

CLIMBING = lsip.oracles.Multistart()  # the default, and what looks besides at policies that are to be kept


@dataclass(frozen=True, eq=False)
class Judge:
    """Plays policies with fresh seeds, and looks for their worst violation over Y (found, not proven)."""

    world: EpisodicWorld
    oracle: lsip.oracles.Oracle
    fallback: lsip.oracles.Oracle | None
    eta: float

    # ---- what episodes show -----------------------------------------------------------------------------------------

    def report(
        self, state: State, episodes: Episodes, seed: int, sure: float | None, *oracles: lsip.oracles.Oracle
    ) -> Report:
        """What episodes show; `sure` is the confidence of the margin, and None is for no margin."""
        evaluation = self.world.evaluation_of(episodes, state)
        place = int(np.random.default_rng(seed).integers(2**31))
        worst = self._worst(evaluation.violation, evaluation, place, oracles)
        margin = 0.0 if sure is None else self._bound(evaluation, worst, 1 - sure, place, oracles) - worst.value
        return Report(
            state.iteration,
            state.steps,
            evaluation.reward,
            worst.value,
            worst.y,
            worst.value <= self.eta,
            evaluation.arrived,
            0.0,
            evaluation.undiscounted,
            margin,
        )

    def _worst(
        self,
        violation: lsip.oracles.Violation,
        evaluation: Evaluation,
        place: int,
        oracles: tuple[lsip.oracles.Oracle, ...],
    ) -> RankedPoints:
        """The best answer of several oracles."""
        options: dict[str, Any] = {"fallback": self.fallback, "candidates": evaluation.candidates}
        answers = [separate(violation, oracle, 0.0, place, **options) for oracle in oracles]
        return max(answers, key=lambda each: each.value)

    def _bound(
        self,
        evaluation: Evaluation,
        worst: RankedPoints,
        chance: float,
        place: int,
        oracles: tuple[lsip.oracles.Oracle, ...],
    ) -> float:
        """The largest upper confidence bound over Y."""
        episodes = evaluation.data.episodes
        if episodes.count < 2:
            return np.inf
        if alike(episodes):
            return worst.value
        shown: Any = evaluation.violation
        options: dict[str, Any] = {"chance": chance, "tail": shown.tail}
        upper = violation_of(self.world.constraint, shown.episodes, self.world.device, UpperViolation, **options)
        found = self._worst(upper, evaluation, place, oracles)
        return max(found.value, float(upper.values(worst.points).max()))

    def _play(self, state: State, count: int, seed: int, kept: KeptPolicy | None = None) -> Episodes:
        return self.world.fresh(self.world.player(state, kept), count, seed, deterministic=True)

    # ---- what is kept -----------------------------------------------------------------------------------------------

    def judge(self, state: State, seed: int, feasible: float) -> tuple[Report, bool]:
        """What fresh episodes show of the policy, and whether it is feasible and returns more than the best so far.

        One that looks feasible and better in a few episodes is tried. Of many that are tried, those pass that were
        lucky, in return and in violation; so what is said of one that is kept is from episodes that chose nothing. And
        so many are tried that some would pass by luck: the j-th may do so with the share 1 / (j (j + 1)) of what the
        config allows, and all of them together with all of it.
        """
        c = self.world.config
        seeds = [int(s) for s in np.random.default_rng([seed, state.iteration, 1]).integers(2**30, size=3)]
        chance = (1 - c.confidence) / ((state.confirmed + 1) * (state.confirmed + 2))
        played = self._play(state, c.evaluation_episodes, seeds[0])
        report = self.report(state, played, seeds[0], None, self.oracle)
        most = max(c.evaluation_episodes * c.confirmation, state.steps * played.count // (2 * played.env_steps))
        state.trial = 0.0 if alike(played) else chance
        state.most = most
        if not (report.violation <= feasible and report.reward > self._best_return(state, played.count, seeds[0])):
            return report, False
        state.confirmed += 1
        report, count = self._tried(state, seeds[1], chance, most, feasible)
        if not (count and report.reward > self._best_return(state, count, seeds[1])):
            return report, False
        played = self._play(state, count, seeds[2])
        state.judged += played.env_steps
        return self.report(state, played, seeds[2], 1 - chance, *self._thorough), True

    def _tried(self, state: State, seed: int, chance: float, most: int, feasible: float) -> tuple[Report, int]:
        """What a trial has shown, and how many episodes were enough to show that it is feasible; 0 if it is not."""
        count = self.world.config.evaluation_episodes * self.world.config.confirmation
        looks = 1 + max(math.ceil(math.log2(most / count)), 0)
        played = self._play(state, count, seed)
        while True:
            report = self.report(state, played, seed, 1 - chance / looks, *self._thorough)
            if report.violation + report.margin <= feasible:
                state.judged += played.env_steps
                return report, played.count
            more = min(played.count, most - played.count)
            soon = report.violation + report.margin * math.sqrt(played.count / max(most, 1))
            cost = played.env_steps * (played.count + more) // played.count
            if more <= 0 or soon > feasible or state.judged + cost > state.steps:
                state.judged += played.env_steps
                return report, 0
            played = joined([played, self._play(state, more, seed + played.count)])

    @property
    def _thorough(self) -> tuple[lsip.oracles.Oracle, ...]:
        """An oracle that is asked in every iteration is a quick one, and the best policies those that it just misses.

        So a second one climbs from many points, too.
        """
        enough = getattr(self.oracle, "candidates", True) is False or self.oracle is CLIMBING
        return (self.oracle,) if enough else (self.oracle, CLIMBING)

    def _best_return(self, state: State, episodes: int, seed: int) -> float:
        """What the best policy so far returns in these episodes: what it returned when it was kept was luck in part."""
        if state.best is None:
            return -np.inf
        now = flat_parameters(state.policy)
        set_flat_parameters(state.policy, state.best.parameters)
        try:
            return float(self._play(state, episodes, seed, state.best).returns(self.world.config.gamma).mean())
        finally:
            set_flat_parameters(state.policy, now)

    # ---- what a trial will ask --------------------------------------------------------------------------------------

    def aimed(self, worst: RankedPoints, evaluation: Evaluation, state: State) -> RankedPoints:
        """The points that were found, with what chance does to them and the room that a trial would take there."""
        numbers = state.history[-1].numbers if state.history else {}
        units = (numbers.get("return_deviation", 1.0), numbers.get("cost_deviation", 1.0))
        moments, count = Moments(evaluation.data.violation), evaluation.data.episodes.count
        if count < 2:
            return replace(worst, units=units)
        one = Margin(1 / math.sqrt(count), 0.0)
        trial = Margin.of(state.trial, state.most) if state.trial and state.most > 1 else None
        return replace(
            worst,
            moments=moments,
            room=None if trial is None else partial(moments.margin, factors=trial),
            error=partial(moments.margin, factors=one),
            units=units,
        )
