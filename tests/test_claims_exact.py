"""The claims without noise: hierarchy, De Finetti, concentration, errata. Each can fail, and is judged by rows only."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tombola import bounds
from tombola._play import play
from tombola.classification import ERM, Thresholds
from tombola.paper.claims import concentration, de_finetti
from tombola.paper.claims.classification import pools, records
from tombola.paper.claims.errata import Errata
from tombola.paper.claims.impossibility import least_regret, regrets_by_spending
from tombola.paper.errata import ERRATA
from tombola.paper.errata.base import right, shown

Rows = list[Any]


def errata_rows() -> Rows:
    return [row for unit in Errata().units(full=False) for row in Errata().run(unit, seed=0)]


# ------------------------------------------------------------------------------------------------------ de finetti


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (3, 2), (5, 3), (6, 6)])
def test_the_distance_is_that_of_the_definition(n: int, k: int) -> None:
    without = [Fraction(math.comb(n, x) * math.comb(n, 2 * k - x), math.comb(2 * n, 2 * k)) for x in range(2 * k + 1)]
    replaced = [Fraction(math.comb(2 * k, x), 4**k) for x in range(2 * k + 1)]
    truth = sum(abs(a - b) for a, b in zip(without, replaced, strict=True)) / 2
    assert de_finetti.distance(n, k) == pytest.approx(float(truth), abs=1e-13)
    events = itertools.chain.from_iterable(itertools.combinations(range(2 * k + 1), r) for r in range(2 * k + 2))
    if k <= 3:
        largest = max(abs(float(sum(without[x] - replaced[x] for x in event))) for event in events)
        assert largest == float(truth), "total variation is the largest difference over events"


# --------------------------------------------------------------------------------------------------- concentration


@pytest.mark.parametrize(("N", "s"), [(1, 1), (4, 2), (6, 3), (7, 7)])
def test_tails_are_those_of_all_subsets(N: int, s: int) -> None:
    deviations, probabilities = concentration.tails(concentration.shuffled(N, s), N, s)
    for ones in range(N + 1):
        pool = [1] * ones + [0] * (N - ones)
        off = [abs(Fraction(sum(drawn), s) - Fraction(ones, N)) for drawn in itertools.combinations(pool, s)]
        for seen in range(s + 1):
            at = abs(Fraction(seen, s) - Fraction(ones, N))
            truth = Fraction(sum(x >= at for x in off), len(off))
            assert deviations[ones, seen] == pytest.approx(float(at), abs=1e-15)
            assert probabilities[ones, seen] == pytest.approx(float(truth), abs=1e-13)


# ---------------------------------------------------------------------------------------------------------- errata


def test_every_erratum_has_its_own_number_and_its_words() -> None:
    """23 and 49 are withdrawn; 3, 7 and 13 are part of 4, 6 and 14."""
    assert sorted(erratum.number for erratum in ERRATA) == sorted(set(range(1, 51)) - {3, 7, 13, 23, 49})
    for erratum in ERRATA:
        assert 200 <= erratum.line <= 941
        assert all((erratum.printed, erratum.correct, erratum.quantity))


@pytest.mark.parametrize("erratum", sorted(ERRATA), ids=[str(erratum.number) for erratum in sorted(ERRATA)])
def test_an_erratum_is_shown_and_would_not_be_if_the_paper_were_right(erratum: Any) -> None:
    printed, corrected, truth = erratum.evidence()
    assert shown(erratum.relation, printed, corrected, truth)
    assert not shown(erratum.relation, corrected, printed, truth), "printed and corrected target_as_budget"
    assert not shown(erratum.relation, corrected, corrected, truth), "printed as it should be"


def test_the_verdict_does_not_trust_the_column_that_says_shown() -> None:
    rows = [{**row, "printed_value": row["corrected_value"], "shown": True} for row in errata_rows()]
    assert Errata().verdict(rows).outcome == "refuted"


def test_relations_say_what_they_say() -> None:
    assert right("at most", 2.0, 1.0)
    assert not right("at most", 1.0, 2.0)
    assert right("at least", 1.0, 2.0)
    assert not right("within", 3.0, 2.0)
    assert not right("equals", 1.02, 1.0)
    assert not shown("tighter", 3.0, 2.0, 2.5), "a bound that does not hold is not tighter"


def test_numbers_that_the_list_of_errata_names() -> None:
    """Spec.md has these figures; they come out again."""
    found = {erratum.number: erratum.evidence() for erratum in ERRATA}
    assert found[8].truth == pytest.approx(2.71e-5, rel=1e-3)
    assert found[8].truth / found[8].printed == pytest.approx(57, abs=0.5)
    assert found[10].truth / (found[10].printed / 5) == pytest.approx(17.07, abs=0.1)
    assert (round(found[19].printed), round(found[19].corrected)) == (185, 47_419)
    assert (found[39].truth, round(found[39].printed, 1)) == (211, 184.7)
    assert (found[45].truth, round(found[45].printed, 1)) == (99, 79.8)
    assert found[46].truth == pytest.approx(0.2421e-3, rel=1e-3)
    assert np.isclose(found[1].truth - found[1].printed, 1.0)


def test_the_radius_of_erratum_41_is_too_small_for_all_labellings_and_for_its_own_last_display() -> None:
    """A rule that is wrong on what was not seen is off by its share, in any order; L765 is above delta there too."""
    evidence = next(erratum for erratum in ERRATA if erratum.number == 41).evidence()
    assert evidence.truth == pytest.approx(1 - 190 / 1024)
    assert evidence.printed == pytest.approx(0.503, abs=5e-4)
    radius = bounds.uniform_convergence_printed(1000, 1, 0.05)
    assert 4 * math.e * 1000 * math.exp(-1000 * radius**2 / 4) > 0.05


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("T", [2, 4, 6])
def test_the_mistakes_of_the_minimiser_are_those_of_all_orders(T: int) -> None:
    pool = pools(T, np.random.default_rng(0))["realizable"]
    mistakes = [
        play(ERM(Thresholds()), pool, order=list(order), seed=0).mistakes for order in itertools.permutations(range(T))
    ]
    assert records(T) == pytest.approx(float(np.mean(mistakes)), rel=1e-12)


@pytest.mark.parametrize("T", [2, 4, 8, 16])
def test_no_way_to_spend_has_less_regret_than_a_sixteenth(T: int) -> None:
    assert least_regret(T) == pytest.approx(T / 16, abs=1e-9)
    assert regrets_by_spending(T).max(axis=0).min() >= T / 16 - 1e-12
