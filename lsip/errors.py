"""Every error this toolkit raises on purpose; each also inherits the builtin that callers would expect."""

from .legible import legibly


class LSIPError(Exception):
    """Root of all errors raised on purpose by this toolkit."""

    @legibly
    def __str__(self) -> str:
        return super().__str__()

    @legibly
    def __repr__(self) -> str:
        return super().__repr__()


class ModelError(LSIPError, ValueError):
    """A model, domain or option that cannot mean anything: wrong shape, empty set, undefined coefficient."""


class UsageError(ModelError):
    """A word on the command line that a command does not know; the message says which ones it does."""


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
    """The floating-point state of this thread is not the ordinary one, so that nothing could be proven."""


class MissingExtraError(LSIPError, ImportError):
    """An optional package is needed and not installed; the message names the extra to install."""


class OutOfTime(LSIPError, TimeoutError):  # noqa: N818
    """A time limit has passed before an answer was found; nothing was found to be wrong."""
