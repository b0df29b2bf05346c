"""`SolverFactory("lsip")`: options as Pyomo users give them, and the solve from model to results."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ...errors import MissingExtraError, ModelError
from ...expressions.folds import is_affine
from ...model.status import Status
from ...solution.solution import Solution
from ...solver.method import Exchange, solve
from ...validation import flag, is_mapping, shown
from .families import Incomplete
from .model import PyomoModel, read
from .results import NoSolutionError, PyomoAnswer
from .robust import Declaration, order_of, read_robust

if TYPE_CHECKING:
    from pyomo.core.base.block import BlockData
    from pyomo.opt import SolverResults

logger = logging.getLogger("pyomo.solvers.lsip")  # below Pyomo's own, which formats what it is told
IGNORED = {  # there are no files, values are no start, and no solver of nonlinear programs is asked
    *("keepfiles", "symbolic_solver_labels", "report_timing", "warmstart"),
    *("local_solver", "global_solver", "backup_local_solvers", "backup_global_solvers", "solve_master_globally"),
    *("bypass_local_separation", "bypass_global_separation", "robust_feasibility_tolerance", "progress_logger"),
    *("separation_priority_order", "subproblem_file_directory"),
}
OWN = ("add_active_points", "method", *(f.name for f in fields(Declaration)))


class LSIPSolver:
    """The Pyomo solver "lsip": linear models whose constraints may range over a `ContinuousSet`.

    Parameters
    ----------
    options
        The fields of `lsip.Exchange` (`tol`, `oracle`, `master`, `max_iterations`, `time_limit`, …), `method`,
        `add_active_points`, `decision_rule_order`, `decision_rule_pieces`, and what PyROS is told about a robust model:
        `uncertain_params`, `uncertainty_set`, `first_stage_variables`, `second_stage_variables`, `objective_focus`,
        `nominal_uncertain_param_vals`. By keyword, or in a dictionary `options=`. They can be changed later in
        `options`, or for one solve as keywords of `solve`.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> from pyomo.dae import ContinuousSet
    >>> import lsip.interop.pyomo
    >>> m = pyo.ConcreteModel()
    >>> m.x = pyo.Var(range(2))
    >>> m.t = ContinuousSet(bounds=(0, 1))
    >>> m.cost = pyo.Objective(expr=m.x[0] + m.x[1] / 2)
    >>> m.above = pyo.Constraint(m.t, rule=lambda m, t: m.x[0] + m.x[1] * t >= pyo.exp(t))
    >>> results = pyo.SolverFactory("lsip").solve(m)
    >>> str(results.solver.termination_condition), round(pyo.value(m.cost), 6)
    ('optimal', 1.859141)
    """

    def __init__(self, options: dict[str, Any] | None = None, **keywords: object) -> None:
        from pyomo.common.collections import Bunch

        self.name = self.type = str(keywords.pop("type", "lsip"))
        self.options = Bunch()
        self.options.update({**_options(options), **keywords})

    def __enter__(self) -> LSIPSolver:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __bool__(self) -> bool:
        return True

    def available(self, exception_flag: bool = True) -> bool:
        """Always: what it needs is installed with it."""
        flag("exception_flag", exception_flag)
        return True

    def license_is_valid(self) -> bool:
        """There is none to check."""
        return True

    def version(self) -> tuple[int, ...]:
        """The version of lsip."""
        from ...version import __version__

        return tuple(int(part) for part in __version__.split("."))

    def warm_start_capable(self) -> bool:
        """Values of variables are of no use here; `warm_start=` takes an earlier result."""
        return False

    def solve(
        self,
        model: BlockData,
        tee: bool = False,
        load_solutions: bool = True,
        timelimit: float | None = None,
        options: dict[str, Any] | None = None,
        **keywords: object,
    ) -> SolverResults:
        """Solve a model.

        Parameters
        ----------
        model
            A concrete model, or a block of one.
        tee
            Print the progress table.
        load_solutions
            Put the values into the model; without a feasible point, `NoSolutionError` is raised then.
        timelimit
            Seconds.
        options, keywords
            As for the constructor, for this solve.

        Returns
        -------
        SolverResults
            Pyomo's, with the `lsip.Solution` as `results.lsip`, and decision rules by variable as `results.rules`.
        """
        started = time.perf_counter()
        flag("load_solutions", load_solutions)
        given = {**self.options, **_options(options), **keywords}
        chosen = {k: v for k, v in given.items() if k not in IGNORED}
        if timelimit is not None:
            chosen["time_limit"] = timelimit
        add_active_points = bool(chosen.pop("add_active_points", False))
        robust = Declaration.taken(chosen)
        if robust is None:
            order, pieces = chosen.pop("decision_rule_order", None), chosen.pop("decision_rule_pieces", 1)
            if order is None and not is_affine(pieces):
                raise ModelError(
                    "`decision_rule_pieces` are those of affine rules: give decision_rule_order=1 as well."
                )
            reading = read(model, None if order is None else order_of(order, pieces), pieces)
        else:
            reading = read_robust(model, robust)
        answer = solved(reading, tee, _checked(chosen))
        results = answer.results(time.perf_counter() - started)
        if not load_solutions:
            if answer.loadable:
                answer.store(results)
        elif not answer.loadable:
            raise NoSolutionError(
                f"There is no solution to load: {answer.message} Solve with load_solutions=False to "
                "get the results without it.",
                results,
            )
        else:
            if answer.solution.status is not Status.OPTIMAL:
                logger.warning("Loading a solution that is not proven to be optimal: %s", answer.message)
            answer.load(model, add_active_points)
        return results


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    known = Exchange.__dataclass_fields__
    unknown = [k for k in options if k not in known and k != "method"]
    if unknown:
        raise ModelError(
            f"Unknown option {', '.join(unknown)}; the options of the solver lsip are {', '.join([*known, *OWN])}, and "
            "those of solve tee, load_solutions, timelimit and options."
        )
    warm = options.get("warm_start")
    if warm is not None and not isinstance(warm, Solution):
        options["warm_start"] = getattr(warm, "lsip", None)
        if not isinstance(options["warm_start"], Solution):
            raise ModelError("`warm_start` takes the results of an earlier solve with lsip, or its lsip.Solution.")
    return options


def _options(given: object) -> Mapping[str, Any]:
    """A dictionary of options, by their names."""
    if given is None:
        return {}
    if not is_mapping(given) or not all(isinstance(name, str) for name in given):
        raise ModelError(f"`options` must be a dictionary of options by name; got {shown(given)}.")
    return given


def solved(reading: PyomoModel, tee: bool, options: dict[str, Any]) -> PyomoAnswer:
    """Solve a model that was read, with the fields of `lsip.Exchange`."""
    method = options.pop("method", None)
    while True:  # ends, because a model has finitely many variables
        program, owners = reading.compile()
        try:
            solution = solve(program, method, verbose=tee, **options)
        except Incomplete:
            continue
        return PyomoAnswer(reading, owners, solution)


def register() -> None:
    """Make the solver known to Pyomo."""
    try:
        from pyomo.opt import SolverFactory
    except ImportError as error:
        raise MissingExtraError(
            "Pyomo models need Pyomo, which is not installed: pip install 'lsip[pyomo]'."
        ) from error
    if "lsip" not in SolverFactory._cls:
        SolverFactory.register("lsip", doc="Linear programs with a continuum of constraints, solved with proof")(
            LSIPSolver
        )
