"""How large formulas in files may be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SerializeTuning:
    """How large formulas in files may be, whoever wrote them: a few words could ask for more than a machine has.

    Parameters
    ----------
    most_numbers
        In the results of all steps together.
    most_unlisted
        Of what takes a number and no more: coordinates of simplices and budget sets, elements of an array that neither
        a term nor a constant is in, powers up to the exponent of a monomial, and the degree of a decision rule.
    """

    most_numbers: int = 20_000_000
    most_unlisted: int = 10_000


LIMITS = SerializeTuning()
