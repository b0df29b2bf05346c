"""The page of a solution: what it says for every way a solve can end, and how it behaves in a real browser."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsip
from lsip.cli.clean_air import clean_air
from lsip.model.status import Status
from lsip.proof.certificate import RegionAssumption
from lsip.report import page as page_module
from lsip.report.claims import DOWN, UP, brief, claims, number
from lsip.report.mathml import mathml
from lsip.report.payload import families

from .browser import chromium

LAMPS = np.array([[0.2, 0.3, 0.1], [0.4, 0.7, 0.8], [0.6, 0.4, 0.5], [0.9, 0.6, 0.2]])
ATTACK = '<img src=x onerror="window.hacked=1"></script><script>window.hacked=1</script>&'


# ---- models ----------------------------------------------------------------------------------------------------------


def curve() -> lsip.Problem:
    x, t = lsip.Variable(3, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    above = lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= np.tan(t))
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2 + x[2] / 3), [above, x[0] <= 10], name="above tan")


def lamps(domain: lsip.domains.Domain) -> lsip.Problem:
    x, y = lsip.Variable(4, name="x", lower=0), lsip.Index("y", domain)
    light = 1 / (1 + 20 * ((y - LAMPS[:, : domain.dim]) ** 2).sum(axis=-1))
    return lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(y, light @ x <= 1 + y[1] / 2)], name="lamps")


def several() -> lsip.Problem:
    x, e = lsip.Variable(5, name="x"), lsip.Variable(name="e")
    t = lsip.Index("t", lsip.Interval(-1, 1))
    s = lsip.Index("s", lsip.Interval(0, 0.3) | lsip.Interval(0.6, 1))
    fit = sum((x[k] * t**k for k in range(1, 5)), start=x[0])
    constraints = [lsip.forall(t, [fit - abs(t) <= e, abs(t) - fit <= e]), lsip.forall(s, x[2] * s <= 1)]
    return lsip.Problem(lsip.minimize(e), constraints, name="absolute value")


def infeasible() -> lsip.Problem:
    x, t = lsip.Variable(1, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(lsip.minimize(x[0]), [lsip.forall(t, x[0] * (t - 0.5) >= 1)], name="impossible")


def unbounded() -> lsip.Problem:
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    rows = [lsip.forall(t, x[0] * t + x[1] * (t - 2) <= 1 + t)]
    return lsip.Problem(lsip.minimize(x[0] - x[1]), rows, name="bottomless")


def scattered() -> lsip.Problem:
    x = lsip.Variable(2, name="x")
    y = lsip.Index("y", lsip.Finite(np.random.default_rng(0).normal(size=(40, 2))))
    return lsip.Problem(lsip.maximize(x[0] + x[1]), [lsip.forall(y, y[0] * x[0] + y[1] * x[1] <= 1)], name="scattered")


def hostile() -> lsip.Problem:
    x, t = lsip.Variable(2, name=ATTACK), lsip.Index("}<i>{\\frac", lsip.Interval(0, 1))
    above = lsip.forall(t, x[0] + x[1] * t >= np.exp(t))
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [above], name=ATTACK)


def plain() -> lsip.Problem:
    x = lsip.Variable(2, name="x", lower=0)
    return lsip.Problem(lsip.maximize(x.sum()), [x[0] + 2 * x[1] <= 3, 2 * x[0] + x[1] <= 3], name="no index")


MODELS: dict[str, Callable[[], lsip.Problem]] = {
    "curve": curve,
    "map": clean_air,
    "disc": lambda: lamps(lsip.Ball([0.5, 0.5], 0.5)),
    "slices": lambda: lamps(lsip.Box([0, 0, 0], [1, 1, 1])),
    "several": several,
    "infeasible": infeasible,
    "unbounded": unbounded,
    "scattered": scattered,
    "hostile": hostile,
    "plain": plain,
}
_SOLVED: dict[str, lsip.Solution] = {}


def solved(name: str) -> lsip.Solution:
    """Every model is solved once."""
    if name not in _SOLVED:
        _SOLVED[name] = MODELS[name]().solve(verbose=False)
    return _SOLVED[name]


# ---- the file --------------------------------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Checks that tags match, and collects the data, the text and what the page refers to."""

    VOID = frozenset({"meta", "link"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.words: list[str] = []
        self.data = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append("data" if ("id", "data") in attributes else tag)
        self.references += [value or "" for name, value in attributes if name in ("src", "href", "action", "data")]
        assert not [name for name, _ in attributes if name.startswith("on")], "no handlers in attributes"

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag in ("rect", "path")

    def handle_endtag(self, tag: str) -> None:
        last = self.open.pop()
        assert tag == ("script" if last == "data" else last)

    def handle_data(self, text: str) -> None:
        if self.open and self.open[-1] == "data":
            self.data += text
        elif self.open and self.open[-1] not in ("script", "style"):
            self.words.append(text)


def parsed(path: Path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    assert not reader.open
    return reader


@pytest.mark.parametrize("name", MODELS)
def test_every_ending_has_a_small_page_that_refers_to_nothing(name: str, tmp_path: Path) -> None:
    solution = solved(name)
    path = solution.report(tmp_path / "r.html")
    assert path == tmp_path / "r.html"
    assert path.stat().st_size < 500_000
    reader = parsed(path)
    assert set(reader.references) == {"data:,"}
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|https?://(?!www\.w3\.org/2000/svg)", text)
    assert solution.status.name.lower() in " ".join(reader.words)


@pytest.mark.parametrize("name", ["curve", "map", "slices", "several", "infeasible", "scattered"])
def test_the_data_are_those_of_the_solution(name: str, tmp_path: Path) -> None:
    solution = solved(name)
    data = json.loads(parsed(solution.report(tmp_path / "r.html")).data)
    assert len(data["active"]) == len(solution.active)
    for shown, active in zip(data["active"], solution.active, strict=True):
        assert shown["point"] == active.point.tolist()
        assert shown["multiplier"] == active.multiplier
        assert shown["constraint"] == active.constraint
        if solution.status is not Status.INFEASIBLE:
            g = solution.violation(active.family).values(active.point[None])[0, active.component]
            assert shown["violation"] == pytest.approx(g, abs=1e-15)
    assert data["history"]["iteration"] == [h.iteration for h in solution.history]


def decoded(text: str, kind: str = "<f4") -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def test_a_heat_map_holds_the_violation_on_its_mesh() -> None:
    solution = solved("map")
    (family,) = families(solution)
    side = family["side"]
    v, u = np.divmod(np.arange(side * side), side) / np.float64(side - 1)
    wanted = solution.violation(0).values(np.stack([u, v], axis=1)).max(axis=1)
    np.testing.assert_allclose(decoded(family["maps"][0]["values"][0]), wanted, rtol=1e-6, atol=1e-12)
    assert family["maps"][0]["mask"] is None
    assert family["seen"] <= family["bound"] <= 0


def test_a_curve_passes_through_the_active_points_and_leaves_gaps_out() -> None:
    solution = solved("several")
    both = families(solution)
    t = decoded(both[0]["t"], "<f8")
    assert {a.point[0] for a in solution.active if a.family == 0} <= set(t)
    assert len(both[0]["rows"]) == len(both[0]["values"]) == 3, "the largest, and each of the two rows"
    gaps = decoded(both[1]["t"], "<f8")
    values = decoded(both[1]["values"][0])
    assert np.isnan(gaps).any()
    assert (np.isnan(gaps) == np.isnan(values)).all()
    assert not ((gaps > 0.31) & (gaps < 0.59)).any()


def test_a_disc_is_masked_and_evaluated_only_inside() -> None:
    (family,) = families(solved("disc"))
    packed = decoded(family["maps"][0]["mask"], "u1")
    levels = np.stack([packed >> 4, packed & 15], axis=1).ravel()[: family["maskSide"] ** 2]
    assert levels.mean() / 15 == pytest.approx(np.pi / 4, abs=0.01)
    assert np.isfinite(decoded(family["maps"][0]["values"][0])).all()


def test_slices_cover_all_pairs_of_axes_and_pass_through_the_worst_point() -> None:
    solution = solved("slices")
    (family,) = families(solution)
    assert {tuple(m["axes"]) for m in family["maps"]} == {(0, 1), (0, 2), (1, 2)}
    first = family["maps"][0]
    assert first["name"] == "the worst point"
    assert first["through"] in [a.point.tolist() for a in solution.active]


def test_a_slice_is_framed_where_it_lies() -> None:
    """A plane through a point of the boundary meets a ball of many dimensions in a small disc."""
    m, x = 12, lsip.Variable(3, name="x", lower=0)
    u, weights = lsip.Index("u", lsip.Ball(np.zeros(m), 1)), np.random.default_rng(0).normal(size=(3, m))
    solution = lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(u, (weights @ u) @ x + x.sum() <= 1)]).solve(
        verbose=False
    )
    (family,) = families(solution)
    for cut in family["maps"]:
        low, high = np.array(cut["corners"])
        radius = np.sqrt(sum(cut["through"][k] ** 2 for k in cut["axes"]))  # the point lies on the boundary
        assert (high >= radius - 1e-9).all()
        assert (high <= 1.2 * radius).all()
        assert (low <= 1e-9 - radius).all()
        packed = decoded(cut["mask"], "u1")
        assert np.stack([packed >> 4, packed & 15]).mean() / 15 > 0.5, "most of the picture is the set"


def test_the_page_has_charts_of_the_variables_and_of_the_time(tmp_path: Path) -> None:
    flow, w = lsip.Variable((6, 8), name="flow", lower=-1, upper=3), lsip.Variable(30, name="w", lower=0)
    t, cost = lsip.Index("t", lsip.Interval(0, 1)), np.random.default_rng(0).random((6, 8))
    rows = [lsip.forall(t, flow[:, 0] * t + w[:6] >= np.sin(6 * t)), flow.sum(axis=0) >= 1]
    solution = lsip.Problem(lsip.minimize((cost * flow).sum() + w.sum()), rows).solve(tol=1e-6, verbose=False)
    text = solution.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert 'aria-label="6 by 8 cells"' in text
    assert 'aria-label="bars of 30 entries"' in text
    assert "All 78 entries as a table" in text
    words = " ".join(parsed(tmp_path / "r.html").words)
    for part, seconds in solution.effort.seconds.items():
        assert seconds == 0 or part in words
    assert "tol=1e-06" in words
    assert f"Solved on {solution.effort.date[:10]}" in words


def test_many_entries_stay_within_the_size(tmp_path: Path) -> None:
    x, t = lsip.Variable((60, 60), name="x", lower=0), lsip.Index("t", lsip.Interval(0, 1))
    problem = lsip.Problem(lsip.minimize(x.sum()), [lsip.forall(t, x[0, 0] * t + x[1, 1] >= t), x.sum(axis=0) >= 1])
    path = problem.solve(verbose=False).report(tmp_path / "r.html")
    assert path.stat().st_size < 500_000


def test_many_families_rows_and_iterations_stay_within_the_size(tmp_path: Path) -> None:
    x = lsip.Variable(3, name="x", lower=0, upper=1)
    indices = [lsip.Index(f"y{i}", lsip.Box([0] * 3, [1] * 3)) for i in range(15)]
    rows = [lsip.forall(y, [x[k % 3] * y[k % 3] + x[0] * y[1] <= 1 + k for k in range(9)]) for y in indices]
    path = lsip.Problem(lsip.maximize(x.sum()), rows).solve(verbose=False).report(tmp_path / "r.html")
    assert path.stat().st_size < 500_000
    assert "3 more are not" in " ".join(parsed(path).words)


# ---- what it says ----------------------------------------------------------------------------------------------------


def said(solution: lsip.Solution, kind: str, seen: float = -np.inf) -> str:
    return " ".join(claim.text for claim in claims(solution, seen) if claim.kind == kind)


def test_an_optimum_is_proven_with_its_bounds() -> None:
    solution = solved("map")
    proven = said(solution, "proven")
    assert "at every index point" in proven
    assert number(solution.lower, rounding=DOWN) in proven
    assert number(solution.upper, rounding=UP) in proven
    assert "among all x" not in proven, "all variables are bounded"
    assert not said(solution, "open")


def test_the_radius_is_told_where_the_bound_needs_one() -> None:
    solution = solved("curve")
    assert "among all x" not in said(solution, "proven")
    region = RegionAssumption("The bound on the optimal value holds where |x[0]| <= 2e+07, not beyond.")
    certificate = replace(solution.certificate, radius=1e7, units=np.array([2.0, 3.0, 4.0]), assumptions=(region,))
    within = replace(solution, status=Status.UNCERTIFIED, certificate=certificate)
    assert f"{brief(1e7, DOWN)} uⱼ" in said(within, "proven")
    assert region in said(within, "trusted")


def test_finite_constraints_hold_exactly_or_in_a_box_or_as_far_as_was_measured() -> None:
    solution = solved("curve")
    assert "every finite constraint and every bound exactly" in said(solution, "proven")
    boxed = replace(solution, certificate=replace(solution.certificate, box=np.full(3, 2e-16)))
    assert "differs from x by at most 2 · 10⁻¹⁶" in said(boxed, "proven").replace("\u00a0", " ")
    broken = replace(solution.certificate, upper=np.inf, finite_violation=0.25)
    assert "hold to 0.25" in said(replace(solution, status=Status.STALLED, certificate=broken), "measured")


def test_without_a_proof_the_page_says_so_and_reports_what_its_own_pictures_find(tmp_path: Path) -> None:
    oracle = lsip.oracles.RandomSearch(points=20)
    solution = clean_air().solve(verbose=False, oracle=oracle, tol=1e-3)
    assert solution.status is Status.UNCERTIFIED
    seen = families(solution)[0]["seen"]
    assert seen > solution.max_violation, "the picture looks at more points than the oracle did"
    assert brief(seen) in said(solution, "open", seen)
    assert "optimal value may be worse" in said(solution, "open", seen)
    assert brief(seen, UP) in " ".join(parsed(solution.report(tmp_path / "r.html")).words)


def test_infeasibility_and_unboundedness_are_explained() -> None:
    assert "add up to 0 ≥" in said(solved("infeasible"), "proven")
    direction = said(solved("unbounded"), "proven")
    assert "Along the direction d" in direction
    assert "at most" in direction


def test_a_limit_keeps_the_bound_that_is_known() -> None:
    solution = clean_air().solve(verbose=False, max_iterations=1)
    assert solution.status is Status.ITERATION_LIMIT
    assert number(solution.lower, rounding=DOWN) in said(solution, "proven")


def test_lipschitz_constants_and_black_boxes_are_named_as_trust() -> None:
    def family(lipschitz: Any) -> lsip.Family:
        return lsip.Family(
            lsip.Interval(0, 1),
            a=lambda y: np.array([[float(v), 1.0] for v in y[:, 0]]),  # cannot be traced
            b=lambda y: np.array([float(v) + 1 for v in y[:, 0]]),
            lipschitz=lipschitz,
        )

    trusted = lsip.linsip([1, 1], [family((1, 1))], sense="max", tol=1e-2)
    assert trusted.status is Status.UNCERTIFIED
    assert trusted.certificate.trusts[0] in said(trusted, "trusted")
    assert "Lipschitz constants" in said(trusted, "trusted")
    assert "at every index point" in said(trusted, "trusted")
    assert "at every index point" not in said(trusted, "proven")
    assert "black box" in said(lsip.linsip([1, 1], [family(None)], sense="max"), "trusted")


def test_a_program_without_a_model_is_described(tmp_path: Path) -> None:
    above = lsip.Family(lsip.Interval(0, 1), lambda y: -(y ** np.arange(3)), lambda y: -np.tan(y[:, 0]))
    solution = lsip.linsip([1, 1 / 2, 1 / 3], [above], A_ub=[[1, 1, 1]], b_ub=[9], bounds=(None, 50))
    words = re.sub(r"\s+", "", "".join(parsed(solution.report(tmp_path / "r.html")).words))
    for part in ("c⊤x", "a(y)⊤x≤b(y)", "∀y∈[0,1]", "Aubx≤bub", "x≤50"):
        assert part in words


def test_a_loaded_solution_has_the_same_page(tmp_path: Path) -> None:
    solution = solved("curve")
    solution.save(tmp_path / "s.npz")
    assert solution.model is not None
    loaded = lsip.Solution.load(tmp_path / "s.npz", solution.model)
    first, second = solution.report(tmp_path / "a.html"), loaded.report(tmp_path / "b.html")
    assert first.read_text(encoding="utf-8") == second.read_text(encoding="utf-8")


# ---- the mathematics -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"\frac{1}{2} x_{0}", "<mfrac><mrow><mn>1</mn></mrow><mrow><mn>2</mn></mrow></mfrac>"),
        (r"x_{0}^{2}", "<msubsup><mi>x</mi>"),
        (r"\left|t\right|", '<mo fence="true">|</mo>'),
        (r"[-1, 1]", '<mo form="prefix">−</mo><mn>1</mn>'),
        (r"a - b", "<mi>a</mi><mo>−</mo><mi>b</mi>"),
        (r"\mathrm{<b>}", "&lt;b&gt;"),
        (r"\begin{cases}t & t \le 1\\0 & \text{else}\end{cases}", "<mtd><mrow><mtext>else</mtext></mrow></mtd></mtr>"),
    ],
)
def test_latex_becomes_mathml(latex: str, expected: str) -> None:
    assert expected in mathml(latex)


PIECES = st.sampled_from(
    ["{", "}", "^", "_", "&", "\\\\", "\\left", "\\right", "\\frac", "\\begin{cases}", "\\end", "\\"]
)
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co"]), max_size=6)


@given(st.lists(PIECES | TEXT, max_size=12).map("".join))
def test_whatever_a_name_contains_the_mathml_is_well_formed(latex: str) -> None:
    ElementTree.fromstring(mathml(latex))


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300))
def test_bounds_are_rounded_to_the_side_on_which_they_stay_true(value: float) -> None:
    for digits in (3, 12):
        assert exact(number(value, digits, DOWN)) <= Decimal(value) <= exact(number(value, digits, UP))
        assert figure(number(value, digits)) == float(f"{value:.{digits}g}")


def test_numbers_are_written_for_people() -> None:
    assert number(-1.5e-9) == "−1.5\u00a0·\u00a010⁻⁹"
    assert number(1e-8) == "10⁻⁸"
    assert number(float("inf")) == "∞"
    assert brief(0.000123456) == "0.000123"
    assert brief(-0.0) == "0"
    assert brief(123456) == "1.23\u00a0·\u00a010⁵"
    assert number(-120.5) == "−120.5"


# ---- writing ---------------------------------------------------------------------------------------------------------


def test_a_folder_that_does_not_exist_or_is_the_target_is_told(tmp_path: Path) -> None:
    with pytest.raises(lsip.ModelError, match="no directory"):
        solved("curve").report(tmp_path / "nowhere" / "r.html")
    with pytest.raises(lsip.ModelError, match="is a directory"):
        solved("curve").report(tmp_path)


def test_a_failure_leaves_the_old_page_and_no_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "r.html"
    target.write_text("the old page")

    def fail(*_: Any) -> str:
        raise RuntimeError("no more paper")

    monkeypatch.setattr(page_module, "page", fail)
    with pytest.raises(RuntimeError, match="no more paper"):
        solved("curve").report(target)
    assert target.read_text() == "the old page"
    assert list(tmp_path.iterdir()) == [target]


# ---- in a browser ----------------------------------------------------------------------------------------------------


@dataclass
class Visit:
    """A page in the browser, with everything that it complained about or asked for."""

    page: Any
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Visit]]:
    contexts = []

    def open_page(solution: lsip.Solution, width: int = 1200, dark: bool = False) -> Visit:
        path = solution.report(tmp_path / "r.html")
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", offline=True
        )
        contexts.append(context)
        seen = Visit(context.new_page())
        seen.page.on("console", lambda message: seen.messages.append(f"{message.type}: {message.text}"))
        seen.page.on("pageerror", lambda error: seen.messages.append(str(error)))
        seen.page.on("request", lambda request: seen.requests.append(request.url))
        seen.page.goto(path.as_uri())
        assert seen.requests == [path.as_uri()]
        return seen

    yield open_page
    for context in contexts:
        context.close()


def exact(text: str) -> Decimal:
    """A number as the page writes it."""
    raised = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
    found = re.fullmatch(rf"(?:(−?[\d.]+)\s·\s|(−?))10([{raised}]+)|(−?[\d.]+)", text.strip())
    assert found, text
    factor, sign, power, simple = (part and part.replace("−", "-") for part in found.groups())
    if simple:
        return Decimal(simple)
    return Decimal(factor or f"{sign or ''}1").scaleb(int(power.translate(str.maketrans(raised, "-0123456789"))))


def figure(text: str) -> float:
    return float(exact(text))


def tooltip(visited: Visit) -> dict[str, str]:
    assert visited.page.locator("#tip").is_visible()
    rows = visited.page.locator("#tip tr").all()
    return {row.locator("td").nth(0).inner_text(): row.locator("td").nth(1).inner_text() for row in rows}


def check_tooltip(visited: Visit, active: lsip.solution.ActivePoint) -> None:
    assert visited.page.locator("#tip b").inner_text() == active.constraint
    shown = tooltip(visited)
    place = next(value for name, value in shown.items() if name not in ("multiplier", "violation"))
    point = [figure(part) for part in place.strip("()").split(", ")]
    np.testing.assert_allclose(point, active.point, rtol=1e-5, atol=1e-12)
    assert figure(shown["multiplier"]) == pytest.approx(active.multiplier, rel=1e-5)


@pytest.mark.parametrize("name", ["curve", "map", "disc", "slices", "several", "infeasible", "scattered"])
def test_points_tell_where_they_are_and_what_they_weigh(name: str, visit: Callable[..., Visit]) -> None:
    solution = solved(name)
    visited = visit(solution)
    mine = [a for a in solution.active if a.family == 0]
    points = visited.page.locator("#violation .point")
    assert points.count() == len(mine) > 0
    for k, active in enumerate(mine[:3]):
        points.nth(k).hover()
        check_tooltip(visited, active)
        assert active.constraint in points.nth(k).get_attribute("aria-label")
    visited.page.mouse.move(5, 5)
    assert visited.page.locator("#tip").is_hidden()
    assert visited.messages == []


@pytest.mark.parametrize("name", ["unbounded", "hostile", "plain"])
def test_other_pages_are_quiet_too_and_run_no_foreign_code(name: str, visit: Callable[..., Visit]) -> None:
    visited = visit(solved(name))
    assert visited.page.evaluate("window.hacked") is None
    assert visited.page.locator("h1").inner_text() == solved(name).program.name
    assert visited.messages == []


def test_the_keyboard_reaches_points_and_reads_the_picture(visit: Callable[..., Visit]) -> None:
    solution = solved("map")
    visited = visit(solution)
    page = visited.page
    page.keyboard.press("Tab")  # the picture itself
    assert page.evaluate("document.activeElement.tagName") == "svg"
    before = tooltip(visited)
    page.keyboard.press("ArrowRight")
    after = tooltip(visited)
    assert figure(after["y[0]"]) == pytest.approx(figure(before["y[0]"]) + 1 / 40, abs=1e-3)
    assert after["y[1]"] == before["y[1]"]
    y = np.array([[figure(after["y[0]"]), figure(after["y[1]"])]])
    assert figure(after["violation ≈"]) == pytest.approx(solution.violation(0).values(y)[0, 0], abs=2e-3)
    assert "violation" in page.locator("#said").inner_text()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.classList.contains('point')")
    check_tooltip(visited, solution.active[0])
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()
    assert visited.messages == []


def test_families_rows_and_slices_can_be_chosen(visit: Callable[..., Visit]) -> None:
    solution = solved("several")
    visited = visit(solution)
    page = visited.page
    page.locator('[data-choice="row"]').select_option("1")
    faint = page.locator("#violation .point.off").count()
    assert faint == sum(a.family == 0 and a.component != 0 for a in solution.active) > 0
    page.locator('[data-choice="constraints"]').select_option("1")
    assert page.locator("#violation .point").count() == sum(a.family == 1 for a in solution.active)
    assert "[0, 0.3] ∪ [0.6, 1]" in page.locator("#violation .aside").inner_text()
    assert visited.messages == []

    sliced = visit(solved("slices"))
    label = sliced.page.locator("#violation svg text").all_text_contents
    assert "y[2]" not in label()
    sliced.page.locator('[data-choice="slice"]').select_option("2")
    assert "y[2]" in label()
    assert sliced.messages == []


def test_the_dual_measure_sorts_and_leads_to_its_point(visit: Callable[..., Visit]) -> None:
    solution = solved("several")
    visited = visit(solution)
    head = visited.page.get_by_role("button", name="multiplier")

    def column() -> list[float]:
        cells = visited.page.locator("#dual tbody td:nth-child(3)").all()
        return [float(cell.get_attribute("data-v")) for cell in cells]

    assert column() == sorted(column(), reverse=True), "heaviest first from the start"
    head.click()
    assert column() == sorted(column(), reverse=True)
    head.click()
    assert column() == sorted(column())
    lightest = visited.page.locator("#dual tbody tr").first
    lightest.click()
    check_tooltip(visited, solution.active[int(lightest.get_attribute("data-point"))])
    assert visited.messages == []


def test_the_iterations_can_be_read(visit: Callable[..., Visit]) -> None:
    solution = solved("map")
    visited = visit(solution)
    assert visited.page.locator("#charts svg").count() == 4
    cuts = visited.page.locator("#charts svg").nth(2)
    cuts.focus()
    visited.page.keyboard.press("ArrowRight")
    assert visited.page.locator("#tip b").inner_text() == "iteration 2"
    assert figure(tooltip(visited)["new cuts"]) == solution.history[1].cuts
    assert visited.messages == []


def test_dark_pages_are_dark_and_phones_do_not_scroll_sideways(visit: Callable[..., Visit]) -> None:
    shades, corners = {}, {}
    for dark in (False, True):
        visited = visit(solved("map"), dark=dark)
        shades[dark] = visited.page.evaluate("getComputedStyle(document.body).backgroundColor")
        corners[dark] = visited.page.evaluate(
            "[...document.querySelector('.stage canvas').getContext('2d').getImageData(3, 3, 1, 1).data]"
        )
        assert visited.messages == []
    assert shades[False] == "rgb(255, 255, 255)"
    assert sum(map(int, re.findall(r"\d+", shades[True]))) < 120
    assert corners[False] == corners[True], "blue is slack on every page"
    for name in ("map", "several"):
        phone = visit(solved(name), width=390)
        assert phone.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert phone.messages == []


def test_printing_uses_light_colours(visit: Callable[..., Visit]) -> None:
    visited = visit(solved("map"), dark=True)
    visited.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    visited.page.emulate_media(media="print")
    assert visited.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    visited.page.emulate_media(media="screen")
    visited.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert visited.messages == []
