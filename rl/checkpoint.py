"""Runs in files: numbers and names only (NumPy's .npz format), so that reading one runs no code."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterable
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

import lsip

DAMAGED = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    BadZipFile,
    zlib.error,
)


def write(path: str | Path, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Replace the file at once: a crash leaves the old one, never half of a new one."""
    target = Path(path)
    part = target.with_name(target.name + ".part")
    buffer = io.BytesIO()
    np.savez(buffer, facts=np.array(json.dumps(facts, default=plain)), **arrays)
    part.write_bytes(buffer.getvalue())
    part.replace(target)


def read(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The facts and arrays of a file of this kind; may raise any of `DAMAGED`."""
    with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as data:
        facts = json.loads(str(data["facts"]))
        arrays = {name: data[name] for name in data.files if name != "facts"}
    if facts["kind"] != kind:
        raise KeyError(f"it was written by {facts['kind']}")
    return facts, arrays


def refuse(path: str | Path, kind: str, error: Exception) -> lsip.ModelError:
    """What to say of a file that cannot be read."""
    return lsip.ModelError(f"{path} is not a checkpoint of {kind}.save, or it is damaged: {error}")


def check_folder(path: str | Path | None) -> None:
    """Refuse a checkpoint that could not be written later."""
    if path is not None and not Path(path).parent.is_dir():
        raise lsip.ModelError(f"The folder {Path(path).parent} for the checkpoint does not exist; make it first.")


def describe(part: Any) -> dict[str, Any]:
    """A dataclass as its name and fields; anything else by name alone."""
    fields = asdict(part) if is_dataclass(part) and not isinstance(part, type) else None
    try:
        fields = json.loads(json.dumps(fields, default=plain))
    except TypeError:
        fields = None
    return {"name": type(part).__name__, "fields": fields}


def rebuild(described: dict[str, Any], homes: Iterable[Any], what: str) -> Any:
    """The part that `describe` described, from the modules where it may live."""
    for home in homes:
        kind = getattr(home, described["name"], None)
        if isinstance(kind, type) and described["fields"] is not None:
            return kind(**described["fields"])
    raise lsip.ModelError(f"The checkpoint used a {described['name']} of your own; give it: load(…, {what}=…).")


def plain(value: Any) -> Any:
    """NumPy numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(type(value).__name__)
