"""Whether a package that Python finds is the one that a distribution installed: short names are easily taken."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from functools import cache
from importlib.metadata import PackageNotFoundError, PackagePath, distribution, distributions
from importlib.util import find_spec
from pathlib import Path

__all__ = ["replaced", "stranger"]


def stranger(package: str, owner: str, folder: Path | None = None) -> str:
    """One sentence if Python finds another package of this name than that of the distribution `owner`, else nothing.

    Parameters
    ----------
    package
        The name of a top-level package.
    owner
        The distribution that it should belong to; in a checkout, it need not be installed.
    folder
        Where that distribution has its packages, if not where it was installed.
    """
    if folder is None:
        recorded = _first_file(package, owner)
        if recorded is None:
            return ""
        folder = Path(str(recorded.locate())).parent.parent
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return f"The package `{package}` of {owner} is gone: pip install --force-reinstall --no-deps {owner}."
    found = Path(spec.origin).parent
    if found.resolve() != (folder / package).resolve():
        return f"Python finds `{package}` in {found}, which hides that of {owner}: rename it, or run from elsewhere."
    return replaced(package, owner)


@cache
def replaced(package: str, owner: str) -> str:
    """One sentence if another distribution has written over a package of the distribution `owner`, else nothing."""
    ours = _first_file(package, owner)
    if ours is None or ours.hash is None or _digest(ours, ours.hash.mode) == ours.hash.value:
        return ""
    line = f"\n{package}/__init__.py,"
    others = [o.name for o in distributions() if o.name != owner and line in f"\n{o.read_text('RECORD') or ''}"]
    if not others:
        return ""
    return (
        f"The distribution {others[0]} has written over the package `{package}` of {owner}: pip uninstall {others[0]}, "
        f"then pip install --force-reinstall --no-deps {owner}."
    )


def _first_file(package: str, owner: str) -> PackagePath | None:
    try:
        files = distribution(owner).files or ()
    except PackageNotFoundError:
        return None
    return next((file for file in files if file.as_posix() == f"{package}/__init__.py"), None)


def _digest(file: PackagePath, mode: str) -> str:
    """As wheels record it; nothing for a file that is gone."""
    try:
        return urlsafe_b64encode(hashlib.new(mode, file.read_binary()).digest()).rstrip(b"=").decode()
    except OSError:
        return ""
