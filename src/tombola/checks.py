"""Conformance checks for learners.

`check_learner(MyLearner())` plays a learner on small pools and raises LearnerError at the first
check that fails. A check takes an instance, such as `UCB1()`, and raises unless it has the
property. Statistical checks use fixed seeds and margins of at least five standard deviations: a
correct learner fails with probability below 1e-6 per comparison.
"""

import math
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np

from tombola._compare import compare
from tombola._play import play, resolve_budget
from tombola._types import AnyLearner
from tombola.budget.budget import Budget
from tombola.classification.classes.finite import FiniteClass
from tombola.classification.learner import LabelLearner
from tombola.classification.pool import LabelledPool
from tombola.delay import DelayLike, resolve_delays, rounds_due
from tombola.engine.compiler import compiled, compiles, interpreted
from tombola.engine.tickets import Ticket
from tombola.errors import LearnerError, PoolError, SessionError, TombolaWarning
from tombola.feedback import (
    BanditFeedback,
    BudgetedFeedback,
    StepRunner,
    feedback_type,
    make_feedback_model,
)
from tombola.pool import Pool
from tombola.rng import new_rng
from tombola.session import Session
from tombola.trace import Trace

# A function of one learner that returns None, and raises LearnerError if the learner lacks a
# property.
Check: TypeAlias = Callable[[Any], None]

# Number of rounds and of actions of the small pools.
_ROUNDS = 60
_ACTIONS = 3
# Fix for a learner that plays differently the second time.
_IN_STATE = "keep everything that changes in the state"
# Number of distinct values of a feature in the pools of the checks, for hypothesis classes on a
# finite domain.
_N_POINTS = 7
# Rounds of the easy pool, and the share of the loss of uniform play that counts as clearly better.
# The margin is at least five standard deviations of the mean loss of uniform play.
_EASY_ROUNDS = 400
_EASY_SHARE = 0.75


def check_learner(learner: AnyLearner) -> list[str]:
    """Run all checks of this module on a learner, and return the names of the checks.

    Raises LearnerError at the first check that fails; the message names the fix. It takes seconds,
    because the learner is compiled.

    >>> from tombola import UCB1
    >>> len(check_learner(UCB1()))
    13
    """
    for check in CHECKS:
        check(learner)
    return [check.__name__ for check in CHECKS]


def check_frozen_dataclass(learner: Any) -> None:
    """Raise LearnerError unless it is a frozen dataclass with known `feedback`."""
    feedback_type(learner)
    fix = "decorate it with @dataclass(frozen=True)"
    if not is_dataclass(learner):
        _fail(learner, "a dataclass", repr(learner), fix)
    recipe: Any = learner
    try:
        recipe.surprise = 1
    except (FrozenInstanceError, AttributeError):
        return
    _fail(learner, "parameters that cannot change", "a field that could be set", fix)


def check_unknown_parameters(learner: Any) -> None:
    """Raise LearnerError if the constructor accepts unknown parameters."""
    known = {f.name: getattr(learner, f.name) for f in fields(learner) if f.init}
    kind: Any = type(learner)
    try:
        kind(**known, surprise=1)
    except TypeError:
        return
    _fail(
        learner,
        "a TypeError for an unknown parameter",
        "none",
        "leave **kwargs out of its constructor",
    )


def check_reproducible(learner: Any) -> None:
    """Raise LearnerError unless two plays with one seed are the same."""
    pool = _pool(learner, 1)
    _require_equal(
        learner,
        _play(learner, pool, seed=7),
        _play(learner, pool, seed=7),
        "with the same seed twice",
    )


def check_plain_python(learner: Any) -> None:
    """Raise LearnerError unless compiled and interpreted plays agree bit by bit.

    They are compared without and with delay. Nothing is checked if Numba is switched off.
    """
    if not compiles():
        return
    for delay in (0, 4):
        with interpreted():
            plain = _play(learner, _pool(learner, 2), delay=delay, seed=3)
        with compiled():
            native = _play(learner, _pool(learner, 2), delay=delay, seed=3)
        fix = "use math.exp and math.log: np.exp and np.log round differently; " + _IN_STATE
        _require_equal(learner, native, plain, "compiled and in plain Python", fix)


def check_session(learner: Any) -> None:
    """Raise LearnerError unless a session plays as `play` does, also with delays."""
    uneven = np.random.default_rng(5).integers(0, 9, _ROUNDS)
    original = learner
    for delay in (0, 3, uneven):
        learner = original
        if delay is not uneven and delay and hasattr(learner, "delays"):
            # A router is told in a session what `play` knows: a constant delay is independent of
            # the rows.
            learner = replace(learner, delays="independent")
        trace = _play(learner, _pool(learner, 3), delay=delay, seed=11)
        tickets = _stream(learner, _pool(learner, 3), trace, delay)
        for t, ticket in enumerate(tickets):
            if ticket.action != trace.actions[t] or not _same_float(
                ticket.probability, trace.probabilities[t]
            ):
                _fail(
                    learner,
                    f"round {t + 1} of a session to be that of play",
                    f"{ticket}",
                    _IN_STATE,
                )


def check_workers(learner: Any) -> None:
    """Raise LearnerError unless `compare` gives equal runs with 1 and 2 workers."""
    pool = _pool(learner, 4)
    first, two = (
        compare(
            pool, [learner], repetitions=4, workers=w, seed=2, **_budget_options(learner, pool)
        ).columns()
        for w in (1, 2)
    )
    if first != two:
        _fail(learner, "the same runs with 1 and 2 workers", "different ones", _IN_STATE)


def check_unrevealed_feedback(learner: Any) -> None:
    """Raise LearnerError if actions depend on feedback not yet revealed.

    Two pools that differ from row 30 on must give the same actions until feedback of that row
    arrives.
    """
    change = 30
    pools = _pool(learner, 6), _with_flipped_tail(_pool(learner, 6), change)
    for delay in (0, 5):
        first, two = (
            _play(learner, pool, order="given", delay=delay, seed=4).actions for pool in pools
        )
        if not np.array_equal(first[: change + delay + 1], two[: change + delay + 1]):
            came = "others after a change of later rows"
            fix = "use only what observe is given"
            _fail(learner, "actions that depend on revealed feedback only", came, fix)


def check_probabilities(learner: Any) -> None:
    """Raise LearnerError if probabilities are not the frequencies of repeated draws.

    NaN, for learners without a formula, is not checked; learners that plan are not checked either.
    """
    if learner.plans:
        return
    draws = 400 if isinstance(learner, LabelLearner) else 1000
    seen: dict[int, list[float]] = {}
    for action, probability in _repeat_round(learner, draws):
        seen.setdefault(int(action), []).append(float(probability))
    for action, probabilities in seen.items():
        probability = probabilities[0]
        share = len(probabilities) / draws
        # Not a number, which is not checked, is not above the limit.
        off = 5 * math.sqrt(max(probability * (1 - probability), 0.0) / draws)
        if (
            not all(_same_float(probability, c) for c in probabilities)
            or abs(share - probability) > off + 1e-12
        ):
            expected = f"probability {probability:g} of action {action} to be its frequency"
            _fail(
                learner,
                expected,
                f"{share:g} in {draws} draws",
                "return the true probability, or NaN",
            )


def check_late_feedback(learner: Any) -> None:
    """Raise LearnerError unless late feedback counts by the probability of its round.

    Only bandit learners with mixes are checked; others pass.
    """
    if feedback_type(learner) is not BanditFeedback or not learner.mixes or learner.plans:
        return
    live, _ = _play_rounds(learner, rounds=20)
    runner = live.runner
    ticket = live.act(20)
    for _ in range(5):
        live.learn(22, *live.act(20), (0.75,))
    before = runner.memory.copy()
    live.learn(21, *ticket, (0.5,))
    immediate = runner.memory.copy()
    runner.memory[:] = before
    for _ in range(40):
        live.act(20)
    unchanged = runner.memory == before  # `mix` may cache values in the state
    live.learn(21, *ticket, (0.5,))
    if not np.array_equal(runner.memory[unchanged], immediate[unchanged]):
        came = "an update that depends on later plays"
        fix = "use the probability that observe is given"
        _fail(learner, "feedback to count by its ticket's probability", came, fix)


def check_degenerate_pools(learner: Any) -> None:
    """Raise LearnerError for wrong plays on pools with one action, one row, or ties.

    A correct play has actions in range and probabilities in (0, 1] or NaN, the same compiled and in
    plain Python.
    """
    for pool in _degenerate_pools(learner):
        for delay in (0, 2, pool.rows):
            trace = _play_interpreted(learner, pool, delay)
            right = (trace.actions >= 0).all() and (trace.actions < trace.plays.size).all()
            probabilities = trace.probabilities[~np.isnan(trace.probabilities)]
            if not right or (probabilities <= 0).any() or (probabilities > 1 + 1e-12).any():
                _fail(
                    learner,
                    "actions in range and probabilities in (0, 1]",
                    repr(trace),
                    f"debug it on {pool!r}",
                )
            if compiles():
                with compiled():
                    native = _play(learner, pool, delay=delay, seed=1)
                _require_equal(learner, native, trace, "compiled and in plain Python")


def check_mixes(learner: Any) -> None:
    """Raise LearnerError for a mix with negative entries, or a sum other than 1."""
    if isinstance(learner, LabelLearner) or feedback_type(learner).uses_features:
        return
    _, mixes = _play_rounds(learner, rounds=_ROUNDS)
    for t, mix in enumerate(mixes):
        if not ((mix >= 0).all() and abs(float(mix.sum()) - 1.0) <= 1e-9):
            _fail(
                learner, "a mix that sums to 1", f"{mix.tolist()} in round {t + 1}", "normalise it"
            )


def check_save_and_load(learner: Any) -> None:
    """Raise LearnerError unless a loaded session continues unchanged."""
    pool = _pool(learner, 8)
    session = _session(learner, pool, seed=5)
    tickets = [session.act(_features_of(learner, pool, t)) for t in range(2)]
    for t in range(2, 25):
        tickets.append(session.act(_features_of(learner, pool, t)))
        _observe(session, pool, t - 2, tickets[t - 2])
    with tempfile.TemporaryDirectory() as folder:
        session.save(Path(folder) / "session.json")
        try:
            again = Session.load(Path(folder) / "session.json", learner)
        except SessionError:
            _fail(learner, "the same plays after loading", "others", _IN_STATE)
    for t in range(25, _ROUNDS):
        loaded = session.act(_features_of(learner, pool, t))
        two = again.act(_features_of(learner, pool, t))
        if loaded[:2] != two[:2] or not _same_float(loaded.probability, two.probability):
            _fail(learner, f"{loaded} after loading", f"{two}", _IN_STATE)
        for live in (session, again):
            _observe(live, pool, t, loaded)


def check_beats_uniform(learner: Any) -> None:
    """Raise LearnerError unless the loss is below 75 % of that of uniform play.

    Both play an easy pool. A learner that declares `learns = False` gets a TombolaWarning instead
    of an error.
    """
    pool, uniform = _easy_pool(learner)
    loss = float(
        np.mean(play(learner, pool, seed=1, **_budget_options(learner, pool, rate=1.0)).losses)
    )
    if loss < _EASY_SHARE * uniform:
        return
    if not learner.learns:
        message = (
            f"{type(learner).__name__}: does not learn within {_EASY_ROUNDS} rounds (mean "
            f"loss {loss:.2f})."
        )
        warnings.warn(message, TombolaWarning, stacklevel=3)
        return
    expected = (
        f"a mean loss below {_EASY_SHARE * uniform:.2f} on a pool where the best action never loses"
    )
    fix = "use the feedback in observe, or declare learns: ClassVar[bool] = False"
    _fail(learner, expected, f"{loss:.2f} in {_EASY_ROUNDS} rounds", fix)


# All checks, in the order in which `check_learner` runs them.
CHECKS: tuple[Check, ...] = (
    check_frozen_dataclass,
    check_unknown_parameters,
    check_degenerate_pools,
    check_reproducible,
    check_plain_python,
    check_session,
    check_workers,
    check_unrevealed_feedback,
    check_probabilities,
    check_late_feedback,
    check_mixes,
    check_save_and_load,
    check_beats_uniform,
)


def _fail(learner: Any, expected: str, came: str, remedy: str) -> NoReturn:
    raise LearnerError(f"{type(learner).__name__}: expected {expected}, got {came}; {remedy}.")


def _pool(learner: Any, seed: int) -> Any:
    """Return a small pool with ties, of labels or of losses for the learner.

    Losses are multiples of 1/4; the last action is better and costs more.
    """
    rng = np.random.default_rng(seed)
    if isinstance(learner, LabelLearner):
        return _labelled(learner, rng.integers(0, 2, _ROUNDS), rng)
    losses = rng.integers(0, 5, (_ROUNDS, _ACTIONS)) / 4
    losses[:, -1] *= 0.75
    return _with_features(losses, (1.0 - losses) / 2)


def _with_features(losses: Any, costs: Any) -> Pool:
    """Return a pool with two features, of which one tells the first loss; routers use them."""
    noise = np.random.default_rng(0).random(len(losses))
    return Pool(losses, costs=costs, features=np.stack([losses[:, 0], noise], axis=1))


def _easy_pool(learner: Any) -> tuple[Any, float]:
    """Return a pool with one perfect action, and the mean loss of uniform play on it."""
    if isinstance(learner, LabelLearner):
        pool = _labelled(learner, np.ones(_EASY_ROUNDS, np.int64), np.random.default_rng(1))
        if isinstance(learner.hypotheses, FiniteClass):  # it may not contain the constant 1
            labels = learner.hypotheses.array[-1][pool.features[:, 0].astype(np.int64)]
            pool = LabelledPool(pool.features, labels, pool.weights)
        return pool, float(pool.weights.mean()) / 2
    losses = np.ones((_EASY_ROUNDS, _ACTIONS))
    losses[:, -1] = 0.0  # the last action, so that a learner that stays with action 0 fails
    return _with_features(losses, np.full(losses.shape, 0.5)), 1 - 1 / _ACTIONS


def _labelled(learner: LabelLearner, labels: Any, rng: np.random.Generator) -> LabelledPool:
    """Return a pool in the domain of the hypothesis class, with these labels."""
    rows = len(labels)
    points = _N_POINTS
    if isinstance(learner.hypotheses, FiniteClass):
        points = learner.hypotheses.array.shape[1]
    features = rng.integers(0, points, (rows, _dimensions(learner)))
    return LabelledPool(features, labels, rng.choice([0.5, 1.0], rows))


def _dimensions(learner: LabelLearner) -> int:
    """Return a number of features that the hypothesis class accepts."""
    for dimensions in (1, 2, 3):
        with suppress(PoolError):
            learner.hypotheses.check(dimensions)
            return dimensions
    raise LearnerError(
        f"{type(learner).__name__}: expected hypotheses on one, two or three features, got "
        f"{learner.hypotheses!r}; "
        "let its check accept one of those."
    )


def _with_flipped_tail(pool: Any, since: int) -> Any:
    """Return the pool with losses or labels inverted from row `since` on."""
    if isinstance(pool, LabelledPool):
        late = np.arange(pool.rows) >= since
        return LabelledPool(
            pool.features, np.where(late, 1 - pool.labels, pool.labels), pool.weights
        )
    losses = np.array(pool.losses, dtype=np.float64)
    losses[since:] = 1.0 - losses[since:]
    return Pool(losses, costs=pool.costs, features=pool.features)


def _degenerate_pools(learner: Any) -> Iterator[Any]:
    """Yield pools with one action, one row, constant losses or ties."""
    generator = np.random.default_rng(0)
    if isinstance(learner, LabelLearner):
        for labels in (
            np.zeros(1),
            np.ones(1),
            np.zeros(9),
            np.ones(17),
            generator.integers(0, 2, 40),
        ):
            yield _labelled(learner, labels, generator)
        return
    ugly = [
        np.zeros((1, 1)),
        np.ones((7, 1)),
        np.zeros((33, 4)),
        np.ones((33, 4)),
        np.full((17, 2), 0.5),
    ]
    ugly += [
        generator.integers(0, 2, (50, 3)).astype(float),
        np.eye(5)[generator.integers(0, 5, 40)],
        np.ones((1, 3)),
    ]
    for losses in ugly:
        yield _with_features(losses, losses / 2)


def _budget_options(learner: Any, pool: Any, rate: float = 0.25) -> dict[str, Any]:
    """Return the budget argument of `play` for a learner under budgets."""
    if not issubclass(feedback_type(learner), BudgetedFeedback):
        return {}
    return {"budget": Budget(rate * pool.rows, worst=0.5, null="add")}


def _costs(pool: Pool, row: int) -> Any:
    return None if pool.costs is None else pool.costs[row]


def _session(learner: Any, pool: Any, seed: int) -> Session:
    if isinstance(pool, LabelledPool):
        return Session(learner, horizon=pool.rows, features=pool.dimensions, seed=seed)
    options = _budget_options(learner, pool)
    if feedback_type(learner).uses_features:
        options["features"] = pool.features.shape[1]
    return Session(learner, actions=pool.k, horizon=pool.rows, seed=seed, **options)


def _features_of(learner: Any, pool: Any, row: int) -> Any:
    """Return the features that `Session.act` takes; None for learners without features."""
    is_shown = isinstance(pool, LabelledPool) or feedback_type(learner).uses_features
    return pool.features[row] if is_shown else None


def _play(learner: Any, pool: Any, **how: Any) -> Trace:
    return play(learner, pool, **how, **_budget_options(learner, pool))


def _same_float(one: float, two: float) -> bool:
    return one == two or (math.isnan(one) and math.isnan(two))


def _require_equal(learner: Any, one: Trace, two: Trace, how: str, fix: str = _IN_STATE) -> None:
    for name in ("actions", "probabilities", "losses", "expected_losses"):
        if not np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True):
            _fail(learner, f"the same {name} {how}", "different ones", fix)


def _observe(session: Session, pool: Any, row: int, ticket: Ticket) -> None:
    if isinstance(pool, LabelledPool):
        session.observe(ticket, label=int(pool.labels[row]), weight=float(pool.weights[row]))
        return
    session.observe(
        ticket,
        **session.feedback_model.outcome_of_row(pool.losses[row], ticket.action, _costs(pool, row)),
    )


def _stream(learner: Any, pool: Any, trace: Trace, delay: DelayLike) -> list[Ticket]:
    """Return the tickets of a session on the rows of a play, with the same delays."""
    session = _session(learner, pool, seed=11)
    delays = resolve_delays(delay, pool.rows)
    tickets: list[Ticket] = []
    for t, arrived in enumerate(rounds_due(delays, pool.rows)):
        for s in arrived:
            _observe(session, pool, int(trace.order[s]), tickets[s])
        tickets.append(session.act(_features_of(learner, pool, int(trace.order[t]))))
    return tickets


def _repeat_round(learner: Any, draws: int) -> Iterator[tuple[int, float]]:
    """Yield (action, probability) of the same round with different random numbers."""
    if not isinstance(learner, LabelLearner):
        live, _ = _play_rounds(learner, rounds=20)
        live.plan(20)
        before = live.runner.memory.copy()
        for _ in range(draws):
            live.runner.memory[:] = before
            yield live.act(20)
        return
    pool = _pool(learner, 9)
    for seed in range(draws):
        predictor = learner.start(pool.rows, pool.dimensions, new_rng(np.random.SeedSequence(seed)))
        for t in range(8):
            predictor.learn(pool.features[t], int(pool.labels[t]), float(pool.weights[t]))
        yield predictor.predict(pool.features[8])


def _play_rounds(learner: Any, rounds: int) -> tuple[StepRunner, list[Any]]:
    """Return a learner after some rounds with an ample budget, and its mixes."""
    pool: Pool = _pool(learner, 9)
    budget: Budget | None = _budget_options(learner, pool, rate=1e6).get("budget")
    setting = make_feedback_model(
        learner, pool.rows, actions=pool.k, budget_run=resolve_budget(pool, budget)
    )
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


def _play_interpreted(learner: Any, pool: Any, delay: DelayLike) -> Trace:
    """Play in plain Python, which detects an index out of range."""
    try:
        with interpreted():
            return _play(learner, pool, delay=delay, seed=1)
    except AttributeError as error:
        if "set attribute" not in str(error):
            raise
        fix = "keep what changes in an array, total: np.ndarray, and write state.total[0] += loss"
        _fail(
            learner, "a state whose numbers stay as they are", "an assignment to one of them", fix
        )
    except LearnerError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise LearnerError(
            f"{type(learner).__name__}: expected a play on {pool!r}, "
            f"got {type(error).__name__} ({error}); run it with NUMBA_DISABLE_JIT=1 to find the "
            "line."
        ) from error
