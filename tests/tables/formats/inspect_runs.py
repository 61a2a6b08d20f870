"""Runs of inspect_ai that can be joined, and others; a log of each goes to the folder given."""

import sys

from inspect_ai import Task
from inspect_ai import eval as run_task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import match
from inspect_ai.solver import Generate, Solver, TaskState, solver


@solver  # type: ignore[untyped-decorator,unused-ignore]
def answer(failing: int, prompt: str) -> Solver:
    """Answer without a call of the model; change the prompt; fail on one sample."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        number = int(str(state.sample_id)[1:])
        if number == failing:
            raise RuntimeError("rate limit")
        state.user_prompt.text = prompt + state.user_prompt.text
        state.output = ModelOutput.from_content("mock", "yes" if number % 2 else "no")
        return state

    return solve


def main(folder: str) -> None:
    """Write a log of each: an old and a new version, other data, another task, an error."""
    for name, task_name, word, failing, prompt in (
        ("old", "sums", "question", -1, ""),
        ("new", "sums", "question", -1, "Think first. "),
        ("data", "sums", "another", -1, ""),
        ("task", "products", "question", -1, ""),
        ("error", "sums", "question", 3, ""),
    ):
        samples = [Sample(input=f"{word} {i}", target="yes", id=f"q{i}") for i in range(6)]
        solving = answer(failing, prompt)
        task = Task(name=task_name, dataset=samples, solver=solving, scorer=match())
        # Both formats of the package.
        kind = "json" if name == "new" else "eval"
        run_task(
            task,
            model=f"mockllm/{name}",
            log_dir=f"{folder}/{name}",
            display="none",
            log_format=kind,  # type: ignore[arg-type,unused-ignore]
        )


if __name__ == "__main__":
    main(sys.argv[1])
