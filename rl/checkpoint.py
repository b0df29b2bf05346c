"""Runs in files: numbers and names only (NumPy's .npz format), so that reading one runs no code."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from os import PathLike
from pathlib import Path
from tokenize import TokenError
from typing import Any
from zipfile import BadZipFile

import numpy as np

import lsip
from lsip.files import check_file, read_arrays, read_facts, whole_file
from lsip.schema import Either, Schema, anything, conform, missing, text
from lsip.validation import file_name, shown

Facts = dict[str, Any]
Arrays = dict[str, Any]

EXAMPLE = "agent.npz"  # what a file could be called

DAMAGED = (
    OSError,
    ValueError,
    LookupError,  # also KeyError and IndexError
    TypeError,
    AttributeError,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    BadZipFile,
    TokenError,  # of NumPy, where the head of an array is damaged
    zlib.error,
)


def write(path: str | Path, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Replace the file at once: a crash leaves the old one, never half of a new one."""
    with whole_file(path, EXAMPLE) as part:
        buffer = io.BytesIO()
        header = json.dumps({"version": lsip.__version__, **facts}, default=plain)
        np.savez(buffer, facts=np.array(header), **arrays)
        part.write_bytes(buffer.getvalue())


def read(path: str | Path, kind: str, schema: Schema, wanted: Callable[[str], bool]) -> tuple[Facts, Arrays]:
    """The facts and the wanted arrays of a file of this kind; ModelError if it is none, or they are not as declared."""
    header = facts(path, kind)
    with reading(path, kind, header):
        if header["kind"] != kind:
            raise ValueError(f"it was written by {header['kind']}")
        conform({name: fact for name, fact in header.items() if name != "version"}, schema, "it")
        arrays = read_arrays(path, f"a file written by {kind}.save", wanted)
        for name, array in arrays.items():  # nothing of nothing may still be a billion of rows
            if any(n > Path(path).stat().st_size for n in array.shape):
                raise ValueError(f"{name} has shape {array.shape}, more than the file holds")
        return header, arrays


def facts(path: str | Path, kind: str) -> Facts:
    """The plain data of a file; ModelError if it cannot be of this kind."""
    check_exists(path, kind)
    with reading(path, kind):
        header = read_facts(path, f"a file written by {kind}.save")
        if not isinstance(header, dict):
            raise ValueError("it holds no names")
        return header


@contextmanager
def reading(path: str | Path, kind: str, facts: object = None) -> Iterator[None]:
    """While a file is taken apart, everything that can go wrong means that it is not what it should be.

    Where its facts are known and tell of another version of lsip, that is what is wrong.
    """
    try:
        yield
    except DAMAGED as error:
        if isinstance(error, lsip.LSIPError) and str(path) in str(error):
            raise  # it says so already
        what = str(error).rstrip(".")
        if isinstance(error, KeyError):
            what = f"{error.args[0]} is missing"
        elif "pickle" in what:
            what = "it holds pickled objects, which may be code"
        if isinstance(facts, dict) and facts.get("kind") == kind and facts.get("version") != lsip.__version__:
            other = (
                f"lsip {facts['version']}" if "version" in facts else "a version of lsip that did not leave its number"
            )
            raise lsip.ModelError(
                f"{path} was written by {other}, and lsip {lsip.__version__} cannot go on with it: {what}. Load it "
                "with the version that wrote it, or make it anew with this one."
            ) from error
        raise lsip.ModelError(f"{path} is not a file written by {kind}.save, or it is damaged: {what}.") from error


def check_exists(path: object, kind: str) -> None:
    """Refuse what is not a file."""
    if not isinstance(path, str | PathLike):
        raise lsip.ModelError(f"{kind}.load takes the name of a file; got {shown(path)}.")
    file_name("path", path)
    if not Path(path).exists():
        raise lsip.ModelError(f"There is no file {path}; {kind}.save writes one.")
    if Path(path).is_dir():
        raise lsip.ModelError(f"{path} is a directory, not a file written by {kind}.save.")


def check_target(path: str | PathLike[str] | None) -> None:
    """Refuse a checkpoint that could not be written later; None is none."""
    if path is not None:
        check_file(path, EXAMPLE)


def describe(part: object) -> Any:
    """Numbers and None as they are, a dataclass as its name and fields; anything else by name alone."""
    if part is None or isinstance(part, int | float):
        return part
    fields = asdict(part) if is_dataclass(part) and not isinstance(part, type) else None
    try:
        fields = json.loads(json.dumps(fields, default=plain))
    except TypeError:
        fields = None
    return {"name": type(part).__name__, "fields": fields}


def rebuild(described: object, homes: Iterable[Any], what: str) -> Any:
    """The part that `describe` described, from the modules where it may live."""
    if not isinstance(described, dict):
        return described
    conform(described, {"name": text, "fields": Either(anything, missing)}, what)
    for home in homes:
        kind = getattr(home, described["name"], None)
        if is_dataclass(kind) and isinstance(kind, type) and described["fields"] is not None:
            return kind(**described["fields"])
    raise lsip.ModelError(f"The checkpoint used a {described['name']} of your own; give it: load(…, {what}=…).")


def plain(value: object) -> Any:
    """NumPy numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(type(value).__name__)
