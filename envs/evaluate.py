"""`lsip evaluate`: how good a trained agent is."""

from __future__ import annotations

import argparse
import json
import warnings
from typing import Any

import numpy as np

import lsip
import rl

from . import tasks

GRID = 40_401  # points of Y at which a policy is judged: 201 x 201 in two dimensions


def evaluate(options: argparse.Namespace) -> int:
    """Judge a trained agent."""
    task = tasks.find(options.task)
    agent = tasks.loaded(options.agent, task, min(options.episodes, task.copies), options.device)
    figures = judged(agent, options.episodes, options.seed, deterministic=not options.stochastic)
    if options.json:
        print(json.dumps({"agent": str(options.agent), "task": options.task, **figures}, indent=2))
    else:
        print("\n".join(lines(task, figures)))
    return 0


def judged(agent: rl.SICPPO, episodes: int, seed: int = 0, *, deterministic: bool = True) -> dict[str, Any]:
    """How the agent plays, in numbers that JSON can hold."""
    from rl.episode_violation import EpisodeViolation

    with warnings.catch_warnings():  # which policy it is, is said below
        warnings.simplefilter("ignore", rl.NoGoodPolicyWarning)
        played = agent.episodes(episodes, seed, deterministic=deterministic)
    violation, domain = EpisodeViolation(agent.constraint, played), agent.constraint.domain
    places = domain.grid(lsip.oracles.Grid(GRID).per_axis(domain.dim))
    if agent.constraint.candidates is not None:
        named = domain.project(np.asarray(agent.constraint.candidates(violation.observations), dtype=float))
        places = np.concatenate([places, named])
    values = violation.values(places)[:, 0]
    k, returns = int(np.argmax(values)), played.returns(agent.config.gamma)
    return {
        "policy": "last" if agent.best is None else "best feasible",
        "training_steps": agent.total_steps,
        "episodes": played.count,
        "return": float(returns.mean()),
        "return_std": float(returns.std()),
        "undiscounted": float(played.returns().mean()),
        "steps": played.steps / played.count,
        "arrived": float(played.terminated.mean()),
        "violation": float(values[k]),
        "y": places[k].tolist(),
        "index_points": len(places),
    }


def lines(task: tasks.Task, figures: dict[str, Any]) -> list[str]:
    """The same for people."""
    policy = (
        "last policy (training has found no feasible one)" if figures["policy"] == "last" else "best feasible policy"
    )
    spread = f" ± {figures['return_std']:.4f}" if figures["return_std"] > 5e-5 else ""
    y = ", ".join(f"{c:.3f}" for c in figures["y"])
    return [
        f"{task.title}, {figures['training_steps']:,} steps of training, {policy}",
        f"  return     {figures['return']:.4f}{spread}",
        f"  violation  {figures['violation']:+.4f} at y = ({y}), the largest at {figures['index_points']:,} places",
        f"  arrived    {figures['arrived']:.0%} of {figures['episodes']} episodes, {figures['steps']:.1f} steps each",
    ]
