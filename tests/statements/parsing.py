"""Read the sentences of all results back, and judge them against the true table.

The parser knows the words only, not the objects behind them: a sentence that it cannot read is an
error.
"""

import re
from typing import Any, NamedTuple

import numpy as np

SLACK = 1e-7
RELATIONS = (
    (r"(?P<a>\w+) is the best of \d+ (?:candidate|action)s?(?P<equal> \(another may be equal\))?", "best"),
    (r"(?P<a>[\w, ]+) are the best (?P<m>\d+) of \d+ candidates(?P<equal> \(another may be equal\))?", "best"),
    (r"the best(?: (?P<m>\d+))? of \d+ (?:candidate|action)s? (?:is|are) among (?P<a>[\w, ]+)", "among"),
    (r"(?P<a>\w+) is within (?P<d>[\d.e-]+) of the best of \d+ (?:candidate|action)s?", "within"),
    (r"the order of \d+ (?:candidate|action)s? is (?P<a>[\w, ]+)", "order"),
    (r"the first (?P<m>\d+) of \d+ (?:candidate|action)s? in order are (?P<a>[\w, ]+)", "order"),
    (r"the ranks of \d+ (?:candidate|action)s? that are still possible are (?P<sets>.+)", "ranks"),
    (r"(?P<a>\w+) has rank (?P<first>\d+) of \d+ (?:candidate|action)s?", "rank"),
    (r"(?P<a>\w+) has a rank from (?P<first>\d+) to (?P<last>\d+) of \d+ (?:candidate|action)s?", "rank"),
    (r"(?P<a>[\w, ]+) have the same mean \w+(?:, behind (?P<ahead>[\w ]+))?", "tied"),
)  # fmt: skip
COMPARISON = re.compile(
    r"(?P<a>\w+) is (?P<word>better|not better|not worse|worse) than (?P<b>\w+)"
    r"(?: by more than (?P<d>[\d.e-]+))?(?: \((?:the same mean|mean)[^)]*\))?"
)
SCOPES = {
    "recorded": r" on the (?:answers|values) recorded here for "
    r"(?:this row|these [\d,]+ rows|the [\d,]+ rows? left)"
    r"(?: \(not checked whether answers change\))?",
    "expected": r" in expectation over repeated answers, on (?:this row|these [\d,]+ rows)",
    "beyond": r" for rows like these",
}
FILE_ORDER = " (candidates with equal means are placed as in the file)"


class Parsed(NamedTuple):
    """What a sentence says: verdict word, conclusions, reading, level (None without claims)."""

    prefix: str
    conclusions: tuple[dict[str, Any], ...]
    reading: str
    level: float | None
    parts: dict[str, str]


def names_of(text: str) -> list[str]:
    """Return the names of a list such as "a, b and c"."""
    return [name for name in re.split(r", | and | or ", text) if name]


def parse(sentence: str) -> Parsed:
    """Read the sentence of `Race.verdict`; AssertionError if a clause is unknown."""
    text, direction, _ = sentence.partition("; read as ")
    assert direction, sentence
    return parse_text(text)


def parse_text(sentence: str) -> Parsed:
    """Read the text of a statement; AssertionError if a clause is unknown."""
    text = sentence
    prefix, rest = "", text
    begun = re.match(r"(open|undecided|stopped[^:]*): ", text)
    if begun:
        prefix, rest = begun[1], text[begun.end() :]
    parts: dict[str, str] = {}
    by_group = re.search(r"; by group(?P<sure>[^:]*): (?P<list>.*); \d[\d,]* rows?, ", rest)
    if by_group:
        # Groups are called x and y, candidates are not.
        pieces = re.split(r"(?:^|; )([xy]): ", by_group["list"])
        parts = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    nothing = re.match(r"nothing is proved", rest)
    if nothing:
        reading = next(word for word, scope in SCOPES.items() if re.search(scope, rest))
        return Parsed(prefix, (), reading, None, parts)
    places = {word: re.search(scope, rest) for word, scope in SCOPES.items()}
    reading, place = next((word, match) for word, match in places.items() if match is not None)
    claims = rest[: place.start()]
    tail = rest[place.end() :]
    is_ordered = tail.startswith(FILE_ORDER)
    tail = tail.removeprefix(FILE_ORDER)
    sure = re.match(r", (for certain: |with probability (?P<p>[\d.]+) or more)", tail)
    assert sure, sentence
    level = 0.0 if sure["p"] is None else round(1.0 - float(sure["p"]), 6)
    return Parsed(prefix, tuple(_conclusions(claims, is_ordered=is_ordered)), reading, level, parts)


# Conditions of an audit, and the mean of a column.
CONDITION = re.compile(r"(?P<text>(?:mean|share)\([^)]*\) \S+ \S+) (?P<word>holds|does not hold)")
MEAN = re.compile(
    r"the mean \w+ of (?P<a>\w+) is (?:from (?P<low>[-\d.e]+) to (?P<high>[-\d.e]+)|(?P<is>[-\d.e]+))"
)
FRONT = re.compile(r"the Pareto front of \d+ candidates in \d+ metrics is among (?P<a>[\w, ]+)")
ROUTER = re.compile(
    r"the present router is better than any single action by more than (?P<d>[\d.e-]+)"
)


def _other_conclusions(text: str) -> list[dict[str, Any]]:
    """Return conclusions about conditions, means, fronts and routers; [] if there are none."""
    conditions = list(CONDITION.finditer(text))
    if conditions:
        assert not CONDITION.sub("", text).replace(", ", ""), text
        return [{"kind": m["word"], "names": [], "text": m["text"]} for m in conditions]
    if m := MEAN.fullmatch(text):
        low = float(m["is"] or m["low"])
        # One number is rounded to four digits.
        slack = 1e-4 if m["is"] else 0.0
        high = float(m["is"] or m["high"])
        return [{"kind": "mean", "names": [m["a"]], "low": low - slack, "high": high + slack}]
    if m := FRONT.fullmatch(text):
        return [{"kind": "front", "names": names_of(m["a"])}]
    if m := ROUTER.fullmatch(text):
        return [{"kind": "router", "names": [], "d": float(m["d"])}]
    return []


def _conclusions(text: str, *, is_ordered: bool) -> list[dict[str, Any]]:
    if others := _other_conclusions(text):
        return others
    comparisons = list(COMPARISON.finditer(text))
    if comparisons:
        left = COMPARISON.sub("", text).replace(", ", "")
        assert not left, text
        return [
            {"kind": m["word"], "names": [m["a"]], "than": m["b"], "d": float(m["d"] or 0)}
            for m in comparisons
        ]
    for pattern, kind in RELATIONS:
        m = re.fullmatch(pattern, text)
        if not m:
            continue
        fields = m.groupdict()
        if kind == "ranks":
            sets = re.findall(r"(\d+)(?: to (\d+))? (\w+?)(?:, | and |$)", fields["sets"])
            return [
                {"kind": "rank", "names": [name], "first": int(first), "last": int(last or first),
                 "ordered": is_ordered}
                for first, last, name in sets
            ]  # fmt: skip
        value: dict[str, Any] = {"kind": kind, "names": names_of(fields["a"])}
        value["strict"] = fields.get("equal") is None
        value["ordered"] = is_ordered
        if fields.get("d"):
            value["d"] = float(fields["d"])
        if kind == "rank":
            value["first"] = int(fields["first"])
            value["last"] = int(fields.get("last") or fields["first"])
        if fields.get("m"):
            value["m"] = int(fields["m"])
        return [value]
    raise AssertionError(f"unknown conclusion: {text!r}")


def is_wrong(conclusion: dict[str, Any], names: str, means: np.ndarray) -> bool:
    """Return whether a conclusion is false for the true mean losses of all candidates."""
    at = [names.index(name) for name in conclusion["names"]]
    rest = [a for a in range(len(names)) if a not in at]
    kind = conclusion["kind"]
    if kind == "best":
        edge = SLACK if not conclusion["strict"] else -SLACK
        return bool(rest) and bool(max(means[at]) > min(means[rest]) + edge)
    if kind == "among":
        last = conclusion.get("m", 1) - 1
        return bool(np.sort(means[at])[last] > np.sort(means)[last] + SLACK)
    if kind == "within":
        return bool(means[at[0]] > means.min() + conclusion["d"] + SLACK)
    if kind == "order":
        return any(_is_behind(means, a, b, conclusion) for a, b in _pairs(at, rest))
    if kind == "rank":
        ahead = sum(_is_behind(means, at[0], b, conclusion) for b in rest)
        if not conclusion["ordered"]:
            # Without the convention the set must cover every place of a tie.
            equal = sum(abs(means[b] - means[at[0]]) <= SLACK for b in rest)
            better = sum(means[b] < means[at[0]] - SLACK for b in rest)
            return not conclusion["first"] <= 1 + better <= 1 + better + equal <= conclusion["last"]
        return not conclusion["first"] <= 1 + ahead <= conclusion["last"]
    if kind == "tied":
        return bool(np.ptp(means[at]) > SLACK)
    lead = float(means[names.index(conclusion["than"])] - means[at[0]])
    holds = {
        "better": lead > SLACK,
        "not better": lead <= SLACK,
        "not worse": lead >= -conclusion["d"] - SLACK,
        "worse": lead < -conclusion["d"] - SLACK + 2 * SLACK * (conclusion["d"] > 0),
    }
    return not holds[kind]


def _pairs(at: list[int], rest: list[int]) -> list[tuple[int, int]]:
    ordered = [(a, b) for place, a in enumerate(at) for b in at[place + 1 :]]
    return ordered + [(a, b) for a in at for b in rest]


def _is_behind(means: np.ndarray, a: int, b: int, conclusion: dict[str, Any]) -> bool:
    """Return whether b comes before a in the true order, ties as the sentence places them."""
    if abs(means[a] - means[b]) <= SLACK:
        return b < a if conclusion["ordered"] else conclusion["kind"] == "order"
    return bool(means[b] < means[a])


def is_part_wrong(short: str, question: dict[str, Any], names: str, means: np.ndarray) -> bool:
    """Return whether the answer for a group, in a few words, is false."""
    if short.startswith(("open", "undecided")):
        listed = [names.index(name) for name in names_of(short.partition(": ")[2])]
        m = question.get("top", 1) - 1
        is_best = not question.get("question") and not question.get("baseline")
        return bool(is_best and listed and np.sort(means[listed])[m] > np.sort(means)[m] + SLACK)
    if short.startswith("tie: "):
        return False
    wrong = False
    for piece in short.split("; "):
        rank = re.fullmatch(r"(\w+): rank (\d+)(?: to (\d+))?", piece)
        word = re.fullmatch(
            r"(\w+) is (better|not better|not worse|worse) than (\w+)( by.*)?", piece
        )
        if rank:
            value = {"kind": "rank", "names": [rank[1]], "first": int(rank[2]),
                     "last": int(rank[3] or rank[2]), "ordered": True}  # fmt: skip
        elif word:
            value = {"kind": word[2], "names": [word[1]], "than": word[3],
                     "d": question.get("within", 0.0)}  # fmt: skip
        elif piece.startswith(("open", "undecided")):
            continue
        elif question.get("question") == "ranks":
            value = {"kind": "order", "names": names_of(piece), "ordered": True}
        elif question.get("within"):
            value = {"kind": "within", "names": names_of(piece), "d": question["within"]}
        else:
            value = {"kind": "best", "names": names_of(piece), "strict": False}
        wrong |= is_wrong(value, names, means)
    return wrong
