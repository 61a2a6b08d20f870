"""Theorem behind the bound of each learner, and BibTeX entries of the literature that texts cite."""

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
    "FlipFlop": "De Rooij, van Erven, Grunwald and Koolen 2014, Theorem 15, sharpened in docs/theory/delay.md",
    "FollowTheLeader": "docs/theory/delay.md, section 1",
    "FrugalUCB": "docs/theory/frugal.md, Theorem 2",
    "Hedge": "Cesa-Bianchi and Lugosi 2006, Theorem 2.2; with delay docs/theory/delay.md, Theorem 3",
    "HedgeAnytime": "Gerchinovitz 2011; Bubeck 2011",
    "Interleaved": "Weinberger and Ordentlich 2002; Joulani, Gyorgy and Szepesvari 2013",
    "OptimisticLP": "docs/theory/budget_bandit.md, OptimisticLP",
    "OptimisticSimulation": "docs/theory/optimistic.md, Theorem 1'",
    "SerflingElimination": f"{PAPER}, Theorem 4.9, sharpened in docs/theory/switching.md",
    "SerflingLP": "docs/theory/budget.md, SerflingLP",
    "Simulation": (
        "docs/theory/delay.md, section 2 without delay, plus d by Theorem 3 (1) with the default schedule; with "
        f"LemmaSchedule(d) plus d ceil(log2 T), the looser form of {PAPER}, Theorem 4.2"
    ),
    "SimulationSuccessiveElimination": f"{PAPER}, Theorem 4.9",
    "SuccessiveElimination": "i.i.d. bound plus drift, docs/theory/transfer.md",
    "Thrifty": "docs/theory/thrifty.md",
    "TsallisInf": "Zimmert and Seldin 2021, Theorem 1, sharpened in docs/theory/transfer.md",
    "TsallisSwitching": "Rouyer, Seldin and Cesa-Bianchi 2021, constants in docs/theory/switching.md",
    "UCB1": "Theorem 1, docs/theory/transfer.md: Auer, Cesa-Bianchi and Fischer 2002, Theorem 1, plus drift",
    "UCB2": "Theorem 1, docs/theory/transfer.md: Auer, Cesa-Bianchi and Fischer 2002, Theorem 2, plus drift",
}
# Authors and year, as texts cite them -> type, key and fields of the BibTeX entry.
_ENTRIES: dict[str, tuple[str, str, dict[str, str]]] = {
    "Arora, Dekel and Tewari 2012": ("inproceedings", "arora2012online", {
        "author": "Arora, Raman and Dekel, Ofer and Tewari, Ambuj",
        "title": "Online Bandit Learning against an Adaptive Adversary: from Regret to Policy Regret",
        "booktitle": "Proceedings of the 29th International Conference on Machine Learning", "year": "2012",
    }),
    "Auer, Cesa-Bianchi and Fischer 2002": ("article", "auer2002finite", {
        "author": "Auer, Peter and Cesa-Bianchi, Nicol{\\`o} and Fischer, Paul",
        "title": "Finite-time Analysis of the Multiarmed Bandit Problem",
        "journal": "Machine Learning", "volume": "47", "number": "2--3", "pages": "235--256", "year": "2002",
    }),
    "Baharav and Tse 2019": ("inproceedings", "baharav2019ultra", {
        "author": "Baharav, Tavor Z. and Tse, David",
        "title": "Ultra Fast Medoid Identification via Correlated Sequential Halving",
        "booktitle": "Advances in Neural Information Processing Systems", "volume": "32", "year": "2019",
    }),
    "Bubeck 2011": ("misc", "bubeck2011introduction", {
        "author": "Bubeck, S{\\'e}bastien", "title": "Introduction to Online Optimization",
        "howpublished": "Lecture notes, Princeton University", "year": "2011",
    }),
    "Bubeck and Cesa-Bianchi 2012": ("article", "bubeck2012regret", {
        "author": "Bubeck, S{\\'e}bastien and Cesa-Bianchi, Nicol{\\`o}",
        "title": "Regret Analysis of Stochastic and Nonstochastic Multi-armed Bandit Problems",
        "journal": "Foundations and Trends in Machine Learning", "volume": "5", "number": "1", "pages": "1--122",
        "year": "2012",
    }),
    "Cesa-Bianchi and Lugosi 2006": ("book", "cesabianchi2006prediction", {
        "author": "Cesa-Bianchi, Nicol{\\`o} and Lugosi, G{\\'a}bor", "title": "Prediction, Learning, and Games",
        "publisher": "Cambridge University Press", "year": "2006",
    }),
    "De Rooij, van Erven, Grunwald and Koolen 2014": ("article", "derooij2014follow", {
        "author": "de Rooij, Steven and van Erven, Tim and Gr{\\\"u}nwald, Peter D. and Koolen, Wouter M.",
        "title": "Follow the Leader If You Can, Hedge If You Must",
        "journal": "Journal of Machine Learning Research", "volume": "15", "pages": "1281--1316", "year": "2014",
    }),
    "Ek, Stark, Stuckey and Vukcevic 2023": ("inproceedings", "ek2023adaptively", {
        "author": "Ek, Alexander and Stark, Philip B. and Stuckey, Peter J. and Vukcevic, Damjan",
        "title": "Adaptively Weighted Audits of Instant-Runoff Voting Elections: {AWAIRE}",
        "booktitle": "Electronic Voting (E-Vote-ID)", "series": "Lecture Notes in Computer Science",
        "volume": "14230", "publisher": "Springer", "year": "2023",
    }),
    "Gerchinovitz 2011": ("phdthesis", "gerchinovitz2011prediction", {
        "author": "Gerchinovitz, S{\\'e}bastien",
        "title": "Prediction of Individual Sequences and Prediction in the Statistical Framework: Some Links around "
        "Sparse Regression and Aggregation Techniques",
        "school": "Universit{\\'e} Paris-Sud 11", "year": "2011",
    }),
    "Holm 1979": ("article", "holm1979simple", {
        "author": "Holm, Sture", "title": "A Simple Sequentially Rejective Multiple Test Procedure",
        "journal": "Scandinavian Journal of Statistics", "volume": "6", "number": "2", "pages": "65--70",
        "year": "1979",
    }),
    "Joulani, Gyorgy and Szepesvari 2013": ("inproceedings", "joulani2013online", {
        "author": "Joulani, Pooria and Gy{\\\"o}rgy, Andr{\\'a}s and Szepesv{\\'a}ri, Csaba",
        "title": "Online Learning under Delayed Feedback",
        "booktitle": "Proceedings of the 30th International Conference on Machine Learning", "year": "2013",
    }),
    "Kallenberg 2005": ("book", "kallenberg2005probabilistic", {
        "author": "Kallenberg, Olav", "title": "Probabilistic Symmetries and Invariance Principles",
        "publisher": "Springer", "year": "2005",
    }),
    "Klein, Wright and Wieczorek 2020": ("article", "klein2020joint", {
        "author": "Klein, Martin and Wright, Tommy and Wieczorek, Jerzy",
        "title": "A Joint Confidence Region for an Overall Ranking of Populations",
        "journal": "Journal of the Royal Statistical Society, Series C", "volume": "69", "number": "3",
        "pages": "589--606", "year": "2020",
    }),
    "Marcus, Peritz and Gabriel 1976": ("article", "marcus1976closed", {
        "author": "Marcus, Ruth and Peritz, Eric and Gabriel, K. Ruben",
        "title": "On Closed Testing Procedures with Special Reference to Ordered Analysis of Variance",
        "journal": "Biometrika", "volume": "63", "number": "3", "pages": "655--660", "year": "1976",
    }),
    "Maron and Moore 1994": ("inproceedings", "maron1994hoeffding", {
        "author": "Maron, Oded and Moore, Andrew W.",
        "title": "Hoeffding Races: Accelerating Model Selection Search for Classification and Function Approximation",
        "booktitle": "Advances in Neural Information Processing Systems", "volume": "6", "year": "1994",
    }),
    "Mogstad, Romano, Shaikh and Wilhelm 2024": ("article", "mogstad2024inference", {
        "author": "Mogstad, Magne and Romano, Joseph P. and Shaikh, Azeem M. and Wilhelm, Daniel",
        "title": "Inference for Ranks with Applications to Mobility across Neighbourhoods and Academic Achievement "
        "across Countries",
        "journal": "Review of Economic Studies", "volume": "91", "number": "1", "pages": "476--518", "year": "2024",
    }),
    "Ramdas and Manole 2023": ("misc", "ramdas2023randomized", {
        "author": "Ramdas, Aaditya and Manole, Tudor",
        "title": "Randomized and Exchangeable Improvements of {M}arkov's, {C}hebyshev's and {C}hernoff's Inequalities",
        "eprint": "2304.02611", "archiveprefix": "arXiv", "year": "2023",
    }),
    "Rouyer, Seldin and Cesa-Bianchi 2021": ("inproceedings", "rouyer2021algorithm", {
        "author": "Rouyer, Chlo{\\'e} and Seldin, Yevgeny and Cesa-Bianchi, Nicol{\\`o}",
        "title": "An Algorithm for Stochastic and Adversarial Bandits with Switching Costs",
        "booktitle": "Proceedings of the 38th International Conference on Machine Learning",
        "series": "Proceedings of Machine Learning Research", "volume": "139", "publisher": "PMLR", "year": "2021",
    }),
    "Serfling 1974": ("article", "serfling1974probability", {
        "author": "Serfling, Robert J.",
        "title": "Probability Inequalities for the Sum in Sampling without Replacement",
        "journal": "The Annals of Statistics", "volume": "2", "number": "1", "pages": "39--48", "year": "1974",
    }),
    "Stark 2020": ("inproceedings", "stark2020sets", {
        "author": "Stark, Philip B.",
        "title": "Sets of Half-Average Nulls Generate Risk-Limiting Audits: {SHANGRLA}",
        "booktitle": "Financial Cryptography and Data Security Workshops",
        "series": "Lecture Notes in Computer Science", "volume": "12063", "publisher": "Springer", "year": "2020",
    }),
    "Stark 2023": ("article", "stark2023alpha", {
        "author": "Stark, Philip B.", "title": "{ALPHA}: Audit that Learns from Previously Hand-Audited Ballots",
        "journal": "The Annals of Applied Statistics", "volume": "17", "number": "1", "pages": "641--679",
        "year": "2023",
    }),
    "Ville 1939": ("book", "ville1939etude", {
        "author": "Ville, Jean", "title": "{\\'E}tude critique de la notion de collectif",
        "publisher": "Gauthier-Villars", "year": "1939",
    }),
    "Vovk and Wang 2021": ("article", "vovk2021evalues", {
        "author": "Vovk, Vladimir and Wang, Ruodu", "title": "E-values: Calibration, Combination and Applications",
        "journal": "The Annals of Statistics", "volume": "49", "number": "3", "pages": "1736--1754", "year": "2021",
    }),
    "Vovk, Gammerman and Shafer 2005": ("book", "vovk2005algorithmic", {
        "author": "Vovk, Vladimir and Gammerman, Alexander and Shafer, Glenn",
        "title": "Algorithmic Learning in a Random World", "publisher": "Springer", "year": "2005",
    }),
    "Waudby-Smith and Ramdas 2020": ("inproceedings", "waudbysmith2020confidence", {
        "author": "Waudby-Smith, Ian and Ramdas, Aaditya",
        "title": "Confidence Sequences for Sampling without Replacement",
        "booktitle": "Advances in Neural Information Processing Systems", "volume": "33", "year": "2020",
    }),
    "Waudby-Smith and Ramdas 2024": ("article", "waudbysmith2024estimating", {
        "author": "Waudby-Smith, Ian and Ramdas, Aaditya",
        "title": "Estimating Means of Bounded Random Variables by Betting",
        "journal": "Journal of the Royal Statistical Society, Series B", "volume": "86", "number": "1",
        "pages": "1--27", "year": "2024",
    }),
    "Waudby-Smith, Stark and Ramdas 2021": ("inproceedings", "waudbysmith2021rilacs", {
        "author": "Waudby-Smith, Ian and Stark, Philip B. and Ramdas, Aaditya",
        "title": "{RiLACS}: Risk Limiting Audits via Confidence Sequences",
        "booktitle": "Electronic Voting (E-Vote-ID)", "series": "Lecture Notes in Computer Science",
        "volume": "12900", "publisher": "Springer", "year": "2021",
    }),
    "Weinberger and Ordentlich 2002": ("article", "weinberger2002delayed", {
        "author": "Weinberger, Marcelo J. and Ordentlich, Erik",
        "title": "On Delayed Prediction of Individual Sequences",
        "journal": "IEEE Transactions on Information Theory", "volume": "48", "number": "7", "pages": "1959--1976",
        "year": "2002",
    }),
    "Zimmert and Seldin 2021": ("article", "zimmert2021tsallis", {
        "author": "Zimmert, Julian and Seldin, Yevgeny",
        "title": "{T}sallis-{INF}: An Optimal Algorithm for Stochastic and Adversarial Bandits",
        "journal": "Journal of Machine Learning Research", "volume": "22", "number": "28", "pages": "1--49",
        "year": "2021",
    }),
}  # fmt: skip


def bibtex_entries(text: str) -> tuple[str, ...]:
    """Return the BibTeX entries of the literature that a text cites, in its order.

    Citations that are not in the list of this module are ignored.

    text: with citations by authors and year, such as "Holm 1979".

    >>> bibtex_entries("Cesa-Bianchi and Lugosi 2006, Theorem 2.2")[0].partition("{")[0]
    '@book'
    """
    found = sorted((text.index(label), label) for label in _ENTRIES if label in text)
    return tuple(_bibtex(*_ENTRIES[label]) for _, label in found)


def _bibtex(kind: str, key: str, fields: dict[str, str]) -> str:
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


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
