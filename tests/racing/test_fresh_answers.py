"""Theorem R1: rows with replacement, in rational numbers and through the rules."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from naive import race as naive_race
from naive import random_answers as naive
from tombola.racing import RaceSettings
from tombola.racing.fresh_answers import DrawnRows, FreshAnswers, next_fit
from tombola.racing.rules.best import Best
from tombola.racing.rules.gate import Gate
from tombola.racing.side_information import SideInformation
from tombola.rng import RngStreams

pytestmark = pytest.mark.usefixtures("short_work")


def no_side(rows: int, k: int) -> SideInformation:
    return SideInformation(np.full((rows, k), math.nan), np.zeros((rows, 0)))


@pytest.mark.parametrize("predict", [naive.no_prediction, naive.shrunk_means])
@pytest.mark.parametrize("shift", [Fraction(0), Fraction(1, 4), Fraction(-1, 2)])
def test_expected_wealth_with_replacement_is_at_most_one(predict: Any, shift: Fraction) -> None:
    """All lists of two rows in thirds, two rounds, the largest bet; it is 1 where D = shift."""
    values = []
    for law in naive.laws(2):
        if naive.mean_difference(law) <= shift:
            wealth, least = naive.fresh_wealth(law, 2, shift, predict)
            assert least >= 0
            values.append(wealth)
            if naive.mean_difference(law) == shift:
                assert wealth == 1
    assert max(values) <= 1


def test_three_rows_and_three_rounds_with_predictions() -> None:
    third = Fraction(1, 3)
    law = ((third, 2 * third), (Fraction(1), third), (third, 2 * third))
    assert naive.mean_difference(law) == 0
    wealth, least = naive.fresh_wealth(law, 3, Fraction(0), naive.shrunk_means)
    assert wealth == 1
    assert least >= 0


def test_mean_over_rows_not_drawn_is_detected() -> None:
    def rows_left(g: list[Fraction], drawn: set[int]) -> Fraction:
        left = [value for row, value in enumerate(g) if row not in drawn] or [Fraction(0)]
        return sum(left, Fraction(0)) / len(left)

    def opposite(rows: int, past: Any) -> list[Fraction]:
        """Any prediction is allowed; with the wrong mean this one pays."""
        return [-value for value in naive.shrunk_means(rows, past)]

    worst = max(
        naive.fresh_wealth(law, 2, Fraction(0), opposite, mean=rows_left)[0]
        for law in naive.laws(2)
        if naive.mean_difference(law) <= 0
    )
    assert worst > 1


def test_limit_without_predictions_gives_negative_factors() -> None:
    third = Fraction(1, 3)
    law = ((third, 2 * third), (2 * third, third))
    _, least = naive.fresh_wealth(
        law, 3, Fraction(0), naive.shrunk_means, largest_bet=lambda s, g: 1 / (1 + s)
    )
    assert least < 0


def test_present_wealth_exceeds_one() -> None:
    """The wealth for recorded answers has expectation above 1, for two rows in thirds."""
    for bet, wealth in ((Fraction(1, 2), Fraction(4, 3)), (Fraction(1), Fraction(17, 9))):
        worst = max(
            naive.present_wealth(law, bet)
            for law in naive.laws(2)
            if naive.mean_difference(law) <= 0
        )
        assert worst == wealth


def test_present_wealth_with_a_constant_bet_of_nine_tenths_is_1_38() -> None:
    laws = [law for law in naive.laws(2) if naive.mean_difference(law) <= 0]
    bet = Fraction(9, 10)
    assert max(naive.present_wealth(law, bet, grows=False) for law in laws) == Fraction(69, 50)


def test_bets_of_two_rounds_that_look_at_each_other_exceed_one() -> None:
    """Each round bets 1 if the other difference is 1, d = 1 or -1: E = 5/4."""
    mean = np.mean([(1 + (e == 1) * d) * (1 + (d == 1) * e) for d in (1, -1) for e in (1, -1)])
    assert mean == 1.25


def test_drawn_rows_are_uniform_and_reproducible() -> None:
    """Ten standard deviations: false alarm below 1e-20."""
    first, second = (DrawnRows(7, RngStreams(3).order()) for _ in range(2))
    rows = [first[position] for position in range(7000)]
    assert second[6999] == rows[-1]
    assert first[:10] == rows[:10]
    assert np.abs(np.bincount(rows, minlength=7) - 1000).max() < 10 * math.sqrt(7000 / 7)


class Kelly(naive_race.Account):
    """The first strategy of an account alone."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.strategies = [self.deposit, 0.0, 0.0, 0.0]


class NaiveFresh:
    """Twin of `Best` on fresh answers for two candidates: every sum is over all past rounds."""

    def __init__(self, rows: int, horizon: int, threshold: float) -> None:
        self.rows, self.horizon = rows, horizon
        self.past: list[tuple[int, Any]] = []
        self.g_at_round: list[Any] = []
        self.fitted = 0
        self.next_fit = next_fit(0)
        self.deviations = np.zeros((rows, 2))
        self.threshold = threshold
        self.plain = [Kelly(0.1, 0.0, math.inf, horizon) for _ in range(2)]
        self.adjusted = [[0.2, 0.7] for _ in range(2)]

    def predictions(self) -> Any:
        """Return the predictions after `self.fitted` rounds."""
        past = self.past[: self.fitted]
        cells: dict[tuple[int, int], list[float]] = {}
        for row, x in past:
            for a in range(2):
                cells.setdefault((row, a), []).append(x[a] - sum(x) / 2)
        freedom = sum(len(c) - 1 for c in cells.values())
        weight = 3.0
        if freedom >= 20:
            noise = sum(sum((v - np.mean(c)) ** 2 for v in c) for c in cells.values()) / freedom
            between = np.mean(
                [np.var([v for (_, b), c in cells.items() if b == a for v in c]) for a in range(2)]
            )
            between = max(between - noise, 0.0)
            weight = float(np.clip(noise / between, 0.05, 50)) if between > 0 else 50.0
        g = np.zeros((self.rows, 2))
        for a in range(2):
            own = [v for (_, b), c in cells.items() if b == a for v in c]
            prior = sum(own) / max(len(own), 1)
            for row in range(self.rows):
                c = cells.get((row, a), [])
                g[row, a] = (weight * prior + sum(c)) / (weight + len(c))
        return g

    def update(self, row: int, x: Any) -> None:
        g = self.predictions()
        n = len(self.past)
        for b, o in ((0, 1), (1, 0)):
            d = x[b] - x[o]
            past = [y[b] - y[o] for _, y in self.past]
            gap = g[:, b] - g[:, o]
            y = d - gap[row] + gap.mean()
            low = -1.0 - gap.max() + gap.mean()
            residuals = np.array(
                [
                    (v[b] - v[o]) - (h[r, b] - h[r, o])
                    for (r, v), h in zip(self.past, self.g_at_round, strict=True)
                ]
            )
            variance = max((0.5 + (n * residuals.var() if n else 0.0)) / (n + 2), 1e-6)
            excess = sum(
                (v[b] - v[o]) - (h[r, b] - h[r, o]) + (h[:, b] - h[:, o]).mean()
                for (r, v), h in zip(self.past, self.g_at_round, strict=True)
            )
            cap = 0.95 / max(-low, 1e-3)
            edge = naive_race.shrunk_edge(excess, n + 20, variance)
            planned = 1.2 * math.sqrt(2 * math.log(self.threshold) / (self.horizon * variance))
            sizes = [edge / (variance + edge**2), planned]
            self.adjusted[b] = [
                w * (1 + min(size, cap) * y)
                for w, size in zip(self.adjusted[b], sizes, strict=True)
            ]
            self.plain[b].bet(past, d)
        self.past.append((row, tuple(x)))
        self.g_at_round.append(g)
        if len(self.past) >= self.next_fit:
            self.next_fit = next_fit(len(self.past))
            self.fitted = len(self.past)

    @property
    def wealth(self) -> list[float]:
        return [self.plain[b].wealth + sum(self.adjusted[b]) for b in range(2)]


@pytest.mark.parametrize("values", [(0.0, 1.0), (0.0, 0.0), (0.0, 0.25, 1.0)])
@pytest.mark.parametrize("rows", [1, 2, 6])
def test_best_agrees_with_its_twin(rows: int, values: tuple[float, ...]) -> None:
    """Ties, one row, constant answers, and enough repeats to estimate the noise."""
    rng = np.random.default_rng(rows)
    rule = Best(2, 200, math.inf, 1e-12)
    fresh, twin = FreshAnswers(rule, no_side(rows, 2)), NaiveFresh(rows, 200, 1e12)
    for _ in range(40):
        row = int(rng.integers(rows))
        losses = rng.choice(values, 2)
        fresh.update(row, losses)
        twin.update(row, losses)
        np.testing.assert_allclose(rule.state.wealth.sum(axis=1), twin.wealth, rtol=1e-9)


def test_bound_of_the_residual_is_over_all_rows() -> None:
    rng = np.random.default_rng(5)
    rule = Gate(3, 100, math.inf, 1e-9, baseline=0, margin=0.1)
    fresh = FreshAnswers(rule, no_side(4, 3), lambda n: n + 1)
    for _ in range(30):
        fresh.update(int(rng.integers(4)), rng.integers(0, 2, 3).astype(float))
        g = np.asarray(fresh.predicted)
        for b in range(3):
            for o in range(3):
                assert rule.state.residual_low[b, o] == pytest.approx(
                    -1 - (g[:, b] - g[:, o]).max()
                )
        np.testing.assert_allclose(rule.state.predicted_mean, g.mean(axis=0))


def test_answers_on_file_and_history_are_predictions_only() -> None:
    """A fresh answer may differ from the one on file; the range of every cell stays [0, 1]."""
    rng = np.random.default_rng(6)
    table = rng.integers(0, 2, (12, 3)).astype(float)
    known = table.copy()
    known[:, 2] = math.nan
    side = SideInformation(known, rng.random((12, 2)))
    rule = RaceSettings(("a", "b", "c"), level=1e-9, reading="beyond").rule(100)
    fresh = FreshAnswers(rule, side)
    assert (rule.state.residual_low <= -1.0).all()
    for _ in range(30):
        row = int(rng.integers(12))
        fresh.update(row, np.where(rng.random(3) < 0.8, table[row], 1 - table[row]))
    assert rule.rows_seen == 30
    assert np.isfinite(rule.state.wealth).all()
    assert (rule.state.wealth.sum(axis=1) > 0).all()
    assert np.ptp(np.asarray(fresh.predicted)[:, 0]) > 0


def test_rules_without_predictions_are_run_without_them() -> None:
    rule = RaceSettings(("a", "b"), reading="beyond", question="ranks").rule(20)
    fresh = FreshAnswers(rule, no_side(3, 2))
    while not rule.done:
        fresh.update(0, np.array([1.0, 0.0]))
    assert rule.rows_seen <= 20
