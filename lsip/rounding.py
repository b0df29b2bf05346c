"""Whether this thread computes as IEEE 754 says: rounded to nearest, with denormals.

Every enclosure outside of the compiled kernel moves results of ordinary arithmetic outward by an ulp or two. That is a
proof only where the result was the nearest double: a caller that rounds upward, or flushes denormals to zero, would get
false ones. The kernel sets the state that it needs, and gives back that of its caller.
"""

from __future__ import annotations

from .errors import RoundingError

__all__ = ["check_rounding"]


def check_rounding(
    one: float = 1.0, half: float = 2.0**-53, more: float = 1.5 * 2.0**-53, normal: float = 2.0**-1022
) -> None:
    """Refuse to go on where proofs would be worth nothing; it takes less than a microsecond.

    The numbers are arguments, so that they are added now, and not when this is compiled.
    """
    ulp = 2 * half
    nearest = one + half == one and -one - half == -one and one + more == one + 2 * half and one + ulp > one
    if not nearest:
        raise RoundingError(
            "Floating-point numbers are not rounded to nearest in this thread, so no bound could be proven.\n"
            "Some code has changed the rounding mode, with fesetround or the like; set it back to FE_TONEAREST."
        )
    small = normal * one * 0.5
    if not small > 0 or not small + small == normal:
        raise RoundingError(
            "Denormal numbers are flushed to zero in this thread, so no bound could be proven.\n"
            "Switch that off, for example with torch.set_flush_denormal(False), or do not load libraries built with "
            "-ffast-math."
        )
