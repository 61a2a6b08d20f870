"""Compare the race with other methods: python benchmarks/race.py FOLDER [NAMES].

The race does not need the fewest calls. irace's F-race and t-race test after every row and stop
much sooner; so do methods with a fixed budget of calls (sequential halving, successive rejects,
UCB-E). Their error rate is unknown beforehand; the same holds for Optuna's WilcoxonPruner and for
repeated t-tests with Bonferroni's correction. The race has a guarantee for every table and any
number of looks: wrong with probability at most the level. F-race compares ranks and the race
compares mean losses; where the two differ, F-race is not wrong by its own criterion.

All methods see the same shuffles. Methods that need a budget get the mean number of calls of the
race on that table, and UCB-E also gets the true gaps. Optuna is the real package (extra `bench`).
irace is a port of its tests, and the real package too where Rscript and its package irace are
installed (Debian: r-cran-irace). Methods that take minutes per table run on the first shuffles
only: a note prints the number.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any, TypeAlias

import numpy as np

from measure import random_orders, read_losses, table_parser
from race_irace import f_race, irace, t_race
from race_peers import halving, rejects, t_bonferroni, ucb_e, unpaired, wilcoxon_pruner
from tombola.pool import Pool
from tombola.racing import Race, plan
from tombola.racing.rules.best import Best

Table: TypeAlias = Any
Method: TypeAlias = Callable[[Table, Any, int], tuple[int, int]]

LEVEL = 0.05
# A lead in mean loss below this is a near tie.
NEAR_TIE = 0.01
SHUFFLES = 40
# Table -> largest share of all calls.
TARGETS = {
    "alpacaeval_v2": 0.034,
    "m3_forecasts": 0.27,
    "aslib_sat12_indu": 0.16,
    "swebench_bash": 0.24,
    "routellm_gsm8k": 0.055,
    "aslib_asp_potassco": 0.26,
}
OTHERS = (
    "aslib_csp_mzn_2013",
    "aslib_graphs_2015",
    "aslib_qbf_2014",
    "aslib_sat11_indu",
    "limeqo_job",
)


@dataclass
class Score:
    """Calls and wrong winners of a method; also on near ties."""

    name: str
    shares: dict[str, float]
    runs: int = 0
    wrong: int = 0
    near_runs: int = 0
    near_wrong: int = 0

    def add(self, name: str, table: Table, found: Sequence[tuple[int, int]]) -> None:
        """Count the runs on one table."""
        means = table.mean(axis=0)
        best, second = np.sort(means)[:2]
        wrong = sum(means[winner] > best + 1e-12 for _, winner in found)
        self.shares[name] = float(np.mean([calls for calls, _ in found])) / table.size
        self.runs, self.wrong = self.runs + len(found), self.wrong + int(wrong)
        if second - best < NEAR_TIE:
            self.near_runs, self.near_wrong = (
                self.near_runs + len(found),
                self.near_wrong + int(wrong),
            )


def tombola_race(table: Table, order: Any, budget: int) -> tuple[int, int]:
    rule = Best(candidates=table.shape[1], rows=len(table), population=len(table), level=LEVEL)
    return rule.play(table, order), rule.leader


def run_everything(table: Table, order: Any, budget: int) -> tuple[int, int]:
    return table.size, int(np.argmin(table.sum(axis=0)))


METHODS: dict[str, Method] = {
    "run everything": run_everything,
    "tombola race": tombola_race,
    "irace's F-race, port": f_race,
    "irace's t-race, port": t_race,
    "t-test, Bonferroni, from row 50": t_bonferroni,
    "sequential halving": halving,
    "successive rejects": rejects,
    "UCB-E with the true gaps": ucb_e,
    "unpaired certificate": unpaired,
    "Optuna WilcoxonPruner": wilcoxon_pruner,
}
# Minutes per table, as the real irace: fewer shuffles.
SLOW = ("Optuna WilcoxonPruner",)


def measure(folder: Path, names: Sequence[str], slow: int) -> list[Score]:
    """Run all methods on all tables; slow methods on the first `slow` shuffles only."""
    scores = {name: Score(name, {}) for name in [*METHODS, "irace's F-race", "irace's t-race"]}
    for name in names:
        table = read_losses(folder, name)
        orders = random_orders(len(table), SHUFFLES)
        budget = int(np.mean([tombola_race(table, order, 0)[0] for order in orders]))
        for title, method in METHODS.items():
            shuffles = slow if title in SLOW else len(orders)
            if shuffles:
                scores[title].add(
                    name, table, [method(table, order, budget) for order in orders[:shuffles]]
                )
        for test in ("F", "t"):
            found = irace(table, orders[:slow], test)
            if found is not None:
                scores[f"irace's {test}-race"].add(name, table, found)
        print(f"measured: {name}", file=sys.stderr, flush=True)
    return [score for score in scores.values() if score.runs]


def print_scores(scores: list[Score]) -> None:
    """Print calls and wrong winners, and the calls of the race with their targets."""
    print(f"{'':34}{'calls, mean of tables':>22}{'wrong':>12}{'wrong, near ties':>18}")
    for score in scores:
        share = float(np.mean(list(score.shares.values())))
        near = f"{score.near_wrong} of {score.near_runs}"
        print(f"{score.name:34}{share:>21.1%} {f'{score.wrong} of {score.runs}':>12}{near:>18}")
    [race] = [score for score in scores if score.name == "tombola race"]
    for name, share in race.shares.items():
        target = TARGETS.get(name, 0.0)
        verdict = f"target {target}: {'reached' if share <= target else 'MISSED'}" if target else ""
        print(f"  tombola race on {name:22}{share:>8.4f}  {verdict}")


def print_speed(rows: int = 10_000) -> None:
    """Print the time of one answer: compiled, and live early and late."""
    rng = np.random.default_rng(0)
    table = (rng.random((rows, 100)) < 0.4).astype(float)
    # No candidate is dropped at this level.
    rule = Best(candidates=100, rows=rows, population=rows, level=1e-300)
    order = rng.permutation(rows).astype(np.uint32)
    rule.play(table, order)
    started = process_time()
    nanoseconds = 1e9 / rule.play(table, order) * (process_time() - started)
    print(f"compiled, {rows:,} rows x 100 candidates: {nanoseconds:.0f} ns an answer (< 1000)")
    for k in (2, 100):
        race = Race([str(a) for a in range(k)], rows, seed=1, level=1e-300, answers="fixed")
        times: list[float] = []
        while len(times) < 20:
            started, answers = process_time(), 0
            while answers < 500:
                for call in race.calls():
                    race.record(call, loss=float(table[call.row_index, int(call.candidate)]))
                    answers += 1
            times.append((process_time() - started) / answers * 1e6)
        first, last = np.median(times[:5]), np.median(times[-5:])
        print(
            f"live, {k} candidates: {first:.1f} us an answer at first, {last:.1f} us later (< 50)"
        )


def main(folder: Path, names: Sequence[str], slow: int) -> None:
    print_speed()
    print_scores(measure(folder, names or [*TARGETS, *OTHERS], slow))
    for within in (0.01, 0.02, 0.05):
        for name in ("swebench_bash", "aslib_sat11_indu"):
            [one] = plan(Pool(read_losses(folder, name)), seed=1, shuffles=SHUFFLES, within=within)
            print(
                f"  within {within} of the best, {name}: {one.share:.3f} of all calls, wrong "
                f"{one.wrong:.3f}"
            )


if __name__ == "__main__":
    parser = table_parser("The race against its peers.")
    parser.add_argument(
        "--slow", type=int, default=5, help="shuffles of the methods that take minutes; 0: none"
    )
    chosen = parser.parse_args()
    main(chosen.folder, chosen.names, chosen.slow)
