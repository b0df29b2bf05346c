"""The directives `gallery`, a card an example with its picture and title, and `picture`, the picture of an example."""

from __future__ import annotations

import gallery
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

PICTURES = "/figures/gallery"


class Gallery(SphinxDirective):
    """Cards that lead from a page of the top folder to the examples; `most` shows the first few."""

    option_spec = {"most": directives.nonnegative_int}  # noqa: RUF012 - as docutils has it

    def run(self) -> list[nodes.Node]:
        cards = nodes.container(classes=["gallery"])
        for name in gallery.names()[: self.options.get("most")]:
            self.env.note_dependency(self.env.doc2path(f"examples/{name}"))
            cards += _card(name)
        return [cards]


def _card(name: str) -> nodes.Node:
    card = nodes.reference("", "", refuri=f"examples/{name}.html", classes=["card"], internal=True)
    card += [_image(name, paper, "") for paper in gallery.PAPERS]
    card += nodes.inline("", gallery.title(name))
    return nodes.paragraph("", "", card)


def _image(name: str, paper: str, alt: str, *classes: str) -> nodes.image:
    return nodes.image(uri=f"{PICTURES}/{name}_{paper}.png", alt=alt, classes=[*classes, f"only-{paper}"])


class Picture(SphinxDirective):
    """The picture of the example that the page is."""

    def run(self) -> list[nodes.Node]:
        name = self.env.docname.rpartition("/")[2]
        return [_image(name, paper, gallery.title(name), "picture") for paper in gallery.PAPERS]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("gallery", Gallery)
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
