"""The pictures of "What random order is", drawn when the site is built."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from tombola import FollowTheLeader, instances, play

ROWS, SEED = 12, 1
INK, FAINT = "#222222", "#bbbbbb"
COLORS = plt.get_cmap("viridis")(np.linspace(0.05, 0.95, ROWS))


def draw_all(folder):
    """Draw every picture into a folder."""
    folder.mkdir(exist_ok=True)
    style = {"font.size": 12, "svg.hashsalt": "tombola", "axes.spines.top": False, "axes.spines.right": False}
    with plt.rc_context(style):
        for picture in (shuffled, replacement, models, orders, collapse):
            figure = picture()
            figure.savefig(folder / f"{picture.__name__}.svg", bbox_inches="tight", metadata={"Date": None})
            plt.close(figure)


def shuffled():
    """The same twelve rows, as listed and shuffled."""
    order = np.random.default_rng(SEED).permutation(ROWS)
    return _lines({"as listed": np.arange(ROWS), "shuffled": order})


def replacement():
    """Twelve draws without replacement, and with; below each, what never came."""
    coins = np.random.default_rng(SEED)
    without, with_ = coins.permutation(ROWS), coins.integers(0, ROWS, ROWS)
    figure = _lines({"without\nreplacement": without, "with\nreplacement": with_})
    missing = sorted(set(range(ROWS)) - set(with_.tolist()))
    words = ", ".join(str(row + 1) for row in missing)
    figure.axes[0].text(0, -2.2, f"some rows come again, others never: {words}", color=INK)
    return figure


def models():
    """The three input models on the same rows."""
    coins = np.random.default_rng(SEED)
    return _lines(
        {"given": np.arange(ROWS), "random": coins.permutation(ROWS), "iid": coins.integers(0, ROWS, ROWS)},
    )


def orders():
    """The regret of one learner on one pool in the three orders, measured."""
    pool = instances.split(2000)
    figure, axes = plt.subplots(figsize=(7, 3.6))
    for model, color in zip(("given", "random", "iid"), ("#b3362b", "#1f5fa8", "#3c8d40"), strict=True):
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


def _side(model):
    return {"given": "center", "random": "bottom", "iid": "top"}[model]


def collapse():
    """How far the mean of what was seen is from the mean of the pool, drawn with and without replacement."""
    values = (np.arange(1000) < 300).astype(float)
    coins = np.random.default_rng(SEED)
    seen = np.arange(1, values.size + 1)
    figure, axes = plt.subplots(figsize=(7, 3.6))
    for name, color in (("with replacement", "#3c8d40"), ("without replacement", "#1f5fa8")):
        draws = [_draw(name, values, coins) for _ in range(400)]
        errors = [np.abs(np.cumsum(draw) / seen - values.mean()) for draw in draws]
        axes.plot(seen, np.mean(errors, axis=0), color=color, lw=2, label=name)
    axes.set(xlabel="rows seen, of 1,000", ylabel="mean error", ylim=(0, 0.06), title="What is seen, against the pool")
    axes.legend(frameon=False)
    return figure


def _draw(name, values, coins):
    return coins.choice(values, values.size, replace=name == "with replacement")


def _lines(lines):
    figure, axes = plt.subplots(figsize=(7.4, 0.95 * len(lines) + 0.1))
    for line, (name, rows) in enumerate(lines.items()):
        axes.text(-0.35, -1.25 * line, name, ha="right", va="center", color=INK)
        for place, row in enumerate(rows):
            axes.add_patch(plt.Rectangle((place, -1.25 * line - 0.45), 0.9, 0.9, color=COLORS[row]))
            axes.text(place + 0.45, -1.25 * line, str(row + 1), ha="center", va="center", color=_on(row))
    axes.set(xlim=(-2.6, ROWS), ylim=(-1.25 * len(lines) + 0.6, 0.6), aspect="equal")
    axes.axis("off")
    return figure


def _on(row):
    return "white" if row < 0.6 * ROWS else INK
