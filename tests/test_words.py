"""The words of the documentation: spelling, one place for each fact, and links to headings that exist."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

import lsip

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("docs", "notebooks")
ALLOWED = Path(__file__).parent / "words.txt"  # right words that look like slips of frequent ones
FENCE = re.compile(r"^```.*?^```$|^:::.*?^:::$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`]*`|\$[^$]*\$|\]\([^)]*\)|https?://\S+|<[^>]*>|\{[\w-]+\}")
WORD = re.compile(r"(?<![\w./_-])[a-z]{5,}(?![\w_/]|\.\w)")
FREQUENT = 6  # times that a word occurs before a rare neighbour of it counts as a slip
AMERICAN = re.compile(
    r"\b(colors?|behavior|center(?:ed|s)?|labeled|labeling|modeling|modeled|neighbor\w*|favor\w*|gray|"
    r"analyze\w*|fulfill\w*|artifact\w*|catalog|discretiz\w*|lineariz\w*|normaliz\w*|optimiz(?:e|ed|es|ing|er)|organiz\w*|recogniz\w*|"
    r"regulariz\w*|summariz\w*|vectoriz\w*|visualiz\w*)\b"
)


def pages() -> list[Path]:
    """All pages in Markdown that people read."""
    return [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(p for d in FOLDERS for p in sorted((ROOT / d).rglob("*.md"))),
    ]


def prose(page: str) -> str:
    """What is neither code nor address."""
    return CODE.sub(" ", FENCE.sub(" ", page))


def texts() -> dict[str, str]:
    """The prose of every page and notebook."""
    found = {str(p.relative_to(ROOT)): prose(p.read_text(encoding="utf-8")) for p in pages()}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        found[path.name] = prose("\n".join(cell.source for cell in cells if cell.cell_type == "markdown"))
    return found


def neighbours(word: str) -> Iterator[str]:
    """Words that one slip of the pen makes: a letter too many or too few, or two exchanged."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    for i in range(len(word)):
        yield word[:i] + word[i + 1 :]
        yield from (word[:i] + c + word[i:] for c in letters)
        if i + 1 < len(word):
            yield word[:i] + word[i + 1] + word[i] + word[i + 2 :]


def inflected(a: str, b: str) -> bool:
    """Whether two words may be forms of one: they differ at the end only, as `model` and `models`."""
    common = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return len(a) - common <= 1 and len(b) - common <= 1


def words_of_code() -> set[str]:
    """Words of the packages: one that occurs there as well is no slip."""
    files = (path for package in ("lsip", "rl", "envs") for path in sorted((ROOT / package).rglob("*.py")))
    return {word for path in files for word in re.findall(r"[a-z]{5,}", path.read_text(encoding="utf-8").lower())}


def slips(words: Counter[str], allowed: set[str]) -> dict[str, str]:
    """Words that occur once and look like a slip of a frequent one."""
    found = {}
    for word, count in words.items():
        if count > 1 or word in allowed:
            continue
        likely = [n for n in neighbours(word) if words[n] >= FREQUENT and len(n) > 3 and not inflected(n, word)]
        if likely:
            found[word] = likely[0]
    return found


def test_no_word_is_a_slip_of_another():
    words = Counter(word for text in texts().values() for word in WORD.findall(text))
    found = slips(words, words_of_code() | set(ALLOWED.read_text(encoding="utf-8").split()))
    assert found == {}, "Correct these words, or add them to tests/words.txt if they are right."


def test_a_slip_would_be_noticed():
    words = Counter(("constraint " * 8 + "constriant constrait constraints violation").split())
    assert slips(words, set()) == {"constriant": "constraint", "constrait": "constraint"}
    assert slips(words, {"constriant", "constrait"}) == {}


def test_spelling_is_british():
    found = {name: AMERICAN.findall(text) for name, text in texts().items()}
    assert {name: words for name, words in found.items() if words} == {}


# ---- one place for each fact -----------------------------------------------------------------------------------------


def mentions(pattern: str) -> dict[str, list[str]]:
    """Where prose says something, and with which words."""
    found = {name: re.findall(pattern, " ".join(text.split())) for name, text in texts().items()}
    return {name: words for name, words in found.items() if words}


def test_nobody_counts_notebooks_by_hand():
    assert mentions(r"(?i)\b(?:\d+|nine|ten|eleven|twelve|thirteen|fourteen|fifteen) (?:notebooks|tutorials)\b") == {}


def test_the_dimension_is_discussed_on_one_page():
    """The range of index dimensions that is practical is said in docs/limits.md; others link to it."""
    number, thing = r"(?i)(?:three|four|five|six|seven|eight)(?: index)?", r"(?: coordinates| dimensions)?"
    practical = number + thing + " are (?:routine|practical|possible)"
    assert set(mentions(practical)) == {"docs/limits.md"}


def test_nothing_that_works_is_called_refused():
    """Integers, equalities for all y and sets without ends are solved; their own pages say what is refused of them."""
    assert mentions(r"(?i)integers? (?:variables )?(?:is|are) (?:refused|not supported)") == {}
    equalities = mentions(r"(?i)equalit(?:y|ies) for (?:all|every)[^.]{0,40}(?:is|are) refused")
    assert set(equalities) <= {"docs/language.md", "docs/limits.md"}
    assert mentions(r"(?i)all (?:index )?sets are compact|only compact") == {}


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    least = project["requires-python"].removeprefix(">=").strip()
    told = {words for each in mentions(r"Python (3\.\d+) or newer").values() for words in each}
    assert told == {least}


def test_the_size_of_the_catalogue_is_that_of_the_code():
    pattern = r"(\d+) (?:catalogue problems|problems of the catalogue|models of the catalogue)"
    counts = {int(n) for each in mentions(pattern).values() for n in each}
    assert counts == {len(lsip.catalogue.names())}


def test_pages_agree_on_the_published_models():
    """The counts of README and benchmarks page are those of the last run of `python -m benchmarks published`."""
    run = json.loads((ROOT / "benchmarks" / "results" / "published.json").read_text(encoding="utf-8"))["summary"]
    told = {words for each in mentions(rf"(\d+) of {run['models']}").values() for words in each}
    assert told == {str(run["certified"])}


# ---- the sidebar, and links to headings ------------------------------------------------------------------------------

TREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_sidebar_has_at_most_eight_entries_a_section():
    for name in ("index.md", "tutorials/index.md", "reference/index.md"):
        for tree in TREE.findall((ROOT / "docs" / name).read_text(encoding="utf-8")):
            entries = [line for line in tree.splitlines() if line and not line.startswith(":")]
            assert 1 <= len(entries) <= 8, f"docs/{name}: {len(entries)} entries"


def anchors(page: str) -> set[str]:
    """What can be linked to in a page: its headings and its named places."""
    body = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#{1,6} (.+)$", body, re.MULTILINE)
    plain = (re.sub(r"[`*]|\]\([^)]*\)|\[", "", title).strip().lower() for title in titles)
    slugs = {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}
    return slugs | set(re.findall(r"^\(([\w-]+)\)=$", page, re.MULTILINE))


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_headings(path):
    page = path.read_text(encoding="utf-8")
    wrong = []
    for target, anchor in re.findall(r"\]\(([^)#:\s]*\.md|)#([^)\s]+)\)", prose_with_links(page)):
        there = (path.parent / target).resolve() if target else path
        if there.exists() and anchor not in anchors(there.read_text(encoding="utf-8")):
            wrong.append(f"{target}#{anchor}")
    assert wrong == []


def prose_with_links(page: str) -> str:
    return re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)


def test_a_wrong_anchor_would_be_noticed():
    assert anchors("(here)=\n## `lsip` in [C](c.md)\n\n```sh\n# no heading\n```\n") == {"here", "lsip-in-c"}
