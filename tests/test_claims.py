"""Claims: they hold on small settings, come out otherwise when something is broken, and survive being killed."""

import json
import math
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola import FixedAction, FollowTheLeader, bounds, instances, play
from tombola.claims import CLAIMS, Claim, birthday, separation
from tombola.claims.birthday import Birthday
from tombola.claims.reproduce import reproduce
from tombola.claims.separation import Repair, Separation
from tombola.full import BirthdayTest
from tombola.report.figures import draw, save

Rows = list[Any]


def rows_of(claim: Claim, horizons: tuple[int, ...], plays: int, seed: int = 3) -> Rows:
    """Run a claim on small units."""
    return [row for T in horizons for row in claim.run({"T": T, "plays": plays}, seed=seed)]


def separation_rows() -> Rows:
    return rows_of(Separation(), (256, 512, 1024, 2048, 4096), 60)


def repair_rows() -> Rows:
    return rows_of(Repair(), (256, 512, 1024, 2048, 4096), 20)


SMALL = {Separation: separation_rows, Repair: repair_rows}


@pytest.mark.parametrize("kind", SMALL)
def test_a_claim_comes_out_as_expected_and_is_drawn(kind: type[Claim], tmp_path: Path) -> None:
    rows = SMALL[kind]()
    assert json.loads(json.dumps(rows)) == rows, "rows are plain values"
    assert kind().verdict(rows).outcome == kind.expected
    assert save(draw(kind().chart(rows)), tmp_path / "claim.png").read_bytes().startswith(b"\x89PNG")
    assert b"</svg>" in save(draw(kind().chart(rows)), tmp_path / "claim.svg").read_bytes()


def test_every_claim_says_what_and_where() -> None:
    assert len({kind.name for kind in CLAIMS}) == len(CLAIMS)
    for kind in CLAIMS:
        assert kind.statement.endswith(".")
        assert "L" in kind.source
        for full in (False, True):
            units = kind().units(full=full)
            assert json.loads(json.dumps(units)) == units


@pytest.mark.parametrize(
    "learner",
    [FollowTheLeader(), FixedAction(0), FixedAction(1), BirthdayTest(grid=7)],
    ids=repr,
)
def test_separation_does_not_hold_for_another_learner(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(separation.LEARNERS, "birthday test", learner)
    rows = separation_rows()
    if learner == FixedAction(1):
        assert max(row["regret"] for row in rows) == 0
        rows = [{**row, "regret": row["regret"] + 1.0} for row in rows]  # a slope needs something above 0
    assert Separation().verdict(rows).outcome == "refuted"


def test_repair_is_refuted_without_the_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(separation.LEARNERS, "Simulation", separation.LEARNERS["birthday test"])
    assert Repair().verdict(repair_rows()).outcome == "refuted"


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
