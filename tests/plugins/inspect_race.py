"""A race inside inspect_ai, run as a script: inspect_ai leaves streams open, which would fail the next test."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from inspect_ai import Task
from inspect_ai import eval as run_task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from tombola.plugins.inspect_ai import EarlyStoppingRace, candidate_of

Table = dict[str, dict[str, float]]


@solver
def from_table(table: Table, asked: list[str]) -> Solver:
    rng = np.random.default_rng(5)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        await asyncio.sleep(0.0005 * (len(asked) * 7 % 5))  # answers come out of order
        asked.append(f"{state.sample_id}, epoch {state.epoch}")
        chance = table[candidate_of(state)][str(state.metadata["row"])]
        loss = float(rng.random() < chance)
        state.output = ModelOutput.from_content("mockllm/model", str(loss))
        return state

    return solve


@scorer(metrics=[accuracy()])
def as_said() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value="C" if float(state.output.completion) == 0.0 else "I")

    return score


def samples_of(rows: int) -> list[Sample]:
    return [
        Sample(input=f"question {i}", id=f"q{i}", metadata={"row": f"q{i}"}) for i in range(rows)
    ]


def race_on(losses: Any, names: list[str], folder: Path, answers: str = "fixed") -> dict[str, Any]:
    """Run the race in an unmodified inspect_ai, four samples at a time, and once more from its file.

    answers: how they behave, or "passes" for random ones in 4 epochs; unless they are fixed,
        `losses` are probabilities of a loss.
    """
    epochs = 4 if answers == "passes" else 1
    table = {
        name: {f"q{i}": float(losses[i, a]) for i in range(len(losses))}
        for a, name in enumerate(names)
    }
    asked: list[str] = []
    options: Any = {"seed": 1, "log": folder / "my.race", "answers": answers}
    if answers == "passes":
        options |= {"answers": "random", "passes": epochs}
    race = EarlyStoppingRace(names, samples_of(len(losses)), **options)
    task = Task(
        race.samples,
        solver=from_table(table, asked),
        scorer=as_said(),
        early_stopping=race,
        epochs=epochs,
    )
    (log,) = run_task(
        task, model="mockllm/model", max_samples=4, log_dir=str(folder), display="none"
    )
    again = EarlyStoppingRace(names, samples_of(len(losses)), **options)
    summary = log.results.early_stopping if log.results else None
    return {
        "status": log.status,
        "answer": race.race.answer,
        "verdict": race.verdict,
        "calls": len(asked),
        "twice": len(asked) - len(set(asked)),
        "stopped": len(summary.early_stops) if summary else None,
        "summary": summary.metadata["verdict"] if summary else None,
        "again": again.verdict,
        "log": log.location,
        "most runs": max(int(sample.metadata["tombola_run"]) for sample in race.samples),
        "samples": len(race.samples),
        "epochs": sorted({int(name.rpartition(" ")[2]) for name in asked}),
        "late": sum(name.split(": ")[1].startswith("high") and name[-1] != "1" for name in asked),
    }


if __name__ == "__main__":
    rows, answers = int(sys.argv[2]), sys.argv[3]
    chances = np.tile([0.1, 0.6, 0.9], (rows, 1))
    if answers == "fixed":
        chances = (np.random.default_rng(2).random((rows, 3)) < chances) * 1.0
    names = ["low", "middle", "high"]
    print(json.dumps(race_on(chances, names, Path(sys.argv[1]), answers)))
