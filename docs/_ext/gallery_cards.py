"""The directive `gallery`: a card a section of a page, with its picture and title; `most` shows the first few."""

from __future__ import annotations

from pathlib import Path

import gallery
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

PICTURES = "figures/gallery"


class Gallery(SphinxDirective):
    """Cards that lead to the sections of a page of the same folder, by default of this one."""

    optional_arguments = 1
    option_spec = {"most": directives.nonnegative_int}  # noqa: RUF012 - as docutils has it

    def run(self) -> list[nodes.Node]:
        here = self.env.docname
        page = self.arguments[0] if self.arguments else here
        path = Path(self.env.doc2path(page))
        self.env.note_dependency(str(path))
        titles = [title for title, _ in gallery.sections(path.read_text(encoding="utf-8")) if title]
        address = "" if page == here else f"{page}.html"
        cards = nodes.container(classes=["gallery"])
        cards += [self._card(title, address) for title in titles[: self.options.get("most")]]
        return [cards]

    def _card(self, title: str, address: str) -> nodes.Node:
        name = gallery.slug(title)
        card = nodes.reference("", "", refuri=f"{address}#{name}", classes=["card"], internal=True)
        for paper in ("light", "dark"):
            card += nodes.image(uri=f"{PICTURES}/{name}_{paper}.png", alt="", classes=[f"only-{paper}"])
        card += nodes.inline(title, title)
        return nodes.paragraph("", "", card)


class Picture(SphinxDirective):
    """The picture of a section, by its title."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        name = gallery.slug(self.arguments[0])
        return [
            nodes.image(
                uri=f"{PICTURES}/{name}_{paper}.png", alt=self.arguments[0], classes=["picture", f"only-{paper}"]
            )
            for paper in ("light", "dark")
        ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("gallery", Gallery)
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
