"""Gates on real tables: false verdicts at several looks, power, identical versions, peers.

    python benchmarks/gate.py --pools ../shared/pools [--only errors|power|agents|identical|calls|live|winner]
    python benchmarks/gate.py --pools ../shared/pools --only peers   # needs evalsig and pytest-probability

A pair of columns is an old and a new version, its rows are a law: samples are drawn from it with
replacement. With the allowed loss equal to the true loss, PASSED and WORSE are both false claims at
the limit of what is allowed, so both shares must be at most the level. Seeds are fixed.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tombola import gate
from tombola.evidence.betting import Betting
from tombola.evidence.paired import _no_loss_level, planned_wealth, rejections, running_wealth
from tombola.gating.live import gain_bounds
from tombola.racing.rules.gate import Gate
from tombola.racing.rules.within import Within

SEED = 20261118
LEVELS = (0.01, 0.05, 0.1, 0.2)
ROWS = 400
# Table -> the loss of the new version that the pair should have; the nearest pair is taken.
TABLES = (
    "swebench_bash",
    "routellm_gsm8k",
    "frugalml_command",
    "alpacaeval_v2",
    "aslib_qbf_2014",
    "m3_forecasts",
)
GAP = 0.03


def pair_of(folder: Path, name: str) -> tuple[Any, Any, list[str]]:
    """Return losses of the best column and of the one whose mean is nearest to GAP above it."""
    data = np.load(folder / f"{name}.npz", allow_pickle=True)
    losses = np.asarray(data["loss"], float)
    means = losses.mean(axis=0)
    best = int(means.argmin())
    distance = np.abs(means - means[best] - GAP)
    distance[best] = np.inf
    new = int(distance.argmin())
    names = [str(word) for word in data["actions"]]
    return losses[:, best], losses[:, new], [names[best], names[new]]


def samples(gains: Any, count: int, rows: int, seed: int) -> Any:
    """Return `count` samples of rows with replacement, shape (count, rows)."""
    rng = np.random.default_rng(seed)
    return gains[rng.integers(len(gains), size=(count, rows))]


def one_look(gains: Any, shift: float, level: float, *, margin: bool) -> Any:
    """Return for each sample whether "the mean gain is at most shift" is rejected, as one look.

    It is `evidence.paired.rejections` for many samples at a time; `check` compares them.
    """
    count, n = gains.shape
    no_loss = _no_loss_level(n, np.array([shift]), level, -shift if margin else None)
    levels = level - no_loss
    rng = np.random.default_rng(0)
    places = np.array([rng.permutation(n) for _ in range(8)])
    orders = gains[:, places].reshape(count * 8, n)
    wealth = planned_wealth(orders, np.ones_like(orders), np.array([shift]), levels)
    averages = np.cumsum(wealth.reshape(count, 8), axis=1) / np.arange(1, 9)
    with np.errstate(divide="ignore"):
        rejected = averages.max(axis=1) >= 1.0 / levels[0]
    if no_loss[0] > 0.0:
        rejected |= (gains >= 0.0).all(axis=1)
    return rejected


def check(gains: Any, shift: float, level: float) -> None:
    """Compare `one_look` with the plain function on a few samples."""
    plain = [
        bool(rejections(own, np.array([shift]), level, margin=-shift)[0]) for own in gains[:20]
    ]
    assert plain == one_look(gains[:20], shift, level, margin=True).tolist()


def any_look(gains: Any, shift: float, level: float) -> Any:
    """Return the same for `looks="any"`: the largest wealth so far, so all looks in one."""
    wealth = running_wealth(gains, np.ones_like(gains), np.array([shift]))[:, 0]
    return wealth >= 1.0 / level


def looks_at(count: int) -> list[int]:
    return [round(ROWS * (look + 1) / count) for look in range(count)]


def share(wrong: Any) -> str:
    return f"{np.mean(wrong):.3f}"


def errors(folder: Path, count: int) -> None:
    """Print shares of false verdicts at the limit, by level and number of looks."""
    print(
        f"false verdicts at the limit, {count} samples of {ROWS} rows; any = at all looks together"
    )
    print(
        "table, loss of new | level | any: passed worse | 1 look, looked at 1, 10, 100 times: passed | worse"
    )
    for number, name in enumerate(TABLES):
        old, new, names = pair_of(folder, name)
        gains = old - new
        limit = float(gains.mean())
        drawn = samples(gains, count, ROWS, SEED + number)
        check(drawn, limit, 0.05)
        title = f"{name} {names[0][:18]} / {names[1][:18]} {-limit:.4f}"
        for level in LEVELS:
            cells = [share(any_look(drawn, limit, level)), share(any_look(-drawn, -limit, level))]
            for sign, is_margin in ((1.0, True), (-1.0, False)):
                own = sign * drawn
                for looks in (1, 10, 100) if level == 0.05 else (1, 10):
                    wrong = np.zeros(count, bool)
                    for n in looks_at(looks):
                        wrong |= one_look(own[:, :n], sign * limit, level, margin=is_margin)
                    cells.append(share(wrong))
            print(f"{title} | {level:g} | {' '.join(cells)}", flush=True)


def power(folder: Path, count: int) -> None:
    """Print how often versions that are equal in law pass, by looks and allowed loss."""
    print(
        f"equal in law (old and new swapped on random rows): share passed, {count} samples of {ROWS}"
    )
    print("table | allowed | one look | any looks | t-test, one look")
    for number, name in enumerate(TABLES):
        old, new, _ = pair_of(folder, name)
        rng = np.random.default_rng(SEED + 100 + number)
        drawn = samples(old - new, count, ROWS, SEED + 200 + number)
        drawn = drawn * rng.choice([-1.0, 1.0], drawn.shape)
        for margin in (0.02, 0.05, 0.1):
            cells = [
                share(one_look(drawn, -margin, 0.05, margin=True)),
                share(any_look(drawn, -margin, 0.05)),
                share(t_passes(drawn, margin)),
            ]
            print(f"{name} | {margin:g} | {' | '.join(cells)}", flush=True)


def t_passes(gains: Any, margin: float) -> Any:
    """Return whether the one-sided t-test at .05 shows that the mean gain is above -margin."""
    from scipy.stats import t

    n = gains.shape[1]
    deviation = gains.std(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = (gains.mean(axis=1) + margin) / (deviation / math.sqrt(n))
    return statistic > t.isf(0.05, n - 1)


def agents(folder: Path, count: int) -> None:
    """Print how often an agent with random answers is refused against itself."""
    print(
        f"one agent twice, {count} samples of {ROWS} rows, allowed .02: share refused, any looks / one look at 10"
    )
    for name, law in (("uniform", (1.0, 1.0)), ("beta(.6, .4)", (0.6, 0.4)), ("all 1/2", None)):
        rng = np.random.default_rng(SEED + 300)
        shape = (count, ROWS)
        chance = np.full(shape, 0.5) if law is None else rng.beta(*law, shape)
        gains = (rng.random(shape) < chance).astype(float) - (rng.random(shape) < chance)
        wrong = np.zeros(count, bool)
        for n in looks_at(10):
            wrong |= one_look(-gains[:, :n], 0.02, 0.05, margin=False)
        print(f"{name} | {share(any_look(-gains, 0.02, 0.05))} | {share(wrong)}", flush=True)


def identical(folder: Path, count: int) -> None:
    """Print for every table the verdict on an identical version, with 149 and with 148 rows."""
    for path in sorted(folder.glob("*.npz")):
        data = np.load(path, allow_pickle=True)
        if "loss" not in data or data["loss"].ndim != 2 or len(data["loss"]) < 149:
            print(f"{path.stem} | fewer than 149 rows, or no table")
            continue
        column = np.asarray(data["loss"], float)[:, 0]
        results = [gate(column[:n], column[:n], within=0.02, kind="losses") for n in (149, 148)]
        needed = results[1].comparisons[0].rows_needed
        print(f"{path.stem} | {results[0].tag} | {results[1].tag}, {needed} needed", flush=True)


def rows_to_decide(rule: Any, losses: Any) -> tuple[int, bool]:
    """Return the rows that a gate counts, and whether it passes the second column."""
    rule.reset()
    for row in losses:
        rule.update(row)
        if rule.done:
            break
    return rule.rows_seen, rule.proved is True


def calls(folder: Path, count: int) -> None:
    """Print the rows that a live gate needs on a list of 2,000 whose new version is better by .03."""
    rows = 2000
    print(
        f"better by .03, 15 % of {rows} rows differ, {count // 5} orders: mean rows, share proved"
    )
    rng = np.random.default_rng(SEED + 400)
    better = round(rows * (0.15 + 0.03) / 2)
    worse = round(rows * 0.15) - better
    gains = np.zeros(rows)
    gains[:better] = 1.0
    gains[better : better + worse] = -1.0
    table = np.stack([gains > 0, gains < 0], axis=1).astype(float)
    for name, population in (("on the list", rows), ("rows like these", math.inf)):
        rule = Gate(2, rows, population, 0.05, 0, 0.0)
        done = [rows_to_decide(rule, table[rng.permutation(rows)]) for _ in range(count // 5)]
        means = np.mean(done, axis=0)
        print(f"tombola, {name} | {means[0]:.0f} | {means[1]:.3f}", flush=True)
    try:
        sequential_gate = import_module("evalsig.inference.sequential").sequential_gate
    except ImportError:
        return
    done = []
    for _ in range(count // 10):
        outcome = sequential_gate(gains[rng.permutation(rows)], alpha=0.05, alternative="greater")
        done.append((outcome.n_pairs, outcome.stopped))
    means = np.mean(done, axis=0)
    print(f"evalsig watch | {means[0]:.0f} | {means[1]:.3f}")


def live(folder: Path, count: int) -> None:
    """Print how often the bounds of a live gate fail at any of 20 looks."""
    rng = np.random.default_rng(SEED + 500)
    repetitions = max(1, count // 10)
    wrong = np.zeros(2)
    for _ in range(repetitions):
        gains = rng.choice([-1.0, 0.0, 1.0], 200, p=[0.09, 0.85, 0.06])
        looks = [gain_bounds(gains[:n], math.inf, 0.05) for n in range(10, 201, 10)]
        wrong += [max(low for low, _ in looks) > -0.03, min(high for _, high in looks) < -0.03]
    print(f"bounds of a live gate, 20 looks, {repetitions} samples: {wrong / repetitions}")


def winner(folder: Path, count: int) -> None:
    """Print how often intervals contain the mean of the winner of a race, on a table with ties."""
    rows = 500
    k = 10
    rng = np.random.default_rng(SEED + 700)
    column = (np.arange(rows) < 0.4 * rows).astype(float)
    table = np.stack([rng.permutation(column) for _ in range(k)], axis=1)
    print(f"{k} candidates with equal means on {rows} rows, within .15, {count} orders")
    for name, population in (("on the list", rows), ("rows like these", math.inf)):
        covered = np.zeros(2)
        widths = np.zeros(2)
        bias = 0.0
        counted = 0
        for _ in range(count):
            is_list = population == rows
            order = rng.permutation(rows) if is_list else rng.integers(rows, size=rows)
            rule = Within(k, rows, population, 0.05, within=0.15)
            for row in table[order]:
                rule.update(row)
                if rule.done:
                    break
            chosen = rule.leader
            losses = table[order[: rule.rows_seen], chosen]
            n = len(losses)
            sequence = Betting(population=population, level=0.05 / k)
            sequence.extend(losses)
            correction = math.sqrt(1.0 - n / rows) if is_list else 1.0
            half = 1.96 * losses.std() / math.sqrt(n) * correction
            naive = (losses.mean() - half, losses.mean() + half)
            for at, (low, high) in enumerate((sequence.interval(), naive)):
                covered[at] += low <= 0.4 <= high
                widths[at] += high - low
            bias += losses.mean() - 0.4
            counted += n
        print(
            f"{name} | covered: ours {covered[0] / count:.3f}, naive {covered[1] / count:.3f} | "
            f"width {widths[0] / count:.3f}, {widths[1] / count:.3f} | naive mean too good by "
            f"{-bias / count:.4f} | {counted / count:.0f} rows",
            flush=True,
        )


def looks_share(verdict: Callable[[Any], bool], drawn: Any, looks: int) -> float:
    """Return the share of samples that are claimed wrongly at any of the looks."""
    wrong = [any(verdict(own[:n]) for n in looks_at(looks)) for own in drawn]
    return float(np.mean(wrong))


def peers(folder: Path, count: int) -> None:
    """Print false claims of peers and of ours with the same looks, on the first table."""
    evalsig_gate = import_module("evalsig.compare.gate").gate
    types = import_module("evalsig.types")
    margin_verdict = import_module("pytest_probability.plugin").margin_verdict
    stats = import_module("pytest_probability.stats")

    old, new, _ = pair_of(folder, TABLES[0])
    gains = old - new
    limit = float(gains.mean())
    drawn = samples(gains, count, ROWS, SEED + 600)
    rng = np.random.default_rng(SEED + 601)
    equal = drawn * rng.choice([-1.0, 1.0], drawn.shape)

    def frame(name: str, values: Sequence[float]) -> Any:
        items = [types.ItemResult(str(at), float(value)) for at, value in enumerate(values)]
        return types.RunFrame(name, name, "task", "score", items)

    def evalsig_allows(own: Any) -> bool:
        # Scores 0 and 1 with this difference.
        pair = frame("a", (own < 0).astype(float)), frame("b", (own > 0).astype(float))
        return bool(evalsig_gate(*pair, min_delta=1e-9).exit_code == 0)

    def probability_passes(own: Any) -> bool:
        interval = stats.percentile_interval(stats.bootstrap(own.tolist(), resamples=500))
        return bool(margin_verdict(interval, -limit) == "pass")

    few = max(1, count // 10)
    print(f"{TABLES[0]}, equal in law, claim 'better': 1, 10, 100 looks")
    cells = [looks_share(evalsig_allows, equal[:few], looks) for looks in (1, 10, 100)]
    print(f"evalsig gate ALLOW, {few} samples | {cells}", flush=True)
    cells = [wrong_at(lambda own: t_passes(own, 0.0), equal, looks) for looks in (1, 10, 100)]
    print(f"t-test, {count} samples | {cells}", flush=True)
    cells = [
        wrong_at(lambda own: one_look(own, 0.0, 0.05, margin=False), equal, k) for k in (1, 10, 100)
    ]
    print(f"tombola --looks 1 | {cells}", flush=True)
    print(f"tombola --looks any | {share(any_look(equal, 0.0, 0.05))}", flush=True)
    print(f"true loss = allowed loss {-limit:.3f}, claim 'not worse': 1, 10, 100 looks")
    cells = [looks_share(probability_passes, drawn[:few], looks) for looks in (1, 10)]
    print(f"pytest-probability PASS, {few} samples, 500 resamples | {cells}", flush=True)
    cells = [wrong_at(lambda own: t_passes(own, -limit), drawn, looks) for looks in (1, 10, 100)]
    print(f"t-test, {count} samples | {cells}", flush=True)
    cells = [
        wrong_at(lambda own: one_look(own, limit, 0.05, margin=True), drawn, k)
        for k in (1, 10, 100)
    ]
    print(f"tombola --looks 1 | {cells}", flush=True)
    print(f"tombola --looks any | {share(any_look(drawn, limit, 0.05))}", flush=True)


def wrong_at(verdicts: Callable[[Any], Any], drawn: Any, looks: int) -> float:
    """Return the share of samples that are claimed wrongly at any of the looks, all at a time."""
    wrong = np.zeros(len(drawn), bool)
    for n in looks_at(looks):
        wrong |= verdicts(drawn[:, :n])
    return float(wrong.mean())


PARTS = {
    "errors": errors,
    "power": power,
    "agents": agents,
    "identical": identical,
    "calls": calls,
    "live": live,
    "winner": winner,
    "peers": peers,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pools", type=Path, required=True)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--only", choices=PARTS)
    arguments = parser.parse_args()
    for name, part in PARTS.items():
        if name == arguments.only or (arguments.only is None and name != "peers"):
            print(f"\n{name}")
            part(arguments.pools, arguments.samples)


if __name__ == "__main__":
    main()
