"""Theorem behind the bound of each learner, and BibTeX entries of the literature that texts cite."""

from functools import lru_cache
from pathlib import Path

# Authors and year of the paper that this package implements, as its citation in texts.
PAPER = "Bernasconi, Celli, Colini Baldeschi, Fusco, Leonardi and Russo 2025"

# Class name of a learner -> source of its bound. Proofs of our own are in docs/theory.
_SOURCES = {
    "AdaHedge": "De Rooij, van Erven, Grunwald and Koolen 2014, Theorem 6",
    "BatchedExp3": "Arora, Dekel and Tewari 2012, with Bubeck and Cesa-Bianchi 2012, Theorem 3.1",
    "BernsteinElimination": f"{PAPER}, Theorem 4.9, sharpened in docs/theory/switching.md",
    "EmpiricalLP": "docs/theory/budget.md, Theorem 4a",
    "Exp3": "Bubeck and Cesa-Bianchi 2012, Theorem 3.1",
    "ExploreThenCommit": "Serfling 1974, proof in tombola.bounds.explore_then_commit",
    "FlipFlop": "De Rooij, van Erven, Grunwald and Koolen 2014, Theorem 15, sharpened in "
    "docs/theory/delay.md",
    "FollowTheLeader": "docs/theory/delay.md, section 1",
    "FrugalUCB": "docs/theory/frugal.md, Theorem 2",
    "Hedge": "Cesa-Bianchi and Lugosi 2006, Theorem 2.2; with delay docs/theory/delay.md, "
    "Theorem 3",
    "HedgeAnytime": "Gerchinovitz 2011; Bubeck 2011",
    "Interleaved": "Weinberger and Ordentlich 2002; Joulani, Gyorgy and Szepesvari 2013",
    "OptimisticLP": "docs/theory/budget.md, OptimisticLP",
    "OptimisticSimulation": "docs/theory/optimistic.md, Theorem 1'",
    "SerflingElimination": f"{PAPER}, Theorem 4.9, sharpened in docs/theory/switching.md",
    "SerflingLP": "docs/theory/budget.md, SerflingLP",
    "Simulation": (
        "docs/theory/delay.md, section 2 without delay, plus d by Theorem 3 (1) with the default "
        "schedule; with "
        f"LemmaSchedule(d) plus d ceil(log2 T), the looser form of {PAPER}, Theorem 4.2"
    ),
    "SimulationSuccessiveElimination": f"{PAPER}, Theorem 4.9",
    "SuccessiveElimination": "i.i.d. bound plus drift, docs/theory/transfer.md",
    "Thrifty": "docs/theory/frugal.md",
    "TsallisInf": "Zimmert and Seldin 2021, Theorem 1, sharpened in docs/theory/transfer.md",
    "TsallisSwitching": "Rouyer, Seldin and Cesa-Bianchi 2021, constants in "
    "docs/theory/switching.md",
    "UCB1": "Theorem 1, docs/theory/transfer.md: Auer, Cesa-Bianchi and Fischer 2002, Theorem 1, "
    "plus drift",
    "UCB2": "Theorem 1, docs/theory/transfer.md: Auer, Cesa-Bianchi and Fischer 2002, Theorem 2, "
    "plus drift",
}


def bibtex_entries(text: str) -> tuple[str, ...]:
    """Return the BibTeX entries of the literature that a text cites, in its order.

    Citations are by authors and year, such as "Holm 1979"; those that are not in references.bib are
    ignored.

    >>> bibtex_entries("Cesa-Bianchi and Lugosi 2006, Theorem 2.2")[0].partition("{")[0]
    '@book'
    """
    matches = sorted(
        (text.index(label), entry) for label, entry in _entries().items() if label in text
    )
    return tuple(entry for _, entry in matches)


@lru_cache(maxsize=1)
def _entries() -> dict[str, str]:
    """Return the entries of references.bib by citation, the comment above each."""
    text = Path(__file__).with_suffix(".bib").read_text(encoding="utf-8")
    return dict(entry.strip().split("\n", 1) for entry in text.split("% ")[1:])


def bound_source(learner: object) -> str:
    """Return the citation of the theorem behind `learner.bound`; "" if none is listed.

    learner: an instance, a class, or the name of a class.

    >>> from tombola import Hedge
    >>> bound_source(Hedge())
    'Cesa-Bianchi and Lugosi 2006, Theorem 2.2; with delay docs/theory/delay.md, Theorem 3'
    """
    if isinstance(learner, str):
        return _SOURCES.get(learner, "")
    return _SOURCES.get((learner if isinstance(learner, type) else type(learner)).__name__, "")
