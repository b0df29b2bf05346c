"""The parts of the page that are text and tables; they read well without any script."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from ..legible import html as escape
from ..legible import shortened
from ..model.status import Status
from ..solution.duals import finite_rows
from ..version import __version__
from . import charts
from .claims import DOWN, UP, brief, claims, number, worst_found
from .limits import TUNING
from .mathml import mathml
from .model import model_lines
from .tables import dual_table, dual_title, x_table, x_title

if TYPE_CHECKING:
    from ..solution.solution import Solution

TONES = {Status.OPTIMAL: "good", Status.INFEASIBLE: "bad", Status.UNBOUNDED: "bad"}  # the others: careful
MARKS = {
    "proven": ("✓", "Proven"),
    "measured": ("≈", "Measured"),
    "trusted": ("§", "Assumes"),
    "open": ("?", "Not proven"),
}


def title(solution: Solution) -> str:
    """What the page is about."""
    return solution.program.name or "problem"


def body(solution: Solution, seen: float) -> str:
    """Everything between the head and the data; `seen` is the largest violation in the pictures."""
    parts = [
        _header(solution, seen),
        "<main>",
        _section("model", "The model", _model(solution)),
        _section("proof", "What is proven", _proof(solution, seen)),
        _section("map", _map_title(solution), _map(solution)) if any(f.shown for f in solution.families) else "",
        _section("dual", dual_title(solution), dual_table(solution)),
        _section("x", x_title(solution), x_table(solution)) if solution.status is not Status.INFEASIBLE else "",
        _section("convergence", "Convergence and time", charts.time(solution) + _convergence(solution)),
        "</main>",
        f"<footer>{_origin(solution)}Written by lsip {escape(__version__)}. This page needs no network.</footer>",
        '<div id="tip" role="tooltip" hidden></div><div id="said" class="unseen" aria-live="polite"></div>\n',
    ]
    return "\n".join(filter(None, parts))


def _origin(solution: Solution) -> str:
    """When it was solved, and with which options."""
    effort = solution.effort
    if not effort.date:
        return ""
    when = datetime.fromisoformat(effort.date).strftime("%Y-%m-%d %H:%M:%S %Z")
    options = ", ".join(f"{name}={value}" for name, value in effort.options.items())
    told = f"with <code>{escape(options)}</code>" if options else "with the options left alone"
    return f"Solved on {when} {told}. "


def _section(name: str, heading: str, content: str) -> str:
    title = f'<h2 id="{name}-title">{heading}</h2>'
    return f'<section id="{name}" aria-labelledby="{name}-title">{title}\n{content}\n</section>'


# ---- what one sees first ---------------------------------------------------------------------------------------------


def _header(solution: Solution, seen: float) -> str:
    tone = TONES.get(solution.status, "careful")
    status = solution.status.name.replace("_", " ").lower()
    proof, trust = ("✓ certified", "good") if solution.certified else ("not certified", "plain")
    return (
        f'<header><p class="brand">lsip <span>report</span></p><h1>{escape(shortened(title(solution)))}</h1>'
        f'<p class="verdict"><span class="badge {tone}">{status}</span><span class="badge {trust}">{proof}</span>'
        f"<span>{_code(solution.message)}</span></p>\n"
        f'<dl class="figures">{"".join(_figures(solution, seen))}</dl></header>'
    )


def _code(text: str) -> str:
    """Text with `names` in backquotes as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))


def _figures(solution: Solution, seen: float) -> Iterable[str]:
    def figure(name: str, value: str, note: str = "") -> str:
        extra = f"<small>{note}</small>" if note else ""
        return f"<div><dt>{name}</dt><dd>{value}{extra}</dd></div>"

    program = solution.program
    if solution.status is Status.INFEASIBLE:
        yield figure("Contradiction", f"{len(solution.active)}", "index points carry it")
    elif solution.status is Status.UNBOUNDED:
        yield figure("Optimal value", number(solution.value), "in the direction d below")
    else:
        yield figure("Maximum" if program.maximise else "Minimum", number(solution.value, 10), "the objective at x")
        yield figure("Optimum between", _enclosure(solution))
        gap = brief(solution.gap, UP) if math.isfinite(solution.gap) else "unknown"
        yield figure("Relative gap", gap, f"asked for {brief(solution.tol)}")
        if solution.wide:
            apart = brief(solution.upper - solution.lower, UP)
            yield figure("Bounds differ by", apart, f"closed by atol = {brief(solution.atol, UP)} only")
    if solution.families and solution.status is not Status.INFEASIBLE:
        proven = math.isfinite(max(solution.certificate.violation, default=math.inf))
        yield figure(
            "Largest violation",
            brief(max(solution.max_violation if proven else worst_found(solution, seen), 0.0), UP),
            "at most, over all of Y" if proven else "found; not a bound",
        )
    count = len(solution.history)
    yield figure(
        "Effort", f"{solution.seconds:.3g} s", f"{count} iteration{'s' * (count != 1)}, {escape(solution.oracle)}"
    )


def _enclosure(solution: Solution) -> str:
    """The bounds under each other, with the digits on which they agree set off from those on which they do not."""
    lower, upper = solution.lower, solution.upper
    if not max(abs(lower), abs(upper)) < 1e12:  # digits beyond the point would say nothing, or nothing is known
        low, high = number(lower, rounding=DOWN), number(upper, rounding=UP)
        return f'<span class="bounds"><span>{low}</span><span>{high}</span></span>'
    width = max(upper - lower, 1e-15 * max(1.0, abs(upper)))
    decimals = int(np.clip(1 - math.floor(math.log10(width)), 2, 14))
    unit = Decimal(1).scaleb(-decimals)
    low = str(Decimal(lower).quantize(unit, rounding=DOWN)).replace("-", "−")
    high = str(Decimal(upper).quantize(unit, rounding=UP)).replace("-", "−")
    same = 0
    while same < min(len(low), len(high)) and low[same] == high[same]:
        same += 1
    lines = "".join(f"<span><b>{text[:same]}</b>{text[same:]}</span>" for text in (low, high))
    return f'<span class="bounds">{lines}</span>'


# ---- the model and the proof -----------------------------------------------------------------------------------------


def _model(solution: Solution) -> str:
    lines, more = model_lines(solution)
    rows = "".join(
        f'<tr><th scope="row">{line.lead}</th><td>{mathml(line.body, block=True)}</td>'
        f"<td>{mathml(line.where, block=True) if line.where else ''}</td>"
        f'<td class="name">{escape(line.name)}</td></tr>'
        for line in lines
    )
    note = f'<p class="note">… and {more} more lines.</p>' if more else ""
    finite, families = len(finite_rows(solution)), sum(f.shown > 0 for f in solution.families)
    count = sum(v.size for v in solution.variables) or solution.program.n
    size = (
        f"{count} variable{'s' * (count != 1)}, {finite} finite constraint{'s' * (finite != 1)}, "
        f"{families} famil{'y' if families == 1 else 'ies'} of constraints over a continuum"
    )
    return f'<div class="wide"><table class="model">{rows}</table></div>{note}<p class="note">{size}.</p>'


def _proof(solution: Solution, seen: float) -> str:
    items = "".join(
        f'<li class="{claim.kind}"><span class="mark" aria-hidden="true">{MARKS[claim.kind][0]}</span>'
        f'<span><b class="kind">{MARKS[claim.kind][1]}.</b> {escape(claim.text)}</span></li>'
        for claim in claims(solution, seen)
    )
    return f'<ul class="claims">{items}</ul>'


# ---- pictures, drawn by the script -----------------------------------------------------------------------------------


def _map_title(solution: Solution) -> str:
    if solution.status is Status.INFEASIBLE:
        return "Where the constraints contradict each other"
    return (
        "Along the direction, over the index set"
        if solution.status is Status.UNBOUNDED
        else "Violation over the index set"
    )


def _map(solution: Solution) -> str:
    hidden = sum(f.shown > 0 for f in solution.families) - TUNING.pictures
    note = (
        f'<p class="note">The first {TUNING.pictures} families are shown; {hidden} more are not.</p>'
        if hidden > 0
        else ""
    )
    return f'<div id="violation"><noscript>This picture needs JavaScript.</noscript></div>{note}'


def _convergence(solution: Solution) -> str:
    if not solution.history:
        return "<p>The solve ended before the first iteration was complete.</p>"
    rows = [
        (
            h.iteration,
            number(h.lower),
            number(h.upper),
            brief(h.violation),
            brief(h.bound) if math.isfinite(h.bound) else "–",
            h.cuts,
            h.rows,
            f"{h.seconds:.3f}",
        )
        for h in solution.history
    ]
    most = TUNING.rows
    if len(rows) > most:
        rows = rows[: most // 2] + rows[-most // 2 :]
    heads = ("iteration", "lower", "upper", "violation found", "proven bound", "new cuts", "cuts held", "seconds")
    cells = "".join("<tr>" + "".join(f'<td class="n">{cell}</td>' for cell in row) + "</tr>" for row in rows)
    return (
        '<div id="charts"></div><details><summary>All iterations as a table</summary><div class="wide"><table>'
        "<thead><tr>"
        + "".join(f'<th scope="col" class="n">{head}</th>' for head in heads)
        + f"</tr></thead><tbody>{cells}</tbody></table></div></details>"
    )
