"""Importing lsip costs next to nothing, and inner rooms imported alone find those that are built on them."""

import pickle
import subprocess
import sys

import pytest

import lsip


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_nothing_heavy_is_imported_before_a_name_is_used():
    loaded = "print([m for m in ('numpy', 'scipy', 'highspy', 'lsip.model') if m in sys.modules])"
    code = f"import sys, lsip\nlsip.__version__\n{loaded}\nlsip.Variable\n{loaded}"
    assert python(code).splitlines() == ["[]", "['numpy', 'scipy', 'highspy', 'lsip.model']"]


@pytest.mark.parametrize(
    "code",
    [
        "from lsip import *\nprint(Variable.__name__)",
        "from lsip import Variable\nprint(Variable.__name__)",
        "import lsip.expressions\nprint(lsip.Variable.__name__)",
        "import lsip\nprint('Variable' if 'Variable' in dir(lsip) and 'model' not in dir(lsip) else '')",
        "import lsip\nprint('' if hasattr(lsip, 'Vairable') or hasattr(lsip, '_model') else 'Variable')",
    ],
)
def test_names_are_found_however_they_are_imported(code: str):
    assert python(code) == "Variable"


def test_rooms_that_are_imported_alone_find_their_solver_and_their_views():
    code = (
        "from lsip.domains import Interval\nfrom lsip.expressions import Index, Variable\n"
        "from lsip.model import Problem, forall, minimize\n"
        "x, t = Variable(name='x'), Index('t', Interval(0, 1))\n"
        "solution = Problem(minimize(x), [forall(t, x >= t)]).solve(verbose=False)\n"
        "print(solution.certified, '<table' in solution._repr_html_())"
    )
    assert python(code) == "True True"


def test_sets_that_are_imported_alone_can_be_cut():
    code = "import pickle\ndomain = pickle.loads({!r})\nprint(domain.where(lambda y: y[0] <= 0), domain.fixed())"
    ball = lsip.Ball([0.0, 0.0], 1.0)
    assert python(code.format(pickle.dumps(ball))) == f"{ball.where(lambda y: y[0] <= 0)} {ball}"
