"""Events of a session: their form in a log, and their replay on a `Session`.

| kind | key | value |
|---|---|---|
| ticket | round | `[action, probability]`, null without a formula; label learners: also the features; |
| | | routers: also the decision (a list, see `Session.decision_of`) and, in a saved session, the features |
| outcome, amend | round | the encoded outcome: a list of `outcome_width` floats |
| cancel | round | null |
| lease | first round | see `tombola.worklists.work_file` |

Nothing in a file reaches compiled code unchecked: `replay_ticket` and `replay_outcome` check types,
lengths and ranges.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tombola.engine.tickets import ACTION, PROBABILITY, ROUNDS, Ticket
from tombola.errors import FeedbackError
from tombola.worklists.work_file import Outcome

if TYPE_CHECKING:
    from tombola.session import Session

# Losses of one outcome: a single one, or one per action with full feedback.
Losses = float | tuple[float, ...]


class ReplayError(ValueError):
    """Raised if the learner, on replay, issues another ticket than the log has."""


def ticket_value(
    ticket: Ticket, features: Sequence[float] = (), decision: list[float] | None = None
) -> list[Any]:
    """Return the value of a ticket event: a list of JSON data, with None for NaN.

    The list has action and probability, then the decision of a router (`Session.decision_of`), then
    the features.

    >>> ticket_value(Ticket(3, 1, 0.5), [math.nan], [0.5, 1.0, 0.0, 3.0])
    [1, 0.5, [0.5, 1.0, 0.0, 3.0], None]
    """
    recorded = [] if decision is None else [decision]
    numbers = [None if math.isnan(number) else number for number in (ticket.probability, *features)]
    return [ticket.action, numbers[0], *recorded, *numbers[1:]]


def replay_ticket(
    session: "Session", round: int, value: Any, features: Any = None, *, check: bool = True
) -> None:
    """Replay a ticket event: let the learner act, and compare the two tickets.

    ValueError if the event is malformed, ReplayError if the tickets differ in any bit.

    round, value: number of the ticket, and value of its event (`ticket_value`).
    features: features of the row; None if the event has them, or there are none.
    check: False replaces a different ticket by that of the event: after an amendment the learner
        would have acted otherwise, but the ticket was issued.
    """
    model = session.feedback_model
    n_features = model.n_features
    decides = model.n_decision > 0
    width = n_features if features is None else 0
    if not (type(value) is list and len(value) == 2 + decides + width and type(value[0]) is int):
        raise ValueError("malformed ticket")
    action = value[0]
    probability = value[1]
    same = True
    if decides:
        decision = value[2]
        row_features = value[3:] if features is None else features
        if not (type(decision) is list and all(type(number) is float for number in decision)):
            raise ValueError("malformed decision")
        # A router acts by the record of its decision.
        ticket = session._repeat(row_features, decision, force=not check)
        same = session.decision_of(ticket.round) == decision
    elif n_features:
        ticket = session.act(value[2:] if features is None else features)
    else:
        ticket = session.act()
    repeated, drawn, chance = ticket
    if type(probability) is float:
        same &= chance == probability
    elif probability is None:
        same &= math.isnan(chance)
    else:
        raise ValueError("malformed ticket")
    if same and drawn == action and repeated == round:
        return
    is_finite = probability is None or math.isfinite(probability)
    if not (is_finite and 0 <= action < len(session.names) and repeated == round):
        raise ValueError("malformed ticket")
    if check:
        raise ReplayError(f"ticket {round}")
    cells = session.ticket_table.cells
    cells[round, ACTION] = action
    cells[round, PROBABILITY] = math.nan if probability is None else probability


def replay_outcome(session: "Session", round: Any, value: Any) -> None:
    """Pass an event's outcome to the learner; ValueError if malformed or not pending."""
    outcome = stored_outcome(session, round, value)
    session._live.learn(session.ticket_table.cells, round, round, outcome)


def stored_outcome(session: "Session", round: Any, value: Any) -> tuple[float, ...]:
    """Return the outcome of an event of an issued ticket; ValueError if malformed.

    Losses and costs are not checked: kernels do that.
    """
    model = session.feedback_model
    cells = session.ticket_table.cells
    if not (type(value) is list and len(value) == model.outcome_width):
        raise ValueError("malformed outcome")
    for number in value:
        if type(number) is not float:
            raise ValueError("malformed outcome")
    if not (type(round) is int and 1 <= round <= cells[0, ROUNDS]):
        raise ValueError("outcome of an unknown ticket")
    outcome = tuple(value)
    # Kernels check losses and costs. Labels and weights are checked here: encoding must not change
    # them.
    if (
        model.default_actions is not None
        and model.validate(int(cells[round, ACTION]), outcome) != outcome
    ):
        raise ValueError("malformed outcome")
    return outcome


def encode_outcome(session: "Session", outcome: Outcome, owner: str) -> tuple[float, ...]:
    """Check and encode an outcome, `outcome_width` floats; FeedbackError if invalid."""
    action = int(session.ticket_table.cells[outcome.ticket, ACTION])
    feedback = {"loss": outcome.loss, "reward": outcome.reward, "cost": outcome.cost}
    try:
        return session.feedback_model.encode(outcome.ticket, action, feedback)
    except FeedbackError as error:
        text = (
            str(error)
            .replace("Session.observe:", f"{owner}:")
            .replace(" for round ", " for ticket ")
        )
        raise FeedbackError(
            text.replace("write observe(ticket, loss=...)", "give one of them")
        ) from None
