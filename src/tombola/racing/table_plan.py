"""Plan races on a table in a file: simulated races, and what they say to its owner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tombola._formatting import format_range, note_line, plural
from tombola._results import Block, Cells, Result
from tombola.errors import ParameterError
from tombola.racing._plan import Plan, plan
from tombola.racing.strata import Strata
from tombola.statements import SCOPES
from tombola.tables import read_table
from tombola.tables.cells import read_history
from tombola.tables.to_pool import reading_line
from tombola.units import Units

# A race that needs more than this share of all calls suggests a tolerance, which makes it cheaper.
_EXPENSIVE_SHARE = 0.5
# Different answers of simulated races that are listed; of the others only the number is given.
_MAX_ANSWERS = 3


@dataclass(frozen=True)
class TablePlan(Result):
    """Result of `plan_table`: one `Plan` per level, and what the table was read as.

    heading   name and direction of the table
    within    the tolerance, in the unit of the table
    on_file   number of answers on file, which cost no call; None if no table of them was given
    reading   how the table was read: direction, candidates, and what was left out
    remarks   how the table was read, for people
    notes     notes of the table and of the answers on file
    """

    plans: tuple[Plan, ...]
    source: str
    heading: str
    within: float
    seed: int
    on_file: int | None
    reading: Mapping[str, Any]
    remarks: tuple[str, ...]
    notes: tuple[str, ...]

    def blocks(self) -> list[Block]:
        """Return the calls per level, the answers, costs, and notes on the table."""
        first = self.plans[0]
        settings = first.settings
        races = plural(len(first.outcomes), "simulated race")
        blocks: list[Block] = [
            "\n".join([self.heading, *self.remarks]),
            f"{plural(first.rows, 'row')}, {len(settings.candidates)} candidates, {races} "
            f"{SCOPES[settings.first_reading]}",
            self._calls(),
        ]
        for entry in self.plans:
            blocks.append(f"answer at level {entry.settings.level:g}: {_answers(entry)}")
            if entry.strata is not None:
                blocks.append(_groups(entry, entry.strata.title))
        if settings.max_cost is not None:
            costs = " and ".join(
                f"{entry.cost:,.4g} at level {entry.settings.level:g}" for entry in self.plans
            )
            blocks.append(f"Cost: {costs} on average, never above {settings.max_cost:,.6g}.")
            if first.decided < 1:
                blocks.append(
                    "An undecided race names the candidates that are left; the best is one of "
                    "them, up to the level."
                )
        if first.share > _EXPENSIVE_SHARE and settings.within == 0.0:
            blocks.append(
                "Near ties take most of these calls. Use --within to accept a candidate that is "
                "close to the best."
            )
        if self.on_file is not None:
            count = plural(self.on_file, "answer")
            blocks.append(
                f"{count} on file cost no call; the column of all counts them in the whole table."
            )
        # The first line has the candidates already.
        notes = [note for note in self.notes[1:] if not note.startswith("a wide table: ")]
        return [*blocks, *map(note_line, notes)]

    def _calls(self) -> Cells:
        """Return the table of calls: the whole table, then a line per level."""
        first = self.plans[0]
        # Only the order of the recorded answers is known at the end.
        is_known = first.settings.first_reading == "recorded"
        decided = _percent(1.0) if is_known else ""
        wrong = _percent(0.0) if is_known else ""
        rows: list[tuple[str, ...]] = [
            ("whole table", f"{first.total_calls:,}", "", _percent(1.0), decided, wrong)
        ]
        for entry in self.plans:
            low, high = entry.calls_range
            rows.append(
                (
                    f"level {entry.settings.level:g}",
                    f"{entry.calls:,.0f}",
                    format_range(round(low), round(high)),
                    *map(_percent, (entry.share, entry.decided, entry.wrong)),
                )
            )
        return Cells(
            ("", "calls", "90 % range", "of all", "decided", "wrong"), rows, right=range(1, 6)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the table, the question and one dict of `Plan.to_json` per level."""
        first = self.plans[0]
        return {
            "table": self.source,
            "rows": first.rows,
            **self.reading,
            "total_calls": first.total_calls,
            "notes": list(self.notes),
            "within": self.within,
            "max_cost": first.settings.max_cost,
            "shuffles": len(first.outcomes),
            "reading": first.settings.first_reading,
            "seed": self.seed,
            "races": [entry.to_json() for entry in self.plans],
        }


def plan_table(
    table: str | Path,
    table_options: dict[str, Any],
    *,
    seed: int,
    levels: Sequence[float] = (0.05,),
    within: float = 0.0,
    by: str = "",
    rescale: bool = False,
    missing: Literal["error", "drop", "worst"] = "error",
    known: Path | None = None,
    history: Path | None = None,
    **options: Any,
) -> TablePlan:
    """Simulate races on the table of a file, as `plan` does on a pool.

    table          a path, or "-" for standard input
    table_options  keyword arguments of `read_table`, such as kind and range
    levels         error probabilities to compare
    within         the tolerance, in the unit of the table
    by             column of groups of rows; "" for none
    rescale, missing   as in `read_table`
    known          table of answers on file, which cost no call
    history        table of numbers that are known of every row
    options        further arguments of `plan`: top, baseline, max_cost, reading, shuffles, workers, ...

    ParameterError if an option is invalid, TableError if a file is.
    """
    # Answers on file are read by the work lists, which are built on races.
    from tombola.worklists.known_answers import KnownTable

    read = read_table(
        table, rescale=rescale, missing=missing, **table_options, by=by or None, runs=True
    )
    pool = read.pool
    ids = pool.ids or tuple(str(row) for row in range(pool.rows))
    notes = list(read.notes)
    on_file = None
    if known is not None:
        known_table = KnownTable(known, pool.actions, table_options.get("ids", ""))
        units = Units(*read.range, scores=read.kind == "scores")
        on_file = ~np.isnan(known_table.losses(pool.actions, ids, units))
        notes += known_table.summary_notes()
    if read.runs is not None and options.get("reading") != "beyond":
        notes.append(
            "answers are random: every simulated call draws one of the runs of its cell, and the "
            "answer is about expected answers on these rows"
        )
    plans = plan(
        pool,
        runs=read.runs,
        within=_to_loss(within, *read.range),
        seed=seed,
        levels=levels,
        known=on_file,
        history=None if history is None else read_history(history, ids)[1],
        strata=None if read.strata is None else Strata.of(read.strata, pool.rows, by),
        **options,
    )
    name = "standard input" if str(table) == "-" else Path(table).name
    return TablePlan(
        tuple(plans),
        name,
        reading_line(
            read.kind, read.unit, pool.actions, ", ".join(filter(None, [name, read.without]))
        ),
        within,
        seed,
        None if on_file is None else int(on_file.sum()),
        read.reading(),
        tuple(read.remarks),
        tuple(notes),
    )


def _to_loss(within: float, low: float, high: float) -> float:
    """Convert a difference in table units to a difference of losses in [0, 1]."""
    span = (high - low) or 1.0
    if within >= span:
        raise ParameterError(
            f"--within: expected less than {span:g}, as the numbers are from {low:g} to "
            f"{high:g}, got {within:g}; write for example --within {0.02 * span:g}."
        )
    return within / span


def _groups(entry: Plan, title: str) -> Cells:
    """Return the most frequent answer of each group as a table."""
    rows = []
    for name, group_plan in entry.by_group.items():
        names, times = group_plan.answers[0]
        shares = map(
            _percent, (times / len(group_plan.outcomes), group_plan.decided, group_plan.wrong)
        )
        rows.append((name, f"{group_plan.rows:,}", ", ".join(names), *shares))
    return Cells(
        (title, "rows", "answer", "of shuffles", "decided", "wrong"), rows, right=(1, 3, 4, 5)
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if 0 < share < 1 else f"{100 * share:.0f} %"


def _answers(entry: Plan) -> str:
    """Return the most frequent answers as text."""
    count = len(entry.outcomes)
    settings = entry.settings
    # More names than asked for: the race could not tell them apart.
    is_best = settings.question == "best" and settings.baseline is None
    joints = [
        " or " if is_best and len(names) > settings.top else ", " for names, _ in entry.answers
    ]
    texts = [
        f"{joint.join(names) or 'none'} ({_percent(times / count)} of shuffles)"
        for joint, (names, times) in zip(joints, entry.answers, strict=True)
    ]
    more = f"; and {len(texts) - _MAX_ANSWERS} others" if len(texts) > _MAX_ANSWERS else ""
    return "; ".join(texts[:_MAX_ANSWERS]) + more
