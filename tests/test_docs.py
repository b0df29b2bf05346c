"""The site builds without a warning, its links lead somewhere, and every public name is in the reference."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import lsip

from .browser import chromium

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
COMMANDS = ("solve", "demo", "catalogue", "bench", "reproduce", "train", "evaluate", "render")

pytest.importorskip("myst_nb", reason="The site needs its tools: pip install 'lsip[docs]'.")
pytest.importorskip("latex2mathml", reason="The site needs its tools: pip install 'lsip[docs]'.")
sys.path += [str(DOCS / "_ext"), str(DOCS)]
import catalogue_tables  # noqa: E402
import house_map  # noqa: E402
import learning_methods  # noqa: E402
import mathml  # noqa: E402
import plain_docstrings  # noqa: E402
import public_names  # noqa: E402
import tutorials  # noqa: E402
from sphinx.util.inventory import InventoryFile  # noqa: E402


class Page(HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def broken_links(site: Path) -> Iterator[str]:
    """Every relative link of the site that leads nowhere."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{path.relative_to(site)} -> {link}"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{path.relative_to(site)} -> {link} (no such anchor)"


def foreign_hosts(site: Path) -> Iterator[str]:
    """Scripts, styles and pictures that do not come with the site, which is to be read without a network."""
    for path in sorted(site.rglob("*.html")):
        page = Fetched()
        page.feed(path.read_text(encoding="utf-8"))
        yield from (f"{path.relative_to(site)} -> {link}" for link in page.links if urlsplit(link).netloc)


class Fetched(HTMLParser):
    """Links that a browser follows by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in ("script", "img", "iframe", "video", "source"):
            self.links.append(values.get("src") or "")
        elif tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload"):
            self.links.append(values.get("href") or "")


def undocumented(site: Path) -> list[str]:
    """Public names that the reference does not have, not even under another one: `rl.NPG` is `rl.updates.NPG`."""
    with (site / "objects.inv").open("rb") as stream:
        found = InventoryFile.load(stream, "", lambda base, uri: uri)
    documented = {name for kind, names in found.items() if kind.startswith("py:") for name in names}
    every = {name: thing for name, thing in public_names.public_names().items() if not isinstance(thing, ModuleType)}
    there = {id(thing) for name, thing in every.items() if name in documented}
    return [name for name, thing in every.items() if id(thing) not in there]


def missing_pages(site: Path) -> list[str]:
    """Notebooks that are not shown, and commands without a help page."""
    notebooks = [
        n.stem for n in (ROOT / "notebooks").glob("*.ipynb") if not (site / f"tutorials/{n.stem}.html").exists()
    ]
    anchors = Page(site / "reference" / "cli.html").anchors
    return notebooks + [command for command in COMMANDS if f"lsip-{command}" not in anchors]


CUT_OFF = """() => {
    const width = document.documentElement.clientWidth
    const scrolls = (e) => e && ((["auto", "scroll"].includes(getComputedStyle(e).overflowX)
        && e.getBoundingClientRect().right <= width + 1) || scrolls(e.parentElement))
    const beyond = [...document.querySelectorAll("main *, article *")].filter((e) => {
        const place = e.getBoundingClientRect()
        return place.width > 0 && place.right > width + 1 && !scrolls(e.parentElement)
    })
    const missing = [...document.images].filter((image) => image.complete && !image.naturalWidth)
    return [...beyond.map((e) => e.outerHTML.slice(0, 80)), ...missing.map((image) => image.src)]
}"""


def cut_off(site: Path) -> Iterator[str]:
    """What lies beyond the right edge of a page on telephones and small laptops, and pictures that fail."""
    pages = [p for p in sorted(site.rglob("*.html")) if not {"_static", "_downloads"} & set(p.parts)]
    with chromium() as browser:
        page = browser.new_context(offline=True).new_page()
        for path in pages:
            page.goto(path.as_uri())
            for width in (390, 1100):
                page.set_viewport_size({"width": width, "height": 900})
                yield from (f"{path.relative_to(site)} at {width}: {what}" for what in page.evaluate(CUT_OFF)[:2])


@pytest.mark.slow
def test_the_site(tmp_path):
    """One test, because one build takes half a minute of processor time and all checks are about its result."""
    site = tmp_path / "html"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", tmp_path / "doctrees"]
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, DOCS, site], capture_output=True, text=True, env={**os.environ, **threads}, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list(broken_links(site)) == []
    assert list(foreign_hosts(site)) == []
    assert undocumented(site) == []
    assert missing_pages(site) == []
    reference = {path.name: path.read_text(encoding="utf-8") for path in (site / "reference").glob("*.html")}
    assert [name for name, text in reference.items() if "TypeAliasForwardRef" in text] == []
    catalogued = (site / "reference" / "catalogue.html").read_text(encoding="utf-8")
    assert [name for name in lsip.catalogue.names() if f">{name}<" not in catalogued] == []
    home = (site / "index.html").read_text(encoding="utf-8")
    assert home.count('class="card') == 8
    places = [home.index(part) for part in ("highlight-sh", "highlight-python", 'id="what-it-is"')]
    assert places == sorted(places), "an install line, a model, and then the rest"
    assert "copy.js" in home
    assert list(cut_off(site)) == []  # skips where there is no browser, so it is the last


def test_a_planted_table_beyond_the_edge_is_found(tmp_path):
    wide = '<main><div style="overflow-x: {}"><table style="width: 1000px"><tr><td>1</td></tr></table></div></main>'
    (tmp_path / "cut.html").write_text(wide.format("hidden"))
    (tmp_path / "scrolls.html").write_text(wide.format("auto"))
    found = list(cut_off(tmp_path))
    assert found
    assert {line.partition(":")[0] for line in found} == {"cut.html at 390"}


def test_every_example_is_listed_and_has_its_pictures():
    """They are drawn from the code of the page: `python docs/gallery.py`."""
    pytest.importorskip("matplotlib")
    import gallery

    assert sorted(gallery.names()) == sorted(path.stem for path in (DOCS / "examples").glob("*.md"))
    drawn = {f"{name}_{paper}.png" for name in gallery.names() for paper in gallery.PAPERS}
    assert {path.name for path in gallery.FIGURES.glob("*.png")} == drawn
    for name in gallery.names():
        assert gallery.title(name)
        assert ":::{picture}\n:::\n" in gallery.page(name)


@pytest.mark.parametrize("name", sorted(path.stem for path in (DOCS / "examples").glob("*.md")))
def test_the_pictures_of_an_example_follow_from_its_code(name, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    import gallery

    monkeypatch.setattr(gallery, "FIGURES", tmp_path)
    gallery.draw(name)
    assert len(list(tmp_path.glob("*.png"))) == len(gallery.PAPERS)


def test_methods_of_learning_are_told_with_their_seeds():
    row = {"environment": "ship", "method": "EPO", "steps": 300_000, "seeds": 2, "found_feasible": 1}
    row |= {"mean_return": 2.27, "lowest_return": 2.25, "mean_violation": -0.0012, "worst_violation": 0.0003}
    told = ("ship, 300,000 steps", "EPO", "2", "2.27 (2.25)", "−0.0012 (0.0003)", "1 of 2")
    assert learning_methods.cells(row) == told
    assert learning_methods.cells(row | {"seeds": 1})[2:5] == ("1", "2.27", "−0.0012")
    assert learning_methods.spans([3, 4, 5, 9, 20, 21]) == "3 to 5, 9, 20 to 21"
    kept = json.loads((DOCS / "figures" / "methods.json").read_text(encoding="utf-8"))
    counted = Counter((each["environment"], each["method"]) for each in kept["cells"])
    assert {(each["environment"], each["method"]): each["seeds"] for each in kept["rows"]} == counted
    assert len({environment for environment, _ in counted}) == 5


def test_problems_of_the_catalogue_are_told_in_groups():
    told = [entry.name for _, title, entries in catalogue_tables.groups() for entry in entries if title]
    assert told == list(lsip.catalogue.names())
    assert catalogue_tables.value(lsip.catalogue.get("tfi2_tan_n3")) == "0.64904209"


def test_every_public_name_has_a_docstring():
    empty = [name for name, thing in public_names.public_names().items() if not (_own_docstring(thing) or "").strip()]
    assert empty == []


def test_every_class_of_lsip_has_an_example():
    classes = {n: t for n, t in public_names.public_names().items() if isinstance(t, type) and n.count(".") == 1}
    mine = {n: t for n, t in classes.items() if n.startswith("lsip.") and not issubclass(t, Exception)}
    assert [n for n, t in mine.items() if ">>>" not in (_own_docstring(t) or "")] == []


def test_prose_behind_parameters_is_a_section_of_its_own():
    lines = [
        "Sum.",
        "",
        "Parameters",
        "----------",
        "a, b : numbers",
        "    or arrays",
        "",
        "Both are finite: 1 : 2.",
        "",
    ]
    noted = plain_docstrings.with_notes([*lines, "Examples", "--------", ">>> 1"])
    assert noted[7:10] == ["Notes", "-----", "Both are finite: 1 : 2."]
    assert noted[-3:] == ["Examples", "--------", ">>> 1"]
    assert plain_docstrings.with_notes(lines[:6]) == lines[:6]


def _own_docstring(thing: Any) -> str | None:
    """The docstring that was written for it, not one that a dataclass makes up or that is inherited."""
    found = vars(thing).get("__doc__") if isinstance(thing, type) else getattr(thing, "__doc__", None)
    made_up = isinstance(thing, type) and found is not None and found.startswith(f"{thing.__name__}(")
    return None if made_up else found


def test_every_file_says_what_it_holds():
    said = {path for package in ("lsip", "rl", "envs", "benchmarks") for path, _ in house_map.rooms(package)}
    files = {
        p.relative_to(ROOT).as_posix() for d in ("lsip", "rl", "envs", "benchmarks") for p in (ROOT / d).rglob("*.py")
    }
    assert sorted(files - said) == []


def test_links_of_notebooks_turn_to_the_site():
    text = "[a](../docs/oracles.md#which-one), [b](02_certificates.ipynb), [c](../README.md), [d](README.md)"
    assert tutorials.relinked(text) == (
        "[a](../oracles.md#which-one), [b](02_certificates.ipynb), [c](../index.md), [d](index.md)"
    )


def test_docstrings_keep_their_mathematics():
    text = ["max(1, |x_j|) of `a*b`, a * b and x_ is", "", "    |x|   =  1", "", "and |S|.", "", ">>> f(*a)", "|1|"]
    assert plain_docstrings.plain(text) == [
        r"max(1, \|x_j\|) of `a*b`, a \* b and x\_ is",
        "",
        "::",
        "",
        "    |x|   =  1",
        "",
        r"and \|S\|.",
        "",
        ">>> f(*a)",
        "|1|",
    ]


def test_descriptions_behind_a_name_are_not_taken_for_types():
    assert plain_docstrings.plain(["starts : at most |k|", "    searches"]) == [
        "starts",
        r"    at most \|k\|",
        "    searches",
    ]


def test_tables_and_fields_reach_the_reference():
    table = plain_docstrings.tabled(["| a | b |", "| --- | --- |", "| `c` | d |", "| | e |"])
    assert table == [".. list-table::", "   :header-rows: 1", "", "   * - a", "     - b", "   * - `c`", "     - d e"]
    fields = plain_docstrings.fields(public_names.public_names()["lsip.Iterate"])
    assert fields[1:3] == ["Parameters", "----------"]
    assert fields[fields.index("violation") + 1] == "    worst found"


def test_formulas_are_mathml_without_leftovers():
    aligned = mathml.render(r"\min & x \\ \text{s.t.} & \tan t", "block")
    assert aligned.count("<mtr>") == 2
    assert 'width="0.17em"' in aligned  # tan t, not tant
    assert "<munder>" in mathml.render(r"\max_x f", "block")
    assert mathml.leftovers(r"\arg\min_w \| w \|") == []
    assert mathml.leftovers(r"\nosuchthing x") == [r"\nosuchthing"]


def test_a_broken_link_would_be_noticed(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html">b</a><a href="#here">x</a><p id="there"></p>', encoding="utf-8")
    assert list(broken_links(tmp_path)) == ["a.html -> b.html", "a.html -> #here (no such anchor)"]


def test_another_host_would_be_noticed(tmp_path):
    page = '<script src="//cdn.example/x.js"></script><img src="a.png"><a href="//elsewhere.example/">b</a>'
    (tmp_path / "a.html").write_text(page, encoding="utf-8")
    assert list(foreign_hosts(tmp_path)) == ["a.html -> //cdn.example/x.js"]
