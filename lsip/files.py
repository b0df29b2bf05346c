"""Files that appear complete or not at all."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from secrets import token_hex
from tokenize import TokenError
from typing import Any, NoReturn
from zipfile import BadZipFile, ZipFile, is_zipfile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .errors import LSIPError, ModelError, ProofError
from .validation import MOST_AXES, file_name, shown

__all__ = [
    "blamed",
    "check_file",
    "make_folder",
    "read_arrays",
    "read_facts",
    "read_json",
    "whole_file",
    "write_json",
    "writing",
]


FACTS = "facts"  # the array that holds plain data

DAMAGED = (
    ValueError,  # also ModelError, JSONDecodeError and UnicodeDecodeError
    LookupError,  # also KeyError and IndexError
    TypeError,
    AttributeError,
    EOFError,
    OverflowError,
    RuntimeError,  # also NotImplementedError and RecursionError
    ProofError,
    BadZipFile,
    TokenError,  # of NumPy, where the head of an array is damaged
    zlib.error,
)


def check_file(path: str | os.PathLike[str], example: str) -> Path:
    """The path of a file that can be made, or an error that says why not; `example` is a name it could have."""
    if not isinstance(path, str | os.PathLike):
        raise ModelError(f"A file name such as {example!r} is needed; got {shown(path)}.")
    target = Path(path)
    file_name("path", str(target))
    if target.is_dir():
        raise ModelError(f"{target} is a directory; name a file in it, such as {target / example}.")
    folder = target.resolve().parent
    if not folder.is_dir():
        raise ModelError(f"There is no directory {folder} to write {target.name} to; make it first.")
    if not os.access(folder, os.W_OK):
        raise ModelError(f"{target} cannot be written: the directory {folder} is read-only. Name a file elsewhere.")
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

    A full disk, an error or a crash leaves the old file, never half of a new one. Its name is drawn at random, and it
    is made here: threads and processes may write to one path at once, and the last one to finish has its way.
    """
    target = check_file(path, example)
    with writing(target):
        part = _part_of(target)
    try:
        with writing(target):
            yield part
            part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _part_of(target: Path) -> Path:
    """A new and empty file next to another; never one that is there already, nor what a link points to."""
    part = target.with_name(f"{target.name[:40]}.{token_hex(8)}.part")  # whose name is not longer than systems allow
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    return part


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """While a file is written, what the system refuses is said with its name."""
    try:
        yield
    except OSError as error:
        raise ModelError(f"{path} cannot be written: {error.strerror or error}.") from error


def write_json(path: str | os.PathLike[str], example: str, data: object) -> None:
    """Write plain data; doubles come back as they are."""
    text = json.dumps(data, allow_nan=False)
    with whole_file(path, example) as part:
        part.write_text(text, encoding="utf-8")


def read_json(path: str | os.PathLike[str], what: str) -> Any:
    """The plain data in a file; `what` says what it should be, for the message if it is none."""
    with blamed(path, what):
        return json.loads(Path(path).read_bytes(), parse_constant=_no_number)


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def read_facts(path: str | os.PathLike[str], what: str) -> Any:
    """The plain data beside the arrays of an .npz file; nothing else of it is read."""
    with blamed(path, what):
        return json.loads(str(_read(path, lambda name: name == FACTS, "U")[FACTS]))


def read_arrays(path: str | os.PathLike[str], what: str, wanted: Callable[[str], bool]) -> dict[str, Any]:
    """The arrays of numbers in an .npz file that are `wanted`, by name; others are not read.

    What they claim to hold is compared with what is there before any memory is asked for.
    """
    with blamed(path, what):
        return _read(path, wanted, "biuf")


def _read(path: str | os.PathLike[str], wanted: Callable[[str], bool], kinds: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if not is_zipfile(path):
        raise ValueError("it is not an .npz file")
    with ZipFile(path) as archive:
        members = archive.infolist()
        if sum(m.file_size for m in members) > Path(path).stat().st_size or any(m.compress_type for m in members):
            raise ValueError("it claims to hold more than there is")
        for member in members:
            name = member.filename.removesuffix(".npy")
            if wanted(name):
                if name in found:
                    raise ValueError(f"it holds {name} twice")
                with archive.open(member) as stream:
                    found[name] = _array(stream, member.file_size, name, kinds)
    return found


def _array(stream: Any, size: int, name: str, kinds: str) -> NDArray[Any]:
    """One array, of the kinds that NumPy has letters for."""
    version = npy.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"it has arrays of version {version}")
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = header(stream)
    if dtype.hasobject:
        raise ValueError("it holds pickled objects, which may be code")
    if dtype.kind not in kinds:
        raise ValueError(f"{name} holds {dtype}, which is not what it should")
    if len(shape) > MOST_AXES or any(n < 0 for n in shape) or prod(shape) * dtype.itemsize != size - stream.tell():
        raise ValueError("an array has another size than it says")
    data = bytearray(stream.read())
    return np.frombuffer(data, dtype=dtype).reshape(shape, order="F" if fortran else "C")


@contextmanager
def blamed(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """While a file is taken apart, whatever goes wrong says that it is not `what` it should be."""
    if not isinstance(path, str | os.PathLike):
        raise ModelError(f"The name of a file is needed, {what}; got {shown(path)}.")
    file_name("path", path)
    try:
        yield
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}.") from error
    except DAMAGED as error:
        if isinstance(error, LSIPError) and str(path) in str(error):
            raise  # it says so already
        why = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")
        raise ModelError(f"{path} is not {what}, or it is damaged: {why}.") from error
