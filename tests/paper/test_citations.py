"""Citations of learners, commands and claims."""

import re

import pytest

from conftest import SOURCE
from tombola import cite, learners
from tombola.bounds.references import PAPER, _entries, bound_source
from tombola.cli import race, session
from tombola.errors import ParameterError
from tombola.learners.spec import has_bound
from tombola.paper.base import Claim
from tombola.paper.citations import _COMMANDS, PAPER_ENTRY, SOFTWARE_ENTRY, Citation
from tombola.paper.contents import _SUBJECTS, PLACES, find_subject
from tombola.paper.errata import ERRATA
from tombola.paper.registry import CLAIMS

THEORY = SOURCE.parent / "docs" / "theory"


def test_every_bound_has_a_source() -> None:
    kinds = [getattr(learners, name) for name in learners.__all__]
    bounded = [kind for kind in kinds if hasattr(kind, "bound") and has_bound(kind)]
    assert len(bounded) > 20
    assert [kind.__name__ for kind in bounded if not bound_source(kind)] == []


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_claim_is_cited_with_its_statement(claim: type[Claim]) -> None:
    found = cite(claim.name)
    ours = claim.source.startswith("our ")
    assert claim.statement.rstrip(".") in found.theorems[0]
    assert found.entries == ((SOFTWARE_ENTRY,) if ours else (PAPER_ENTRY,))
    assert ("docs/theory/" in found.theorems[0]) == ours
    assert not re.search(r"\bL\d{3}\b", str(found)), (
        "line numbers of the preprint mean nothing to readers"
    )
    assert not ours or "Errata" not in str(found)


@pytest.mark.parametrize("name", _COMMANDS)
def test_sources_of_a_command_are_in_the_theory(name: str) -> None:
    """Names and pages that a command cites occur in docs/theory, so that none is invented."""
    text = " ".join(
        " ".join(page.read_text(encoding="utf-8").split()) for page in THEORY.glob("*.md")
    )
    cited = " ".join(cite(name).theorems)
    assert all((THEORY / page).is_file() for page in re.findall(r"docs/theory/(\w+\.md)", cited))
    for author in re.findall(r"(\b[A-Z]\w+)(?= (?:et al\. )?\d{4})", cited):
        assert author in text, author
    assert cite(name).entries[-1] == SOFTWARE_ENTRY


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("race", ("Theorem 1", "Theorem 2", "Theorem 3", "Theorem 4")),
        ("rank", ("Corollary 1", "Vovk and Wang 2021", "Holm 1979", "Mogstad")),
        ("audit", ("section 4", "section 5", "Waudby-Smith and Ramdas 2024")),
        ("check-order", ("section 5", "Besag and Clifford 1991")),
        ("race plan", ("race: Theorem 1", "Theorem 4")),
        ("Simulation(FollowTheLeader())", ("Theorem 3 (1)", PAPER_ENTRY, SOFTWARE_ENTRY)),
        ("Uniform", ("no bound is proved",)),
        ("Claim 4.3", ("probability of the clean event", 'cite "erratum 8"): 8, 9.')),
        (
            "Theorem 4.9",
            (
                "k log T switches",
                "Section 4.3: SimulationSuccessiveElimination.",
                ": 27, 28, 29, 30, 35; Claim 4.10: 31; Claim 4.12: 32, 33, 34; algorithm: 25, 26.",
            ),
        ),
        ("Lemma 4.1", ("Simulation(base, LemmaSchedule(delay=d))", 'cite "erratum 6")')),
        ("constraints", ("Errata of Theorem 4.5", "algorithm: 14, 15", "Errata of Corollary 4.8")),
        ("repair", ("Errata of Simulation, Section 4",)),
        ("section 5", ("classification: ", "Theorem 5.3", "tombola.classification.ERM.")),
        ("Section 2", ("Section 2.1", "Section 2.2", "Section 2.3")),
        ("Bandits  with Switching Costs", ("switching: ", "Theorem 4.9")),
        ("learnability", ("classification: ", "Theorem 5.3")),
        ("Section 4", ("Simulation, Section 4: the template",)),
        ("tombola.classification.ERM", ("ERM: ", "Theorem 5.3")),
        ("tombola.learners.Hedge", ("Hedge: ", "Theorem 2.2")),
        ("ERM", ("classification.ERM", "Theorem 5.3", "--claims classification", PAPER_ENTRY)),
        ("erm_corrected", ("Theorem 5.3: regret of the empirical risk minimiser",)),
        ("BirthdayTest", ("no bound is proved", "Algorithm Birthday-Test, Section 3", PAPER_ENTRY)),
        ("Haghtalab", ("Other input models: not implemented", PAPER_ENTRY)),
        ("erratum 10", ("Theorem 4.2", "printed Σ 5√(2^i ln T)", "14561 as corrected")),
        ("errata 10, 35", ("Erratum 10", "Erratum 35 (false as stated; Theorem 4.9)")),
        ("4.12", ("Claim 4.12: accuracy of the means",)),
        (
            "birthday-test",
            ("In tombola: BirthdayTest", "--claims birthday,separation", PAPER_ENTRY),
        ),
        (
            "Joulani",
            ("cited in Bernasconi", "--claims delay-shift,delay-floor", "@inproceedings{j"),
        ),
        ("dong and yoshida 2023", ("In tombola: lab.BatchToOnline", "@inproceedings{dong2023")),
        ("", (PAPER_ENTRY, SOFTWARE_ENTRY)),
        (
            "Hedge",
            ("@book{cesabianchi2006prediction,\n  author = {Cesa-Bianchi, Nicol{\\`o} and Lugosi",),
        ),
    ],
)
def test_citation_has_theorems_and_entries(name: str, texts: tuple[str, ...]) -> None:
    assert all(text in str(cite(name)) for text in texts)


def test_every_erratum_is_cited_with_its_text() -> None:
    numbers = sorted(erratum.number for erratum in ERRATA)
    theorems = cite(f"errata {' '.join(map(str, numbers))}").theorems[::2]
    for theorem, erratum in zip(
        theorems, sorted(ERRATA, key=lambda erratum: erratum.number), strict=True
    ):
        assert theorem.startswith(f"Erratum {erratum.number} (")
        assert erratum.printed.rstrip(".") in theorem
        assert erratum.correct in theorem
    assert cite("errata").theorems[-1].endswith(f": {', '.join(map(str, numbers))}")


def test_page_of_a_citation_has_formulas_as_mathml() -> None:
    page = cite("erratum 10")._repr_html_()
    assert "Correct: ≤ 17.08 <math><msqrt><mrow><mi>T</mi>" in page
    assert "<pre>@inproceedings" in page
    assert "<math>" not in str(cite("erratum 10"))
    assert "T &lt; 5" in Citation("", ("T < 5",), ())._repr_html_()


def test_unknown_erratum_raises() -> None:
    with pytest.raises(ParameterError, match="expected the number of an erratum, one of 1, 2, 4"):
        cite("erratum 3")


def test_every_subcommand_is_cited_as_its_command() -> None:
    for command, app in (("race", race.app), ("session", session.app)):
        names = [
            one.name or getattr(one.callback, "__name__", "") for one in app.registered_commands
        ]
        assert [cite(f"{command} {name}").name for name in names] == [command] * len(names)


def test_errata_of_a_statement_are_those_of_its_row() -> None:
    for place in PLACES:
        if place.kind == "statement":
            errata = [text for text in cite(place.name).theorems if text.startswith("Errata of")]
            rows = [text.partition("): ")[2] for text in errata]
            assert rows == ([place.errata_text] if place.errata_text else []), place.name


def test_every_subject_leads_to_a_place() -> None:
    claims = {claim.name for claim in CLAIMS}
    assert set(_SUBJECTS) <= {place.name for place in PLACES}
    for owner, subjects in _SUBJECTS.items():
        for subject in subjects:
            assert subject == subject.lower()
            assert subject not in claims
            assert owner in [place.name for place in find_subject(subject)]
            assert owner in " ".join(cite(subject).theorems)


def test_every_numbered_section_is_cited() -> None:
    sections = [
        "1",
        "2",
        "2.1",
        "2.2",
        "2.3",
        "3",
        "4",
        "4.1",
        "4.2",
        "4.3",
        "5",
        "5.1",
        "5.2",
        "6",
        "A",
        "B",
        "C",
    ]
    assert [section for section in sections if not find_subject(f"Section {section}")] == []
    for section in ("4.1", "4.2", "4.3", "5.2"):
        (place,) = find_subject(f"Section {section}")
        assert place.algorithm is not None
        assert place.algorithm.name.endswith(f"Section {section}")


def test_every_algorithm_that_a_statement_is_about_exists() -> None:
    assert [place.name for place in PLACES if place.about and place.algorithm is None] == []


@pytest.mark.parametrize(
    "name",
    [
        "Nobody",
        "Theorem 9.9",
        "race nothing",
        "rank plan",
        "Section 9",
        "dimension",
        "tombola.nothing.ERM",
        "tombola.__main__",
        "numpy.sum",
    ],
)
def test_unknown_name_raises(name: str) -> None:
    with pytest.raises(
        ParameterError, match="expected a learner, a claim, a statement of the paper"
    ):
        cite(name)


@pytest.mark.parametrize(
    "name", ["Theorem 4.2", "theorem 4.2", "4.2", "delay-theorem", "Delay-Theorem"]
)
def test_numbered_statement_names_its_errata(name: str) -> None:
    cited = cite(name)
    assert cited.name == "delay-theorem"
    # Erratum 11: the printed constant 5 is not proved.
    assert cited.theorems[-1].endswith(": 10, 11; Claim 4.3: 8, 9; algorithm: 6")
    assert cited.entries == (PAPER_ENTRY,)


def test_bibtex_has_the_facts_of_citation_file() -> None:
    facts = (SOURCE.parent / "CITATION.cff").read_text(encoding="utf-8")
    for name in ("title", "volume", "year", "url"):
        value = re.search(rf"^  {name} = {{(.*)}},$", PAPER_ENTRY, re.MULTILINE)
        assert value is not None
        assert f"  {name}: {value[1]}\n" in facts


# Required fields of BibTeX, by type of entry.
REQUIRED = {
    "article": {"author", "title", "journal", "volume", "pages", "year"},
    "book": {"author", "title", "publisher", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "phdthesis": {"author", "title", "school", "year"},
    "misc": {"author", "title", "year"},
}


def test_literature_has_entries_of_the_right_type() -> None:
    """Every author and year in a source has an entry, with the fields that its type requires."""
    texts = [bound_source(name) for name in learners.__all__] + [
        " ".join(theorems) for theorems in _COMMANDS.values()
    ]
    cited = {
        found
        for text in texts
        for found in re.findall(r"[A-Z][\w-]+ \d{4}", text.replace(PAPER, ""))
    }
    assert {label.rpartition(" and ")[2] for label in _entries()} >= {
        one.rpartition(" and ")[2] for one in cited
    }
    for label, entry in _entries().items():
        kind, key = re.findall(r"^@(\w+)\{(\w+),$", entry, re.MULTILINE)[0]
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},$", entry, re.MULTILINE))
        assert entry.count("\n") == len(fields) + 1
        assert fields.keys() >= REQUIRED[kind], label
        assert fields["year"] == label[-4:] == re.findall(r"\d{4}", key)[0]
        assert len(fields["author"].split(" and ")) == 1 + label.count(",") + label.count(" and ")
    books = {label for label, entry in _entries().items() if entry.startswith("@book{")}
    assert books == {
        "Cesa-Bianchi and Lugosi 2006",
        "Kallenberg 2005",
        "Ville 1939",
        "Vovk, Gammerman and Shafer 2005",
    }
