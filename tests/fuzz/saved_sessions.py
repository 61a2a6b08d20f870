"""Saved sessions of every kind: damaged, or changed with a digest that fits."""

import contextlib
import hashlib
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.driver import damage
from fuzz.forging import change_events, change_inside, choice, hostile
from tombola import Budget, Session, classification, learners
from tombola.classification import (
    ERM,
    AllLabellings,
    Experts,
    FiniteClass,
    Halving,
    StandardOptimal,
    Thresholds,
)
from tombola.learners import (
    EmpiricalLP,
    Exp3,
    FollowTheLeader,
    Hedge,
    Simulation,
    ThompsonSampling,
    ThriftyLP,
)
from tombola.worklists.session_json import _digest, _session_events

POINTS = FiniteClass([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1]])
SPEND = Budget(12.0, worst=[1.0, 2.0], null="add")
PRICED = Budget(
    [9.0, 4.0],
    worst=[[0.0, 0.0], [1.0, 0.5], [2.0, 1.0]],
    prices=[[0.0, 0.0], [None, 0.25], [2.0, None]],
)
AIMED = Budget(worst=[0.0, 2.0, 1.0], target=0.5)

# Learner, actions and options of a session; the horizon is 60 and the seed the place in this list.
SAVED: tuple[tuple[Any, ...], ...] = (
    (learners.UCB2(), ["a", "b", "c"]),
    (Exp3(), 4),
    (Hedge(), 3),
    (EmpiricalLP(), 2, {"budget": SPEND}),
    (learners.UCB1(), ["é", "b b", "\u202ec", "d"]),
    (ThompsonSampling(), 3),
    (learners.SuccessiveElimination(), 5),
    (learners.KLUCB(), 2),
    (learners.TsallisInf(), 3, {"horizon": 1}),
    (learners.FrugalUCB(), 4),
    (learners.Thrifty(), 4),
    (learners.BlockUCB(), 3),
    (learners.BettingElimination(), 3),
    (FollowTheLeader("random"), 1),
    (Simulation(FollowTheLeader()), 3),
    (Simulation(Hedge()), 2, {"horizon": 64}),
    (learners.Interleaved(Hedge(), 2), 3),
    (learners.OptimisticSimulation(learners.UCB1()), 3),
    (learners.BirthdayTest(), 2),
    (ThriftyLP(), 2, {"budget": SPEND}),
    (learners.OptimisticLP(), 2, {"budget": SPEND, "stop": "strict"}),
    (EmpiricalLP(), 3, {"budget": PRICED}),
    (ThriftyLP(), 3, {"budget": PRICED}),
    (learners.PrimalDual(), 2, {"budget": SPEND, "stop": "strict"}),
    (learners.DualDescent(), 2, {"budget": SPEND}),
    (learners.BudgetSimulation(EmpiricalLP(), margin=0.0), 2, {"budget": SPEND}),
    (EmpiricalLP(), 3, {"budget": AIMED}),
    (ERM(Thresholds()), None),
    (ERM(Thresholds(), "random"), None),
    (ERM(AllLabellings(9)), None, {"features": 2}),
    (Halving(POINTS), None),
    (Experts(POINTS, Hedge()), None),
    (StandardOptimal(POINTS), None),
)
ENDINGS = ("half-way", "not begun", "all answered")


def sessions(path: Path, seed: int) -> str:
    """Damage a saved session, or (two of three tries) change a part of it and compute the digest again."""
    kind, far = (
        (seed // 3) % len(SAVED),
        ("half-way" if seed % 4 else choice(np.random.default_rng(seed), [*ENDINGS])),
    )
    whole, said = saved_session(kind, far)
    file = path / "session.json"
    sealed = seed % 3 > 0
    file.write_bytes(resealed(whole, seed) if sealed else damage(whole, seed))
    session = Session.load(file)
    now = telling(session)
    if now == said:
        return "same"
    again = replayed(session)
    return (
        "other"
        if sealed and now == telling(again) and goes_on(session) == goes_on(again)
        else "wrong"
    )


@cache
def saved_session(kind: int, far: str) -> tuple[bytes, str]:
    """Return the bytes of a session that has got so far, and all that it says."""
    learner, actions, *options = SAVED[kind]
    session = Session(
        learner, actions, **{"horizon": 60, "seed": kind + 1, **(options[0] if options else {})}
    )
    rng = np.random.default_rng(kind)
    waiting = []
    for _ in range(
        {"half-way": min(30, session.horizon), "not begun": 0, "all answered": session.horizon}[far]
    ):
        waiting.append(session.act(**shown(session, rng)))
        if far == "all answered" or rng.random() < 0.7:
            observe_ticket(session, waiting.pop(int(rng.integers(len(waiting)))), rng)
    with tempfile.TemporaryDirectory() as folder:
        session.save(Path(folder) / "s.json")
        return (Path(folder) / "s.json").read_bytes(), telling(session)


def shown(session: Session, rng: np.random.Generator) -> dict[str, Any]:
    """Return what `act` is shown: features, for a learner of labels."""
    return (
        {"features": rng.integers(0, 4, session.feedback_model.n_features)}
        if session.feedback_model.n_features
        else {}
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
    for begun in range(
        0, memory.size, 1 << 20
    ):  # a horizon of a billion may have room for as many rows, never touched
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
        session.learner,
        names,
        session.horizon,
        budget=session.budget,
        stop=session.stop,
        features=features,
        seed=0,
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
            first = ["ticket", 1, [0, 1.0]]
            data["events"] = change_events(
                data["events"], first, lambda event: change_inside(event, rng), rng
            )
        case 4:
            data["learner"] = choice(rng, [other_recipe, huge_recipe, deep_recipe])(
                data["learner"], rng
            )
        case 5 if data["budget"] is not None:
            data["budget"] = change_inside(data["budget"], rng)
        case _:
            name = choice(rng, list(data))
            data[name] = change_inside(data[name], rng)


def other_recipe(recipe: Any, rng: np.random.Generator) -> Any:
    """Return the recipe of something else, a learner or not."""
    others = ("own Mine", "Session", "Pool", "__import__", "os.system", "Learner")
    names = [*learners.__all__, *classification.__all__, *others]
    return {
        **recipe,
        "name": choice(rng, names),
        "parameters": choice(rng, [{}, recipe["parameters"]]),
    }


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
