"""A strict judge of LaTeX: what it accepts, LaTeX with amsmath, KaTeX and MathJax accept."""

from __future__ import annotations

import re

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|.", re.DOTALL)
COMMANDS = {
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "kappa", "lambda", "mu", "nu", "xi", "pi"),
    *("rho", "sigma", "tau", "phi", "chi", "psi", "omega", "Delta", "infty", "top", "backslash", "wedge", "sim"),
    *("le", "ge", "in", "forall", "times", "cup", "cap", "cdot", "dots", "sum", "int", "quad", "succeq", "frac"),
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "log", "max", "min", "sqrt"),
    *("left", "right", "begin", "end", "mathrm", "mathbb", "operatorname", "text"),
}
ESCAPED = set("{}$%#_&| ,\\")


def judge(source: str) -> None:
    """Raise an AssertionError that names what is wrong with a formula, between its dollar signs."""
    for fence in ("$$", "$"):
        if source.startswith(fence):
            assert source.endswith(fence)
            assert len(source) >= 2 * len(fence)
            source = source[len(fence) : -len(fence)]
            break
    tokens = TOKEN.findall(source)
    assert "".join(tokens) == source
    at = _group(tokens, 0, table=False)
    assert at == len(tokens), f"a closing brace too many in {source}"


def _group(tokens: list[str], at: int, table: bool) -> int:
    """Read up to a closing brace, or to the end."""
    scripts: set[str] = set()  # of the atom before
    fences = environments = 0
    while at < len(tokens):
        token = tokens[at]
        if token == "}":
            break
        at += 1
        if token in ("_", "^"):
            assert token not in scripts, f"a double script in {''.join(tokens)}"
            scripts.add(token)
            assert at < len(tokens), "a script of nothing"
            assert tokens[at] not in ("_", "^", "}"), "a script of nothing"
            if tokens[at] == "{":
                at = _closed(tokens, at + 1, table)
            else:
                at += 1
            continue
        if not token.isspace():
            scripts = set()
        if token == "{":
            at = _closed(tokens, at, table)
        elif token == "\\text":
            assert tokens[at] == "{"
            at = _text(tokens, at + 1)
        elif token in ("\\begin", "\\end"):
            end = tokens.index("}", at)
            assert "".join(tokens[at + 1 : end]) in ("aligned", "cases")
            environments += 1 if token == "\\begin" else -1
            at = end + 1
        elif token in ("\\left", "\\right"):
            fences += 1 if token == "\\left" else -1
            assert tokens[at] in ("(", ")", "[", "]", "|", "\\|", "\\{", "\\}", ".")
            at += 1
        elif len(token) > 1:
            assert token[1:] in COMMANDS or token[1:] in ESCAPED, f"{token} is no command"
        else:
            assert token.isascii() or "\u2010" <= token < "\u2c00", f"{token!r} outside of text"
            assert token.isprintable(), f"{token!r} cannot be seen"
            assert token not in "$%#~'\"", f"a raw {token}"
            assert token != "&" or environments > 0, "a raw &"
    assert not fences, f"unbalanced fences in {''.join(tokens)}"
    assert not environments
    return at


def _closed(tokens: list[str], at: int, table: bool) -> int:
    at = _group(tokens, at, table)
    assert at < len(tokens), "a brace is open"
    return at + 1


def _text(tokens: list[str], at: int) -> int:
    """Text, which is shown as it stands."""
    while tokens[at] != "}":
        assert tokens[at][0] not in "\\{$%#_&^~<>", f"a raw {tokens[at]} in text"
        assert tokens[at].isprintable()
        at += 1
    return at + 1
