"""Race: issue calls, record answers, and drop candidates.

`calls()` returns the next evaluations to make, `record(ticket, loss=...)` takes their answers.

late or out of order   rows count in shuffled order, up to the first row that an active candidate
                       has not answered
the same answer twice  ignored; `record` returns False
a different answer     FeedbackError; the first answer stands
no answer              the race waits, and `pending` lists the call. A row is never skipped: a
                       candidate that fails to answer exactly where it would be wrong would look
                       better than it is
failed                 counts as loss 1, or ends the race (on_failure="stop")
known                  an answer on file is never asked; it counts when its row comes up, in
                       shuffled order
"""

import math
import warnings
from array import array
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from tombola import _validate
from tombola._formatting import option_text, plural, short_repr
from tombola._types import Floats
from tombola.errors import ConflictError, FeedbackError, ParameterError, TombolaWarning
from tombola.order import draw_order
from tombola.parallel.process_bound import ProcessBound
from tombola.racing.events import Call, Dropped, Event
from tombola.racing.fresh_answers import DrawnRows, RowsInPasses
from tombola.racing.pilot import Finding, chance_to_miss, finding_of, pilot_cells
from tombola.racing.result import Answers, Forecast, Result, rows_remaining, statement_of
from tombola.racing.settings import RaceOptions, RaceSettings, accepts_race_options, distinct_names
from tombola.racing.side_information import SideInformation, check_frame_kind
from tombola.racing.strata import Part, Strata, build_parts
from tombola.rng import RngStreams
from tombola.statements import Reading, Statement
from tombola.tables.to_pool import direction_text
from tombola.units import Units

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tombola.racing.means import ChosenMean

# Loss of a failed call, with on_failure="worst": failing must never pay.
_WORST_LOSS = 1.0
# Relative tolerance of `max_cost`: 250 calls of 0.1 are allowed to cost 25, although 250 doubles
# 0.1 are more. It is far above the rounding error of a sum of doubles, and far below the cost of a
# call.
COST_ROUNDING = 1e-12


class Race(ProcessBound, Answers):
    """Race candidates on a list of rows, with few calls.

    The race asks for evaluations by `calls`, and takes the answers by `record`. It shuffles the
    rows, and drops candidates as soon as the evidence suffices. The best candidate is ever dropped
    with probability at most `level`. When `max_calls` or `max_cost` is reached, no more calls are
    issued, and `answer` lists the remaining candidates.

    rows        names of the rows, or their number
    known       answers on file, for any set of cells that was fixed before the race: a table (rows,
                k) with NaN where unknown, a data frame, or a mapping from candidates to answers, in
                the unit of `kind` and `range`. They cost no call. None: nothing is known
    history     a table (rows, h) of numbers known of every row, such as losses of candidates that
                do not take part. Predictions from it make the evidence sharper. None: no history
    strata      the group of every row. The question is then asked for each group, too, and
                `by_group` has the answers: any of them, or the one for the whole list, is wrong
                with probability at most `level`. None: no groups
    options     level, question and limits: see `RaceSettings`

    Attributes, beside `settings`, `candidates`, `rows` and `strata`, about the whole list:

    answer         names that answer the question; while it is open, all that still may
    active         names of the candidates not yet dropped
    leader         name of the active candidate with the smallest mean loss; None before any row
    mean_losses    mean loss, in [0, 1], by candidate, up to its drop; NaN without rows
    rank_sets      first and last possible rank by candidate, with question="ranks"; else empty
    rows_counted   number of rows used as evidence so far, in shuffled order
    calls_on_file  number of cells (row, candidate) whose answers were known before the race
    failures       number of failed calls so far; they are also in `calls_answered`
    failed_call    the call that ended the race by its failure, with on_failure="stop"; else None

    >>> race = Race(["small", "large"], rows=1000, seed=1)
    >>> while not race.done:
    ...     for call in race.calls():
    ...         _ = race.record(call, loss=0.9 if call.candidate == "small" else 0.1)
    >>> race.answer, race.calls_made < 60
    (('large',), True)
    >>> race = Race(["a", "b"], rows=400, strata=["law", "code"] * 200, seed=1)
    >>> while not race.done:
    ...     for call in race.calls():
    ...         _ = race.record(call, loss=float((call.candidate == "a") == (call.row_index % 2 == 1)))
    >>> {name: result.answer for name, result in race.by_group.items()}
    {'law': ('a',), 'code': ('b',)}
    """

    _alternative = "Race.restore(settings, rows, events) there"

    @accepts_race_options
    def __init__(
        self,
        candidates: Sequence[str],
        rows: int | Sequence[Any],
        *,
        known: Any = None,
        history: Any = None,
        strata: Iterable[Any] | None = None,
        **options: Unpack[RaceOptions],
    ) -> None:
        check_frame_kind("Race", known, options)
        settings = RaceSettings(tuple(candidates), **options)
        names = _row_names(rows)
        side = SideInformation.of(settings.candidates, names, known, history, settings.units)
        self._begin(
            settings, names, side, None if strata is None else Strata.of(strata, len(names))
        )

    @classmethod
    def restore(
        cls,
        settings: RaceSettings,
        rows: int | Sequence[Any],
        events: Iterable[Event] = (),
        side: SideInformation | None = None,
        strata: Strata | None = None,
    ) -> "Race":
        """Return a race with these settings, seed included, after applying the events.

        `rows` are names or a number, `side` answers on file and history, `strata` groups of the
        rows. FeedbackError if the events belong to another race.
        """
        race = cls.__new__(cls)
        names = _row_names(rows)
        race._begin(settings, names, side or SideInformation.of(settings.candidates, names), strata)
        # What the other tickets stand for depends on the answers of the pilot.
        for event in sorted(events, key=race._is_after_pilot) if race.pilot else events:
            race.apply(event)
        return race

    def _begin(
        self,
        settings: RaceSettings,
        rows: tuple[str, ...],
        side: SideInformation,
        strata: Strata | None,
    ) -> None:
        self._bind_to_process()
        self.settings = settings = settings.with_seed().with_pilot(len(rows), side.n_known)
        self.rows = rows
        self.side = side
        # Groups that a gate only reports ask no question of their own, and clusters are no groups.
        self.strata = strata if strata is not None and strata.decides else None
        self.clusters = strata if strata is not None and strata.cluster_size else None
        self.reported = None if strata in (self.strata, self.clusters) else strata
        if self.clusters is not None and (
            settings.baseline is None or settings.reading != "beyond" or not side.is_empty
        ):
            raise ParameterError(
                "Race: expected a baseline, reading='beyond', and no answers on file or history with "
                "clusters, got others; leave clusters out, or write reading='beyond'."
            )
        # Losses of the next row, by metric; only a gate has further ones.
        self._losses = [np.zeros(len(self.candidates)) for _ in settings.metrics]
        if settings.further and not side.is_empty:
            raise ParameterError(
                "Race: expected no answers on file and no history with several metrics, got some; "
                "leave them out."
            )
        # Cells that are called twice before the race, and whether they are all answered.
        self.pilot = pilot_cells(settings, side.known)
        self.pilot_done = not self.pilot
        # Answers and unanswered calls by ticket. The first tickets are those of the pilot, two for
        # each cell. Then ticket t stands for cell t - 1 - pilot_calls of the shuffled table, row by
        # row.
        self._answers: dict[int, Event] = {}
        self._pending: dict[int, Call] = {}
        self._next_ticket = 1
        # Position in the shuffled order of the first row that is not counted, and the number of
        # rows counted: rows whose group and list are both decided are skipped.
        self._cursor = 0
        self.rows_counted = 0
        # Wealth of the active candidates after each row counted: one number per answer used.
        self._wealth_rows: list[tuple[list[int], Floats]] = []
        self._start_list(settings.first_reading)
        self._cost = 0.0
        self._cost_error = 0.0
        self._largest_cost = 0.0
        self.failures = 0
        self.failed_call: Call | None = None
        self._await_row()
        self._count_rows()

    def _start_list(self, reading: Reading) -> None:
        """Draw the order of the rows, and make the rules, for a reading."""
        rows = len(self.rows)
        self.reading: Reading = reading
        # Rules by metric, and for each the whole list first, then its groups.
        metrics = len(self.settings.metrics)
        self._by_metric = [
            build_parts(
                self.settings.of_metric(number),
                rows,
                self.strata,
                self.side,
                reading,
                metrics=metrics,
                clusters=self.clusters,
            )
            for number in range(metrics)
        ]
        self._parts = self._by_metric[0]
        self.rule = self._parts[0].rule
        rng = RngStreams(self.settings.seed or 0).order()
        self._order: Sequence[int]
        # Losses that cost no call of their own, beside those on file: cells of the pilot.
        self._pilot_losses: dict[tuple[int, int], float] = {}
        passes = self.settings.passes
        if self.is_fresh and passes is None:
            # An answer on file is one draw of many: it serves as a prediction only.
            self._order = DrawnRows(rows, rng)
            self.calls_on_file = 0
            return
        # A list of numbers takes nine times the memory.
        order = array("I", self._draw_rows(rng))
        self._order = order if passes is None else RowsInPasses(order, passes)
        self.calls_on_file = self.side.n_known
        if self.reading == "expected" and self.calls_on_file:
            option = option_text("answers", "once") if passes is None else option_text("passes")
            raise ParameterError(
                f"Race: expected no answers on file with {option}, got some; they are single "
                "draws, and the rows are asked in order: leave known out."
            )

    def _draw_rows(self, rng: Any) -> list[int]:
        """Return the rows in random order, or those of one cluster after those of another."""
        if self.clusters is None:
            return list(draw_order("random", len(self.rows), rng).tolist())
        of_row = np.array(self.clusters.of_row)
        ends = np.cumsum(self.clusters.sizes)[:-1]
        by_cluster = np.split(np.argsort(of_row, kind="stable"), ends)
        order = draw_order("random", len(by_cluster), rng)
        return [int(row) for cluster in order for row in by_cluster[cluster]]

    def _is_after_pilot(self, event: Event) -> bool:
        return event.ticket > self.pilot_calls

    def _finish_pilot(self) -> None:
        """Choose the reading by the answers of the pilot, which are no evidence."""
        self.pilot_done = True
        is_random = self._pilot_finding().is_random
        self._start_list("expected" if is_random else "recorded")
        if not is_random:
            # The first answer stays in the table: its cell is not called again.
            for place, cell in enumerate(self.pilot):
                self._pilot_losses[cell] = self._loss_of(2 * place + 1)
        self._await_row()

    def _pilot_finding(self) -> Finding:
        losses = [self._loss_of(ticket) for ticket in range(1, self.pilot_calls + 1)]
        pairs = list(zip(losses[::2], losses[1::2], strict=True))
        return finding_of(pairs, run_times=self.settings.unit == "seconds")

    @property
    def is_fresh(self) -> bool:
        """Whether rows come again, drawn or pass by pass, and every call is a fresh one."""
        return self.reading == "expected" and self.settings.answers != "once"

    @property
    def pilot_calls(self) -> int:
        """The number of calls of the pilot; 0 without one."""
        return 2 * len(self.pilot)

    @property
    def is_unchecked(self) -> bool:
        """Whether a pilot was wanted, but would have cost too much."""
        settings = self.settings
        is_wanted = settings.answers == "auto" and settings.reading is None
        cells = len(self.rows) * len(self.candidates)
        return is_wanted and not self.pilot and self.calls_on_file < cells

    @property
    def pilot_text(self) -> str:
        """What the pilot does, or what it has found, as a sentence; "" if none was wanted."""
        if self.is_unchecked:
            return (
                "No pilot: 2 % of the calls are fewer than 2. It is not checked whether answers "
                "change from call to call; the answer is about the answers recorded here."
            )
        if not self.pilot:
            return ""
        cells = f"{len(self.pilot)} cells are" if len(self.pilot) > 1 else "1 cell is"
        calls = plural(self.pilot_calls, "call")
        if not self.pilot_done:
            return (
                f"Pilot: {cells} called twice ({calls}), to see whether answers change from call "
                "to call."
            )
        if self.is_fresh:
            return (
                f"Pilot ({calls}): answers change from call to call. Rows are drawn with "
                "replacement, and the answer is about expected answers to these rows."
            )
        stated = option_text("answers", "random")
        if self._pilot_finding().changed:
            return (
                f"Pilot ({calls}): run times change little against the differences between rows. "
                "Each cell is called once, and the answer is about the times recorded here; a "
                f"claim about expected times needs {stated}."
            )
        chance = chance_to_miss(len(self.pilot))
        return (
            f"Pilot ({calls}): no answer changed. Each cell is called once, and the answer is about "
            f"the answers recorded here. If one answer in ten changes, so few calls miss it with "
            f"probability {chance:.2f}: if you know that answers change, write {stated}."
        )

    def calls(self, count: int | None = None) -> list[Call]:
        """Issue the next calls and return them; an empty list if there is none now.

        There is none if the race is done, a limit is reached, or all calls that it needs wait for
        answers. `count` is their largest number; None: all that the next row needs. Calls beyond
        that row run ahead, and may be wasted.
        """
        if count is not None:
            _validate.integer("Race.calls", "count", count, least=1)
        issued: list[Call] = []
        with self._locked():
            for ticket in self._upcoming():
                ahead = self._position(ticket)[0] > self._cursor
                if (count is None and ahead) or len(issued) == count or self.limit_reached:
                    break
                issued.append(self._issue(ticket))
        return issued

    def record(
        self,
        ticket: Call | int,
        *,
        loss: float | None = None,
        cost: float = 0.0,
        failed: bool = False,
        others: tuple[float, ...] = (),
    ) -> bool:
        """Record the answer of a call; return False if the same was recorded before.

        ConflictError if another one was; FeedbackError if the answer is malformed or the call was
        not issued.

        ticket: the call, or its number.
        loss: in [0, 1], lower is better, also with kind="scores"; None if the call failed.
        cost: at least 0, in the unit of `max_cost`.
        failed: the call counts as loss 1, or ends the race with on_failure="stop".
        others: losses by the further metrics of a gate, in their order.
        """
        number = self._check_ticket(ticket.ticket if isinstance(ticket, Call) else ticket)
        with self._locked():
            event = self._check_answer(number, loss, cost, others, failed=failed)
            is_first_above = self._is_first_above_cap(event.cost)
            is_new = self._keep(event)
        if is_new and is_first_above:
            call = self.call(number)
            warnings.warn(
                f"race: expected costs of at most {self.settings.max_call_cost:g} a call "
                f"(max_call_cost), got {event.cost:g} of {call.candidate} on row {call.row}; it "
                "counts, so that the total may exceed max_cost.",
                TombolaWarning,
                stacklevel=2,
            )
        return is_new

    def _keep(self, event: Event) -> bool:
        """Keep an answer; return False if it is known, ConflictError if another one is."""
        before = self._answers.get(event.ticket)
        if before is None:
            self._take(event)
        elif not is_same_answer(before, event):
            raise conflicting_answer(before, event, self.settings.units)
        return before is None

    def checked(self, answer: Event) -> Event:
        """Return an answer with numbers of the right types; FeedbackError if it is malformed."""
        number = self._check_ticket(answer.ticket)
        return self._check_answer(
            number, answer.loss, answer.cost, answer.others, failed=answer.failed
        )

    def set_limits(self, *, max_calls: int | None = None, max_cost: float | None = None) -> None:
        """Change the limits of a race, which goes on if they are higher; None keeps a limit.

        The evidence holds at all times simultaneously, so a race may go on after a look at its
        answers. ParameterError if answers may be random, and a new limit is lower than the present
        one or the first one.

        >>> race = Race(["a", "b"], rows=9, max_calls=2, seed=1)
        >>> len(race.calls(4)), len(race.calls(4))
        (2, 0)
        >>> race.set_limits(max_calls=5)
        >>> len(race.calls(4))
        3
        """
        with self._locked():
            self.settings = self.settings.with_limits(max_calls, max_cost)

    def apply(self, event: Event) -> None:
        """Apply an event of a log: issue its call if necessary, record its answer.

        FeedbackError if the ticket is not one of this race, or its answer is on file; else as
        `record`.
        """
        ticket = self._check_ticket(event.ticket)
        if self._is_on_file(ticket):
            raise FeedbackError(
                f"Race: expected events of unknown cells, got one of ticket {ticket}, whose "
                "answer is on file; "
                "use the log of this race."
            )
        with self._locked():
            if not self._is_issued(ticket):
                self._issue(ticket)
            if event.kind == "answer":
                # Who recorded it was warned of a cost above its bound; who reads the log is not.
                self._keep(self.checked(event))

    def call(self, ticket: int) -> Call:
        """Return the `Call` of a ticket, from 1; it need not be issued."""
        ticket = self._check_ticket(ticket)
        row, candidate = self._cell(ticket)
        run = self._run(ticket, (row, candidate))
        return Call(ticket, self.candidates[candidate], self.rows[row], row, run)

    def recorded(self, ticket: int) -> Event:
        """Return the recorded answer of a ticket; KeyError if it has none."""
        return self._answers[self._check_ticket(ticket)]

    def read_once(self) -> "Race":
        """Return this race as a statement about expected answers, each row asked once.

        The answers so far are read in their order by the rule of answers="once" (Theorem R5). It
        needs more evidence than the statement about the recorded answers. ParameterError if cells
        were called twice or are on file, or the question is not for the best candidate.

        >>> race = Race(["a", "b"], rows=300, seed=1, answers="fixed")
        >>> for call in race.calls(100):
        ...     _ = race.record(call, loss=float(call.candidate == "a"))
        >>> race.read_once().statement.short, race.read_once().reading
        ('b', 'expected')
        """
        if self.is_fresh or self.pilot or self.calls_on_file:
            raise ParameterError(
                "Race: reading played answers as expected ones needs one call of each cell, got "
                "cells called twice or on file; start a race with answers='random'."
            )
        settings = replace(self.settings, answers="once", reading=None)
        return Race.restore(settings, self.rows, self._answers.values(), strata=self.strata)

    @property
    def pending(self) -> list[Call]:
        """The issued calls without an answer that the race still needs."""
        with self._locked():
            return [call for ticket, call in self._pending.items() if self._is_useful(ticket)]

    @property
    def done(self) -> bool:
        """Whether the race is answered, out of rows, or ended by a limit or failure."""
        return (
            self._decided
            or self.failed_call is not None
            or (self.limit_reached and not self.pending)
        )

    @property
    def _decided(self) -> bool:
        """Whether every rule is done."""
        return all(part.rule.done for parts in self._by_metric for part in parts)

    @property
    def limit_reached(self) -> bool:
        """Whether `max_calls` or `max_cost` forbids another call now.

        With `max_cost`, every issued call without an answer reserves the largest cost of a call,
        also if its candidate was dropped: it may be under way, and will cost something.
        """
        limits = self.settings
        if limits.max_calls is not None and self.calls_made >= limits.max_calls:
            return True
        if self.is_fresh and self.calls_made >= limits.most_calls(len(self.rows)):
            return True
        if limits.max_cost is None:
            return False
        if self.cost >= limits.max_cost:
            return True
        if limits.max_call_cost is None and self.failures == len(self._answers):
            # No cost is known (a failed call need not report one), so nothing can be reserved: one
            # call at a time.
            return bool(self._pending)
        reserve = max(limits.max_call_cost or 0.0, self._largest_cost)
        return self.cost + (len(self._pending) + 1) * reserve > limits.max_cost * (
            1.0 + COST_ROUNDING
        )

    @property
    def dropped(self) -> list[Dropped]:
        """The dropped candidates, in the order in which they were dropped."""
        state = self.rule.state
        drops = sorted(
            (int(state.drop_row[a]), a)
            for a in range(len(self.candidates))
            if state.active[a] == 0.0
        )
        # `Ranks` drops against the whole field, encoded as -1.
        opponents = [*self.candidates, ""]
        against = [opponents[int(a)] for a in state.dropped_against]
        return [
            Dropped(self.candidates[a], row, against[a], float(state.wealth_at_drop[a]))
            for row, a in drops
        ]

    @property
    def calls_made(self) -> int:
        """The number of calls issued, answered or not."""
        return len(self._answers) + len(self._pending)

    @property
    def calls_left(self) -> int:
        """The number of calls that the race may still make.

        These are the cells (row, candidate) without a call or an answer on file, or with random
        answers the calls up to the limit.
        """
        if self.is_fresh:
            return max(0, self.settings.most_calls(len(self.rows)) - self.calls_made)
        # The second calls of the pilot are additional ones.
        calls = len(self.rows) * len(self.candidates) + len(self.pilot)
        return calls - self.calls_on_file - self.calls_made

    @property
    def calls_saved(self) -> int | None:
        """The number of cells that need no call, because the race is decided; else None.

        A race that a limit or a failure has stopped has saved nothing: its question is open.
        """
        if not self._decided or self.failed_call is not None:
            return None
        # The whole table would have needed no pilot.
        return max(0, self.calls_left - (0 if self.is_fresh else len(self.pilot)))

    @property
    def calls_answered(self) -> int:
        """The number of calls with an answer, failed ones included."""
        return len(self._answers)

    @property
    def cost(self) -> float:
        """The total cost of the answers, in the unit of `max_cost`."""
        return self._cost + self._cost_error

    @property
    def largest_loss(self) -> float:
        """The largest recorded loss, in [0, 1], without failed calls; 0 before the first."""
        with self._locked():
            return max((event.loss or 0.0 for event in self._answers.values()), default=0.0)

    @property
    def answers(self) -> Floats:
        """Losses of all answers, on file and recorded, shape (rows, k); NaN without one.

        Rows are in the order of the list, columns in that of the candidates. A failed call has loss
        1. The table is large for a long list: `answer_columns` has one column at a time.
        """
        return np.column_stack(list(self.answer_columns()))

    def answer_columns(self) -> Iterator[Floats]:
        """Yield the columns of `answers`, one per candidate.

        >>> race = Race(["a", "b"], rows=2, known={"b": [0.25, None]}, seed=1)
        >>> [column.tolist() for column in race.answer_columns()]
        [[nan, nan], [0.25, nan]]
        """
        with self._locked():
            cells = self._recorded_cells()
        by_candidate: list[dict[int, float]] = [{} for _ in self.candidates]
        for (row, candidate), loss in cells.items():
            by_candidate[candidate][row] = loss
        for candidate, losses in enumerate(by_candidate):
            column = np.full(len(self.rows), math.nan)
            if not self.is_fresh:
                column[:] = self.side.known[:, candidate]
            column[list(losses)] = list(losses.values())
            yield column

    def _recorded_cells(self) -> dict[tuple[int, int], float]:
        """Return the loss of each cell with a recorded answer; the mean of several ones."""
        losses = dict(self._pilot_losses)
        times: Counter[tuple[int, int]] = Counter()
        for ticket in self._answers:
            if ticket > self.pilot_calls:
                cell = self._cell(ticket)
                times[cell] += 1
                before = 0.0 if times[cell] == 1 else losses[cell]
                loss = self._loss_of(ticket)
                losses[cell] = loss if times[cell] == 1 else before + (loss - before) / times[cell]
        return losses

    def chosen_means(self) -> "tuple[ChosenMean, ...]":
        """Return the means of the answer, or of the leader, with intervals that allow for the choice.

        See `tombola.racing.means.chosen_means`.
        """
        # Its statements are about races.
        from tombola.racing.means import chosen_means

        return chosen_means(self)

    @property
    def always_failed(self) -> tuple[str, ...]:
        """Names of the candidates that answered calls, and failed in all of them."""
        with self._locked():
            events = list(self._answers.values())
        answers = [(self.call(event.ticket).candidate, event.failed) for event in events]
        working = {name for name, failed in answers if not failed}
        failing = {name for name, failed in answers if failed}
        return tuple(name for name in self.candidates if name in failing - working)

    def counted_losses(
        self, candidate: str, group: str | None = None, metric: int = 0
    ) -> tuple[list[int], Floats]:
        """Return rows of the list, in the order counted, and the losses of a candidate there.

        The rows end where it was dropped. With fresh answers a row may come up several times. They
        are those counted for a group of `strata`, or for the whole list. metric: its number in
        `settings.metrics`.

        >>> race = Race(["a", "b"], rows=3, seed=1)
        >>> for call in race.calls():
        ...     _ = race.record(call, loss=0.5)
        >>> race.counted_losses("a")[1]
        array([0.5])
        """
        number = self.candidates.index(candidate)
        state = self.result_of(metric, group).rule.state
        counted = state.rows_seen[0] if state.active[number] > 0 else state.drop_row[number]
        with self._locked():
            positions = self._positions(int(counted), group)
            rows = [self._order[at] for at in positions]
            losses = np.array([self._loss_at(at, number, metric) for at in positions])
        return rows, losses

    def _positions(self, count: int, group: str | None) -> list[int]:
        """Return the first positions of the shuffled order, those of rows in a group."""
        if group is None or self.strata is None:
            return list(range(count))
        number = self.strata.names.index(group)
        positions: list[int] = []
        at = 0
        while len(positions) < count:
            if self.strata.of_row[self._order[at]] == number:
                positions.append(at)
            at += 1
        return positions

    @property
    def wealth(self) -> Floats:
        """Wealth of the bet against each candidate by counted row, shape (rows, k).

        The larger, the stronger the evidence that the candidate is not an answer; NaN once it is
        dropped. It stays 1 with question="ranks", which bets on pairs.
        """
        history = np.full((len(self._wealth_rows), len(self.candidates)), math.nan)
        for row, (active, values) in enumerate(self._wealth_rows):
            history[row, active] = values
        return history

    @property
    def by_group(self) -> dict[str, Result]:
        """The `Result` for each group of `strata`, by name; empty without groups."""
        names = () if self.strata is None else self.strata.names
        return {name: self.result_of(0, name) for name in names}

    @property
    def whole(self) -> Result:
        """The `Result` for the whole list: answer, leader, mean losses and rank sets."""
        return self.result_of(0)

    def result_of(self, metric: int, group: str | None = None) -> Result:
        """Return the `Result` by a metric, from 0, for the whole list or one of its groups."""
        number = 0
        if group is not None and self.strata is not None:
            number = 1 + self.strata.names.index(group)
        part = self._by_metric[metric][number]
        rows = len(np.arange(len(self.rows))[part.members])
        settings = self.settings.of_metric(metric)
        return Result(part.rule, settings, self.stop_reason, self.reading, rows)

    @property
    def stop_reason(self) -> str:
        """Why the race has stopped without an answer, as a clause; "" if it has not."""
        if self.failed_call is not None:
            return f"because {self.failed_call.candidate} failed on row {self.failed_call.row}"
        if self._decided or not self.done:
            return ""
        limits = self.settings
        if limits.max_calls is not None and self.calls_made >= limits.max_calls:
            return f"at the limit of {plural(limits.max_calls, 'call')}"
        if self.is_fresh and self.calls_made >= (most := limits.most_calls(len(self.rows))):
            return f"after {plural(most, 'call')}, as many as every candidate once on every row"
        return f"at the limit of cost {limits.max_cost:g}"

    @property
    def proved(self) -> bool | None:
        """True if the question is answered, False if it is refuted, None if open.

        Only a race against a baseline can be refuted: a candidate is proved not to pass. With
        groups: True if all answers are proved, False if one is refuted.
        """
        if self.failed_call is not None:
            return None
        answers = {part.rule.proved for parts in self._by_metric for part in parts}
        if False in answers:
            return False
        return None if None in answers else True

    @property
    def statement(self) -> Statement:
        """What the race has established: conclusions, level, groups, rows and calls.

        >>> race = Race(["a", "b"], rows=2, seed=1)
        >>> while not race.done:
        ...     for call in race.calls():
        ...         _ = race.record(call, loss=float(call.candidate == "b"))
        >>> race.statement.verdict, race.statement.short
        ('exact', 'a')
        """
        return statement_of(self)

    @property
    def verdict(self) -> str:
        """Answer as a sentence: confidence, number of calls, direction of the answers."""
        return f"{self.statement}; {direction_text(self.settings.kind, self.settings.unit)}"

    @property
    def rows_remaining(self) -> int | None:
        """Estimated number of rows still needed; None before the first one."""
        forecast = self._forecast()
        return None if forecast is None else forecast.rows

    @property
    def rows_remaining_range(self) -> tuple[int, int] | None:
        """Ends of a 90 % range of the rows still needed; None before the first one."""
        forecast = self._forecast()
        return None if forecast is None else (forecast.low, forecast.high)

    def _forecast(self) -> Forecast | None:
        if self.clusters is not None:
            # The forecast knows rows only.
            return None
        if self.strata is None or self.is_fresh:
            return rows_remaining(self.rule)
        if not self.rows_counted:
            return None
        needed: list[set[int]] = [set(), set(), set()]
        for part in self._parts:
            forecast = rows_remaining(part.rule) or [part.rule.rows] * 3
            ahead = [
                at for at in range(self._cursor, len(self._order)) if part in self._parts_at(at)
            ]
            for rows, count in zip(needed, forecast, strict=True):
                rows.update(ahead[:count])
        return Forecast(*map(len, needed))

    def __await__(self) -> Generator[Any, None, "Race"]:
        """Return the race itself, so that `await race(...)` works everywhere."""
        return self
        yield  # a generator function, as awaitables must be

    def plot(
        self,
        curve: Literal["lanes", "wealth", "survivors"] = "lanes",
        *,
        ax: "Axes | None" = None,
        size: tuple[float, float] | None = None,
    ) -> "Figure":
        """Draw the race as a figure.

        "lanes" has a bar per candidate up to the row where it was dropped, "wealth" the bets over
        rows (large wealth is evidence against a candidate), "survivors" the candidates left over
        calls. The figure displays in notebooks, and
        `figure.save("x.pdf")` writes it. `ax`: axes to draw on; None: a new figure. `size` is in
        inches. ParameterError before the first row.
        """
        # The report is built on races.
        from tombola.racing.report import plot_race

        return plot_race(self, curve, ax, size)

    def __repr__(self) -> str:
        state = (
            f"answer {', '.join(self.answer)}"
            if self.proved
            else "finished"
            if self.done
            else "in progress"
        )
        return short_repr(
            f"Race({len(self.active)} of {len(self.candidates)} candidates, "
            f"{self.rule.rows_seen} of {len(self.rows)} rows, {self.settings.kind}, {state})"
        )

    def __str__(self) -> str:
        """Return the verdict, as the command line prints it."""
        return self.verdict

    def _repr_html_(self) -> str:
        from tombola.racing.report import race_html

        return race_html(self)

    def _parts_at(self, position: int) -> tuple[Part, ...]:
        """Return the parts that the row at a position of the shuffled order belongs to."""
        return tuple(part for parts in self._by_metric for part in self._own_parts(parts, position))

    def _own_parts(self, parts: list[Part], position: int) -> list[Part]:
        """Return those of the parts of a metric that the row at a position belongs to."""
        if self.strata is None:
            return parts
        return [parts[0], parts[1 + self.strata.of_row[self._order[position]]]]

    def _is_useful(self, ticket: int) -> bool:
        if ticket <= self.pilot_calls:
            return not self.pilot_done
        position, candidate = self._position(ticket)
        return any(part.active[candidate] for part in self._parts_at(position))

    def _upcoming(self) -> Iterator[int]:
        """Yield the tickets to issue next, without those of dropped candidates."""
        while self._next_ticket <= self._last_ticket and not (self._decided or self.failed_call):
            ticket = self._next_ticket
            if self._is_useful(ticket) and not (
                self._is_issued(ticket) or self._is_on_file(ticket)
            ):
                yield self._next_ticket
            else:
                self._next_ticket += 1

    @property
    def _last_ticket(self) -> int:
        """The last ticket that can be issued now."""
        if not self.pilot_done:
            return self.pilot_calls
        return self.pilot_calls + len(self._order) * len(self.candidates)

    def _position(self, ticket: int) -> tuple[int, int]:
        """Return the position in the shuffled order, and the candidate; -1 in the pilot."""
        if ticket <= self.pilot_calls:
            return -1, self.pilot[(ticket - 1) // 2].candidate
        return divmod(ticket - 1 - self.pilot_calls, len(self.candidates))

    def _ticket(self, position: int, candidate: int) -> int:
        return 1 + self.pilot_calls + position * len(self.candidates) + candidate

    def _cell(self, ticket: int) -> tuple[int, int]:
        """Return row of the list and candidate of a ticket, as indices."""
        if ticket <= self.pilot_calls:
            return self.pilot[(ticket - 1) // 2]
        position, candidate = self._position(ticket)
        return self._order[position], candidate

    def _run(self, ticket: int, cell: tuple[int, int]) -> int:
        """Return which call of its cell a ticket is, from 1."""
        if ticket <= self.pilot_calls:
            return 2 - ticket % 2
        if not isinstance(self._order, DrawnRows | RowsInPasses):
            return 1
        in_pilot = 2 if cell in self.pilot else 0
        return in_pilot + self._order.run(self._position(ticket)[0])

    def _loss_of(self, ticket: int, metric: int = 0) -> float:
        """Return the recorded loss of a ticket; a failed call has the worst one."""
        answer = self._answers[ticket]
        if answer.loss is None:
            return _WORST_LOSS
        return answer.others[metric - 1] if metric else answer.loss

    def _is_on_file(self, ticket: int) -> bool:
        if ticket <= self.pilot_calls:
            return False
        return not math.isnan(self._loss_on_file(*self._position(ticket)))

    def _loss_on_file(self, position: int, candidate: int) -> float:
        """Return the loss of a cell that needs no call; NaN if it needs one."""
        if self.is_fresh:
            return math.nan
        row = self._order[position]
        loss = self._pilot_losses.get((row, candidate))
        return float(self.side.known[row, candidate]) if loss is None else loss

    def _loss_at(self, position: int, candidate: int, metric: int = 0) -> float:
        """Return the loss of a cell of the shuffled table; NaN without an answer."""
        ticket = self._ticket(position, candidate)
        if ticket in self._answers:
            return self._loss_of(ticket, metric)
        return self._loss_on_file(position, candidate)

    def _is_issued(self, ticket: int) -> bool:
        return ticket in self._answers or ticket in self._pending

    def _issue(self, ticket: int) -> Call:
        call = self._pending[ticket] = self.call(ticket)
        return call

    def _check_ticket(self, ticket: Any) -> int:
        whole = isinstance(ticket, Integral) and not isinstance(ticket, bool)
        if not (whole and 1 <= ticket <= self._last_ticket):
            numbers = "from 1 on" if self.is_fresh else f"in 1..{self._last_ticket}"
            raise FeedbackError(
                f"Race: expected a ticket, a whole number {numbers}, got {ticket!r}; "
                "use the number that came with the call."
            )
        return int(ticket)

    def _check_answer(
        self, ticket: int, loss: Any, cost: float, others: Sequence[Any], *, failed: bool
    ) -> Event:
        if not self._is_issued(ticket):
            raise FeedbackError(
                f"Race.record: expected a ticket that has been issued, got {ticket}; request it "
                "with calls()."
            )
        is_loss = isinstance(loss, Real) and 0.0 <= float(loss) <= 1.0
        if not (loss is None if failed else is_loss):
            raise FeedbackError(
                "Race.record: expected either a loss in [0, 1] or failed=True for ticket "
                f"{ticket}, got loss={loss!r} "
                f"and failed={failed}; rescale the loss, and pass 1 - score if higher is better."
            )
        if len(others) != (0 if failed else len(self.settings.further)) or not all(
            isinstance(other, Real) and 0.0 <= float(other) <= 1.0 for other in others
        ):
            names = ", ".join(self.settings.metrics[1:]) or "no further metric"
            raise FeedbackError(
                f"Race.record: expected losses in [0, 1] of {names} beside the first, got "
                f"{list(others)} for ticket {ticket}; let tombola gate FILE run the commands, or "
                "pass others=(...)."
            )
        spent = _validate.real("Race.record", "cost", cost, least=0)
        return Event(
            "answer",
            ticket,
            None if loss is None else float(loss),
            spent,
            bool(failed),
            tuple(float(other) for other in others),
        )

    def _take(self, event: Event) -> None:
        self._answers[event.ticket] = event
        call = self._pending.pop(event.ticket)
        # Neumaier summation: 250 calls of 0.1 cost exactly 25.
        total = self._cost + event.cost
        self._cost_error += (max(self._cost, event.cost) - total) + min(self._cost, event.cost)
        self._cost, self._largest_cost = total, max(self._largest_cost, event.cost)
        self.failures += event.failed
        if event.failed and self.settings.on_failure == "stop":
            self.failed_call = self.failed_call or call
        self._awaited.discard(event.ticket)
        if not (self._awaited or self.pilot_done):
            self._finish_pilot()
        self._count_rows()

    def _is_first_above_cap(self, cost: float) -> bool:
        """Return whether a cost exceeds the declared bound, which no earlier one has."""
        cap = self.settings.max_call_cost
        return cap is not None and cost > cap * (1.0 + COST_ROUNDING) >= self._largest_cost

    def _count_rows(self) -> None:
        while not (self._awaited or self._decided or self.failed_call):
            row = self._order[self._cursor]
            needed = self._needed(self._cursor)
            in_whole = [a for a, active in enumerate(self._parts[0].active) if active]
            is_counted = False
            for metric, (parts, losses) in enumerate(
                zip(self._by_metric, self._losses, strict=True)
            ):
                losses[needed] = [self._loss_at(self._cursor, a, metric) for a in needed]
                for part in self._own_parts(parts, self._cursor):
                    if not part.rule.done:
                        part.count(row, losses)
                        is_counted = True
            if in_whole:
                self._wealth_rows.append((in_whole, self.rule.state.current_wealth[in_whole]))
            self.rows_counted += is_counted
            if self.clusters is not None:
                # Rows count with the last one of their cluster.
                self.rows_counted = max(parts[0].rule.rows_seen for parts in self._by_metric)
            self._cursor += 1
            self._await_row()

    def _needed(self, position: int) -> list[int]:
        """Return the candidates whose losses the row at a position needs."""
        parts = self._parts_at(position)
        return [a for a in range(len(self.candidates)) if any(part.active[a] for part in parts)]

    def _await_row(self) -> None:
        """Update the tickets that the next row, or the pilot, still needs."""
        self._awaited: set[int] = set()
        if not self.pilot_done:
            self._awaited = set(range(1, self.pilot_calls + 1)) - set(self._answers)
        elif self._cursor < len(self._order):
            self._awaited = {
                self._ticket(self._cursor, a)
                for a in self._needed(self._cursor)
                if math.isnan(self._loss_at(self._cursor, a))
            }


def _row_names(rows: int | Sequence[Any]) -> tuple[str, ...]:
    """Return the names of the rows; a number n stands for the names 0 to n - 1."""
    names: Any = (
        rows
        if hasattr(rows, "__len__")
        else range(_validate.integer("Race", "rows", rows, least=1))
    )
    return distinct_names("rows", names)


def is_same_answer(before: Event, event: Event) -> bool:
    """Return whether two answers to one ticket are the same, up to rounding."""
    if before.loss is None or event.loss is None:
        return before == event
    no_numbers: dict[str, Any] = {"loss": 0.0, "cost": 0.0, "others": ()}
    same_kind = before._replace(**no_numbers) == event._replace(**no_numbers)
    return same_kind and _validate.same_numbers(
        (before.loss, before.cost, *before.others), (event.loss, event.cost, *event.others)
    )


def conflicting_answer(before: Event, event: Event, units: Units) -> ConflictError:
    """Return, not raise, the error for a second, different answer to one ticket."""
    has_costs = bool(before.cost or event.cost)
    first, second = (_answer_text(answer, units, has_costs=has_costs) for answer in (before, event))
    return ConflictError(
        f"Race.record: ticket {event.ticket} has been answered with {first}, got {second} now; "
        "the first answer stands."
    )


def _answer_text(event: Event, units: Units, *, has_costs: bool) -> str:
    """Return an answer in the unit of the race, such as "score 7.5, cost 0.02"."""
    answer = "a failure" if event.loss is None else f"{units.quantity} {units.text(event.loss)}"
    return f"{answer}, cost {event.cost:g}" if has_costs else answer
