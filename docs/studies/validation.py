"""Measure level and calls of races on tables that chose nothing, and draw both.

`python docs/studies/validation.py` takes about two minutes, needs scikit-learn, and stores the
result in docs/pictures/validation.json.

The tables are predictions of eight classifiers on four data sets of scikit-learn, by
cross-validation, and two generated tables that are as hard as possible: all candidates are equal
but one, which is better on a single row. No constant of the race was chosen on any of them.
"""

import json
import math
from pathlib import Path

import numpy as np

from tombola.racing.rules.best import Best
from tombola.report.figures import COLOURS, draw_intervals, save

PICTURES = Path(__file__).parents[1] / "pictures"
RESULT = PICTURES / "validation.json"
SHUFFLES = 1000
LEVEL = 0.05
SEED = 5
# The paired t-test that looks after every row from this one on, until p < 5 %.
FIRST_LOOK, CRITICAL = 10, 1.96


def classifiers():
    """Return the losses, 0 or 1, of eight classifiers on each data set: name -> table."""
    from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    models = [
        GaussianNB(),
        DecisionTreeClassifier(max_depth=2, random_state=0),
        DecisionTreeClassifier(random_state=0),
        KNeighborsClassifier(1),
        KNeighborsClassifier(15),
        RandomForestClassifier(50, random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        make_pipeline(StandardScaler(), SVC()),
    ]
    data = {
        "digits": load_digits,
        "breast cancer": load_breast_cancer,
        "wine": load_wine,
        "iris": load_iris,
    }
    tables = {}
    for name, load in data.items():
        features, labels = load(return_X_y=True)
        columns = [cross_val_predict(model, features, labels) != labels for model in models]
        tables[name] = np.column_stack(columns).astype(float)
    return tables


def hardest(rows, candidates):
    """Return random right and wrong answers; the first candidate is better on one row."""
    rng = np.random.default_rng(SEED)
    column = (np.arange(rows) < rows // 2).astype(float)
    table = np.column_stack([rng.permutation(column) for _ in range(candidates)])
    table[np.flatnonzero(table[:, 0])[0], 0] = 0.0
    return table


def run(table, rng):
    """Return counts of wrong answers and mean calls, of the race and of the t-test."""
    rows, candidates = table.shape
    means = table.mean(axis=0)
    rule = Best(candidates, rows, float(rows), LEVEL)
    wrong = wrong_test = calls = calls_test = 0
    for _ in range(SHUFFLES):
        order = rng.permutation(rows)
        calls += rule.play(table, order)
        # After the last row several may be left, and the means are known.
        answer = min(rule.active, key=lambda place: rule.state.total_loss[place])
        wrong += bool(means[answer] > means.min())
        leader, looked = t_test(table[order])
        wrong_test += bool(means[leader] > means.min())
        calls_test += looked * candidates
    return {
        "rows": rows,
        "candidates": candidates,
        "race": [wrong, calls / SHUFFLES],
        "t-test": [wrong_test, calls_test / SHUFFLES],
    }


def t_test(table):
    """Return leader and rows of a t-test that looks after every row until p < 5 %."""
    rows = len(table)
    n = np.arange(1, rows + 1)
    totals = np.cumsum(table, axis=0)
    leaders = totals.argmin(axis=1)
    clear = np.ones(rows, bool)
    for column in range(table.shape[1]):
        for leader in np.unique(leaders):
            at = leaders == leader
            if column == leader:
                continue
            d = table[:, column] - table[:, leader]
            mean = np.cumsum(d) / n
            variance = (np.cumsum(d * d) - n * mean**2) / np.maximum(n - 1, 1)
            significant = mean > CRITICAL * np.sqrt(np.maximum(variance, 0) / n)
            clear[at] &= significant[at]
    clear[: FIRST_LOOK - 1] = False
    stop = int(clear.argmax()) if clear.any() else rows - 1
    return int(leaders[stop]), stop + 1


def measure():
    """Return the result of all tables, as stored."""
    rng = np.random.default_rng(SEED)
    tables = {
        **classifiers(),
        "one row apart, 2": hardest(400, 2),
        "one row apart, 10": hardest(400, 10),
    }
    return {name: run(table, rng) for name, table in tables.items()}


def _interval(wrong):
    """Return the 95 % interval of Wilson, in per cent."""
    z, share = 1.96, wrong / SHUFFLES
    centre = (share + z * z / (2 * SHUFFLES)) / (1 + z * z / SHUFFLES)
    half = z * math.sqrt(share * (1 - share) / SHUFFLES + z * z / (4 * SHUFFLES**2))
    half /= 1 + z * z / SHUFFLES
    return 100 * share, 100 * max(centre - half, 0.0), 100 * (centre + half)


def draw(result, method):
    """Return the wrong answers of a method on every table, with the level as a line."""
    intervals = np.array([_interval(row[method][0]) for row in result.values()])
    figure = draw_intervals(
        list(result), *intervals.T, x_label="wrong answers, %, of 1,000 shuffles", size=(7, 2.9)
    )
    axes = figure.axes[0]
    axes.axvline(100 * LEVEL, color="#767676", linestyle=(0, (5, 3)), linewidth=1.4)
    return figure


def level_figure():
    """Return the figure of wrong answers: the race, and a t-test with looks."""
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    figure = draw(result, "race")
    axes = figure.axes[0]
    heights = -np.arange(len(result), dtype=float) - 0.25
    test = np.array([_interval(row["t-test"][0]) for row in result.values()])
    axes.hlines(heights, test[:, 1], test[:, 2], color=COLOURS[1], linewidth=2.2)
    axes.plot(test[:, 0], heights, color=COLOURS[1], marker="s", markersize=5, linewidth=0)
    return figure


def calls_figure():
    """Return the figure of calls as a share of the table: the race, and the t-test."""
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    shares = {
        method: np.array(
            [100 * row[method][1] / (row["rows"] * row["candidates"]) for row in result.values()]
        )
        for method in ("race", "t-test")
    }
    figure = draw_intervals(
        list(result),
        shares["race"],
        np.zeros(len(result)),
        shares["race"],
        x_label="calls, % of all calls, mean of 1,000 shuffles",
        size=(7, 2.9),
    )
    heights = -np.arange(len(result), dtype=float) - 0.25
    axes = figure.axes[0]
    axes.plot(shares["t-test"], heights, color=COLOURS[1], marker="s", markersize=5, linewidth=0)
    axes.set_xlim(0, 102)
    return figure


if __name__ == "__main__":
    from figures import darken

    RESULT.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
    for name, figure in {
        "validation-level": level_figure(),
        "validation-calls": calls_figure(),
    }.items():
        darken(save(figure, PICTURES / f"{name}.svg"))
