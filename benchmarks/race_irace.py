"""F-race and t-race of irace: the R package, and a port about 100 times faster.

irace tests after the fifth row and after every later row. The F-race compares ranks: Friedman's
test of all active candidates; if it rejects, candidates too far behind the first in the sum of
ranks are dropped; Wilcoxon's test when two are left. The t-race drops candidates that a paired
t-test finds worse than the smallest mean. Neither corrects for the number of looks or of
candidates, and both drop a candidate that was never better than the leader.

The port leaves out one thing: with two left, R's Wilcoxon test also estimates by how much they
differ, by a search that stops near 0 where losses are only 0 and 1, and irace drops one or the
other by the sign of that estimate; here it is the sign of the sum of ranks. `python
benchmarks/race_irace.py FOLDER NAME` compares the two, run by run.
"""

import math
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from measure import random_orders, read_losses, table_parser

CONFIDENCE = 0.95
# Rows before the first test.
FIRST_TEST = 5
# Seconds for one run of irace; longer runs are left out.
TIMEOUT = 1200.0

SCRIPT = """
suppressMessages(library(irace))
# statistics that are only printed, and take most of the time
assignInNamespace("concordance", function(data) list(kendall.w = NA_real_, spearman.rho = NA_real_), "irace")
assignInNamespace("dataVariance", function(data) NA_real_, "irace")
arguments <- commandArgs(trailingOnly = TRUE)
table <- as.matrix(read.csv(arguments[1], header = FALSE)); k <- ncol(table)
parameters <- readParameters(text = sprintf('a "" c (%s)', paste0('"', seq_len(k), '"', collapse = ",")))
calls <- 0
runner <- function(experiment, scenario) {
  calls <<- calls + 1
  list(cost = table[as.integer(experiment$id.instance), as.integer(experiment$configuration$a)])
}
scenario <- list(targetRunner = runner, instances = seq_len(nrow(table)), sampleInstances = FALSE, deterministic = TRUE,
  testType = arguments[2], maxExperiments = nrow(table) * k + k, nbIterations = 1, nbConfigurations = k,
  initConfigurations = data.frame(a = as.character(seq_len(k))), minNbSurvival = 1, elitist = FALSE, logFile = "",
  digits = 4, debugLevel = 0, seed = 1)
invisible(capture.output(log <- irace(scenario = scenario, parameters = parameters)))
cat(calls, log$a[1], "\\n")
"""


def irace(table: Any, orders: Sequence[Any], test: str) -> list[tuple[int, int]] | None:
    """Run irace with its defaults, one iteration; None without the R package."""
    if shutil.which("Rscript") is None:
        return None
    return [found for order in orders if (found := _irace(table[order], test)) is not None] or None


def _irace(table: Any, test: str) -> tuple[int, int] | None:
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(Path(folder) / "table.csv", table, delimiter=",")
        (Path(folder) / "race.R").write_text(SCRIPT, encoding="utf-8")
        command = ["Rscript", "race.R", "table.csv", f"{test}-test"]
        try:
            ran = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, check=False, timeout=TIMEOUT
            )
        except subprocess.TimeoutExpired:
            return None
        words = ran.stdout.split()
        return (
            (int(words[0]), int(words[1]) - 1) if ran.returncode == 0 and len(words) == 2 else None
        )


def f_race(table: Any, order: Any, budget: int) -> tuple[int, int]:
    """Run the port of the F-race; the winner has the smallest sum of ranks."""
    return _port(table, order, Ranks)


def t_race(table: Any, order: Any, budget: int) -> tuple[int, int]:
    """Run the port of the t-race; the winner has the smallest mean."""
    return _port(table, order, Means)


def _port(table: Any, order: Any, kind: "type[Ranks] | type[Means]") -> tuple[int, int]:
    active, calls = np.arange(table.shape[1]), 0
    seen = kind(table[order][:0])
    for n in range(1, len(table) + 1):
        calls += len(active)
        seen.add(table[order[n - 1], active])
        if n >= FIRST_TEST:
            keep = seen.test()
            if not keep.all():
                active = active[keep]
                seen = kind(table[np.ix_(order[:n], active)])
        if len(active) == 1:
            break
    return calls, int(active[np.argmin(seen.order)])


class Ranks:
    """Ranks of the active candidates; `order` sorts them, the best first."""

    def __init__(self, rows: Any) -> None:
        self.count, self.differences = len(rows), [float(row[0] - row[-1]) for row in rows]
        ranks = stats.rankdata(rows, axis=1) if len(rows) else np.zeros((0, rows.shape[1]))
        self.order = ranks.sum(axis=0)
        self.squares = float((ranks**2).sum())

    def add(self, row: Any) -> None:
        """Add the losses of one row."""
        ranks = stats.rankdata(row)
        self.count += 1
        self.differences.append(float(row[0] - row[-1]))
        self.order = self.order + ranks
        self.squares += float((ranks**2).sum())

    def test(self) -> Any:
        """Return a mask of the candidates that stay in the race."""
        return self._wilcoxon() if len(self.order) == 2 else self._friedman()

    def _friedman(self) -> Any:
        n, k, alpha = self.count, len(self.order), 1 - CONFIDENCE
        spread = (
            self.squares - n * k * (k + 1) ** 2 / 4
        )  # Friedman's denominator, corrected for ties
        if spread <= 1e-9 * n:
            return np.ones(k, bool)
        statistic = (k - 1) * ((self.order - n * (k + 1) / 2) ** 2).sum() / spread
        if stats.chi2.sf(statistic, k - 1) >= alpha:
            return np.ones(k, bool)
        rest = 2 * (n * self.squares - (self.order**2).sum()) / ((n - 1) * (k - 1))
        reach = stats.t.ppf(1 - alpha / 2, (n - 1) * (k - 1)) * np.sqrt(max(rest, 0.0))
        return self.order - self.order.min() <= reach

    def _wilcoxon(self) -> Any:
        d = np.array(self.differences)
        if (d <= 0).all():
            return np.array([True, False])
        if (d >= 0).all():
            return np.array([False, True])
        rest = d[d != 0]
        ranks, n = stats.rankdata(abs(rest)), len(rest)
        above = ranks[rest > 0].sum() - n * (n + 1) / 4
        if n < 50 and n == len(d) and len(np.unique(ranks)) == n:
            p = float(stats.wilcoxon(rest, method="exact").pvalue)
        else:
            ties = np.unique(ranks, return_counts=True)[1].astype(float)
            deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24 - (ties**3 - ties).sum() / 48)
            p = math.erfc(abs(above - 0.5 * np.sign(above)) / deviation / math.sqrt(2))
        if p >= 1 - CONFIDENCE:
            return np.ones(2, bool)
        return np.array([above <= 0, above > 0])


class Means:
    """Sums of losses and paired differences; `order` sorts, the best first."""

    def __init__(self, rows: Any) -> None:
        k = rows.shape[1]
        self.count, self.order, self.own = 0, np.zeros(k), np.zeros(k)
        self.pairs, self.won = np.zeros((k, k)), np.zeros((k, k), bool)
        for row in rows:
            self.add(row)

    def add(self, row: Any) -> None:
        """Add the losses of one row."""
        d = row[None, :] - row[:, None]  # [a, b]: by how much b is worse than a in this row
        self.count += 1
        self.order = self.order + row
        self.own += row**2
        self.pairs += d**2
        self.won |= d < 0  # b was better than a once

    def test(self) -> Any:
        """Return a mask of the candidates that stay in the race."""
        n, best = self.count, int(np.argmin(self.order))
        gap = (self.order - self.order[best]) / n
        same = np.abs(gap) <= 1.5e-8 * np.maximum(np.abs(self.order[best] / n), 1e-300)
        constant = (self.own - self.order**2 / n) / (n - 1) < 10 * np.finfo(float).eps
        # irace drops these without a test.
        beaten = ~self.won[best] | constant | constant[best]
        variance = np.maximum(self.pairs[best] - n * gap**2, 0) / (n - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            p = 2 * stats.t.sf(gap / np.sqrt(variance / n), n - 1)
        return same | ~(beaten | (p < 1 - CONFIDENCE))


PORTS = {"F": f_race, "t": t_race}


def main(folder: Path, names: Sequence[str], shuffles: int) -> None:
    """Print calls and winners of irace and of the port, and the number of equal runs."""
    for name in names:
        table = read_losses(folder, name)
        for test, port in PORTS.items():
            orders = random_orders(len(table), shuffles)
            found = [irace(table, [order], test) for order in orders]
            mine = [port(table, order, 0) for order in orders]
            same = sum(theirs == [ours] for theirs, ours in zip(found, mine, strict=True))
            print(
                f"{name}, {test}: {same} of {shuffles} the same; irace {found}, port {mine}",
                flush=True,
            )


if __name__ == "__main__":
    parser = table_parser("The port of irace's tests against irace.", "+")
    parser.add_argument("--shuffles", type=int, default=1)
    chosen = parser.parse_args()
    main(chosen.folder, chosen.names, chosen.shuffles)
