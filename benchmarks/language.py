"""Models of other tools, as their sources read: how many of them the language takes, and solves.

`published` has them in forms that suit the solver; many of these were rewritten, when the language had no rules, sets
without ends, regions, norms or integrals. Here such models are written again as they read, and solved. A model is
`solved` if it agrees with what was published and is certified; of models with integers the tree is the word of another
solver, so there it is enough that the point is proven to be feasible and that the bounds meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .harness.figures import ratio, table
from .harness.models import BY_HAND, MODELS, READ
from .harness.registry import Figures, Options, benchmark
from .published import compared, measured

SHARE = 0.1  # of all models are to be written by hand at most
SAME = 1e-6  # relative, between the bounds of a model with integers


def measure(name: str, limit: float) -> Iterator[dict[str, Any]]:
    """Build and solve one model as it reads, and compare."""
    return compared(READ[name], limit)


def solved(found: Figures) -> bool:
    """Whether a model is as its source says, with proof."""
    lower, upper = float(found.get("lower", "nan")), float(found.get("upper", "nan"))
    whole = found.get("status") == "UNCERTIFIED" and abs(upper - lower) <= SAME * abs(upper)
    return found.get("right") is not False and bool(found.get("certified") or whole)


def summarise(models: list[Figures]) -> Figures:
    """Counts over all published models, of which those that were measured here are a part."""
    return {
        "models": len(MODELS),
        "direct_in_published": len(MODELS) - len(READ) - len(BY_HAND),
        "rewritten_there": len(models),
        "solved": sum(m["solved"] for m in models),
        "not_solved": [m["name"] for m in models if not m["solved"]],
        "by_hand": dict(BY_HAND),
        "by_hand_share": ratio(float(len(BY_HAND)), float(len(MODELS))),
    }


def goals(summary: Figures) -> list[Figures]:
    """Nearly everything can be written, and what is written is solved."""
    share, missed = summary["by_hand_share"], len(summary["not_solved"])
    return [
        {"goal": "share written by hand, below", "figure": share, "target": SHARE, "met": share < SHARE},
        {"goal": "written and not solved", "figure": missed, "target": 0, "met": missed == 0},
    ]


def show(figures: Figures) -> str:
    """The models that were written again, those that are still written by hand, and the goals."""
    columns = {"name": "model", "claim": "published", "value": "value", "status": "status", "solved": "solved"}
    hand = [{"name": name, "lacks": lacks} for name, lacks in figures["summary"]["by_hand"].items()]
    return "\n\n".join(
        [
            table(figures["models"], columns | {"seconds": "seconds"}),
            table(hand, {"name": "by hand", "lacks": "what is missing"}),
            table(figures["goals"], {"goal": "goal", "figure": "figure", "target": "target", "met": "met"}),
        ]
    )


@benchmark("language", "models of other tools, as their sources read: which can be written, and are solved", show)
def run(options: Options) -> Figures:
    return measured(options, READ, measure, summarise, goals, lambda found: found | {"solved": solved(found)})
