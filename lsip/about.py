"""What is installed and in use, for whoever asks or reports a problem."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from .kernel.native import cores, kernel
from .legible import legibly
from .version import __version__

PACKAGES = ("numpy", "scipy", "highspy", "clarabel", "cvxpy", "pyomo", "gurobipy", "torch")


@dataclass(frozen=True)
class Info:
    """Versions, and which kernel does the enclosures."""

    lsip: str
    kernel: str  # "AVX2", "portable" or "numpy"
    reason: str  # why there is no compiled kernel; empty if there is one
    threads: int
    python: str
    packages: dict[str, str]

    @legibly
    def __str__(self) -> str:
        compiled = f"compiled ({self.kernel}, {self.threads} threads)" if not self.reason else f"NumPy: {self.reason}"
        others = ", ".join(f"{name} {number}" for name, number in self.packages.items())
        return f"lsip {self.lsip}\nkernel: {compiled}\nPython {self.python}, {others}"


def info() -> Info:
    """What is installed and in use.

    Examples
    --------
    >>> import lsip
    >>> lsip.info().kernel in ("AVX2", "portable", "numpy")
    True
    """
    found = kernel()
    return Info(__version__, found.engine, found.reason, cores(), platform.python_version(), dict(_packages()))


def _packages() -> list[tuple[str, str]]:
    known = []
    for name in PACKAGES:
        try:
            known.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return known
