"""Numbers that steer an algorithm are documented fields of its frozen configuration."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Facts of arithmetic and of formats, which nobody could choose otherwise, may be names of a module.
FACTS: dict[str, str] = {
    "lsip/cli/arguments.py": "SOLVED FAILED WRONG_USAGE NOTHING_TO_FIND INTERRUPTED",
    "lsip/cones/power.py": "ROUNDED_ULPS MOST_MISSED",
    "lsip/domains/facets.py": "EXACT",
    "lsip/domains/points.py": "FARTHEST",
    "lsip/domains/proven.py": "SPLIT SMALL_PRODUCT LOST_ERROR LOST",
    "lsip/domains/simplex.py": "UNIT",
    "lsip/expressions/angle.py": "ANGLE_ULPS",
    "lsip/expressions/bessel.py": "CHECKED ERROR",
    "lsip/expressions/chebyshev.py": "CHEBYSHEV_DEGREE",
    "lsip/expressions/compiled.py": "MOST_FACTORS EIGHTHS",
    "lsip/expressions/defined.py": "SURE MAYBE WILD NEVER",
    "lsip/expressions/derivative.py": "HIGHEST",  # of what is refused
    "lsip/expressions/divided_differences.py": "TERMS",
    "lsip/expressions/enclosed.py": "MOST_DIGITS",
    "lsip/expressions/exprel.py": "EXPREL_ULPS",
    "lsip/expressions/far.py": "MOST ULPS VANISHED",
    "lsip/expressions/functions.py": "LOG_2 LOG2_E LOG10_E TWO_OVER_ROOT_PI PI_ABOVE HALF_PI_ABOVE ONE_OVER_ROOT_2_PI",
    "lsip/expressions/interval.py": "EPS TINY NORMAL",
    "lsip/expressions/operators.py": "FIRST",
    "lsip/expressions/powers.py": "POWER_ULPS FACTOR_ULPS LARGEST_EXPONENT WHOLE",
    "lsip/expressions/printing.py": "MINUS SUM QUOTIENT PRODUCT POWER ATOM MOST_OPERANDS",
    "lsip/expressions/quadratic_forms.py": "MOST_ENTRIES MOST_ASYMMETRY",  # of what is refused
    "lsip/expressions/sinc.py": "WAVE_ULPS CHECKED_ANGLES",
    "lsip/expressions/dependent_monomials.py": "PRIME",
    "lsip/expressions/special.py": "LEAST_AT LEAST_GAMMA LEAST_LOG POLYGAMMA_ULPS EULER ONE_OVER_E",
    "lsip/expressions/waves.py": "OTHER NUMBER LINE COSINE SINE",
    "lsip/integrals/distributions.py": "NORMAL_REACH EXPONENTIAL_REACH",
    "lsip/integrals/volume.py": "PI",
    "lsip/interop/pyomo/families.py": "UPPER LOWER",
    "lsip/interop/pyomo/implied.py": "WIDENED",
    "lsip/kernel/native.py": "VERSION MOST_DIMENSIONS FULL DUE LATE",
    "lsip/masters/gurobi.py": "NO_LICENCE TOO_LARGE OPTIMAL INFEASIBLE INFEASIBLE_OR_UNBOUNDED UNBOUNDED "
    "NODE_LIMIT TIME_LIMIT",
    "lsip/model/coefficients.py": "OUTWARD",
    "lsip/model/peaks.py": "NOTHING",
    "lsip/model/solid.py": "DIGITS",
    "lsip/oracles/differences.py": "STEP",
    "lsip/oracles/expansions.py": "HIGHEST_DEGREE",
    "lsip/oracles/trigonometric.py": "ORDER FREQUENCY_BITS",
    "lsip/progress.py": "WIDTH BOUND_DIGITS",
    "lsip/proof/checker.py": "DATA_ROUNDING MODEST",
    "lsip/proof/linear_algebra.py": "ROUNDING UNDERFLOW",
    "lsip/proof/equations.py": "DATA_ULPS MOST_SHARE",
    "lsip/report/charts.py": "CHART_WIDTH CHART_HEIGHT WIDEST BAR CELL SHADES",  # of pictures
    "lsip/solution/messages.py": "MOST_NAMED LONGEST_NAME",  # of sentences
    "lsip/solution/relaxation_file.py": "LONGEST",  # of names in LP files
    "lsip/solution/text.py": "MOST_POINTS",  # of sentences
    "lsip/validation/data.py": "CONSECUTIVE MOST_AXES",
    "lsip/workers/processes.py": "UNGUARDED",  # an exit code
    "rl/backprop.py": "HALF_LOG_TWO_PI",
    "rl/baselines/crpo.py": "GRIDS",  # of the paper
    "rl/finite_horizon.py": "MOST_STATES",  # of what is refused
    "rl/lifted.py": "FUNCTIONS",
    "rl/plan.py": "CLOSED",  # what a plan promises
    "rl/plotting.py": "FLOOR MESH CURVE",  # of pictures
    "rl/theory/logarithms.py": "SNAP",
}


def numbers(path: Path) -> Iterator[str]:
    """The names in capitals that a module binds to numbers, or to collections of numbers."""
    for node in ast.parse(path.read_text()).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name) and n.id.isupper()]
        constants = [n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant)]
        if any(isinstance(v, int | float) and not isinstance(v, bool) for v in constants) and not any(
            isinstance(v, str) for v in constants
        ):
            yield from names


MODULES = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "lsip").rglob("*.py"))
LEARNING = sorted(p.relative_to(ROOT).as_posix() for room in ("rl", "envs") for p in (ROOT / room).rglob("*.py"))


@pytest.mark.parametrize("module", [*MODULES, *(m for m in LEARNING if m.startswith("rl/"))])
def test_numbers_that_steer_are_fields(module):
    loose = set(numbers(ROOT / module)) - set(FACTS.get(module, "").split())
    assert not loose, (
        f"{module}: {', '.join(sorted(loose))}. Make each a documented field of a frozen configuration, or list it in "
        "FACTS if nobody could choose it otherwise."
    )


def test_a_fact_has_one_name():
    places = defaultdict(list)
    for module, names in FACTS.items():
        assert set(numbers(ROOT / module)) >= set(names.split()), f"{module} has no longer all of {names}."
        for name in names.split():
            places[name].append(module)
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert not twice


def test_fields_are_documented():
    """Every field of a configuration is explained in its docstring."""
    missing = []
    for module in [*MODULES, *LEARNING]:
        for node in ast.walk(ast.parse((ROOT / module).read_text())):
            if isinstance(node, ast.ClassDef) and node.name.endswith("Tuning"):
                told = re.findall(r"\w+", ast.get_docstring(node) or "")
                fields = [
                    f.target.id for f in node.body if isinstance(f, ast.AnnAssign) and isinstance(f.target, ast.Name)
                ]
                missing += [f"{module}: {node.name}.{f}" for f in fields if f not in told]
    assert not missing
