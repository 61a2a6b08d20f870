"""inspect_ai: a race as early stopping of a task.

One task holds all candidates: `samples` lists every row for every candidate, row by row in shuffled
order, and `candidate_of` returns the candidate of a sample to a solver. inspect_ai starts samples
in that order, several at a time, and calls `schedule_sample` before each. Only rows that all active
candidates have answered count, so the number of samples in flight cannot bias the evidence. A
sample that ends in an error without a score blocks the evidence, because rows are never skipped:
run the task with score_on_error=True or fail_on_error=True.

Models answer differently each time. With answers="random", the default, rows are drawn with
replacement, and `samples` has a sample for each run of a row; with answers="once" every row comes
once. With passes=5 the runs are 5 epochs of inspect_ai: every row comes once in each, and candidates
are dropped at the end of an epoch. All make statements about expected answers; drawn rows need the
fewest calls. The cache of inspect_ai must be off: a cached answer is no fresh call.

    race = EarlyStoppingRace(["small", "large"], dataset, seed=1)
    task = Task(race.samples, solver=ask_candidate(), scorer=match(), early_stopping=race)
    eval(task, model=None, max_samples=4)
    print(race.verdict)

With EarlyStoppingRace(..., passes=5), write Task(..., epochs=5).
"""

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, Unpack

from inspect_ai.dataset import Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import value_to_float
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import EarlyStop

from tombola._formatting import plural
from tombola.errors import ParameterError
from tombola.racing._race import Race
from tombola.racing.events import Event, EventSink
from tombola.racing.settings import RaceOptions, RaceSettings, accepts_race_options
from tombola.worklists.race_file import open_log

# Keys in the metadata of a sample.
_CANDIDATE_KEY = "tombola_candidate"
_TICKET_KEY = "tombola_ticket"
_RUN_KEY = "tombola_run"


class EarlyStoppingRace:
    """Race of candidates on a dataset, as the `early_stopping` of an inspect_ai task.

    The attribute `samples` has the samples of the task, `race` the race itself.

    candidates: names; `ask_candidate` takes them as names of models.
    dataset: samples, one row of the race each.
    scorer: name of the score to use, if there are several. Values are converted by inspect_ai ("C"
        is 1, "I" is 0) and must be in [0, 1].
    log: event log, or path of a race file, which is continued; None keeps events in memory.
    answers: "random", the default; "once", for samples that can be run once only; or "fixed", if
        the same call has the same answer. There is no pilot: samples are listed beforehand.
    passes: the epochs of the task; None for a sample per run, in one epoch.
    seed, level and all further parameters: settings of the race, as for `tombola.race`; `max_cost`
        is rejected, because inspect_ai reports no cost.
    """

    @accepts_race_options
    def __init__(
        self,
        candidates: Sequence[str],
        dataset: Iterable[Sample],
        *,
        scorer: str | None = None,
        log: EventSink | str | PathLike[str] | None = None,
        **options: Unpack[RaceOptions],
    ) -> None:
        rows = list(dataset)
        names = [
            str(sample.id) if sample.id is not None else str(i)
            for i, sample in enumerate(rows, start=1)
        ]
        if options.get("max_cost") is not None:
            raise ParameterError(
                "EarlyStoppingRace: inspect_ai has no costs, but got max_cost; write "
                "max_calls=... instead."
            )
        if options.get("answers") == "auto":
            raise ParameterError(
                "EarlyStoppingRace: expected how the answers behave, because a pilot cannot choose "
                "the samples afterwards, got 'auto'; write answers='random', 'once' or 'fixed'."
            )
        if options.get("reading") is None:
            options.setdefault("answers", "random")
        else:
            options.setdefault("answers", "fixed" if options["reading"] != "expected" else "random")
        settings, self._log = open_log(log, RaceSettings(tuple(candidates), **options), names)
        self.race = Race.restore(settings, names, self._log.replay())
        self._scorer = scorer
        self._to_float = value_to_float()
        self.samples = []
        k = len(settings.candidates)
        self._epochs = settings.passes or 1
        # Samples of one epoch; the tickets of the next one follow.
        self._calls = len(rows) * k
        if self.race.is_fresh and settings.passes is None:
            # Drops make room for more rows than the calls of a whole row suggest.
            self._calls = settings.most_calls(len(rows)) // 2 * k
        for ticket in range(1, self._calls + 1):
            call = self.race.call(ticket)
            row = rows[call.row_index]
            metadata = {
                **(row.metadata or {}),
                _CANDIDATE_KEY: call.candidate,
                _TICKET_KEY: ticket,
                _RUN_KEY: call.run,
            }
            run = f", run {call.run}" if call.run > 1 else ""
            name = f"{ticket}: {call.candidate} on {call.row}{run}"
            self.samples.append(row.model_copy(update={"id": name, "metadata": metadata}))

    @property
    def verdict(self) -> str:
        """The answer so far as a sentence, with its confidence and the number of calls."""
        return self.race.verdict

    async def start_task(self, task: Any, samples: list[Sample], epochs: int) -> str:
        """Check that the task has the samples and epochs of this race. Called by inspect_ai."""
        mine = [sample.id for sample in self.samples]
        given = [sample.id for sample in samples]
        # Whole passes need every sample; else the first ones are a shorter race.
        is_part = self._epochs == 1 and given == mine[: len(given)]
        if epochs != self._epochs or not (is_part or given == mine):
            others = "the samples of this race" if given == mine else f"{len(given)} others"
            raise ParameterError(
                "EarlyStoppingRace: expected a task with the samples of this race, in their "
                f"order, in {plural(self._epochs, 'epoch')}, got {others} in "
                f"{plural(epochs, 'epoch')}; write Task(race.samples, ..., epochs={self._epochs}), "
                f"or EarlyStoppingRace(..., passes={epochs})."
            )
        return "tombola race"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Return a stop with its reason if the sample is not needed, else None. Called by inspect_ai.

        A sample in an epoch is one call: a candidate on a row. It is not needed if its candidate is
        dropped, the race is over or at its limit, or it was answered before.
        """
        ticket = self._ticket(id, epoch)
        race = self.race
        candidate = race.call(ticket).candidate
        calls_before = race.calls_made
        reason = "answered before"
        if race.done:
            reason = self.verdict
        elif candidate not in race.active:
            reason = f"{candidate} is dropped"
        elif race.limit_reached:
            reason = "the limit of the race is reached"
        else:
            race.apply(Event("call", ticket))
        return (
            None if race.calls_made > calls_before else EarlyStop(id=id, epoch=epoch, reason=reason)
        )

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, Any]) -> None:
        """Record the score of a sample, one of `scores` by scorer. Called by inspect_ai.

        ParameterError if it is not in [0, 1], or there are several and no `scorer` is named.
        """
        answer = Event("answer", self._ticket(id, epoch), loss=1.0 - self._score(scores))
        self.race.apply(answer)
        self._log.append(answer)

    async def complete_task(self) -> dict[str, Any]:
        """Return the result of the race for the log of the task: verdict, answer, calls.

        Called by inspect_ai. The key proved is None while the race is undecided.
        """
        race = self.race
        return {
            "verdict": race.verdict,
            "answer": list(race.answer),
            "proved": race.proved,
            "calls": race.calls_made,
            "calls_saved": race.calls_saved,
            "settings": race.settings.to_json(),
        }

    def _ticket(self, id: str | int, epoch: int) -> int:
        return int(str(id).partition(":")[0]) + (epoch - 1) * self._calls

    def _score(self, scores: dict[str, Any]) -> float:
        chosen = [scores[self._scorer]] if self._scorer in scores else list(scores.values())
        if len(chosen) != 1:
            raise ParameterError(
                f"EarlyStoppingRace: expected one score, got {', '.join(scores) or 'none'}; "
                "write scorer='NAME'."
            )
        value = self._to_float(chosen[0].score.value)
        if not 0.0 <= value <= 1.0:
            raise ParameterError(
                f"EarlyStoppingRace: expected a score in [0, 1], got {chosen[0].score.value!r}; "
                "rescale it."
            )
        return float(value)


def candidate_of(state: TaskState) -> str:
    """Return the candidate of the sample that a solver works on, from its metadata."""
    return str(state.metadata[_CANDIDATE_KEY])


@solver
def ask_candidate() -> Solver:
    """Return a solver of inspect_ai that calls the model named like the candidate, such as "openai/gpt-4o"."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = await get_model(candidate_of(state)).generate(state.messages)
        state.messages.append(state.output.message)
        return state

    return solve
