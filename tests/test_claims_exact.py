"""The claims without noise: hierarchy, De Finetti, concentration, errata. Each can fail, and is judged by rows only."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombola import exact
from tombola.claims import concentration, de_finetti, errata, hierarchy
from tombola.claims.concentration import Concentration
from tombola.claims.de_finetti import DeFinetti
from tombola.claims.errata import Errata
from tombola.claims.evidence import ERRATA, Evidence
from tombola.claims.evidence.base import right, shown
from tombola.claims.hierarchy import Hierarchy
from tombola.report.figures import draw, save

Rows = list[Any]


def hierarchy_rows() -> Rows:
    return [row for T in (1, 2, 3, 4, 5) for row in Hierarchy().run({"learner": "follow the leader", "T": T}, seed=0)]


def de_finetti_rows() -> Rows:
    units = [{"k": k, "n": share * k} for k in (1, 2, 100, 300) for share in (10, 100, 1000)]
    return [row for unit in units for row in DeFinetti().run(unit, seed=0)]


def concentration_rows() -> Rows:
    return [row for N in (1, 2, 3, 7, 30) for row in Concentration().run({"N": N}, seed=0)]


def errata_rows() -> Rows:
    return [row for unit in Errata().units(full=False) for row in Errata().run(unit, seed=0)]


CLAIMS = {
    Hierarchy: hierarchy_rows,
    DeFinetti: de_finetti_rows,
    Concentration: concentration_rows,
    Errata: errata_rows,
}


@pytest.mark.parametrize("kind", CLAIMS)
def test_a_claim_comes_out_as_expected_from_its_rows_alone(kind: Any, tmp_path: Path) -> None:
    rows = CLAIMS[kind]()
    again = json.loads(json.dumps(rows))
    assert again == rows, "rows are plain values"
    verdict = kind().verdict(rows)
    assert verdict.outcome == kind.expected, verdict
    assert kind().verdict(list(reversed(again))) == verdict
    assert save(draw(kind().chart(again)), tmp_path / "claim.png").read_bytes().startswith(b"\x89PNG")


# ------------------------------------------------------------------------------------------------------- hierarchy


@pytest.mark.parametrize(("one", "other"), [("iid", "random"), ("random", "adversarial"), ("iid", "adversarial")])
def test_the_hierarchy_is_refuted_by_two_models_taken_for_each_other(
    one: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def confused(*arguments: Any) -> Any:
        found = exact.worst_case(*arguments)
        return found._replace(**{one: getattr(found, other), other: getattr(found, one)})

    monkeypatch.setattr(hierarchy, "worst_case", confused)
    assert Hierarchy().verdict(hierarchy_rows()).outcome == "refuted"


@pytest.mark.parametrize("model", ["random", "adversarial"])
def test_the_hierarchy_is_refuted_by_one_regret_against_a_better_comparator(model: str) -> None:
    """One row of eighteen is enough: its comparator suffers one more loss than that of the other models."""
    rows = hierarchy_rows()
    rows[-1] = {**rows[-1], model: rows[-1][model] - 2.0}
    assert Hierarchy().verdict(rows).outcome == "refuted"


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


def test_de_finetti_holds_as_printed_in_the_norm_of_its_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    right_distance, right_least = de_finetti.distance, de_finetti.least_distance
    monkeypatch.setattr(de_finetti, "distance", lambda n, k: 2 * right_distance(n, k))
    monkeypatch.setattr(de_finetti, "least_distance", lambda n, k: 2 * right_least(n, k))
    assert DeFinetti().verdict(de_finetti_rows()).outcome == "holds"


def test_de_finetti_is_refuted_by_another_urn_and_by_a_nearer_mixture(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = de_finetti_rows()
    nearer = [{**row, "least": 0.99 * row["least"]} for row in rows]
    assert DeFinetti().verdict(nearer).outcome == "refuted"
    urn = de_finetti.urn
    monkeypatch.setattr(de_finetti, "urn", lambda n, k: urn(2 * n, k))
    assert DeFinetti().verdict(de_finetti_rows()).outcome == "refuted"


# --------------------------------------------------------------------------------------------------- concentration


@pytest.mark.parametrize(("N", "s"), [(1, 1), (4, 2), (6, 3), (7, 7)])
def test_tails_are_those_of_all_subsets(N: int, s: int) -> None:
    deviations, chances = concentration.tails(N, s)
    for ones in range(N + 1):
        pool = [1] * ones + [0] * (N - ones)
        off = [abs(Fraction(sum(drawn), s) - Fraction(ones, N)) for drawn in itertools.combinations(pool, s)]
        for seen in range(s + 1):
            at = abs(Fraction(seen, s) - Fraction(ones, N))
            truth = Fraction(sum(x >= at for x in off), len(off))
            assert deviations[ones, seen] == pytest.approx(float(at), abs=1e-15)
            assert chances[ones, seen] == pytest.approx(float(truth), abs=1e-13)


@pytest.mark.parametrize(
    ("name", "rate", "outcome"),
    [
        ("hoeffding", lambda s, _: 3.0 * s, "refuted"),
        ("serfling", lambda s, N: 2 * s / (1 - s / (N + 1)) ** 2, "refuted"),
        ("printed", lambda s, _: 4.0 * s, "refuted as printed"),
    ],
)
def test_concentration_is_refuted_by_a_bound_that_is_too_small(
    name: str, rate: Any, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(concentration.RATES, name, rate)
    assert Concentration().verdict(concentration_rows()).outcome == outcome


def test_concentration_is_refuted_by_draws_with_less_than_their_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    tails = concentration.tails
    monkeypatch.setattr(concentration, "tails", lambda N, s: (2 * tails(N, s)[0], tails(N, s)[1]))
    assert Concentration().verdict(concentration_rows()).outcome == "refuted"


# ---------------------------------------------------------------------------------------------------------- errata


def test_every_erratum_has_its_own_number_and_its_words() -> None:
    assert sorted(erratum.number for erratum in ERRATA) == list(range(1, 51))
    for erratum in ERRATA:
        assert 200 <= erratum.line <= 941
        assert all((erratum.printed, erratum.correct, erratum.quantity))


@pytest.mark.parametrize("erratum", sorted(ERRATA), ids=[str(erratum.number) for erratum in sorted(ERRATA)])
def test_an_erratum_is_shown_and_would_not_be_if_the_paper_were_right(erratum: Any) -> None:
    printed, corrected, truth = erratum.evidence()
    assert shown(erratum.relation, printed, corrected, truth)
    assert not shown(erratum.relation, corrected, printed, truth), "printed and corrected exchanged"
    assert not shown(erratum.relation, corrected, corrected, truth), "printed as it should be"


def test_the_claim_is_refuted_by_one_erratum_that_is_not_one(monkeypatch: pytest.MonkeyPatch) -> None:
    first = ERRATA[0]
    monkeypatch.setattr(errata, "ERRATA", (first._replace(evidence=lambda: Evidence(1.0, 1.0, 1.0)), *ERRATA[1:]))
    verdict = Errata().verdict(errata_rows())
    assert verdict.outcome == "refuted"
    assert verdict.measured.endswith("not shown: 1")


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
