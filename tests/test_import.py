"""Importing lsip costs next to nothing, and inner rooms imported alone find those that are built on them."""

import pickle
import subprocess
import sys

import pytest

import lsip


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_a_room_is_imported_when_the_first_of_its_names_is_used():
    heavy = ("numpy", "scipy.sparse", "lsip.solver", "scipy.special", "lsip.catalogue", "lsip.report")
    loaded = f"print([m for m in {heavy} if m in sys.modules])"
    problem = "lsip.Problem(lsip.minimize(x), [lsip.forall(t, x >= t)])"  # not its solve, whose time may be limited
    model = "x, t = lsip.Variable(), lsip.Index('t', lsip.Interval(0, 1))"
    code = "\n".join(["import sys, lsip", "lsip.__version__", loaded, model, loaded, problem, loaded])
    assert python(code).splitlines() == [
        "[]",
        "['numpy', 'scipy.sparse']",
        "['numpy', 'scipy.sparse', 'lsip.solver']",
    ]


def test_every_public_name_is_found_where_the_package_looks_for_it():
    from lsip import public

    assert all(getattr(lsip, name) is getattr(public, name) for name in public.__all__)
    known = {*lsip._MODULES, *(name for names in lsip._ROOMS.values() for name in names.split())}
    assert known - {"plotting", "report"} <= set(public.__all__)  # others are found there


def test_a_public_name_without_a_room_is_found_all_the_same():
    code = "import lsip\nlsip._ROOMS.pop('domains')\nprint(lsip.Ball([0.0], 1.0), 'Ball' in vars(lsip))"
    assert python(code) == f"{lsip.Ball([0.0], 1.0)} True"


def test_a_file_of_the_package_does_not_hide_a_name():
    assert python("import lsip.cli, lsip.about\nprint(lsip.info().lsip)") == lsip.__version__


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
