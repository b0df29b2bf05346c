"""Text that is shown as it stands, wherever it goes: on terminals that cannot encode it, in LaTeX, HTML and pictures.

Names are the user's and may hold anything. Formulas hold mathematical characters, which an ASCII terminal cannot show.
`str()` does not know where its text goes. Most of it is printed, so the encoding of standard output decides: characters
that it lacks are spelled in ASCII. Tables and commands write through `say`, which looks at its own stream.
"""

from __future__ import annotations

import re
import sys
from codecs import register_error
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from html import escape as _escape
from io import TextIOWrapper
from typing import TextIO, TypeVar
from unicodedata import category, normalize

__all__ = [
    "html",
    "legible",
    "legible_repr",
    "legibly",
    "mathematics",
    "picture",
    "printable",
    "say",
    "shortened",
    "spell_everything",
]

T = TypeVar("T")
SPELL = "lsip.spelled"  # the name of a handler of codecs
ENCODING = "utf-8"  # of streams that do not say
RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True))
LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉ⱼ", "0123456789j", strict=True))
SPELLED = {  # what lsip prints, in ASCII; other characters become escapes, such as \u03bb
    "…": "...", "∈": "in", "∂": "d", "∇": "grad ",
    "−": "-", "–": "-", "≤": "<=", "≥": ">=", "⪰": ">=", "≈": "~", "±": "+-", "·": "*",
    "⋅": "*", "×": "x", "∞": "inf", "‖": "||", "√": "sqrt", "∫": "integral", "Σ": "sum", "∑": "sum", "ᵀ": ".T",
    "⊤": ".T", "∪": "or", "∩": "and", "∀": "for all", "ℝ": "R", "ℤ": "Z", "Δ": "Delta", "λ": "lambda", "π": "pi",
    "✓": "yes", "§": "section", "█": "#", "\N{NO-BREAK SPACE}": " ",
}  # fmt: skip
_RUNS = re.compile(f"[{''.join(RAISED)}]+|[{''.join(LOWERED)}]+")
_LATEX = {  # in braces where a page that shows the source of a formula would take it for a tag or an entity
    "\\": r"{\backslash}", "{": r"\{", "}": r"\}", "$": r"\$", "%": r"\%", "#": r"\#", "_": r"\_", "&": r"{\&}",
    "^": r"{\wedge}", "~": r"{\sim}", "<": "{<}", ">": "{>}", "|": "|", " ": r"\ ",
}  # fmt: skip
_MARKS = re.compile("[\u0300-\u036f]")  # accents that no letter took, which would sit on a brace
_SYMBOLS = re.compile("[\u2010-\u2bff]")  # of mathematics, which formulas have, and text has not
_PLAIN = re.compile(
    f"[^A-Za-z0-9\u2010-\u2bff{re.escape(''.join(_LATEX))}]+|[\u2010-\u2bff{re.escape(''.join(_LATEX))}]"
)


def printable(name: str) -> str:
    """A name on one line: characters that nobody sees, or that move the cursor, become escapes, as in `repr`."""
    return name if name.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in name)


def shortened(text: str, most: int = 200) -> str:
    """A name or a formula in so many characters at most: its beginning and its end, which tell most about it."""
    text = printable(text)
    return text if len(text) <= most else f"{text[: most - most // 3 - 3].rstrip()} … {text[-(most // 3) :].lstrip()}"


def legible(text: str, encoding: str = ENCODING) -> str:
    """Text of one or more lines that an encoding has all characters for, and that only has characters one can see."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(c if c.isprintable() or c in "\n\t" or category(c) == "Zs" else _escaped(c) for c in text)
    if _encodes(encoding, text):
        return text
    text = _RUNS.sub(lambda run: run[0] if _encodes(encoding, run[0]) else _line(run[0]), text)
    return "".join(c if _encodes(encoding, c) else SPELLED.get(c) or _escaped(c) for c in text)


def legibly(method: Callable[[T], str]) -> Callable[[T], str]:
    """A `__str__` or `__repr__` whose text standard output can encode."""

    @wraps(method)
    def inner(self: T) -> str:
        return legible(method(self), _encoding(sys.stdout))

    return inner


def legible_repr(kind: type[T]) -> type[T]:
    """A dataclass that holds names or formulas; its `repr` is text that standard output can encode."""
    kind.__repr__ = legibly(kind.__repr__)  # type: ignore[method-assign]
    return kind


def say(text: str, *, start: str = "", end: str = "\n", stream: TextIO | None = None) -> None:
    """Print text as a stream can encode it, at once; to nobody where the stream is closed, or its reader has gone.

    The stream is looked up late, so that redirected standard output is respected.
    """
    stream = sys.stdout if stream is None else stream
    if stream is None or getattr(stream, "closed", False):
        return
    with suppress(BrokenPipeError):
        print(start + legible(text, _encoding(stream)), end=end, file=stream, flush=True)


def spell_everything() -> None:
    """Let standard output and standard error spell in ASCII whatever they cannot encode, for the rest of a process."""
    register_error(SPELL, _spelled)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=SPELL)


def html(text: str) -> str:
    """Text inside of an element or of an attribute in quotes."""
    return _escape(legible(text))


def picture(text: str) -> str:
    """Text for matplotlib, which takes what stands between two dollar signs for a formula."""
    return legible(text).replace("$", r"\$")


def mathematics(name: str) -> str:
    """A name inside of a formula in LaTeX, upright where it has several letters; valid whatever it holds."""
    composed = _MARKS.sub(lambda mark: _escaped(mark[0]), normalize("NFC", printable(name)))
    return _PLAIN.sub(_written, composed)


def _written(run: re.Match[str]) -> str:
    """What is neither a letter nor a digit: commands, symbols by themselves, and the rest as text."""
    plain = run[0]
    return _LATEX.get(plain) or (f"{{{plain}}}" if _SYMBOLS.match(plain) else rf"\text{{{plain}}}")


def _spelled(error: UnicodeError) -> tuple[str, int]:
    """A handler of codecs: the characters that cannot be encoded, in ASCII."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return legible(error.object[error.start : error.end], "ascii"), error.end


def _encoding(stream: TextIO | None) -> str:
    return getattr(stream, "encoding", None) or ENCODING


def _encodes(encoding: str, text: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeError, LookupError):
        return text.isascii()
    return True


def _line(run: str) -> str:
    """Raised or lowered digits on the line."""
    raised = run[0] in RAISED
    return ("^" if raised else "_") + "".join((RAISED if raised else LOWERED)[c] for c in run)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
