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
    most_exponent
        In tables of monomials, which hold all powers up to it; also the largest degree of a decision rule.
    most_entries
        Of a matrix that is to be semidefinite, whose directions are as many numbers as it has; also of all parameters
        that have no value.
    most_unlisted
        Of what takes a number and no more: coordinates of simplices and budget sets, and elements of an array that
        neither a term nor a constant is in.
    """

    most_numbers: int = 20_000_000
    most_exponent: int = 10_000
    most_entries: int = 1_000_000
    most_unlisted: int = 10_000


LIMITS = SerializeTuning()
