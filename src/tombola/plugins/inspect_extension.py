"""Extension of inspect_ai: ranks at the end of a run.

inspect_ai finds it by its entry point (group `inspect_ai`).

With TOMBOLA_RANKS=1, a run of several models on one task ends with the ranks that each model may
have:

    TOMBOLA_RANKS=1 inspect eval task.py --model openai/gpt-4o,anthropic/claude-sonnet-4-0

TOMBOLA_RANKS may also name the score to use, if a task has several. inspect_ai imports this module
at every start, so everything heavy is imported when a run has ended.
"""

import os
import sys
from typing import Any

from inspect_ai.hooks import Hooks, RunEnd, hooks

# Environment variable that switches the extension on: 1 for tasks with one score, or the name of
# the score to use.
_VARIABLE = "TOMBOLA_RANKS"


@hooks(
    name="ranks",
    description=f"Print the ranks that each model may have, if {_VARIABLE} is 1 or names a score.",
)
class RanksOfRun(Hooks):
    """Hook of inspect_ai: print the rank sets of the models of every task of a run."""

    def enabled(self) -> bool:
        """Return whether the variable TOMBOLA_RANKS is set, but not to 0."""
        return os.environ.get(_VARIABLE, "") not in ("", "0")

    async def on_run_end(self, data: RunEnd) -> None:
        """Print the ranks of each task that several models have finished. Called by inspect_ai."""
        for text in _ranks_of_logs(data.logs, os.environ[_VARIABLE]):
            sys.stdout.write(f"\n{text}\n")
        sys.stdout.flush()


def _ranks_of_logs(logs: Any, metric: str) -> list[str]:
    """Return the ranking of the models of each task as text, or the reason for none."""
    from tombola.errors import TombolaError
    from tombola.ranking import rank
    from tombola.ranking.metrics import read_candidates
    from tombola.tables.formats.logs import LogOptions, answers_of_log, table_of

    texts = []
    for task in dict.fromkeys(str(log.eval.task) for log in logs):
        finished = [log for log in logs if str(log.eval.task) == task and log.status == "success"]
        if len({str(log.eval.model) for log in finished}) < 2:
            continue
        try:
            answers = [
                answer
                for log in finished
                for answer in answers_of_log(log, LogOptions(None if metric == "1" else metric))
            ]
            candidates = read_candidates(table_of(answers, task, several=True))
            texts.append(f"Ranks in {task}\n{rank(candidates)}")
        except TombolaError as error:
            # The run itself succeeded: its end must not fail because its logs cannot be ranked.
            texts.append(f"Ranks in {task}: none. {error}")
    return texts
