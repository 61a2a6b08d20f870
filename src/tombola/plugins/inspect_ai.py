"""inspect_ai: a race as the early stopping of a task, so that dropped candidates are asked no more.

One task holds all candidates: `samples` lists every row for every candidate, row by row in shuffled order, and
`candidate_of` tells a solver whom to ask. inspect_ai starts samples in that order, several at a time, and asks
`schedule_sample` before each; evidence counts only rows that all in the race have answered, so the number at a time
cannot bias it. A sample that ends in an error without a score stalls the evidence, as a row must never be skipped: run
the task with score_on_error=True, or fail_on_error=True.

    race = EarlyStoppingRace(["small", "large"], dataset, seed=1)
    task = Task(race.samples, solver=ask_candidate(), scorer=match(), early_stopping=race)
    eval(task, model=None, max_samples=4)
    print(race.verdict)
"""

import math
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, Unpack

from inspect_ai.dataset import Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import value_to_float
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import EarlyStop

from tombola.errors import ParameterError
from tombola.persistence.race_file import journal_at
from tombola.racing._race import Race
from tombola.racing.events import Event, EventSink
from tombola.racing.options import Asked, Settings, asking

CANDIDATE, TICKET = "tombola_candidate", "tombola_ticket"


class EarlyStoppingRace:
    """A race of candidates on a dataset; the other settings are those of `Race`. A `journal` may be the path of a file.

    `scorer` names the score that counts, if there are several; its values mean what inspect_ai takes them for
    ("C" is 1, "I" is 0), and must be in [0, 1].
    """

    @asking
    def __init__(
        self,
        candidates: Sequence[str],
        dataset: Iterable[Sample],
        *,
        seed: int,
        scorer: str | None = None,
        journal: EventSink | str | PathLike[str] | None = None,
        **asked: Unpack[Asked],
    ) -> None:
        rows = list(dataset)
        names = [str(sample.id) if sample.id is not None else str(place) for place, sample in enumerate(rows, start=1)]
        decided = Settings(tuple(candidates), seed, **asked)
        self._journal = journal_at(journal, decided, names)
        self.race = Race.restore(decided, names, self._journal.replay())
        self._scorer, self._to_float = scorer, value_to_float()
        tickets = range(len(rows) * len(decided.candidates))
        self.samples = [self._sample(ticket, rows) for ticket in tickets]

    @property
    def verdict(self) -> str:
        """The answer as a sentence."""
        return self.race.verdict

    async def start_task(self, task: Any, samples: list[Sample], epochs: int) -> str:
        """Refuse a task whose samples are not those of this race, or are asked more than once."""
        mine = [sample.id for sample in self.samples]
        if epochs != 1 or [sample.id for sample in samples] != mine[: len(samples)]:
            raise ParameterError(
                "EarlyStoppingRace: expected a task with the samples of this race, in their order, in one epoch, "
                f"got {len(samples)} others or {epochs} epochs; write Task(race.samples, ...) with epochs=1."
            )
        return "tombola race"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Stop a sample whose candidate is out, or when the race is over, or whose answer the journal has."""
        ticket = _ticket(id)
        call = self.race.call(ticket)
        if self.race.done or call.candidate not in self.race.active:
            reason = f"{call.candidate} is out" if not self.race.done else self.verdict
            return EarlyStop(id=id, epoch=epoch, reason=reason)
        if not self._wanted(ticket):
            return EarlyStop(id=id, epoch=epoch, reason="answered before, or the limit of the race is reached")
        self.race.repeat(Event("call", ticket))
        return None

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, Any]) -> None:
        """Take in the score of a sample."""
        answer = Event("answer", _ticket(id), loss=1.0 - self._score(scores))
        self.race.repeat(answer)
        self._journal.append(answer)

    async def complete_task(self) -> dict[str, Any]:
        """Return what the race has found, for the log of the task."""
        race = self.race
        return {
            "verdict": race.verdict,
            "answer": list(race.answer),
            "proved": race.proved,
            "calls": race.calls_made,
            "calls saved": race.calls_saved,
            "settings": race.settings.to_json(),
        }

    def _wanted(self, ticket: int) -> bool:
        """Tell whether this call is still to be made, within the limits of the race."""
        race, before = self.race, self.race.calls_made
        limit = race.settings.max_calls
        spent = race.settings.max_cost is not None and race.cost >= race.settings.max_cost
        if spent or (limit is not None and before >= limit):
            return False
        race.repeat(Event("call", ticket))
        return race.calls_made > before

    def _sample(self, ticket: int, rows: Sequence[Sample]) -> Sample:
        call = self.race.call(ticket)
        metadata = {**(rows[call.place].metadata or {}), CANDIDATE: call.candidate, TICKET: ticket}
        name = f"{ticket}: {call.candidate} on {call.row}"
        return rows[call.place].model_copy(update={"id": name, "metadata": metadata})

    def _score(self, scores: dict[str, Any]) -> float:
        chosen = [scores[self._scorer]] if self._scorer in scores else list(scores.values())
        if len(chosen) != 1:
            raise ParameterError(
                f"EarlyStoppingRace: expected one score, got {', '.join(scores) or 'none'}; write scorer='NAME'."
            )
        value = self._to_float(chosen[0].score.value)
        if not (math.isfinite(value) and 0.0 <= value <= 1.0):
            raise ParameterError(
                f"EarlyStoppingRace: expected a score in [0, 1], got {chosen[0].score.value!r}; rescale it."
            )
        return float(value)


def candidate_of(state: TaskState) -> str:
    """Return the candidate that this sample is for."""
    return str(state.metadata[CANDIDATE])


@solver
def ask_candidate() -> Solver:
    """Ask the model that is named as the candidate of the sample."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = await get_model(candidate_of(state)).generate(state.messages)
        state.messages.append(state.output.message)
        return state

    return solve


def _ticket(id: str | int) -> int:
    return int(str(id).partition(":")[0])
