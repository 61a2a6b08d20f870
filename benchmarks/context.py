"""Routing by features on real tables: regret, budgets, delays, speed and memory.

    python benchmarks/context.py full POOLS --orders 10      share of the gap, rows against the safe
                                                             learner
    python benchmarks/context.py delay POOLS --orders 10     the same with feedback 50 and 200 rows
                                                             late
    python benchmarks/context.py hostile POOLS --orders 10   rows lost by hostile models
                                                             (PYTHONPATH=tests)
    python benchmarks/context.py budget POOLS --orders 5     share from the best fixed mix to the
                                                             best choice per row
    python benchmarks/context.py speed POOLS                 time per row and per live decision,
                                                             memory at 40,000 rows

POOLS is a folder of tables as .npz with `loss`, `X` and, for budgets, `cost`. "share" is (best
fixed action - learner) / (best fixed action - best action of every row), in per cent, over the
whole list, averaged over the guard's draws.
"""

import argparse
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from measure import standard_error
from tombola import Budget, Pool, Session, play
from tombola.budget.optimum import best_per_row, optimum
from tombola.learners import EmpiricalLP
from tombola.policies import Routed, RoutedLP

TABLES = (
    "aslib_asp_potassco",
    "aslib_graphs_2015",
    "aslib_qbf_2014",
    "aslib_sat11_indu",
    "aslib_sat12_indu",
    "frugalml_command",
    "frugalml_rafdb",
    "frugalml_yelp",
    "m3_forecasts",
    "routellm_gsm8k",
    "routellm_mmlu",
    "alpacaeval_v2",
    "swebench_bash",
)
DELAYED = ("aslib_asp_potassco", "aslib_qbf_2014")
BUDGETED = (
    "bank_calls",
    "frugalml_yelp",
    "frugalml_command",
    "frugalml_rafdb",
    "routellm_mmlu",
    "alpacaeval_v2",
    "routellm_gsm8k",
    "swebench_bash",
)
# Largest numbers of rows.
MAX_ROWS, BUDGET_ROWS = 40_000, 5_000
BUDGET_SHARES = (0.1, 0.3, 0.6)


def read_pool(folder: Path, name: str, rows: int, seed: int = 0) -> Pool:
    """Return a pool of at most `rows` random rows; some files are sorted."""
    with np.load(folder / f"{name}.npz") as file:
        chosen = np.sort(np.random.default_rng(seed).permutation(len(file["loss"]))[:rows])
        costs = file["cost"][chosen].astype(np.float64) if "cost" in file.files else None
        features = file["X"][chosen].astype(np.float64)
        return Pool(file["loss"][chosen].astype(np.float64), costs=costs, features=features)


def share(pool: Pool, loss: float) -> float:
    """Return the share of the gap that a total loss closes, in per cent."""
    fixed, oracle = float(pool.means.min()), float(np.asarray(pool.losses).min(axis=1).mean())
    return 100 * (fixed - loss / pool.rows) / (fixed - oracle)


def full(pools: Path, orders: int, names: tuple[str, ...], delays: tuple[int, ...] = (0,)) -> None:
    """Print shares, and the largest excess of Routed over the safe learner in rows."""
    print(
        f"{'table':22} {'delay':>5} {'guarded':>8} {'+-':>5} {'router':>8} {'safe':>8} "
        f"{'rows worse':>10} "
        f"{'ms a row':>8}   {orders} orders"
    )
    for name in names:
        pool = read_pool(pools, name, MAX_ROWS)
        for delay in delays:
            began = time.process_time()
            traces = [play(Routed(), pool, delay=delay, seed=seed) for seed in range(orders)]
            ms = 1e3 * (time.process_time() - began) / orders / pool.rows
            shares = np.array(
                [
                    [
                        share(pool, loss)
                        for loss in (
                            trace.expected_loss,
                            trace.router.router_loss,
                            trace.router.safe_loss,
                        )
                    ]
                    for trace in traces
                ]
            )
            guarded, router, safe = shares.mean(axis=0)
            error = standard_error(shares[:, 0])
            worse = max(trace.expected_loss - trace.router.safe_loss for trace in traces)
            print(
                f"{name:22} {delay:5} {guarded:8.2f} {error:5.2f} {router:8.2f} {safe:8.2f} "
                f"{worse:10.2f} {ms:8.2f}",
                flush=True,
            )


def hostile(pools: Path, orders: int, names: tuple[str, ...]) -> None:
    """Print the largest excess of Routed with hostile models over the safe learner."""
    from hostile_models import KINDS, HostileModel

    print(
        f"{'table':22} {' '.join(f'{kind:>14}' for kind in KINDS)}   {orders} orders, risk "
        f"{Routed().risk:g}"
    )
    for name in names:
        pool = read_pool(pools, name, MAX_ROWS)
        numbered = Pool(pool.losses, features=np.arange(pool.rows))
        worst = []
        for kind in KINDS:
            routed = Routed(models=(HostileModel(kind, np.asarray(pool.losses)),))
            traces = (play(routed, numbered, seed=seed) for seed in range(orders))
            worst.append(max(trace.expected_loss - trace.router.safe_loss for trace in traces))
        print(f"{name:22} {' '.join(f'{rows:14.9f}' for rows in worst)}", flush=True)


def one_price_loss(losses: Any, costs: Any, rate: float) -> float:
    """Return the least mean loss of argmin(loss + price * cost) within the rate.

    With equal costs in all rows it may leave much of the budget unspent, and then exceeds
    `best_per_row`.
    """
    index, least = np.arange(len(losses)), 1.0
    for price in np.concatenate([[0.0], np.geomspace(1e-6, 1e6, 600) / costs.max()]):
        chosen = (losses + price * costs).argmin(axis=1)
        if costs[index, chosen].mean() <= rate:
            least = min(least, float(losses[index, chosen].mean()))
    return least


def budget(pools: Path, orders: int, names: tuple[str, ...]) -> None:
    """Print losses under budgets, and the share of the gap to the best per row.

    Two comparators per row: the exact one (a linear program over all rows), and the best single
    price.
    """
    print(
        f"{'table':18} budget  mix   EmpLP  routed  share exact / one price  overspent   "
        f"{orders} orders"
    )
    for name in names:
        for part in BUDGET_SHARES:
            figures, overspent = [], 0
            for seed in range(orders):
                pool = read_pool(pools, name, BUDGET_ROWS, seed)
                costs = np.asarray(pool.costs, np.float64).reshape(pool.rows, pool.k)
                amount = part * float(costs[:, pool.best].sum())
                limits = Budget(amount, null="add")
                routed = play(RoutedLP(), pool, budget=limits, seed=seed)
                overspent += routed.costs.sum() > amount * (1 + 1e-9)
                plain = play(EmpiricalLP(), pool, budget=limits, seed=seed)
                # The null action has loss 1 and cost 0.
                losses = np.column_stack([pool.losses, np.ones(pool.rows)])
                priced = one_price_loss(losses, np.pad(costs, ((0, 0), (0, 1))), amount / pool.rows)
                figures.append(
                    (
                        1 - optimum(pool, limits).value,
                        plain.loss / pool.rows,
                        routed.loss / pool.rows,
                        best_per_row(pool, limits),
                        priced,
                    )
                )
            mix, lp, loss, exact, priced = np.mean(figures, axis=0)
            shares = [100 * (mix - loss) / (mix - oracle) for oracle in (exact, priced)]
            print(
                f"{name:18} {part:4.0%}  {mix:.4f} {lp:.4f} {loss:.4f}  {shares[0]:5.1f} / "
                f"{shares[1]:5.1f}"
                f"  {overspent:5}",
                flush=True,
            )


def speed(pools: Path) -> None:
    """Print the time per row and per live decision, and the memory of a play."""
    for name in ("aslib_sat12_indu", "aslib_graphs_2015"):
        pool = read_pool(pools, name, MAX_ROWS)
        play(Routed(), read_pool(pools, name, 200), seed=0)  # compile
        began = time.process_time()
        play(Routed(), pool, seed=0)
        print(
            f"{name}: {1e3 * (time.process_time() - began) / pool.rows:.2f} ms a row, "
            f"{pool.rows} rows"
        )
    pool = read_pool(pools, "aslib_asp_potassco", 900)
    features, losses = np.asarray(pool.features), np.asarray(pool.losses)
    for label, router in (
        ("50 trees", Routed(models=Routed().models[:1])),
        ("default models", Routed()),
    ):
        session = Session(router, pool.k, pool.rows, features=features.shape[1], seed=0)
        times = []
        for row, loss in zip(features, losses, strict=True):
            before = (session.state.trained_on, time.process_time())
            ticket = session.act(row)
            times.append((time.process_time() - before[1], session.state.trained_on == before[0]))
            session.observe(ticket, loss=loss)
        after = [seconds for seconds, same in times[100:] if same]
        median, high = 1e6 * np.quantile(after, (0.5, 0.95))
        print(f"live act, {label}: median {median:.0f} us, 95 % {high:.0f} us")
    pool = read_pool(pools, "frugalml_command", MAX_ROWS)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    play(Routed(), pool, seed=0)
    after_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"frugalml_command, {pool.rows} rows: "
        f"{1e3 * (time.process_time() - began) / pool.rows:.2f} ms a row; "
        f"peak memory {after_kb / 1024:.0f} MB, {before_kb / 1024:.0f} MB before"
    )


PARTS: dict[str, tuple[Callable[[Path, int, tuple[str, ...]], None], tuple[str, ...]]] = {
    "full": (full, TABLES),
    "delay": (partial(full, delays=(50, 200)), DELAYED),
    "hostile": (hostile, TABLES),
    "budget": (budget, BUDGETED),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=[*PARTS, "speed"])
    parser.add_argument("pools", type=Path)
    parser.add_argument("--orders", type=int, default=3)
    parser.add_argument("--tables", default="", help="names, separated by commas")
    given = parser.parse_args()
    names = tuple(name for name in given.tables.split(",") if name)
    if given.what == "speed":
        speed(given.pools)
        return
    part, default = PARTS[given.what]
    part(given.pools, given.orders, names or default)


if __name__ == "__main__":
    main()
