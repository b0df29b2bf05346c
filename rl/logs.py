"""What a run leaves behind while it learns: a CSV file, TensorBoard events, a line of progress."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import lsip

Row = dict[str, float | int | bool]
Folder = str | PathLike[str] | None


def check_folder(folder: Folder) -> Folder:
    """The name of a folder for logs, or None for none."""
    if folder is not None and not isinstance(folder, str | PathLike):
        raise lsip.ModelError(f"Logs go to a folder, given by its name, such as 'runs/first'; got {folder!r}.")
    return folder


class Log:
    """Writes every row to the places that were asked for; what a resumed run will write again is dropped first."""

    def __init__(self, folder: Folder, *, first: int = 0, tensorboard: bool = True) -> None:
        self._stream: Any = None
        self._writer: Any = None
        self._board: Any = None
        check_folder(folder)
        if folder is None:
            return
        path = Path(folder)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise lsip.ModelError(f"The folder {path} for logs cannot be made: {error.strerror}.") from error
        self._path = path / "progress.csv"
        self._kept = _rows_before(self._path, first)
        if tensorboard:
            self._board = _open_board(path, first)

    def write(self, row: Row) -> None:
        """One iteration."""
        if self._stream is None and hasattr(self, "_path"):
            self._stream = self._path.open("w", newline="", encoding="utf-8")
            self._writer = csv.DictWriter(self._stream, fieldnames=list(row), extrasaction="ignore")
            self._writer.writeheader()
            self._writer.writerows(self._kept)
            self._stream.flush()  # what an earlier run wrote is back on disk at once
        if self._writer is not None:
            self._writer.writerow(row)
        if self._board is not None:
            for name, value in row.items():
                if name != "iteration":
                    self._board.add_scalar(name, float(value), int(row["iteration"]))

    def flush(self) -> None:
        """Put on disk what has been written."""
        for part in (self._stream, self._board):
            if part is not None:
                part.flush()

    def close(self) -> None:
        """Finish the files."""
        for part in (self._stream, self._board):
            if part is not None:
                part.close()
        self._stream = self._writer = self._board = None


def _rows_before(path: Path, first: int) -> list[dict[str, str]]:
    if first == 0 or not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        whole = [
            row for row in csv.DictReader(stream) if None not in row.values()
        ]  # a killed run may end in half a line
        return [row for row in whole if row["iteration"].isdigit() and int(row["iteration"]) < first]


def _open_board(path: Path, first: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None  # the CSV file holds the same numbers
    return SummaryWriter(str(path), purge_step=first)


@contextmanager
def progress(total: int, show: bool) -> Iterator[Any]:
    """A function of (iterations done, text) that keeps one line up to date; silent unless `show`."""
    if not show:
        yield lambda done, text: None
        return
    started, last = time.perf_counter(), 0.0

    def update(done: int, text: str) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last < 0.2 and done < total:
            return
        last = now
        left = (now - started) / max(done, 1) * (total - done)
        bar = "█" * (20 * done // total) + "·" * (20 - 20 * done // total)
        print(f"\r{bar} {done}/{total}  {text}  {left:.0f} s left ", end="", file=sys.stderr, flush=True)

    try:
        yield update
    finally:
        print(file=sys.stderr)
