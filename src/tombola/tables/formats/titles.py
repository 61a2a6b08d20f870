"""The line with the names of columns, below lines with a title."""

from collections.abc import Sequence

from tombola._formatting import is_number, plural, truncate

# Lines with something in them among which the header is looked for.
MAX_TITLE_LINES = 6


def header_place(rows: Sequence[Sequence[str]]) -> int:
    """Return the place of the header: below the lines with one filled cell, if that is certain.

    It is certain if all cells of the header are different words, its first may be blank, and the
    next line is as wide and has a number. Otherwise the first line is the header.

    rows: the first lines, without blank ones.

    >>> header_place([["Results", "", ""], ["id", "gpt", "claude"], ["q1", "1", "0"]])
    1
    >>> header_place([["id", "gpt"], ["q1", "1"]]), header_place([["a", ""], ["b", ""]])
    (0, 0)
    """
    for place, row in enumerate(rows[:-1]):
        cells = _trimmed(row)
        if len(cells) < 2:
            continue
        below = _trimmed(rows[place + 1])
        is_header = (
            len(set(cells)) == len(cells)
            and all(cells[1:])
            and not any(map(_is_number, cells))
            and len(below) <= len(cells)
            and any(map(_is_number, below))
        )
        is_below_titles = all(sum(map(bool, _trimmed(above))) == 1 for above in rows[:place])
        return place if place and is_header and is_below_titles else 0
    return 0


def title_note(line: int, titles: Sequence[Sequence[str]]) -> str:
    """Return the note on lines above the header, which is on this line."""
    texts = [cell for row in titles for cell in _trimmed(row) if cell]
    return (
        f"the names of the columns are in line {line}; left out {plural(len(texts), 'line')} above "
        f"it, {truncate(texts[0])!r}{' and so on' if len(texts) > 1 else ''}"
    )


def _trimmed(row: Sequence[str]) -> list[str]:
    """Return the stripped cells up to the last one that is not blank."""
    cells = [cell.strip() for cell in row]
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _is_number(cell: str) -> bool:
    return is_number(cell.rstrip("% ").replace(",", "."))
