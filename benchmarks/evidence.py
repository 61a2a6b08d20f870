"""How sharp the evidence is: `python benchmarks/evidence.py [alpha risk widths certificates order long speed]`.

alpha         the table of Stark (ALPHA: Risk-Limiting Audits 2023), rows until "the mean is at most 1/2" is refuted
risk          how often a true statement is refuted
widths        intervals that hold at all counts, beside each other
certificates  rows until an action is known to be within .02 of the best, paired and unpaired
order         how often lists that are not in random order are seen, beside tests from the books
long          the same as rows come, of ten times as many rows
speed         one value, and a million rows

All seeds are fixed. docs/theory/confidence.md says what was chosen on which lists.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time

import numpy as np

from measure import read_losses
from tombola import Pool, demo
from tombola._types import Floats
from tombola.confidence import (
    BernsteinSequence,
    Betting,
    Confidence,
    EProcess,
    HoeffdingSequence,
    RandomOrderTest,
    RowMonitor,
    check_order,
)

MEANS = (0.51, 0.52, 0.55, 0.6, 0.64, 0.7)
PUBLISHED = {
    "ALPHA, eta .55, d 100": (9195, 3726, 676, 184, 105, 62),
    "the best entry": (7702, 3512, 578, 181, 85, 38),
}
POOLS = Path(__file__).parents[2] / "shared" / "pools"


def zero_one(rows: int, mean: float) -> Floats:
    """Return a list of 0 and 1 with this mean."""
    return (np.arange(rows) < round(mean * rows)).astype(float)


def shuffles(values: Floats, count: int, seed: int) -> Floats:
    """Return a table with a shuffle of the list in every column."""
    generator = np.random.default_rng(seed)
    return np.column_stack([generator.permutation(values) for _ in range(count)])


SHUFFLES = (1000, 1000, 10_000, 10_000, 10_000, 10_000)  # more where they are cheap: the errors are up to 2 % else


def alpha(rows: int = 20_000) -> None:
    """Print the mean number of rows, and its standard error, beside what is published."""
    print(f"rows until 'the mean is at most 1/2' is refuted: N = {rows:,}, risk 5 %")
    print(f"{'':24}" + "".join(f"{mean:>8}" for mean in MEANS))
    for name, published in PUBLISHED.items():
        print(f"{name:24}" + "".join(f"{number:8,}" for number in published))
    print(f"{'shuffles':24}" + "".join(f"{count:8,}" for count in SHUFFLES))
    found, errors = [], []
    for mean, count in zip(MEANS, SHUFFLES, strict=True):
        parts = range(count // 100)
        needed = np.concatenate([rows_needed(shuffles(zero_one(rows, mean), 100, part)) for part in parts])
        found.append(needed.mean())
        errors.append(needed.std() / np.sqrt(needed.size))
    print(f"{'EProcess':24}" + "".join(f"{number:8,.0f}" for number in found))
    print(f"{'  standard error':24}" + "".join(f"{number:8,.0f}" for number in errors))
    for name, published in PUBLISHED.items():
        print(f"{'  / ' + name:24}" + "".join(f"{a / b:8.2f}" for a, b in zip(found, published, strict=True)))


def rows_needed(table: Floats) -> Floats:
    """Return for every column after how many rows it is refuted that its mean is at most 1/2, at 5 %."""
    bet = EProcess(at_most=0.5, population=table.shape[0], actions=table.shape[1])
    for start in range(0, table.shape[0], 500):
        bet.extend(table[start : start + 500])
        if bet.refuted.all():
            break
    return np.where(bet.refuted, bet.rows, table.shape[0]).astype(float)


def risk(count: int = 10_000) -> None:
    """Print how often lists whose mean is exactly 1/2 are said to have more."""
    print(f"how often 'the mean is at most 1/2' is refuted where the mean is 1/2: 5 % allowed, {count:,} shuffles")
    generator = np.random.default_rng(0)
    half = generator.random(5000)
    lists = {
        "0 and 1, N = 20,000": zero_one(20_000, 0.5),
        "0 and 1, N = 200": zero_one(200, 0.5),
        "spread out, N = 10,000": np.concatenate([half, 1 - half]),
        "rare large ones, N = 1,000": np.concatenate([np.full(950, 0.5), np.repeat([0.0, 1.0], 25)]),
    }
    for name, values in lists.items():
        wrong = 0
        for part in range(count // 250):
            bet = EProcess(at_most=0.5, population=values.size, actions=250)
            bet.extend(shuffles(values, 250, part))
            wrong += int(bet.refuted.sum())
        print(f"{name:28}{wrong / count:.4f}")


def lists(rows: int = 60_000) -> Iterator[tuple[float, float, Floats]]:
    """Yield lists of many means, with variances from 0 to the largest for that mean: the share of it comes second."""
    generator = np.random.default_rng(5)
    for mean in (0.02, 0.1, 0.3, 0.5):
        for share in (0.0, 0.01, 0.1, 0.3, 0.6):
            spread = (1 / share - 1) if share else 0.0
            yield (
                mean,
                share,
                generator.beta(mean * spread, (1 - mean) * spread, rows) if share else np.full(rows, mean),
            )
        yield mean, 1.0, zero_one(rows, mean)


def widths(count: int = 20) -> None:
    """Print mean widths after 100, 1,000 and 5,000 of 60,000 rows, and the largest ratio to the narrowest."""
    methods: tuple[type[Confidence], ...] = (HoeffdingSequence, BernsteinSequence, Betting)
    looks, worst = (0, 100, 1000, 5000), np.zeros(3)
    print(f"mean width, level 5 %, N = 60,000, {count} shuffles: Hoeffding, Bernstein, Betting, at 100 | 1,000 | 5,000")
    for mean, share, values in lists():
        table, found = shuffles(values, count, 99)[:5000], np.zeros((3, 3))
        for index, method in enumerate(methods):
            seen = method(population=values.size, actions=count)
            for look in range(3):
                seen.extend(table[looks[look] : looks[look + 1]])
                found[index, look] = (seen.highs - seen.lows).mean()
        worst = np.maximum(worst, found[2] / found[:2].min(axis=0))
        cells = " | ".join(" ".join(f"{x:.4f}" for x in found[:, look]) for look in range(3))
        print(f"mean {mean:<5}variance {share:<5}of the largest   {cells}", flush=True)
    print("Betting / the narrower of the others, at most:", *(f"{ratio:.3f}" for ratio in worst))


def certificates(count: int = 20, within: float = 0.02) -> None:
    """Print the median number of rows that a certificate takes, with pairs and without."""
    names = ("frugalml_rafdb", "frugalml_yelp", "frugalml_command", "routellm_mmlu", "routellm_gsm8k", "m3_forecasts")
    pools = {"demo.evaluation": demo.evaluation(seed=0)}
    for name in (*names, "limeqo_ceb", "alpacaeval_v2", "swebench_bash"):
        if (POOLS / f"{name}.npz").exists():
            pools[name] = Pool(read_losses(POOLS, name))
    print(f"rows until an action is within {within:g} of the best, level 5 %, median of {count} shuffles")
    print(f"{'pool':20}{'rows':>8}{'actions':>9}{'hybrid':>9}{'unpaired':>10}{'ratio':>8}")
    for name, pool in pools.items():
        both = np.array([rows_to_certify(pool, seed, within) for seed in range(100, 100 + count)])
        hybrid, unpaired = np.median(both, axis=0)
        print(f"{name:20}{pool.rows:8,}{pool.k:9}{hybrid:9,.0f}{unpaired:10,.0f}{unpaired / hybrid:8.1f}", flush=True)


def rows_to_certify(pool: Pool, seed: int, within: float) -> tuple[int, int]:
    """Return how many rows a hybrid certificate takes, and one by intervals alone, which have the whole level."""
    rows = np.random.default_rng(seed).permutation(pool.losses)
    watch = RowMonitor(pool.actions, pool.rows)
    alone = Betting(population=pool.rows, level=0.05 / pool.k, actions=pool.k)
    found: list[int] = [0, 0]
    start = 0
    while start < pool.rows and 0 in found:
        stop = max(start + 10, int(start * 1.02))
        if not found[0]:
            watch.extend(rows[start:stop])
            found[0] = min(stop, pool.rows) if watch.certificate().certified(within) else 0
        if not found[1]:
            alone.extend(rows[start:stop])
            near = min(alone.highs[a] - np.delete(alone.lows, a).min() for a in range(pool.k))
            found[1] = min(stop, pool.rows) if near <= within else 0
        start = stop
    return found[0] or pool.rows, found[1] or pool.rows


def out_of_order(kind: str, generator: np.random.Generator, rows: int = 2000) -> Floats:
    """Return a list that is in random order, or not, in the way that is asked for."""
    n, coin = np.arange(rows), generator.random(rows)
    half = n < rows // 2
    made: dict[str, Callable[[], object]] = {
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
        "a tenth sorted": lambda: np.concatenate([coin[: -rows // 10], np.sort(coin[-rows // 10 :])]),
        "tail": lambda: np.where(half | (generator.random(rows) >= 0.05), coin, 0.999),
        "spread": lambda: np.where(half, coin, 0.15 + 0.7 * coin),
        "150 sorted": lambda: np.concatenate([np.sort(coin[:150]), coin[150:]]),
    }
    return np.asarray(made[kind](), np.float64)


def runs_test(values: Floats) -> float:
    """Return the probability by the test of runs above and below the mean (Wald and Wolfowitz 1940)."""
    from statsmodels.sandbox.stats.runs import runstest_1samp

    return float(runstest_1samp(values, cutoff="mean", correction=False)[1])


def ljung_box(values: Floats) -> float:
    """Return the probability by the first ten autocorrelations (Ljung and Box 1978)."""
    from statsmodels.stats.diagnostic import acorr_ljungbox

    return float(acorr_ljungbox(values, lags=[10])["lb_pvalue"].iloc[0])


def cusum(values: Floats) -> float:
    """Return the probability of so large a sum of deviations from the mean, by its limit, a Brownian bridge."""
    from scipy.special import kolmogorov

    off = np.cumsum(values - values.mean())
    return float(kolmogorov(np.abs(off).max() / (values.std() * np.sqrt(values.size))))


def order(count: int = 500, level: float = 0.01) -> None:
    """Print how often a list of 2,000 rows is found not to be in random order, at a false-alarm rate of 1 %."""
    kinds = ("random", "step, small", "step, large", "late step", "drift, small", "drift, large", "period, small",
             "period, large", "every other", "every other, small", "tail", "spread", "150 sorted", "a tenth sorted",
             "sorted")  # fmt: skip
    print(f"share of {count} lists of 2,000 rows found out, false alarms {level:.0%}: check-order, and as rows come")
    print(f"{'':20}{'order':>10}{'live':>10}{'runs':>10}{'Ljung-Box':>10}{'CUSUM':>10}")
    for index, kind in enumerate(kinds):
        found = np.zeros(5)
        for seed in range(count):
            values = out_of_order(kind, np.random.default_rng([12, index, seed]))
            others = [probability(values) < level for probability in (runs_test, ljung_box, cusum)]
            live = RandomOrderTest(level=level, seed=seed).extend(values)
            found += [check_order(values, level, seed=seed).refuted, live, *others]
        print(f"{kind:20}" + "".join(f"{share:10.2f}" for share in found / count), flush=True)


def long(count: int = 300, rows: int = 20_000) -> None:
    """Print how often a long list with a small effect is found not to be in random order, as rows come."""
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
        rng = (np.random.default_rng([21, index, seed]).random(rows) for seed in range(count))
        lists = ((coin < share).astype(float) for coin in rng)
        found = sum(RandomOrderTest(level=0.01, seed=seed).extend(values) for seed, values in enumerate(lists))
        print(f"{kind:28}{found / count:.2f}", flush=True)


def speed() -> None:
    """Print the time of the processor for one value, and for a million rows certified."""
    generator = np.random.default_rng(0)
    values = generator.random(1_000_000)
    for method in (HoeffdingSequence, BernsteinSequence, Betting):
        seen = method(population=2_000_000)
        start = process_time()
        seen.extend(values)
        print(f"{method.__name__:20}{1e3 * (process_time() - start):8.0f} ns a value")
    bet = EProcess(at_most=0.5, population=2_000_000)
    start = process_time()
    bet.extend(values)
    print(f"{'EProcess':20}{1e3 * (process_time() - start):8.0f} ns a value")
    rows = np.column_stack([values, np.minimum(1.0, values + 0.001 * generator.random(1_000_000))])
    RowMonitor(["a", "b"], 1_000_000).certificate()
    watch = RowMonitor(["a", "b"], 1_000_000)
    start = process_time()
    for first in range(0, 1_000_000, 50_000):
        watch.extend(rows[first : first + 50_000])
        certificate = watch.certificate()
    print(f"a million rows of two actions: {process_time() - start:.2f} s, {certificate}")


PARTS: dict[str, Callable[[], None]] = {
    "alpha": alpha,
    "risk": risk,
    "widths": widths,
    "certificates": certificates,
    "order": order,
    "long": long,
    "speed": speed,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
        print()
