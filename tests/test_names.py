"""Whatever a name holds, it is shown as it stands: in LaTeX, HTML, SVG, pictures and on any terminal; nothing runs."""

from __future__ import annotations

import ast
import html
import io
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from unicodedata import normalize
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import lsip
from lsip import legible
from lsip.expressions.printing import latex
from lsip.report.mathml import mathml

from .latex import judge

ROOT = Path(__file__).resolve().parent.parent
NASTY = (
    *(
        "a_b",
        "a_b_c",
        "_",
        "__",
        "x1_2",
        "x_1",
        "1x",
        "a%b",
        "a&b",
        "&lt;",
        "$",
        "$$",
        "$x$",
        "$\\frac$",
        "a\\$b",
        "\\",
    ),
    *("\\\\", "\\end{aligned}", "{", "}", "}{", "^", "x^2", "~", "#", "a b", " a", "'", "x'", '"', "`", "|", "a-b"),
    *("</script>", "<script>alert(1)</script>", "<!--", "-->", "]]>", "<b>", "a\nb", "a\tb", "a\r", "\0", "\x1b[31m"),
    *("a\u2028", "a\u2029", "\u202eabc", "\u200b", "\ufeff", "e\u0301", "\u0301", "שלום", "مرحبا", "λ", "alpha", "α_1"),
    *("日本", "𝒳", "😀", "\U0010ffff", "\ud800", "\udc80x", "ﬁ", "٣", "x" * 3000, "a" + "_" * 50, "${}", "%s", "{0}"),
)
NAMES = st.sampled_from(NASTY) | st.text(min_size=1, max_size=12).filter(str.strip)
QUICK = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def problem(name: str) -> lsip.Problem:
    """A model in which everything that may have a name is called by it, or begins with it."""
    x, t = lsip.Variable(2, name=name, lower=-10, upper=10), lsip.Index(name, lsip.Interval(0, 1))
    p = lsip.Parameter(name=name, value=1.0)
    w = lsip.Variable((2, 2), name=name + "w", lower=0, upper=1)
    rule = lsip.Rule(of=t, name=name + "r")
    statements = [
        lsip.forall(t, x[0] + x[1] * t >= p * t**2, name=name),
        lsip.forall(t, rule + x[0] >= t, name=name + "2"),
        w.T[0][1] + w[0][1] <= 1,
        (x[1] <= 5).named(name + "3"),
    ]
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2 + w.sum()), statements, name=name)


def shown(name: str) -> str:
    return legible.printable(name)


@QUICK
@given(NAMES)
def test_every_name_is_valid_latex_and_reads_as_it_stands(name: str) -> None:
    model = problem(name)
    judge(model._repr_latex_())
    x, t = model.variables[0], lsip.Index(name, lsip.Interval(0, 1))
    for item in (x, x[0], x[0] * t**2, x[:1][0] * t**2, t, np.sin(t), lsip.Rule(of=t, name=name), x[0] <= t):
        judge(item._repr_latex_())
    judge(lsip.Box([0, 0], [1, 1]).where(lambda y: y[0] <= 1)._repr_latex_())
    if not name.isidentifier():  # else parts of it stand below the line
        page = ElementTree.fromstring(mathml(latex(x)))
        marks = re.compile("[\u0300-\u036f]")
        assert "".join(page.itertext()) == marks.sub(lambda m: ascii(m[0])[1:-1], normalize("NFC", shown(name)))


def test_every_nasty_name_is_valid_latex() -> None:
    for name in NASTY:
        judge(problem(name)._repr_latex_())
        assert "<s" not in problem(name)._repr_latex_()
        assert "<!" not in problem(name)._repr_latex_()


@pytest.mark.parametrize("domain", [lsip.Simplex(3) * lsip.Simplex(3), lsip.Ball(np.zeros(12), 1), lsip.Budget(2, 1)])
def test_sets_are_valid_latex(domain: lsip.Domain) -> None:
    judge(domain._repr_latex_())


def test_the_judge_of_latex_refuses_what_latex_refuses() -> None:
    for wrong in (
        "$a_{b}_{0}$",
        "${a$",
        "$a}$",
        "$a%b$",
        "$a&b$",
        r"$\foo$",
        "$a$b$",
        "$x^{2}^{3}$",
        "$é$",
        r"$\left(a$",
    ):
        with pytest.raises(AssertionError):
            judge(wrong)


class Page(HTMLParser):
    """The text of a page, its tags, and its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[str] = []
        self.scripts: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        (self.scripts if self._inside in ("script", "style") else self.words).append(data)


def tags(page: str) -> Page:
    parsed = Page()
    parsed.feed(page)
    parsed.close()
    return parsed


@settings(QUICK, max_examples=12)
@given(NAMES)
@example("</script><script>alert(1)</script>")
@example("<!--")
@example("\ud800")
@example("a\u2028")
def test_a_report_is_the_same_page_whatever_the_names_are(name: str) -> None:
    solution = problem(name).solve(verbose=False)
    buffer = Path(_report(solution)).read_text(encoding="utf-8")
    plain = tags(Path(_report(problem("plain").solve(verbose=False))).read_text(encoding="utf-8"))
    found = tags(buffer)
    drop = {"msub", "msup", "msubsup", "mi", "mo", "mn", "mrow", "mtext", "mspace"}  # how a name is set
    assert [t for t in found.tags if t not in drop] == [t for t in plain.tags if t not in drop]
    assert html.escape(shown(name)[:200])[:20] in buffer
    data = json.loads(found.scripts[-2] if "families" in found.scripts[-2] else found.scripts[1])
    assert data["families"][0]["name"].startswith(shown(name)[:200])
    assert not re.search("[\x00-\x08\x0b-\x1f\u2028\u2029]", buffer)


def _report(solution: lsip.Solution) -> Path:
    import tempfile

    return solution.report(Path(tempfile.mkdtemp()) / "report.html")


@settings(QUICK, max_examples=10)
@given(NAMES)
@example("$$")
@example("$x$")
@example("a\\$b")
@example("\ud800")
def test_pictures_show_names_as_they_stand(name: str) -> None:
    pytest.importorskip("matplotlib")
    solution = problem(name).solve(verbose=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        for kind in ("violation", "variables"):
            figure = solution.plot(kind=kind)
            for ending in ("png", "svg"):
                figure.savefig(io.BytesIO(), format=ending)
        titles = [axes.get_title(loc="left") for axes in figure.axes]
        assert lsip.plotting._short(name, 60) in titles
        texts = io.BytesIO()
        import matplotlib as mpl

        with mpl.rc_context({"svg.fonttype": "none"}):
            figure.savefig(texts, format="svg")
        drawn = "".join(ElementTree.fromstring(texts.getvalue()).itertext())
        first = shown(name)[:59].rstrip()
        assert "".join(first.split()) in "".join(drawn.split())


@QUICK
@given(NAMES)
def test_a_name_is_one_line_on_a_terminal(name: str) -> None:
    lines = str(problem("plain")).count("\n")
    model = problem(name)
    assert str(model).count("\n") == lines
    for text in (str(model), repr(model), str(model.constraints[0]), str(model.variables[0]), repr(model.compile())):
        text.encode("utf-8")
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    for element in (model, *model.variables):
        page = getattr(element, "_repr_html_", str)()
        assert "<script" not in page or element is model


# ---- terminals -------------------------------------------------------------------------------------------------------

PRINTED = """
import sys
import numpy as np
import lsip
x, t = lsip.Variable(2, name="x", lower=-5, upper=5), lsip.Index("t", lsip.Interval(0, np.inf))
n = lsip.Variable(2, name="\\u03bb", integer=True, lower=0, upper=5)
s, y = lsip.Index("s", lsip.Interval(0, 1)), lsip.Index("y", lsip.Box([0, 0], [1, 1]) & lsip.Ball([0, 0], 1))
r = lsip.Rule(of=s, name="r")
problem = lsip.Problem(lsip.minimize(x[0] + x[1] + n.sum() + lsip.integral(s, s) * x[0]), [
    lsip.forall(s, x[0] + x[1] * s**12 >= s**2 + np.sqrt(s)), lsip.forall(s, r + x[0] >= s),
    np.linalg.norm(x) <= 3, lsip.norm_inf(x) <= 3, lsip.psd(x[0] * np.eye(2) + 1), abs(x[0]) <= 4,
    lsip.forall(y, x[0] + x[1] * y[0] >= -9), x.T @ np.ones(2) <= 8,
])
print(problem)
print([problem], problem.constraints, problem.compile())
solution = lsip.Problem(problem.objective, problem.constraints[:1]).solve()
print(solution, repr(solution), solution.active, solution.effort, solution.history[-1])
for domain in (lsip.Interval(0, np.inf), lsip.Simplex(3), lsip.Budget(2, 1), lsip.Interval(0, 1) | lsip.Interval(2, 3),
               lsip.Polytope(np.vstack([np.eye(2), -np.eye(2)]), np.ones(4)), y.domain,
               lsip.Box([0, 0], [1, 1]).where(lambda y: y[0] <= y[1])):
    print(domain, repr(domain))
print(lsip.info(), lsip.catalogue.get("tfi2_tan_n3"))
try:
    problem.constraint("none of these")
except lsip.LSIPError as error:
    print(error, repr(error), [error])
try:
    x * x
except lsip.LSIPError as error:
    print(error)
"""
LOCALES = {
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "cp1252": {"PYTHONIOENCODING": "cp1252"},
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "latin-1": {"PYTHONIOENCODING": "latin-1", "LC_ALL": "C"},
}


@pytest.mark.parametrize("locale", LOCALES)
def test_everything_prints_in_every_locale(locale: str) -> None:
    done = _python(PRINTED, LOCALES[locale])
    assert done.returncode == 0, done.stderr.decode("ascii", "replace")
    encoding = LOCALES[locale].get("PYTHONIOENCODING", "ascii")
    text = done.stdout.decode(encoding)
    assert f"x[0] + x[1] {'s^12' if encoding == 'ascii' else 's¹²'} >= s" in text
    assert "for all s in [0, 1]" in text
    assert "?" not in text.replace("??", "")
    assert done.stderr == b""


def test_utf8_is_left_as_it_is() -> None:
    text = _python(PRINTED, {"PYTHONIOENCODING": "utf-8"}).stdout.decode()
    assert "x[0] + x[1] s¹² ≥ s² + √(s)   for all s ∈ [0, 1]" in text


def test_every_character_that_is_printed_has_a_spelling_in_ascii() -> None:
    known = {*legible.SPELLED, *legible.RAISED, *legible.LOWERED}
    pages = ("lsip/report/", "lsip/legible.py")  # HTML, in UTF-8
    for path in (p for room in ("lsip", "rl", "envs") for p in (ROOT / room).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(pages):
            for text in _literals(path):
                assert not {c for c in text if not c.isascii()} - known, (name, text)


def _literals(path: Path) -> Iterator[str]:
    """The text in a file, but for docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    stated = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in stated:
            yield node.value


@QUICK
@given(st.text(max_size=20), st.sampled_from(["ascii", "cp1252", "utf-8", "koi8-r", "shift_jis", "no such encoding"]))
def test_legible_text_can_always_be_encoded(text: str, encoding: str) -> None:
    found = legible.legible(text, encoding)
    found.encode("ascii" if encoding == "no such encoding" else encoding)
    assert legible.legible(found, encoding) == found


# ---- closed streams --------------------------------------------------------------------------------------------------

MODEL = """
import lsip
x, t = lsip.Variable(2, name="x", lower=-10, upper=10), lsip.Index("t", lsip.Interval(0, 1))
problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= t**2)])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX shells")
@pytest.mark.parametrize(
    "words",
    [
        "{lsip} solve model.py --save saved.npz --report page.html >&-",
        "{lsip} solve model.py --save saved.npz --report page.html 2>&- >&-",
        "({lsip} solve model.py --save saved.npz --report page.html; echo $? > code) | head -1; exit $(cat code)",
        "({lsip} solve model.py --save saved.npz --report page.html; echo $? > code) | true; exit $(cat code)",
        "{lsip} solve model.py --json --save saved.npz --report page.html >&-",
    ],
)
def test_a_command_does_its_work_though_nobody_reads_what_it_prints(words: str, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    done = _shell(words.format(lsip=f"{sys.executable} -m lsip"), tmp_path)
    assert done.returncode == 0, done
    assert done.stderr == b""
    assert lsip.load(tmp_path / "saved.npz").certified
    assert (tmp_path / "page.html").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX shells")
@pytest.mark.parametrize("words", ["catalogue", "catalogue abs_d2 --solve", "--help", "--version", "demo", "bench"])
def test_commands_are_quiet_when_standard_output_is_closed(words: str, tmp_path: Path) -> None:
    done = _shell(f"{sys.executable} -m lsip {words} >&-", tmp_path)
    assert done.returncode == 0, done
    assert b"went wrong" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_is_said(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    done = _shell(f"{sys.executable} -m lsip solve model.py > /dev/full", tmp_path)
    assert done.returncode == 1
    assert b"No space left" in done.stderr
    assert b"went wrong" not in done.stderr


@pytest.mark.parametrize("how", ["sys.stdout = None", "sys.stdout.close()", "sys.stderr = None; sys.stdout = None"])
def test_a_solve_needs_no_standard_output(how: str) -> None:
    done = _python(
        f"{MODEL}\nimport sys\n{how}\nsolution = problem.solve()\nassert solution.certified, str(solution)\n", {}
    )
    assert done.returncode == 0, done.stderr


def _python(code: str, more: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    import os

    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, env=environment)


def _shell(words: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    import os

    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(["sh", "-c", words], capture_output=True, check=False, cwd=folder, env=environment)
