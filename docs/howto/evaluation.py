"""Early stopping of an evaluation, once the best model is known.

The best model is that on the whole test set.
"""

import numpy as np

from tombola import FollowTheLeader, Session, demo
from tombola.evidence import ActionMonitor
from tombola.learners import SuccessiveElimination

pool = demo.evaluation(seed=0)  # 5,000 questions, 6 models
order = np.random.default_rng(1).permutation(pool.rows)  # the shuffle is the only assumption


def evaluate(learner, *, within):
    """Evaluate questions until a model is close to the best, with probability 95 %."""
    session = Session(learner, pool.actions, horizon=pool.rows, seed=2)
    watch = ActionMonitor(session, level=0.05)
    while session.round < session.horizon:
        for _ in range(25):  # the certificate holds at all times, so it may be checked often
            ticket = session.act()
            answers = pool.losses[order[ticket.round - 1]]
            session.observe(
                ticket, loss=answers if learner.feedback == "full" else answers[ticket.action]
            )
        certificate = watch.certificate()
        if certificate.certified(within=within):
            break
    return certificate


print("All six models answer each question:")
for within in (0.05, 0.02, 0.0):
    certificate = evaluate(FollowTheLeader(), within=within)
    claim = f"within {within} of the best" if within else "the best"
    print(f"  {certificate.names[certificate.best]} is {claim}: known after", end=" ")
    print(f"{certificate.rounds:,} of {pool.rows:,} questions")
for action, name in enumerate(pool.actions):
    low, high = certificate.interval(action)
    print(f"  {name}: error {low:.3f} to {high:.3f}   (on all questions: {pool.means[action]:.3f})")

print("\nOne model answers each question, and models that are out are not asked again:")
certificate = evaluate(SuccessiveElimination(), within=0.02)
print(f"  {certificate}")
