"""Files that appear complete or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import ModelError

__all__ = ["check_file", "make_folder", "whole_file"]


def check_file(path: str | os.PathLike[str], example: str) -> Path:
    """The path of a file that can be made, or an error that says why not; `example` is a name it could have."""
    if not isinstance(path, str | os.PathLike):
        raise ModelError(f"A file name such as {example!r} is needed; got {path!r}.")
    target = Path(path)
    if target.is_dir():
        raise ModelError(f"{target} is a directory; name a file in it, such as {target / example}.")
    folder = target.resolve().parent
    if not folder.is_dir():
        raise ModelError(f"There is no directory {folder} to write {target.name} to; make it first.")
    return target


def make_folder(path: Path) -> None:
    """Make a folder to write to, and those above it; nothing happens if it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ModelError(f"{path} cannot be a directory, because a file of that name is in the way.") from None
    except OSError as error:
        raise ModelError(f"The directory {path} cannot be made: {error.strerror or error}.") from error


@contextmanager
def whole_file(path: str | os.PathLike[str], example: str) -> Iterator[Path]:
    """A file next to `path` to write to, which takes its place once all is written.

    A full disk, an error or a crash leaves the old file, never half of a new one.
    """
    target = check_file(path, example)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(target)
    except OSError as error:
        raise ModelError(f"{target} cannot be written: {error.strerror or error}.") from error
    finally:
        part.unlink(missing_ok=True)
