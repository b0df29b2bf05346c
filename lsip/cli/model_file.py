"""Reading a model from a Python file, with every failure told as one sentence that names the line."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import LSIPError, ModelError
from .models import KINDS, NamedModel, reader


def load_model(path: Path) -> NamedModel:
    """Run a model file and return the model that it declares.

    Raises
    ------
    ModelError
        When there is no such file, when it raises (the message names the line), or when it declares no or several
        problems.
    """
    if path.is_dir():
        raise ModelError(f"{path} is a directory; give the Python file that declares the model.")
    if not path.is_file():
        raise ModelError(f"There is no file {path}.")
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)  # as when the file is run: it may import its neighbours
    try:
        names = runpy.run_path(str(path), run_name="__lsip__")
    except KeyboardInterrupt:
        raise
    except SyntaxError as error:
        place = f" line {error.lineno}" if error.lineno else ""
        raise ModelError(f"{error.filename or path}{place} is not Python: {error.msg}.") from error
    except BaseException as error:  # also SystemExit: a model that exits has not declared anything
        raise ModelError(_told(error, path)) from error
    finally:
        sys.path.remove(folder)

    found = {id(value): (name, read) for name, value in names.items() if (read := reader(value)) is not None}
    if "problem" in names:
        if id(names["problem"]) not in found:
            kind = type(names["problem"]).__name__
            raise ModelError(f"In {path}, `problem` must be {KINDS}; it is of type {kind}.")
        return found[id(names["problem"])][1]()
    if len(found) != 1:
        many = (
            f"{len(found)} problems ({', '.join(name for name, _ in found.values())})" if found else f"no {KINDS[3:]}"
        )
        raise ModelError(f"{path} declares {many}; call the one to be solved `problem`.")
    return next(iter(found.values()))[1]()


@contextmanager
def blamed_on(path: Path) -> Iterator[None]:
    """Tell an exception that a function of the model raises while it is solved as one of the model, with its line."""
    try:
        yield
    except LSIPError:
        raise
    except Exception as error:
        if not _frames(error, path):
            raise
        raise ModelError(_told(error, path)) from error


def _frames(error: BaseException, path: Path) -> list[traceback.FrameSummary]:
    return [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]


def _told(error: BaseException, path: Path) -> str:
    lines = _frames(error, path)
    where = f"{path} line {lines[-1].lineno} (`{lines[-1].line}`)" if lines else str(path)
    kind = "" if isinstance(error, LSIPError) else f"{type(error).__name__}: "
    return f"{where}: {kind}{str(error) or 'no message'}"
