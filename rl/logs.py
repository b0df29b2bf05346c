"""What a run leaves behind while it learns: a CSV file, TensorBoard events, a line of progress."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lsip
from lsip.files import whole_file, writing
from lsip.legible import say
from lsip.validation import file_name, shown

if TYPE_CHECKING:
    from .state import State

Row = dict[str, Any]
Folder = str | PathLike[str] | None


def check_folder(folder: Folder) -> Folder:
    """The name of a folder for logs, or None for none."""
    if folder is not None and not isinstance(folder, str | PathLike):
        raise lsip.ModelError(f"Logs go to a folder, given by its name, such as 'runs/first'; got {shown(folder)}.")
    if folder is not None:
        file_name("log", folder)
        try:
            fspath(folder).encode()
        except UnicodeEncodeError:  # half of a character, which systems allow, and TensorBoard does not
            raise lsip.ModelError(f"The name of a folder for logs must be text; got {shown(folder)}.") from None
    return folder


class Log:
    """Appends every row to `progress.csv` and to TensorBoard.

    Several runs may use one folder: the column `run` tells them apart, and nothing of another run is ever touched. Rows
    that this run wrote after its last checkpoint, and will write again, are dropped before its first new one.
    """

    def __init__(self, folder: Folder, state: State, *, tensorboard: bool = True) -> None:
        self._stream: Any = None
        self._board: Any = None
        if check_folder(folder) is None:
            return
        path = Path(folder)  # type: ignore[arg-type]
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise lsip.ModelError(f"The folder {path} for logs cannot be made: {error.strerror}.") from error
        self._path, self._first = path / "progress.csv", state.iteration
        if not state.run:
            state.run = 1 + max((int(row["run"]) for row in _whole_rows(self._path)), default=0)
        self._run = state.run
        if tensorboard:
            self._board = _open_board(path if self._run == 1 else path / f"run-{self._run}", state)

    def write(self, row: Row) -> None:
        """One iteration."""
        if not hasattr(self, "_path"):
            return
        row = {"run": self._run, **row}
        if self._stream is None:
            self._names = self._begun(list(row))
            with writing(self._path):
                self._stream = self._path.open("a", newline="", encoding="utf-8")
            self._writer = csv.DictWriter(self._stream, fieldnames=self._names, extrasaction="ignore")
        with writing(self._path):
            self._writer.writerow(row)
            if self._board is not None:
                when = int(row["steps"] if "steps" in row else row["iteration"])
                for name, value in row.items():
                    if name not in ("run", "iteration", "steps") and value != "":
                        self._board.add_scalar(name, float(value), when)

    def _begun(self, names: list[str]) -> list[str]:
        """The columns of the file, which has them all now, and no row that is written again."""
        rows = _whole_rows(self._path)
        known = list(rows[0]) if rows else []
        columns = [*known, *(name for name in names if name not in known)]
        kept = [row for row in rows if int(row["run"]) != self._run or int(row["iteration"]) < self._first]
        with whole_file(self._path, "progress.csv") as part, part.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, fieldnames=columns)
            writer.writeheader()
            writer.writerows(kept)
        return columns

    def flush(self) -> None:
        """Put on disk what has been written."""
        for part in (self._stream, self._board):
            if part is not None:
                with writing(self._path):
                    part.flush()

    def close(self) -> None:
        """Finish the files."""
        for part in (self._stream, self._board):
            if part is not None:
                with writing(self._path):
                    part.close()
        self._stream = self._board = None


def _whole_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a file, but for half a line that a killed run may have left."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if None not in row.values()]
    if rows and "run" not in rows[0]:
        raise lsip.ModelError(f"{path} has no column `run`, so it is of another program; log to another folder.")
    return [row for row in rows if row["run"].isdigit() and row["iteration"].isdigit()]


def _open_board(path: Path, state: State) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None  # the CSV file holds the same numbers
    with writing(path):
        return SummaryWriter(str(path), purge_step=state.steps + 1 if state.steps else state.iteration)


@contextmanager
def progress(total: int, show: bool) -> Iterator[Any]:
    """A function of (iterations done, text) that keeps one line up to date; silent unless `show`."""
    if not show or sys.stderr is None:
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
        say(f"{bar} {done}/{total}  {text}  {left:.0f} s left ", start="\r", end="", stream=sys.stderr)

    try:
        yield update
    finally:
        say("", stream=sys.stderr)
