"""How a solve can end; each value says what happened and what to do next."""

from enum import Enum


class Status(Enum):
    """How a solve ended; the value of each member is a sentence.

    Examples
    --------
    >>> import lsip
    >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    >>> above = lsip.forall(t, x[0] + x[1] * t >= t**2, name="above")
    >>> problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [above])
    >>> solution = problem.solve(verbose=False)
    >>> solution.status is lsip.Status.OPTIMAL
    True
    >>> print(solution.status.value)
    Proven: the point is feasible for every index, and no feasible point is better by more than the gap.
    """

    OPTIMAL = "Proven: the point is feasible for every index, and no feasible point is better by more than the gap."
    UNCERTIFIED = (
        "Found, but not proven: the message says what is missing. If the oracle proves nothing, use BranchAndBound; if "
        "its bounds are not sharp enough, loosen `tol`."
    )
    NO_INTERIOR = (
        "Feasible to within `tol` for every index, but no strictly feasible point was found, so the optimum may be "
        "worse than the value. Relax the constraints slightly, and write equalities with `==`."
    )
    STALLED = (
        "Rounding stopped progress before the gap closed; the bounds are valid. Give bounds on the variables, rescale "
        "the model, or loosen `tol`."
    )
    INFEASIBLE = "Proven: a combination of constraints at the reported index points contradicts itself for every x."
    UNBOUNDED = "Proven: the objective improves without limit along the reported direction."
    ITERATION_LIMIT = (
        "Stopped at `max_iterations`; the bounds are valid. Raise it, loosen `tol`, or continue with "
        "warm_start=solution."
    )
    TIME_LIMIT = (
        "Stopped at `time_limit`; the bounds are valid. Raise it, loosen `tol`, or continue with warm_start=solution."
    )
    INTERRUPTED = "Stopped by hand; the bounds are valid. Continue with warm_start=solution."

    @property
    def claims_proof(self) -> bool:
        """Whether the status is a claim that has to be proven."""
        return self in (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)

    @property
    def has_point(self) -> bool:
        """Whether there is a point to show: not of a problem that has none, or none that is best."""
        return self not in (Status.INFEASIBLE, Status.UNBOUNDED)
