"""Citations: the theorem behind a bound, a command or a claim, with BibTeX."""

import re
from importlib import import_module
from pkgutil import resolve_name
from typing import Any, NamedTuple

from tombola import __version__
from tombola.bounds.references import PAPER, bibtex_entries, bound_source
from tombola.errors import ParameterError
from tombola.paper.contents import PLACES, Place, find_places, find_subject

# BibTeX entry of the paper; the same facts are in CITATION.cff. The title is that of the
# proceedings: the preprint has no hyphen.
PAPER_ENTRY = """@inproceedings{bernasconi2025random,
  title = {Online Learning in the Random-Order Model},
  author = {Bernasconi, Martino and Celli, Andrea and Colini Baldeschi, Riccardo and Fusco, Federico and
    Leonardi, Stefano and Russo, Matteo},
  booktitle = {Proceedings of the 42nd International Conference on Machine Learning},
  series = {Proceedings of Machine Learning Research},
  volume = {267},
  pages = {3899--3919},
  publisher = {PMLR},
  year = {2025},
  url = {https://proceedings.mlr.press/v267/bernasconi25b.html},
}"""
# BibTeX entry of this software, with the installed version.
SOFTWARE_ENTRY = f"""@software{{tombola,
  title = {{tombola: learn over a finite pool drawn in random order}},
  author = {{{{the tombola authors}}}},
  version = {{{__version__}}},
}}"""

_INTERVALS = (
    "Intervals for rows chosen by a learner: predictable-sampling lemma, "
    "docs/theory/confidence.md, section 1 "
    "(Kallenberg 2005)",
    "Intervals at all numbers of rows at once: betting, docs/theory/confidence.md, section 4 "
    "(Waudby-Smith and Ramdas "
    "2024, Theorem 3; Waudby-Smith, Stark and Ramdas 2021; Stark 2023)",
)
_ORDER_TEST = (
    "Test of random order: docs/theory/confidence.md, section 5 (Vovk, Gammerman and Shafer 2005)"
)
# Command -> theorems behind its statements. Proofs and literature are in docs/theory.
_COMMANDS: dict[str, tuple[str, ...]] = {
    "race": (
        "Theorem 1, docs/theory/race.md: a best candidate is ever dropped with probability at "
        "most the level",
        "Theorem 2 (--within): the answer is worse than the best by more than the tolerance with "
        "probability at most "
        "the level",
        "Theorem 3 (--top): a member of the best m is ever dropped with probability at most the "
        "level",
        "Theorem 4 (--baseline): a false statement about the baseline is proved with probability "
        "at most the level",
        "They build on Ville 1939; Waudby-Smith and Ramdas 2024; Waudby-Smith, Stark and Ramdas "
        "2021; Stark 2020; "
        "Stark 2023; Ek, Stark, Stuckey and Vukcevic 2023; Maron and Moore 1994; Baharav and Tse "
        "2019",
    ),
    "rank": (
        "Corollary 1, docs/theory/ranks.md: all rank sets cover the true ranks simultaneously "
        "with probability at "
        "least 1 - level",
        "It builds on Vovk and Wang 2021 (averages of e-values); Marcus, Peritz and Gabriel 1976 "
        "and Holm 1979 (closed "
        "testing); Mogstad, Romano, Shaikh and Wilhelm 2024 and Klein, Wright and Wieczorek 2020 "
        "(rank sets); Ramdas "
        "and Manole 2023 (several orders); Waudby-Smith and Ramdas 2020; Waudby-Smith and Ramdas "
        "2024 (bets without "
        "replacement)",
    ),
    "certify": (*_INTERVALS[1:], _ORDER_TEST),
    "audit": (
        "Tests at all numbers of rows at once: betting, docs/theory/confidence.md, section 4 "
        "(Ville 1939; Waudby-Smith "
        "and Ramdas 2024; Waudby-Smith, Stark and Ramdas 2021; Stark 2023)",
        _ORDER_TEST,
    ),
    "check-order": (
        _ORDER_TEST,
        "Permutation test of a complete list: docs/theory/confidence.md, section 5 (Besag and "
        "Clifford 1991)",
    ),
    "compare": (
        "Bound of a learner: it has a theorem of its own, see tombola cite LEARNER",
        _ORDER_TEST,
    ),
    "session": (*_INTERVALS, f"Bound of the default learner Thrifty: {bound_source('Thrifty')}"),
}
# The commands of today; the others are options of `audit`.
_TOP_COMMANDS = [name for name in _COMMANDS if name not in ("certify", "check-order")]
# Command -> its subcommands, which rest on the same theorems.
_SUBCOMMANDS = {
    "race": ("plan", "start", "next", "record", "export", "status", "run", "verify"),
    "session": ("start", "next", "record", "amend", "cancel", "export", "status", "verify"),
}


class Citation(NamedTuple):
    """Theorems to cite, as sentences, and BibTeX entries of their sources.

    name: of the learner, command or claim cited; "" for the paper and the software.
    entries: BibTeX of the literature that the theorems cite, of the paper for its theorems, and of
        the software for theorems proved in docs/theory.
    """

    name: str
    theorems: tuple[str, ...]
    entries: tuple[str, ...]

    def __repr__(self) -> str:
        """Return the text to read: a prompt and a notebook print it."""
        return str(self)

    def _repr_html_(self) -> str:
        """Return the text with formulas as MathML; a notebook shows it."""
        from tombola.report.formulas import escape, typeset

        theorems = "".join(f"<p>{typeset(theorem)}.</p>" for theorem in self.theorems)
        title = f"<p><strong>{escape(self.name)}</strong></p>" if self.name else ""
        return f"{title}{theorems}<pre>{escape(chr(10).join(self.entries))}</pre>"

    def __str__(self) -> str:
        lines = (
            [f"{self.name}: {self.theorems[0]}.", *(f"{theorem}." for theorem in self.theorems[1:])]
            if self.name
            else []
        )
        return "\n".join([*lines, *([""] if lines else []), *self.entries])


def cite(name: str = "") -> Citation:
    """Return the theorems behind a learner's bound, a command or a claim, with BibTeX.

    name: a learner (`"Simulation"`), a command (`"race"`, `"race plan"`, `"rank"`, `"certify"`,
        `"audit"`, `"check-order"`, `"compare"`, `"session"`), a claim (`"delay-theorem"`), a
        statement, algorithm or cited source of the paper (`"Theorem 4.2"`, `"4.2"`,
        `"Birthday-Test"`, `"Joulani"`), a section, heading or keyword of the paper (`"Section 4.1"`,
        `"delayed feedback"`, `"VC dimension"`), a class or function that stands for one (`"ERM"`,
        `"tombola.classification.ERM"`), or errata of the paper (`"erratum 11"`, `"errata 27 28"`),
        in upper or lower case; "" is the paper (Bernasconi et al. 2025) and the software. Other
        names raise ParameterError.

    >>> print(cite("Hedge").theorems[0])
    Cesa-Bianchi and Lugosi 2006, Theorem 2.2; with delay docs/theory/delay.md, Theorem 3
    >>> cite("race-best").theorems[0].partition(":")[0]
    'Theorem 1, docs/theory/race.md'
    >>> cite("theorem 4.2").name
    'delay-theorem'
    >>> print(cite("erratum 1").theorems[0])
    Erratum 1 (slip; Lemma 3.1): printed P[τ>t] = T···(T−t) / T···T. Correct: t factors: T···(T−t+1) / T^t
    """
    from tombola import learners

    if _is_full_name(name.strip()):
        return cite(name.strip().rpartition(".")[2])
    key = " ".join(name.lower().split())
    if not key:
        return Citation("", (), (PAPER_ENTRY, SOFTWARE_ENTRY))
    errata = re.fullmatch(r"errat(?:um|a)((?:[\s,]+\d+)+)", key)
    if errata:
        return _errata_citation(name.strip(), [int(text) for text in re.findall(r"\d+", errata[1])])
    command, _, subcommand = key.partition(" ")
    if subcommand.strip() in _SUBCOMMANDS.get(command, ()):
        key = command
    if key in _COMMANDS:
        return Citation(
            key, _COMMANDS[key], (*bibtex_entries(" ".join(_COMMANDS[key])), SOFTWARE_ENTRY)
        )
    # Found at run time: as a static import it closes a cycle of all modules, in which mypy misreads
    # a dataclass.
    claims = import_module("tombola.paper.registry").CLAIMS
    claim = next(
        (entry for entry in claims if entry.name == key or _is_statement(key, entry.source)), None
    )
    if claim is not None:
        return _claim_citation(claim, [place for place in find_places(name) if claim.name != key])
    subjects = find_subject(name)
    if subjects:
        statements = [place.name for place in subjects if place.kind == "statement"]
        return cite(statements[0]) if statements else _place_citation(name.strip(), subjects)
    kinds = {
        entry.lower(): entry
        for entry in learners.__all__
        if isinstance(getattr(learners, entry), type)
    }
    kind = kinds.get(key.partition("(")[0].strip())
    if kind is None:
        places = find_places(name)
        if places:
            return _place_citation(name.strip(), places)
        raise ParameterError(
            "cite: expected a learner, a claim, a statement of the paper such as 'Theorem 4.2', "
            "an algorithm or a source that it cites, a section ('Section 4.1') or a heading of it "
            "('delayed feedback'), 'erratum 11', or one of "
            f"{', '.join(_TOP_COMMANDS)}, got {name!r}; tombola learners, tombola reproduce --list and "
            "docs/from_paper_to_code.md have the names."
        )
    return _learner_citation(name, kind)


def _learner_citation(name: str, kind: str) -> Citation:
    """Return the citation of a learner's bound, and of the paper's algorithm that it is."""
    source = bound_source(kind)
    algorithms = [
        place for place in PLACES if place.kind == "algorithm" and kind in place.code_names
    ]
    theorems = [source or "no bound is proved"]
    for place in algorithms:
        theorems.append(f"Algorithm {place.name}, in {PAPER}: {place.subject}")
        theorems += _counterparts(place)
        theorems += _errata_sentences([place])
    cited = algorithms or PAPER in source
    entries = [*bibtex_entries(source), *([PAPER_ENTRY] if cited else [])]
    if not entries or "docs/theory" in source or "tombola." in source:
        entries.append(SOFTWARE_ENTRY)
    return Citation(name, tuple(theorems), tuple(entries))


def _errata_citation(name: str, numbers: list[int]) -> Citation:
    """Return the texts of errata, and the numbers that decide them."""
    errata = {entry.number: entry for entry in import_module("tombola.paper.errata").ERRATA}
    for number in numbers:
        if number not in errata:
            raise ParameterError(
                f"cite: expected the number of an erratum, one of {', '.join(map(str, sorted(errata)))}, "
                f"got {number}; docs/errata.md lists them all."
            )
    sentences = []
    for number in numbers:
        erratum = errata[number]
        values = erratum.evidence()
        origin = "true" if erratum.method == "computed" else "by arithmetic"
        sentences += [
            _erratum_sentence(erratum),
            f"{erratum.quantity}: {values.printed:.5g} as printed, {values.corrected:.5g} as "
            f"corrected, {values.truth:.5g} {origin}",
        ]
    return Citation(name, tuple(sentences), (PAPER_ENTRY,))


def _erratum_sentence(erratum: Any) -> str:
    label = import_module("tombola.paper.errata.base").SEVERITY_LABELS[erratum.severity]
    place = next(place.name for place in PLACES if erratum.number in place.errata)
    return (
        f"Erratum {erratum.number} ({label}; {place}): printed {erratum.printed.rstrip('.')}. "
        f"Correct: {erratum.correct}"
    )


def _place_citation(name: str, places: list[Place]) -> Citation:
    """Return the citation of places of the paper that are neither a claim nor a learner."""
    theorems = []
    for place in places:
        cited = place.kind == "comparison"
        source = f"{place.name}, cited in {PAPER}" if cited else f"{PAPER}, {place.name}"
        theorems.append(f"{source}: {place.subject}")
        theorems += _counterparts(place)
        theorems += _errata_sentences([place])
    literature = " ".join(place.name for place in places if place.kind == "comparison")
    return Citation(name, tuple(theorems), (*bibtex_entries(literature), PAPER_ENTRY))


def _errata_sentences(places: list[Place]) -> list[str]:
    """Return the errata of places, as on the page from_paper_to_code, and where their texts are."""
    return [
        f"Errata of {place.name} {_errata_list(place.errata_text)}"
        for place in places
        if place.errata_text
    ]


def _errata_list(numbers: str) -> str:
    first = re.findall(r"\b(\d+)(?=[,;]|$)", numbers)[0]
    return f'(docs/errata.md, or cite "erratum {first}"): {numbers}'


def _counterparts(place: Place) -> list[str]:
    """Return where a place of the paper is in the package, as sentences without an end."""
    code = place.code.replace("`", "")
    algorithm = place.algorithm
    lines = [
        f"Its algorithm, {algorithm.name}: {algorithm.code.replace('`', '')}" if algorithm else "",
        f"In tombola: {code}" if code and not code.startswith("none") else "",
        f"Tested by tombola reproduce --claims {','.join(place.claims)}" if place.claims else "",
        re.sub(r"\[(.*?)\]\(.*?\)", r"\1", place.where).rstrip("."),
    ]
    return [line for line in lines if line]


def _is_statement(key: str, source: str) -> bool:
    """Return whether the source of a claim is statement `key` of the paper, as "4.2"."""
    places = (
        re.findall(r"(?:Theorem|Lemma|Corollary) [A-C\d]\.\d+", source)
        if not source.startswith("our ")
        else []
    )
    return any(key in (place.lower(), place.lower().partition(" ")[2]) for place in places)


def _claim_citation(claim: Any, places: list[Place]) -> Citation:
    """Return the citation of a claim; sources of our own begin with "our".

    places: the statement of the paper that was asked for, if it was not the claim itself.
    """
    ours = claim.source.startswith("our ")
    if ours:
        source = re.sub(r" \((docs/[^)]*)\)", r", \1", claim.source.removeprefix("our "))
    else:
        # Line numbers are those of the preprint's text, which readers do not have.
        place = re.sub(r" \(L[^)]*\)", "", claim.source)
        cited = " (cited at "
        source = (
            f"{place.partition(cited)[0]}, cited in {PAPER}"
            if cited in place
            else f"{PAPER}, {place}"
        )
    text = f"{source[0].upper()}{source[1:]}: {claim.statement.rstrip('.')}"
    corrected = (
        () if claim.expected == "holds" else ("It holds in the corrected form of docs/errata.md",)
    )
    counterparts = [line for place in places for line in _counterparts(place)]
    return Citation(
        claim.name,
        (text, *corrected, *counterparts, *_errata_of(claim, places)),
        (SOFTWARE_ENTRY,) if ours else (PAPER_ENTRY,),
    )


def _errata_of(claim: Any, places: list[Place]) -> list[str]:
    """Return the errata of the places that were asked for, else of all places of a claim.

    A claim of our own has none.
    """
    if claim.source.startswith("our "):
        return []
    if claim.name == "errata":
        errata = import_module("tombola.paper.errata").ERRATA
        numbers = ", ".join(map(str, sorted(entry.number for entry in errata)))
        return [f"Errata {_errata_list(numbers)}"]
    statements = [place for place in PLACES if _is_statement(place.name.lower(), claim.source)]
    of_claim = statements or [place for place in PLACES if claim.name in place.claims]
    return _errata_sentences(places or of_claim)


def _is_full_name(name: str) -> bool:
    """Return whether a name is that of a class or function of tombola with its modules."""
    if not re.fullmatch(r"tombola(?:\.[A-Za-z]\w*)+", name):
        return False
    try:
        resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True
