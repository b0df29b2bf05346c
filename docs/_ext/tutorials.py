"""The tutorials are the notebooks of the repository: copied next to the pages before a build, links turned to the site.

A copy and not a symbolic link, because links within the site have other paths than links within the repository, and
because Windows checkouts often have no symbolic links. Git ignores the copies.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

DOCS = Path(__file__).resolve().parent.parent
NOTEBOOKS, TUTORIALS = DOCS.parent / "notebooks", DOCS / "tutorials"
LINK = re.compile(r"\]\(([^)\s]+)\)")


def relinked(markdown: str) -> str:
    """A cell of text whose links to the repository lead to pages of the site."""

    def site(match: re.Match[str]) -> str:
        target, hash_, anchor = match[1].partition("#")
        if target == "README.md":
            target = "index.md"
        elif target == "../README.md":
            target = "../index.md"
        elif target.startswith("../docs/"):
            target = "../" + target.removeprefix("../docs/")
        return f"]({target}{hash_}{anchor})"

    return LINK.sub(site, markdown)


def copied(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook for the site."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = relinked("".join(cell["source"]))
    return notebook


def copy_all(app: Sphinx, config: Config) -> None:
    """Bring the copies up to date; unchanged ones keep their time stamp, so that Sphinx need not read them again."""
    wanted = {path.name: path for path in sorted(NOTEBOOKS.glob("*.ipynb"))}
    for old in TUTORIALS.glob("*.ipynb"):
        if old.name not in wanted:
            old.unlink()
    for name, path in wanted.items():
        text = json.dumps(copied(json.loads(path.read_text(encoding="utf-8"))), ensure_ascii=False, indent=1)
        target = TUTORIALS / name
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            part = target.with_suffix(".part")
            part.write_text(text, encoding="utf-8")
            part.replace(target)  # two builds at once never see half a file


def setup(app: Sphinx) -> dict[str, bool]:
    """Copy before Sphinx looks for pages."""
    app.connect("config-inited", copy_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
