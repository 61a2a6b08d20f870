"""Page `from_paper_to_code`: it names existing tests and bounds, and every claim with its number."""

import importlib.util
import re
from pathlib import Path

import tombola.learners
from tombola import bounds
from tombola.paper.contents import PLACES
from tombola.paper.errata import ERRATA
from tombola.paper.registry import CLAIMS, EXTENSIONS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "from_paper_to_code.md").read_text(encoding="utf-8")


def test_tests_exist() -> None:
    paths = re.findall(r"[\w/]+\.py", PAGE)
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / "tests" / path).exists()] == []


def test_bounds_exist() -> None:
    names = [name for name in re.findall(r"`([a-z_0-9]+)`", PAGE) if "_" in name]
    assert [name for name in names if not hasattr(bounds, name)] == []


def test_claims_are_listed_with_their_number() -> None:
    for claim in CLAIMS:
        assert claim.name in PAGE
        number = re.match(r"(Lemma|Theorem|Corollary) [A-C\d]\.\d", claim.source)
        if claim not in EXTENSIONS and number:
            assert f"| {number.group()} |" in PAGE


def test_page_is_made_from_the_table() -> None:
    """After a change that is meant: python docs/studies/paper_to_code.py."""
    path = ROOT / "docs" / "studies" / "paper_to_code.py"
    spec = importlib.util.spec_from_file_location("paper_to_code", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.with_tables(PAGE) == PAGE
    assert module.with_tables(PAGE.replace("| Lemma 3.1 |", "| Lemma 3.9 |")) == PAGE


def test_every_erratum_has_one_place() -> None:
    numbers = [number for place in PLACES for number in place.errata]
    assert sorted(numbers) == sorted(erratum.number for erratum in ERRATA)


def test_errata_after_a_claim_belong_to_the_proof_around_it() -> None:
    """Errata 10, 20 and 35 stand after a claim, in the proof of the theorem that uses it."""
    errata = {place.name: place.errata for place in PLACES}
    assert errata["Theorem 4.2"] == (10, 11)
    assert errata["Claim 4.3"] == (8, 9)
    assert errata["Theorem 4.5"] == (16, 17, 19, 20, 21, 22)
    assert errata["Claim 4.6"] == (18,)
    assert errata["Theorem 4.9"] == (27, 28, 29, 30, 35)
    assert errata["Claim 4.12"] == (32, 33, 34)
    assert errata["Lemma 5.1"] == (38, 39, 40, 41)
    assert errata["Claim 5.2"] == (37,)


def test_claims_and_learners_of_places_exist() -> None:
    names = {claim.name for claim in CLAIMS}
    assert [place.name for place in PLACES if set(place.claims) - names] == []
    for place in PLACES:
        assert place.claims or place.where or place.code
        for name in re.findall(r"`([A-Z]\w+)[`(]", place.code):
            assert hasattr(tombola.learners, name) or hasattr(tombola, name), name


def test_every_numbered_statement_of_the_paper_has_a_place() -> None:
    """The paper has one counter of theorems in each section."""
    numbers = {place.name.partition(" ")[2] for place in PLACES if place.kind == "statement"}
    sizes = {"3": 2, "4": 12, "5": 3, "A": 1, "B": 1, "C": 1}
    assert numbers == {f"{part}.{n + 1}" for part, size in sizes.items() for n in range(size)}
