"""A call list with late outcomes: a sale is known about a hundred customers later."""

import tempfile
from pathlib import Path

import numpy as np

from tombola import Session, demo
from tombola.learners import ThompsonSampling

table = demo.call_list(seed=0)  # 3,000 customers, 3 actions, and the delay of each outcome
pool = table.pool
order = np.random.default_rng(1).permutation(pool.rows)

session = Session(ThompsonSampling(), pool.actions, horizon=pool.rows, seed=2)
file = Path(tempfile.mkdtemp()) / "calls.json"
due = {}  # round -> tickets with an outcome before that round

for round_ in range(1, pool.rows + 1):
    for ticket in due.pop(round_, []):
        session.observe(ticket, loss=pool.losses[order[ticket.round - 1], ticket.action])
    ticket = session.act()
    due.setdefault(round_ + 1 + int(table.delays[order[round_ - 1]]), []).append(ticket)
    if round_ == 1500:  # the office closes; the session continues tomorrow
        session.save(file)
        session = Session.load(file)
        print(f"half-way: {session}")

print(f"at the end of the list: {session.answered} outcomes known, {len(session.pending)} pending")
for (
    ticket
) in session.pending:  # outcomes after the last round are accepted, and repeating one is harmless
    loss = pool.losses[order[ticket.round - 1], ticket.action]
    for _ in range(2):
        session.observe(ticket, loss=loss)
print(f"a month later: {session.answered} outcomes known, {len(session.pending)} pending\n")

tried = np.bincount([ticket.action for ticket in session.tickets], minlength=pool.k)
for name, count, mean in zip(pool.actions, tried, pool.means, strict=True):
    print(
        f"{name:>13}: {count:5d} customers; alone it would have made "
        f"{pool.rows * (1 - mean):4.0f} sales"
    )
random_action = pool.rows * (1 - pool.means.mean())
print(
    f"sales: {pool.rows - session.loss:.0f}; a random fixed action would expect {random_action:.0f}"
)
