"""Harness of statements: races with injected orders, arrivals and crashes, judged by their words.

A scenario is a question under a circumstance. A race is driven by `calls` and `record` (or in a
file), and after every answer batch its sentence is parsed back (`parsing`) and judged by the true
means. A race is wrong if any of its sentences was; a sentence that says "for certain" may never
be. Rows of a table in all orders, under one seed, are all orders of the race.
"""

import itertools
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from statements.parsing import is_part_wrong, is_wrong, parse, parse_text
from tombola import Race, RaceFile
from tombola.racing import Event

# Names of candidates; a table has the first of them.
NAMES = "abcd"
QUESTIONS: dict[str, dict[str, Any]] = {
    "best": {},
    "within": {"within": 0.15},
    "top": {"top": 2},
    "gate": {"baseline": "a", "better": True},
    "gate margin": {"baseline": "a", "within": 0.1},
    "ranks": {"question": "ranks"},
    "first ranks": {"question": "ranks", "top": 2},
    "place": {"question": "ranks", "candidate": "b"},
}


@dataclass
class Count:
    """Races, sentences, wrong races and wrong certainties of a scenario."""

    races: float = 0.0
    played: int = 0
    sentences: int = 0
    wrong: float = 0.0
    wrong_certain: int = 0
    decided: float = 0.0
    examples: list[str] = field(default_factory=list)

    def add(self, other: "Count", weight: float = 1.0) -> None:
        self.races += weight
        self.played += 1
        self.sentences += other.sentences
        self.wrong += weight * (other.wrong > 0)
        self.decided += weight * other.decided
        self.wrong_certain += other.wrong_certain
        self.examples += other.examples[:1]


class Judge:
    """Judge every sentence of one race; `means` are the true ones, of the list and by group."""

    def __init__(self, question: dict[str, Any], means: np.ndarray, groups: Any = None) -> None:
        self.question, self.means, self.groups = question, means, groups or {}
        self.count = Count(races=1.0)

    def look(self, race: Race) -> None:
        """Parse and judge what a race says now; the fields must agree with the sentence."""
        statement = race.statement
        sentence = str(statement)
        parsed = parse_text(sentence)
        self.count.sentences += 1
        if race.done or self.count.sentences == 1:
            # What is said in full agrees at the ends; the sentence is judged at every look.
            assert parse(race.verdict) == parsed
            assert statement.to_json()["text"] == sentence
        assert statement.exit_status == {True: 0, False: 1, None: 3}[race.proved], sentence
        assert len(parsed.conclusions) == len(statement.conclusions), sentence
        assert (parsed.level is None) == (not statement.conclusions), sentence
        if parsed.level is not None:
            # The sentence rounds the probability down.
            assert -1e-9 <= parsed.level - statement.level < 1e-4, sentence
        assert parsed.reading == statement.reading, sentence
        prefixes = {"running": "open", "stopped": "stopped", "undecided": "undecided"}
        assert parsed.prefix.startswith(prefixes.get(statement.verdict, "")), sentence
        assert bool(parsed.prefix) == (statement.verdict in prefixes), sentence
        names = NAMES[: len(self.means)]
        wrong = [is_wrong(one, names, self.means) for one in parsed.conclusions]
        parts = [
            is_part_wrong(short, self.question, names, self.groups[name])
            for name, short in parsed.parts.items()
        ]
        if any(wrong) or any(parts):
            self.count.wrong = 1.0
            self.count.examples = [sentence]
        if any(wrong) and "for certain" in sentence.partition("; by group")[0]:
            self.count.wrong_certain += 1
        self.count.decided = float(race.proved is not None)


def loss_of(table: Any, call: Any) -> float:
    return float(table[call.row_index][NAMES.index(call.candidate)])


def answer_in_turn(race: Race, table: Any, judge: Judge, **_: Any) -> Race:
    """Answer every call at once."""
    judge.look(race)
    while not race.done:
        for call in race.calls():
            race.record(call, loss=loss_of(table, call))
        judge.look(race)
    return race


def answer_good_ones_first(race: Race, table: Any, judge: Judge, **_: Any) -> Race:
    """Ask for two rows ahead, and answer losses of 0 before all others: arrival by outcome."""
    while not race.done:
        race.calls(2 * len(race.candidates))
        waiting = sorted(race.pending, key=lambda call: loss_of(table, call))
        for call in waiting[: max(1, len(waiting) // 2)]:
            race.record(call, loss=loss_of(table, call))
            judge.look(race)
    return race


def answer_with_failures(race: Race, table: Any, judge: Judge, **_: Any) -> Race:
    """Report every loss of 1 as a failed call."""
    while not race.done:
        for call in race.calls():
            loss = loss_of(table, call)
            race.record(call, **({"failed": True} if loss == 1.0 else {"loss": loss}))
        judge.look(race)
    return race


def answer_and_resume(race: Race, table: Any, judge: Judge, **_: Any) -> Race:
    """Restore the race from its answers after every row; the words must be the same."""
    events: list[Event] = []
    while not race.done:
        for call in race.calls():
            race.record(call, loss=loss_of(table, call))
            events.append(race.recorded(call.ticket))
        again = Race.restore(race.settings, race.rows, events, race.side, race.strata)
        assert str(again.statement) == str(race.statement)
        race = again
        judge.look(race)
    return race


def answer_twice(race: Race, table: Any, judge: Judge, **_: Any) -> Race:
    """Amend answers: the same one is ignored, another one is refused, and the first stands."""
    from tombola.errors import ConflictError

    while not race.done:
        for call in race.calls():
            loss = loss_of(table, call)
            race.record(call, loss=loss)
            assert not race.record(call, loss=loss)
            try:
                race.record(call, loss=abs(loss - 0.5))
            except ConflictError:
                pass
            else:
                assert loss == 0.25
        judge.look(race)
    return race


def answer_in_two_processes(race: Race, table: Any, judge: Judge, folder: Path, **_: Any) -> Race:
    """Two handles of one file answer in turn; one crashes in the middle of every second row."""
    path = folder / "race"
    path.unlink(missing_ok=True)
    RaceFile.start(path, race.settings, race.rows, side=race.side, strata=race.strata).close()
    handles = [RaceFile.open(path), RaceFile.open(path)]
    turn = 0
    while not handles[0].race.done:
        calls = handles[turn % 2].race.calls()
        calls = calls or handles[turn % 2].race.pending
        for place, call in enumerate(calls):
            if turn % 4 == 1 and place == 1:
                # A crash: the handle is lost with the rest of its calls.
                handles[turn % 2] = RaceFile.open(path)
                break
            handles[turn % 2].append(Event("answer", call.ticket, loss_of(table, call)))
        turn += 1
        judge.look(handles[turn % 2].race)
        if handles[turn % 2].race.done:
            break
    race = handles[turn % 2].race
    for handle in handles:
        handle.close()
    return race


def answer_by_lot(race: Race, table: Any, judge: Judge, seed: int, **_: Any) -> Race:
    """Draw every answer: a loss of 1 with the probability in the table, else 0."""
    rng = np.random.default_rng([seed, 1])
    while not race.done:
        for call in race.calls():
            race.record(call, loss=float(rng.random() < loss_of(table, call)))
        judge.look(race)
    return race


@dataclass(frozen=True)
class Circumstance:
    """How a race is set up and answered."""

    drive: Callable[..., Race] = answer_in_turn
    options: dict[str, Any] = field(default_factory=dict)
    known: bool = False
    history: bool = False
    groups: bool = False
    sample: bool = False
    seeds: bool = False
    slow: bool = False

    @property
    def is_enumerated(self) -> bool:
        """Whether all orders are played; else the seed shuffles, or draws the answers."""
        return not (self.groups or self.slow or self.seeds)

    @property
    def sees_answers_only(self) -> bool:
        """Whether a race knows nothing of a row before it asks for it."""
        return self.is_enumerated and not (self.known or self.history or self.sample)


CIRCUMSTANCES: dict[str, Circumstance] = {
    "plain": Circumstance(),
    "arrivals by outcome": Circumstance(answer_good_ones_first),
    "known cells against b": Circumstance(known=True),
    "history is the future": Circumstance(history=True),
    "groups": Circumstance(groups=True),
    "failures": Circumstance(answer_with_failures),
    "cap on calls": Circumstance(options={"max_calls": 9}),
    "cap and late answers": Circumstance(answer_good_ones_first, options={"max_calls": 10}),
    "amended": Circumstance(answer_twice),
    "resumed": Circumstance(answer_and_resume),
    "groups resumed": Circumstance(answer_and_resume, groups=True),
    "two processes": Circumstance(answer_in_two_processes, slow=True),
    "sample": Circumstance(sample=True, options={"reading": "beyond"}),
    "random answers": Circumstance(seeds=True, options={"answers": "random", "max_calls": 45}),
    "drawn answers": Circumstance(
        answer_by_lot, seeds=True, options={"answers": "random", "max_calls": 45}
    ),
    "known and history": Circumstance(known=True, history=True),
}

# Questions whose rules use answers on file or history.
_INFORMED = {"best", "within", "top", "gate", "gate margin"}


def scenarios() -> list[tuple[str, str]]:
    """Return the pairs of question and circumstance that exist."""
    return [
        (question, name)
        for question in QUESTIONS
        for name, circumstance in CIRCUMSTANCES.items()
        if question in _INFORMED or not circumstance.history
    ]


def make_race(
    question: str, circumstance: Circumstance, table: np.ndarray, level: float, seed: int
) -> Race:
    rows = len(table)
    options = {"answers": "fixed", **QUESTIONS[question], **circumstance.options}
    known = None
    if circumstance.known:
        # Chosen against b by its losses, before the shuffle.
        known = np.full(table.shape, np.nan)
        known[table[:, 1] == 1.0, 1] = 1.0
    history = table if circumstance.history else None
    strata = ["x" if row % 2 else "y" for row in range(rows)] if circumstance.groups else None
    names = NAMES[: table.shape[1]]
    return Race(
        names, rows, level=level, seed=seed, known=known, history=history, strata=strata, **options
    )


def judge_race(
    question: str,
    circumstance: Circumstance,
    table: np.ndarray,
    level: float,
    *,
    seed: int = 1,
    means: np.ndarray | None = None,
    dealt: "DealtTable | None" = None,
) -> Count:
    """Drive one race and judge all that it says.

    means: the true ones; None: those of the table. dealt: where the answers are from, if not from
    the table.
    """
    groups = {"y": table[0::2].mean(axis=0), "x": table[1::2].mean(axis=0)}
    judge = Judge(QUESTIONS[question], table.mean(axis=0) if means is None else means, groups)
    race = make_race(question, circumstance, table, level, seed)
    if circumstance.slow:
        with tempfile.TemporaryDirectory() as name:
            circumstance.drive(race, table, judge, folder=Path(name))
    else:
        circumstance.drive(race, table if dealt is None else dealt, judge, seed=seed)
    return judge.count


class DealtTable:
    """A table whose rows are dealt from a stock of kinds when a race first asks for them.

    kinds, left: the kinds of rows, and how many of each are still in the stock. script: the kinds of
    the first rows that are asked for; later ones get the first kind that is left. hand: the kinds
    dealt.
    """

    def __init__(self, kinds: np.ndarray, counts: Sequence[int], script: list[int]) -> None:
        self.kinds, self.left = kinds, list(counts)
        self.script, self.hand = script, []  # type: tuple[list[int], list[int]]
        self._rows: dict[int, np.ndarray] = {}

    def __getitem__(self, row: int) -> np.ndarray:
        if row not in self._rows:
            place = len(self.hand)
            first = next(kind for kind, left in enumerate(self.left) if left)
            kind = self.script[place] if place < len(self.script) else first
            self.left[kind] -= 1
            self.hand.append(kind)
            self._rows[row] = self.kinds[kind]
        return self._rows[row]


def orders_of(counts: Sequence[int]) -> int:
    """Return the number of different orders of rows of kinds, of which there are so many each."""
    number = math.factorial(sum(counts))
    for count in counts:
        number //= math.factorial(count)
    return number


def deal_orders(question: str, name: str, table: np.ndarray, level: float) -> Count:
    """Judge a race in all different orders of its rows; the races of the count are these orders.

    A race sees the rows that it asks for only. Orders that agree on them are one race: one is
    played for all. Only where the circumstance tells nothing of other rows.
    """
    circumstance = CIRCUMSTANCES[name]
    assert circumstance.sees_answers_only
    kinds, shares = np.unique(table, axis=0, return_counts=True)
    counts = shares.tolist()
    count = Count()
    script: list[int] | None = []
    while script is not None:
        dealt = DealtTable(kinds, counts, script)
        one = judge_race(question, circumstance, table, level, dealt=dealt)
        count.add(one, float(orders_of(dealt.left)))
        script = _next_script(dealt.hand, counts)
    return count


def _next_script(hand: list[int], counts: Sequence[int]) -> list[int] | None:
    """Return the first rows of the next orders, after all that begin with a hand; None at the end."""
    for place in reversed(range(len(hand))):
        left = [n - hand[:place].count(kind) for kind, n in enumerate(counts)]
        later = [kind for kind in range(hand[place] + 1, len(counts)) if left[kind]]
        if later:
            return [*hand[:place], later[0]]
    return None


def enumerate_orders(
    question: str, name: str, table: np.ndarray, level: float, *, limit: int | None = None
) -> Count:
    """Judge a race in all orders of its rows, or under `limit` seeds where rows keep their place.

    Orders that differ in equal rows only are one race: all have as many. limit: of orders that are
    played, too.
    """
    circumstance = CIRCUMSTANCES[name]
    if not circumstance.is_enumerated:
        return shuffle_seeds(question, name, table, level, range(limit or 120))
    count = Count()
    kinds, shares = np.unique(table, axis=0, return_counts=True)
    for order in itertools.islice(distinct_orders(shares.tolist()), limit):
        one = judge_race(question, circumstance, kinds[order], level, means=table.mean(axis=0))
        count.add(one)
    return count


def distinct_orders(counts: Sequence[int]) -> Iterator[list[int]]:
    """Yield the orders of rows of kinds 0, 1, ..., of which there are so many each."""
    if not any(counts):
        yield []
    for kind, left in enumerate(counts):
        if left:
            rest = [n - (at == kind) for at, n in enumerate(counts)]
            yield from ([kind, *order] for order in distinct_orders(rest))


def enumerate_samples(
    question: str,
    law: np.ndarray,
    rows: int,
    level: float,
    chances: Sequence[float] | None = None,
) -> Count:
    """Judge races on all samples of a law; the truth is that of the law. chances: equal if None.

    The counts are probabilities times the number of samples.
    """
    circumstance = CIRCUMSTANCES["sample"]
    count = Count()
    chance = np.full(len(law), 1.0 / len(law)) if chances is None else np.array(chances)
    for sample in itertools.product(range(len(law)), repeat=rows):
        kinds = list(sample)
        one = judge_race(question, circumstance, law[kinds], level, means=chance @ law)
        count.add(one, float(len(law) ** rows * chance[kinds].prod()))
    return count


def shuffle_seeds(question: str, name: str, table: np.ndarray, level: float, seeds: range) -> Count:
    """Judge races under many seeds: Monte Carlo."""
    circumstance = CIRCUMSTANCES[name]
    count = Count()
    for seed in seeds:
        if circumstance.sample:
            rng = np.random.default_rng(seed)
            drawn = table[rng.integers(0, len(table), len(table))]
            one = judge_race(
                question, circumstance, drawn, level, seed=seed, means=table.mean(axis=0)
            )
        else:
            one = judge_race(question, circumstance, table, level, seed=seed)
        count.add(one)
    return count


class HardList(NamedTuple):
    """A list on which errors are as likely as the level nearly allows, found by a search.

    Mostly near ties of two candidates, in which one often gains little and seldom loses much: the
    wealth against the better one then passes the threshold by little.

    kinds: the different rows. counts: how many rows of each. level: where P(wrong) / level is
    largest.
    """

    kinds: tuple[tuple[float, ...], ...]
    counts: tuple[int, ...]
    level: float

    @property
    def table(self) -> np.ndarray:
        return np.repeat(np.array(self.kinds), self.counts, axis=0)


_TIES = (
    HardList(((1 / 6, 0.0), (0.0, 1.0)), (12, 2), 0.62),
    HardList(((2 / 11, 0.0), (0.0, 1.0)), (11, 2), 0.6),
    HardList(((0.5, 0.0), (0.0, 1.0)), (6, 3), 0.59),
)
HARD: dict[str, tuple[HardList, ...]] = {
    "best": (
        HardList(((0.0, 0.165), (1.0, 0.0)), (12, 2), 0.64),
        HardList(((0.0, 0.18), (1.0, 0.0)), (11, 2), 0.6),
        HardList(((0.5, 1.0, 0.98), (1.0, 1.0, 0.0)), (6, 3), 0.59),
        HardList(((0.98, 0.5, 1.0, 0.98), (0.0, 0.98, 0.5, 0.02)), (4, 2), 0.59),
    ),
    "within": (
        HardList(((0.0, 0.165), (1.0, 0.0)), (12, 2), 0.64),
        HardList(((0.0, 0.27), (1.0, 0.0)), (11, 3), 0.62),
        HardList(((0.98, 0.98, 0.0), (0.0, 1.0, 0.5)), (3, 5), 0.6),
    ),
    "top": (
        HardList(((0.0, 0.165, 0.0), (1.0, 0.0, 0.0)), (12, 2), 0.64),
        HardList(((1.0, 0.0, 0.0), (0.5, 0.98, 0.0)), (4, 8), 0.6),
        HardList(((1.0, 0.0, 1.0), (0.5, 0.98, 0.02)), (3, 6), 0.59),
    ),
    "gate": (*_TIES, HardList(((1.0, 0.0), (0.0, 1.0), (1.0, 1.0)), (2, 2, 4), 0.59)),
    "gate margin": (
        HardList(((0.02, 1.0), (0.5, 0.02)), (4, 6), 0.54),
        HardList(((1.0, 0.0), (0.0, 0.5), (0.5, 1.0)), (2, 3, 2), 0.45),
    ),
    "ranks": (*_TIES, HardList(((1.0, 0.5), (0.0, 0.0), (0.0, 1.0)), (4, 2, 2), 0.58)),
    "first ranks": (
        HardList(((0.98, 0.0, 0.0), (0.02, 0.98, 1.0)), (5, 5), 0.4),
        HardList(((0.5, 0.98, 1.0), (1.0, 0.5, 0.98), (0.98, 1.0, 0.0)), (2, 4, 2), 0.52),
    ),
    "place": (
        HardList(((1.0, 0.0, 1.0), (0.0, 1.0, 0.0)), (5, 5), 0.53),
        HardList(((1 / 11, 0.0), (0.0, 1.0)), (11, 1), 0.62),
    ),
}
# Longer near ties, with thousands of orders each, for `deal_orders`.
_HALVES = HardList(((0.0, 1.0), (1.0, 0.0)), (8, 8), 0.5)
_NEAR_HALVES = HardList(((0.0, 1.0), (0.98, 0.02)), (8, 8), 0.5)
LONG: dict[str, HardList] = {
    "best": _NEAR_HALVES,
    "within": _NEAR_HALVES,
    "top": HardList(((0.0, 1.0, 0.0), (0.98, 0.02, 0.0)), (8, 8), 0.5),
    "gate": _HALVES,
    "gate margin": HardList(((0.02, 1.0), (0.5, 0.02)), (6, 9), 0.54),
    "ranks": _HALVES,
    "first ranks": HardList(((0.98, 0.0, 0.0), (0.02, 0.98, 1.0)), (7, 7), 0.5),
    "place": _HALVES,
}
# Tables for the quick part: leaders change in the last rows, ties, equal rows.
TABLES = {
    "late turn": np.array([[0, 1, 1], [0, 1, 1], [1, 0, 1], [1, 0, 0], [1, 0, 0]], float),
    "tie": np.array([[0, 1, 0.5], [1, 0, 0.5], [0, 1, 0.5], [1, 0, 0.5]], float),
    "near": np.array([[0, 0.5, 1], [0.5, 0, 1], [1, 0.5, 0], [0.5, 1, 0], [0.5, 0.25, 0.5]], float),
}
