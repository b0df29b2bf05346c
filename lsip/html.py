"""Small tables for notebooks, as HTML: escaped, and in the colours of the page, be it light or dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .legible import html as escape

__all__ = ["card", "table"]

_CELL = "padding:0.15em 0.8em 0.15em 0;text-align:left;vertical-align:top;background:none"
_LINE = "border-bottom:1px solid color-mix(in srgb, currentColor 25%, transparent)"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of text and numbers; without a header, the first column is one."""
    head = "".join(f'<th style="{_CELL};{_LINE}">{escape(name)}</th>' for name in header)
    body = "".join(f"<tr>{_cells(row, not header)}</tr>" for row in rows)
    top = f"<thead><tr>{head}</tr></thead>" if header else ""
    style = "border-collapse:collapse;color:inherit;font-size:inherit;margin:0.3em 0"
    return f'<table style="{style}">{top}<tbody>{body}</tbody></table>'


def _cells(row: Sequence[object], titled: bool) -> str:
    return "".join(
        f'<th style="{_CELL};font-weight:normal;opacity:0.7">{escape(str(cell))}</th>'
        if titled and k == 0
        else f'<td style="{_CELL}">{escape(str(cell))}</td>'
        for k, cell in enumerate(row)
    )


def card(title: str, text: str, *parts: str) -> str:
    """A title, a sentence, and tables below them."""
    sentence = f'<div style="max-width:60em;opacity:0.8">{escape(text)}</div>' if text else ""
    return f'<div style="color:inherit"><b>{escape(title)}</b>{sentence}{"".join(parts)}</div>'
