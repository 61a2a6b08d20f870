"""Notation: how a number is written in a cell, and what it is."""

import math
import re
from typing import Any, NamedTuple

MISSING = frozenset(
    {"", "na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "nil", "missing", "?", "-", "--", ".", "<na>"}
)
TRUTH = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
PLAIN, PER_CENT, WORD, COMMA, EITHER, POINT = "plain", "per cent", "word", "decimal comma", "comma", "point"
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # 1,234: a decimal comma, or one between thousands
_POINT = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")  # 1.234: the same, where a comma is decimal
_COMMA = re.compile(r"[+-]?\d*,\d+")


class Written(NamedTuple):
    """What a cell holds: a finite number, NaN if it is missing, None if it is neither; and how that is written."""

    number: float | None
    notation: str = PLAIN


def number_in(cell: Any) -> Written:
    """Return the number in a cell.

    >>> [number_in(cell).number for cell in (" 0.5 ", "True", "NA", "12.5%", "0,5", "good", "1_000")]
    [0.5, 1.0, nan, 0.125, 0.5, None, None]
    >>> number_in("1,234").notation
    'comma'
    """
    if not isinstance(cell, str):
        return Written(_value(cell))
    text = cell.strip().lower()
    if text in MISSING:
        return Written(math.nan)
    if text in TRUTH:
        return Written(TRUTH[text], PLAIN if text in ("true", "false") else WORD)
    if text.endswith("%"):
        share = number_in(text[:-1])
        return Written(None if share.number is None else share.number / 100, PER_CENT)
    if _COMMA.fullmatch(text):
        return Written(float(text.replace(",", ".")), EITHER if _EITHER.fullmatch(text) else COMMA)
    return Written(None if "_" in text else _value(text), POINT if pointed(text) else PLAIN)


def pointed(text: str) -> bool:
    """Say whether a number has a point that would stand between thousands where commas are decimal."""
    return text.strip()[-4:-3] == "." and _POINT.fullmatch(text.strip()) is not None


def _value(cell: Any) -> float | None:
    if cell is None or str(cell) in ("<NA>", "NaT"):
        return math.nan
    try:
        value = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isinf(value) else value
