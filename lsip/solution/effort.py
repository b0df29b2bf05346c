"""How an answer was found: when, with which options, and where the time went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ..legible import legible_repr, legibly

PARTS = ("compile", "relaxation", "separation", "proof", "polish", "other")


@legible_repr
@dataclass(frozen=True)
class Effort:
    """When a solve ended, its options, and its seconds by what they were spent on.

    `compile` turns the model into a program, within the time limit, and makes its first relaxation;
    `relaxation` solves finite programs; `separation` looks for the worst index points, and proves that there are none;
    `proof` bounds the optimal value; `polish` tries Newton steps and other points. `other` is the rest.

    Examples
    --------
    >>> import lsip
    >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    >>> problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= t**2)])
    >>> effort = problem.solve(tol=1e-6, verbose=False).effort
    >>> effort.options, list(effort.seconds)
    ({'tol': '1e-06'}, ['compile', 'relaxation', 'separation', 'proof', 'polish', 'other'])
    """

    date: str = ""  # ISO 8601, with the offset of its zone
    options: Mapping[str, str] = field(default_factory=dict)  # those that were given
    seconds: Mapping[str, float] = field(default_factory=dict)  # by part, in the order of `PARTS`

    @staticmethod
    def now(options: Mapping[str, str], seconds: Mapping[str, float]) -> Effort:
        """Of a solve that ends at this moment."""
        return Effort(datetime.now().astimezone().isoformat(timespec="seconds"), options, seconds)

    @legibly
    def __str__(self) -> str:
        """The parts that took a hundredth of the time or more, in per cent of it."""
        total = sum(self.seconds.values())
        shares = {part: spent / total for part, spent in self.seconds.items()} if total > 0 else {}
        return ", ".join(f"{part} {share:.0%}" for part, share in shares.items() if share >= 0.01)
