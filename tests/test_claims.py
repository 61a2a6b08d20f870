"""Claims: they say what they are, survive being killed, and rest on numbers that are computed on another way here."""

import itertools
import json
import math
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola import bounds, instances, play
from tombola.learners import BirthdayTest, LemmaSchedule, PaperSchedule
from tombola.paper import CLAIMS
from tombola.paper.claims import birthday, separation
from tombola.paper.claims.birthday import Birthday
from tombola.paper.claims.delay_lemma import blocks_of
from tombola.paper.claims.delay_theorem import coin_regret
from tombola.paper.claims.repair import plays_until_fired
from tombola.paper.extensions import BEYOND
from tombola.paper.reproduce import reproduce


def test_every_claim_says_what_and_where() -> None:
    assert len({kind.name for kind in CLAIMS}) == len(CLAIMS)
    for kind in CLAIMS:
        assert kind.statement.endswith(".")
        assert ("L" in kind.source) if kind not in BEYOND else kind.source.startswith("our ")
        for full in (False, True):
            units = kind().units(full=full)
            assert json.loads(json.dumps(units)) == units


class Small(Birthday):
    """The birthday claim with little to do."""

    def units(self, *, full: bool) -> Any:
        return [{"T": T, "plays": 60} for T in (4, 8, 16)]


def outputs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix in (".csv", ".png")}


def test_reproduce_does_not_depend_on_workers_or_on_being_killed(tmp_path: Path) -> None:
    for folder, workers in (("one", 1), ("two", 2)):
        (done,) = reproduce([Small()], tmp_path / folder, full=False, seed=5, workers=workers)
        assert done.as_expected
    assert outputs(tmp_path / "one") == outputs(tmp_path / "two")
    journal = tmp_path / "one" / "journal.jsonl"
    whole = journal.read_bytes()
    for cut in (0, len(whole) // 2, len(whole) - 1):
        journal.write_bytes(whole[:cut])
        reproduce([Small()], tmp_path / "one", full=False, seed=5, workers=1)
        assert outputs(tmp_path / "one") == outputs(tmp_path / "two")
        assert sorted(_units(journal)) == sorted(_units(tmp_path / "two" / "journal.jsonl"))


def _units(journal: Path) -> list[str]:
    units = []
    for line in journal.read_text().splitlines():
        try:
            units.append(json.loads(line)["unit"])
        except json.JSONDecodeError:
            continue
    return units


def test_reproduce_runs_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reproduce([Small()], tmp_path, full=False, seed=5, workers=1)
    before = outputs(tmp_path)
    monkeypatch.setattr(birthday, "fired", lambda *_: pytest.fail("it was run again"))
    reproduce([Small()], tmp_path, full=False, seed=5, workers=1)
    assert outputs(tmp_path) == before


def test_another_seed_gives_other_rows(tmp_path: Path) -> None:
    for seed in (1, 2):
        reproduce([Small()], tmp_path / str(seed), full=False, seed=seed, workers=1)
    assert (tmp_path / "1" / "birthday.csv").read_bytes() != (tmp_path / "2" / "birthday.csv").read_bytes()


# --------------------------------------------------------------------------------------- numbers of the birthday test


def test_the_mean_is_within_the_bound_for_every_horizon_up_to_5000() -> None:
    ratios = [bounds.birthday_mean(T) / bounds.birthday(T) for T in range(1, 5001)]
    assert max(ratios) == ratios[0] == 1.0
    assert all(later < earlier for earlier, later in pairwise(ratios)), "the ratio falls with T"
    assert ratios[-1] > math.sqrt(math.pi / 8)


def test_the_mean_is_that_of_all_sequences() -> None:
    """E[tau] by the definition: tau = t + 1 if the first t losses differ and the next is one of them."""
    for T in range(1, 13):
        exact, differ = Fraction(0), Fraction(1)
        for t in range(1, T + 1):
            exact += (t + 1) * differ * Fraction(t, T)
            differ *= Fraction(T - t, T)
        assert differ == 0
        assert bounds.birthday_mean(T) == pytest.approx(float(exact), rel=1e-14)


def test_the_mean_of_a_million_simulated_birthdays() -> None:
    """Four standard errors: a right formula fails with probability 6.4e-5 over the choice of the (fixed) seed."""
    T, rng, taus = 100, np.random.default_rng(20), []
    for _ in range(10):
        draws = rng.integers(0, T, (100_000, 60), dtype=np.int8)
        seen, tau = np.zeros((100_000, T), dtype=bool), np.zeros(100_000, dtype=np.int64)
        everyone = np.arange(100_000)
        for t in range(60):
            again = seen[everyone, draws[:, t]] & (tau == 0)
            tau[again] = t + 1
            seen[everyone, draws[:, t]] = True
        assert (tau > 0).all(), "60 different of 100 has probability 1.1e-10"
        taus.append(tau)
    tau = np.concatenate(taus)
    assert tau.size == 1_000_000
    assert abs(tau.mean() - bounds.birthday_mean(T)) < 4 * tau.std() / 1000


@pytest.mark.parametrize("T", [1, 2, 3, 10, 97, 256, 1000])
def test_the_regret_in_random_order_is_half_of_the_horizon_exactly(T: int) -> None:
    for seed in range(3):
        trace = play(BirthdayTest(), instances.birthday(T), order="random", seed=seed)
        assert trace.actions.max() == 0
        assert trace.regret == pytest.approx((T + 1) / 2, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_the_plays_until_the_test_fires_are_those_of_all_trainings(n: int) -> None:
    """Walk all n^n sequences of draws: action 0 is played up to the round after the first repetition."""
    total = Fraction(0)
    for draws in itertools.product(range(n), repeat=n):
        first = next((t for t in range(n) if draws[t] in draws[:t]), n)
        total += min(first + 2, n)
    assert plays_until_fired(n) == pytest.approx(float(total / n**n), rel=1e-12)


@pytest.mark.parametrize("T", [4, 6])
def test_the_regret_with_one_loss_twice_is_that_of_all_orders(T: int) -> None:
    pool = separation.twice(T)
    regrets = [
        play(BirthdayTest(), pool, order=list(order), seed=0).regret for order in itertools.permutations(range(T))
    ]
    assert separation.twice_mean(T) == pytest.approx(float(np.mean(regrets)), rel=1e-12)


@pytest.mark.parametrize(("T", "d"), [(4, 0), (8, 1), (12, 2), (12, 5)])
def test_the_regret_of_fair_coins_is_that_of_all_traps(T: int, d: int) -> None:
    blocks = T // (d + 1)
    regrets = [(d + 1) * abs(sum(signs)) / 2 for signs in itertools.product((-1, 1), repeat=blocks)]
    assert coin_regret(T, d) == pytest.approx(float(np.mean(regrets)), rel=1e-12)


@pytest.mark.parametrize("schedule", ["lemma", "paper"])
@pytest.mark.parametrize("d", [0, 1, 7, 99])
def test_blocks_are_those_of_the_schedule(schedule: str, d: int) -> None:
    kind = LemmaSchedule if schedule == "lemma" else PaperSchedule
    for T in (1, 2, 3, 64, 100):
        starts = kind(delay=d).blocks(T).starts.tolist()
        assert [block.start for _, block in blocks_of(schedule, T, d)] == starts
