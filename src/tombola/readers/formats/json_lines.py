"""JSON: an object a line, a list of objects, or an object of lists."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tombola._formatting import truncate
from tombola.errors import TableError
from tombola.readers.columns import Columns
from tombola.readers.formats.delimited import text_lines
from tombola.readers.limits import check_memory
from tombola.readers.records import table_of


def read_json(path: Path) -> Columns:
    """Read JSON: an object a line, a list of objects, or an object of lists; objects in objects become KEY:NAME."""
    lines = _measured(path)
    first = next((line for line in lines if line.strip()), "")
    try:
        records = _lines(path, first, lines) if _whole(first) else _document(path, "".join([first, *lines]))
    except TableError:
        raise
    except (ValueError, RecursionError) as error:
        raise TableError(
            f"{path}: expected JSON, an object on each line or a list of objects, got something else "
            f"({truncate(str(error).rstrip('.'))}); write for example "
            '{"id": "x", "a": 0.5, "b": 1} on a line.'
        ) from None
    names: list[str] = list(dict.fromkeys(name for record in records for name in record))
    if not names:
        raise TableError(f"{path}: expected at least one object with names and numbers, got none; add some.")
    check_memory(str(path), 64 * len(records) * len(names))
    rows = ([record.get(name) for name in names] for record in records)
    return table_of(str(path), names, rows)


def _measured(path: Path) -> Iterator[str]:
    """Yield the lines, as long as what they say fits into memory; objects take some times the room of their text."""
    size = 0
    for line in text_lines(path):
        size += len(line)
        check_memory(str(path), 8 * size)
        yield line


def _whole(line: str) -> bool:
    """Say whether a line is an object by itself."""
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _lines(path: Path, first: str, lines: Iterator[str]) -> list[dict[str, Any]]:
    records = [_record(first, 1)]
    for number, line in enumerate(lines, 2):
        if line.strip():
            records.append(_record(line, number))
    return _document(path, first) if len(records) == 1 and _by_columns(path, json.loads(first)) else records


def _by_columns(path: Path, found: dict[str, Any]) -> bool:
    """Say whether one object is a whole table: lists by column, or in a file of JSON objects, as pandas writes it."""
    kinds = {type(value) for value in found.values()}
    return kinds == {list} or (kinds == {dict} and len(found) > 1 and ".json" in path.suffixes)


def _record(line: str, number: int) -> dict[str, Any]:
    found = json.loads(line, object_pairs_hook=_object)
    if not isinstance(found, dict):
        raise ValueError(f"no object on line {number}")
    return _flat(found)


def _document(path: Path, text: str) -> list[dict[str, Any]]:
    found = json.loads(text, object_pairs_hook=_object)
    if isinstance(found, list) and all(isinstance(one, dict) for one in found):
        return [_flat(one) for one in found]
    if isinstance(found, dict) and found and all(isinstance(one, list) for one in found.values()):
        if len({len(one) for one in found.values()}) > 1:
            raise ValueError("lists of different lengths")
        return [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]
    if isinstance(found, dict) and found and all(isinstance(one, dict) for one in found.values()):
        rows = list(dict.fromkeys(row for column in found.values() for row in column))
        return [{"id": row, **{name: column.get(row) for name, column in found.items()}} for row in rows]
    raise ValueError("neither a list of objects nor an object of lists")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name that comes twice in one object")
    return found


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in record.items():
        inner = {f"{name}:{key}": cell for key, cell in value.items()} if isinstance(value, dict) else {name: value}
        if twice := inner.keys() & flat.keys():
            raise ValueError(f"{min(twice)} twice in one object")
        flat.update(inner)
    return flat
