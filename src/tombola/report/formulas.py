"""Formulas in plain text as MathML: powers, indices and roots inside of sentences.

Claims and errata write formulas as terminals show them, such as "2 exp(−s x^2)" or "√(T ln k)". On
a page powers, indices and roots are set as MathML, which every browser draws without scripts; all
other text stays text. A screen reader reads both.
"""

import html
import re
from collections.abc import Callable

from markupsafe import Markup

# Base of a power or index that is not a group in brackets: a number, or a name with its accents.
_BASE = re.compile(r"(?:\d+(?:\.\d+)?|[^\W\d_][\u0300-\u036f]*(?:[^\W\d_][\u0300-\u036f]*)*)$")
# Exponent or index without brackets: a sign, then a number or a name of letters.
_SCRIPT = re.compile(r"[−+-]?(?:\d+|[^\W\d_][\u0300-\u036f]*|\*)")
# What stands under a root without brackets: a number or one letter.
_RADICAND = re.compile(r"\d+|[^\W\d_]")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_OPENING = {closing: opening for opening, closing in _CLOSING.items()}


def escape(text: str) -> str:
    """Return plain text as HTML."""
    return html.escape(text, quote=False)


def typeset(text: str, plain: Callable[[str], str] = escape) -> Markup:
    """Return a text as HTML, with MathML for powers, indices and roots.

    plain: writes the parts between formulas; for a page in Markdown it escapes that, too.

    >>> typeset("4√T < 2^i")
    Markup('4<math><msqrt><mi>T</mi></msqrt></math> &lt; <math><msup><mn>2</mn><mi>i</mi></msup></math>')
    """
    parts = (plain(part) if isinstance(part, str) else _formula(part) for part in _parse(text))
    return Markup("".join(parts))


def _parse(text: str) -> "list[str | tuple[str, ...]]":
    """Return plain texts, and nodes (kind, operands): "msup", "msub" and "msqrt"."""
    parts: list[str | tuple[str, ...]] = []
    plain = ""
    place = 0
    while place < len(text):
        sign = text[place]
        if sign == "√":
            operand, place = _operand(text, place + 1, _RADICAND)
            if operand:
                parts += [plain, ("msqrt", operand)]
                plain = ""
                continue
            plain += sign
            continue
        if sign in "^_":
            operand, after = _operand(text, place + 1, _SCRIPT)
            base = _base(plain)
            if operand and base:
                parts += [plain[: -len(base)], ("msup" if sign == "^" else "msub", base, operand)]
                plain = ""
                place = after
                continue
        plain += sign
        place += 1
    return [part for part in [*parts, plain] if part]


def _operand(text: str, start: int, pattern: re.Pattern[str]) -> tuple[str, int]:
    """Return the group in brackets, without them, or the match at a place, and the place after it."""
    if text[start : start + 1] == "(":
        end = _matching(text, start)
        if end:
            return text[start + 1 : end], end + 1
    match = pattern.match(text, start)
    return (match.group(), match.end()) if match else ("", start)


def _matching(text: str, start: int) -> int:
    """Return the place of the bracket that closes the one at `start`; 0 if there is none."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] in _CLOSING) - (text[place] in _OPENING)
        if depth == 0:
            return place if text[place] == _CLOSING[text[start]] else 0
    return 0


def _base(plain: str) -> str:
    """Return the group in brackets, the number or the name at the end of a text; "" if none."""
    if plain[-1:] in _OPENING:
        depth = 0
        for place in range(len(plain) - 1, -1, -1):
            depth += (plain[place] in _OPENING) - (plain[place] in _CLOSING)
            if depth == 0:
                return plain[place:]
        return ""
    match = _BASE.search(plain)
    return match.group() if match else ""


def _formula(part: tuple[str, ...]) -> str:
    return f"<math>{_node(part)}</math>"


def _node(part: "str | tuple[str, ...]") -> str:
    if isinstance(part, str):
        return "".join(_token(token) for token in re.findall(r"\d+(?:\.\d+)?|\w+|\S", part))
    kind, *operands = part
    inner = "".join(_row(operand) for operand in operands)
    return f"<{kind}>{inner}</{kind}>"


def _row(text: str) -> str:
    """Return a text as one MathML element."""
    nodes = [_node(part) for part in _parse(text)]
    row = "".join(nodes)
    is_single = len(nodes) == 1 and len(re.findall(r"</m[ino]>$", row)) == 1 == row.count("<m")
    return row if is_single else f"<mrow>{row}</mrow>"


def _token(token: str) -> str:
    text = escape(token)
    if token[0].isdigit():
        return f"<mn>{text}</mn>"
    if not token[0].isalpha():
        return f"<mo>{text}</mo>"
    # A word such as ln needs a thin space on both sides; a letter does not.
    space = '<mspace width="0.17em"/>' if len(token) > 1 else ""
    return f"{space}<mi>{text}</mi>{space}"
