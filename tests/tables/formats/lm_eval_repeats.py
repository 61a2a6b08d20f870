"""lm-eval with 3 repeats of each row, run as a script in an empty folder: logs of two mock models."""

import random
from pathlib import Path
from typing import Any

from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

TASK = """task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: rows.jsonl}}}}
output_type: generate_until
test_split: test
doc_to_text: "{{{{q}}}}="
doc_to_target: "{{{{a}}}}"
repeats: 3
generation_kwargs: {{do_sample: true, temperature: 0.7, until: ["\\n"]}}
"""
USUAL = "metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]\n"
EACH = """process_results: !function each.scores
filter_list: [{name: each, filter: [{function: take_first_k, k: 3}]}]
metric_list: [{metric: acc, aggregation: !function each.mean, higher_is_better: true}]
"""
FUNCTIONS = """def scores(doc, results):
    return {"acc": [float(answer == doc["a"]) for answer in results[0]]}


def mean(values):
    return sum(map(sum, values)) / sum(map(len, values))
"""
ROWS = """{"q": "1+1", "a": "2"}
{"q": "2+3", "a": "5"}
{"q": "4+4", "a": "8"}
{"q": "9-2", "a": "7"}
"""


class Guess(LM):
    """Answer rightly with a probability."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.rng = random.Random(1)
        self.share = share

    def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
        sums = {"1+1=": "2", "2+3=": "5", "4+4=": "8", "9-2=": "7"}
        return [
            sums[request.args[0]] if self.rng.random() < self.share else "no"
            for request in requests
        ]

    def loglikelihood(self, requests: Any) -> Any:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: Any) -> Any:
        raise NotImplementedError


Path("rows.jsonl").write_text(ROWS)
Path("each.py").write_text(FUNCTIONS)
Path("usual.yaml").write_text(TASK.format(name="sums") + USUAL)
Path("each.yaml").write_text(TASK.format(name="sums_each") + EACH)
for name, share in (("small", 0.4), ("large", 0.8)):
    tracker = EvaluationTracker(output_path=f"logs/{name}")
    tasks = TaskManager(include_path=".", include_defaults=False)
    results: Any = simple_evaluate(
        model=Guess(share),
        tasks=["sums", "sums_each"],
        task_manager=tasks,
        log_samples=True,
        bootstrap_iters=0,
    )
    by_task = results.pop("samples")
    tracker.general_config_tracker.model_name_sanitized = name
    tracker.save_results_aggregated(results=results, samples=by_task)
    for task, samples in by_task.items():
        tracker.save_results_samples(task_name=task, samples=samples)
