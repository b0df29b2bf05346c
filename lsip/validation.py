"""What arguments must be: one function for each kind, one sentence for each mistake.

Data are read here and nowhere else: `numbers` for arrays, `matrix` for sparse ones. A model is proven for the numbers
that it was given, so what does not mean real numbers that are doubles is refused, with what to write instead.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial, wraps
from math import fsum, prod
from numbers import Integral, Rational, Real
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    Protocol,
    SupportsFloat,
    TypeAlias,
    TypeGuard,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from .errors import LSIPError, ModelError

__all__ = [
    "NO_NUMBERS",
    "Configuration",
    "Count",
    "Data",
    "Distance",
    "Factor",
    "FileName",
    "Finite",
    "Flag",
    "Level",
    "Natural",
    "Positive",
    "Seconds",
    "Seed",
    "Share",
    "Sparse",
    "Words",
    "answer",
    "axes",
    "checked",
    "choice",
    "double",
    "file_name",
    "fits",
    "flag",
    "generator",
    "having",
    "is_mapping",
    "is_sparse",
    "kept",
    "mask",
    "matrix",
    "members",
    "numbers",
    "real",
    "refuse_wrapped",
    "shape_of",
    "shown",
    "title",
    "truth",
    "whole",
    "words",
]


class Foreign(Protocol):
    """An array of NumPy or of another library: a tensor, a column of a table. Expressions have no `dtype`."""

    @property
    def dtype(self) -> object: ...

    def __array__(self) -> NDArray[Any]: ...


class Sparse(Protocol):
    """A sparse matrix of SciPy's, of any format."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def tocoo(self) -> sparse.coo_array: ...


Array = NDArray[np.float64]
Scalar: TypeAlias = float | np.floating | np.integer | np.bool_ | Real | Decimal
Data: TypeAlias = Scalar | Foreign | Sequence["Data"]  # what users write for numbers; `numbers` reads it
OBJECT = np.dtype(object)
NO_NUMBERS = (bool, np.timedelta64)  # though Python and NumPy call them integers
MOST_AXES = 32  # of an array, in the oldest NumPy and in the iterators of all
CONSECUTIVE = 2**53  # all integers up to here are doubles

KINDS = {  # NumPy's kinds of data that are no real numbers, and what to do
    "c": (
        "complex numbers",
        "Take .real, if the imaginary parts mean nothing; else keep both apart: |z| is np.hypot of them.",
    ),
    "U": ("text", "Convert it, if it means numbers: np.array(…).astype(float)."),
    "M": ("dates", "Subtract a first one and divide by a unit: (a - a[0]) / np.timedelta64(1, 's')."),
    "m": ("durations", "Divide them by a unit: a / np.timedelta64(1, 's')."),
    "V": ("records", "Name one of their fields."),
}
KINDS |= dict.fromkeys("ST", KINDS["U"])


def whole(name: str, value: object, least: int) -> int:
    """A whole number of at least `least`, as Python's int; refuse all else."""
    if isinstance(value, NO_NUMBERS) or not isinstance(value, Integral) or value < least:
        hint = f"; write {int(value)}" if isinstance(value, float) and value.is_integer() and value >= least else ""
        raise ModelError(f"`{name}` must be a whole number, at least {least}; got {shown(value)}{hint}.")
    return int(value)


def real(name: str, value: object, meaning: str, allowed: Callable[[float], bool]) -> float:
    """A number that is `allowed`, as Python's float; refuse all else. `meaning` says what it should be."""
    number = double(value)
    if number != number or not allowed(number):
        raise ModelError(f"`{name}` {meaning}; got {shown(value)}.")
    return number


def double(value: object) -> float:
    """The nearest double, or nan where it is too large for one, or no number at all."""
    if isinstance(value, NO_NUMBERS) or not isinstance(value, Real):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.nan


def flag(name: str, value: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ModelError(f"`{name}` is True or False; got {shown(value)}.")


def truth(name: str, value: object) -> bool:
    """Whether a function of the user's says yes; refuse what is neither yes nor no, as arrays of several."""
    try:
        return bool(value)
    except LSIPError:
        raise
    except Exception as error:  # of a foreign class
        raise ModelError(f"`{name}` gives True or False; got {shown(value)}: {error}") from None


def choice(name: str, value: object, among: Sequence[str]) -> None:
    """Refuse what is none of some words."""
    if not isinstance(value, str) or value not in among:
        named = (
            " or ".join(f'"{word}"' for word in among) if len(among) == 2 else f"one of {', '.join(map(repr, among))}"
        )
        raise ModelError(f"`{name}` is {named}; got {shown(value)}.")


def words(name: str, value: object) -> None:
    """Refuse what is no text."""
    if not isinstance(value, str):
        raise ModelError(f"`{name}` must be text; got {shown(value)}.")


def title(what: str, value: object) -> str:
    """The name of `what`; refuse what is no text, and text that nobody sees."""
    if not isinstance(value, str) or not value.strip():
        raise ModelError(f"The name of {what} is text, not blank; got {shown(value)}.")
    return value


def members(name: str, value: object, what: str) -> Iterable[Any]:
    """What a list holds, one by one, as it may be endless; refuse what cannot be gone through, and text."""
    text, alone = isinstance(value, str | bytes), getattr(value, "shape", None) == ()
    if text or alone or is_sparse(value) or not isinstance(value, Iterable):
        raise ModelError(f"`{name}` must be a list of {what}; got {type(value).__name__}. Put it in a list.")
    return value


def axes(value: ArrayLike) -> int:
    """How many axes data have; -1 for what is no array, as lists of other lengths, and lists in lists without end."""
    try:
        return np.ndim(value)
    except (MemoryError, ValueError, RecursionError):
        return -1


def shape_of(value: object, what: str) -> tuple[int, ...]:
    """The shape of `what` is declared: a number, or several."""
    given = tuple(value) if isinstance(value, tuple | list) else (value,)
    if not all(isinstance(s, int | np.integer) and not isinstance(s, NO_NUMBERS) and s >= 1 for s in given):
        raise ModelError(f"{what} needs a positive whole size along every axis; got shape {shown(value)}.")
    shape = tuple(map(int, given))
    fits(what, *shape)
    return shape


def is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """Whether it is a dictionary or the like; sparse matrices of one format say that they are."""
    return isinstance(value, Mapping) and not is_sparse(value)


def having(name: str, value: object, method: str, example: str) -> None:
    """Refuse what has not the method that it is needed for: names, numbers, classes."""
    if isinstance(value, type) or not callable(getattr(value, method, None)):
        raise ModelError(f"`{name}` must have a method `{method}`, as {example} has; got {shown(value)}.")


def answer(name: str, function: Callable[..., Any], *arguments: object) -> Any:
    """What a function of the user's says; it is refused where it cannot be called with such arguments.

    Errors that come from inside of it are the user's own, and pass.
    """
    try:
        return function(*arguments)
    except Exception as error:
        inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
        if inside or isinstance(error, LSIPError):
            raise
        raise ModelError(
            f"`{name}` is called with {_numbered(len(arguments))}; {shown(function)} refuses: {error}."
        ) from error


def _numbered(count: int) -> str:
    return "one argument" if count == 1 else f"{count} arguments"


def file_name(name: str, value: object) -> None:
    """Refuse what cannot be the name of a file, there or not."""
    if not isinstance(value, str | os.PathLike):
        raise ModelError(f"`{name}` must be the name of a file; got {shown(value)}.")
    try:
        os.stat(value)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:  # too long a name, or one with a zero in it
        why = error.strerror if isinstance(error, OSError) else error
        raise ModelError(f"{shown(value)} cannot be the name of a file: {why}.") from None


def generator(name: str, value: object) -> None:
    """Refuse what NumPy makes no random numbers of."""
    allowed = (int, np.integer, np.random.SeedSequence, np.random.BitGenerator, np.random.Generator)
    integers = type(value) is np.ndarray and value.ndim == 1 and value.dtype.kind in "iu"
    several: Any = value if integers or isinstance(value, list | tuple) else [value]
    for item in several if value is not None else ():
        negative = isinstance(item, int | np.integer) and item < 0
        if not isinstance(item, allowed) or isinstance(item, NO_NUMBERS) or negative:
            raise ModelError(f"`{name}` must be an integer, at least 0, None or a NumPy generator; got {shown(value)}.")


Count = Annotated[int, partial(whole, least=0)]
Natural = Annotated[int, partial(whole, least=1)]
Share = Annotated[float, partial(real, meaning="is a share between 0 and 1", allowed=lambda v: 0 < v < 1)]
Positive = Annotated[float, partial(real, meaning="is a positive number", allowed=lambda v: v > 0)]
Distance = Annotated[float, partial(real, meaning="is a number >= 0", allowed=lambda v: v >= 0)]
Seconds = Annotated[float, partial(real, meaning="is a number of seconds", allowed=lambda v: v >= 0)]
Factor = Annotated[float, partial(real, meaning="is a factor above 1", allowed=lambda v: v > 1)]
Level = Annotated[float, partial(real, meaning="is a number", allowed=lambda v: v == v)]
Finite = Annotated[float, partial(real, meaning="is a finite number", allowed=lambda v: -np.inf < v < np.inf)]
Flag = Annotated[bool, flag]
Words = Annotated[str, words]
FileName = Annotated[str | os.PathLike[str], file_name]
RandomState: TypeAlias = np.random.SeedSequence | np.random.BitGenerator | np.random.Generator
Seed = Annotated[int | Sequence[int] | RandomState | None, generator]
P = ParamSpec("P")
R = TypeVar("R")


class Configuration:
    """A dataclass whose fields are what their annotations say: kinds of numbers, tuples of them, or configurations.

    Numbers of other libraries become Python's own.
    """

    def __post_init__(self) -> None:
        own: Any = type(self)
        for name, kind in _kinds(own).items():
            given = getattr(self, name)
            value = _check_field(name, given, kind)
            if value is not given:
                object.__setattr__(self, name, value)


@cache
def _kinds(configuration: type) -> dict[str, Any]:
    return get_type_hints(configuration, include_extras=True)


def _check_field(name: str, value: object, kind: Any) -> object:
    """A value of the kind that an annotation says; refuse all else."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is tuple:
        if not isinstance(value, tuple) or not value:
            raise ModelError(f"`{name}` is a tuple of numbers; got {shown(value)}.")
        if ... not in parts and len(value) != len(parts):
            raise ModelError(f"`{name}` is a tuple of {len(parts)} numbers; got {shown(value)}.")
        return tuple(_check_field(name, item, parts[0]) for item in value)
    if origin is Annotated:
        found = kind.__metadata__[0](name, value)
        return value if found is None else found
    if origin is Literal:
        choice(name, value, parts)
    elif origin in (Union, UnionType) and parts[-1] is NoneType:
        return None if value is None else _check_field(name, value, parts[0])
    elif not isinstance(value, kind):
        raise ModelError(f"`{name}` is {_named(kind)}; got {shown(value)}.")
    return value


def _named(kind: type) -> str:
    """How one gets an object of a class: by the name that the package gives it."""
    home = kind.__module__.partition(".")[0]
    return f"an lsip.solver.{kind.__name__}" if home == "lsip" else f"a {home}.{kind.__name__}"


def checked(**kinds: object) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function that looks at some of its arguments first: by name, the kinds that they must be of.

    Kinds are those of this module, classes, words that may be chosen (`Literal`), and any of them `| None`. Numbers of
    other libraries become Python's own.

    >>> @checked(steps=Natural, way=Literal["up", "down"])
    ... def walk(steps, way="up"):
    ...     return steps if way == "up" else -steps
    >>> walk(3, "down")
    -3
    >>> walk(2.0)
    Traceback (most recent call last):
    lsip.errors.ModelError: `steps` must be a whole number, at least 1; got 2.0; write 2.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        order = list(inspect.signature(function).parameters)
        order += [name for name in kinds if name not in order]  # of a function of the user's, which takes *given
        places = [(order.index(name), name, kind) for name, kind in kinds.items()]

        @wraps(function)
        def inner(*given: P.args, **named: P.kwargs) -> R:
            values: list[Any] = list(given)
            for place, name, kind in places:
                if place < len(values):
                    values[place] = _check_field(name, values[place], kind)
                elif name in named:
                    named[name] = _check_field(name, named[name], kind)
            return function(*values, **named)

        return inner

    return decorate


def numbers(value: object, what: str, *, nan: bool = False) -> Array:
    """Data as an array of doubles that are exactly the numbers given; `what` names them in the refusal of others.

    An array of doubles comes back as it is, not copied. Infinities are numbers; nan is one only where `nan` says so.
    """
    if type(value) is np.ndarray and value.dtype == np.float64:
        array: Array = value
    else:
        refuse_wrapped(value, what)
        try:
            array = _listed(value, what) if isinstance(value, list | tuple) else _read(value, what)
        except RecursionError:
            raise ModelError(f"{what} must be an array of real numbers; got lists in lists without end.") from None
    fits(what, *array.shape)
    if not nan and np.isnan(array).any():
        raise ModelError(f"{what} must be numbers; got nan{'' if array.size == 1 else ' among them'}.")
    return array


def fits(what: str, *shape: int, most: int = 2**36) -> None:
    """Refuse arrays of more numbers than machines hold; views that repeat themselves may claim to be larger."""
    if len(shape) > MOST_AXES:
        raise ModelError(f"{what} must have at most {MOST_AXES} axes, as in most of NumPy; got {len(shape)}.")
    if prod(map(int, shape)) > most:
        raise ModelError(f"{what} must fit into memory; got an array of {shown(prod(map(int, shape)))} numbers.")


def kept(array: Array) -> Array:
    """A copy that nobody can change, so that a model stays what it was when it was written."""
    if array.flags.writeable or not array.flags.owndata:
        array = array.copy()
        array.flags.writeable = False
    return array


def matrix(value: Sparse, what: str) -> sparse.csr_array:
    """A sparse matrix of finite doubles that are exactly those given; a copy, with no entry twice."""
    entries = value.tocoo()
    if len(entries.shape) != 2:
        raise ModelError(f"{what} must have two axes; got a sparse array of shape {entries.shape}. Use .toarray().")
    data = numbers(entries.data, what)
    if not np.isfinite(data).all():
        raise ModelError(f"{what} must be finite; got inf.")
    found = sparse.csr_array(sparse.coo_array((data, (entries.row, entries.col)), shape=entries.shape))
    return found if found.nnz == len(data) else _added_up(data, entries.row, entries.col, entries.shape, what)


def _added_up(
    data: Array, row: NDArray[np.integer], column: NDArray[np.integer], shape: tuple[int, int], what: str
) -> sparse.csr_array:
    """A sparse matrix of which some entries are given in parts: their sums, rounded once."""
    order = np.lexsort((column, row))
    row, column, values = row[order], column[order], data[order].tolist()
    starts = np.flatnonzero(np.concatenate([[True], (row[1:] != row[:-1]) | (column[1:] != column[:-1])]))
    ends = [*starts[1:].tolist(), len(values)]
    try:
        sums = [fsum(values[start:end]) for start, end in zip(starts.tolist(), ends, strict=True)]
    except OverflowError:
        raise ModelError(f"{what} must be finite; the parts of an entry add up to more than any double.") from None
    return sparse.csr_array((sums, (row[starts], column[starts])), shape=shape)


def is_sparse(value: object) -> TypeGuard[sparse.csr_array]:
    """Whether it is a sparse matrix, of any format."""
    return hasattr(value, "tocoo")


def mask(value: object, what: str) -> NDArray[np.bool_] | None:
    """An array of booleans, or None if it holds anything else."""
    refuse_wrapped(value, what)
    try:
        found = np.asarray(value)
    except (MemoryError, ValueError):  # a range without end, lists of unequal lengths
        return None
    return found if found.dtype == bool else None


def shown(value: object) -> str:
    """A value for a message, in a few words."""
    try:
        text = repr(value)
    except Exception:  # of a foreign class, which may fail on what it was made of
        text = ""
    return text if text and len(text) <= 60 and "\n" not in text else f"an object of type {type(value).__name__}"


def refuse_wrapped(value: object, what: str) -> None:
    """Refuse arrays that say more than their numbers."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        raise ModelError(
            f"{what} must be real numbers; got an array in which some are masked. Say what they are, as in "
            ".filled(0), or leave them out with .compressed()."
        )
    if isinstance(value, np.matrix):
        raise ModelError(
            f"{what} must be a number or an array; got an np.matrix, which multiplies in its own way. Write "
            "np.asarray(…), and `@`."
        )
    if hasattr(value, "tocoo"):
        raise ModelError(f"{what} must be a number or an array; got a sparse matrix. Use .toarray().")


def _listed(value: list[object] | tuple[object, ...], what: str) -> Array:
    """Nested lists, looked through before NumPy finds a common type for them."""
    for item in value:
        if type(item) is float or (type(item) is int and -CONSECUTIVE <= item <= CONSECUTIVE):
            continue
        numbers(item, what, nan=True)
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be an array of real numbers; got lists of unequal lengths.") from None


def _read(value: object, what: str) -> Array:
    """Any one thing that NumPy can make an array of."""
    try:
        found = np.asarray(value)
    except LSIPError:
        raise
    except Exception as error:  # of a foreign class: a tensor that needs its gradient, a frame of mixed columns
        why = str(error) or type(error).__name__
        raise ModelError(f"{what} must be real numbers; got {shown(value)}: {why}.") from None
    kind = found.dtype.kind
    if kind == "O":
        return np.array([_exact(item, what) for item in found.ravel()], dtype=float).reshape(found.shape)
    if kind not in "biuf":
        raise _no_number(value, kind, what)
    with np.errstate(over="ignore"):
        array = found.astype(float)
    if kind in "iu" and found.dtype.itemsize == 8:
        large = (found > CONSECUTIVE) | (found < -CONSECUTIVE)
        wrong = [v for v in found[large].tolist() if float(v) != v]
    elif found.dtype.itemsize > 8:
        wrong = list(found[(array != found) & ~np.isnan(found)])
    else:
        wrong = []
    if wrong:
        raise _no_double(wrong[0], what)
    return array


def _exact(item: SupportsFloat, what: str) -> float:
    """One Python object as a float, if it is a real number that is one."""
    text = isinstance(item, str | bytes | bytearray)
    foreign = isinstance(item, np.generic | np.ndarray)
    if text or foreign:
        array = numbers(item, what, nan=True)
        if array.ndim:
            raise ModelError(f"{what} must be real numbers; got an array inside of an array of objects.")
        return float(array)
    if isinstance(item, complex):
        raise _no_number(item, "c", what)
    try:
        number = float(item)
    except LSIPError:
        raise
    except OverflowError:
        raise ModelError(f"{what} must be at most 1.8e308; got {shown(item)}.") from None
    except Exception:  # whatever a foreign class raises only says that it is no number
        raise ModelError(f"{what} must be real numbers; got {shown(item)} of type {type(item).__name__}.") from None
    if number != number:
        return number
    if isinstance(item, Rational):
        same = Fraction(int(item.numerator), int(item.denominator)) == number if np.isfinite(number) else False
    else:
        same = item == number
    if not bool(same):
        raise _no_double(item, what)
    return number


def _no_number(value: object, kind: str, what: str) -> ModelError:
    name, advice = KINDS.get(kind, ("something else", "Convert it, if it means numbers: .astype(float)."))
    return ModelError(f"{what} must be real numbers; got {name}, {shown(value)}. {advice}")


def _no_double(item: SupportsFloat, what: str) -> ModelError:
    return ModelError(
        f"{what} must be doubles, for which a model is proven; {shown(item)} of type {type(item).__name__} is none. "
        f"Write float(…), or .astype(float), to mean the nearest one, {float(item)!r}."
    )
