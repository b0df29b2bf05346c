"""LaTeX to MathML, which browsers show without any script or font from elsewhere.

Only the LaTeX that this toolkit prints is read (`expressions.printing`, `Domain.latex`). Nothing is refused: names are
the user's, so that what is not understood is shown as it stands, escaped.
"""

from __future__ import annotations

import re

from ..legible import html as escape

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\s+|.", re.DOTALL)
_LETTERS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
    "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ",
    "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Delta": "Δ", "infty": "∞", "top": "⊤",
}  # fmt: skip
_OPERATORS = {
    "le": "≤", "ge": "≥", "in": "∈", "forall": "∀", "times": "×", "cup": "∪", "cdot": "⋅", "dots": "…", "sum": "∑",
}  # fmt: skip
_FUNCTIONS = {"sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "log", "max", "min"}
_FENCES = {"|": "|", "\\|": "‖", "\\{": "{", "\\}": "}", ".": ""}
_NAMED = {"\\backslash": "\\", "\\wedge": "^", "\\sim": "~", "\\text": ""}
OPERAND, OPERATOR, OPEN = "operand", "operator", "open"
_PRODUCT = '<mspace width="0.16em"></mspace>'  # between factors, as the space between them in the source says


def mathml(latex: str, block: bool = False) -> str:
    """A `<math>` element; `block` gives it lines of its own, with sums and fractions in full size."""
    body = _Reader(latex).row()
    return f"<math{' display=block' if block else ''}>{body}</math>"


class _Reader:
    """A cursor over the tokens of a formula."""

    def __init__(self, latex: str) -> None:
        self.tokens = _TOKEN.findall(latex)
        self.at = 0

    def row(self, *ends: str) -> str:
        """Everything up to one of the tokens `ends`, which is passed over, as one `<mrow>`."""
        atoms: list[tuple[str, str]] = []  # markup, and what it is: an operand, an operator, or an opening bracket
        spaced = False
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token in ends:
                self.at += 1
                break
            if token.isspace():
                spaced, self.at = True, self.at + 1
                continue
            if token in "^_" and len(token) == 1:
                base = atoms.pop() if atoms else ("<mrow></mrow>", OPERAND)
                atoms.append((self._scripts(base[0]), base[1]))
                continue
            before = atoms[-1][1] if atoms else OPEN
            markup, kind = self._atom()
            if spaced and before == OPERAND and kind != OPERATOR:
                atoms.append((_PRODUCT, OPERATOR))
            if token == "-" and before != OPERAND:
                markup = '<mo form="prefix">−</mo>'
            atoms.append((markup, kind))
            spaced = False
        return "<mrow>" + "".join(markup for markup, _ in atoms) + "</mrow>"

    def _scripts(self, base: str) -> str:
        scripts: dict[str, str] = {}
        while self.at < len(self.tokens) and self.tokens[self.at] in ("^", "_"):
            place = self.tokens[self.at]
            self.at += 1
            scripts[place] = self._argument()
        if len(scripts) == 2:
            return f"<msubsup>{base}{scripts['_']}{scripts['^']}</msubsup>"
        kind, body = next(iter(scripts.items()))
        return f"<msup>{base}{body}</msup>" if kind == "^" else f"<msub>{base}{body}</msub>"

    def _argument(self) -> str:
        if self.at >= len(self.tokens):
            return "<mrow></mrow>"
        if self.tokens[self.at] == "{":
            self.at += 1
            return self.row("}")
        return self._atom()[0]

    def _atom(self) -> tuple[str, str]:
        token = self.tokens[self.at]
        self.at += 1
        if token.startswith("\\") and len(token) > 1:
            return self._command(token)
        if token == "{":
            return self.row("}"), OPERAND
        if token[0].isdigit():
            return f"<mn>{token}</mn>", OPERAND
        if token.isalpha():
            return f"<mi>{escape(token)}</mi>", OPERAND
        if token in "([":
            return f'<mo stretchy="false" form="prefix">{token}</mo>', OPEN
        if token in ")]":
            return f'<mo stretchy="false" form="postfix">{token}</mo>', OPERAND
        return f"<mo>{escape('−' if token == '-' else token)}</mo>", OPERATOR

    def _command(self, token: str) -> tuple[str, str]:
        name = token[1:]
        if name == "frac":
            return f"<mfrac>{self._argument()}{self._argument()}</mfrac>", OPERAND
        if name == "sqrt":
            return f"<msqrt>{self._argument()}</msqrt>", OPERAND
        if name in ("mathrm", "operatorname"):
            return f'<mi mathvariant="normal">{escape(self._raw())}</mi>', OPERAND
        if name == "mathbb":
            return f"<mi>{escape(self._raw().replace('R', 'ℝ'))}</mi>", OPERAND
        if name == "text":
            return f"<mtext>{escape(self._raw())}</mtext>", OPERATOR
        if name == "left":
            return self._fenced(), OPERAND
        if name == "begin":
            return (self._cases() if self._raw() == "cases" else "<mrow></mrow>"), OPERAND
        if name in _LETTERS:
            return f"<mi>{_LETTERS[name]}</mi>", OPERAND
        if name in _OPERATORS:
            return f"<mo>{_OPERATORS[name]}</mo>", OPERATOR
        if name in _FUNCTIONS:
            return f"<mi>{name}</mi>", OPERAND
        if name == "quad":
            return '<mspace width="1em"></mspace>', OPERATOR
        if name in "{}":
            form, kind = ("prefix", OPEN) if name == "{" else ("postfix", OPERAND)
            return f'<mo stretchy="false" form="{form}">{name}</mo>', kind
        return f"<mtext>{escape(name if len(name) == 1 else token)}</mtext>", OPERAND

    def _raw(self) -> str:
        """The text of a `{...}`, braces counted: names as `legible.mathematics` wrote them."""
        if self.at >= len(self.tokens) or self.tokens[self.at] != "{":
            return ""
        self.at += 1
        depth, parts = 1, []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            depth += (token == "{") - (token == "}")
            if depth == 0:
                break
            if token not in ("{", "}"):
                parts.append(_NAMED.get(token, token.removeprefix("\\") if len(token) == 2 else token))
        return "".join(parts)

    def _fenced(self) -> str:
        opening = self._fence()
        inside = self.row("\\right")
        return f'<mrow><mo fence="true">{opening}</mo>{inside}<mo fence="true">{self._fence()}</mo></mrow>'

    def _fence(self) -> str:
        if self.at >= len(self.tokens):
            return ""
        token = self.tokens[self.at]
        self.at += 1
        return escape(_FENCES.get(token, token))

    def _cases(self) -> str:
        """The values, each with its condition, up to the end of the environment."""
        rows: list[list[str]] = [[]]
        while self.at < len(self.tokens):
            start = self.at
            rows[-1].append(self.row("&", "\\\\", "\\end"))
            ended = self.tokens[self.at - 1] if self.at > start else ""
            if ended == "\\\\":
                rows.append([])
            elif ended != "&":
                self._raw()
                break
        lines = "".join(f"<mtr>{''.join(f'<mtd>{cell}</mtd>' for cell in cells)}</mtr>" for cells in rows)
        return f'<mrow><mo fence="true">{{</mo><mtable columnalign="left left">{lines}</mtable></mrow>'
