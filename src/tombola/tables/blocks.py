"""Blocks of columns: a second group of columns that has one column for each candidate of the first.

As pre_a and pre_b beside a and b, or vor1 and vor2 beside kurs1 and kurs2. Only the names tell, and
they tell nothing about what a block is, so that a block is asked about.
"""

import re
from collections.abc import Sequence

from tombola.tables.vocabulary import is_candidate_word, tokens

# Share of the columns above which they are blocks; a few variants among many candidates are none.
_MIN_SHARE = 0.6


def blocks(names: Sequence[str]) -> list[list[str]]:
    """Return the columns of each block, in one order of candidates; empty if there is one block.

    Words that candidates are called, as in gpt_cot beside gpt, make candidates of all.

    >>> blocks(["a1", "a2", "a1_t", "a2_t"]), blocks(["kurs1", "kurs2", "vor1", "vor2"])
    ([['a1', 'a2'], ['a1_t', 'a2_t']], [['kurs1', 'kurs2'], ['vor1', 'vor2']])
    >>> blocks(["gpt", "claude", "gpt_cot", "claude_cot"]), blocks(["gpt", "claude", "yi"])
    ([], [])
    """
    split = {name: _parts(name) for name in names}
    wholes = {" ".join(parts): name for name, parts in split.items() if parts}
    for end in (-1, 0):
        groups: dict[str, dict[str, str]] = {}
        for name, parts in split.items():
            if len(parts) < 2:
                continue
            stem, key = (parts[:-1], parts[-1]) if end else (parts[1:], parts[0])
            # Without its ending, the whole rest may be the name of a candidate.
            groups.setdefault(f"{end} {' '.join(stem)}", {})[key] = name
            whole, affix = (parts[:-1], parts[-1]) if end else (parts[1:], parts[0])
            if " ".join(whole) in wholes:
                groups.setdefault(f"whole {affix}", {})[" ".join(whole)] = name
        found = _matching(groups, wholes)
        if sum(map(len, found)) > _MIN_SHARE * len(names):
            return found
    return []


def _matching(groups: dict[str, dict[str, str]], wholes: dict[str, str]) -> list[list[str]]:
    """Return the groups of columns that have the same keys, the first with the fewest words."""
    for stem, group in groups.items():
        if len(group) < 2:
            continue
        if stem.startswith("whole ") and not is_candidate_word(stem.removeprefix("whole ")):
            return [[wholes[key] for key in group], [*group.values()]]
        kind = stem.split(" ", 1)[0]
        same = {
            other: members
            for other, members in groups.items()
            if other.split(" ", 1)[0] == kind and members.keys() == group.keys()
        }
        stems = [word for other in same for word in other.split(" ")[1:]]
        are_candidates = all(map(is_candidate_word, stems)) or all(map(is_candidate_word, group))
        if len(same) > 1 and kind != "whole" and not are_candidates:
            return [[members[key] for key in group] for members in same.values()]
    return []


def _parts(name: str) -> list[str]:
    """Return the words of a name, with numbers at their ends as words of their own."""
    return [part for word in tokens(name) for part in re.findall(r"\d+|\D+", word)]
