"""The one place where CVXPY is imported, and what is asked of its objects: its own annotations are incomplete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard

from ...errors import MissingExtraError

if TYPE_CHECKING:
    import cvxpy


def _load(oldest: tuple[int, int] = (1, 9)) -> Any:
    """CVXPY, of the oldest version whose canonical form the proofs read, or a newer one."""
    from importlib import import_module

    try:
        found = import_module("cvxpy")
    except ImportError as error:
        raise MissingExtraError("lsip.interop.cvxpy needs CVXPY: pip install 'lsip[cvxpy]'.") from error
    if tuple(map(int, found.__version__.split(".")[:2])) < oldest:
        needed = ".".join(map(str, oldest))
        raise MissingExtraError(
            f"lsip.interop.cvxpy needs CVXPY {needed} or newer, found {found.__version__}: pip install 'lsip[cvxpy]'."
        )
    return found


cp: Any = _load()
Objective: TypeAlias = "cvxpy.Minimize | cvxpy.Maximize"


class Canonicalised(Protocol):
    """What all parts of a model can say: an objective, a constraint or an expression."""

    @property
    def args(self) -> Sequence[Node]:
        """The expressions that it is made of; none for a leaf."""

    def variables(self) -> list[Leaf]: ...

    def parameters(self) -> list[Leaf]: ...

    def constants(self) -> list[Leaf]: ...


class Node(Canonicalised, Protocol):
    """An expression."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def size(self) -> int: ...

    @property
    def value(self) -> Any:
        """Numbers, dense or sparse; None where they are not known."""

    def _value_impl(self) -> Any: ...

    def atoms(self) -> list[type]: ...

    def is_affine(self) -> bool: ...

    def get_data(self) -> Any: ...

    def copy(self, args: list[Node]) -> Node: ...

    def tree_copy(self, id_objects: dict[int, Node]) -> Node: ...

    def __neg__(self) -> Node: ...


class Leaf(Node, Protocol):
    """A variable, a parameter or a constant."""

    id: int
    attributes: dict[str, Any]

    def name(self) -> str: ...


class Relation(Canonicalised, Protocol):
    """A constraint."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def expr(self) -> Node: ...


def is_leaf(e: Node) -> TypeGuard[Leaf]:
    """Whether there is nothing below it."""
    return not e.args


def factored(matrix: Any) -> tuple[Any, Any, Any]:
    """What CVXPY makes of the matrix of a quadratic form: scale (F F' - G G')."""
    from importlib import import_module

    found: tuple[Any, Any, Any] = import_module("cvxpy.atoms.quad_form").decomp_quad(matrix)
    return found
