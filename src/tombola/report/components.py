"""Parts that pages share: the answer, and lists of dots and bars on one axis."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tombola.statements import Statement, Verdict

# Colour of an answer by verdict.
_TONES: dict[Verdict, str] = {
    "exact": "good", "proved": "good", "refuted": "bad",
    "undecided": "fair", "stopped": "fair", "running": "open",
}  # fmt: skip
# Words of a gate: is the new one not worse than the old one?
_GATE_TAGS: dict[Verdict, str] = {"exact": "passed", "proved": "passed", "refuted": "worse"}
# Ticks of an axis, about: more labels touch each other on a phone.
_TICKS = 4


class Answer(NamedTuple):
    """What a result claims, at the top of a page: the statement, three facts, the next command.

    tag: the verdict in one word; tone: its colour, "good", "fair", "bad", "open" or "measured".
    heading: the answer in a few words; sentence: the statement.
    """

    tag: str
    tone: str
    heading: str
    sentence: str
    facts: tuple[tuple[str, str], ...] = ()
    command: str = ""

    @classmethod
    def from_statement(
        cls,
        statement: Statement,
        facts: Iterable[tuple[str, str]] = (),
        command: str = "",
        *,
        gate: bool = False,
    ) -> "Answer":
        """Return the answer of a statement; it has no words of its own about what is proved.

        gate: write "passed" for proved and "worse" for refuted.

        >>> from tombola.statements import Conclusion
        >>> best = Conclusion("best", ("b",), field=3)
        >>> answer = Answer.from_statement(Statement("proved", "recorded", (best,)))
        >>> answer.tag, answer.tone, answer.heading
        ('proved', 'good', 'The best: b')
        """
        verdict = statement.verdict
        tag = _GATE_TAGS.get(verdict, verdict) if gate else verdict
        return cls(
            tag,
            _TONES[verdict],
            statement.heading,
            statement.full,
            tuple(facts),
            command,
        )


class DotRow(NamedTuple):
    """One line of a list: a dot at the mean, a bar over the values that are possible.

    text: what stands beside the bar; words: the same in full, for a tooltip and for readers who do
        not see it.
    dot: None for none; tone: "good" highlights the line; separated: a line above it.
    """

    name: str
    text: str
    low: float
    high: float
    dot: float | None = None
    tone: str = ""
    separated: bool = False
    words: str = ""


@dataclass(frozen=True)
class DotList:
    """Lines with dots and bars on one axis from `low` to `high`; the first `shown` are visible.

    label: what the axis shows. counts: whether its values are whole numbers, such as ranks.
    """

    rows: tuple[DotRow, ...]
    low: float
    high: float
    label: str
    shown: int = 20
    counts: bool = False

    def place(self, value: float) -> float:
        """Return the place of a value, in per cent of the width.

        >>> DotList((), 0.0, 2.0, "score").place(0.5)
        25.0
        """
        span = self.high - self.low
        share = (value - self.low) / span if span > 0 else 0.5
        return round(100 * min(max(share, 0.0), 1.0), 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Place and text of the ticks of the axis.

        >>> DotList((), 0.0, 1.0, "score").ticks
        [(0.0, '0'), (50.0, '0.5'), (100.0, '1')]
        >>> DotList((), 0.5, 25.5, "rank", counts=True).ticks
        [(2.0, '1'), (38.0, '10'), (78.0, '20'), (98.0, '25')]
        """
        step = _tick_step((self.high - self.low) / _TICKS)
        if self.counts:
            first, last = math.ceil(self.low), math.floor(self.high)
            step = max(round(step), 1)
            # The last value is on the axis, and the tick before it must not touch it.
            values = [first, *range(step, last, step), last]
            values = [
                value
                for value in dict.fromkeys(values)
                if value in (first, last) or min(value - first, last - value) >= step / 2
            ]
            return [(self.place(value), f"{value:,}") for value in values]
        count = math.floor(self.high / step + 1e-9)
        start = math.ceil(self.low / step - 1e-9)
        return [
            (self.place(place * step), f"{place * step:,.10g}") for place in range(start, count + 1)
        ]


def _tick_step(least: float) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten that is at least `least`."""
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
