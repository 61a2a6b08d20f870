"""Power of tests and confidence sequences: `benchmarks/evidence.py [PARTS]`.

alpha         rows until "the mean is at most 1/2" is refuted, as in Stark (ALPHA: Risk-Limiting
              Audits, 2023)
small_means   rows for lists whose mean is at most .15, beside ALPHA
risk          how often a true hypothesis is refuted
widths        widths of confidence sequences
certificates  rows until an action is certified within .02 of the best, paired and unpaired
order         power of tests of random order, beside classical tests
long          power of the sequential test of random order on ten times as many rows
speed         time of one value, and of a million rows

All seeds are fixed. docs/theory/confidence.md names the lists that parameters were chosen on.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from measure import read_losses
from tombola import Pool, demo
from tombola._types import Floats
from tombola.evidence import (
    BernsteinSequence,
    Betting,
    Confidence,
    EProcess,
    HoeffdingSequence,
    RandomOrderTest,
    RowMonitor,
    order_verdict,
)

MEANS = (0.51, 0.52, 0.55, 0.6, 0.64, 0.7)
# Shuffles for each mean: fewer where a shuffle takes long, with standard errors of up to 2 %.
SHUFFLES = (1000, 1000, 10_000, 10_000, 10_000, 10_000)
# Mean rows of Stark's table, for each of MEANS.
PUBLISHED = {
    "ALPHA, eta .55, d 100": (9195, 3726, 676, 184, 105, 62),
    "the best entry": (7702, 3512, 578, 181, 85, 38),
}
POOLS = Path(__file__).parents[2] / "shared" / "pools"


def zero_one(rows: int, mean: float) -> Floats:
    """Return a list of 0 and 1 with this mean."""
    return (np.arange(rows) < round(mean * rows)).astype(float)


def shuffles(values: Floats, count: int, seed: int) -> Floats:
    """Return random permutations of a list, shape (rows, count)."""
    generator = np.random.default_rng(seed)
    return np.column_stack([generator.permutation(values) for _ in range(count)])


def print_line(name: str, numbers: Iterable[float], form: str) -> None:
    """Print a name and one number for each of MEANS."""
    print(f"{name:24}" + "".join(format(number, form) for number in numbers))


def alpha(rows: int = 20_000) -> None:
    """Print mean rows, their standard error, and ratios to published numbers."""
    print(f"rows until 'the mean is at most 1/2' is refuted: N = {rows:,}, risk 5 %")
    print_line("", MEANS, ">8")
    for name, published in PUBLISHED.items():
        print_line(name, published, "8,")
    print_line("shuffles", SHUFFLES, "8,")
    found, errors = [], []
    for mean, count in zip(MEANS, SHUFFLES, strict=True):
        parts = range(count // 100)
        needed = np.concatenate(
            [rows_needed(shuffles(zero_one(rows, mean), 100, part)) for part in parts]
        )
        found.append(needed.mean())
        errors.append(needed.std() / np.sqrt(needed.size))
    print_line("EProcess", found, "8,.0f")
    print_line("  standard error", errors, "8,.0f")
    for name, published in PUBLISHED.items():
        print_line(f"  / {name}", np.divide(found, published), "8.2f")


def rows_needed(table: Floats) -> Floats:
    """Return the rows until "the mean is at most 1/2" is refuted, for each column."""
    process = EProcess(at_most=0.5, population=table.shape[0], actions=table.shape[1])
    for start in range(0, table.shape[0], 500):
        process.extend(table[start : start + 500])
        if process.refuted.all():
            break
    return np.where(process.refuted, process.rows, table.shape[0]).astype(float)


# Bound that is refuted, and mean of the list: "the mean is at least .15", where it is .1.
SMALL_MEANS = {
    "at_least": ((0.15, 0.1), (0.15, 0.05), (0.1, 0.05), (0.05, 0.02), (0.1, 0.02), (0.05, 0.0)),
    "at_most": ((0.05, 0.1), (0.1, 0.15), (0.02, 0.05), (0.05, 0.14), (0.01, 0.03)),
}


def small_means(rows: int = 2000, count: int = 200) -> None:
    """Print mean rows of EProcess and of ALPHA, for lists whose mean is at most .15."""
    print(f"means up to .15: N = {rows:,}, risk 5 %, {count} shuffles; ALPHA with d = 100")
    print(f"{'refuted':18}{'mean':>6}{'EProcess':>10}{'ALPHA, halfway':>16}{'told the mean':>15}")
    for side, pairs in SMALL_MEANS.items():
        for bound, mean in pairs:
            lists = shuffles(zero_one(rows, mean), count, 0)
            hypothesis: dict[str, float] = {side: bound}
            process = EProcess(**hypothesis, population=rows, actions=count)
            process.extend(lists)
            ours = np.where(process.refuted, process.rows, rows).mean()
            flipped = side == "at_least"
            values = 1.0 - lists if flipped else lists
            edge = 1.0 - bound if flipped else bound
            truth = min(1.0 - mean if flipped else mean, 0.999)
            theirs = [alpha_rows(values, edge, told) for told in ((edge + truth) / 2, truth)]
            ratios = [f"{number:.0f} ({ours / number:.2f})" for number in theirs]
            print(f"{side:10}{bound:8}{mean:6}{ours:10.0f}{ratios[0]:>16}{ratios[1]:>15}")


def alpha_rows(values: Floats, bound: float, told: float, weight: float = 100.0) -> float:
    """Return the mean rows until ALPHA refutes "the mean is at most `bound`".

    values: shape (rows, shuffles). told: the mean that it is told, with the weight of so many rows
    (Stark 2023, section 2.5.2, c = (told - bound) / 2).
    """
    rows, count = values.shape
    total = np.zeros(count)
    wealth = np.zeros(count)
    needed = np.full(count, rows)
    for n in range(rows):
        null = np.clip((rows * bound - total) / (rows - n), 1e-12, 1.0 - 1e-9)
        least = null + (told - bound) / 2 / np.sqrt(weight + n)
        guess = np.clip((weight * told + total) / (weight + n), least, 1.0 - 1e-9)
        factor = values[n] * guess / null + (1.0 - values[n]) * (1.0 - guess) / (1.0 - null)
        wealth += np.log(np.maximum(factor, 1e-300))
        total += values[n]
        needed = np.where((wealth >= np.log(20)) & (needed == rows), n + 1, needed)
    return float(needed.mean())


def risk(count: int = 10_000) -> None:
    """Print how often "the mean is at most 1/2" is refuted for lists with mean 1/2."""
    print(
        "how often 'the mean is at most 1/2' is refuted where the mean is 1/2: 5 % allowed, "
        f"{count:,} shuffles"
    )
    generator = np.random.default_rng(0)
    half = generator.random(5000)
    lists = {
        "0 and 1, N = 20,000": zero_one(20_000, 0.5),
        "0 and 1, N = 200": zero_one(200, 0.5),
        "spread out, N = 10,000": np.concatenate([half, 1 - half]),
        "rare large ones, N = 1,000": np.concatenate(
            [np.full(950, 0.5), np.repeat([0.0, 1.0], 25)]
        ),
    }
    for name, values in lists.items():
        wrong = 0
        for part in range(count // 250):
            process = EProcess(at_most=0.5, population=values.size, actions=250)
            process.extend(shuffles(values, 250, part))
            wrong += int(process.refuted.sum())
        print(f"{name:28}{wrong / count:.4f}")


def beta_lists(rows: int = 60_000) -> Iterator[tuple[float, float, Floats]]:
    """Yield (mean, variance as a share of its maximum for the mean, list)."""
    generator = np.random.default_rng(5)
    for mean in (0.02, 0.1, 0.3, 0.5):
        yield mean, 0.0, np.full(rows, mean)
        for share in (0.01, 0.1, 0.3, 0.6):
            scale = 1 / share - 1
            yield mean, share, generator.beta(mean * scale, (1 - mean) * scale, rows)
        yield mean, 1.0, zero_one(rows, mean)


def widths(count: int = 20) -> None:
    """Print mean widths after 100, 1,000 and 5,000 rows, and ratios of Betting."""
    methods: tuple[type[Confidence], ...] = (HoeffdingSequence, BernsteinSequence, Betting)
    looks, worst = (0, 100, 1000, 5000), np.zeros(3)
    print(
        f"mean width, level 5 %, N = 60,000, {count} shuffles: Hoeffding, Bernstein, Betting, at "
        "100 | 1,000 | 5,000"
    )
    for mean, share, values in beta_lists():
        table, found = shuffles(values, count, 99)[:5000], np.zeros((3, 3))
        for index, method in enumerate(methods):
            sequence = method(population=values.size, actions=count)
            for look in range(3):
                sequence.extend(table[looks[look] : looks[look + 1]])
                found[index, look] = (sequence.highs - sequence.lows).mean()
        worst = np.maximum(worst, found[2] / found[:2].min(axis=0))
        cells = " | ".join(" ".join(f"{x:.4f}" for x in found[:, look]) for look in range(3))
        print(f"mean {mean:<5}variance {share:<5}of the largest   {cells}", flush=True)
    print("Betting / the narrower of the others, at most:", *(f"{ratio:.3f}" for ratio in worst))


def certificates(count: int = 20, within: float = 0.02) -> None:
    """Print the median rows to a certificate, with paired differences and without."""
    names = (
        "frugalml_rafdb",
        "frugalml_yelp",
        "frugalml_command",
        "routellm_mmlu",
        "routellm_gsm8k",
        "m3_forecasts",
        "limeqo_ceb",
        "alpacaeval_v2",
        "swebench_bash",
    )
    pools = {"demo.evaluation": demo.evaluation(seed=0)}
    pools |= {
        name: Pool(read_losses(POOLS, name)) for name in names if (POOLS / f"{name}.npz").exists()
    }
    print(
        f"rows until an action is within {within:g} of the best, level 5 %, median of {count} "
        "shuffles"
    )
    print(f"{'pool':20}{'rows':>8}{'actions':>9}{'hybrid':>9}{'unpaired':>10}{'ratio':>8}")
    for name, pool in pools.items():
        both = np.array([rows_to_certify(pool, seed, within) for seed in range(100, 100 + count)])
        hybrid, unpaired = np.median(both, axis=0)
        print(
            f"{name:20}{pool.rows:8,}{pool.k:9}{hybrid:9,.0f}{unpaired:10,.0f}{unpaired / hybrid:8.1f}",
            flush=True,
        )


def rows_to_certify(pool: Pool, seed: int, within: float) -> tuple[int, int]:
    """Return the rows to a hybrid certificate, and to one from intervals alone."""
    rows = np.random.default_rng(seed).permutation(pool.losses)
    monitor = RowMonitor(pool.actions, pool.rows)
    intervals = Betting(population=pool.rows, level=0.05 / pool.k, actions=pool.k)
    found: list[int] = [0, 0]
    start = 0
    while start < pool.rows and 0 in found:
        stop = max(start + 10, int(start * 1.02))
        if not found[0]:
            monitor.extend(rows[start:stop])
            found[0] = min(stop, pool.rows) if monitor.certificate().certified(within) else 0
        if not found[1]:
            intervals.extend(rows[start:stop])
            gap = min(
                intervals.highs[a] - np.delete(intervals.lows, a).min() for a in range(pool.k)
            )
            found[1] = min(stop, pool.rows) if gap <= within else 0
        start = stop
    return found[0] or pool.rows, found[1] or pool.rows


def ordered_list(kind: str, generator: np.random.Generator, rows: int = 2000) -> Floats:
    """Return a list with a deviation from random order of some kind."""
    n, coin = np.arange(rows), generator.random(rows)
    half = n < rows // 2
    lists: dict[str, Callable[[], object]] = {
        "random": lambda: coin < 0.3,
        "step, small": lambda: coin < np.where(half, 0.3, 0.38),
        "step, large": lambda: coin < np.where(half, 0.3, 0.45),
        "late step": lambda: coin < np.where(n < 0.9 * rows, 0.1, 0.3),
        "drift, small": lambda: coin < 0.3 + 0.14 * n / rows,
        "drift, large": lambda: coin < 0.3 + 0.3 * n / rows,
        "period, small": lambda: coin < 0.3 + 0.1 * np.sin(2 * np.pi * n / 200),
        "period, large": lambda: coin < 0.3 + 0.2 * np.sin(2 * np.pi * n / 200),
        "every other": lambda: coin < np.where(n % 2 == 0, 0.2, 0.4),
        "every other, small": lambda: coin < np.where(n % 2 == 0, 0.26, 0.34),
        "sorted": lambda: np.sort(coin),
        "a tenth sorted": lambda: np.concatenate(
            [coin[: -rows // 10], np.sort(coin[-rows // 10 :])]
        ),
        "tail": lambda: np.where(half | (generator.random(rows) >= 0.05), coin, 0.999),
        "spread": lambda: np.where(half, coin, 0.15 + 0.7 * coin),
        "150 sorted": lambda: np.concatenate([np.sort(coin[:150]), coin[150:]]),
    }
    return np.asarray(lists[kind](), np.float64)


def runs_test(values: Floats) -> float:
    """Return the p-value of the runs test (Wald and Wolfowitz 1940)."""
    from statsmodels.sandbox.stats.runs import runstest_1samp

    return float(runstest_1samp(values, cutoff="mean", correction=False)[1])


def ljung_box(values: Floats) -> float:
    """Return the p-value of ten autocorrelations (Ljung and Box 1978)."""
    from statsmodels.stats.diagnostic import acorr_ljungbox

    return float(acorr_ljungbox(values, lags=[10])["lb_pvalue"].iloc[0])


def cusum(values: Floats) -> float:
    """Return the p-value of the largest cumulative sum, by its Brownian bridge."""
    from scipy.special import kolmogorov

    sums = np.cumsum(values - values.mean())
    return float(kolmogorov(np.abs(sums).max() / (values.std() * np.sqrt(values.size))))


def order(count: int = 500, level: float = 0.01) -> None:
    """Print the power of tests of random order on lists of 2,000 rows."""
    kinds = (
        "random",
        "step, small",
        "step, large",
        "late step",
        "drift, small",
        "drift, large",
        "period, small",
        "period, large",
        "every other",
        "every other, small",
        "tail",
        "spread",
        "150 sorted",
        "a tenth sorted",
        "sorted",
    )
    print(
        f"share of {count} lists of 2,000 rows found out, false alarms {level:.0%}: check-order, "
        "and as rows come"
    )
    print(f"{'':20}{'order':>10}{'live':>10}{'runs':>10}{'Ljung-Box':>10}{'CUSUM':>10}")
    for index, kind in enumerate(kinds):
        found = np.zeros(5)
        for seed in range(count):
            values = ordered_list(kind, np.random.default_rng([12, index, seed]))
            others = [test(values) < level for test in (runs_test, ljung_box, cusum)]
            live = RandomOrderTest(level=level, seed=seed).extend(values)
            found += [order_verdict(values, level, seed=seed).refuted, live, *others]
        print(f"{kind:20}" + "".join(f"{share:10.2f}" for share in found / count), flush=True)


def long(count: int = 300, rows: int = 20_000) -> None:
    """Print the power of the sequential test on long lists with small effects."""
    n = np.arange(rows)
    half, late = n < rows // 2, n >= 0.9 * rows
    kinds = {
        "random": np.full(rows, 0.3),
        "step from .2 to .23": np.where(half, 0.2, 0.23),
        "step from .6 to .57": np.where(half, 0.6, 0.57),
        "late step from .1 to .16": np.where(late, 0.16, 0.1),
        "drift from .3 by .06": 0.3 + 0.06 * n / rows,
        "period of 2,000, .05": 0.4 + 0.05 * np.sin(2 * np.pi * n / 2000),
    }
    print(f"share of {count} lists of {rows:,} rows found out as rows come, false alarms 1%")
    for index, (kind, share) in enumerate(kinds.items()):
        found = 0
        for seed in range(count):
            values = (np.random.default_rng([21, index, seed]).random(rows) < share).astype(float)
            found += RandomOrderTest(level=0.01, seed=seed).extend(values)
        print(f"{kind:28}{found / count:.2f}", flush=True)


def speed() -> None:
    """Print the processor time of one value, and of a certificate from a million rows."""
    generator = np.random.default_rng(0)
    values = generator.random(1_000_000)
    methods: Any = (HoeffdingSequence, BernsteinSequence, Betting, partial(EProcess, at_most=0.5))
    for method in methods:
        statistic = method(population=2_000_000)
        start = process_time()
        statistic.extend(values)
        print(f"{type(statistic).__name__:20}{1e3 * (process_time() - start):8.0f} ns a value")
    rows = np.column_stack([values, np.minimum(1.0, values + 0.001 * generator.random(1_000_000))])
    RowMonitor(["a", "b"], 1_000_000).certificate()
    monitor = RowMonitor(["a", "b"], 1_000_000)
    start = process_time()
    for first in range(0, 1_000_000, 50_000):
        monitor.extend(rows[first : first + 50_000])
        certificate = monitor.certificate()
    print(f"a million rows of two actions: {process_time() - start:.2f} s, {certificate}")


PARTS: tuple[Callable[[], None], ...] = (
    alpha,
    small_means,
    risk,
    widths,
    certificates,
    order,
    long,
    speed,
)

if __name__ == "__main__":
    parts = {part.__name__: part for part in PARTS}
    for name in sys.argv[1:] or parts:
        parts[name]()
        print()
