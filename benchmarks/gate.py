"""Gates on real tables: false verdicts at several looks, power, identical versions, peers.

    python benchmarks/gate.py --pools ../shared/pools [--only errors|lists|power|agents|identical|calls|live|winner]
    python benchmarks/gate.py --pools ../shared/pools --only peers   # needs evalsig and pytest-probability

A pair of columns is an old and a new version. A file is the first 400 rows of a random order of the
table (--draw samples: 400 rows drawn with replacement, so that the table is a law). The truth is that
of the whole table. With the allowed loss equal to the true loss, PASSED and WORSE are both false
claims at the limit of what is allowed, so both shares must be at most the level. A gate on the list
knows that the list is finite; there a loss of exactly the allowed one passes, so PASSED is false for
an allowed loss that is smaller by 1e-6. Seeds are fixed.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tombola import gate
from tombola.evidence.betting import Betting
from tombola.evidence.paired import _no_loss_level, planned_wealth, rejections, running_wealth
from tombola.gating.live import gain_bounds
from tombola.racing.rules.gate import Gate
from tombola.racing.rules.within import Within

SEED = 20261118
LEVELS = (0.01, 0.05, 0.1, 0.2)
LOOKS = (1, 10, 100)
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


class Job(NamedTuple):
    """What to run: the folder of the tables, those used, number of files, and how rows are drawn."""

    folder: Path
    tables: Sequence[str]
    files: int
    law: bool


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


def draw(gains: Any, count: int, seed: int, *, law: bool) -> Any:
    """Return `count` files of ROWS rows, shape (count, ROWS): samples of a law, or parts of shuffles."""
    rng = np.random.default_rng(seed)
    if law:
        return gains[rng.integers(len(gains), size=(count, ROWS))]
    return np.array([gains[rng.permutation(len(gains))[:ROWS]] for _ in range(count)])


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


def any_look(gains: Any, shift: float, level: float, *, margin: bool = False) -> Any:
    """Return the same for `looks="any"`, which treats a margin like any other shift."""
    wealth = running_wealth(gains, np.ones_like(gains), np.array([shift]))[:, 0]
    return wealth >= 1.0 / level


def looks_at(count: int) -> list[int]:
    return [round(ROWS * (look + 1) / count) for look in range(count)]


def share(wrong: Any) -> str:
    return f"{np.mean(wrong):.3f}"


def errors(job: Job) -> None:
    """Print shares of false verdicts at the limit, by level and number of looks."""
    kind = "samples" if job.law else "shuffles"
    print(f"false verdicts at the limit, {job.files} {kind}, {ROWS} rows read")
    print(
        "table, rows, true loss | level | looks any at 1 | 10 | 100 looks: passed worse | looks 1: same"
    )
    for name in job.tables:
        number = TABLES.index(name)
        old, new, _ = pair_of(job.folder, name)
        gains = old - new
        limit = float(gains.mean())
        drawn = draw(gains, job.files, SEED + number, law=job.law)
        check(drawn, limit, 0.05)
        for level in LEVELS:
            cells = []
            for rule in (any_look, one_look):
                for looks in LOOKS:
                    if rule is one_look and looks == 100 and level != 0.05:
                        # A hundred runs of a rule that must not be looked at: once is enough.
                        continue
                    passed = wrong_at(
                        partial(rule, shift=limit, level=level, margin=True), drawn, looks
                    )
                    worse = wrong_at(
                        partial(rule, shift=-limit, level=level, margin=False), -drawn, looks
                    )
                    cells.append(f"{passed:.3f} {worse:.3f}")
            print(f"{name} {len(gains)} {-limit:.4f} | {level:g} | {' | '.join(cells)}", flush=True)


def lists(job: Job) -> None:
    """Print false verdicts of a live gate on shuffles, which looks after every row to the end."""
    print(f"live gate at the limit, {job.files} shuffles, a look after every row")
    print(
        "table, rows | level | on the list: passed, worse, mean rows | rows like these: passed, worse"
    )
    for name in job.tables:
        number = TABLES.index(name)
        old, new, _ = pair_of(job.folder, name)
        table = np.stack([old, new], axis=1)
        loss = float((new - old).mean())
        n = len(table)
        for level in LEVELS:
            cells = []
            for population in (n, math.inf):
                # The margin decides which verdict is false: see the docstring of the module.
                margins = (loss - 1e-6, loss) if population == n else (loss, loss)
                shares = []
                rows = 0.0
                for margin, false in zip(margins, (1.0, -1.0), strict=True):
                    rule = Gate(2, n, population, level, 0, margin)
                    rng = np.random.default_rng(SEED + 800 + number)
                    wrong = 0
                    for _ in range(job.files):
                        rule.play(table, rng.permutation(n).astype(np.uint32))
                        wrong += rule.state.decision[1] == false
                        rows += rule.rows_seen / (2 * job.files)
                    shares.append(f"{wrong / job.files:.3f}")
                cells.append(f"{' '.join(shares)} {rows:.0f}")
            print(f"{name} {n} | {level:g} | {' | '.join(cells)}", flush=True)


def power(job: Job) -> None:
    """Print how often versions that are equal in law pass, by looks and allowed loss."""
    print(
        f"equal in law (old and new swapped on random rows): share passed, {job.files} files of {ROWS} rows"
    )
    print("table | allowed | looks 1 | looks any | t-test, one look")
    for name in job.tables:
        number = TABLES.index(name)
        old, new, _ = pair_of(job.folder, name)
        rng = np.random.default_rng(SEED + 100 + number)
        drawn = draw(old - new, job.files, SEED + 200 + number, law=job.law)
        drawn = drawn * rng.choice([-1.0, 1.0], drawn.shape)
        for margin in (0.02, 0.05, 0.1):
            cells = [
                share(one_look(drawn, -margin, 0.05, margin=True)),
                share(any_look(drawn, -margin, 0.05)),
                share(t_test(drawn, -margin)),
            ]
            print(f"{name} | {margin:g} | {' | '.join(cells)}", flush=True)


def t_test(gains: Any, shift: float, level: float = 0.05) -> Any:
    """Return whether the one-sided t-test shows that the mean gain is above a shift."""
    from scipy.stats import t

    n = gains.shape[1]
    deviation = gains.std(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = (gains.mean(axis=1) - shift) / (deviation / math.sqrt(n))
    return statistic > t.isf(level, n - 1)


def agents(job: Job) -> None:
    """Print how often an agent with random answers is refused against itself."""
    print(
        f"one agent twice, {job.files} samples of {ROWS} rows, allowed .02: share refused, any looks / one look at 10"
    )
    for name, law in (("uniform", (1.0, 1.0)), ("beta(.6, .4)", (0.6, 0.4)), ("all 1/2", None)):
        rng = np.random.default_rng(SEED + 300)
        shape = (job.files, ROWS)
        chance = np.full(shape, 0.5) if law is None else rng.beta(*law, shape)
        gains = (rng.random(shape) < chance).astype(float) - (rng.random(shape) < chance)
        wrong = np.zeros(job.files, bool)
        for n in looks_at(10):
            wrong |= one_look(-gains[:, :n], 0.02, 0.05, margin=False)
        print(f"{name} | {share(any_look(-gains, 0.02, 0.05))} | {share(wrong)}", flush=True)


def identical(job: Job) -> None:
    """Print for every table the verdict on an identical version, with 149 and with 148 rows."""
    for path in sorted(job.folder.glob("*.npz")):
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


def calls(job: Job) -> None:
    """Print the rows that a live gate needs on a list of 2,000 whose new version is better by .03."""
    rows = 2000
    print(
        f"better by .03, 15 % of {rows} rows differ, {job.files // 5} orders: mean rows, share proved"
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
        done = [rows_to_decide(rule, table[rng.permutation(rows)]) for _ in range(job.files // 5)]
        means = np.mean(done, axis=0)
        print(f"tombola, {name} | {means[0]:.0f} | {means[1]:.3f}", flush=True)
    try:
        sequential_gate = import_module("evalsig.inference.sequential").sequential_gate
    except ImportError:
        return
    done = []
    for _ in range(job.files // 10):
        outcome = sequential_gate(gains[rng.permutation(rows)], alpha=0.05, alternative="greater")
        done.append((outcome.n_pairs, outcome.stopped))
    means = np.mean(done, axis=0)
    print(f"evalsig watch | {means[0]:.0f} | {means[1]:.3f}")


def live(job: Job) -> None:
    """Print how often the bounds of a live gate fail at any of 20 looks."""
    rng = np.random.default_rng(SEED + 500)
    repetitions = max(1, job.files // 10)
    wrong = np.zeros(2)
    for _ in range(repetitions):
        gains = rng.choice([-1.0, 0.0, 1.0], 200, p=[0.09, 0.85, 0.06])
        looks = [gain_bounds(gains[:n], math.inf, 0.05) for n in range(10, 201, 10)]
        wrong += [max(low for low, _ in looks) > -0.03, min(high for _, high in looks) < -0.03]
    print(f"bounds of a live gate, 20 looks, {repetitions} samples: {wrong / repetitions}")


def winner(job: Job) -> None:
    """Print how often intervals contain the mean of the winner of a race, on a table with ties."""
    rows = 500
    k = 10
    rng = np.random.default_rng(SEED + 700)
    column = (np.arange(rows) < 0.4 * rows).astype(float)
    table = np.stack([rng.permutation(column) for _ in range(k)], axis=1)
    print(f"{k} candidates with equal means on {rows} rows, within .15, {job.files} orders")
    for name, population in (("on the list", rows), ("rows like these", math.inf)):
        covered = np.zeros(2)
        widths = np.zeros(2)
        bias = 0.0
        counted = 0
        for _ in range(job.files):
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
            f"{name} | covered: ours {covered[0] / job.files:.3f}, naive {covered[1] / job.files:.3f} | "
            f"width {widths[0] / job.files:.3f}, {widths[1] / job.files:.3f} | naive mean too good by "
            f"{-bias / job.files:.4f} | {counted / job.files:.0f} rows",
            flush=True,
        )


def wrong_at(verdicts: Callable[[Any], Any], drawn: Any, looks: int) -> float:
    """Return the share of files that are claimed wrongly at any of the looks, all at a time."""
    wrong = np.zeros(len(drawn), bool)
    for n in looks_at(looks):
        wrong |= verdicts(drawn[:, :n])
    return float(wrong.mean())


def rows_read(
    passes: Callable[[Any], Any], fails: Callable[[Any], Any], drawn: Any, looks: int
) -> str:
    """Return mean rows until a verdict, and shares passed and worse, when one stops at a verdict."""
    rows = np.full(len(drawn), ROWS)
    verdict = np.zeros(len(drawn))
    for n in looks_at(looks):
        still = np.flatnonzero(verdict == 0.0)
        if not len(still):
            break
        own = drawn[still, :n]
        passed, worse = np.asarray(passes(own), bool), np.asarray(fails(own), bool)
        verdict[still] = np.where(passed, 1.0, np.where(worse, -1.0, 0.0))
        rows[still[passed | worse]] = n
    return f"{rows.mean():.0f} {(verdict > 0).mean():.3f} {(verdict < 0).mean():.3f}"


def bootstrap_bounds(gains: Any, resamples: int, seed: int) -> Any:
    """Return the ends of the percentile intervals of pytest-probability, shape (2, files).

    The same rule with another generator: its own one takes 50 ms for each file. `check_bootstrap`
    compares them.
    """
    rng = np.random.default_rng(seed)
    n = gains.shape[1]
    means = [own[rng.integers(n, size=(resamples, n))].mean(axis=1) for own in gains]
    return np.quantile(np.array(means), [0.025, 0.975], axis=1)


def check_bootstrap(drawn: Any) -> float:
    """Return the largest distance of the two bootstraps' ends on a few files."""
    stats = import_module("pytest_probability.stats")
    ours = bootstrap_bounds(drawn[:5], 2000, 0).T
    theirs = [
        stats.percentile_interval(stats.bootstrap(own.tolist(), resamples=2000))
        for own in drawn[:5]
    ]
    return float(np.abs(ours - np.array(theirs)).max())


def peers(job: Job) -> None:
    """Print errors and calls of peers and of ours with the same looks, on every table.

    evalsig asks "better?": old and new are swapped on random rows, and "better" is false. The
    others ask "worse by more than the true loss?", where both verdicts are false.
    """
    evalsig_gate = import_module("evalsig.compare.gate").gate
    types = import_module("evalsig.types")

    def frame(name: str, values: Sequence[float]) -> Any:
        items = [types.ItemResult(str(at), float(value)) for at, value in enumerate(values)]
        return types.RunFrame(name, name, "task", "score", items)

    def evalsig_allows(drawn: Any) -> Any:
        # Scores with this difference; the rule for 0 and 1 is McNemar's test.
        pairs = [(frame("a", (1 - own) / 2), frame("b", (1 + own) / 2)) for own in drawn]
        if np.isin(drawn, (-1.0, 0.0, 1.0)).all():
            pairs = [
                (frame("a", (own < 0).astype(float)), frame("b", (own > 0).astype(float)))
                for own in drawn
            ]
        return [
            evalsig_gate(*pair, min_delta=1e-9, n_resamples=500).exit_code == 0 for pair in pairs
        ]

    def never(drawn: Any) -> Any:
        return np.zeros(len(drawn), bool)

    few = max(1, job.files // 20)
    some = max(1, job.files // 5)
    print("for 1 | 10 | 100 looks: mean rows until a verdict (twice as many calls), passed, worse")
    for name in job.tables:
        number = TABLES.index(name)
        old, new, _ = pair_of(job.folder, name)
        gains = old - new
        limit = float(gains.mean())
        drawn = draw(gains, job.files, SEED + 600 + number, law=job.law)
        rng = np.random.default_rng(SEED + 601)
        equal = drawn * rng.choice([-1.0, 1.0], drawn.shape)
        print(f"{name}, 'better' where both are equal in law: every verdict 'passed' is false")
        for title, passes, files in (
            (f"evalsig gate ({few} files)", evalsig_allows, equal[:few]),
            ("t-test", lambda own: t_test(own, 0.0), equal),
            ("tombola --looks 1", lambda own: one_look(own, 0.0, 0.05, margin=False), equal),
            ("tombola --looks any", lambda own: any_look(own, 0.0, 0.05), equal),
        ):
            print(
                f"  {title} | {' | '.join(rows_read(passes, never, files, k) for k in LOOKS)}",
                flush=True,
            )
        print(f"{name}, allowed loss = true loss {-limit:.3f}: each verdict is false")
        print(f"  (two bootstraps differ by at most {check_bootstrap(drawn):.4f})")
        for title, passes, fails, files in questions(limit, drawn, some):
            print(
                f"  {title} | {' | '.join(rows_read(passes, fails, files, k) for k in LOOKS)}",
                flush=True,
            )
        print(f"{name}, allowed loss .05 more than the true one: 'passed' is right")
        for title, passes, fails, files in questions(limit - 0.05, drawn, some):
            print(
                f"  {title} | {' | '.join(rows_read(passes, fails, files, k) for k in LOOKS)}",
                flush=True,
            )


def questions(limit: float, drawn: Any, some: int) -> list[tuple[str, Any, Any, Any]]:
    """Return name, rule for PASSED, rule for WORSE and files, for a limit of the mean gain."""

    def above(own: Any) -> Any:
        return bootstrap_bounds(own, 500, 1)[0] >= limit

    def below(own: Any) -> Any:
        return bootstrap_bounds(own, 500, 1)[1] < limit

    return [
        (f"pytest-probability ({some} files)", above, below, drawn[:some]),
        ("t-test", lambda own: t_test(own, limit), lambda own: t_test(-own, -limit), drawn),
        (
            "tombola --looks 1",
            lambda own: one_look(own, limit, 0.05, margin=True),
            lambda own: one_look(-own, -limit, 0.05, margin=False),
            drawn,
        ),
        (
            "tombola --looks any",
            lambda own: any_look(own, limit, 0.05),
            lambda own: any_look(-own, -limit, 0.05),
            drawn,
        ),
    ]


PARTS = {
    "errors": errors,
    "lists": lists,
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
    parser.add_argument("--draw", choices=["shuffles", "samples"], default="shuffles")
    parser.add_argument("--table", choices=TABLES, help="one of the tables only")
    arguments = parser.parse_args()
    tables = (arguments.table,) if arguments.table else TABLES
    job = Job(arguments.pools, tables, arguments.samples, arguments.draw == "samples")
    for name, part in PARTS.items():
        if name == arguments.only or (arguments.only is None and name != "peers"):
            print(f"\n{name}")
            part(job)


if __name__ == "__main__":
    main()
