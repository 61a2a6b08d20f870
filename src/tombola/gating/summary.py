"""Summary of a gate for a pull request (Markdown), and for test reports (JUnit XML)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

from tombola import __version__
from tombola._formatting import escape_control, join_names
from tombola.gating.result import Comparison, DifferingRow, GateResult
from tombola.statements import SCOPES

_SIGNS = {"PASSED": "✅", "WORSE": "❌", "NOT BETTER": "❌", "UNDECIDED": "⚠️"}
# The verdicts in the order of a comment: what needs a reader comes first.
_ORDER = {"refuted": 0, "undecided": 1, "proved": 2}
# Ids of rows that a sentence lists, and rows of the table of differences.
_MAX_IDS = 3
_MAX_ROWS = 10


def to_markdown(
    result: GateResult, title: str = "", command: str = "", commits: Mapping[str, str] | None = None
) -> str:
    """Return the result as Markdown: verdict, a table of metrics, and folded details.

    The first line is a hidden marker with the title, by which a program finds its earlier comment.
    Numbers from 0 to 1 are in points, of which 1 is 100.

    title: name of this gate. command: the command line to print at the end.
    commits: names of versions, and the commit that each belongs to.
    """
    name = re.sub(r"[^\w .-]", "", title) or "gate"
    groups = f", {len(result.groups)} groups" if result.groups else ""
    shown = _sorted(result.deciding)
    facts = [f"{_text(result.header)}{groups}.", _points_text(result), _flipped(result)]
    lines = [
        f"<!-- tombola-gate:{name} -->",
        f"### {_SIGNS[result.tag]} {_text(title) or 'Gate'}: {result.tag.lower()} – "
        f"{_text(_change_text(result, shown[0]))}",
        "",
        f"{_text(result.heading)}.",
        "",
        *_table(result, shown, commits or {}),
        "",
        " ".join(filter(None, facts)),
        "",
        "<details><summary>What this means, and what to do next</summary>",
        "",
        *_details(result),
        "",
        *_reported_groups(result, commits or {}),
        *_rows_table(result),
        "</details>",
        "",
    ]
    words = f"<code>{_text(command)}</code> · " if command else ""
    lines.append(f"<sub>{words}tombola {__version__} · exit status {result.exit_code}</sub>")
    return "\n".join(lines) + "\n"


def _sorted(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """Return comparisons in the order of the table."""
    return sorted(comparisons, key=lambda comparison: _ORDER[comparison.verdict])


def _has_points(comparison: Comparison) -> bool:
    """Whether the numbers are from 0 to 1, and can be written in points."""
    return (comparison.units.low, comparison.units.high) == (0.0, 1.0)


def _in_points(comparison: Comparison) -> Comparison:
    """Return a comparison with its numbers in points, if they are from 0 to 1."""
    if not _has_points(comparison):
        return comparison
    numbers = ("old_mean", "new_mean", "low", "high", "settled")
    scaled: dict[str, Any] = {name: 100.0 * getattr(comparison, name) for name in numbers}
    within = None if comparison.within is None else 100.0 * comparison.within
    units = comparison.units._replace(high=100.0)
    return replace(comparison, units=units, within=within, **scaled)


def _change_text(result: GateResult, comparison: Comparison) -> str:
    """Return the change of a comparison with its sign and unit, for the first line."""
    points = _in_points(comparison)
    change = _signed(points.number(points.change, signed=True))
    unit = " points" if _has_points(comparison) else ""
    name = _name(result, comparison) if len(result.deciding) > 1 else comparison.metric
    return f"{name} {change}{unit}"


def _points_text(result: GateResult) -> str:
    """Return what a point is, if the table has some."""
    comparisons = (*result.comparisons, *result.groups)
    with_points = dict.fromkeys(c.metric for c in comparisons if _has_points(c))
    if not with_points:
        return ""
    if len(with_points) == len({c.metric for c in comparisons}):
        return "Numbers are in points: 1 is 100 points."
    return f"Numbers of {_text(join_names(list(with_points)))} are in points: 1 is 100 points."


def _table(result: GateResult, shown: list[Comparison], commits: Mapping[str, str]) -> list[str]:
    heading = SCOPES[result.reading]
    if result.reading != "recorded":
        heading += f" ({100 * (1 - result.level):g} %)"
    names = list(dict.fromkeys(comparison.version for comparison in shown))
    new = _with_commit(names[0], commits) if len(names) == 1 else "new"
    old = _with_commit(result.old, commits)
    lines = [
        f"| | {old} | {new} | change | {heading} | allowed | |",
        "|---|--:|--:|--:|--:|--:|---|",
    ]
    for comparison in shown:
        points = _in_points(comparison)
        strong = "**" if comparison.verdict == "refuted" else ""
        allowed = "better"
        if points.within is not None:
            allowed = f"{'−' if points.units.scores else '+'}{points.number(points.within)}"
        name = _text(_name(result, comparison))
        if len(names) > 1 and (commit := _commit(comparison.version, commits)):
            name += f" {commit}"
        cells = [
            f"{strong}{name}{strong}",
            points.number(points.old_mean),
            points.number(points.new_mean),
            f"{strong}{_signed(points.number(points.change, signed=True))}{strong}",
            _signed(points.interval_text()),
            allowed,
            f"{_SIGNS[comparison.tag]} {comparison.tag.lower()}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _with_commit(name: str, commits: Mapping[str, str]) -> str:
    return f"{_text(name)} {_commit(name, commits)}".rstrip()


def _commit(name: str, commits: Mapping[str, str]) -> str:
    """Return the commit of a version as code; "" if it is not known."""
    commit = commits.get(name, "")
    return f"`{_code(short_commit(commit))}`" if commit else ""


def short_commit(commit: str) -> str:
    """Return the first seven letters of a commit id; other texts, such as a tag, as they are.

    >>> short_commit("3f2a9c1" + 33 * "0"), short_commit("v1.2.0")
    ('3f2a9c1', 'v1.2.0')
    """
    return commit[:7] if re.fullmatch(r"[0-9a-f]{40}([0-9a-f]{24})?", commit) else commit


def _name(result: GateResult, comparison: Comparison) -> str:
    """Return version, metric and group, as far as there are several."""
    versions = len({c.version for c in result.comparisons}) > 1
    metric = comparison.metric if result.several or not versions else ""
    parts = [comparison.version if versions else "", metric, comparison.group]
    return ", ".join(filter(None, parts))


def _flipped(result: GateResult) -> str:
    """Return which rows got worse, for each comparison that did not pass."""
    texts = []
    for comparison in result.comparisons:
        if comparison.verdict == "proved" or not comparison.n_worse:
            continue
        ids = [f"`{_code(row.row)}`" for row in comparison.worst_rows[:_MAX_IDS]]
        more = comparison.n_worse - len(ids)
        rest = f" and {more:,} more" if more > 0 else ""
        texts.append(
            f"Now worse in {_text(_name(result, comparison))}: {', '.join(ids)}{rest}; now better: "
            f"{comparison.n_better:,}."
        )
    return " ".join(texts)


def _details(result: GateResult) -> list[str]:
    lines = [f"{_text(str(result.statement))}."]
    steps = {_name(result, c): c.next_text(result.unit) for c in result.comparisons}
    lines += [f"{_text(name)}: {step}." for name, step in steps.items() if step]
    if shared := result.shared_level_text:
        lines.append(f"{shared[0].upper()}{shared[1:]}.")
    lines += [f"{_text(note)}." for note in (*result.missing_notes(), *result.notes)]
    lines.append(result.false_alarm)
    return [f"- {line}" for line in lines]


def _rows_table(result: GateResult) -> list[str]:
    lines: list[str] = []
    for comparison in result.comparisons:
        rows = _differing(comparison)
        if not rows:
            continue
        lines += [
            f"Rows that differ most, {_text(_name(result, comparison))}, as recorded:",
            "",
            "| row | old | new |",
            "|---|--:|--:|",
            *(f"| `{_code(row.row)}` | {row.old:.4g} | {row.new:.4g} |" for row in rows),
            "",
        ]
    return lines


def _reported_groups(result: GateResult, commits: Mapping[str, str]) -> list[str]:
    if result.groups_decide or not result.groups:
        return []
    text = result.reported_groups_text
    return [
        f"{text[0].upper()}{text[1:]}.",
        "",
        *_table(result, _sorted(result.groups), commits),
        "",
    ]


def _differing(comparison: Comparison) -> list[DifferingRow]:
    """Return the rows that got worse, and after them those that got better; half of each if both are many."""
    n_best = min(len(comparison.best_rows), _MAX_ROWS // 2)
    worst = comparison.worst_rows[: _MAX_ROWS - n_best]
    return [*worst, *comparison.best_rows[: _MAX_ROWS - len(worst)]]


def _text(text: str) -> str:
    """Escape text for Markdown: names may hold anything, also HTML and mentions of people."""
    plain = escape_control(" ".join(text.split()), line=True)
    plain = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    plain = re.sub(r"([\\`*_\[\]|#~])", r"\\\1", plain)
    return plain.replace("@", "@\N{ZERO WIDTH SPACE}")


def _code(text: str) -> str:
    """Return text for a code span in a table."""
    plain = escape_control(" ".join(text.split()), line=True)[:60]
    return plain.replace("`", "'").replace("|", "\\|") or " "


def _signed(number: str) -> str:
    return number.replace("-", "−")


def to_junit(result: GateResult, title: str = "", *, undecided: str | None = None) -> str:
    """Return the result as JUnit XML: a test case for each comparison that decides.

    undecided: "pass" or "fail" for undecided comparisons; None marks them as skipped.
    """
    cases = []
    failures = skipped = 0
    for comparison in result.deciding:
        case = ElementTree.Element(
            "testcase", classname=_xml(title or "gate"), name=_xml(_name(result, comparison))
        )
        message = _xml(comparison.claim(result.old, by_metric=result.several))
        if comparison.verdict == "refuted" or (
            comparison.verdict == "undecided" and undecided == "fail"
        ):
            failures += 1
            failure = ElementTree.SubElement(case, "failure", message=message, type=comparison.tag)
            failure.text = _xml(str(result))
        elif comparison.verdict == "undecided" and undecided is None:
            skipped += 1
            ElementTree.SubElement(case, "skipped", message=message)
        cases.append(case)
    suite = ElementTree.Element(
        "testsuite",
        name=_xml(title or "tombola gate"),
        tests=str(len(cases)),
        failures=str(failures),
        errors="0",
        skipped=str(skipped),
    )
    suite.extend(cases)
    output = ElementTree.SubElement(suite, "system-out")
    output.text = _xml(str(result))
    ElementTree.indent(suite)
    text = ElementTree.tostring(suite, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _xml(text: str) -> str:
    """Return text without the characters that XML does not allow."""
    return (
        "".join(
            letter
            if letter in "\n\t" or (letter >= " " and not "\ud800" <= letter <= "\udfff")
            else "?"
            for letter in text
        )
        .replace("\ufffe", "?")
        .replace("\uffff", "?")
    )
