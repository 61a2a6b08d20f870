"""Status, view and export of a session file against naive twins that read the events one by one."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from naive.live import Run
from tombola import UCB1, Exp3, Hedge
from tombola._formatting import csv_text
from tombola.budget.budget import Budget
from tombola.learners import EmpiricalLP, ThriftyLP
from tombola.worklists import SessionFile, ticket_tables

NAMES = ["=a", "b", "c"]
WORST = [0.5, 0.0, 0.25]
KINDS: dict[str, Any] = {
    "bandit": (UCB1(), None),
    "probabilities": (Exp3(), None),
    "whole rows": (Hedge(rate=0.5), None),
    "one action": (UCB1(), None),
    "budget": (ThriftyLP(), Budget(6.0, worst=WORST, null="add")),
    "prices": (
        ThriftyLP(),
        Budget([4.0, 9.0], worst=1.0, prices=[[0.5, 1], [0.25, 0.5], [None, 1]], null="add"),
    ),
    "budget, whole rows": (EmpiricalLP(), Budget(8.0, worst=WORST, null="add")),
    "no money": (ThriftyLP(), Budget(0.0, worst=WORST, null="add")),
}


def outcome(run: SessionFile, action: str, rng: random.Random) -> dict[str, Any]:
    """Return a random valid outcome of a ticket."""
    listed, whole = run.feedback_model.n_listed_actions, run.feedback_model.full_feedback
    arguments: dict[str, Any] = {
        rng.choice(["loss", "reward"]): [rng.randrange(9) / 8 for _ in range(listed)]
    }
    if not whole:
        arguments = {name: rng.choice([*numbers, 0, 1, 0.1]) for name, numbers in arguments.items()}
    if run.budget is not None:
        worst = run.feedback_model.limits.worst  # type: ignore[attr-defined]
        share = rng.random()
        arguments["cost"] = (worst[:listed] if whole else worst[run.names.index(action)]) * share
        if run.budget.prices is not None:
            arguments["cost"] = None if action != "c" else [share, 1.0]
    return arguments


def live(run: SessionFile, rng: random.Random) -> None:
    """Make one random call."""
    pending = run.pending
    known = run.view().answered_tickets.tolist()
    match rng.randrange(8):
        case 0 | 1 | 2 if run.issued < run.horizon:
            run.next(rng.choice([1, 1, 2, 7]))
        case 6 if pending:
            run.cancel(rng.choice(pending).ticket)
        case 7 if known and run.feedback_model.supports_amend:
            arguments = outcome(run, "", rng)
            run.amend(rng.choice(known), **arguments)
        case _ if pending:
            one = rng.choice(pending)
            run.record(one.ticket, **outcome(run, one.action, rng))


def begin(path: Path, kind: str, *, rows: int = 40, seed: int = 1) -> SessionFile:
    learner, budget = KINDS[kind]
    names = NAMES[:1] if kind == "one action" else NAMES
    run = SessionFile.start(
        path, [f"row {i}" for i in range(rows)], names, learner, budget=budget, seed=seed
    )
    run.interpreted = True
    return run


def text_of(status: Any) -> str:
    return json.dumps(status.to_json()) + repr(status)


def check(run: SessionFile, path: Path) -> None:
    """Compare status, view and export with the naive twin."""
    naive, view = Run(run), run.view()
    assert text_of(run.status()) == text_of(naive.status())
    assert text_of(run.status(0.2)) == text_of(naive.status(0.2))
    assert np.array_equal(view.actions, [action for action, _ in naive.tickets])
    assert view.amended == frozenset(naive.amended)
    assert view.cancelled == frozenset(naive.cancelled)
    run.export(path.with_suffix(".csv"))
    assert path.with_suffix(".csv").read_text() == csv_text(naive.table())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("short_work")
def test_status_view_export_equal_naive(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(kind)
    monkeypatch.setattr(ticket_tables, "_TICKETS_PER_CHUNK", 7)
    path = tmp_path / "my.run"
    run = begin(path, kind)
    check(run, path)
    for step in range(60):
        live(run, rng)
        if rng.random() < 0.2:
            run.close()
            run = SessionFile.open(path)
            run.interpreted = True
        if step % 12 == 11:
            check(run, path)
    run.close()


@pytest.mark.parametrize("kind", ["bandit", "whole rows", "budget"])
def test_session_of_one_row(kind: str, tmp_path: Path) -> None:
    with begin(tmp_path / "my.run", kind, rows=1) as run:
        [assignment] = run.next()
        check(run, tmp_path / "my.run")
        if assignment.action != "null":
            run.record(assignment.ticket, **outcome(run, assignment.action, random.Random(1)))
        check(run, tmp_path / "my.run")
