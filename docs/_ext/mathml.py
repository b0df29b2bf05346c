"""Formulas as MathML, which browsers draw by themselves: pages need no script, no font server and no network."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert_to_element
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

ALIGNED = re.compile(r"\\(begin|end)\{(?:aligned|split|align\*?)\}")
COLUMNS = "rlrlrlrl"  # as in `aligned`
LIMITS = {"min", "max", "sup", "inf"}
BARS = {"|", "&#x0007C;", "&#x02016;"}
MISSING = {r"\arg": r"\mathrm{arg}\,"}  # what the converter does not know
log = logging.getLogger(__name__)
FUNCTIONS = {"sin", "cos", "tan", "log", "exp"}


def prepared(latex: str, display: str) -> str:
    """The formula in words that the converter knows."""
    text = latex.strip()
    if display == "block" and re.search(r"(?<!\\)(?:\\\\|&)", text) and r"\begin{" not in text:
        text = rf"\begin{{aligned}}{text}\end{{aligned}}"
    text = ALIGNED.sub(lambda m: r"\begin{array}{" + COLUMNS + "}" if m[1] == "begin" else r"\end{array}", text)
    for unknown, known in MISSING.items():
        text = re.sub(re.escape(unknown) + r"(?![a-zA-Z])", lambda _, known=known: known, text)
    return text


def leftovers(latex: str) -> list[str]:
    """Commands that would be shown as they are."""
    formula = convert_to_element(prepared(latex, "inline"))
    return [part.text for part in formula.iter() if (part.text or "").startswith("\\")]


def render(latex: str, display: str) -> str:
    """One formula; `display` is "inline" or "block"."""
    formula = convert_to_element(prepared(latex, display), display=display)
    for parent in formula.iter():
        if display == "block" and parent.tag == "msub" and parent[0].text in LIMITS:
            parent.tag = "munder"  # a limit stands below its operator
        if parent.tag == "mo" and parent.text in BARS:
            parent.set("lspace", "0.05em")  # |S| is no relation between things called S
            parent.set("rspace", "0.05em")
        for i, child in reversed(list(enumerate(parent))):
            if child.tag == "mi" and child.text in FUNCTIONS and i + 1 < len(parent) and parent[i + 1].tag != "mo":
                parent.insert(i + 1, ElementTree.Element("mspace", width="0.17em"))
    # The converter writes characters as entities, which would be escaped once more.
    return ElementTree.tostring(formula, encoding="unicode").replace("&amp;#x", "&#x")


def visit_inline(self: Any, node: nodes.math) -> None:
    """A formula in a sentence."""
    _warn(node)
    self.body.append(render(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    """A formula of its own, with its number if it has one."""
    _warn(node)
    self.body.append(self.starttag(node, "div", CLASS="math-block"))
    if node.get("number"):
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})</span>')
    self.body.append(render(node.astext(), "block"))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def _warn(node: nodes.Element) -> None:
    for command in leftovers(node.astext()):
        log.warning("The formula %r has the unknown command %s.", node.astext(), command, location=node)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer and choose it."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
