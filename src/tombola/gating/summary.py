"""Summary of a gate for a pull request (Markdown), and for test reports (JUnit XML)."""

import re
from xml.etree import ElementTree

from tombola import __version__
from tombola._formatting import escape_control
from tombola.gating.result import SCOPES, Comparison, DifferingRow, GateResult

_SIGNS = {"PASSED": "✅", "WORSE": "❌", "NOT BETTER": "❌", "UNDECIDED": "⚠️"}
# Ids of rows that a sentence lists, and rows of the table of differences.
_MAX_IDS = 3
_MAX_ROWS = 10


def to_markdown(result: GateResult, title: str = "", command: str = "") -> str:
    """Return the result as Markdown: verdict, a table of metrics, and folded details.

    The first line is a hidden marker with the title, by which a program finds its earlier comment.

    title: name of this gate. command: the command line to print at the end.
    """
    name = re.sub(r"[^\w .-]", "", title) or "gate"
    groups = f", {len(result.groups)} groups" if result.groups else ""
    lines = [
        f"<!-- tombola-gate:{name} -->",
        f"### {_SIGNS[result.tag]} {_text(title) or 'Gate'}: {result.tag.lower()}",
        "",
        f"{_text(result.heading)}.",
        "",
        *_table(result),
        "",
        f"{_text(result.header)}{groups}. {_flipped(result)}".rstrip(),
        "",
        "<details><summary>What this means, and what to do next</summary>",
        "",
        *_details(result),
        "",
        *_rows_table(result),
        "</details>",
        "",
    ]
    words = f"<code>{_text(command)}</code> · " if command else ""
    lines.append(f"<sub>{words}tombola {__version__} · exit status {result.exit_code}</sub>")
    return "\n".join(lines) + "\n"


def _table(result: GateResult) -> list[str]:
    heading = SCOPES[result.reading]
    if result.reading != "recorded":
        heading += f" ({100 * (1 - result.level):g} %)"
    lines = [
        f"| | {_text(result.old)} | {_text(_new_name(result))} | change | {heading} | allowed | |",
        "|---|--:|--:|--:|--:|--:|---|",
    ]
    order = {"refuted": 0, "undecided": 1, "proved": 2}
    comparisons = sorted((*result.comparisons, *result.groups), key=lambda c: order[c.verdict])
    for comparison in comparisons:
        strong = "**" if comparison.verdict == "refuted" else ""
        allowed = "better"
        if comparison.within is not None:
            allowed = f"{'−' if comparison.units.scores else '+'}{comparison.within:g}"
        cells = [
            f"{strong}{_text(_name(result, comparison))}{strong}",
            comparison.number(comparison.old_mean),
            comparison.number(comparison.new_mean),
            f"{strong}{_signed(comparison.number(comparison.change, signed=True))}{strong}",
            _signed(comparison.interval_text()),
            allowed,
            f"{_SIGNS[comparison.tag]} {comparison.tag.lower()}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _new_name(result: GateResult) -> str:
    names = {comparison.version for comparison in result.comparisons}
    return names.pop() if len(names) == 1 else "new"


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
            f"Worse in {_text(_name(result, comparison))}: {', '.join(ids)}{rest}; better: "
            f"{comparison.n_better:,}."
        )
    return " ".join(texts)


def _details(result: GateResult) -> list[str]:
    lines = [f"{_text(str(result.statement))}."]
    steps = {_name(result, c): c.next_text(result.unit) for c in result.comparisons}
    lines += [f"{_text(name)}: {step}." for name, step in steps.items() if step]
    lines += [f"{result.shared_level_text}."] if result.shared_level_text else []
    lines += [f"{_text(note)}." for note in (*result.missing_notes(), *result.notes)]
    lines.append(result.false_alarm)
    return [f"- {line}" for line in lines]


def _rows_table(result: GateResult) -> list[str]:
    lines: list[str] = []
    for comparison in result.comparisons:
        rows: list[DifferingRow] = [*comparison.worst_rows, *comparison.best_rows][:_MAX_ROWS]
        if not rows:
            continue
        lines += [
            f"Rows that differ most, {_text(_name(result, comparison))}:",
            "",
            "| row | old | new |",
            "|---|--:|--:|",
            *(f"| `{_code(row.row)}` | {row.old:.4g} | {row.new:.4g} |" for row in rows),
            "",
        ]
    return lines


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
