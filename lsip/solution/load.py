"""What a file is, and what it holds: `lsip.load`."""

from __future__ import annotations

from pathlib import Path

from ..errors import ModelError
from ..files import blamed, read_facts, read_json
from ..model.problem import Problem
from ..model.program import Compilable, Program
from .solution import Solution

__all__ = ["load"]

WHAT = "a file of lsip, written by Problem.save or Solution.save"


def load(path: str | Path, problem: Program | Compilable | None = None, *, verify: bool = True) -> Problem | Solution:
    """Read a file of `Problem.save` or `Solution.save`. No code is run.

    Parameters
    ----------
    path
        The file.
    problem
        That of a solution, where it must be a certain one, or where the file cannot hold it; else it is in the file.
    verify
        Whether the proof of a solution is checked, as in `Solution.load`.

    Examples
    --------
    >>> import lsip, os, tempfile
    >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    >>> problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= t**2)])
    >>> path = os.path.join(tempfile.mkdtemp(), "problem.json")
    >>> problem.save(path)
    >>> print(lsip.load(path))
    minimize x[0] + 0.5 x[1]
    subject to -x[0] - t x[1] + t² ≤ 0   for all t ∈ [0, 1]
    """
    with blamed(path, WHAT), Path(path).open("rb") as stream:
        archive = stream.read(2) == b"PK"
    if archive:
        _refuse_others(path)
        return Solution.load(path, problem, verify=verify)
    data = read_json(path, WHAT)
    if isinstance(data, dict) and data.get("format") == "lsip-proof":
        raise ModelError(f"{path} is a proof, written by Solution.export: `lsip check {path}` proves it again.")
    if problem is not None:
        raise ModelError(f"{path} holds no solution, which a problem could be given for; leave `problem` out.")
    return Problem.load(path)


def _refuse_others(path: str | Path) -> None:
    """Refuse what belongs to another package, and say whose it is."""
    with blamed(path, WHAT):
        facts = read_facts(path, WHAT)
        if isinstance(facts, dict) and "kind" in facts and "evidence" not in facts:
            kind = str(facts["kind"])
            raise ModelError(f"{path} was written by {kind}.save; {kind}.load of that class reads it.")
