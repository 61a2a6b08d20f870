"""Kill two processes (-9) that share a session file, in many sessions; check every guarantee
afterwards.

    PYTHONPATH=src:tests python tests/kill/session_kills.py 300

Prints the number of sessions, kills, interrupted writes, tickets and acknowledged calls. Raises
AssertionError if a ticket was issued twice or lost, an acknowledged outcome was lost, a budget was
overspent, or the final state differs from that of an undisturbed process.
"""

import sys
import tempfile
from pathlib import Path

from kill.test_session_kill import LEARNERS, acknowledged, check, drive
from tombola.engine.compiler import compiled

KILLS_PER_SESSION = 4


def main(sessions: int) -> None:
    """Run the sessions one after the other, by turns with each kind of feedback."""
    kills = torn = tickets = calls = 0
    for number in range(sessions):
        feedback = list(LEARNERS)[number % len(LEARNERS)]
        with tempfile.TemporaryDirectory() as folder:
            done = drive(Path(folder), feedback, KILLS_PER_SESSION, seed=number)
            tickets += check(Path(folder), feedback)
            issued, recorded = acknowledged(Path(folder))
            calls += len(issued) + len(recorded)
        kills, torn = kills + done["kills"], torn + done["torn"]
    print(
        f"{sessions} sessions, {kills} kills, {torn} interrupted writes, {tickets} tickets, "
        f"{calls} acknowledged"
    )


if __name__ == "__main__":
    # Compile in the parent: the forked processes live too briefly to compile.
    with compiled():
        main(int(sys.argv[1]))
