"""Two models of inspect_ai on four samples in three epochs; logs go to the folder given."""

import sys

from inspect_ai import Task
from inspect_ai import eval as run_task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import match
from inspect_ai.solver import Generate, Solver, TaskState, solver


@solver  # type: ignore[untyped-decorator,unused-ignore]
def by_epoch(step: int) -> Solver:
    """Answer by sample and epoch, without a call of the model."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        right = (int(str(state.sample_id)[1:]) + state.epoch) % step
        state.output = ModelOutput.from_content("mock", "yes" if right else "no")
        return state

    return solve


def main(folder: str) -> None:
    samples = [Sample(input=f"question {i}", target="yes", id=f"q{i}") for i in range(4)]
    for name, step in (("small", 2), ("large", 3)):
        task = Task(dataset=samples, solver=by_epoch(step), scorer=match(), epochs=3)
        (log,) = run_task(task, model=f"mockllm/{name}", log_dir=f"{folder}/{name}", display="none")
        assert log.status == "success"


if __name__ == "__main__":
    main(sys.argv[1])
