"""Contents of the paper: each statement, algorithm, definition, cited result, and where it is here.

The page `docs/from_paper_to_code.md` and `tombola cite` are written from this table.
"""

import re
from typing import NamedTuple

from tombola.paper.errata import ERRATA


class Place(NamedTuple):
    """One place of the paper and its counterpart in the package.

    kind: "algorithm", "statement", "definition" or "comparison".
    name: as the compiled paper prints it, such as "Theorem 4.2"; of a comparison the cited source.
    line: of the LaTeX source of the preprint.
    subject: what it says, in a few words.
    code: functions and classes of the package; "" if there is none, see `where`.
    claims: names of claims of `tombola reproduce`.
    test: path below `tests/`; "" if the claims are its test.
    where: what stands in place of code and claims, as a sentence.
    resumes: lines at which its proof goes on after a claim that stands inside of it.
    about: name of the algorithm that a statement is about, without its section.
    """

    kind: str
    name: str
    line: int
    subject: str
    code: str = ""
    claims: tuple[str, ...] = ()
    test: str = ""
    where: str = ""
    resumes: tuple[int, ...] = ()
    about: str = ""

    @property
    def errata(self) -> tuple[int, ...]:
        """Return the numbers of the errata between this place and the next one."""
        return _errata_of(self)

    @property
    def algorithm(self) -> "Place | None":
        """Return the place of the algorithm that a statement is about."""
        algorithms = (place for place in PLACES if place.kind == "algorithm")
        return next((one for one in algorithms if one.name.startswith(f"{self.about},")), None)

    @property
    def errata_text(self) -> str:
        """Return its errata, those of the claims in its proof, and those of its algorithm.

        >>> find_places("Theorem 4.2")[0].errata_text
        '10, 11; Claim 4.3: 8, 9; algorithm: 6'
        """
        end = max(self.resumes, default=0)
        groups = {"": self.errata}
        groups |= {place.name: place.errata for place in PLACES if self.line < place.line < end}
        if self.algorithm is not None:
            groups["algorithm"] = self.algorithm.errata
        texts = (
            f"{owner}: {', '.join(map(str, numbers))}".removeprefix(": ")
            for owner, numbers in groups.items()
            if numbers
        )
        return "; ".join(texts)

    @property
    def code_names(self) -> set[str]:
        """Return the names of its functions and classes, without their modules."""
        return {path.rpartition(".")[2] for path in re.findall(r"`([\w.]+)", self.code)}

    def matches(self, key: str) -> bool:
        """Return whether a name in lower case means this place: "4.2", "joulani" or "erm"."""
        name = self.name.lower()
        number = name.partition(" ")[2] if self.kind == "statement" else ""
        if key in (name, number, name.partition(",")[0]):
            return True
        if key in {code.lower() for code in self.code_names}:
            return True
        words = set(name.replace(",", " ").replace(";", " ").split()) - {"and"}
        authors = set(key.replace(",", " ").replace(";", " ").split()) - {"and"}
        return self.kind == "comparison" and bool(authors) and authors <= words


def _statement(
    number: str,
    line: int,
    subject: str,
    code: str,
    claim: str,
    test: str,
    resumes: tuple[int, ...] = (),
    about: str = "",
) -> Place:
    return Place("statement", number, line, subject, code, (claim,), test, "", resumes, about)


_ERRATA_TEST = "paper/errata/test_errata.py"

PLACES: tuple[Place, ...] = (
    Place(
        "algorithm", "Birthday-Test, Section 3", 210, "stop at the first repeated loss",
        "`BirthdayTest`", ("birthday", "separation"), "paper/claims/test_birthday.py",
    ),
    Place(
        "algorithm", "Follow-The-Leader, Section 3", 210, "the least loss so far",
        "`FollowTheLeader`", ("delay-corollary",), "paper/test_faults.py",
    ),
    Place(
        "algorithm", "Simulation, Section 4", 265, "the template",
        "`Simulation(base, LemmaSchedule())`", ("repair",), "paper/claims/test_birthday.py",
    ),
    Place(
        "algorithm", "Simulation for Delayed Feedback, Section 4.1", 297,
        "the template with a delay",
        "`Simulation(base, LemmaSchedule(delay=d))`; `PaperSchedule(delay=d)` as printed",
        ("delay-lemma", "delay-theorem"), "paper/claims/test_delay.py",
    ),
    Place(
        "algorithm", "Simulation for Online Learning with Constraints, Section 4.2", 427,
        "the template with budgets",
        "`BudgetSimulation`", ("constraints",), "paper/claims/test_constraints.py",
    ),
    Place(
        "algorithm", "simulation-successive-elimination, Section 4.3", 592,
        "bandits with switching costs",
        "`SimulationSuccessiveElimination`", ("switching",), "paper/test_faults.py",
    ),
    Place(
        "algorithm", "empirical risk minimiser, Section 5.2", 773, "online classification",
        "`tombola.classification.ERM`", ("classification",),
        "paper/claims/test_classification.py",
    ),
    _statement(
        "Lemma 3.1", 215, "the birthday test stops early on i.i.d. rows",
        "`birthday`, `birthday_mean` (exact)", "birthday", "paper/claims/test_birthday.py",
        about="Birthday-Test",
    ),
    _statement(
        "Theorem 3.2", 256, "the birthday test has linear regret in random order",
        "`follow_the_leader_iid`", "separation", "paper/claims/test_birthday.py",
        about="Birthday-Test",
    ),
    _statement(
        "Lemma 4.1", 323, "mean of the training distribution", "none (identity)", "delay-lemma",
        "paper/claims/test_delay.py",
        about="Simulation for Delayed Feedback",
    ),
    _statement(
        "Theorem 4.2", 333, "regret of Simulation with delayed feedback",
        "`simulation_printed`, `simulation` (corrected)", "delay-theorem",
        "paper/claims/test_delay.py", resumes=(401,),
        about="Simulation for Delayed Feedback",
    ),
    _statement(
        "Claim 4.3", 390, "probability of the clean event, delay", "none", "errata", _ERRATA_TEST
    ),
    _statement(
        "Corollary 4.4", 421, "regret with delay d", "`simulation_printed`, `follow_the_leader`",
        "delay-corollary", "paper/test_faults.py",
        about="Simulation for Delayed Feedback",
    ),
    _statement(
        "Theorem 4.5", 458, "regret and violation with budgets",
        "`budget_simulation_printed`, `budget_simulation` (corrected)", "constraints",
        "paper/claims/test_constraints.py", resumes=(534, 573),
        about="Simulation for Online Learning with Constraints",
    ),
    _statement(
        "Claim 4.6", 508, "optimum of a block against the optimum of the pool", "none", "errata",
        _ERRATA_TEST,
    ),
    _statement(
        "Claim 4.7", 570, "probability of the clean event, budgets", "`budget_epsilon`", "errata",
        _ERRATA_TEST,
    ),
    _statement(
        "Corollary 4.8", 578, "1/ρ² + √T/ρ with budgets", "`budget_simulation`, `empirical_lp`",
        "constraints", "paper/claims/test_constraints.py",
        about="Simulation for Online Learning with Constraints",
    ),
    _statement(
        "Theorem 4.9", 622, "regret with switching costs",
        "`simulation_elimination`, `simulation_elimination_switches`", "switching",
        "paper/test_faults.py", resumes=(649, 654, 676),
        about="simulation-successive-elimination",
    ),
    _statement(
        "Claim 4.10", 639, "probability of the clean event of one block and action", "none",
        "errata", _ERRATA_TEST,
    ),
    _statement(
        "Claim 4.11", 650, "probability of the clean event, switching", "none", "errata",
        _ERRATA_TEST,
    ),
    _statement(
        "Claim 4.12", 656, "accuracy of the means under the clean event", "none", "errata",
        _ERRATA_TEST,
    ),
    _statement(
        "Lemma 5.1", 701, "uniform convergence without replacement",
        "`uniform_convergence_printed`, `uniform_convergence_corrected`, `uniform_convergence`",
        "uniform-convergence", "paper/test_faults.py", resumes=(742,),
    ),
    _statement("Claim 5.2", 711, "symmetrisation", "none", "errata", _ERRATA_TEST),
    _statement(
        "Theorem 5.3", 775, "regret of the empirical risk minimiser",
        "`erm_printed`, `erm_corrected`, `erm`", "classification",
        "paper/claims/test_classification.py",
        about="empirical risk minimiser",
    ),
    _statement(
        "Theorem A.1", 844, "distance to mixtures of i.i.d. draws (De Finetti)", "none (exact)",
        "de-finetti", "paper/claims/test_input_models.py",
    ),
    _statement(
        "Theorem B.1", 885, "i.i.d. ≤ random order ≤ adversarial",
        "none (exact, `tombola.lab.worst_case`)", "hierarchy", "lab/test_exact.py",
    ),
    _statement(
        "Theorem C.1", 918, "concentration without replacement (Hoeffding, Serfling)",
        "none (exact)", "concentration", "paper/claims/test_input_models.py",
    ),
    Place(
        "definition", "input models, Section 1", 119, "i.i.d., random order, adversarial",
        '`play(..., order="iid")`, `"random"`, `"given"`', ("hierarchy",),
    ),
    Place(
        "definition", "regret with delayed feedback, Section 2.1", 173,
        "expected loss minus the least total",
        "`Trace.regret`, `Trace.expected_regret`; `play(..., delay=d)`",
    ),
    Place(
        "definition", "long-term constraints, Section 2.2", 179, "regret and violation",
        "`Budget`, `play(..., budget=)`",
    ),
    Place(
        "definition", "switching costs, Section 2.3", 197, "a cost for each change of the action",
        "`Trace.switches`, `Thrifty(price=)`",
    ),
    Place(
        "definition", "training distribution, Section 4", 270, "the past, in i.i.d. order",
        "`learners.reductions.training`", ("delay-lemma",),
    ),
    Place(
        "definition", "VC and Littlestone dimension, Section 5", 688, "sample complexity",
        "`tombola.classification`", ("classification",),
    ),
    Place(
        "comparison",
        "Desautels, Krause and Burdick 2012; Joulani, Gyorgy and Szepesvari 2013; "
        "Masoudian, Zimmert and Seldin 2022",
        135, "delay adds in the i.i.d. model, and multiplies in the worst order", "`Interleaved`",
        ("delay-shift", "delay-floor"),
    ),
    Place(
        "comparison", "Mannor, Tsitsiklis and Yu 2009", 137,
        "sublinear regret and violation together are impossible in the worst order", "",
        ("impossibility",),
    ),
    Place(
        "comparison", "Yu, Neely and Wei 2017; Castiglioni, Celli and Kroer 2022", 162,
        "√T regret and violation with i.i.d. constraints", "`PrimalDual`, `DualDescent`",
        ("constraints",),
    ),
    Place(
        "comparison",
        "Dekel, Ding, Koren and Peres 2014; Cesa-Bianchi, Dekel and Shamir 2013", 583,
        "switching costs: T^(2/3) in the worst order, √T on i.i.d. rows", "",
        ("random-walk", "switching"),
    ),
    Place(
        "comparison", "Agrawal, Hedge and Teneketzis 1988", 590,
        "few switches by blocks of growing length", "`UCB2`, `FrugalUCB`", ("frugal-ucb",),
    ),
    Place(
        "comparison", "Ben-David, Pal and Shalev-Shwartz 2009; Littlestone 1987", 142,
        "VC against Littlestone dimension", "`tombola.classification`", ("classification",),
    ),
    Place(
        "comparison",
        "Haghtalab, Han, Shetty and Yang 2022; Raman and Tewari 2024", 142,
        "VC dimension is enough for a smooth adversary, or with predictions",
        where="Other input models: not implemented.",
    ),
    Place(
        "comparison", "Diaconis and Freedman 1980", 151,
        "sampling without replacement is statistically distinct", "", ("de-finetti", "birthday"),
    ),
    Place(
        "comparison", "Garber, Korcia and Levy 2020; Sherman, Koren and Mansour 2021", 158,
        "random-order convex optimisation", "", ("random-order-convex",),
    ),
    Place(
        "comparison", "Dong and Yoshida 2023; Varma and Yoshida 2023", 160,
        "combinatorial problems in random order", "`lab.BatchToOnline`", ("batch-to-online",),
    ),
    Place(
        "comparison", "Hoeffding 1963; Serfling 1974", 917, "concentration without replacement",
        "`tombola.bounds`", ("concentration",),
    ),
    Place(
        "comparison", "Badanidiyuru, Kleinberg and Slivkins 2013; Agrawal and Devanur 2014", 162,
        "budgets with i.i.d. rows", "`PrimalDual`, `OptimisticLP`", ("constraints",),
    ),
    Place(
        "comparison",
        "Immorlica, Sankararaman, Schapire and Slivkins 2022; Kesselheim and Singla 2020; "
        "Castiglioni, Celli, Marchesi, Romano and Gatti 2022; "
        "Bernasconi, Castiglioni, Celli and Fusco 2024",
        162, "a share of the best total with constraints in the worst order",
        where="Competitive ratios: not implemented.",
    ),
    Place(
        "comparison", "Sun, Dey and Kapoor 2017", 163,
        "a weaker comparator with constraints in the worst order",
        where="Other comparators: not implemented.",
    ),
    Place(
        "comparison", "Balseiro, Lu and Mirrokni 2023; Fikioris and Tardos 2023", 164,
        "constraints between the i.i.d. and the worst order",
        where="Other input models: not implemented.",
    ),
    Place(
        "comparison", "Hannan 1957", 210, "follow the leader", "`FollowTheLeader`",
        ("delay-corollary",),
    ),
    Place(
        "comparison", "Slivkins 2019", 590, "successive elimination on i.i.d. rows",
        "`SuccessiveElimination`", ("switching",),
    ),
    Place(
        "comparison",
        "Bousquet, Boucheron and Lugosi 2003; Vapnik and Chervonenkis 1971; Sauer 1972; "
        "Shelah 1972",
        709, "uniform convergence of i.i.d. samples, and the number of labellings",
        "`uniform_convergence`", ("uniform-convergence",),
    ),
    Place(
        "comparison", "De Finetti 1929; De Finetti 1937; De Finetti 1969; Hewitt and Savage 1955",
        840, "infinite exchangeable sequences are mixtures of i.i.d. ones", "", ("de-finetti",),
    ),
    Place(
        "comparison",
        "Dynkin 1963; Krengel and Sucheston 1977; Peng and Tang 2022; "
        "Babaioff, Immorlica, Kempe and Kleinberg 2018; Korula and Pal 2009; "
        "Dimitrov and Plaxton 2008; Ezra, Feldman, Gravin and Tang 2022; Gupta and Singla 2021",
        115, "optimal stopping, matching, matroids and approximation in random order",
        where="Other problems in random order: not implemented.",
    ),
    Place(
        "comparison",
        "Ben-David, Kushilevitz and Mansour 1997; Slivkins and Upfal 2008; "
        "Lykouris, Mirrokni and Paes Leme 2018; Sachs, Hadiji, van Erven and Guzman 2022; "
        "Mazzetto and Upfal 2023; Roughgarden 2020",
        116, "other models between the i.i.d. and the worst order",
        where="Other input models: not implemented.",
    ),
    Place(
        "comparison", "Lattimore and Szepesvari 2020", 115,
        "textbook of the i.i.d. and the adversarial model", "`tombola.learners`",
    ),
    Place(
        "comparison", "open: black-box constructions for broader feedback, Section 6", 819,
        "bandit feedback", "`OptimisticSimulation`, `lab.minimax`", ("bandit-repair", "minimax"),
        where="[Minimax values for bandit feedback](for_theorists.md).",
    ),
)  # fmt: skip

# Place -> sections, headings and keywords of the paper that lead to it, in lower case.
_SUBJECTS: dict[str, tuple[str, ...]] = {
    "input models, Section 1": ("section 1", "introduction", "random-order model"),
    "regret with delayed feedback, Section 2.1": ("section 2", "section 2.1", "model"),
    "long-term constraints, Section 2.2": ("section 2", "section 2.2", "model"),
    "switching costs, Section 2.3": ("section 2", "section 2.3", "model"),
    "Theorem 3.2": (
        "section 3", "a separation between stochastic and random order models", "birthday paradox",
    ),
    "Simulation, Section 4": (
        "section 4", "a general template: simulation", "general template", "template",
    ),
    "Theorem 4.2": (
        "section 4.1", "predictions with delayed feedback", "prediction with delayed feedback",
        "prediction with delays", "delayed feedback",
    ),
    "Theorem 4.5": (
        "section 4.2", "online learning with constraints",
        "online learning with long-term constraints", "long-term constraints",
    ),
    "Theorem 4.9": ("section 4.3", "bandits with switching costs", "switching costs"),
    "Lemma 5.1": (
        "section 5.1", "sample complexity with random-order input", "sample complexity",
        "uniform convergence",
    ),
    "Theorem 5.3": (
        "section 5", "section 5.2", "classification in the random-order input model",
        "regret of an empirical risk minimizer with random-order input",
        "empirical risk minimizer", "online classification", "learnability", "vc dimension",
        "littlestone dimension",
    ),
    "open: black-box constructions for broader feedback, Section 6": (
        "section 6", "conclusion and further directions",
    ),
    "Theorem A.1": ("section a", "appendix a", "the de finetti theorem", "de finetti theorem"),
    "Theorem B.1": (
        "section b", "appendix b", "the hierarchy between the three models",
    ),
    "Theorem C.1": (
        "section c", "appendix c", "concentration for sampling without replacement",
    ),
}  # fmt: skip


def find_subject(name: str) -> list[Place]:
    """Return the places for a section, a heading or a keyword of the paper.

    >>> [place.name for place in find_subject("VC dimension")]
    ['Theorem 5.3']
    """
    key = " ".join(name.lower().split())
    return [place for place in PLACES if key in _SUBJECTS.get(place.name, ())]


def find_places(name: str) -> list[Place]:
    """Return the places that a name means: "Theorem 4.2", "4.2", "Birthday-Test" or "Joulani".

    >>> [place.claims for place in find_places("Dong and Yoshida")]
    [('batch-to-online',)]
    >>> find_places("birthday-test")[0].code
    '`BirthdayTest`'
    """
    key = " ".join(name.lower().split())
    return [place for place in PLACES if key and place.matches(key)]


def _errata_of(place: Place) -> tuple[int, ...]:
    starts = sorted({line for entry in PLACES for line in (entry.line, *entry.resumes)})
    own = {place.line, *place.resumes}
    numbers = [
        erratum.number
        for erratum in ERRATA
        if max(start for start in starts if start <= erratum.line) in own
    ]
    return tuple(sorted(numbers))


_HEADERS = {
    "algorithm": "| paper | line | class | claim | errata | test |\n|---|--:|---|---|---|---|",
    "statement": "| paper | line | subject | bound function | claim | errata | test |\n"
    "|---|--:|---|---|---|---|---|",
    "definition": "| paper | line | in the code | claim | errata |\n|---|--:|---|---|---|",
    "comparison": "| cited source | line | subject | in the code, and claim | errata |\n"
    "|---|--:|---|---|---|",
}


def to_markdown(kind: str) -> str:
    """Return the table of the page `from_paper_to_code.md` for one kind of place.

    >>> to_markdown("statement").splitlines()[2].split(" | ")[:2]
    ['| Lemma 3.1', 'L215']
    """
    lines = [_HEADERS[kind]]
    for place in PLACES:
        if place.kind != kind:
            continue
        claims = ", ".join(place.claims)
        errata = place.errata_text
        if kind == "algorithm":
            cells = [place.name, place.code, claims, errata, place.test]
        elif kind == "statement":
            cells = [place.name, place.subject, place.code, claims, errata, place.test]
        elif kind == "definition":
            cells = [f"{place.name}: {place.subject}", place.code, claims, errata]
        else:
            counterparts = [place.code, f"claim {claims}" if claims else "", place.where]
            cells = [place.name, place.subject, "; ".join(filter(None, counterparts)), errata]
        cells.insert(1, f"L{place.line}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
