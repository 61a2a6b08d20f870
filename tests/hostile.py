"""Hostile learners under a budget, and hostile costs; overspending is detected in exact fractions.

    PYTHONPATH=src:tests python tests/hostile.py 1000000    prints the number of plays that
                                                            overspend

Money is spent in three ways: a whole play (drawn or fluid, compiled or in plain Python), a
`Session`, and a `SessionFile`. Live, the world answers late, out of order, twice, wrongly or never,
and a witness who knows nothing of ledgers adds up what was paid and what every open ticket may
still cost.
"""

import contextlib
import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, ClassVar, NamedTuple, TypeAlias
from unittest import mock

import numpy as np

from tombola import Session
from tombola._play import resolve_budget
from tombola._types import Floats, RngState
from tombola.budget.budget import _MIN_AMOUNT, Balance, Budget, BudgetTerms, ResolvedBudget
from tombola.budget.tracker import _MIX_TOLERANCE
from tombola.delay import round_delays
from tombola.engine.arrivals import from_delays, max_in_flight
from tombola.engine.compiler import compiles, interpreted
from tombola.engine.loop import ROUND, RowStream, new_accumulators
from tombola.engine.runner import Runner
from tombola.engine.tickets import Ticket
from tombola.errors import FeedbackError
from tombola.feedback import make_feedback_model
from tombola.learners import BudgetedBanditLearner, BudgetedLearner
from tombola.pool import Pool
from tombola.worklists import SessionFile

MOODS = 15
FICKLE, FRAGILE = (
    13,
    14,
)  # those that are due at every second question, and that fall over at every second answer
MOST = float(np.finfo(np.float64).max)


class State(NamedTuple):
    """Its mood, the rounds seen so far, how often it was asked and told, the null action, and all that was played."""

    mood: float
    seen: Floats
    asked: Floats
    null: float
    log: Floats


@dataclass(frozen=True)
class Hostile(BudgetedLearner):
    """A learner that proposes what is no mix, and writes into all that it is shown."""

    supports_target: ClassVar[bool] = True

    mood: int

    def init(self, terms: BudgetTerms) -> State:
        if terms.prices is not None:
            terms.prices[:] = 0.0
        log = np.zeros((terms.horizon, terms.actions))
        return State(float(self.mood), np.zeros(1), np.zeros(2), float(terms.null), log)

    @staticmethod
    def mix(state: State, mix: Floats) -> None:
        write_nonsense(state, mix)

    @staticmethod
    def observe(state: State, round: int, played: Floats, losses: Floats, costs: Floats) -> None:
        fall_over(state)
        state.seen[0] += 1.0
        for action in range(played.size):
            state.log[round - 1, action] = played[action]
        for action in range(played.size):
            played[action], losses[action] = -7.0, math.nan
            for j in range(costs.shape[1]):
                costs[action, j] = -1e300

    @staticmethod
    def needs_plan(state: State, fits: Floats) -> bool:
        return ask_now_and_then(state, fits)

    def plan(self, state: State, left: Floats, fits: Floats, rng: RngState) -> None:
        left[:], fits[:] = np.inf, 1.0
        state.seen[0] += 1.0


@dataclass(frozen=True)
class HostileBandit(BudgetedBanditLearner):
    """The same, but told only of what it plays."""

    supports_target: ClassVar[bool] = True

    mood: int

    init = Hostile.init
    mix = staticmethod(Hostile.mix)
    needs_plan = staticmethod(Hostile.needs_plan)
    plan = Hostile.plan

    @staticmethod
    def observe(
        state: State, round: int, action: int, probability: float, loss: float, costs: Floats
    ) -> None:
        fall_over(state)
        state.seen[0] += 1.0
        state.log[round - 1, action] = 1.0
        for j in range(costs.size):
            costs[j] = -1e300


KEPT: list[Floats] = []


@dataclass(frozen=True)
class Grasping(Hostile):
    """The same in plain Python only, where it keeps what it is shown, and goes on writing into it."""

    def init(self, terms: BudgetTerms) -> State:
        KEPT.clear()
        return super().init(terms)

    @staticmethod
    def mix(state: State, mix: Floats) -> None:
        for shown in KEPT:
            shown[...] = 0.0
        write_nonsense(state, mix)

    @staticmethod
    def observe(state: State, round: int, played: Floats, losses: Floats, costs: Floats) -> None:
        for shown in (played, losses, costs):
            KEPT.extend(part for part in (shown, shown.base) if part is not None)
        del KEPT[:-40]
        Hostile.observe(state, round, played, losses, costs)

    @staticmethod
    def needs_plan(state: State, fits: Floats) -> bool:
        KEPT.append(fits)
        return ask_now_and_then(state, fits)


def fall_over(state: State) -> None:
    """Raise at every second answer, in that mood."""
    state.asked[1] += 1.0
    if int(state.mood) == FRAGILE and int(state.asked[1]) % 2 == 1:
        raise ZeroDivisionError


def write_nonsense(state: State, mix: Floats) -> None:
    """Write anything but a mix, mostly."""
    mood, last, k = int(state.mood), mix.size - 1, float(mix.size)
    if mood == 12:
        mood = int(state.seen[0]) % 12
    if mood > 12:
        mood = 6
    for action in range(mix.size):
        first, mine = action == 0, action == int(state.seen[0]) % mix.size
        mix[action] = (
            0.0,
            math.nan,
            math.inf,
            -1.0,
            1e300,
            1.0 / k + 1e-7,
            1.0 / k,
            2.0 if first else -1.0 / max(k - 1.0, 1.0),
            1.0 if first else 1e-17,
            1.0 if mine else 0.0,
            1e-320 if action < last else 1.0,
            math.nan if action == int(state.null) else 1.0,
        )[mood]


def ask_now_and_then(state: State, fits: Floats) -> bool:
    """Say that everything fits, and ask to plan now and then."""
    for action in range(fits.size):
        fits[action] = 1.0
    state.asked[0] += 1.0
    return (
        int(state.asked[0]) % 2 == 0 if int(state.mood) == FICKLE else int(state.seen[0]) % 5 == 3
    )


def ugly_costs(rng: np.random.Generator, shape: tuple[int, int, int], far: int = 290) -> Floats:
    """Return costs of some ugly kind: tiny, huge (10^far), decimal, whole, rare, almost 1, changing, or of 32 bits."""
    costs = rng.random(shape)
    kinds: tuple[Callable[[], Floats], ...] = (
        lambda: costs,
        lambda: np.round(costs),
        lambda: np.ceil(costs * 3) / 10,
        lambda: costs**-3.0,
        lambda: costs * 10.0 ** rng.integers(-far, far, size=shape[2]),
        lambda: np.where(rng.random(shape) < 0.7, 0.0, costs),
        lambda: 1.0 - costs * 2.0**-50,
        lambda: np.concatenate([costs[: shape[0] // 2] * 1e-9, costs[shape[0] // 2 :]]),
        lambda: costs.astype(np.float32).astype(np.float64),
    )
    return kinds[rng.integers(9)]()


def extreme_costs(rng: np.random.Generator, shape: tuple[int, int, int]) -> Floats:
    """Return costs from the ends of what there is: too small for all bits, or almost infinite."""
    ends = (
        [5e-324, 1e-310, 2.2e-308, _MIN_AMOUNT, 1e-300, 0.0],
        [1e308, MOST, MOST / 3, 1e290, 1.0, 0.0],
        [5e-324, 1.0, MOST],
    )
    return rng.choice(ends[int(rng.integers(3))], shape)


@lru_cache(maxsize=2)
def pool_of(number: int) -> Pool:
    """Return a small pool with costs of some ugly kind; one action may cost nothing, and one always the same."""
    rng = np.random.default_rng([17, number])
    T, k, m = (int(rng.integers(1, top)) for top in (24, 5, 3))
    costs = ugly_costs(rng, (T, k, m)) if rng.random() < 0.85 else extreme_costs(rng, (T, k, m))
    if rng.random() < 0.3:
        costs[:, rng.integers(k)] = 0.0
    if rng.random() < 0.3:
        costs[:, rng.integers(k)] = costs[0, rng.integers(k)]
    return Pool(rng.integers(0, 3, (T, k)) / 2, costs=costs)


def budget_of(pool: Pool, rng: np.random.Generator, *, declared: bool) -> Budget:
    """Return amounts from nothing to plenty, many of them exact sums of costs.

    The worst costs are told if they must be, and now and then; what always costs the same may have
    its price on a list, and there may be a target.
    """
    costs: Any = pool.costs
    with np.errstate(over="ignore"):
        some = costs[rng.integers(0, pool.rows, 3), rng.integers(0, pool.k, 3)].sum(axis=0)
        totals = np.minimum(costs.max(axis=1).sum(axis=0), MOST)
    choices = [
        0.0 * totals,
        some,
        totals * rng.random(),
        np.nextafter(some, 0),
        totals / 2,
        costs.max(axis=(0, 1)),
    ]
    amounts = [_valid(choices[rng.integers(6)][j]) for j in range(totals.size)]
    most, free = costs.max(axis=0), (costs == 0).all(axis=(0, 2))
    worst = np.array(
        [[_valid(cost * (1 + int(rng.integers(2)))) for cost in row] for row in most.tolist()]
    )
    fixed = (
        ((costs == costs[0]).all(axis=0) & ((most == 0) | (most >= _MIN_AMOUNT)))
        if rng.random() < 0.5
        else most < 0
    )
    return Budget(
        amounts,
        worst if declared or rng.random() < 0.3 else None,
        "add" if not free.any() or rng.random() < 0.5 else int(np.argmax(free)),
        np.where(fixed, most, np.nan) if fixed.any() else None,
        0.25 if totals.size == 1 and rng.random() < 0.2 else None,
    )


def _valid(number: Any) -> float:
    """Return a finite number that a budget may have: 0, or one with all bits."""
    return float(min(max(number, _MIN_AMOUNT), MOST)) if number > 0 else 0.0


class CompareRequest(NamedTuple):
    pool: Pool
    budget: Budget
    stop: Any
    delay: Any
    mixed: bool


def question_of(group: int, *, live: bool = False) -> CompareRequest:
    """Return a pool with an amount, a stop rule, a delay, and whether play is fluid; live, worst costs are told."""
    rng = np.random.default_rng([18, group])
    pool = pool_of(group)
    delay = (0, 0, 2, pool.rows + 1, rng.integers(0, 5, pool.rows))[int(rng.integers(5))]
    stop = ("strict", "fits")[int(rng.integers(2))]
    return CompareRequest(
        pool, budget_of(pool, rng, declared=live), stop, delay, bool(rng.integers(2))
    )


class Stage:
    """A question with a runner that can be put back to the start: many plays, for the price of one set-up."""

    def __init__(self, question: CompareRequest, kind: Any = Hostile) -> None:
        pool, budget, stop, delay, mixed = self.question = question
        learner, mixed = kind(0), mixed and kind is not HostileBandit
        budget_run = resolve_budget(pool, budget, stop, mixed=mixed)
        self.feedback_model = make_feedback_model(
            learner, pool.rows, actions=pool.k, budget_run=budget_run
        )
        self.arrivals = from_delays(round_delays(delay, np.arange(pool.rows, dtype=np.uint32)))
        self.runner = Runner(
            learner, self.feedback_model, np.zeros(4, np.uint64), max_in_flight(self.arrivals)
        )
        self.start = self.runner.memory.copy()
        costs: Any = pool.costs
        labels = np.append(np.arange(pool.k), -1)[: self.feedback_model.actions]
        self.table = RowStream(
            pool.losses,
            costs.reshape(pool.rows, -1),
            labels,
            np.arange(pool.rows, dtype=np.uint32),
            pool.best,
        )

    def play(self, mood: int, rng: RngState) -> tuple[Floats, Any, Floats]:
        """Play from the start, as far as it goes, and return what was played and seen, the actions, and the costs."""
        runner, tracker = self.runner, self.runner.workspace.tracker
        accumulators = new_accumulators(
            self.feedback_model.actions,
            self.question.pool.rows,
            np.zeros(0, np.int64),
            resources=tracker.amounts.size,
            per_round=True,
            expects=True,
        )
        runner.memory[:], runner.rng[:] = self.start, rng
        runner.memory[int(self.start[1])] = mood
        tracker.spent[:], tracker.reserved[:], tracker.fits[:], tracker.flags[:] = (
            0.0,
            0.0,
            1.0,
            0.0,
        )
        with contextlib.suppress(ZeroDivisionError):
            runner.play(self.table, self.arrivals, accumulators)
        played = (
            int(accumulators.cursor[ROUND]) + 1
        )  # the costs of what comes after are 0, but actions are not none
        accumulators.actions[played:] = -1
        return (
            runner.state.log,
            np.full(accumulators.actions.size, -1) if tracker.fluid else accumulators.actions,
            accumulators.costs,
        )

    def is_over(self, mood: int, rng: RngState) -> bool:
        """Play, and tell whether more was spent, or is reserved, than there was."""
        log, actions, spent = self.play(mood, rng)
        return is_over(
            self.question, self.feedback_model.balance(self.runner.workspace), log, actions, spent
        )


def is_over(
    question: CompareRequest, balance: Balance, log: Floats, actions: Any, spent: Floats
) -> bool:
    """Tell, exactly, whether what was seen and is reserved, or all that was played, is too much.

    What a fluid play cost is only known round by round, to the last bit, and is too much if those
    costs are; of a drawn one all is known.
    """
    pool, amounts = question.pool, question.budget.per_resource.tolist()
    costs: Any = pool.costs
    drawn = np.zeros((pool.rows, pool.k))
    rounds = np.flatnonzero((actions >= 0) & (actions < pool.k))
    drawn[rounds, actions[rounds]] = 1.0
    seen = log[:, : pool.k]
    if not ((seen >= 0.0) & (seen <= 1.0 + _MIX_TOLERANCE)).all() or not np.isfinite(spent).all():
        return True
    for j, (amount, reserved) in enumerate(zip(amounts, balance.reserved, strict=True)):
        paid = costs[:, :, j]
        if (
            not 0 <= reserved <= amount
            or exceeds(seen, paid, reserved, amount)
            or exceeds(drawn, paid, 0.0, amount)
        ):
            return True
        if exceeds(np.ones(pool.rows), spent[:, j], 0.0, amount):
            return True
    return False


def exceeds(played: Floats, paid: Floats, reserved: float, amount: float) -> bool:
    """Tell, in exact fractions, whether the cost of what was played, with what is reserved, is above the amount."""
    with np.errstate(over="ignore"):
        if float((played * paid).sum()) + reserved < 0.999999 * amount:
            # far from it: the sum of some hundred products is right to a part in a billion
            return False
    some = np.flatnonzero((played > 0.0) & (paid > 0.0))
    products = zip(played.ravel()[some].tolist(), paid.ravel()[some].tolist(), strict=True)
    return sum(Fraction(share) * Fraction(cost) for share, cost in products) + Fraction(
        reserved
    ) > Fraction(amount)


_steps: dict[Any, Any] = {}
_step = Runner.compile


def remembered(runner: Runner, function: Any, *arguments: Any) -> Any:
    """Look every loop up once: the compiler's fingerprint of a learner takes longer than these plays."""
    key = (function, type(runner.learner), compiles())
    if key not in _steps:
        _steps[key] = _step(runner, function, *arguments)
    return _steps[key]


class Witness:
    """Follows the money of a live run: what was paid, and the most that every open ticket may still cost."""

    def __init__(self, amounts: Floats, limits: ResolvedBudget) -> None:
        self.amounts = amounts.tolist()
        self.worst = [[Fraction(cost) for cost in row] for row in limits.worst.tolist()]
        self.paid = [Fraction(0)] * amounts.size
        self.open: dict[int, int] = {}

    def pay(self, round: int, costs: list[float]) -> None:
        del self.open[round]
        self.paid = [paid + Fraction(cost) for paid, cost in zip(self.paid, costs, strict=True)]

    def is_wronged(self, balance: Balance) -> bool:
        """Tell, exactly, whether a balance says less than was paid, or is open, or more than there is."""
        for j, (amount, spent, reserved) in enumerate(
            zip(self.amounts, balance.spent, balance.reserved, strict=True)
        ):
            still = sum(self.worst[action][j] for action in self.open.values())
            if (
                spent < self.paid[j]
                or reserved < still
                or Fraction(spent) + Fraction(reserved) > amount
            ):
                return True
        return False


class Live(NamedTuple):
    """A live run in any store: its setting, a ticket (round, action), the answer to one, and its balance."""

    feedback_model: Any
    act: Callable[[], tuple[int, int]]
    tell: Callable[[int, dict[str, Any]], bool]
    balance: Callable[[], Balance]


def went_over(live: Live, question: CompareRequest, rng: Random) -> bool:
    """Play all rounds live in a hostile world, and tell whether ever too much was spent, promised or forgotten."""
    pool, costs = question.pool, np.asarray(question.pool.costs)
    witness = Witness(question.budget.per_resource, live.feedback_model.limits)
    share = rng.choice((0.0, 0.4, 0.7, 0.9))
    for _ in range(pool.rows):
        round_, action = live.act()
        witness.open[round_] = action
        if witness.is_wronged(live.balance()):
            return True
        while witness.open and rng.random() < share:
            round_, action = rng.choice(list(witness.open.items()))
            row = costs[round_ - 1]
            answer = live.feedback_model.outcome_of_row(pool.losses[round_ - 1], action, row)
            if answer and rng.random() < 0.1 and is_swayed(live, round_, action, answer, rng):
                return True
            news = observe_answer(live, round_, answer)
            if (action < pool.k and not news) or (
                rng.random() < 0.2 and observe_answer(live, round_, answer)
            ):
                return True
            witness.pay(round_, row[action].tolist() if action < pool.k else [0.0] * row.shape[1])
    return witness.is_wronged(live.balance())


def observe_answer(live: Live, round: int, answer: dict[str, Any]) -> bool:
    """Answer a ticket, and once more if the learner falls over."""
    try:
        return live.tell(round, answer)
    except ZeroDivisionError:
        return live.tell(round, answer)


def is_swayed(live: Live, round: int, action: int, answer: dict[str, Any], rng: Random) -> bool:
    """Tell whether a cost that cannot be is taken in, or changes anything."""
    most = (
        live.feedback_model.limits.worst[: live.feedback_model.n_listed_actions]
        if live.feedback_model.full_feedback
        else live.feedback_model.limits.worst[action]
    )
    with np.errstate(over="ignore"):
        wrong = rng.choice(
            (np.nextafter(most, np.inf), most * math.nan, most - math.inf, most + math.inf)
        )
    before = live.balance()
    try:
        live.tell(round, {**answer, "cost": wrong})
    except FeedbackError:
        return live.balance() != before
    return True


def session_of(question: CompareRequest, learner: Any, seed: int, folder: Path) -> Live:
    """Return a session, which is now and then saved, and taken up again."""
    pool, budget, stop, _, _ = question
    here = [Session(learner, pool.k, pool.rows, budget=budget, stop=stop, seed=seed)]
    tickets: dict[int, Ticket] = {}

    def act() -> tuple[int, int]:
        if (seed + len(tickets)) % 1000 == 0 and learner.mood != FRAGILE:
            here[0].save(folder / "saved.json")
            here[0] = Session.load(folder / "saved.json", learner)
        ticket = here[0].act()
        tickets[ticket.round] = ticket
        return ticket.round, ticket.action

    def tell(round: int, answer: dict[str, Any]) -> bool:
        return here[0].observe(tickets[round], **answer)

    return Live(here[0].feedback_model, act, tell, lambda: here[0].balance)


@contextlib.contextmanager
def run_of(question: CompareRequest, learner: Any, seed: int, path: Path) -> Iterator[Live]:
    """Start a run in a file, held by two who take turns; the file is gone afterwards."""
    pool = question.pool
    names, rows = [f"a{i}" for i in range(pool.k)], [str(i) for i in range(pool.rows)]
    with (
        SessionFile.start(path, rows, names, learner, budget=question.budget, seed=seed) as one,
        SessionFile.open(path, learner) as other,
    ):
        both = [one, other]

        def act() -> tuple[int, int]:
            both.reverse()
            [play] = both[0].next()
            return play.ticket, one.names.index(play.action)

        def tell(round: int, answer: dict[str, Any]) -> bool:
            both.reverse()
            return bool(answer) and both[0].record(
                round, **answer
            )  # an added null action is recorded by itself

        yield Live(one.feedback_model, act, tell, lambda: both[0].status().balance)
    path.unlink()


def played(group: int, kind: Any, moods: list[int], folder: Path) -> int:
    """Count the whole plays of a question in which too much is spent."""
    stage = Stage(question_of(group), kind)
    rng = np.random.default_rng([19, group]).integers(1, 2**63, (MOODS, 4)).astype(np.uint64)
    return sum(stage.is_over(mood, rng[mood]) for mood in moods)


def played_plainly(group: int, kind: Any, moods: list[int], folder: Path) -> int:
    """Count the same in plain Python."""
    with interpreted(), np.errstate(invalid="ignore"):
        return played(group, kind, moods, folder)


def lived(group: int, kind: Any, moods: list[int], folder: Path) -> int:
    """Count the sessions in which too much is spent."""
    question, seed = question_of(group, live=True), group * MOODS
    return sum(
        went_over(
            session_of(question, kind(mood), seed + mood, folder), question, Random(seed + mood)
        )
        for mood in moods
    )


def filed(group: int, kind: Any, moods: list[int], folder: Path) -> int:
    """Count the runs in a file in which too much is spent; a learner that falls over has no run, for none repeats."""
    question, found = question_of(group, live=True), 0
    for mood in moods:
        with run_of(question, kind(mood % FRAGILE), group, folder / "a.run") as live:
            found += went_over(live, question, Random(group * MOODS + mood))
    return found


Route: TypeAlias = Callable[[int, Any, list[int], Path], int]
ROUTES: tuple[tuple[Route, Any], ...] = (
    (played, Hostile),
    (played, HostileBandit),
    (lived, Hostile),
    (lived, HostileBandit),
)


def route_of(group: int) -> tuple[Route, Any]:
    """Return how a question is asked, and of whom: by turns, and now and then in plain Python, or in a file."""
    if group % 50 == 49:
        return played_plainly, Grasping
    if group % 500 == 24:
        return filed, (Hostile, HostileBandit)[group // 500 % 2]
    return ROUTES[group % 4]


def count_overspent(first: int, count: int, route: tuple[Route, Any] | None = None) -> int:
    """Ask many questions in all moods, on all routes or one, and return how often too much was spent."""
    found = 0
    with mock.patch.object(Runner, "compile", remembered), tempfile.TemporaryDirectory() as folder:
        for group in range(first // MOODS, -(-(first + count) // MOODS)):
            ask, kind = route_of(group) if route is None else route
            numbers = range(max(first, group * MOODS), min(first + count, (group + 1) * MOODS))
            found += ask(group, kind, [number % MOODS for number in numbers], Path(folder))
    return found


if __name__ == "__main__":
    print(f"{sys.argv[1]} plays, {count_overspent(0, int(sys.argv[1]))} overspent")
