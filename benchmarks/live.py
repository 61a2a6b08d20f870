"""A session, one round at a time, against river."""

from collections.abc import Iterator
from functools import partial

from bandits import order_of, pool_of
from measure import Row, below, faster, left_out, race
from peers import LossRows, peers
from tombola import UCB1, Session

ROUNDS, TURNS, LIMIT = 10_000, 7, 4.0


def live(session: Session, rows: LossRows) -> float:
    """Play the rows through a session, as one would by hand."""
    total = 0.0
    for row in rows:
        ticket = session.act()
        loss = row[ticket.action]
        total += loss
        session.observe(ticket, loss=loss)
    return total


def next_live(sessions: Iterator[Session], rows: LossRows) -> float:
    """Play the rows through the next of the sessions."""
    return live(next(sessions), rows)


def session_rounds() -> list[Row]:
    """Time act and observe of UCB1, alone and against river."""
    found, missing = peers()
    river = [peer for peer in found if (peer.library, peer.algorithm) == ("river", "UCB1")]
    rows = []
    for actions in (2, 10):
        work = f"Session act + observe, UCB1, k = {actions}"
        pool = pool_of(ROUNDS, actions)
        lists: LossRows = pool.losses[order_of(ROUNDS)].tolist()
        fresh = iter([Session(UCB1(), actions, ROUNDS, seed=0) for _ in range(TURNS)])  # made before the clock starts
        rivals = {peer.library: partial(peer.play, lists) for peer in river}
        best = race({"tombola": partial(next_live, fresh, lists), **rivals}, TURNS)
        ours = best["tombola"] / ROUNDS
        rows.append(below(work, ours * 1e6, LIMIT, "us"))
        rows += [faster(work, ours, peer.library, best[peer.library] / ROUNDS, 1) for peer in river]
    if not river:
        rows.append(left_out("Session act + observe", f"river: {missing['river']}"))
    return rows
