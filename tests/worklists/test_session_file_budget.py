"""SessionFile under a budget: same tickets as a Session, exact cap, options of the commands."""

import json
import random
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tombola import UCB1, Session
from tombola.budget.budget import Budget
from tombola.cli.budget_options import parse_budget
from tombola.cli.session import app
from tombola.errors import FeedbackError, ParameterError, SessionError
from tombola.evidence import ActionMonitor
from tombola.learners import EmpiricalLP, ThriftyLP
from tombola.worklists import Outcome, SessionFile
from tombola.worklists.event_log import EventLog
from tombola.worklists.session_page import session_page

NAMES = ["gpt", "small"]
WORST = [0.03, 0.001]
IDS = [f"row{i}" for i in range(60)]


def budget(amount: float = 0.4) -> Budget:
    return Budget(amount, worst=WORST, null="add")


def start(path: Path, learner: Any = None, amount: float = 0.4) -> SessionFile:
    return SessionFile.start(
        path, IDS, NAMES, learner or ThriftyLP(), budget=budget(amount), seed=3
    )


@pytest.mark.parametrize("amount", [0.0, 0.05, 0.4, 50.0])
def test_tickets_equal_session_and_never_overspend(amount: float, tmp_path: Path) -> None:
    """Outcomes are late and out of order, the file is reopened before each call; exact fractions."""
    rng, session = (
        random.Random(1),
        Session(ThriftyLP(), NAMES, len(IDS), budget=budget(amount), seed=3),
    )
    start(tmp_path / "a.run", amount=amount).close()
    open_: list[Any] = []
    spent = Fraction(0)
    for _ in IDS:
        with SessionFile.open(tmp_path / "a.run") as run:
            [one] = run.next()
        ticket = session.act()
        expected = (ticket.round, session.names[ticket.action], ticket.probability)
        assert (one.ticket, one.action, one.probability) == expected
        if one.action == "null":
            session.observe(ticket)
        else:
            open_.append((one, ticket))
        while open_ and rng.random() < 0.6:
            one, ticket = open_.pop(rng.randrange(len(open_)))
            loss, cost = rng.random(), rng.random() * WORST[NAMES.index(one.action)]
            session.observe(ticket, loss=loss, cost=cost)
            with SessionFile.open(tmp_path / "a.run") as run:
                assert run.record(one.ticket, loss=loss, cost=cost)
            spent += Fraction(cost)
        reserved = sum((Fraction(WORST[NAMES.index(one.action)]) for one, _ in open_), Fraction(0))
        assert spent + reserved <= Fraction(amount)
    with SessionFile.open(tmp_path / "a.run") as run:
        assert run.status().balance == session.balance
        assert len(run.pending) == len(open_)


def test_reopened_file_with_full_feedback_has_same_balance(tmp_path: Path) -> None:
    rng = random.Random(2)
    with start(tmp_path / "a.run", EmpiricalLP()) as run:
        for _ in range(30):
            [one] = run.next()
            run.record(
                one.ticket, loss=[rng.random(), rng.random()], cost=[0.03 * rng.random(), 0.001]
            )
        balance = run.status().balance
    with SessionFile.open(tmp_path / "a.run") as again:
        assert again.status().balance == balance


def test_record_rejects_bad_costs(tmp_path: Path) -> None:
    with start(tmp_path / "a.run") as run:
        one = next(one for one in run.next(5) if one.action != "null")
        cases: tuple[tuple[dict[str, Any], str], ...] = (
            ({"loss": 0.5}, "expected a cost"),
            ({"loss": 0.5, "cost": 0.5}, "from 0 to the worst cost declared"),
            ({"loss": 0.5, "cost": float("nan")}, "from 0 to the worst cost declared"),
            ({"cost": 0.0}, "either a loss or a reward"),
        )
        for outcome, words in cases:
            with pytest.raises(FeedbackError, match=words):
                run.record(one.ticket, **outcome)
        assert run.record(one.ticket, loss=0.5, cost=0.0005)
        assert not run.record(one.ticket, loss=0.5, cost=0.0005)
        with pytest.raises(FeedbackError, match="the first answer stands"):
            run.record(one.ticket, loss=0.5, cost=0.00025)
        with pytest.raises(FeedbackError, match="money spent stays spent"):
            run.amend(one.ticket, loss=0.25)
        reserved = run.status().balance.reserved
        assert run.cancel(run.pending[0].ticket)
        assert run.status().balance.reserved == reserved


def test_null_ticket_without_outcome_is_rejected(tmp_path: Path) -> None:
    """`next` writes both at once; a forged log with fitting digests may lack the outcome at its end."""
    with start(tmp_path / "a.run", amount=0.05) as run:
        while run.next()[0].action != "null":
            pass
    with SessionFile.open(tmp_path / "a.run") as run:
        assert run.view().answered == 1
    log = EventLog.open(tmp_path / "a.run", "test", "session")
    with closing(log), log.reading():
        about, events, ids = dict(log.about), list(log.unread()), list(log.ids())
    assert (events[-2].kind, events[-1].kind) == ("ticket", "outcome")
    forged = EventLog.create(tmp_path / "b.run", "test", about, ids)
    with closing(forged), forged.writing():
        for event in events[:-1]:
            forged.append(event.kind, event.key, event.value)
    with (
        pytest.raises(SessionError, match="null action has no outcome"),
        SessionFile.open(forged.path) as run,
    ):
        run.status()


def test_cost_without_budget_raises(tmp_path: Path) -> None:
    with SessionFile.start(tmp_path / "a.run", IDS, NAMES, UCB1(), seed=1) as run:
        [one] = run.next()
        with pytest.raises(FeedbackError, match="got cost"):
            run.record(one.ticket, loss=0.5, cost=1.0)


def test_null_ticket_is_recorded_already(tmp_path: Path) -> None:
    """A batch that has one is rejected in a sentence, and its own outcome again is harmless."""
    with start(tmp_path / "a.run") as run:
        while run.next()[0].action != "null":
            pass
        null = run.issued
        for outcome in (
            Outcome(null, 0.25),
            Outcome(null, 0.25, cost=0.0),
            Outcome(null, 1.0, cost=9),
        ):
            with pytest.raises(FeedbackError, match="leaves its row alone"):
                run.record_all([outcome])
        assert run.record_all([Outcome(null, 1.0, cost=0.0)]) == 0


def test_null_action_is_not_counted_as_first_action() -> None:
    session = Session(ThriftyLP(), NAMES, 40, budget=budget(0.1), seed=0)
    watch, plays = ActionMonitor(session), [0, 0, 0]
    for _ in range(40):
        ticket = session.act()
        plays[ticket.action] += 1
        if ticket.action == 2:
            session.observe(ticket)
        else:
            session.observe(ticket, loss=0.25, cost=WORST[ticket.action])
    assert plays[2] > 0
    assert watch.certificate().counts.tolist() == plays[:2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--worst", "1"], "--worst: expected a budget"),
        (["--budget", "5", "--worst", "gpt=1"], "the most that one play of small can cost"),
        (["--budget", "5", "--worst", "gpt=x,small=1"], "expected a cost of 0 or more, got 'x'"),
        (["--budget", "5", "--worst", "gtp=1"], "expected one of gpt, small, got 'gtp'"),
        (["--budget", "5", "--worst", "1", "--worst", "2"], "one for each of the 1 amounts"),
        (["--budget", "5", "--worst", "1", "--null", "none"], "--null: expected one of gpt, small"),
        (["--budget", "5", "--worst", "1", "--learner", "UCB2"], "a learner for budgets"),
        (["--budget", "-5", "--worst", "1"], "finite numbers, 0 or more"),
        (["--learner", "ThriftyLP"], "needs one, got none"),
    ],
)
def test_bad_budget_options_leave_no_file(options: list[str], words: str, tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("\n".join(IDS))
    out = tmp_path / "a.run"
    base = [
        "start",
        str(tmp_path / "rows.txt"),
        "--actions",
        "gpt,small",
        "--losses",
        "--file",
        str(out),
    ]
    result = CliRunner().invoke(app, [*base, *options])
    assert isinstance(result.exception, ParameterError)
    assert words in str(result.exception)
    assert not out.exists()


def test_commands_with_two_resources(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("\n".join(IDS))
    out, table = tmp_path / "a.run", tmp_path / "told.csv"

    def call(*words: Any) -> Any:
        result = CliRunner().invoke(app, [*map(str, words), "--json"], catch_exceptions=False)
        assert result.exit_code == 0
        return json.loads(result.stdout)

    call(
        "start",
        tmp_path / "rows.txt",
        "--actions",
        "gpt,small",
        "--losses",
        "--seed",
        1,
        "--file",
        out,
        "--budget",
        0.5,
        "--budget",
        90,
        "--worst",
        "gpt=0.03,small=0.001",
        "--worst",
        "20",
    )
    tickets = [one["ticket"] for one in call("next", out, "--count", 3) if one["action"] != "null"]
    call("record", out, tickets[0], "--loss", 0.25, "--cost", 0.0005, "--cost", 7)
    table.write_text(
        "ticket,loss,cost:1,cost:2\n" + "".join(f"{t},0.5,0.0005,10\n" for t in tickets[1:])
    )
    assert call("record", out, "--csv", table)["recorded"] == len(tickets) - 1
    now = call("status", out)
    assert now["balance"]["spent"][1] == 7 + 10 * (len(tickets) - 1)
    assert now["balance"]["left"][1] == 90 - now["balance"]["spent"][1]
    assert abs(sum(now["mix"].values()) - 1) < 0.02
    call("export", out, "--out", tmp_path / "all.csv")
    assert (tmp_path / "all.csv").read_text().splitlines()[0].endswith("cost:1,cost:2")


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize(
    ("amounts", "words"),
    [
        ([4.0], "0 spent, 0 reserved, 4 left of 4"),
        (
            [4.0, 9.0],
            "resource 1: 0 spent, 0 reserved, 4 left of 4; resource 2: 0 spent, 0 reserved, 9 "
            "left of 9",
        ),
    ],
)
def test_balance_text(amounts: list[float], words: str, tmp_path: Path) -> None:
    allowed = Budget(amounts, worst=[1.0] * len(amounts), null="add")
    with SessionFile.start(
        tmp_path / "a.run", IDS, NAMES, EmpiricalLP(), budget=allowed, seed=3
    ) as run:
        assert run.status().balance_text == words
        page = session_page(run)
        assert all(f"{amount:g}" in page for amount in amounts)


def test_prices_need_no_cost(tmp_path: Path) -> None:
    allowed = parse_budget(NAMES, [0.4], ["gpt=0.03"], ["small=0.001"], "")
    with SessionFile.start(
        tmp_path / "a.run", IDS, NAMES, ThriftyLP(), budget=allowed, seed=3
    ) as run:
        cheap = next(one for one in run.next(20) if one.action == "small")
        assert run.record(cheap.ticket, loss=0.5)
        [spent] = run.status().balance.spent
        assert spent == pytest.approx(0.001)


@pytest.mark.parametrize("text", ["0.03,0.001", "gpt=0.03,gpt=0.001", "gpt=0.03,0.001"])
def test_worst_cost_given_twice_raises(text: str, one_sentence: Any) -> None:
    with pytest.raises(ParameterError) as refused:
        parse_budget(NAMES, [0.4], [text], [], "")
    one_sentence(refused.value)


@pytest.mark.usefixtures("plainly")
def test_target_text_before_first_outcome(tmp_path: Path) -> None:
    aimed = Budget(target=0.5, worst=WORST, null="add")
    with SessionFile.start(
        tmp_path / "a.run", IDS, NAMES, ThriftyLP(), budget=aimed, seed=3
    ) as run:
        assert run.status().target_text == ""
        [play] = run.next()
        assert run.status().target_text == ""
        run.record(play.ticket, loss=0.25, cost=0.0)
        assert run.status().target_text.startswith("mean loss 0.25 so far")
