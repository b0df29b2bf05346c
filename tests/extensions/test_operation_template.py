"""How to add an operation on index expressions: this file is a complete one.

A function of one argument is a `Function`, which takes less: see `test_function_template.py`.

1. Subclass `Expression`, or `Unary` or `Pairwise` where one or two arrays are taken element by element. `forward`
   pushes values and three derivatives forward, at points and over boxes: written with `jets`, it serves both.
2. Give it an `op`, its word in files and proofs. Then it prints, is saved and loaded, pickled, substituted, evaluated
   for some elements only and exported; the other methods of `Expression` say more where there is more to say: `doubt`
   where it may be undefined, `typed` how it prints, `file_data` and `read` what a file holds beside its arguments,
   `expand` which polynomial it is, `slopes` where it is affine, `assemble` how the compiled kernel computes it.
3. Make it a `rule` under the name of the NumPy function that stands for it.

The independent checker (`lsip/proof/checker.py`) shares nothing with this: it refuses words that it does not know.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsip
from lsip.expressions import jets
from lsip.expressions.arithmetic import paired, register, rule
from lsip.expressions.elementary import EVERYWHERE, Notation
from lsip.expressions.functions import FUNCTIONS, exp
from lsip.expressions.graph import WORDS, Pass
from lsip.expressions.interval import Interval
from lsip.expressions.jets import Jet, Numbers
from lsip.expressions.lanes import evaluate_lanes
from lsip.expressions.operations import Pairwise
from lsip.expressions.operators import RULES
from lsip.expressions.polynomials import Polynomials
from lsip.expressions.serialize import Writer, read_steps
from lsip.expressions.substitution import substituted
from lsip.expressions.tape import Tape
from lsip.proof import checker


class LogAddExp(Pairwise):
    """log(exp(a) + exp(b)) = b + log1p(exp(a - b)), element by element."""

    op = "logaddexp"

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        a, b = args
        difference = jets.add(a, jets.negate(b))
        for f in (FUNCTIONS["exp"], FUNCTIONS["log1p"]):
            difference = jets.chain(difference, f, f.first, f.second, f.third, run.order)
        return jets.add(b, difference)


# A function in one declaration: the same as exp, under a name of its own.
GROWTH = replace(exp, name="growth", notation=Notation("grow {}", r"\gamma\left({}\right)", False, True))


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    """Both as parts of the language, for one test."""
    rule("logaddexp")(paired(LogAddExp))
    register(GROWTH)
    yield
    for table, names in ((RULES, ("logaddexp", "growth")), (FUNCTIONS, ("growth",))):
        for name in names:
            del table[name]


def formulas(t: lsip.Index) -> dict[str, tuple[Any, Any, str, str]]:
    """By word: a formula, the same with NumPy, its text, and a part of its LaTeX."""
    return {
        "logaddexp": (np.logaddexp(t, 2 * t), lambda v: np.logaddexp(v, 2 * v), "logaddexp(t, 2 t)", "logaddexp"),
        "growth": (RULES["growth"](2 * t), lambda v: np.exp(2 * v), "grow 2 t", r"\gamma\left(2 t\right)"),
    }


T = lsip.Index("t", lsip.Interval(-1, 1))
both = pytest.mark.parametrize("word", ["logaddexp", "growth"])


@both
def test_it_prints(word: str) -> None:
    e, _, text, latex = formulas(T)[word]
    assert str(e) == text
    assert latex in e._repr_latex_()


@both
def test_it_is_enclosed_and_differentiated(word: str) -> None:
    e, f, *_ = formulas(T)[word]
    tape = Tape((e,), (T,))
    v, h = np.linspace(-1, 1, 21)[:, None], 1e-5
    value, slope, bend = tape.derivatives(v)
    np.testing.assert_allclose(value, f(v), rtol=1e-14)
    np.testing.assert_allclose(slope[0], (f(v + h) - f(v - h)) / (2 * h), rtol=1e-8)
    np.testing.assert_allclose(bend[0], (f(v + h) - 2 * f(v) + f(v - h)) / h**2, rtol=1e-4)
    box = tape.enclose(np.array([[-1.0]]), np.array([[1.0]]))
    assert (box.lo <= f(v)).all()
    assert (f(v) <= box.hi).all()
    assert not tape.absent(np.array([[-1.0]]), np.array([[1.0]])).outputs.any()
    some, *_ = evaluate_lanes(tape, v, np.zeros((len(v), 1), dtype=np.intp), 2)
    np.testing.assert_array_equal(some, value)


@both
def test_other_algebras_pass_over_it(word: str) -> None:
    tape = Tape((formulas(T)[word][0],), (T,))
    assert tape.native is None  # the kernel does not know it, and NumPy computes it
    assert Polynomials.of(tape) is None
    assert tape.linear() is None


@both
def test_it_is_saved_loaded_pickled_and_substituted(word: str) -> None:
    e, f, text, _ = formulas(T)[word]
    writer = Writer((T,), ())
    writer.place(e)
    assert writer.steps[-1]["op"] == word
    again = read_steps(writer.steps, (T,), ())[-1]
    moved = substituted(e, {T: 3 + T})
    points = np.linspace(-1, 1, 5)
    for same in (again, pickle.loads(pickle.dumps(e))):
        assert str(same) == text
    np.testing.assert_array_equal(again.at({T: points}), e.at({T: points}))
    np.testing.assert_allclose(moved.at({T: points}), f(3 + points), rtol=1e-14)


@both
def test_a_model_with_it_is_certified_and_the_checker_refuses_its_word(word: str, tmp_path: Path) -> None:
    e, f, *_ = formulas(T)[word]
    z = lsip.Variable(name="z")
    problem = lsip.Problem(lsip.minimize(z), [lsip.forall(T, z >= e)])
    problem.save(tmp_path / "model.json")
    for model in (problem, lsip.load(tmp_path / "model.json")):
        solution = model.solve(verbose=False)
        assert solution.certified
        assert solution.value == pytest.approx(float(f(1.0)), abs=1e-7)
    solution.export(tmp_path / "proof.json")
    assert word in (tmp_path / "proof.json").read_text()
    command = [sys.executable, checker.__file__, str(tmp_path / "proof.json")]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode
    assert f"The operation {word} is not known." in refused.stderr


def test_a_word_has_one_operation() -> None:
    assert WORDS["logaddexp"].kind is LogAddExp
    assert GROWTH(Interval(np.zeros(1), np.zeros(1))).lo == 1.0
    assert GROWTH.checked == EVERYWHERE
