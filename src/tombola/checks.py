"""Laws: what every learner must obey, for ours and for yours.

`check_learner(MyLearner())` plays a learner on small ugly pools and raises LearnerError with one sentence at the first
law it breaks. Statistical laws use fixed seeds and five standard deviations: a lawful learner is refused with
probability below 1e-6 for each frequency compared.
"""

import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import FrozenInstanceError, fields, is_dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np

from tombola._compare import compare
from tombola._play import play, resolve_budget
from tombola.budget.budget import Budget
from tombola.classification.classes.finite import FiniteClass
from tombola.classification.learner import LabelLearner
from tombola.classification.pool import LabelledPool
from tombola.delay import DelayLike
from tombola.engine.compiler import compiled, compiles, interpreted
from tombola.engine.tickets import Ticket
from tombola.errors import LearnerError, PoolError, SessionError
from tombola.feedback import BanditFeedback, BudgetedFeedback, StepRunner, feedback_type, make_feedback_model
from tombola.pool import Pool
from tombola.rng import new_rng
from tombola.session import Session
from tombola.trace import Trace

Law: TypeAlias = Callable[[Any], None]

ROUNDS, ACTIONS = 60, 3
LINE = 7  # points, for classes that know them all


def check_learner(learner: Any) -> list[str]:
    """Check every law, and return their names.

    >>> from tombola import UCB1
    >>> len(check_learner(UCB1()))
    12
    """
    for law in LAWS:
        law(learner)
    return [law.__name__ for law in LAWS]


def is_a_frozen_recipe(learner: Any) -> None:
    """A learner is a frozen dataclass with a kind of feedback."""
    feedback_type(learner)
    if not is_dataclass(learner):
        _broken(
            learner,
            "a dataclass",
            repr(learner),
            "decorate it with @dataclass(frozen=True)",
        )
    recipe: Any = learner
    try:
        recipe.surprise = 1
    except (FrozenInstanceError, AttributeError):
        return
    _broken(
        learner,
        "parameters that cannot change",
        "a field that could be set",
        "decorate it with @dataclass(frozen=True)",
    )


def refuses_unknown_keywords(learner: Any) -> None:
    """An unknown parameter is an error, never swallowed."""
    known = {f.name: getattr(learner, f.name) for f in fields(learner) if f.init}
    kind: Any = type(learner)
    try:
        kind(**known, surprise=1)
    except TypeError:
        return
    _broken(learner, "a TypeError for an unknown parameter", "none", "leave **kwargs out of its constructor")


def same_seed_same_run(learner: Any) -> None:
    """The same seed gives the same play."""
    pool = _pool(learner, 1)
    _same(learner, _play(learner, pool, seed=7), _play(learner, pool, seed=7), "with the same seed twice")


def plays_the_same_without_jit(learner: Any) -> None:
    """Compiled and plain Python agree to the bit."""
    if not compiles():
        return
    for delay in (0, 4):
        with interpreted():
            plain = _play(learner, _pool(learner, 2), delay=delay, seed=3)
        with compiled():
            native = _play(learner, _pool(learner, 2), delay=delay, seed=3)
        _same(learner, native, plain, "compiled and in plain Python")


def streams_as_it_plays(learner: Any) -> None:
    """A session that gets the same feedback at the same times plays the same, to the bit."""
    uneven = np.random.default_rng(5).integers(0, 9, ROUNDS)
    for delay in (0, 3, uneven):
        trace = _play(learner, _pool(learner, 3), delay=delay, seed=11)
        tickets = _stream(learner, _pool(learner, 3), trace, delay)
        for t, ticket in enumerate(tickets):
            if ticket.action != trace.actions[t] or not _equal(ticket.probability, trace.probabilities[t]):
                _broken(
                    learner,
                    f"round {t + 1} of a session to be that of play",
                    f"{ticket}",
                    "keep everything that changes in the state",
                )


def any_number_of_workers(learner: Any) -> None:
    """One worker or two: the same runs."""
    pool = _pool(learner, 4)
    one, two = (
        compare(pool, [learner], repetitions=4, workers=w, seed=2, **_terms(learner, pool)).columns() for w in (1, 2)
    )
    if one != two:
        _broken(
            learner, "the same runs with 1 and 2 workers", "different ones", "keep everything that changes in the state"
        )


def unseen_feedback_has_no_influence(learner: Any) -> None:
    """What has not been revealed cannot change an action."""
    change = 30
    pools = _pool(learner, 6), _turned(_pool(learner, 6), change)
    for delay in (0, 5):
        one, two = (_play(learner, pool, order="given", delay=delay, seed=4).actions for pool in pools)
        if not np.array_equal(one[: change + delay + 1], two[: change + delay + 1]):
            _broken(
                learner,
                "actions that depend on revealed feedback only",
                "others after a change of later rows",
                "use only what observe is given",
            )


def chance_is_the_true_probability(learner: Any) -> None:
    """The probability of a ticket is the frequency with which its action comes up (NaN: it has no formula)."""
    if learner.plans:
        return
    throws = 400 if isinstance(learner, LabelLearner) else 1000
    seen: dict[int, list[float]] = {}
    for action, probability in _throws(learner, throws):
        seen.setdefault(int(action), []).append(float(probability))
    for action, probabilities in seen.items():
        probability, share = probabilities[0], len(probabilities) / throws
        off = (
            5 * math.sqrt(max(probability * (1 - probability), 0.0) / throws)
            if probability == probability
            else math.inf
        )
        if not all(_equal(probability, c) for c in probabilities) or abs(share - probability) > off + 1e-12:
            _broken(
                learner,
                f"probability {probability:g} of action {action} to be its frequency",
                f"{share:g} in {throws} throws",
                "return the true probability, or NaN",
            )


def late_feedback_uses_the_tickets_chance(learner: Any) -> None:
    """No learner keeps "the last probability": what came between a play and its feedback changes nothing in it."""
    if feedback_type(learner) is not BanditFeedback or not learner.mixes or learner.plans:
        return
    live, _ = _after(learner, rounds=20)
    runner = live.runner
    ticket = live.act(20)
    for _ in range(5):
        live.learn(22, *live.act(20), (0.75,))
    before = runner.memory.copy()
    live.learn(21, *ticket, (0.5,))
    at_once = runner.memory.copy()
    runner.memory[:] = before
    for _ in range(40):
        live.act(20)
    kept = runner.memory == before  # what `mix` notes for itself may differ
    live.learn(21, *ticket, (0.5,))
    if not np.array_equal(runner.memory[kept], at_once[kept]):
        _broken(
            learner,
            "feedback to count by its ticket's probability",
            "an update that depends on later plays",
            "use the probability that observe is given",
        )


def survives_ugly_pools(learner: Any) -> None:
    """One action, one row, all losses 0 or 1, ties everywhere: actions stay in range and probabilities are probabilities."""
    for pool in _ugly_pools(learner):
        for delay in (0, 2, pool.rows):
            trace = _safely(learner, pool, delay)
            right = (trace.actions >= 0).all() and (trace.actions < trace.plays.size).all()
            probabilities = trace.probabilities[~np.isnan(trace.probabilities)]
            if not right or (probabilities <= 0).any() or (probabilities > 1 + 1e-12).any():
                _broken(
                    learner,
                    "actions in range and probabilities in (0, 1]",
                    repr(trace),
                    f"look at {pool!r}",
                )
            with compiled():
                _same(learner, _play(learner, pool, delay=delay, seed=1), trace, "compiled and in plain Python")


def mixes_are_probabilities(learner: Any) -> None:
    """A mix has no negative entry and sums to 1."""
    if isinstance(learner, LabelLearner):
        return
    _, mixes = _after(learner, rounds=ROUNDS)
    for t, mix in enumerate(mixes):
        if not ((mix >= 0).all() and abs(float(mix.sum()) - 1.0) <= 1e-9):
            _broken(learner, "a mix that sums to 1", f"{mix.tolist()} in round {t + 1}", "normalise it")


def survives_save_and_load(learner: Any) -> None:
    """A session saved in the middle and loaded again goes on as if nothing had happened."""
    pool = _pool(learner, 8)
    session = _session(learner, pool, seed=5)
    tickets = [session.act(_shown(pool, t)) for t in range(2)]
    for t in range(2, 25):
        tickets.append(session.act(_shown(pool, t)))
        _tell(session, pool, t - 2, tickets[t - 2])
    with tempfile.TemporaryDirectory() as folder:
        session.save(Path(folder) / "session.json")
        try:
            again = Session.load(Path(folder) / "session.json", learner)
        except SessionError:
            _broken(learner, "the same plays after loading", "others", "keep everything that changes in the state")
    for t in range(25, ROUNDS):
        one, two = session.act(_shown(pool, t)), again.act(_shown(pool, t))
        if one[:2] != two[:2] or not _equal(one.probability, two.probability):
            _broken(learner, f"{one} after loading", f"{two}", "keep everything that changes in the state")
        for live in (session, again):
            _tell(live, pool, t, one)


LAWS: tuple[Law, ...] = (
    is_a_frozen_recipe,
    refuses_unknown_keywords,
    survives_ugly_pools,
    same_seed_same_run,
    plays_the_same_without_jit,
    streams_as_it_plays,
    any_number_of_workers,
    unseen_feedback_has_no_influence,
    chance_is_the_true_probability,
    late_feedback_uses_the_tickets_chance,
    mixes_are_probabilities,
    survives_save_and_load,
)


def _broken(learner: Any, expected: str, came: str, remedy: str) -> NoReturn:
    raise LearnerError(f"{type(learner).__name__}: expected {expected}, got {came}; {remedy}.")


def _pool(learner: Any, seed: int) -> Any:
    """A small pool with ties: losses are multiples of 1/4, one action a little better, better plays cost more.

    For a learner of labels: rows that come more than once, and not always with the same label or weight.
    """
    rng = np.random.default_rng(seed)
    if isinstance(learner, LabelLearner):
        return _labelled(learner, rng.integers(0, 2, ROUNDS), rng)
    losses = rng.integers(0, 5, (ROUNDS, ACTIONS)) / 4
    losses[:, -1] *= 0.75
    return Pool(losses, costs=(1.0 - losses) / 2)


def _labelled(learner: LabelLearner, labels: Any, rng: np.random.Generator) -> LabelledPool:
    """A pool of rows that the class of a learner knows, with these labels."""
    rows, points = len(labels), LINE
    if isinstance(learner.hypotheses, FiniteClass):
        points = learner.hypotheses.array.shape[1]
    features = rng.integers(0, points, (rows, _dimensions(learner)))
    return LabelledPool(features, labels, rng.choice([0.5, 1.0], rows))


def _dimensions(learner: LabelLearner) -> int:
    """Return how many features the class of a learner can do with."""
    for dimensions in (1, 2, 3):
        with suppress(PoolError):
            learner.hypotheses.check(dimensions)
            return dimensions
    raise LearnerError(
        f"{type(learner).__name__}: expected hypotheses on one, two or three features, got {learner.hypotheses!r}; "
        "let its check accept one of those."
    )


def _turned(pool: Any, since: int) -> Any:
    """Return a pool whose rows from this one on say the opposite."""
    if isinstance(pool, LabelledPool):
        late = np.arange(pool.rows) >= since
        return LabelledPool(pool.features, np.where(late, 1 - pool.labels, pool.labels), pool.weights)
    losses = np.array(pool.losses, dtype=np.float64)
    losses[since:] = 1.0 - losses[since:]
    return Pool(losses, costs=pool.costs)


def _ugly_pools(learner: Any) -> Iterator[Any]:
    """Yield pools with one action, one row, all losses 0 or 1, ties everywhere; or with labels all alike, or rng."""
    generator = np.random.default_rng(0)
    if isinstance(learner, LabelLearner):
        for labels in (np.zeros(1), np.ones(1), np.zeros(9), np.ones(17), generator.integers(0, 2, 40)):
            yield _labelled(learner, labels, generator)
        return
    ugly = [np.zeros((1, 1)), np.ones((7, 1)), np.zeros((33, 4)), np.ones((33, 4)), np.full((17, 2), 0.5)]
    ugly += [generator.integers(0, 2, (50, 3)).astype(float), np.eye(5)[generator.integers(0, 5, 40)], np.ones((1, 3))]
    for losses in ugly:
        yield Pool(losses, costs=losses / 2)


def _terms(learner: Any, pool: Any, rate: float = 0.25) -> dict[str, Any]:
    """Return what a learner under a budget needs besides: a budget."""
    if not issubclass(feedback_type(learner), BudgetedFeedback):
        return {}
    return {"budget": Budget(rate * pool.rows, worst=0.5, null="add")}


def _costs(pool: Pool, row: int) -> Any:
    return None if pool.costs is None else pool.costs[row]


def _session(learner: Any, pool: Any, seed: int) -> Session:
    """Return a session for rows such as those of the pool."""
    if isinstance(pool, LabelledPool):
        return Session(learner, horizon=pool.rows, features=pool.dimensions, seed=seed)
    return Session(learner, actions=pool.k, horizon=pool.rows, seed=seed, **_terms(learner, pool))


def _shown(pool: Any, row: int) -> Any:
    """Return what a session is shown of a row before it acts."""
    return pool.features[row] if isinstance(pool, LabelledPool) else None


def _play(learner: Any, pool: Any, **how: Any) -> Trace:
    return play(learner, pool, **how, **_terms(learner, pool))


def _equal(one: float, two: float) -> bool:
    return one == two or (math.isnan(one) and math.isnan(two))


def _same(learner: Any, one: Trace, two: Trace, how: str) -> None:
    for name in ("actions", "probabilities", "losses", "expected_losses"):
        if not np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True):
            _broken(learner, f"the same {name} {how}", "different ones", "keep everything that changes in the state")


def _tell(session: Session, pool: Any, row: int, ticket: Ticket) -> None:
    if isinstance(pool, LabelledPool):
        session.observe(ticket, label=int(pool.labels[row]), weight=float(pool.weights[row]))
        return
    session.observe(ticket, **session.feedback_model.outcome_of_row(pool.losses[row], ticket.action, _costs(pool, row)))


def _stream(learner: Any, pool: Any, trace: Trace, delay: DelayLike) -> list[Ticket]:
    """Drive a session with the feedback of a play: that of round s before round s + d + 1."""
    session = _session(learner, pool, seed=11)
    waits = np.broadcast_to(np.asarray(delay), pool.rows)
    arrivals = np.arange(pool.rows) + waits + 1
    tickets: list[Ticket] = []
    for t in range(pool.rows):
        for s in np.flatnonzero(arrivals == t):
            _tell(session, pool, int(trace.order[s]), tickets[s])
        tickets.append(session.act(_shown(pool, int(trace.order[t]))))
    return tickets


def _throws(learner: Any, throws: int) -> Iterator[tuple[int, float]]:
    """Yield what a learner does in the same moment with other rng."""
    if not isinstance(learner, LabelLearner):
        live, _ = _after(learner, rounds=20)
        live.plan(20)
        before = live.runner.memory.copy()
        for _ in range(throws):
            live.runner.memory[:] = before
            yield live.act(20)
        return
    pool = _pool(learner, 9)
    for seed in range(throws):
        predictor = learner.start(pool.rows, pool.dimensions, new_rng(np.random.SeedSequence(seed)))
        for t in range(8):
            predictor.learn(pool.features[t], int(pool.labels[t]), float(pool.weights[t]))
        yield predictor.predict(pool.features[8])


def _after(learner: Any, rounds: int) -> tuple[StepRunner, list[Any]]:
    """Return a learner that has played some rounds, with more money than it needs, and the mixes it had."""
    pool: Pool = _pool(learner, 9)
    budget: Budget | None = _terms(learner, pool, rate=1e6).get("budget")
    setting = make_feedback_model(learner, pool.rows, actions=pool.k, budget_run=resolve_budget(pool, budget))
    live = setting.step_runner(learner, new_rng(np.random.SeedSequence(1)))
    mixes = []
    for t in range(rounds):
        action, probability = live.act(t)
        if live.runner.mix is not None:
            mixes.append(live.runner.mix.copy())
        outcome = setting.encode(
            t + 1, action, setting.outcome_of_row(np.array(pool.losses[t]), action, _costs(pool, t))
        )
        live.learn(t + 1, action, probability, outcome)
    return live, mixes


def _safely(learner: Any, pool: Any, delay: DelayLike) -> Trace:
    """Play in plain Python, which notices an action out of range; compiled code would go there."""
    try:
        with interpreted():
            return _play(learner, pool, delay=delay, seed=1)
    except AttributeError as error:
        if "set attribute" not in str(error):
            raise
        _broken(
            learner,
            "a state whose numbers stay as they are",
            "an assignment to one of them",
            "keep what changes in an array, total: np.ndarray, and write state.total[0] += loss",
        )
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise LearnerError(
            f"{type(learner).__name__}: expected a play on {pool!r}, "
            f"got {type(error).__name__} ({error}); run it with NUMBA_DISABLE_JIT=1 and look."
        ) from error
