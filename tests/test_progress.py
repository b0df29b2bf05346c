"""The progress table: aligned, and honest about what is not known yet."""

from __future__ import annotations

import io
import math
import time
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsip
from lsip import catalogue
from lsip.oracles import BranchAndBound
from lsip.progress import EXPLANATION, WIDTH, Table
from lsip.solution.outward_rounding import above
from lsip.solution.result import PARTS, Effort
from lsip.solver.clock import Clock


def iterate(k: int, **changes: Any) -> Any:
    row = {"iteration": k, "rows": 3 * k, "cuts": 2, "value": -1.5, "lower": -1.5, "upper": -1.25, "violation": 1e-3}
    return lsip.Iterate(**{**row, "bound": 2e-3, "seconds": 0.5, **changes})


def solution(**changes: Any) -> Any:
    status = SimpleNamespace(name="OPTIMAL", value="Proven: nothing is violated.")
    fields = {"value": -1.5, "lower": -1.5, "upper": -1.5, "gap": 1e-9, "certified": True, "max_violation": 1e-10}
    rest = {"active": [1, 2], "history": [1], "seconds": 0.25, "oracle": "BranchAndBound", "message": status.value}
    proof = {
        "violation_proven": True,
        "certificate": SimpleNamespace(finite_violation=0.0, box=(), upper=2.0, trusts=()),
        "program": SimpleNamespace(families=[1]),
        "cuts": [1, 2, 3],
        "wide": False,
        "effort": Effort("", {}, {"compile": 0.01, "separation": 0.24, "proof": 0.001}),
    }
    return SimpleNamespace(status=status, **{**fields, **rest, **proof, **changes})


def printed(*rows: Any, end: Any = None) -> list[str]:
    stream = io.StringIO()
    table = Table(stream)
    table.start(["LSIP with 3 variables"])
    for row in rows:
        table.row(row)
    if end is not None:
        table.finish(end)
    return stream.getvalue().splitlines()


def test_columns_are_aligned_and_unknowns_are_dashes() -> None:
    lines = printed(
        iterate(1, lower=-math.inf, upper=math.inf, bound=math.inf),
        iterate(20, value=math.nan, violation=math.nan),
        iterate(300, lower=-1.23456789e-300, upper=1.23456789e300, seconds=123456.0, violation=-1e-300),
    )
    assert lines[0] == "LSIP with 3 variables"
    assert lines[2:4] == list(EXPLANATION)
    table = lines[4:]
    assert {len(line) for line in table} == {WIDTH} == {80}
    assert table[1].split() == ["1", "3", "-1.50000000", "-", "-", "1.0e-03", "-", "0.50s"]
    assert table[3].split()[3:5] == ["-1.23457e-300", "1.234568e+300"]


def test_titles_are_repeated_in_long_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINES", "20")
    lines = printed(*(iterate(k) for k in range(40)))
    assert sum("iter" in line for line in lines) == 2
    assert sum(line == EXPLANATION[0] for line in lines) == 1


def test_the_summary_says_what_is_proven() -> None:
    certified = "\n".join(printed(iterate(1), end=solution()))
    assert "OPTIMAL, certified" in certified
    assert "over all index points" in certified
    assert "2 index points" in certified
    unproven = "\n".join(printed(iterate(1), end=solution(certified=False, violation_proven=False, upper=math.inf)))
    assert ", certified" not in unproven
    assert "larger ones are possible" in unproven
    stopped = "\n".join(printed(iterate(1), end=solution(certified=False, max_violation=-3.2e-5)))
    assert "-3.20e-05 (proven bound over all index points)" in stopped, (
        "a proven number is called so whatever the status"
    )
    nothing = "\n".join(printed(end=solution(value=math.nan, max_violation=math.inf, active=[])))
    assert "value" not in nothing


def test_the_table_ends_with_closed_bounds_and_a_split_of_the_time() -> None:
    lines = printed(iterate(1, lower=-math.inf, upper=math.inf, bound=math.inf), end=solution())
    end = next(line for line in lines if line.split()[:1] == ["end"])
    assert len(end) == WIDTH
    assert end.split() == ["end", "3", "-1.50000000", "-1.50000000", "-1.50000000", "1.0e-10", "1.0e-09", "0.25s"]
    assert "   effort     1 iteration, 0.25 s (separation 96%, compile 4%)" in lines
    assert not any("end" in line for line in printed(iterate(1), end=solution(value=math.nan))), "nothing to close"


def test_a_real_solve_fits_a_terminal_and_ends_in_eight_lines(capsys: pytest.CaptureFixture[str]) -> None:
    catalogue.get("tfi2_tan_n3").build().solve()
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    end = next(k for k, line in enumerate(lines) if line.startswith(" ---"))
    assert 4 <= len(lines[end + 1 :]) <= 8


def test_seconds_are_spent_on_one_part_each() -> None:
    clock = Clock(compiling=1.0)
    with clock.on("polish"), clock.on("separation"), clock.on("proof"):
        time.sleep(0.02)
    spent = clock.split()
    assert list(spent) == list(PARTS)
    assert spent["compile"] == 1.0
    assert spent["proof"] >= 0.02
    assert spent["polish"] + spent["separation"] < 0.02, "what is nested counts once"
    assert sum(spent.values()) == pytest.approx(clock.used(), abs=1e-3), "compiling is part of a solve"


def test_a_solve_of_whole_numbers_adds_up_what_its_solves_took() -> None:
    x, u = lsip.Variable(3, name="x", integer=True, lower=0, upper=5), lsip.Index("u", lsip.Box([0] * 3, [1] * 3))
    rows = [lsip.forall(u, (np.array([2, 3, 4]) + np.sin(u)) @ x <= 20)]
    effort = lsip.Problem(lsip.maximize(x @ [3, 4, 5]), rows).solve(tol=1e-6, verbose=False).effort
    assert effort.options == {"tol": "1e-06"}
    assert all(seconds >= 0 for seconds in effort.seconds.values())
    assert min(effort.seconds[part] for part in ("compile", "relaxation", "separation", "proof")) > 0


def test_a_solve_says_when_how_and_on_what() -> None:
    problem = catalogue.get("tfi2_tan_n3").build()
    solution = problem.solve(tol=1e-6, oracle=BranchAndBound(), verbose=False)
    assert solution.effort.options == {"tol": "1e-06", "oracle": "BranchAndBound"}
    assert abs(datetime.now().astimezone() - datetime.fromisoformat(solution.effort.date)).total_seconds() < 60
    assert sum(solution.effort.seconds.values()) == pytest.approx(solution.seconds, abs=0.05)
    assert solution.effort.seconds["separation"] > 0
    assert (solution.history[-1].lower, solution.history[-1].upper) == (solution.lower, solution.upper)


def test_finite_rows_are_reported_apart() -> None:
    broken = SimpleNamespace(finite_violation=5.41e-16, box=(), upper=2.0, trusts=())
    lines = "\n".join(printed(end=solution(max_violation=-1.5e-8, certificate=broken)))
    assert "violation  -1.50e-08 (proven bound over all index points)" in lines
    assert "finite     5.41e-16 (violation of finite rows" in lines
    assert "finite" not in "\n".join(printed(end=solution()))


@given(st.floats(-1e200, 1e200), st.floats(1e-200, 1e200))
def test_printed_bounds_stay_true(middle: float, width: float) -> None:
    """Rounding to the nearest digit would move a bound to the side on which it is false."""
    lower, upper = middle - width, middle + width
    row = printed(iterate(1, value=middle, lower=lower, upper=upper, bound=width))[-1].split()
    assert float(row[3]) <= lower
    assert float(row[4]) >= upper
    end = printed(end=solution(value=middle, lower=lower, upper=upper, gap=width, max_violation=width))
    proven = next(line for line in end if "optimum" in line).split()
    assert float(proven[1]) <= lower <= upper <= float(proven[5].rstrip(","))
    assert float(next(line for line in end if "violation" in line).split()[1]) >= width
    text = f"{above(upper, 6):.6g}"
    assert float(text) >= upper
    assert float(text) <= upper + 1.01e-5 * abs(upper), "the last digit, and no more"


def test_redirected_standard_output_is_respected(capsys: pytest.CaptureFixture[str]) -> None:
    Table().row(iterate(1))
    assert "iter" in capsys.readouterr().out
