"""Signs that a column of numbers may be no candidate: its name, its numbers, and its style.

A sign counts for a column that stands apart from the others. Signs raise questions only; a name
that candidates usually have spares the weaker ones.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tombola._types import Floats
from tombola.tables.columns import PERCENT, TIMEOUT, WORD, Column
from tombola.tables.names import classify_name, common_word, is_id_name, suspected_role
from tombola.tables.vocabulary import (
    PERSON,
    candidate_names,
    doubt,
    has_property_ending,
    is_code,
    is_common,
    is_known_candidate,
    is_letter,
    is_name_like,
    name_style,
    stands_beside_letters,
    tokens,
)

# Largest probability with which all cells of a column are whole (or 0 and 1) by chance, at the share
# of the other columns, for which no question is asked.
_MAX_CHANCE = 0.01
# Ratio between a column and the range of all others from which it is in another unit.
_UNIT_RATIO = 2.0
# Classes of names that may be those of all candidates, as in a_loss and b_loss.
_CLASSES = {"feature", "loss", "score", "cost"}
# Rows from which the order or the agreement of numbers tells something.
_MIN_ROWS = 8
# Probability of a pattern by chance below which it raises a question.
_MAX_PATTERN_CHANCE = 1e-4
# Standard errors by which a correlation must stand apart from those of all others.
_MIN_ERRORS = 2.5
# Standard errors, and correlation, from which numbers fit in with those of the others.
_MIN_FIT = 2.0
_MIN_CORRELATION = 0.1
# Decimals of numbers that somebody has rounded.
_MAX_DECIMALS = 4
# Columns up to which each is compared with all others, since the work grows with their square.
_MAX_COLUMNS = 100
# Other names that must all have a digit or a hyphen, so that a name without one is noticeable; two
# names with capital letters suffice.
_MIN_STYLED = {"": 3, "a capital letter": 2}
# Letters of a word that ends in ed, beyond which it is a participle.
_MIN_PARTICIPLE = 5
# The number at the end of a word, or the letter after one of another script.
_COUNTER = re.compile(r"\d+$|(?<=[^\x00-\x7f])[a-z]$")
# Letters of an end that names have in common.
_MIN_END = 3
# Share of the rows in which two columns may be in order, if it tells that a third one exceeds them.
_MAX_ORDERED = 0.8
# A rounding error larger than this share of the largest number would make different ones equal.
_MAX_ROUNDING = 0.05
# Rows that are compared.
_MAX_COMPARED = 2_000
# Longest period of numbers such as folds.
_MAX_PERIOD = 10


def suspects(
    columns: Sequence[Column], limits: tuple[float, float] | None = None
) -> dict[str, list[str]]:
    """Return the columns that may be no candidates, with the reasons.

    limits: the smallest and the largest possible value, if stated; a candidate may be constant
        there.
    """
    names = [column.name for column in columns]
    reasons: dict[str, list[str]] = {}

    def add(found: Mapping[str, str]) -> None:
        for name, reason in found.items():
            reasons.setdefault(name, []).append(reason)

    add(_doubtful_names(columns))
    same_cost = all(classify_name(name) == "cost" for name in names if name not in reasons)
    numeric = [column for column in columns if column.first_invalid is None and column.n_numbers]
    # Run times and prices of different candidates differ by orders of magnitude.
    if not same_cost and not any(TIMEOUT in column.notations for column in columns):
        add(_other_notation(numeric))
        plain = [column for column in numeric if column.name not in reasons]
        basis = plain if len(plain) > 1 else numeric
        add(_other_unit(basis, limits or (0.0, 1.0)))
        add(_other_grain(basis))
    twins = twins_in_case(names)
    add(
        dict.fromkeys(
            twins, "it differs from another name only in upper and lower case or in spaces"
        )
    )
    plain = [column for column in numeric if column.name not in reasons]
    if len(plain) > 2:
        common = [column.name for column in plain if is_common(column.name)]
        others = [column.name for column in plain if column.name not in common]
        # Where several names are common words, candidates are called so.
        if len(common) <= len(plain) / 4 or (len(common) == 1 and all(map(is_name_like, others))):
            add(dict.fromkeys(common, "its name is a common word, unlike the others"))
            plain = [column for column in plain if column.name not in reasons]
    if len(plain) > 2:
        add(_other_style([column.name for column in plain]) or _lone_name(plain))
        plain = [column for column in numeric if column.name not in reasons]
        add(_other_numbers(plain, limits or (0.0, 1.0)))
    return reasons


def _doubtful_names(columns: Sequence[Column]) -> dict[str, str]:
    """Return columns with a name that suggests another role than candidate, with the reason.

    A word that all names have in common, as in gpt_seconds and llama_seconds, tells nothing.
    """
    names = [column.name for column in columns]
    if candidate_names(names):
        return {}
    roles = {column.name: _suspected_role(column) for column in columns}
    usual = _usual_role(roles)
    found = {name: role for name, role in roles.items() if role and role != usual}
    family = _family(names)
    found = {
        name: role
        for name, role in found.items()
        if name not in family and not _is_variant(name, roles)
    }
    if len(names) == 2:
        # Beside one other column, a person is a candidate.
        found = {name: role for name, role in found.items() if not role.endswith(PERSON)}
    if usual and (word := common_word([name for name in names if name not in found])):
        # What is left of such a name may be doubtful as well, as in mean accuracy.
        for name in names:
            rest = " ".join(part for part in tokens(name) if part != word)
            if name not in found and rest and (role := suspected_role(rest)):
                found[name] = role
    endings = [name for name in names if name not in found and has_property_ending(name)]
    if len(endings) < len(names) - len(found) or len(names) - len(found) == 1:
        found |= dict.fromkeys(endings, "its name ends like that of a property")
    return found


def _family(names: Sequence[str]) -> list[str]:
    """Return the names that are one word and a number or letter, if they are most of the names.

    As rater1, rater2 and rater3 beside consensus: what such a word says is no sign.
    """
    largest = _numbered(names)
    return largest if 2 * len(largest) > len(names) else []


def _numbered(names: Sequence[str]) -> list[str]:
    """Return the names that are one word and a number or letter, such as drug_a and drug_b."""
    families: dict[str, list[str]] = {}
    for name in names:
        words = [_COUNTER.sub("", word) for word in tokens(name)]
        stem = " ".join(word for word in words if len(word) > 1)
        if stem and " ".join(tokens(name)) != stem:
            families.setdefault(stem, []).append(name)
    largest = max(families.values(), key=len, default=[])
    return largest if len(largest) > 1 else []


def _is_variant(name: str, roles: Mapping[str, str]) -> bool:
    """Return whether a name ends like a plain one, as hash_join beside merge_join."""
    words = tokens(name)
    return len(words) > 1 and any(
        other != name and not role and len(tokens(other)) > 1 and tokens(other)[-1] == words[-1]
        for other, role in roles.items()
    )


def _suspected_role(column: Column) -> str:
    """Return the role beside candidate that the name of a column of numbers suggests; "" if none."""
    if not column.name.strip():
        return "it has no name"
    # A column of yes and no may be called no.
    if is_id_name(column.name) and column.name.lower() != "no" and _is_whole_column(column):
        return "its name is usual for ids"
    return suspected_role(column.name)


def _usual_role(roles: Mapping[str, str]) -> str:
    """Return the role that most names suggest, if none is plain; it then tells nothing apart.

    As in gpt_accuracy, llama_accuracy and mean accuracy, or in level 1 and level 2.
    """
    groups: dict[str, list[str]] = {}
    for name, role in roles.items():
        groups.setdefault(role, []).append(name)
    role, names = max(groups.items(), key=lambda group: len(group[1]), default=("", []))
    has_stems = bool(common_word(names)) or {classify_name(name) for name in names} <= _CLASSES
    is_largest = all(len(other) < len(names) for other in groups.values() if other is not names)
    return role if "" not in groups and len(names) > 1 and has_stems and is_largest else ""


def _other_style(names: Sequence[str]) -> dict[str, str]:
    """Return the one name that is written unlike all others, which share a style.

    As hardness beside v1, v2 and v3, or prompt_hash beside gpt-4 and claude-3.
    """
    words = [name for name in names if not is_letter(name)]
    if (
        len(words) == 1
        and len(names) > 2
        and not stands_beside_letters(words[0])
        and not re.search(r"\d", words[0])
    ):
        return {words[0]: "its name is a word, those of the others are letters"}
    for name in names:
        owner = _owner(name, names)
        if owner:
            return {name: f"its name is that of {owner} and a word"}
    letters = [name for name in names if len(name.strip()) == 1]
    if len(letters) == 1 and all(len(name.strip()) > 2 for name in names if name not in letters):
        return {letters[0]: "its name is a letter, unlike the others"}
    styles = [name_style(name) for name in names]
    for at, name in enumerate(names):
        if is_known_candidate(name):
            continue
        rest = styles[:at] + styles[at + 1 :]
        shared = frozenset.intersection(*rest)
        missing = sorted(
            sign
            for sign in shared - styles[at]
            if sign.startswith("the ") or len(rest) >= _MIN_STYLED.get(sign, _MIN_STYLED[""])
        )
        if missing:
            return {name: f"its name is unlike the others, which have {missing[0]}"}
        others = [*names[:at], *names[at + 1 :]]
        if len(others) > 2 and (end := _common_end(others)) and not name.endswith(end):
            return {name: f"its name is unlike the others, which end with {end!r}"}
        is_compound = "_" in name.strip("_") and not any("_" in other for other in others)
        if len(others) > 2 and is_compound and not _is_variant_of(name, others):
            return {name: "its name has an underscore, unlike the others"}
        if len(rest) > 1 and _is_numbered_word(name) and not any("a digit" in s for s in rest):
            return {name: "its name has a number, unlike the others"}
    return {}


def _common_end(names: Sequence[str]) -> str:
    """Return the end that all names have in common, of three letters or more; "" without one."""
    letters: list[str] = []
    for same in zip(*(reversed(name) for name in names), strict=False):
        if len(set(same)) > 1:
            break
        letters.insert(0, same[0])
    end = "".join(letters)
    return end if len(end) >= _MIN_END and end.isalpha() else ""


def _is_variant_of(name: str, others: Sequence[str]) -> bool:
    """Return whether a name without candidate words has the name of another one, or begins with no."""
    words = tokens(name)
    return words[0] in ("no", "without") or any(other.lower() in words for other in others)


def _is_numbered_word(name: str) -> bool:
    """Return whether a name is a word and a number, such as diabetic2, and no code such as vf2."""
    return re.fullmatch(rf"[^\W\d_]{{{_MIN_PARTICIPLE},}}\d", name.strip()) is not None


def _owner(name: str, names: Sequence[str]) -> str:
    """Return another name that this one begins with, if a word for a property is what follows."""
    for other in names:
        rest = name[len(other) :].strip(" _-.:/")
        is_longer = other != name and name.startswith(other) and name[len(other) :] != rest
        if is_longer and (
            is_common(rest) or doubt(rest) or has_property_ending(rest) or rest.endswith("ed")
        ):
            return other
    return ""


def _other_numbers(columns: Sequence[Column], limits: tuple[float, float]) -> dict[str, str]:
    """Return columns whose numbers stand apart, unless candidates are called so."""
    if not 2 < len(columns) <= _MAX_COLUMNS:
        return {}
    values = _complete_rows(columns)
    if len(values) < _MIN_ROWS:
        return {}
    found: dict[str, str] = {}

    def is_flag(values: Floats, at: int) -> str:
        return _flag(values, at, columns[at].name)

    tests: tuple[Callable[[Floats, int], str], ...] = (
        lambda v, at: _constant(v, at, limits),
        _in_order,
        _periodic,
        _function,
        _beyond_all,
        _other_correlation,
        _smooth,
        _few_numbers,
        _other_decimals,
        is_flag,
    )
    for test in tests:
        signs = {at: test(values, at) for at in range(len(columns))}
        signs = {at: reason for at, reason in signs.items() if reason}
        # What several columns show tells none apart.
        if len(signs) == 1:
            at, reason = next(iter(signs.items()))
            name = columns[at].name
            # The last word counts: cot_needed is no name of a candidate.
            is_spared = is_known_candidate(name) and (
                test is not is_flag or is_known_candidate(tokens(name)[-1])
            )
            if not is_spared:
                found.setdefault(name, reason)
    return found


def _flag(values: Floats, at: int, name: str) -> str:
    """Return a reason for a column of 0 and 1 whose name is a participle, such as vaccinated."""
    is_flag = {*np.unique(values[:, at]).tolist()} <= {0.0, 1.0}
    words = tokens(name)
    is_participle = bool(words) and len(words[-1]) > _MIN_PARTICIPLE and words[-1].endswith("ed")
    return "its name is that of a flag" if is_flag and is_participle else ""


def _constant(values: Floats, at: int, limits: tuple[float, float]) -> str:
    column = values[:, at]
    is_one = bool((column == column[0]).all()) and float(column[0]) not in limits
    return f"it is {column[0]:g} in every row" if is_one else ""


def _in_order(values: Floats, at: int) -> str:
    """Return a reason if numbers only rise, or only fall, from row to row."""
    steps = np.diff(values[:, at])
    if not ((steps >= 0).all() or (steps <= 0).all()):
        return ""
    counts = np.unique(values[:, at], return_counts=True)[1]
    log_orders = math.lgamma(len(values) + 1) - sum(math.lgamma(count + 1) for count in counts)
    is_pattern = math.log(2) - log_orders < math.log(_MAX_PATTERN_CHANCE)
    return "its numbers are in order from row to row" if is_pattern else ""


def _periodic(values: Floats, at: int) -> str:
    column = values[:, at]
    if (column == column[0]).all():
        return ""
    for period in range(2, _MAX_PERIOD + 1):
        if len(column) >= 3 * period and (column[period:] == column[:-period]).all():
            counts = np.unique(column, return_counts=True)[1] / len(column)
            chance = float((counts**2).sum()) ** (len(column) - period)
            return f"its numbers repeat every {period} rows" if chance < _MAX_PATTERN_CHANCE else ""
    return ""


def _function(values: Floats, at: int) -> str:
    """Return a reason if a column is the same function of the others in every row."""
    column = values[:, at]
    others = np.delete(values, at, axis=1)
    is_mixed = others.min(axis=1) < others.max(axis=1)
    if is_mixed.sum() < _MIN_ROWS:
        return ""
    functions = {
        "largest": others.max(axis=1),
        "smallest": others.min(axis=1),
        "median": np.median(others, axis=1),
        "mean": others.mean(axis=1),
        "sum": others.sum(axis=1),
        "spread": others.max(axis=1) - others.min(axis=1),
        "majority": (others.mean(axis=1) >= 0.5).astype(float),
        "agreement": (~is_mixed).astype(float),
        "opposite of the agreement": is_mixed.astype(float),
    }
    scale = float(np.abs(values).max()) or 1.0
    digits = _decimals(column)
    for name, numbers in functions.items():
        is_rounded = name in ("mean", "median", "sum", "spread")
        rounding = min(0.51 * 10.0**-digits, _MAX_ROUNDING * scale) if is_rounded else 0.0
        tolerance = 1e-9 * scale + rounding
        if (numbers == numbers[0]).all():
            continue
        if (np.abs(column - numbers) <= tolerance).all():
            return f"it is the {name} of the others in every row"
    is_binary = _are_binary(values)
    for other in others.T:
        if (column == other).all() and column.min() < column.max():
            return "it equals another column in every row"
        if is_binary and (column == 1 - other).all():
            return "it is 1 where another column is 0, and the other way round"
    return ""


def _beyond_all(values: Floats, at: int) -> str:
    """Return a reason if a column is at least, or at most, all others in every row."""
    column = values[:, at]
    others = np.delete(values, at, axis=1)
    # Where others follow each other in order as well, one is just better than the next.
    means = others[:, np.argsort(others.mean(axis=0))]
    steps = np.diff(means, axis=1)
    if others.shape[1] < 2 or bool(((steps >= 0).mean(axis=0) > _MAX_ORDERED).any()):
        return ""
    for word, best in (("above", others.max(axis=1)), ("below", others.min(axis=1))):
        sign = 1 if word == "above" else -1
        if (sign * (column - best) >= 0).all() and (sign * (column - best) > 0).sum() >= len(
            column
        ) / 2:
            return f"it is {word} all others in nearly every row"
    return ""


def _are_binary(values: Floats) -> bool:
    return bool(((values == 0) | (values == 1)).all())


def _other_correlation(values: Floats, at: int) -> str:
    """Return a reason if a column goes with the others far less than they with each other.

    Rows that are hard are hard for all candidates, but a property of a row knows nothing of it.
    """
    own, others, error = _correlations(values, at)
    if own is None or values.shape[1] < 3:
        return ""
    k = values.shape[1]
    pairs = max(1, (k - 1) * (k - 2) // 2)
    is_together = others > _MIN_ERRORS * error / math.sqrt(pairs)
    distance = _MIN_ERRORS * error * math.sqrt(1 / pairs + 1 / (k - 1))
    # A strange candidate goes with the others less; one that does not at all is none.
    if is_together and own < 1.5 * error and others - own > distance:
        return f"its mean correlation to the others is {own:.2f}, theirs {others:.2f}"
    return ""


def _correlations(values: Floats, at: int) -> tuple[float | None, float, float]:
    """Return the mean correlation of a column to the others, theirs, and the error of one.

    The first is None if a column is constant.
    """
    error = 1 / math.sqrt(max(1, len(values) - 3))
    if len(values) < _MIN_ROWS or (values.std(axis=0) == 0).any():
        return None, 0.0, error
    correlations = np.asarray(np.corrcoef(values.T))
    own = float(np.delete(correlations[at], at).mean())
    rest = np.delete(np.delete(correlations, at, axis=0), at, axis=1)
    pairs = rest[np.triu_indices(len(rest), 1)]
    return own, float(pairs.mean()) if len(pairs) else 0.0, error


def _lone_name(columns: Sequence[Column]) -> dict[str, str]:
    """Return the only column that is not called like a candidate, unless its numbers fit in.

    They fit in if rows that are hard for the others are hard for it as well. Beside names with
    numbers, such as model1 and model2, two columns may be called otherwise.
    """
    names = [column.name for column in columns]
    numbered = _numbered(names)
    unknown = [
        at for at, name in enumerate(names) if not is_known_candidate(name) and name not in numbered
    ]
    if any(sign.startswith("the ") for sign in frozenset.intersection(*map(name_style, names))):
        return {}
    most = 2 if len(numbered) > 1 else 1
    if len(names) < 3 or len(unknown) > min(most, len(names) - 2):
        return {}
    values = _complete_rows(columns)
    found: dict[str, str] = {}
    for at in unknown:
        if not _fits(values, at, names[at]):
            found[names[at]] = "its name is none of a candidate that is known, unlike the others"
    return found


def are_certain(columns: Sequence[Column]) -> bool:
    """Return whether names or numbers say that all columns are candidates, not only nothing against it.

    Each has a name that candidates have, or a number behind a common word, or numbers that go with
    those of the others. Of two columns both must be.
    """
    names = [column.name for column in columns]
    numbered = _numbered(names)
    unknown = [
        at for at, name in enumerate(names) if not is_known_candidate(name) and name not in numbered
    ]
    shared = frozenset.intersection(*map(name_style, names))
    if len(names) < 3 or not unknown or any(sign.startswith("the ") for sign in shared):
        return True
    if len(names) > _MAX_COLUMNS:
        return False
    values = _complete_rows(columns)
    for at in unknown:
        own, _, error = _correlations(values, at)
        if own is None or own < max(_MIN_FIT * error, _MIN_CORRELATION):
            return False
    return True


def _fits(values: Floats, at: int, name: str) -> bool:
    """Return whether the numbers of a column with an unknown name fit in with those of the others."""
    own, others, error = _correlations(values, at)
    fits = own is not None and own > max(_MIN_FIT * error, _MIN_CORRELATION)
    # Where rows are not hard for all, only a name that is no word fits in.
    says_nothing = own is None or others < _MIN_FIT * error
    if says_nothing and is_code(name):
        return True
    return fits and (values.shape[1] <= 3 or is_name_like(name))


def _complete_rows(columns: Sequence[Column]) -> Floats:
    """Return the first rows without missing cells, shape (rows, columns)."""
    rows = min(len(columns[0].numbers), _MAX_COMPARED) if columns else 0
    values = np.column_stack([column.numbers[:rows] for column in columns])
    complete: Floats = values[~np.isnan(values).any(axis=1)]
    return complete


def _smooth(values: Floats, at: int) -> str:
    """Return a reason if each number is near to the one before, as on days in a row, in one column."""
    spread = values.std(axis=0)
    if (spread == 0).any():
        return ""
    centred = values - values.mean(axis=0)
    following = (centred[1:] * centred[:-1]).mean(axis=0) / spread**2
    error = 1 / math.sqrt(len(values))
    others = np.delete(following, at)
    if following[at] > 4 * error and (others < 2 * error).all():
        return "each of its numbers is near to the one before"
    return ""


def _few_numbers(values: Floats, at: int) -> str:
    """Return a reason if a column has far fewer different numbers than each of the others."""
    counts = np.array([len(np.unique(column)) for column in values.T])
    others = np.delete(counts, at)
    if counts[at] > 2 and others.min() >= 3 * counts[at] and counts[at] <= len(values) / 4:
        return f"it has {counts[at]} different numbers, the others at least {others.min()}"
    return ""


def _other_decimals(values: Floats, at: int) -> str:
    """Return a reason if the numbers of a column have other decimals than those of all others."""
    digits = [_decimals(column) for column in values.T]
    others = {*digits[:at], *digits[at + 1 :]}
    if values[:, at].min() == values[:, at].max() or max(digits) > _MAX_DECIMALS:
        return ""
    if len(others) == 1 and digits[at] not in others and len(values) >= 2 * _MIN_ROWS:
        return f"it has {digits[at]} decimals, the others {others.pop()}"
    return ""


def _decimals(column: Floats) -> int:
    scale = 1e-9 * max(1.0, float(np.abs(column).max()))
    return next((d for d in range(10) if (np.abs(column - np.round(column, d)) <= scale).all()), 10)


def _other_notation(columns: Sequence[Column]) -> dict[str, str]:
    """Return columns in percent, or of yes and no, beside others, or the others if they are fewer."""
    reasons: dict[str, str] = {}
    for notation, words in ((PERCENT, "in percent"), (WORD, "yes and no")):
        written = [column.name for column in columns if notation in column.notations]
        others = [column.name for column in columns if notation not in column.notations]
        if len(columns) < 3:  # which of two columns is odd cannot be said
            continue
        if written and others and len(written) <= len(others):
            reasons |= dict.fromkeys(written, f"{words}, unlike the others")
        elif written and others:
            reasons |= dict.fromkeys(others, f"not {words}, unlike the others")
    return reasons


def _other_unit(columns: Sequence[Column], limits: tuple[float, float]) -> dict[str, str]:
    """Return the columns whose range lies apart from all others.

    Shares are one unit, whatever their size. A constant at an end of the range is a candidate that
    is always right, or always wrong.
    """
    columns = [
        c for c in columns if not (_is_constant(c) and c.numbers[~np.isnan(c.numbers)][0] in limits)
    ]
    # Cells in percent are one unit, also above 100%.
    if len(columns) < 2 or all(PERCENT in column.notations for column in columns):
        return {}
    lows = np.array([np.nanmin(column.numbers) for column in columns])
    highs = np.array([np.nanmax(column.numbers) for column in columns])
    is_share = (lows >= 0) & (highs <= 1)
    reasons: dict[str, str] = {}
    if is_share.all():
        return reasons
    medians = np.array([np.nanmedian(column.numbers) for column in columns])
    for at, column in enumerate(columns):
        rest = np.arange(len(columns)) != at
        low, high = float(lows[rest].min()), float(highs[rest].max())
        above = lows[at] > _UNIT_RATIO * high > 0
        below = 0 <= _UNIT_RATIO * highs[at] < low
        beyond = bool(is_share[rest].all()) and not 0 <= medians[at] <= 1
        if above or below or beyond:
            own = f"{lows[at]:g} to {highs[at]:g}" if lows[at] < highs[at] else f"{lows[at]:g}"
            reasons[column.name] = f"{own}, the others {low:g} to {high:g}"
    # A minority beyond [0, 1] is in another unit, also if it has several columns.
    outside = np.flatnonzero(~is_share)
    are_beyond = bool((~((medians >= 0) & (medians <= 1)))[outside].all())
    if 0 < 2 * len(outside) < len(columns) and are_beyond:
        for at in outside.tolist():
            text = f"{lows[at]:g} to {highs[at]:g}, others are in [0, 1]"
            reasons.setdefault(columns[at].name, text)
    # One of many columns of larger numbers that never leaves [0, 1].
    inside = np.flatnonzero(is_share & (lows < highs))
    if len(inside) == 1 and len(columns) > 2 and bool((medians[~is_share] > 1).all()):
        at = int(inside[0])
        text = f"{lows[at]:g} to {highs[at]:g}, the others up to {highs.max():g}"
        reasons.setdefault(columns[at].name, text)
    return reasons


def _other_grain(columns: Sequence[Column]) -> dict[str, str]:
    """Return the columns that are 0 and 1, or whole, beside decimals, or the other way round.

    A constant tells nothing: a candidate may be always wrong. A column with at least half of its
    cells on the coarser grain fits in, since graders give half a point now and then.
    """
    for name, is_coarse in (("0 and 1", _is_zero_or_one), ("whole numbers", _is_whole)):
        coarse = []
        fine = []
        for column in columns:
            numbers = column.numbers[~np.isnan(column.numbers)]
            share = float(is_coarse(numbers).mean())
            if share == 1.0 and numbers.min() < numbers.max():
                coarse.append((column.name, len(numbers)))
            elif share < 0.5 and len(numbers) > 1:
                fine.append((column.name, share))
        if not coarse or not fine:
            continue
        chance = max(share for _, share in fine)
        if all(chance**count > _MAX_CHANCE for _, count in coarse):
            continue
        if len(fine) <= len(coarse):
            return {column: f"not {name}, unlike the others" for column, _ in fine}
        return {column: f"{name}, unlike the others" for column, _ in coarse}
    return {}


def _is_constant(column: Column) -> bool:
    return bool(np.nanmin(column.numbers) == np.nanmax(column.numbers))


def _is_zero_or_one(numbers: Floats) -> Any:
    return (numbers == 0) | (numbers == 1)


def _is_whole(numbers: Floats) -> Any:
    return numbers == np.floor(numbers)


def twins_in_case(names: Sequence[str]) -> list[str]:
    """Return names that equal another one but for case and spaces."""
    folded: dict[str, list[str]] = {}
    for name in names:
        folded.setdefault("".join(name.lower().split()), []).append(name)
    return [name for group in folded.values() if len(group) > 1 for name in group[1:]]


def _is_whole_column(column: Column) -> bool:
    complete = column.first_invalid is None and column.first_missing is None
    return complete and bool(_is_whole(column.numbers).all())
