"""Every error this toolkit raises on purpose; each also inherits the builtin that callers would expect."""

from .legible import legibly


class LSIPError(Exception):
    """The base class of all errors of lsip."""

    @legibly
    def __str__(self) -> str:
        return super().__str__()

    @legibly
    def __repr__(self) -> str:
        return super().__repr__()


class ModelError(LSIPError, ValueError):
    """An invalid model, domain or option: wrong shape, empty set, undefined coefficient."""


class UsageError(ModelError):
    """An unknown word on the command line; the message lists the known ones."""


class NotAffineError(ModelError, TypeError):
    """An expression that is not affine in the decision variables."""


class NotConvexError(NotAffineError):
    """A comparison or an objective that is not convex in the decision variables."""


class ConversionError(ModelError, TypeError):
    """An expression was asked to become a number, or an array of numbers."""


class FixedError(ModelError, AttributeError, TypeError):
    """Part of a model was assigned to; models are immutable."""


class ProofError(LSIPError, AssertionError):
    """A certificate that does not survive an independent check."""


class RoundingError(LSIPError, ArithmeticError):
    """The floating-point state of this thread (rounding mode, denormals) does not allow proofs."""


class MissingExtraError(LSIPError, ImportError):
    """An optional package is needed and not installed; the message names the extra to install."""


class OutOfTime(LSIPError, TimeoutError):  # noqa: N818
    """A time limit passed before there was an answer."""
