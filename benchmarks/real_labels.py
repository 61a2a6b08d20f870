"""Draw the regret of decision stumps on real labels, shuffled and sorted: python benchmarks/real_labels.py FOLDER."""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from tombola import _statistics, play
from tombola.classification import ERM, LabelledPool, Stumps
from tombola.report.chart import Band, Chart, Line
from tombola.report.figures import draw_chart, save

SHUFFLES = 50


def chart(title: str, pool: LabelledPool) -> Chart:
    """Return the regret in random order, with its interval, and with the rows sorted by label and then by a feature."""
    learner = ERM(Stumps(pool.dimensions))
    curves = np.array([play(learner, pool, seed=seed).curve for seed in range(SHUFFLES)])
    rounds = np.unique(np.linspace(1, pool.rows, 60).astype(np.int64))
    means = [_statistics.mean(curves[:, t - 1]) for t in rounds]
    sorted_rows = np.lexsort((pool.features[:, 0], pool.labels))
    by_label = play(learner, pool, order=sorted_rows, seed=0).curve
    x = rounds.astype(np.float64)
    shuffled = Band(f"shuffled, mean of {SHUFFLES}", x, *(np.array([mean[i] for mean in means]) for i in range(3)))
    print(f"{title}: shuffled {curves[:, -1].mean():.1f} (sd {curves[:, -1].std():.1f}), by label {by_label[-1]:.0f}")
    return Chart(
        title=title,
        x_label="round",
        y_label="mistakes above the best stump",
        bands=(shuffled,),
        lines=(Line("sorted by label, then feature 0", x, by_label[rounds - 1]),),
        log_x=False,
        log_y=False,
    )


def main(folder: Path) -> None:
    """Draw both pictures."""
    cancer, digits = load_breast_cancer(return_X_y=True), load_digits(return_X_y=True)
    save(draw_chart(chart("Breast cancer", LabelledPool(*cancer))), folder / "breast_cancer.png")
    zero = LabelledPool(digits[0], (digits[1] == 0).astype(int))
    save(draw_chart(chart("Digits, 0 against the rest", zero)), folder / "digits.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
