"""What an experiment is: a figure or table of the paper that can be computed again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsip.files import whole_file
from rl import plotting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Progress = Callable[[int, int], None]  # how many of how many steps are done
RunFunction = Callable[[Path, bool, int | None, Progress], "Outcome"]


@dataclass(frozen=True)
class Outcome:
    """Files written, the picture first, and what a person wants to know at once."""

    paths: tuple[Path, ...]
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """A figure or table.

    `run(out, full, seeds, progress)` writes `name`.png and `name`.json to the folder `out`: with the paper's number of
    seeds if `full`, fewer otherwise, or as many as `seeds` says.
    """

    name: str
    label: str  # in the paper's source
    title: str  # what it shows
    run: RunFunction


def written(out: Path, name: str, picture: Figure, numbers: dict[str, Any], lines: list[str]) -> Outcome:
    """A figure and its numbers, on disk under the name of the experiment."""
    paths = (plotting.save(picture, out / f"{name}.png"), write_numbers(out / f"{name}.json", numbers))
    return Outcome(paths, tuple(lines))


def write_numbers(path: Path, numbers: dict[str, Any]) -> Path:
    """The numbers of a figure as JSON."""
    with whole_file(path, "numbers.json") as part:
        part.write_text(json.dumps(numbers, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return path
