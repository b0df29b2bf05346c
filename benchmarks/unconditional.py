"""What the catalogue's answers rest on: how many are certified, and how many bounds hold for every x.

An answer is `right` if it is certified and agrees with what is known of the problem to the digits that are known. Where
some variable lacks a bound, the lower bound on the objective is `unconditional` if it holds for every x, and not in a
region only. Every answer that is not certified is listed with its message.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lsip import catalogue

from .harness.figures import machine, table
from .harness.registry import Figures, Options, benchmark, say

LIMIT = 60.0  # seconds a problem
STATUS = {"optimal": "OPTIMAL", "infimum": "OPTIMAL", "infeasible": "INFEASIBLE", "unbounded": "UNBOUNDED"}


def show(figures: Figures) -> str:
    """The shares, and what is not certified."""
    summary = figures["summary"]
    head = (
        f"{summary['right']} of {summary['entries']} entries right and certified; {summary['unconditional']} of "
        f"{summary['unbounded_variables']} with variables that lack a bound have bounds for every x "
        f"({summary['unconditional_share']:.1%})\n\n"
    )
    rows = [{**p, "message": p["message"][:90]} for p in figures["problems"] if not p["right"]]
    return head + (table(rows, {"name": "otherwise", "status": "status", "message": "message"}) if rows else "")


@benchmark("unconditional", "how many answers of the catalogue are proven, and for every x", show)
def unconditional(options: Options) -> Figures:
    """Solve everything, and count."""
    problems = []
    for name in options.choose(catalogue.names()):
        say(name)
        problems.append(_measured(catalogue.get(name)))
    free = [p for p in problems if p["unbounded_variables"] and p["status"] != "UNBOUNDED"]
    everywhere = sum(p["unconditional"] for p in free)
    return {
        "machine": machine(),
        "problems": problems,
        "summary": {
            "entries": len(problems),
            "certified": sum(p["certified"] for p in problems),
            "right": sum(p["right"] for p in problems),
            "unbounded_variables": len(free),
            "unconditional": everywhere,
            "unconditional_share": everywhere / max(len(free), 1),
        },
    }


def _measured(entry: catalogue.Entry) -> dict[str, Any]:
    solution = entry.build().solve(verbose=False, time_limit=LIMIT)
    certificate, program = solution.certificate, solution.program
    close = 10.0**-entry.digits + 2 * solution.tol
    agrees = np.isnan(entry.value) or entry.value == solution.value
    agrees = agrees or abs(solution.value - entry.value) <= close * max(1.0, abs(entry.value))
    proven = certificate.kind == "infeasible" or np.isfinite(certificate.lower)
    return {
        "name": entry.name,
        "status": solution.status.name,
        "certified": bool(solution.certified),
        "right": bool(solution.certified and agrees and STATUS.get(entry.status) == solution.status.name),
        "unbounded_variables": bool(not np.isfinite([program.lower, program.upper]).all()),
        "unconditional": bool(proven and np.isinf(certificate.radius)),
        "assumptions": [str(a) for a in certificate.assumptions],
        "message": "" if solution.certified else solution.message,
    }
