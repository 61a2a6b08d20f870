"""Feature columns: numbers, categories as one-hot columns, free text as TF-IDF.

Features are known before the action is chosen. They are encoded once for the whole list, as a table
indexed by row; Theorem C1 allows that. Missing numbers stay NaN: the models replace them by medians
of the rows they were trained on.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tombola._formatting import join_names, option_text, plural
from tombola._types import Floats, Integers
from tombola.errors import TableError
from tombola.tables.columns import MISSING, Column, Columns, columns_from_rows
from tombola.tables.input_checks import import_optional
from tombola.tables.names import (
    classify_name,
    is_group_name,
    is_id_name,
    is_summary_name,
    matching,
)
from tombola.tables.options import EncodedFeatures, ReadOptions

if TYPE_CHECKING:
    from tombola.tables.cells import RowList

# Most frequent levels of a category that get a column each; rarer ones share the row of zeros.
# Bounds the width.
_MAX_LEVELS = 20
# A level must occur in this many rows to have a column: fewer say nothing about other rows.
_MIN_LEVEL_ROWS = 5
# A text column with more different values than this share of the rows is not a category, and is
# rejected: most of its values would occur once.
_MAX_LEVEL_SHARE = 0.5
# Hash buckets of words and word pairs, and dimensions kept by the truncated SVD.
_TEXT_BUCKETS = 1 << 16
_TEXT_DIMENSIONS = 32


def feature_columns(
    table: Columns, options: ReadOptions, excluded: Collection[str]
) -> tuple[dict[str, Column], dict[str, Column]]:
    """Return the columns of the options `features` and `text`, two dicts by name.

    Raises TableError if a column has another role too. A pattern does not match `excluded` columns.
    """
    texts = _matching(table, options.text, "text", excluded)
    # A pattern such as * must not encode a text column twice.
    plain = _matching(table, options.features, "features", {*excluded, *texts})
    roles: dict[str, Sequence[str | None]] = {
        "actions": [
            name for pattern in options.actions or () for name in matching(table.by_name, pattern)
        ],
        "ids": [options.ids],
        "delay": [options.delay],
        "action": [options.action],
        "value": [options.value],
        "costs": [
            name for pattern in options.resources for name in matching(table.by_name, pattern)
        ],
    }
    for role, names in roles.items():
        both = next((name for name in names if name in plain or name in texts), None)
        if both is not None:
            option = "text" if both in texts else "features"
            raise TableError(
                f"{table.source}: expected columns without another role as "
                f"{option_text(option)}, got {both!r}, which "
                f"{option_text(role)} names too; leave it out of one of them."
            )
    return plain, texts


def encode_features(
    table: Columns, plain: Sequence[Column], texts: Sequence[Column] = ()
) -> EncodedFeatures:
    """Encode columns as numbers: categories one-hot, free text (`texts`) as reduced TF-IDF.

    Returns values, shape (rows, features), with names and notes.

    >>> import numpy as np
    >>> size = Column("size", np.array([3.0, np.nan, 5.0, 4.0]))
    >>> encoded = encode_features(Columns("t.csv", [size]), [size])
    >>> encoded.names, encoded.notes
    (('size',), ['features: size', "feature 'size': 1 of 4 values missing; models use the median of the rows seen"])
    """
    parts = [_encode_column(table, column) for column in plain]
    parts += [_encode_text(table, column) for column in texts]
    names = tuple(name for part in parts for name in part.names)
    used = [column.name for column in (*plain, *texts)]
    return EncodedFeatures(
        np.column_stack([part.values for part in parts]),
        names,
        [f"features: {join_names(used)}", *(note for part in parts for note in part.notes)],
    )


def features_of_list(
    listed: "RowList", features: Sequence[str], text: Sequence[str], source: str = "list"
) -> EncodedFeatures:
    """Encode columns of a work list, named or matched by patterns, as `encode_features`."""
    table = columns_from_rows(source, listed.columns, listed.cells)
    options = ReadOptions(ids=listed.id_column, features=features, text=text)
    plain, texts = feature_columns(table, options, {listed.id_column} if "*" in features else ())
    return encode_features(table, list(plain.values()), list(texts.values()))


def possible_features(table: Columns, ignored: Collection[str]) -> tuple[str, ...]:
    """Return ignored numeric columns that vary, and are not named like outcomes, ids or summaries."""
    numeric = [table.by_name[name] for name in ignored if table.by_name[name].first_invalid is None]
    varying = [c.name for c in numeric if np.fmin.reduce(c.numbers) < np.fmax.reduce(c.numbers)]
    return tuple(
        name
        for name in varying
        if not (_is_outcome_name(name) or is_id_name(name) or is_summary_name(name))
    )


def _is_outcome_name(name: str) -> bool:
    name_class = classify_name(name)
    return name_class in ("loss", "score", "cost", "date") or (
        name_class == "label" and not is_group_name(name)
    )


def _matching(
    table: Columns, patterns: Sequence[str], option: str, excluded: Collection[str]
) -> dict[str, Column]:
    names = dict.fromkeys(name for pattern in patterns for name in table.matching(pattern, option))
    return {name: table.by_name[name] for name in names if name not in excluded}


def _encode_column(table: Columns, column: Column) -> EncodedFeatures:
    if column.first_invalid is not None and column.n_numbers < len(column.numbers) / 2:
        return _encode_category(table, column)
    numbers = table.numeric(column).numbers
    missing = int(np.isnan(numbers).sum())
    if missing == len(numbers):
        raise TableError(
            f"{table.source}: feature {column.name!r} must have numbers or words, got none; "
            "leave it out."
        )
    share = f"{missing:,} of {len(numbers):,} values missing"
    notes = (
        [f"feature {column.name!r}: {share}; models use the median of the rows seen"]
        if missing
        else []
    )
    return EncodedFeatures(numbers[:, None], (column.name,), notes)


def _encode_category(table: Columns, column: Column) -> EncodedFeatures:
    """One-hot encode the frequent levels; a missing cell is a level of its own."""
    cells = [
        "(missing)" if cell.strip().lower() in MISSING else cell for cell in column.texts or ()
    ]
    counts = Counter(cells)
    if len(counts) > max(2.0, _MAX_LEVEL_SHARE * len(cells)):
        raise TableError(
            f"{table.source}: expected numbers or categories in the feature {column.name!r}, got "
            f"{len(counts):,} "
            f"different words in {plural(len(cells), 'row')}; write "
            f"{option_text('text', [column.name])} for free "
            "text, or leave it out."
        )
    # Sorted by frequency, then by name, so that the encoding does not depend on the order of the
    # rows.
    ranked = sorted(counts, key=lambda level: (-counts[level], level))
    levels = [level for level in ranked if counts[level] >= min(_MIN_LEVEL_ROWS, len(cells) // 2)][
        :_MAX_LEVELS
    ]
    values = np.array([[float(cell == level) for level in levels] for cell in cells]).reshape(
        len(cells), len(levels)
    )
    note = f"feature {column.name!r}: {len(counts)} categories, one column each for {len(levels)}"
    if "(missing)" in counts:
        note += f"; {counts['(missing)']:,} of {len(cells):,} values missing, a category of its own"
    return EncodedFeatures(values, tuple(f"{column.name}={level}" for level in levels), [note])


def _encode_text(table: Columns, column: Column) -> EncodedFeatures:
    """Encode free text: hashed words and word pairs, TF-IDF, truncated SVD."""
    reduction = import_optional("sklearn.decomposition", table.source, "context")
    words = import_optional("sklearn.feature_extraction.text", table.source, "context")
    cells = column.labels
    hashing = words.HashingVectorizer(
        n_features=_TEXT_BUCKETS, ngram_range=(1, 2), alternate_sign=False, norm=None
    )
    counts = hashing.transform(cells)
    dimensions = min(_TEXT_DIMENSIONS, len(cells) - 1)
    if dimensions < 1 or counts.nnz == 0:
        raise TableError(
            f"{table.source}: expected words in the text {column.name!r}, got none; leave it out."
        )
    weights = words.TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    # A fixed seed: the same text gives the same features.
    reduced: Floats = reduction.TruncatedSVD(dimensions, random_state=0).fit_transform(weights)
    length = np.log1p(np.array([len(cell) for cell in cells], np.float64))
    names = (*(f"{column.name}:{i}" for i in range(dimensions)), f"{column.name}:length")
    note = (
        f"text {column.name!r}: TF-IDF of hashed words and word pairs, {dimensions} "
        "dimensions by truncated SVD"
    )
    return EncodedFeatures(
        np.column_stack([reduced, length]), names, [f"{note}, and the logarithm of its length"]
    )


def one_per_row(table: Columns, column: Column, lines: Integers) -> Column:
    """Return a column of a long table with one cell per row; TableError if the lines of a row differ.

    lines: row number, from 0, of each line.
    """
    first = np.unique(lines, return_index=True)[1]
    cells: Sequence[Any] = column.texts if column.texts is not None else column.numbers.tolist()
    for line, row in enumerate(lines.tolist()):
        cell = cells[line]
        other = cells[first[row]]
        if cell != other and not (cell != cell and other != other):  # NaN is unequal to itself
            raise TableError(
                f"{table.source}: expected one {column.name} for each row, the column "
                f"{column.name!r} to be the same "
                f"in all lines of a row, got {cell!r} after {other!r} in {table.place(line)}; "
                "leave it out if it "
                "depends on the action."
            )
    texts = None if column.texts is None else [column.texts[line] for line in first]
    return column._replace(numbers=column.numbers[first], texts=texts)
