"""Plan: simulate races on a finished table over many shuffles."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from tombola import _validate
from tombola._formatting import option_text
from tombola._types import Floats, Order, Rows, Seed
from tombola.engine.compiler import Workload
from tombola.errors import ParameterError
from tombola.order import draw_order
from tombola.parallel.parallel_map import parallel_map
from tombola.pool import Pool
from tombola.racing._race import COST_ROUNDING
from tombola.racing.rules.base import Elimination
from tombola.racing.settings import RaceSettings
from tombola.racing.side_information import SideInformation
from tombola.racing.strata import Part, Strata, build_parts
from tombola.rng import RngStreams, repetition_seeds
from tombola.statements import Reading, rank_text

# Quantiles at the ends of `Plan.calls_range`: 90 % of the simulated races are in between.
_RANGE_QUANTILES = (0.05, 0.95)


class _Answer(NamedTuple):
    """Answer of a simulated race: names, or one text with a rank; `wrong` by the table."""

    names: tuple[str, ...]
    decided: bool
    wrong: bool


class _SimulatedRace(NamedTuple):
    """Result of one simulated race, on one shuffle of the table.

    rows: rows that needed a call or an answer on file. answers: the one for the list first, then
        those for groups.
    """

    calls: int
    rows: int
    cost: float
    answers: tuple[_Answer, ...]


@dataclass(frozen=True)
class Plan:
    """Result of `plan` at one level: calls, answers and rate of wrong answers.

    `rows` is the length of the list, `outcomes` has one simulated race per shuffle.
    """

    settings: RaceSettings
    rows: int
    outcomes: tuple[_SimulatedRace, ...]
    strata: Strata | None = None

    @property
    def total_calls(self) -> int:
        """The number of calls that the whole table takes: rows times candidates."""
        return self.rows * len(self.settings.candidates)

    @property
    def calls(self) -> float:
        """The mean number of calls per simulated race."""
        return float(np.mean([outcome.calls for outcome in self.outcomes]))

    @property
    def calls_range(self) -> tuple[float, float]:
        """The 5 % and 95 % quantiles of the number of calls, over the simulated races."""
        low, high = np.quantile([outcome.calls for outcome in self.outcomes], _RANGE_QUANTILES)
        return float(low), float(high)

    @property
    def share(self) -> float:
        """The mean number of calls divided by `total_calls`, in [0, 1]."""
        return self.calls / self.total_calls

    @property
    def wrong(self) -> float:
        """The share of simulated races with a wrong answer; expected: at most the level."""
        return float(
            np.mean([any(answer.wrong for answer in outcome.answers) for outcome in self.outcomes])
        )

    @property
    def decided(self) -> float:
        """The share, in [0, 1], of simulated races that answered the question."""
        return float(
            np.mean(
                [all(answer.decided for answer in outcome.answers) for outcome in self.outcomes]
            )
        )

    @property
    def answers(self) -> list[tuple[tuple[str, ...], int]]:
        """Pairs (names, number of races with this answer), the most frequent first.

        With a question about one rank, the names are one text, such as "a: rank 2".
        """
        return Counter(outcome.answers[0].names for outcome in self.outcomes).most_common()

    @property
    def cost(self) -> float:
        """The mean cost per simulated race, in the unit of `max_cost`; 0 without that."""
        return float(np.mean([outcome.cost for outcome in self.outcomes]))

    @property
    def by_group(self) -> "dict[str, Plan]":
        """A plan for each group by name; empty without groups.

        Its `answers`, `decided` and `wrong` are about the group. Calls and costs are those of the
        whole race.
        """
        groups = (
            () if self.strata is None else zip(self.strata.names, self.strata.sizes, strict=True)
        )
        plans = {}
        for at, (name, size) in enumerate(groups, start=1):
            outcomes = tuple(
                outcome._replace(answers=outcome.answers[at : at + 1]) for outcome in self.outcomes
            )
            plans[name] = replace(self, rows=size, strata=None, outcomes=outcomes)
        return plans

    def to_json(self) -> dict[str, Any]:
        """Return the results over all simulated races as a dict of JSON data.

        calls, calls_low, calls_high: mean number of calls per race, and its 5 % and 95 % quantiles.
        share, saved: mean number of calls divided by rows times candidates, in [0, 1]; and 1 -
            share.
        decided, wrong: shares in [0, 1] of the races that answered the question, and of those with
            a wrong answer.
        answers: list of {"candidates": names, "shuffles": number of races with this answer}, the
            most frequent first.
        max_cost, cost: only with a cap on costs: the cap, and the mean cost per race.
        groups: only with groups: dict from the name of a group to its decided, wrong and answers.
        """
        low, high = self.calls_range
        more: dict[str, Any] = {}
        if self.settings.max_cost is not None:
            more |= {"max_cost": self.settings.max_cost, "cost": self.cost}
        if self.strata is not None:
            groups = ((name, group.to_json()) for name, group in self.by_group.items())
            more["groups"] = {
                name: {key: group[key] for key in ("decided", "wrong", "answers")}
                for name, group in groups
            }
        return {
            "level": self.settings.level,
            "calls": self.calls,
            "calls_low": low,
            "calls_high": high,
            "share": self.share,
            "saved": 1.0 - self.share,
            "decided": self.decided,
            "wrong": self.wrong,
            "answers": [
                {"candidates": list(names), "shuffles": count} for names, count in self.answers
            ],
            **more,
        }


def plan(
    pool: Pool,
    *,
    seed: Seed,
    levels: Sequence[float] = (0.05,),
    within: float = 0.0,
    top: int = 1,
    baseline: str | None = None,
    question: Literal["best", "ranks"] = "best",
    candidate: str | None = None,
    max_cost: float | None = None,
    max_call_cost: float | None = None,
    shuffles: int = 200,
    workers: int = 1,
    known: Any = None,
    history: Any = None,
    strata: Iterable[Any] | None = None,
    runs: Floats | None = None,
    better: bool = False,
    reading: Reading | None = None,
) -> list[Plan]:
    """Simulate races on a finished table: one `Plan` per level, in their order.

    All levels are simulated on the same shuffles of the rows. ParameterError if an option is
    invalid.

    pool      the table of losses; its costs are the costs of the calls
    levels    error probabilities to compare
    within, top, baseline, better, question, candidate   the question; see `RaceSettings`
    max_cost  cap on the total cost of all calls, made one at a time; None: no cap
    max_call_cost   largest cost of a call; in a table without costs, the cost of every call
    shuffles  number of simulated races per level
    workers   number of threads; the results do not depend on it
    known     cells on file, which cost no call: names of candidates, or a boolean table (rows, k).
              None: no cell
    history, strata   as in `Race`
    runs      losses of several answers to each cell, shape (runs, rows, k), NaN where there are
              fewer. Every call draws one of them. None: the table has the answers
    reading   what the question is about: "recorded", the default without runs; "expected", the
              default with runs, which it needs; "beyond", each row once

    >>> pool = Pool(np.random.default_rng(0).random((400, 3)) * [0.2, 1, 1], actions=["a", "b", "c"])
    >>> [one] = plan(pool, seed=1, shuffles=20)
    >>> one.answers, one.wrong, one.share < 0.2
    ([(('a',), 20)], 0.0, True)
    """
    count = _validate.integer("plan", "shuffles", shuffles, least=1)
    chosen = reading or ("recorded" if runs is None else "expected")
    if (chosen == "expected" and runs is None) or (chosen == "recorded" and runs is not None):
        expected = "several runs" if runs is None else "one answer"
        got = "one" if runs is None else "several"
        raise ParameterError(
            f"plan: expected a table with {expected} of each row for "
            f"{option_text('reading', chosen)}, got {got}; leave it out, or write "
            f"{option_text('reading', 'beyond')}."
        )
    asked = RaceSettings(
        pool.actions,
        0,
        within=within,
        top=top,
        baseline=baseline,
        question=question,
        candidate=candidate,
        max_cost=max_cost,
        max_call_cost=max_call_cost,
        reading=chosen,
        answers="random" if chosen == "expected" else "fixed",
        better=better,
    )
    groups = (
        None
        if strata is None
        else strata
        if isinstance(strata, Strata)
        else Strata.of(strata, pool.rows)
    )
    side = _side_of(pool, known, history)
    workload = Workload.of_rounds(pool.rows * count * len(levels), pool.k)
    table = cast("Rows", np.ascontiguousarray(pool.losses))
    job = _Job(
        table,
        _call_costs(pool, asked),
        None if side is None else np.isnan(side.known),
        groups,
        side,
        workload,
        runs,
    )
    orders = repetition_seeds(seed, count)
    plans = []
    for settings in (replace(asked, level=level) for level in levels):
        pieces = [(settings, job, order) for order in orders]
        outcomes = parallel_map(
            _simulate_fresh if chosen == "expected" else _simulate,
            pieces,
            workers=workers,
            label=f"races at level {settings.level:g}",
        )
        plans.append(Plan(settings, pool.rows, tuple(outcomes), groups))
    return plans


class _Job(NamedTuple):
    """Input of the simulated races, all of shape (rows, k).

    costs: None without `max_cost`; unknown: cells that take a call, None if nothing is on file.
    """

    table: Rows
    costs: Rows | None
    unknown: NDArray[np.bool_] | None
    strata: Strata | None
    side: SideInformation | None
    workload: Workload
    runs: Floats | None = None


def _call_costs(pool: Pool, settings: RaceSettings) -> Rows | None:
    """Return the costs of the calls, (rows, k), if the plan has a cap on them."""
    if settings.max_cost is None:
        return None
    if pool.costs is not None:
        if pool.costs.shape[2] > 1:
            raise ParameterError(
                f"plan: max_cost must cap one resource, got a table with {pool.costs.shape[2]}; "
                "name one with costs."
            )
        return pool.costs[:, :, 0]
    if settings.max_call_cost is None:
        raise ParameterError(
            f"plan: {option_text('max_cost')} must come with the costs of the calls, got a table "
            "without costs; add "
            f"{option_text('max_call_cost')}, the cost of every call."
        )
    return np.full(pool.losses.shape, settings.max_call_cost)


def _side_of(pool: Pool, known: Any, history: Any) -> SideInformation | None:
    """Return the cells of a finished table that are taken as known, or None."""
    if known is None and history is None:
        return None
    cells: Any = np.zeros(pool.losses.shape, bool) if known is None else known
    if all(isinstance(cell, str) for cell in cells):
        missing = [name for name in cells if name not in pool.actions]
        if missing:
            raise ParameterError(
                f"plan: known must be among {', '.join(pool.actions[:6])}, got {missing[0]!r}; "
                "use a column name."
            )
        cells = np.broadcast_to([name in cells for name in pool.actions], pool.losses.shape)
    cells = np.asarray(cells, bool)
    if cells.shape != pool.losses.shape:
        raise ParameterError(
            f"plan: known must have the shape of the table, {pool.losses.shape}, got "
            f"{cells.shape}; mark each cell."
        )
    rows = [str(row) for row in range(pool.rows)]
    return SideInformation.of(pool.actions, rows, np.where(cells, pool.losses, np.nan), history)


def _simulate(settings: RaceSettings, job: _Job, seed: Seed) -> _SimulatedRace:
    order = draw_order("random", len(job.table), RngStreams(seed).order())
    means = job.table
    if job.runs is not None:
        rng = np.random.default_rng(seed)
        job = job._replace(
            table=np.stack([_drawn(job.runs, row, rng) for row in range(len(means))])
        )
    parts = _play_parts(settings, job, order)
    used = np.zeros(job.table.shape, bool)
    for part in parts:
        rows = np.where(part.rule.state.active > 0, part.rule.rows_seen, part.rule.state.drop_row)
        used[part.position[order] >= 0] |= np.arange(part.rule.rows)[:, None] < rows
    called = used if job.unknown is None else used & job.unknown[order]
    calls = int(np.count_nonzero(called))
    cost = 0.0
    if job.costs is not None:
        costs = job.costs[order][called].astype(np.float64)
        calls = _affordable(costs, settings)
        cost = math.fsum(costs[:calls])
        if calls < costs.size:
            # The row of the first call that is too expensive is not counted.
            counted = int(np.argwhere(called)[calls, 0])
            parts = _play_parts(settings, job, order[:counted])
            used = used[:counted]
    answers = tuple(
        _answer(settings, part.rule, means[part.members].sum(axis=0, dtype=float)) for part in parts
    )
    return _SimulatedRace(calls, int(np.count_nonzero(used.any(axis=1))), cost, answers)


def _simulate_fresh(settings: RaceSettings, job: _Job, seed: Seed) -> _SimulatedRace:
    """Simulate a race on random answers: a row with replacement, and one of its runs."""
    assert job.runs is not None
    rows, k = job.runs.shape[1:]
    side = job.side or SideInformation(np.full((rows, k), np.nan), np.zeros((rows, 0)))
    rng = np.random.default_rng(seed)
    calls = 0
    rounds = 0
    cost = 0.0
    with job.workload.active():
        parts = build_parts(settings, rows, job.strata, side)
        while not all(part.rule.done for part in parts):
            row = int(rng.integers(rows))
            own = [part for part in parts if part.position[row] >= 0 and not part.rule.done]
            asked = [a for a in range(k) if any(part.active[a] for part in own)]
            spent = 0.0 if job.costs is None else float(job.costs[row, asked].sum())
            limit = settings.max_cost
            if calls + len(asked) > settings.most_calls(rows) or (
                limit is not None and cost + spent > limit * (1.0 + COST_ROUNDING)
            ):
                break
            calls += len(asked)
            rounds += bool(own)
            cost += spent
            losses = _drawn(job.runs, row, rng)
            for part in own:
                part.count(row, losses)
    means = np.nanmean(job.runs, axis=0)
    answers = tuple(
        # Totals in rounds of the rule, whose tolerance is per round.
        _answer(settings, part.rule, means[part.members].mean(axis=0) * part.rule.rows)
        for part in parts
    )
    return _SimulatedRace(calls, rounds, cost, answers)


def _drawn(runs: Floats, row: int, rng: np.random.Generator) -> Floats:
    """Return one of the runs of every candidate on a row."""
    answers = runs[:, row]
    known = ~np.isnan(answers)
    place = (rng.random(answers.shape[1]) * known.sum(axis=0)).astype(int)
    # Runs that exist come first.
    first = np.argsort(~known, axis=0, kind="stable")
    columns = np.arange(answers.shape[1])
    return np.asarray(answers[first[place, columns], columns])


def _play_parts(settings: RaceSettings, job: _Job, order: Order) -> list[Part]:
    with job.workload.active():
        parts = build_parts(settings, len(job.table), job.strata, job.side)
        for part in parts:
            places = part.position[order]
            part.play(job.table[part.members], places[places >= 0].astype(np.uint32))
    return parts


def _affordable(costs: Floats, settings: RaceSettings) -> int:
    """Return how many calls `max_cost` allows, one at a time (`Race.limit_reached`)."""
    assert settings.max_cost is not None
    before = np.concatenate([[0.0], np.cumsum(costs)[:-1]])[: costs.size]
    largest = np.concatenate([[0.0], np.maximum.accumulate(costs)[:-1]])[: costs.size]
    reserve = np.maximum(largest, settings.max_call_cost or 0.0)
    refused = (before >= settings.max_cost) | (
        before + reserve > settings.max_cost * (1.0 + COST_ROUNDING)
    )
    return int(np.argmax(refused)) if refused.any() else int(costs.size)


def _answer(settings: RaceSettings, rule: Elimination, totals: Floats) -> _Answer:
    answer = tuple(settings.candidates[a] for a in rule.answer)
    if settings.candidate is not None:
        # The candidate is known beforehand; its rank is the answer.
        (ranks,) = rule.ranks.values()
        answer = (f"{answer[0]}: rank {rank_text(ranks)}",)
    return _Answer(answer, rule.proved is not None, rule.is_wrong(totals))
