"""One hundred ordinary tables: none of them may raise a question. Written before the detector.

Each line is a table: ids, candidates, values, and the options that it needs beside the direction.
"""

import csv
import io
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tombola._types import Floats


class OrdinaryTable(NamedTuple):
    """A file, the options of `read_table`, and the candidates that must be read."""

    name: str
    content: str
    options: dict[str, Any]
    candidates: tuple[str, ...]
    rows: int


# Header of the ids (with a + the ids are words, else numbers; "" is a table without ids), the
# candidates, the values, and their direction.
_TABLES = """
id+ | gpt-4, claude-3, llama-3 | binary | scores
id+ | gpt-4o, gpt-4o-mini | binary | scores
id | A, B | binary | scores
id+ | a, b, c, d, e | binary | losses
question+ | gpt, claude, gemini | binary | scores
prompt+ | v1, v2, v3 | binary | scores
id+ | baseline, ours | binary | scores
id+ | old, new | binary | scores
id+ | control, treatment | binary | scores
id+ | model_1, model_2, model_3, model_4 | binary | scores
id+ | prompt 1, prompt 2, prompt 3 | binary | scores
task_id+ | agent-a, agent-b | binary | scores
instance_id+ | swe-agent, aider, openhands | binary | scores
item+ | Qwen2.5-7B, Llama-3.1-8B, gemma-2-9b | binary | scores
 | a, b, c | binary | losses
 | gpt-4, claude-3 | binary | scores
id+ | random, greedy, beam | share | scores
id+ | svm, forest, boosting | share | losses
id+ | knn, svm, tree, mlp | share | scores
id+ | bm25, dense, hybrid | share | scores
query+ | bm25, dense, hybrid | share | scores
query_id | bm25, dense, colbert | share | scores
id+ | naive, theta, ets, arima | share | losses
series+ | NAIVE2, THETA, HOLT, WINTER | error | losses
customer+ | email, call, letter | share | scores
customer_id | email, call | binary | scores
user_id | variant_a, variant_b | binary | scores
id+ | human, gpt-4 | binary | scores
id+ | teacher, student | share | scores
id+ | small, medium, large | share | scores
id+ | 7b, 13b, 70b | share | scores
id+ | gpt-3.5-turbo-0613, gpt-4-0613 | share | scores
id+ | Mixtral-8x7B, GPT-4-1106 | binary | losses
id+ | o1, o3, o4-mini | binary | scores
id+ | sonnet, opus, haiku | binary | scores
id+ | GitHub(CNN), Google, Microsoft | binary | losses
id+ | clasp/2.1.3/h7-n1, clasp/2.1.3/h2-n1 | seconds | losses
instance+ | lingeling, glucose, minisat | seconds | losses
instance+ | g12fd, gecode, ortools, mistral | seconds | losses
id+ | hint0, hint1, hint2, hint3 | seconds | losses
id+ | kissat_seconds, minisat_seconds | seconds | losses
id+ | gpt_accuracy, llama_accuracy | share | named
id+ | gpt_score, llama_score, claude_score | share | named
id+ | score_a, score_b | share | named
id+ | loss_a, loss_b, loss_c | share | named
id+ | svm_error, tree_error | share | named
id+ | svm error, tree error | binary | named
id+ | a_correct, b_correct | binary | named
id+ | gpt_reward, claude_reward | share | named
id+ | gpt, claude | rating | scores
id+ | gpt, claude, gemini | rating | scores
id+ | essay-bot, rubric-bot | tenths | scores
id+ | llama, mistral, qwen, phi | tenths | scores
example+ | zero-shot, few-shot, cot | binary | scores
case+ | rag, no rag | share | scores
id+ | t5, bart, pegasus | share | scores
id+ | resnet50, vit-b16 | binary | scores
image+ | resnet50, vit-b16, convnext | binary | losses
sample+ | whisper, wav2vec | share | losses
file+ | ruff, pylint | binary | scores
id+ | python, rust, go | binary | scores
id+ | fast, slow | share | losses
id+ | left, right | binary | scores
id+ | red, green, blue | share | scores
id+ | plan A, plan B | binary | scores
id+ | sol, tnm, rcl, spear | seconds | losses
id+ | lad, vf2, glasgow1 | seconds | losses
id+ | anna, ben, cem | rating | scores
id+ | team 1, team 2, team 3 | points | scores
id+ | judge-small, judge-large | half | scores
id+ | bot-a, bot-b, bot-c | half | scores
nr | gpt, claude | share | scores
no | gpt, claude | binary | scores
# | gpt, claude | binary | scores
key+ | gpt, claude | binary | scores
uuid+ | gpt, claude | binary | scores
id+, topic | gpt, claude | binary | scores
id+, category | gpt, claude, llama | share | scores
id+, question+ | gpt, claude | binary | scores
id+, prompt+, reference+ | gpt, claude | binary | scores
question+, expected+ | gpt, claude | binary | scores
id+, comment | a, b, c | share | losses
id+, language, topic | gpt, claude | binary | scores
id+, split | gpt, claude | binary | scores
id+, domain | a, b | share | losses
id+, when | a, b | share | losses
id+ | gpt, llama + cost_gpt, cost_llama | binary | scores
id+ | gpt, llama + gpt_cost, llama_cost | binary | scores
id+ | a, b, c + price: a, price: b, price: c | share | losses
id+ | gpt_score, llama_score + gpt_usd, llama_usd | share | named
id+ | gpt, claude | semicolons | scores
id+ | modell 1, modell 2 | semicolons | scores
id+ | a, b, c | tabs | scores
id+ | a, b | percent | scores
id+ | gpt, claude, llama | percent | scores
id+ | a, b | truth | scores
id+ | gpt, claude | yes | scores
id+ | gpt, claude, wrong-bot | constant | scores
id+ | a, b, c | twins | scores
id+ | a, b, c, d, e, f, g, h | binary | scores
"""


def ordinary_tables() -> Iterator[OrdinaryTable]:
    """Yield the tables; the numbers of a table depend on its place only."""
    for place, line in enumerate(_TABLES.strip().splitlines()):
        ids, names, values, direction = (part.strip() for part in line.split("|"))
        names, _, costs = names.partition(" + ")
        candidates = [name.strip() for name in names.split(",")]
        cost_names = [name.strip() for name in costs.split(",") if name.strip()]
        rng = np.random.default_rng(place)
        rows = 12
        numbers, options = _numbers(values, rows, len(candidates), rng)
        id_names = [name.strip() for name in ids.split(",") if name.strip()]
        columns = [_labels(name, place, rows) for name in id_names]
        columns += [[_text(number, values) for number in column] for column in numbers.T]
        columns += [[f"{cost:.2f}" for cost in 1 + rng.random(rows)] for _ in cost_names]
        header = [name.rstrip("+") for name in id_names] + candidates + cost_names
        delimiter = {"semicolons": ";", "tabs": "\t"}.get(values, ",")
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter).writerows([header, *zip(*columns, strict=True)])
        if direction != "named":
            options["kind"] = direction
        yield OrdinaryTable(f"{place}: {line}", text.getvalue(), options, tuple(candidates), rows)


def _labels(name: str, place: int, rows: int) -> list[str]:
    """Return the cells of a column that holds no numbers of candidates."""
    if name.endswith("+"):
        return [f"{name[:-1]} {place}-{row * 7 % 100}" for row in range(rows)]
    if name == "when":
        return [f"2026-03-{1 + row // 2:02}" for row in range(rows)]
    if name in ("topic", "category", "language", "split", "domain", "comment"):
        return [f"{name} {'ABC'[row % 3]}" for row in range(rows)]
    if name.endswith("_id"):
        return [str(90_000 + row * 37) for row in range(rows)]
    return [str(row + 1) for row in range(rows)]


def _numbers(
    values: str, rows: int, k: int, rng: np.random.Generator
) -> tuple[Floats, dict[str, Any]]:
    """Return numbers, shape (rows, candidates), and the options about their range."""
    if values == "seconds":
        seconds = np.minimum(np.exp(rng.normal(1.0, 2.0, (rows, k))), 60.0)
        seconds[rng.integers(rows), :] = 60.0
        return seconds.round(2), {"range": (0.0, 60.0)}
    if values == "error":
        return rng.gamma(2.0, 8.0, (rows, k)).round(3), {"rescale": True}
    if values == "rating":
        return rng.integers(1, 6, (rows, k)).astype(float), {"range": (1.0, 5.0)}
    if values == "tenths":
        return rng.integers(0, 21, (rows, k)) / 2, {"range": (0.0, 10.0)}
    if values == "points":
        return rng.integers(20, 101, (rows, k)).astype(float), {"range": (0.0, 100.0)}
    if values == "half":
        numbers = rng.choice([0.0, 0.5, 1.0], (rows, k), p=[0.4, 0.2, 0.4])
        numbers[:, 0] = np.where(numbers[:, 0] == 0.5, 1.0, numbers[:, 0])
        return numbers, {}
    if values in ("share", "percent", "semicolons", "tabs"):
        return rng.beta(2.0, 2.0, (rows, k)).round(2), {}
    numbers = (rng.random((rows, k)) < 0.6).astype(float)
    if values == "constant":
        numbers[:, -1] = 0.0
    if values == "twins":
        numbers[:, -1] = numbers[:, :-1].max(axis=1)
    return numbers, {}


def _text(number: float, values: str) -> str:
    if values == "percent":
        return f"{100 * number:.0f}%"
    if values == "semicolons":
        return f"{number:.2f}".replace(".", ",")
    if values in ("truth", "yes"):
        words = ("False", "True") if values == "truth" else ("no", "yes")
        return words[int(number)]
    return f"{number:g}"
