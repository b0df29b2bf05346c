"""Finding problems in the catalogue: by name, by words, by tag."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from ..errors import ModelError
from ..validation import Words, checked, shown
from .entry import REGISTRY, Entry


def entries() -> tuple[Entry, ...]:
    """Every problem, in the order of the files and of the functions within them."""
    return tuple(REGISTRY.values())


def names() -> tuple[str, ...]:
    """The names of all problems, in the order of `entries`."""
    return tuple(REGISTRY)


@checked(name=Words)
def get(name: str) -> Entry:
    """The problem with this name; a `ModelError` suggests similar names if there is none."""
    if name in REGISTRY:
        return REGISTRY[name]
    containing = [other for other in REGISTRY if name and name in other]
    close = get_close_matches(name, REGISTRY, cutoff=0.5) or containing[:3]
    advice = f"Did you mean {' or '.join(close)}?" if close else "`lsip.catalogue.names()` lists them all."
    raise ModelError(f"The catalogue has no problem named {name!r}. {advice}")


@checked(text=Words)
def search(text: str = "", tags: str | Iterable[str] = ()) -> tuple[Entry, ...]:
    """The problems that mention every word of `text` and carry all of `tags`.

    Words are looked for in names, titles, sources, notes, tags and statuses, whatever their case.
    """
    words = text.lower().split()
    given = (tags,) if isinstance(tags, str) else tags
    if not isinstance(given, list | tuple | set | frozenset) or not all(isinstance(tag, str) for tag in given):
        raise ModelError(f"`tags` are words, one or a list of them; got {shown(tags)}.")
    wanted = set(given)

    def matches(entry: Entry) -> bool:
        fields = (entry.name, entry.title, entry.source, entry.note, entry.status, *entry.tags)
        mentioned = " ".join(fields).lower()
        return wanted <= set(entry.tags) and all(word in mentioned for word in words)

    return tuple(entry for entry in REGISTRY.values() if matches(entry))
