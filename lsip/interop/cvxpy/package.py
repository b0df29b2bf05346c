"""The one place where CVXPY itself is imported."""

from __future__ import annotations

from typing import Any

from ...errors import MissingExtraError

OLDEST = (1, 9)  # whose canonical form the proofs read


def _load() -> Any:
    from importlib import import_module

    try:
        found = import_module("cvxpy")
    except ImportError as error:
        raise MissingExtraError("lsip.interop.cvxpy needs CVXPY: pip install 'lsip[cvxpy]'.") from error
    if tuple(map(int, found.__version__.split(".")[:2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise MissingExtraError(
            f"lsip.interop.cvxpy needs CVXPY {oldest} or newer, found {found.__version__}: pip install 'lsip[cvxpy]'."
        )
    return found


cp: Any = _load()
