"""Nightly part of the harness: python tests/statements/run_harness.py --races 300000.

With --lists 20 the results that are no races are judged instead, each on 20 lists.

Every scenario (question x circumstance) is judged first on the lists on which errors are likely
(`HARD`, `LONG`), then on random small tables, in all orders of their rows, exactly; and on longer lists
under many seeds. Prints the number of races and sentences, and the largest P(wrong) / level; exit
status 1 if a level is exceeded or a certain sentence is false. Level exceeded: exactly over all
orders, or, under seeds, with a p-value below 1e-6. Orders that differ in equal rows only, or after the
last row of the race, are one race that is played once; --races counts different orders.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).parents[1]))

from statements.evidence_harness import SCENARIOS, judge_scenario
from statements.harness import (
    CIRCUMSTANCES,
    HARD,
    LONG,
    TABLES,
    Circumstance,
    Count,
    deal_orders,
    enumerate_orders,
    enumerate_samples,
    scenarios,
    shuffle_seeds,
)
from tombola.engine.compiler import interpreted

# Levels of small lists: at smaller ones four or five rows prove nothing but certainties.
LEVELS = (0.5, 0.35, 0.2)
# Rows of the longer lists, and their level.
LONG_ROWS = 24
LONG_LEVEL = 0.1
LONG_SEEDS = 20


def small_table(number: int) -> np.ndarray:
    """Return the table of a number: first those by hand, then random ones with many ties."""
    by_hand = list(TABLES.values())
    if number < len(by_hand):
        return by_hand[number]
    rng = np.random.default_rng(number)
    rows = 5 + number % 2
    half = rng.integers(0, 2, (rows, 3)).astype(float)
    # Losses of 0 and 1 make the largest steps; some halves make ties.
    half[rng.random(half.shape) < 0.1] = 0.5
    return half


def run_unit(unit: tuple[str, str, int]) -> tuple[str, Count, float, bool]:
    """Judge one table of a scenario; return its name, counts, P / level, and whether it is bad."""
    # On small lists plain Python is faster than looking for compiled code.
    with interpreted():
        return _run_unit(unit)


def _run_unit(unit: tuple[str, str, int]) -> tuple[str, Count, float, bool]:
    question, name, number = unit
    circumstance = CIRCUMSTANCES[name]
    title = f"{question}, {name}"
    if number < 0:
        return title, *_judge_hard(question, name, number)
    if number % 8 == 7:
        table = (np.random.default_rng(number).random((LONG_ROWS, 3)) < 0.5).astype(float)
        seeds = range(LONG_SEEDS * number, LONG_SEEDS * (number + 1))
        count = shuffle_seeds(question, name, table, LONG_LEVEL, seeds)
        tail = float(binom.sf(count.wrong - 1, int(count.races), LONG_LEVEL))
        return title, count, 0.0, tail < 1e-6 or count.wrong_certain > 0
    level = LEVELS[number % len(LEVELS)]
    table = small_table(number)
    if circumstance.sample:
        count = enumerate_samples(question, table[:2], 5, level)
    else:
        count = enumerate_orders(question, name, table, level, limit=_limit(circumstance))
    return title, count, *_judged(count, level, circumstance)


def _judge_hard(question: str, name: str, number: int) -> tuple[Count, float, bool]:
    """Judge a scenario on a list that is hard for its question; number -1, -2, ..."""
    circumstance = CIRCUMSTANCES[name]
    hard = [*HARD[question], LONG[question]][-number - 1]
    if circumstance.sees_answers_only:
        count = deal_orders(question, name, hard.table, hard.level)
    elif circumstance.sample:
        # All samples of the kinds of rows, with their shares of the list.
        rows = 8 if len(hard.kinds) == 2 else 6
        law = np.array(hard.kinds)
        chances = np.array(hard.counts) / sum(hard.counts)
        count = enumerate_samples(question, law, rows, hard.level, chances.tolist())
    else:
        limit = _limit(circumstance)
        count = enumerate_orders(question, name, hard.table, hard.level, limit=limit)
    return count, *_judged(count, hard.level, circumstance)


def _judged(count: Count, level: float, circumstance: Circumstance) -> tuple[float, bool]:
    """Return P(wrong) / level, 0 where it is not exact, and whether the scenario is bad."""
    if circumstance.is_enumerated:
        ratio = count.wrong / count.races / level
        return ratio, ratio > 1.0 + 1e-9 or count.wrong_certain > 0
    tail = float(binom.sf(count.wrong - 1, int(count.races), level))
    return 0.0, tail < 1e-6 or count.wrong_certain > 0


def _limit(circumstance: Circumstance) -> int | None:
    """Return the number of seeds where orders are not enumerated."""
    if circumstance.slow:
        return 6
    return None if circumstance.is_enumerated else 24


def judge_lists(first: int, lists: int) -> int:
    """Judge every scenario of `evidence_harness` on lists; print P / level, and return the status."""
    total = Count()
    bad = []
    for name, scenario in SCENARIOS.items():
        count = Count()
        worst = (0.0, 0.0)
        expected = 0.0
        for number in range(first, first + lists):
            level = LEVELS[number % len(LEVELS)]
            one = judge_scenario(name, number, level)
            share = one.wrong / one.races
            # A sampled share has an error of its own; an exact one has none.
            error = 0.0 if scenario.exact else (level * (1.0 - level) / one.races) ** 0.5
            worst = max(worst, (share / level, error / level))
            if one.wrong_certain or (scenario.exact and share > level + 1e-9):
                bad.append(f"{name}, list {number}: {share:.4f} at {level}; {one.examples}")
            expected += level * one.races
            count.races += one.races
            count.sentences += one.sentences
            count.wrong += one.wrong
        if not scenario.exact and count.wrong > expected + 6.0 * expected**0.5:
            bad.append(f"{name}: {count.wrong:g} of {count.races:g} wrong, {expected:g} allowed")
        for field in ("races", "sentences", "wrong"):
            setattr(total, field, getattr(total, field) + getattr(count, field))
        kind = "exact" if scenario.exact else f"sampled, standard error {worst[1]:.3f}"
        print(
            f"{worst[0]:.3f} ({kind})  {name}: {count.races:,.0f} runs, {count.sentences:,} "
            f"sentences, {count.wrong:,.1f} wrong",
            flush=True,
        )
    print(f"{len(SCENARIOS)} scenarios, {total.races:,.0f} runs, {total.sentences:,} sentences")
    print("\n".join(bad) or "no level is exceeded, no certain sentence is false")
    return bool(bad)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--races", type=int, default=300_000)
    parser.add_argument(
        "--first", type=int, default=None, help="number of the first table; default: hard lists too"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--lists", type=int, default=0, help="judge other results on so many lists")
    options = parser.parse_args()
    if options.lists:
        with interpreted():
            return judge_lists(options.first or 0, options.lists)
    total = Count()
    worst: dict[str, float] = {}
    bad: list[str] = []
    # The longer list of a question is the last one.
    most = 1 + max(len(lists) for lists in HARD.values())
    number = -most if options.first is None else options.first
    first = number
    with ProcessPoolExecutor(options.workers) as pool:
        while total.races < options.races:
            units = [
                (question, name, number)
                for question, name in scenarios()
                if -number <= len(HARD[question]) + CIRCUMSTANCES[name].sees_answers_only
            ]
            for title, count, ratio, is_bad in pool.map(run_unit, units, chunksize=4):
                total.sentences += count.sentences
                total.races += count.races
                total.played += count.played
                worst[title] = max(worst.get(title, 0.0), ratio)
                if is_bad:
                    bad.append(f"{title}, table {number}: {count.wrong:g} of {count.races:g} wrong, "
                               f"{count.wrong_certain} certain; {count.examples[:1]}")  # fmt: skip
            number += 1
            print(
                f"tables {first} to {number - 1}: {len(worst)} scenarios, {total.races:,.0f} orders in "
                f"{total.played:,} races, {total.sentences:,} sentences, largest P / level {max(worst.values()):.3f}",
                flush=True,
            )
    for title, ratio in sorted(worst.items(), key=lambda item: -item[1])[:20]:
        print(f"  {ratio:.3f}  {title}")
    print("\n".join(bad) or "no level is exceeded, no certain sentence is false")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
