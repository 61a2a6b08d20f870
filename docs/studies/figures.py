"""Pictures of the documentation, in a light and a dark version.

Those of "Random order in two minutes" are drawn when the site is built.

`python docs/studies/figures.py repair reproduction` draws the picture of the paper from the output
of `tombola reproduce`.

`python docs/studies/figures.py lanes swebench_bash.npz` races six language models on a real table,
stores the result, and draws it.
"""

import csv
import json
import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from tombola import FollowTheLeader, Hedge, instances, play, race
from tombola.lab import iid_minimax, minimax, worst_pool
from tombola.paper.claims.birthday import worst_iid
from tombola.paper.curves import mean_band, reference_lines
from tombola.paper.rows import levels
from tombola.report import figures as report_figures
from tombola.report.chart import Chart
from tombola.report.lanes import Lane, draw_lanes

PICTURES = Path(__file__).parents[1] / "pictures"
# Result of the race on the first page: 6 of the 25 language models of SWE-bench Verified (bash
# only, CC BY-NC 4.0), 500 issues. Names as on the page: as in the table.
RACE_RESULT = PICTURES / "lanes.json"
RACE_NAMES = {
    "Claude 4.5 Sonnet": "Claude 4.5 Sonnet (20250929)",
    "Claude 4 Opus": "Claude 4 Opus (20250514)",
    "GPT-5": "GPT-5 (2025-08-07) (medium reasoning)",
    "Claude 4 Sonnet": "Claude 4 Sonnet (20250514)",
    "GPT-5 mini": "GPT-5 mini (2025-08-07) (medium reasoning)",
    "Gemini 2.5 Pro": "Gemini 2.5 Pro (2025-05-06)",
}
RACE_SEED = 1
ROWS, SEED = 12, 1
INK, DARK_TILE, LIGHT_TILE = "#222222", "#fefefe", "#111111"  # of text: on paper, and on tiles
RED, BLUE, GREEN = "#b3362b", "#1f5fa8", "#3c8d40"
STYLE = {
    "font.size": 12,
    "svg.hashsalt": "tombola",
    "axes.spines.top": False,
    "axes.spines.right": False,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK
    ),
}
DARK = {
    INK: "#e8ecf1",
    RED: "#ff8f7a",
    BLUE: "#6fb4f2",
    GREEN: "#79cf7e",
    "#ffffff": "none",
    "#dddddd": "#3d4650",
    "#767676": "#a3afbc",
    "#000000": "#e8ecf1",
    "#0072b2": "#56a9e8",
    "#d55e00": "#ff8a4c",
    "#009e73": "#2fcf9f",
    "#9db5cd": "#7c9aba",
    "#e9edf1": "#2a323c",
    "#55606d": "#a9b4c0",
}
COLORS = plt.get_cmap("viridis")(np.linspace(0.05, 0.95, ROWS))


def draw_all(folder):
    """Draw every picture into a folder."""
    folder.mkdir(exist_ok=True)
    with plt.rc_context(STYLE):
        for picture in (shuffled, replacement, models, orders, collapse, worst_regrets, ratio):
            path, figure = folder / f"{picture.__name__}.svg", picture()
            figure.savefig(path, bbox_inches="tight", transparent=True, metadata={"Date": None})
            plt.close(figure)
            darken(path)


def darken(path):
    """Write the dark version of a picture beside it."""
    text = path.read_text(encoding="utf-8")
    for light, dark in DARK.items():
        text = re.sub(light, dark, text, flags=re.IGNORECASE)
    path.with_stem(f"{path.stem}-dark").write_text(text, encoding="utf-8")


def shuffled():
    """Draw the same twelve rows in list order and in random order."""
    order = np.random.default_rng(SEED).permutation(ROWS)
    return _lines({"as listed": np.arange(ROWS), "shuffled": order})


def replacement():
    """Draw twelve rows without and with replacement; list the rows that are missing."""
    rng = np.random.default_rng(SEED)
    without, with_ = rng.permutation(ROWS), rng.integers(0, ROWS, ROWS)
    figure = _lines({"without\nreplacement": without, "with\nreplacement": with_})
    missing = sorted(set(range(ROWS)) - set(with_.tolist()))
    words = ", ".join(str(row + 1) for row in missing)
    figure.axes[0].text(0, -2.2, f"some rows come again, others never: {words}", color=INK)
    return figure


def models():
    """Draw the three input models on the same rows."""
    rng = np.random.default_rng(SEED)
    return _lines(
        {
            "given": np.arange(ROWS),
            "random": rng.permutation(ROWS),
            "iid": rng.integers(0, ROWS, ROWS),
        },
    )


def orders():
    """Plot the measured regret of one learner on one pool in the three orders."""
    pool = instances.split(2000)
    figure, axes = plt.subplots(figsize=(7, 3.6))
    for model, color in zip(("given", "random", "iid"), (RED, BLUE, GREEN), strict=True):
        trace = play(FollowTheLeader(), pool, order=model, seed=1)
        regret = np.cumsum(trace.losses - trace.comparator_losses)
        axes.plot(np.arange(1, trace.horizon + 1), regret, color=color, lw=2)
        axes.annotate(f" {model}", (trace.horizon, regret[-1]), color=color, va=_side(model))
    axes.set(
        xlabel="round",
        ylabel="regret",
        title="FollowTheLeader on the same 2,000 rows",
        xlim=(0, 2250),
        ylim=(-110, 950),
    )
    return figure


def worst_regrets():
    """Plot exact worst regrets of learners in random order, and the smallest possible one."""
    horizons = [4, 8, 16, 32, 64]
    rows = np.eye(2)
    curves = {
        "FollowTheLeader": [worst_pool(FollowTheLeader(), rows, T)[0] for T in horizons],
        "Hedge": [worst_pool(Hedge(), rows, T)[0] for T in horizons],
        "minimax": [minimax(T, rows=rows).value for T in horizons],
    }
    figure, axes = plt.subplots(figsize=(7, 3.4))
    for (name, values), color in zip(curves.items(), (RED, BLUE, GREEN), strict=True):
        axes.plot(horizons, values, color=color, lw=2, marker="o")
        axes.annotate(f" {name}", (horizons[-1], values[-1]), color=color, va="center")
    axes.set(
        xlabel="rows, T",
        ylabel="worst expected regret",
        title="Exact: the worst pool of two actions, over all orders",
        xlim=(0, 78),
        ylim=(0, 5.2),
    )
    return figure


def ratio():
    """Plot the minimax regret in random order divided by that on i.i.d. rows, for four games."""
    one_loses = np.eye(2)  # the hardest rows with two actions and full information
    games = (
        ("2 actions, full information", 2, "full", [2, 4, 8, 16, 32, 64], one_loses, [48], BLUE),
        ("2 actions, bandit feedback", 2, "bandit", [2, 4, 6, 8], None, [12], RED),
        ("3 actions, full information", 3, "full", [2, 3, 4, 5, 6], None, [6, 8], GREEN),
        ("3 actions, bandit feedback", 3, "bandit", [2, 3, 4, 5], None, [6, 8], INK),
    )
    figure, axes = plt.subplots(figsize=(7, 3.4))
    for name, k, feedback, horizons, rows, grids, color in games:
        ratios = []
        for T in horizons:
            value = minimax(T, k, feedback=feedback, rows=rows).value
            laws = [iid_minimax(T, k, feedback=feedback, rows=rows, grid=grid) for grid in grids]
            ratios.append(value / max(laws))
        axes.plot(horizons, ratios, color=color, lw=2, marker="o", label=name)
    axes.legend(frameon=False, loc="lower right")
    axes.axhline(1.0, color=INK, lw=1, ls=":")
    axes.set_xscale("log", base=2)
    axes.set_xticks([2, 4, 8, 16, 32, 64], ["2", "4", "8", "16", "32", "64"])
    axes.set(
        xlabel="rows, T",
        ylabel="random order / i.i.d.",
        title="Minimax regret: the price of a list instead of a law",
        ylim=(0.95, 1.6),
    )
    return figure


def repair(measured):
    """Plot the birthday test on i.i.d. draws, in random order, and inside Simulation."""
    separation, repaired = (_rows(measured / f"{claim}.csv") for claim in ("separation", "repair"))
    at = levels(repaired, "T")
    drawn = [{"T": T, "regret": regret} for T in at for regret in worst_iid(separation, T)[1]]
    return report_figures.draw_chart(
        Chart(
            title="Simulation repairs what random order broke",
            x_label="rows of the pool, T",
            y_label="regret of the birthday test",
            bands=(
                mean_band(separation, "shuffled", "T", "regret", kind="birthday"),
                mean_band(repaired, "shuffled, with Simulation", "T", "regret"),
                mean_band(drawn, "worst i.i.d. draws", "T", "regret"),
            ),
            lines=reference_lines(at, {"√T": lambda T: T**0.5}),
        )
    )


def run_race(table):
    """Race the six models on a table of losses; return what the picture shows."""
    arrays = np.load(table, allow_pickle=False)
    columns = {name: list(arrays["actions"]).index(full) for name, full in RACE_NAMES.items()}
    losses, issues = arrays["loss"], [str(name) for name in arrays["ids"]]
    result = race(
        list(columns),
        issues,
        lambda name, issue: float(losses[issues.index(issue), columns[name]]),
        workers=1,
        seed=RACE_SEED,
        kind="losses",
        answers="fixed",
    )
    dropped = {drop.candidate: drop.row for drop in result.dropped}
    return {
        "rows": len(issues),
        "lanes": [
            *([name, result.rows_counted, "best, proved", "good"] for name in result.answer),
            *(
                [name, row, f"out after {row}", ""]
                for name, row in sorted(dropped.items(), key=lambda item: -item[1])
            ),
        ],
    }


def lanes():
    """Draw the stored result of the race."""
    result = json.loads(RACE_RESULT.read_text(encoding="utf-8"))
    return draw_lanes(
        [Lane(*lane) for lane in result["lanes"]],
        result["rows"],
        noun="issues",
        title="A race asks a model until the evidence against it suffices",
    )


def _rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return [
            {**row, "T": int(row["T"]), "regret": float(row["regret"])}
            for row in csv.DictReader(file)
        ]


def _side(model):
    return {"given": "center", "random": "bottom", "iid": "top"}[model]


def collapse():
    """Plot the error of the mean of the rows seen, drawn with and without replacement."""
    values = (np.arange(1000) < 300).astype(float)
    rng = np.random.default_rng(SEED)
    seen = np.arange(1, values.size + 1)
    figure, axes = plt.subplots(figsize=(7, 3.6))
    for name, color in (("with replacement", GREEN), ("without replacement", BLUE)):
        draws = [_draw(name, values, rng) for _ in range(400)]
        errors = [np.abs(np.cumsum(draw) / seen - values.mean()) for draw in draws]
        axes.plot(seen, np.mean(errors, axis=0), color=color, lw=2, label=name)
    axes.set(
        xlabel="rows seen, of 1,000",
        ylabel="mean error",
        ylim=(0, 0.06),
        title="Mean of the rows seen against the mean of the pool",
    )
    axes.legend(frameon=False)
    return figure


def _draw(name, values, rng):
    return rng.choice(values, values.size, replace=name == "with replacement")


def _lines(lines):
    figure, axes = plt.subplots(figsize=(7.4, 0.95 * len(lines) + 0.1))
    for line, (name, rows) in enumerate(lines.items()):
        axes.text(-0.35, -1.25 * line, name, ha="right", va="center", color=INK)
        for place, row in enumerate(rows):
            axes.add_patch(plt.Rectangle((place, -1.25 * line - 0.45), 0.9, 0.9, color=COLORS[row]))
            axes.text(
                place + 0.45, -1.25 * line, str(row + 1), ha="center", va="center", color=_on(row)
            )
    axes.set(xlim=(-2.6, ROWS), ylim=(-1.25 * len(lines) + 0.6, 0.6), aspect="equal")
    axes.axis("off")
    return figure


def _on(row):
    return DARK_TILE if row < 0.6 * ROWS else LIGHT_TILE


if __name__ == "__main__":
    if sys.argv[1] == "lanes":
        RACE_RESULT.write_text(json.dumps(run_race(sys.argv[2]), indent=1) + "\n", encoding="utf-8")
        darken(report_figures.save(lanes(), PICTURES / "lanes.svg"))
    else:
        darken(report_figures.save(repair(Path(sys.argv[2])), PICTURES / "repair.svg"))
