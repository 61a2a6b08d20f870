"""Saved sessions of every kind: damaged, or changed with a digest that fits."""

import contextlib
import hashlib
import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.driver import damage
from fuzz.forging import change_inside, choice, hostile
from tombola import Budget, Session, classification, learners
from tombola.classification import ERM, AllLabellings, Experts, FiniteClass, Halving, StandardOptimal, Thresholds
from tombola.learners import (
    KLUCB,
    UCB1,
    UCB2,
    BettingElimination,
    BirthdayTest,
    BlockUCB,
    BudgetSimulation,
    DualDescent,
    EmpiricalLP,
    Exp3,
    FollowTheLeader,
    FrugalUCB,
    Hedge,
    Interleaved,
    OptimisticLP,
    OptimisticSimulation,
    PrimalDual,
    Simulation,
    SuccessiveElimination,
    ThompsonSampling,
    Thrifty,
    ThriftyLP,
    TsallisInf,
)
from tombola.persistence.session_json import _digest, _session_events

POINTS = FiniteClass([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1]])
SPEND = Budget(12.0, worst=[1.0, 2.0], null="add")
PRICED = Budget([9.0, 4.0], worst=[[0.0, 0.0], [1.0, 0.5], [2.0, 1.0]], prices=[[0.0, 0.0], [None, 0.25], [2.0, None]])
AIMED = Budget(worst=[0.0, 2.0, 1.0], target=0.5)

SAVED: tuple[Callable[[], Session], ...] = (
    lambda: Session(UCB2(), ["a", "b", "c"], 60, seed=1),
    lambda: Session(Exp3(), 4, 60, seed=2),
    lambda: Session(Hedge(), 3, 60, seed=3),
    lambda: Session(EmpiricalLP(), 2, 60, budget=SPEND, seed=4),
    lambda: Session(UCB1(), ["é", "b b", "\u202ec", "d"], 60, seed=5),
    lambda: Session(ThompsonSampling(), 3, 60, seed=6),
    lambda: Session(SuccessiveElimination(), 5, 60, seed=7),
    lambda: Session(KLUCB(), 2, 60, seed=8),
    lambda: Session(TsallisInf(), 3, 1, seed=9),
    lambda: Session(FrugalUCB(), 4, 60, seed=10),
    lambda: Session(Thrifty(), 4, 60, seed=11),
    lambda: Session(BlockUCB(), 3, 60, seed=12),
    lambda: Session(BettingElimination(), 3, 60, seed=13),
    lambda: Session(FollowTheLeader("random"), 1, 60, seed=14),
    lambda: Session(Simulation(FollowTheLeader()), 3, 60, seed=15),
    lambda: Session(Simulation(Hedge()), 2, 64, seed=16),
    lambda: Session(Interleaved(Hedge(), 2), 3, 60, seed=17),
    lambda: Session(OptimisticSimulation(UCB1()), 3, 60, seed=18),
    lambda: Session(BirthdayTest(), 2, 60, seed=19),
    lambda: Session(ThriftyLP(), 2, 60, budget=SPEND, seed=20),
    lambda: Session(OptimisticLP(), 2, 60, budget=SPEND, stop="strict", seed=21),
    lambda: Session(EmpiricalLP(), 3, 60, budget=PRICED, seed=22),
    lambda: Session(ThriftyLP(), 3, 60, budget=PRICED, seed=23),
    lambda: Session(PrimalDual(), 2, 60, budget=SPEND, stop="strict", seed=24),
    lambda: Session(DualDescent(), 2, 60, budget=SPEND, seed=25),
    lambda: Session(BudgetSimulation(EmpiricalLP(), margin=0.0), 2, 60, budget=SPEND, seed=26),
    lambda: Session(EmpiricalLP(), 3, 60, budget=AIMED, seed=27),
    lambda: Session(ERM(Thresholds()), horizon=60, seed=28),
    lambda: Session(ERM(Thresholds(), "random"), horizon=60, seed=29),
    lambda: Session(ERM(AllLabellings(9)), horizon=60, features=2, seed=30),
    lambda: Session(Halving(POINTS), horizon=60, seed=31),
    lambda: Session(Experts(POINTS, Hedge()), horizon=60, seed=32),
    lambda: Session(StandardOptimal(POINTS), horizon=60, seed=33),
)
ENDINGS = ("half-way", "not begun", "all answered")


def sessions(path: Path, seed: int) -> str:
    """Damage a saved session, or (two of three tries) change a part of it and compute the digest again."""
    kind, far = (seed // 3) % len(SAVED), ("half-way" if seed % 4 else choice(np.random.default_rng(seed), [*ENDINGS]))
    whole, said = saved_session(kind, far)
    file = path / "session.json"
    sealed = seed % 3 > 0
    file.write_bytes(resealed(whole, seed) if sealed else damage(whole, seed))
    session = Session.load(file)
    now = telling(session)
    if now == said:
        return "same"
    again = replayed(session)
    return "other" if sealed and now == telling(again) and goes_on(session) == goes_on(again) else "wrong"


@cache
def saved_session(kind: int, far: str) -> tuple[bytes, str]:
    """Return the bytes of a session that has got so far, and all that it says."""
    session, rng = SAVED[kind](), np.random.default_rng(kind)
    waiting = []
    for _ in range({"half-way": min(30, session.horizon), "not begun": 0, "all answered": session.horizon}[far]):
        waiting.append(session.act(**shown(session, rng)))
        if far == "all answered" or rng.random() < 0.7:
            observe_ticket(session, waiting.pop(int(rng.integers(len(waiting)))), rng)
    with tempfile.TemporaryDirectory() as folder:
        session.save(Path(folder) / "s.json")
        return (Path(folder) / "s.json").read_bytes(), telling(session)


def shown(session: Session, rng: np.random.Generator) -> dict[str, Any]:
    """Return what `act` is shown: features, for a learner of labels."""
    return (
        {"features": rng.integers(0, 4, session.feedback_model.n_features)} if session.feedback_model.n_features else {}
    )


def observe_ticket(session: Session, ticket: Any, rng: np.random.Generator) -> None:
    """Tell a session some outcome of a ticket: nothing, if what was played is an added null action."""
    if session.feedback_model.n_features:
        session.observe(ticket, label=int(rng.integers(2)), weight=choice(rng, [None, 0.5, 1.0]))
        return
    if session.budget is None:
        losses = rng.random(session.actions)
        session.observe(ticket, **session.feedback_model.outcome_of_row(losses, ticket.action))
        return
    limits = session.feedback_model.limits  # type: ignore[attr-defined]
    listed = session.feedback_model.n_listed_actions
    worst, prices = limits.worst[:listed], limits.prices[:listed]
    costs = np.where(np.isnan(prices), rng.random(worst.shape) * worst, prices)
    losses = rng.random(listed)
    if session.feedback_model.full_feedback:
        session.observe(ticket, loss=losses, cost=costs)
    elif ticket.action < listed:
        session.observe(ticket, loss=losses[ticket.action], cost=costs[ticket.action])
    else:
        session.observe(ticket)


def telling(session: Session) -> str:
    """Return all that a session knows, to the bit."""
    memory = session._live.runner.memory if session._live.runner else np.zeros(0)
    digest = hashlib.blake2b()
    for begun in range(0, memory.size, 1 << 20):  # a horizon of a billion may have room for as many rows, never touched
        digest.update(memory[begun : begun + (1 << 20)].tobytes())
    known = (session.tickets, session.outcomes, session.balance, session.names, session.horizon)
    return repr(known) + digest.hexdigest()


def goes_on(session: Session) -> str:
    """Return what a session does next."""
    rng, after = np.random.default_rng(1), min(3, session.horizon - session.round)
    return repr([session.act(**shown(session, rng)) for _ in range(after)])


def replayed(session: Session) -> Session:
    """Return a session that goes through the same history by the public calls only."""
    features = session.feedback_model.n_features or None
    names = None if features else session.names[: session.actions]
    again = Session(
        session.learner, names, session.horizon, budget=session.budget, stop=session.stop, features=features, seed=0
    )
    again._start(np.array(session._initial_rng, np.uint64))
    for kind, round_, value in _session_events(session):
        if kind == "ticket":
            again.act(value[2:] if features else None)
        else:
            given = session.feedback_model.to_observe_kwargs(tuple(value))
            again.observe(again.tickets[round_ - 1], **given)
    return again


def resealed(whole: bytes, seed: int) -> bytes:
    """Change one place of a saved session, sometimes two, to something hostile, and seal it anew."""
    rng = np.random.default_rng([seed, 31])
    data = json.loads(whole)
    data.pop("digest")
    change(data, rng)
    if rng.random() < 0.2:
        with contextlib.suppress(ValueError, LookupError, TypeError):  # where that place is gone
            change(data, rng)
    return json.dumps({**data, "digest": _digest(data)}).encode()


def change(data: dict[str, Any], rng: np.random.Generator) -> None:
    """Change one place of what a session wrote."""
    match int(rng.integers(8)):
        case 0:
            data[choice(rng, list(data))] = hostile(rng)
        case 1 | 2 | 3 if isinstance(data["events"], list):
            data["events"] = change_events(data["events"], rng)
        case 4:
            data["learner"] = choice(rng, [other_recipe, huge_recipe, deep_recipe])(data["learner"], rng)
        case 5 if data["budget"] is not None:
            data["budget"] = change_inside(data["budget"], rng)
        case _:
            name = choice(rng, list(data))
            data[name] = change_inside(data[name], rng)


def change_events(events: list[Any], rng: np.random.Generator) -> list[Any]:
    """Return events with one changed, two swapped, one doubled or lost, or the end cut off."""
    if not events:
        return [["ticket", 1, [0, 1.0]]]
    one, two = (int(rng.integers(len(events))) for _ in range(2))
    match int(rng.integers(7)):
        case 0 | 1 | 2:
            return [*events[:one], change_inside(events[one], rng), *events[one + 1 :]]
        case 3:
            changed = list(events)
            changed[one], changed[two] = changed[two], changed[one]
            return changed
        case 4:
            return [*events[:one], events[two], *events[one:]]
        case 5:
            return [*events[:one], *events[one + 1 :]]
        case _:
            return events[:one]


def other_recipe(recipe: Any, rng: np.random.Generator) -> Any:
    """Return the recipe of something else, a learner or not."""
    names = [
        *learners.__all__,
        *classification.__all__,
        "own Mine",
        "Session",
        "Pool",
        "__import__",
        "os.system",
        "Learner",
    ]
    return {**recipe, "name": choice(rng, names), "parameters": choice(rng, [{}, recipe["parameters"]])}


def huge_recipe(recipe: Any, rng: np.random.Generator) -> Any:
    """Return the recipe with a parameter that is huge, or something else that it is not."""
    return {**recipe, "parameters": change_inside(recipe["parameters"], rng)}


def deep_recipe(recipe: Any, rng: np.random.Generator) -> Any:
    """Return a recipe in a recipe in a recipe."""
    for _ in range(choice(rng, [1, 2, 5, 100])):
        recipe = {
            "name": choice(rng, ["Simulation", "Interleaved", "BudgetSimulation"]),
            "parameters": {"base": recipe},
        }
        if recipe["name"] == "Interleaved":
            recipe["parameters"]["delay"] = choice(rng, [0, 1, 10**12])
    return recipe
