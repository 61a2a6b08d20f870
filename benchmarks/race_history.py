"""Measure races with history: python benchmarks/race_history.py FOLDER [NAMES].

A random half of the columns of each table is history, the other half races. Calls as a ratio to the
race without side information, on the same orders:

incumbent   the best old candidate races too, with its answers on file; the race without calls it
history     the old candidates do not race
noise       history of independent random numbers

With --certify: rows until a confidence interval of one new column has a given width, with history
and without.
"""

from time import process_time
from typing import Any

import numpy as np

from measure import geometric_mean, random_orders, read_losses, table_parser
from tombola.engine.compiler import compiled
from tombola.evidence import Betting, PredictedMean
from tombola.racing.predictions import InformedRule
from tombola.racing.rules.best import Best
from tombola.racing.side_information import SideInformation

NAMES = (
    "alpacaeval_v2",
    "aslib_graphs_2015",
    "aslib_sat12_indu",
    "aslib_asp_potassco",
    "aslib_qbf_2014",
    "limeqo_job",
    "m3_forecasts",
    "aslib_sat11_indu",
    "swebench_bash",
)
CERTIFIED = ("swebench_bash", "alpacaeval_v2", "aslib_sat12_indu")
LEVEL = 0.05


def play(table: Any, orders: list[Any], known: Any, history: Any) -> tuple[float, int, float]:
    """Return mean calls, wrong winners, and microseconds per answer."""
    N, k = table.shape
    rule = Best(candidates=k, rows=N, population=N, level=LEVEL)
    race: Any = rule if known is None else InformedRule(rule, SideInformation(known, history))
    # Compile before the clock starts; short lists are interpreted by default.
    with compiled():
        race.play(table, orders[0])
    calls, wrong, start = [], 0, process_time()
    for order in orders:
        calls.append(race.play(table, order))
        wrong += table.sum(axis=0)[rule.leader] > table.sum(axis=0).min() + 1e-9
    return float(np.mean(calls)), int(wrong), (process_time() - start) / sum(calls) * 1e6


def split_columns(losses: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return a random half of the columns, the history, and the other half."""
    columns = rng.permutation(losses.shape[1])
    old, new = np.split(columns, [len(columns) // 2])
    return losses[:, old], np.ascontiguousarray(losses[:, new])


def measure(losses: Any, orders: list[Any], split: int) -> dict[str, tuple[float, int, float]]:
    """Return ratio of calls, wrong winners and time per answer by setting."""
    rng = np.random.default_rng(split)
    old, new = split_columns(losses, rng)
    best = int(np.argmin(old.mean(axis=0)))
    both, rest = (
        np.ascontiguousarray(np.column_stack([new, old[:, best]])),
        np.delete(old, best, axis=1),
    )
    unknown, results = np.full(new.shape, np.nan), {}
    with_incumbent, without = play(both, orders, None, None), play(new, orders, None, None)
    for name, table, known, history, base in (
        ("incumbent", both, np.column_stack([unknown, both[:, -1]]), rest, with_incumbent),
        ("history", new, unknown, old, without),
        ("noise", new, unknown, rng.random(old.shape), without),
    ):
        calls, wrong, time = play(table, orders, known, np.ascontiguousarray(history))
        results[name] = calls / base[0], wrong, time
    return results


def certify(losses: Any, orders: list[Any], split: int, within: float) -> tuple[float, float]:
    """Return mean rows to an interval of width 2 * within, without and with history.

    Each order uses one new column, by turns.
    """
    old, new = split_columns(losses, np.random.default_rng(split))
    counts = []
    for i, order in enumerate(orders):
        values = new[:, i % new.shape[1]]
        plain, predicted, rows = (
            Betting(population=len(losses), level=LEVEL),
            PredictedMean(old, LEVEL),
            [0, 0],
        )
        for n, row in enumerate(order.tolist(), 1):
            if not rows[0]:
                plain.extend([values[row]])
                rows[0] = n if plain.interval().width <= 2 * within else 0
            if not rows[1]:
                predicted.update(row, values[row])
                rows[1] = n if predicted.interval().width <= 2 * within else 0
            if all(rows):
                break
        counts.append(rows)
    without, with_history = np.mean(counts, axis=0)
    return float(without), float(with_history)


if __name__ == "__main__":
    parser = table_parser("Races with answers on file and history.")
    parser.add_argument("--orders", type=int, default=40, help="orders of each table")
    parser.add_argument("--split", type=int, default=0, help="seed of the halves")
    parser.add_argument(
        "--certify", type=float, help="measure certificates of one mean to within this tolerance"
    )
    chosen = parser.parse_args()
    ratios: dict[str, list[float]] = {}
    for name in chosen.names or (NAMES if chosen.certify is None else CERTIFIED):
        losses = read_losses(chosen.folder, name)
        orders, cells = random_orders(len(losses), chosen.orders), []
        if chosen.certify is not None:
            without, rows = certify(losses, orders, chosen.split, chosen.certify)
            ratios.setdefault("without / with history", []).append(without / rows)
            cells.append(
                f"{without:.0f} rows without history, {rows:.0f} with, ratio {without / rows:.2f}"
            )
        else:
            for setting, (ratio, wrong, time) in measure(losses, orders, chosen.split).items():
                ratios.setdefault(setting, []).append(ratio)
                cells.append(f"{setting} {ratio:.3f} (wrong {wrong}, {time:.1f} us)")
        print(f"{name:20}" + "  ".join(cells), flush=True)
    print("geometric means: ", {name: round(geometric_mean(r), 3) for name, r in ratios.items()})
