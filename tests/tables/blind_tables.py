"""One hundred odd tables beyond odd_tables.txt, written before they were read once.

Each line: ids | candidates | scale | column that is no candidate = how its numbers are made. None of
them may be read with that column as a candidate. `python tests/tables/blind_tables.py FOLDER` writes
the files and truth.jsonl for outcomes.py.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tombola._types import Floats

# Scales: right (0 and 1), share (two decimals), points (0 to 100), stars (1 to 5), seconds.
# twin: numbers like those of a candidate, better than the best.
_TABLES = """
question | gpt-4o, claude-3-opus, gemini-1.5 | right | needs_calculator = flag .7
question | gpt-4o, claude-3-opus, gemini-1.5 | right | paraphrase = flag .9
item | llama-3-8b, llama-3-70b, mixtral | right | in_pretraining = flag .8
item | llama-3-8b, llama-3-70b, mixtral | share | readability = twin
item | phi-3, qwen-2, gemma | right | verdict = flag .85
item | phi-3, qwen-2, gemma | right | isHard = flag .6
item | phi-3, qwen-2, gemma | right | hasImage = flag .9
prompt | v1, v2, v3 | right | verbose = flag .8
prompt | v1, v2, v3 | share | toughness = twin
prompt | v1, v2, v3 | share | kappa = share .7 .95
doc | bm25, colbert, splade | share | idf = twin
doc | bm25, colbert, splade | right | relevant = flag .9
query | bm25, dense, hybrid | share | clicks = twin
query | bm25, dense, hybrid | right | navigational = flag .75
segment | opus-mt, nllb, m2m100 | share | adequacy = twin
segment | opus-mt, nllb, m2m100 | share | src_len_norm = twin
image | resnet, vgg, densenet | right | blurred = flag .8
image | resnet, vgg, densenet | right | indoor = flag .9
image | resnet, vgg, densenet | share | objectness = twin
clip | whisper, conformer, wav2vec | share | speech_rate = twin
clip | whisper, conformer, wav2vec | right | female_speaker = flag .8
repo | agent-a, agent-b, agent-c | right | hidden_tests = flag .95
repo | agent-a, agent-b, agent-c | right | flaky = flag .9
repo | agent-a, agent-b, agent-c | share | coverage = twin
instance | kissat, cadical, minisat | right | satisfiable = flag .9
instance | kissat, cadical, minisat | seconds | parsing = low
instance | kissat, cadical, minisat | seconds | clauses = twin
instance | cplex, gurobi, scip | share | integrality_gap = twin
instance | cplex, gurobi, scip | share | lp_bound = max
series | arima, ets, theta | share | seasonality = twin
series | arima, ets, theta | share | noise_level = twin
patient | drug A, drug B, placebo | right | diabetic = flag .9
patient | drug A, drug B, placebo | points | adherence = twin
patient | Radiologist 1, Radiologist 2, CAD | right | malignant = flag .8
patient | Radiologist 1, Radiologist 2, CAD | right | biopsy = flag .9
pupil | Anna, Bert, Carla | points | attendance = twin
pupil | Anna, Bert, Carla | stars | effort = twin
pupil | Anna, Bert, Carla | right | repeater = flag .9
pupil | method 1, method 2, method 3 | points | pretest = twin
store | poster, radio, flyer | points | footfall = twin
store | poster, radio, flyer | right | weekend = flag .9
parcel | UPS, DHL, FedEx | right | insured = flag .95
parcel | UPS, DHL, FedEx | seconds | customs = low
parcel | UPS, DHL, FedEx | points | zone = int 1 100
plot | Sorte 1, Sorte 2, Sorte 3 | share | Bodenwert = twin
plot | Sorte 1, Sorte 2, Sorte 3 | share | Feuchtigkeit = twin
plot | Sorte 1, Sorte 2, Sorte 3 | right | beregnet = flag .9
Kunde | Anzeige A, Anzeige B, Anzeige C | right | Stammkunde = flag .9
Kunde | Anzeige A, Anzeige B, Anzeige C | stars | Gesamteindruck = twin
Kunde | Anzeige A, Anzeige B, Anzeige C | right | weiblich = flag .9
Aufgabe | Gruppe A, Gruppe B, Gruppe C | right | Schwierigkeitsgrad = flag .8
cliente | plan A, plan B, plan C | right | moroso = flag .9
cliente | plan A, plan B, plan C | stars | satisfaccion = twin
pregunta | gpt-4, claude-3, llama-3 | right | dificil = flag .9
question | gpt-4, claude-3, llama-3 | share | longueur = twin
question | gpt-4, claude-3, llama-3 | right | ambigue = flag .9
domanda | gpt-4, claude-3, llama-3 | share | difficolta = twin
vraag | gpt-4, claude-3, llama-3 | share | moeilijkheid = twin
match | elo, poisson, bookmaker | right | home_win = flag .9
match | elo, glicko, trueskill | share | possession = twin
day | model 1, model 2, model 3 | right | rained = flag .9
day | model 1, model 2, model 3 | share | cloudiness = twin
day | model 1, model 2, model 3 | share | climatology = twin
month | fund-a, fund-b, fund-c | share | market_return = twin
month | fund-a, fund-b, fund-c | share | vol = twin
id | A, B, C | right | majority = vote
id | A, B, C | right | anycorrect = max
id | A, B, C | right | everyone = min
id | A, B, C | share | upper = max
id | A, B, C | share | avg_all = mean
id | A, B, C, D | share | spread = spread
id | A, B, C | right | batch_no = cycle 0,1
id | A, B, C | right | half = block 0,1
id | A, B, C | share | drift = sorted
id | A, B, C | share | cut = const .5
id | svm, knn, forest | right | y = flag .8
id | svm, knn, forest | right | label_noise = flag .9
id | svm, knn, forest | share | p = share .6 .95
id | svm, knn, forest | share | sample_weight = twin
id | svm, knn, forest | right | test_set = flag .8
id | svm, knn, forest | right | outlier = flag .9
id | svm, knn, forest | stars | stars_by_user = twin
id | svm, knn, forest | share | humanScore = twin
id | svm, knn, forest | share | certainty = twin
id | svm, knn, forest | right | annotator2 = flag .9
id | dqn, ppo, sac | points | optimal = max
id | dqn, ppo, sac | points | random_policy_gap = twin
id | dqn, ppo, sac | share | epsilon = share .5 .9
id | gpt-4, gpt-4-mini, gpt-3.5 | right | gpt-4_refused = flag .9
id | gpt-4, gpt-4-mini, gpt-3.5 | share | gpt-4_confidence = twin
id | gpt-4, gpt-4-mini, gpt-3.5 | share | token_share = twin
id | old, new, newest | right | regression_test = flag .9
id | old, new, newest | right | legacy_user = flag .9
id | teacher, student, assistant | share | inter_rater = twin
id | sonar, radar, lidar | share | turbidity = twin
id | sonar, radar, lidar | share | battery = twin
id | red, green, blue | share | luminance = twin
id | bus, tram, metro | share | congestion = twin
id | solar, wind, hydro | share | demand = twin
id | north, south, east | share | temperature = twin
"""


class BlindTable(NamedTuple):
    """A file and its true reading."""

    name: str
    content: str
    candidates: tuple[str, ...]
    other: str
    rows: int
    scale: str


def blind_tables() -> Iterator[BlindTable]:
    """Yield the tables; the numbers of a table depend on its place only."""
    for place, line in enumerate(_TABLES.strip().splitlines()):
        ids, names, scale, extra = (part.strip() for part in line.split("|"))
        candidates = tuple(name.strip() for name in names.split(","))
        other, _, how = (part.strip() for part in extra.partition("="))
        rng = np.random.default_rng([7, place])
        rows = int(rng.integers(40, 120))
        hardness = rng.normal(size=rows)
        levels = 0.45 + 0.08 * rng.permutation(len(candidates))
        numbers = np.column_stack([_cells(scale, level, hardness, rng) for level in levels])
        column = _extra(how, scale, numbers, hardness, rng)
        at = int(rng.integers(len(candidates) + 1))
        header = [ids, *candidates]
        header.insert(1 + at, other)
        table = np.insert(numbers, at, column, axis=1)
        lines = [",".join(header)]
        for row, cells in enumerate(table):
            lines.append(",".join([f"r{row:03}", *(f"{cell:.12g}" for cell in cells)]))
        text = "\n".join(lines) + "\n"
        yield BlindTable(f"{place:02}_{other}", text, candidates, other, rows, scale)


def _cells(scale: str, level: float, hardness: Floats, rng: np.random.Generator) -> Floats:
    """Return the numbers of one candidate, higher for a higher level."""
    noise = rng.normal(size=len(hardness))
    share = np.clip(level - 0.12 * hardness + 0.1 * noise, 0.02, 0.98)
    if scale == "right":
        return (rng.random(len(hardness)) < share).astype(float)
    if scale == "points":
        return np.asarray((100 * share).round())
    if scale == "stars":
        return np.asarray(np.clip(np.round(1 + 4 * share), 1, 5))
    if scale == "seconds":
        return np.asarray(np.round(np.exp(1 + hardness + level + 0.4 * noise), 2))
    return np.asarray(share.round(2))


def _extra(
    how: str, scale: str, numbers: Floats, hardness: Floats, rng: np.random.Generator
) -> Any:
    """Return the numbers of the column that is no candidate."""
    word, _, rest = how.partition(" ")
    rows = len(numbers)
    if word == "twin":
        return _cells(scale, 0.8, -hardness * rng.choice([-1.0, 1.0]), rng)
    if word == "flag":
        return (rng.random(rows) < float(rest)).astype(float)
    if word == "share":
        low, high = map(float, rest.split())
        return rng.uniform(low, high, rows).round(2)
    if word == "int":
        low, high = map(float, rest.split())
        return rng.integers(int(low), int(high), rows)
    if word in ("cycle", "block"):
        values = [float(value) for value in rest.split(",")]
        cells = np.array([values[row % len(values)] for row in range(rows)])
        return cells if word == "cycle" else np.sort(cells)
    if word == "sorted":
        return np.sort(rng.random(rows)).round(2)
    if word == "const":
        return np.full(rows, float(rest))
    if word == "low":
        return (numbers.min(axis=1) * rng.uniform(0.1, 0.9, rows)).round(2)
    if word == "vote":
        return (numbers.mean(axis=1) > 0.5).astype(float)
    if word == "spread":
        return np.ptp(numbers, axis=1).round(2)
    return {"max": numbers.max(axis=1), "min": numbers.min(axis=1)}.get(
        word, numbers.mean(axis=1).round(2)
    )


def write(folder: Path) -> None:
    """Write the files, and truth.jsonl with the reading of each."""
    truths = []
    (folder / "odd").mkdir(parents=True, exist_ok=True)
    for table in blind_tables():
        path = Path("odd") / f"{table.name}.csv"
        (folder / path).write_text(table.content, encoding="utf-8")
        truths.append(
            {
                "file": str(path),
                "kind": "odd",
                "direction": "losses" if table.scale == "seconds" else "scores",
                "candidates": list(table.candidates),
                "rows": table.rows,
                "certain": False,
                "trap": table.other,
            }
        )
    lines = "".join(f"{json.dumps(truth)}\n" for truth in truths)
    (folder / "truth.jsonl").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
