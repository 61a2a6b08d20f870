"""Values, enumerated sequences and certificates that the tests of confidence share."""

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from tombola import Pool
from tombola.evidence import Betting, Certificate, Confidence

Values = np.ndarray[Any, np.dtype[np.float64]]

CHUNK = 512  # sequences at once: each takes 20 KB


def degenerate_values() -> Iterator[Values]:
    """Yield pools that are ordinary, constant, of two values, lopsided, tiny."""
    rng = np.random.default_rng(4)
    yield rng.random(60)
    yield np.zeros(50)
    yield np.ones(50)
    yield np.full(40, 0.3)
    yield (rng.random(90) < 0.5).astype(float)
    yield (rng.random(90) < 0.03).astype(float)
    yield rng.beta(10, 30, 80)
    yield np.array([0.7])
    yield np.array([0.0, 1.0])
    yield np.arange(70) / 69
    yield 1e-9 * rng.random(40)


def interval_path(
    method: type[Confidence], values: Values, N: float, level: float
) -> list[tuple[float, float]]:
    """Return the interval before every value, and after the last."""
    seen = method(population=N, level=level)
    found: list[tuple[float, float]] = [seen.interval()]
    for x in values.tolist():
        seen.update(x)
        found.append(seen.interval())
    return found


def sequences(symbols: tuple[float, ...], rows: int) -> Values:
    """Return all sequences of these symbols, one per row."""
    return np.array(list(product(symbols, repeat=rows)), np.float64).reshape(-1, rows)


def enumerated_ends(values: Values, level: float) -> tuple[Values, Values]:
    """Return the lower and the upper ends after 0, 1, ... values of every sequence."""
    lows, highs = [], []
    for start in range(0, len(values), CHUNK):
        part = values[start : start + CHUNK]
        seen = Betting(population=values.shape[1], level=level, actions=len(part))
        found = [(seen.lows, seen.highs)]
        for column in part.T:
            seen.extend(column, np.arange(len(part)))
            found.append((seen.lows, seen.highs))
        lows.append(np.array([low for low, _ in found]).T)
        highs.append(np.array([high for _, high in found]).T)
    return np.concatenate(lows), np.concatenate(highs)


def bernoulli_pool(rows: int, means: list[float], seed: int = 0) -> Pool:
    """Return random 0/1 losses with these means."""
    return Pool((np.random.default_rng(seed).random((rows, len(means))) < means).astype(float))


def certificate_with(lows: list[float], highs: list[float], **other: Any) -> Certificate:
    """Return a certificate with these ends."""
    facts: dict[str, Any] = {
        "population": 1000.0,
        "level": 0.05,
        "rounds": 10,
        "answered": 10,
        "loss": 4.0,
        **other,
    }
    facts.setdefault("paired", np.full(len(lows), np.inf))
    middle = (np.array(lows) + np.array(highs)) / 2
    counts = facts.pop("counts", np.full(len(lows), 5))
    names = tuple("abcdef"[: len(lows)])
    return Certificate(
        names=names,
        counts=counts,
        means=middle,
        lows=np.array(lows),
        highs=np.array(highs),
        **facts,
    )


def allowed(level: float, runs: int) -> float:
    """Return the share that errors of probability `level` exceed with probability below 1e-6 (Bernstein)."""
    t = math.log(1e6)
    return level + math.sqrt(2 * level * (1 - level) * t / runs) + t / runs
