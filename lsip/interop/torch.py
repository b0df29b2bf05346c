"""Optimal solutions as a function of parameters in torch, with a backward pass."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from ..expressions.affine import Variable
from ..expressions.parameter import Parameter
from ..model.problem import Problem
from ..validation import shown

if TYPE_CHECKING:
    import torch

__all__ = ["Layer", "layer"]


class Layer:
    """A function of tensors, one a parameter, that gives the values of variables at the optimum.

    Tensors have the shapes of the parameters, or a first axis more for a batch: then all results have it, too, and
    tensors without it are used for every element. Results have double precision. Where the optimum has no derivative
    (see `lsip.Solution.sensitivity`), the backward pass raises a ModelError.
    """

    def __init__(self, problem: Problem, parameters: Sequence[Parameter], variables: Sequence[Variable]) -> None:
        if not isinstance(problem, Problem):
            raise ModelError(f"`problem` must be an lsip.Problem; got {shown(problem)}.")
        self.problem, self.parameters, self.variables = problem, tuple(parameters), tuple(variables)
        missing = [p for p in problem.parameters if not any(p is mine for mine in self.parameters)]
        if missing or len(self.parameters) != len(problem.parameters):
            names = ", ".join(p.name for p in problem.parameters)
            raise ModelError(f"`parameters` must be those of the problem, all of them: {names}.")
        if not self.variables or not all(any(v is own for own in problem.variables) for v in self.variables):
            raise ModelError("`variables` must be variables of the problem, at least one.")

    def __call__(self, *tensors: torch.Tensor, **options: object) -> tuple[torch.Tensor, ...]:
        """The optimal values of the variables, for a tensor a parameter; options are those of `Problem.solve`."""
        if len(tensors) != len(self.parameters):
            raise ModelError(f"The layer takes {len(self.parameters)} tensors, one a parameter; got {len(tensors)}.")
        sizes = set()
        for p, given in zip(self.parameters, tensors, strict=True):
            shape = tuple(given.shape)
            if shape != p.shape and shape[1:] != p.shape:
                raise ModelError(f"The tensor for {p.name} must have shape {p.shape}, or one axis more; got {shape}.")
            sizes |= {len(given)} if shape != p.shape else set()
        if len(sizes) > 1:
            raise ModelError(f"Tensors of one batch have the same first axis; got {sorted(sizes)}.")
        count, pairs = sizes.pop() if sizes else None, list(zip(self.parameters, tensors, strict=True))
        batched = [t.expand(count or 1, *p.shape) if tuple(t.shape) == p.shape else t for p, t in pairs]
        found: tuple[torch.Tensor, ...] = _function().apply(self, options, *batched)
        return tuple(x[0] for x in found) if count is None else found


@cache
def _function() -> Any:
    """The function of torch: made when it is first needed, as torch is optional."""
    import torch

    class Solve(torch.autograd.Function):
        """One solve an element of a batch, and its derivative."""

        @staticmethod
        def forward(
            ctx: Any, layer: Layer, options: dict[str, Any], *tensors: torch.Tensor
        ) -> tuple[torch.Tensor, ...]:
            given = [np.asarray(t.detach().cpu().double()) for t in tensors]
            before = [p.value for p in layer.parameters]
            found, derivatives = [], []
            wanted = [t.requires_grad for t in tensors]
            try:
                for element in zip(*given, strict=True):
                    for p, value in zip(layer.parameters, element, strict=True):
                        p.value = value
                    solution = layer.problem.solve(**{"verbose": False, **options})
                    if not solution.status.has_point:
                        raise ModelError(
                            f"No optimum for one element of the batch: the solve ended with {solution.status.name}."
                        )
                    found.append([np.asarray(solution[v]) for v in layer.variables])
                    derivatives.append(_derivatives(layer, solution, wanted))
            finally:
                for p, value in zip(layer.parameters, before, strict=True):
                    if value is not None:
                        p.value = value
            ctx.derivatives, ctx.like = derivatives, [(t.dtype, t.device, t.shape) for t in tensors]
            device = tensors[0].device
            return tuple(torch.as_tensor(np.stack(each), device=device) for each in zip(*found, strict=True))

        @staticmethod
        def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[Any, ...]:
            given = [np.asarray(g.detach().cpu().double()) for g in gradients]
            back: list[Any] = []
            for k, (dtype, device, shape) in enumerate(ctx.like):
                if not ctx.needs_input_grad[k + 2]:
                    back.append(None)
                    continue
                total = np.zeros(shape)
                for i, each in enumerate(ctx.derivatives):
                    if isinstance(each, ModelError):
                        raise each
                    for g, table in zip(given, each[k], strict=True):
                        total[i] += np.tensordot(g[i], table, axes=g[i].ndim)
                back.append(torch.as_tensor(total, dtype=dtype, device=device))
            return None, None, *back

    return Solve


def _derivatives(layer: Layer, solution: Any, wanted: Sequence[bool]) -> Any:
    """Of each variable in each parameter that wants it; or the error that says that they do not exist."""
    try:
        return [
            [solution.sensitivity(p, v) for v in layer.variables] if want else None
            for p, want in zip(layer.parameters, wanted, strict=True)
        ]
    except ModelError as error:
        return error


def layer(problem: Problem, parameters: Sequence[Parameter], variables: Sequence[Variable]) -> Layer:
    """A differentiable function from parameters to optimal variables, for torch.

    Parameters
    ----------
    problem
        A problem with parameters.
    parameters
        All of its parameters, in the order in which tensors are given.
    variables
        What the function gives.

    Examples
    --------
    >>> import numpy as np, torch, lsip
    >>> from lsip.interop.torch import layer
    >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    >>> p = lsip.Parameter(name="p")
    >>> rows = lsip.forall(t, x[0] + x[1] * t >= np.exp(p * t))
    >>> best = layer(lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [rows]), [p], [x])
    >>> rate = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    >>> best(rate)[0].sum().backward()
    >>> round(float(rate.grad), 5)  # of exp(p)
    2.71828
    """
    return Layer(problem, parameters, variables)
