"""Harness of statements beyond races: rank, gate, audit, session and router, judged by their words.

A scenario is a question under a circumstance, on one small list at one level. It yields runs: the
weight of a run, and all statements that it makes, at every look. A run is wrong if any of them is
false; one that says "for certain" may never be. Where the orders, samples or answers are
enumerated, P(wrong) is exact; the others draw seeds.
"""

import itertools
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tombola
from statements.harness import Count
from statements.parsing import SLACK, is_wrong, parse_text
from tombola.errors import ParameterError, TableError
from tombola.gating import gate
from tombola.learners import UCB1, Exp3, Hedge
from tombola.policies import certify_rows
from tombola.ranking import rank
from tombola.statements import Statement
from tombola.worklists import SessionFile

NAMES = "abc"
PREFIXES = {"running": "open", "stopped": "stopped", "undecided": "undecided"}
COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": lambda mean, number: bool(mean >= number - SLACK),
    "<=": lambda mean, number: bool(mean <= number + SLACK),
}


@dataclass(frozen=True)
class Truth:
    """What is true: mean losses, means of the columns of a list, the Pareto front, a router's gain."""

    means: np.ndarray
    columns: dict[str, float] = field(default_factory=dict)
    front: frozenset[str] = frozenset()
    gain: float = 0.0


class Run(NamedTuple):
    """One run: its weight, its statements, and the truth about each of them."""

    weight: float
    said: list[tuple[Statement, Truth]]


def is_false(conclusion: dict[str, Any], truth: Truth) -> bool:
    """Return whether a parsed conclusion is false."""
    kind = conclusion["kind"]
    if kind in ("holds", "does not hold"):
        column, sign, number = re.fullmatch(
            r"mean\((\w+)\) (\S+) (\S+)", conclusion["text"]
        ).groups()  # type: ignore[union-attr]
        holds = COMPARE[sign](truth.columns[column], float(number))
        return bool(holds != (kind == "holds"))
    if kind == "mean":
        mean = truth.columns[conclusion["names"][0]]
        return bool(not conclusion["low"] - SLACK <= mean <= conclusion["high"] + SLACK)
    if kind == "front":
        return not truth.front <= set(conclusion["names"])
    if kind == "router":
        return bool(truth.gain <= conclusion["d"] - SLACK)
    return is_wrong(conclusion, NAMES, truth.means)


def judge_statement(statement: Statement, truth: Truth) -> tuple[bool, bool]:
    """Parse a statement back; return whether it is false, and whether it is so for certain.

    Text, JSON and exit status must agree with the parsed words.
    """
    text = str(statement)
    data = json.loads(json.dumps(statement.to_json(), allow_nan=False))
    assert data["text"] == text
    parsed = parse_text(text)
    assert parsed.reading == statement.reading or not statement.conclusions, text
    assert parsed.level == (statement.level if statement.conclusions else None), text
    assert bool(parsed.prefix) == (statement.verdict in PREFIXES), text
    assert parsed.prefix.startswith(PREFIXES.get(statement.verdict, "")), text
    assert len(parsed.conclusions) == len(data["conclusions"]), text
    status = {"exact": 0, "proved": 0, "refuted": 1}.get(data["verdict"], 3)
    assert statement.exit_status == status, text
    wrong = any(is_false(conclusion, truth) for conclusion in parsed.conclusions)
    return wrong, wrong and parsed.level == 0.0


def count_of(runs: Iterator[Run]) -> Count:
    """Judge all statements of all runs; the weights of the runs are the races."""
    count = Count()
    for run in runs:
        judged = [judge_statement(statement, truth) for statement, truth in run.said]
        count.races += run.weight
        count.sentences += len(judged)
        count.wrong += run.weight * any(wrong for wrong, _ in judged)
        count.wrong_certain += sum(certain for _, certain in judged)
        count.decided += run.weight * any(
            statement.verdict in ("exact", "proved", "refuted") for statement, _ in run.said
        )
        if not count.examples:
            count.examples = [
                str(statement)
                for (statement, _), (wrong, _) in zip(run.said, judged, strict=True)
                if wrong
            ][:1]
    return count


def two_of(table: np.ndarray) -> np.ndarray:
    """Return six rows of two candidates: with more of them so few rows prove nothing."""
    return np.resize(table, (6, table.shape[1]))[:, :2]


def distinct_orders(table: np.ndarray) -> list[np.ndarray]:
    """Return the orders of a list that differ in their rows; all have the same probability."""
    orders: dict[tuple[tuple[float, ...], ...], tuple[int, ...]] = {}
    for order in itertools.permutations(range(len(table))):
        orders.setdefault(tuple(tuple(row) for row in table[list(order)].tolist()), order)
    return [np.array(order) for order in orders.values()]


def statements_of(make: Callable[..., Any], *args: Any, **options: Any) -> list[Statement]:
    """Return the statements of a result; none if it refuses, such as with too few rows."""
    try:
        result = make(*args, **options)
    except (ParameterError, TableError):
        return []
    return list(getattr(result, "statements", None) or (result.statement,))


# -- rank -------------------------------------------------------------------


def rank_in_order(table: np.ndarray, level: float, _: int, *, early: bool = False) -> Iterator[Run]:
    """All orders of a list that fills, at every look; `early`: losses of 0 arrive before their turn."""
    table = two_of(table)
    truth = Truth(np.append(table.mean(axis=0), 2.0))
    for order in distinct_orders(table):
        listed = table[order]
        said = []
        for answered in range(2, len(table) + 1):
            seen = listed.copy()
            is_open = listed > 0.0 if early else np.ones_like(listed, bool)
            is_open[:answered] = False
            seen[is_open] = np.nan
            ranking = rank(
                seen, kind="losses", names="ab", level=level, in_order=True, reading="recorded"
            )
            said += [(statement, truth) for statement in ranking.statements]
            # The text of the command has the statement, and the pairs say no more than it.
            assert ranking.statements[0].caption in str(ranking)
        yield Run(1.0, said)


def rank_clusters(table: np.ndarray, level: float, _: int) -> Iterator[Run]:
    """All orders of clusters of 1, 1, 2 and 2 rows."""
    clusters = np.array([0, 1, 2, 2, 3, 3])
    table = np.resize(table, (6, 3))
    truth = Truth(table.mean(axis=0))
    for order in itertools.permutations(range(4)):
        rows = np.concatenate([np.flatnonzero(clusters == at) for at in order])
        said = []
        for answered in range(1, 7):
            seen = table[rows]
            seen[answered:] = np.nan
            made = statements_of(
                rank, seen, kind="losses", names=NAMES, level=level, in_order=True,
                reading="recorded", clusters=clusters[rows].tolist(),
            )  # fmt: skip
            said += [(statement, truth) for statement in made]
        yield Run(1.0, said)


def rank_part(table: np.ndarray, level: float, number: int) -> Iterator[Run]:
    """One look at a random part of a list, under seeds of the part and of the bets."""
    rng = np.random.default_rng(number)
    table = two_of(table)
    truth = Truth(np.append(table.mean(axis=0), 2.0))
    for seed in range(60):
        seen = table[rng.permutation(len(table))]
        seen[: int(rng.integers(1, 3))] = np.nan
        ranking = rank(seen, kind="losses", names="ab", level=level, reading="recorded", seed=seed)
        yield Run(1.0, [(ranking.statements[0], truth)])


def rank_beyond(
    table: np.ndarray, level: float, _: int, *, in_order: bool = False, final: bool = False
) -> Iterator[Run]:
    """All samples of seven rows of two kinds; in order at every look from the fourth row on."""
    law = table[:2, :2]
    truth = Truth(np.append(law.mean(axis=0), 2.0))
    options: dict[str, Any] = {"in_order": in_order, "final_rows": 7 if final else None}
    for sample in itertools.product(range(2), repeat=7):
        rows = law[list(sample)]
        said = []
        for answered in range(4, 8) if in_order else (7,):
            made = statements_of(
                rank, rows[:answered], kind="losses", names="ab", level=level, reading="beyond",
                **options,
            )  # fmt: skip
            said += [(statement, truth) for statement in made]
        yield Run(1.0, said)


def rank_beyond_clusters(table: np.ndarray, level: float, _: int) -> Iterator[Run]:
    """All samples of seven clusters, of one row or of two rows; the mean is over rows."""
    law = table[:2, :2]
    truth = Truth(np.append((law[0] + 2.0 * law[1]) / 3.0, 2.0))
    for sample in itertools.product(range(2), repeat=7):
        rows = [law[kind] for kind in sample for _ in range(1 + kind)]
        clusters = [at for at, kind in enumerate(sample) for _ in range(1 + kind)]
        made = statements_of(
            rank, np.array(rows), kind="losses", names="ab", level=level, reading="beyond",
            clusters=clusters, largest_cluster=2,
        )  # fmt: skip
        yield Run(1.0, [(statement, truth) for statement in made])


def rank_expected(table: np.ndarray, level: float, _: int) -> Iterator[Run]:
    """All answers of two candidates to four rows: right with probability 1/4, 1/2 or 3/4."""
    chances = 0.25 + 0.25 * np.round(2 * table[:4, :2])
    truth = Truth(np.append(chances.mean(axis=0), 2.0))
    for answers in itertools.product((0.0, 1.0), repeat=8):
        drawn = np.reshape(answers, (4, 2))
        weight = float(np.prod(np.where(drawn == 1.0, chances, 1.0 - chances)))
        ranking = rank(drawn, kind="losses", names="ab", level=level, reading="expected")
        yield Run(weight, [(statement, truth) for statement in ranking.statements])


def front_beyond(table: np.ndarray, level: float, _: int) -> Iterator[Run]:
    """The Pareto front in two metrics, over all samples of seven rows of two kinds."""
    first = table[:2]
    second = table[2:4]
    means = np.stack([first.mean(axis=0), second.mean(axis=0)])
    front = frozenset(
        NAMES[b]
        for b in range(3)
        if not any(
            (means[:, a] <= means[:, b] + SLACK).all() and (means[:, a] < means[:, b] - SLACK).any()
            for a in range(3)
        )
    )
    truth = Truth(means[0], front=front)
    for sample in itertools.product(range(2), repeat=7):
        rows = list(sample)
        made = statements_of(
            rank, {"error": first[rows], "price": second[rows]}, kind="losses", names=NAMES,
            level=level, reading="beyond",
        )  # fmt: skip
        yield Run(1.0, [(statement, truth) for statement in made])


# -- audit ------------------------------------------------------------------


def audit_conditions(
    table: np.ndarray, level: float, number: int, *, strata: bool = False, past: bool = False
) -> Iterator[Run]:
    """All orders at the last looks; conditions at the mean, and beside it.

    Evidence stays, so a wrong outcome before the last row but one is still there at that row.
    past: the history has the values of the future, or their opposite.
    """
    means = table.mean(axis=0)
    truth = Truth(means, dict(zip(NAMES, means.tolist(), strict=True)))
    first, second = means[:2].tolist()
    texts = [f"mean(a) >= {first!r}", f"mean(b) <= {second!r}"]
    if number % 2:
        texts = [f"mean(a) <= {first!r}"]
    history = None
    if past:
        flip = table if number % 4 < 2 else 1.0 - table
        history = [{"id": f"r{row}", "old": value} for row, value in enumerate(flip[:, 0])]
        texts = texts[:1]
    for order in itertools.permutations(range(len(table))):
        records = [
            {"id": f"r{row}", **dict(zip(NAMES, table[row].tolist(), strict=True)), "part": f"p{row % 2}"}
            for row in order
        ]  # fmt: skip
        options: dict[str, Any] = {"rows": len(table), "history": history}
        if strata:
            sizes = {"p0": -(-len(table) // 2), "p1": len(table) // 2}
            options = {"strata": "part", "sizes": sizes}
        said = []
        for answered in (len(table) - 1, len(table)):
            report = tombola.audit(iter(records[:answered]), texts, level=level, **options)
            said += [(statement, truth) for statement in report.statements]
            assert report.statements[0].full in str(report)
        yield Run(1.0, said)


def audit_best(table: np.ndarray, level: float, number: int) -> Iterator[Run]:
    """All orders of a list, after every row: the best column, exactly or within .15."""
    table = two_of(table)
    truth = Truth(np.append(table.mean(axis=0), 2.0))
    for order in distinct_orders(table):
        said = []
        for answered in range(2, len(table) + 1):
            rows = (dict(zip("ab", row, strict=True)) for row in table[order[:answered]].tolist())
            result = tombola.certify(
                rows, rows=len(table), kind="losses", within=0.15 * (number % 2), level=level
            )
            said += [(statement, truth) for statement in result.statements]
        yield Run(1.0, said)


def audit_mean(
    table: np.ndarray, level: float, number: int, *, past: bool = False
) -> Iterator[Run]:
    """All orders of a list, after every row: the mean of a column, with a history or without."""
    truth = Truth(table.mean(axis=0), {"a": float(table[:, 0].mean())})
    history = None
    if past:
        flip = table if number % 2 else 1.0 - table
        history = [{"id": f"r{row}", "old": value} for row, value in enumerate(flip[:, 0])]
    for order in itertools.permutations(range(len(table))):
        records = [{"id": f"r{row}", "a": float(table[row, 0])} for row in order]
        said = []
        for answered in range(1, len(table) + 1):
            result = tombola.certify(
                iter(records[:answered]), rows=len(table), column="a", level=level, history=history
            )
            said += [(statement, truth) for statement in result.statements]
        yield Run(1.0, said)


# -- gate -------------------------------------------------------------------


def gate_scores(
    table: np.ndarray, level: float, _: int, *, looks: Any = 1, **options: Any
) -> Iterator[Run]:
    """All samples of six rows of three kinds: is b not worse than a, or better?"""
    law = table[:3, :2]
    truth = Truth(np.append(law.mean(axis=0), 2.0))
    for sample in itertools.product(range(3), repeat=5):
        rows = law[list(sample)]
        said = []
        for answered in range(1, 6) if looks == "any" else (5,):
            made = statements_of(
                gate, rows[:answered, 0], {"b": rows[:answered, 1]}, kind="losses", level=level,
                looks=looks, **{"within": 0.1, **options},
            )  # fmt: skip
            said += [(_with_old_name(statement), truth) for statement in made]
        yield Run(1.0, said)


def _with_old_name(statement: Statement) -> Statement:
    """Return the statement of a gate with the name of the candidate for the old version."""
    from dataclasses import replace

    return replace(
        statement,
        conclusions=tuple(replace(item, than="a") for item in statement.conclusions),
        questions=tuple(replace(item, than="a") for item in statement.questions),
    )


def gate_expected(table: np.ndarray, level: float, _: int) -> Iterator[Run]:
    """All answers of two versions to four rows: wrong with probability 1/4, 1/2 or 3/4."""
    chances = 0.25 + 0.25 * np.round(2 * table[:4, :2])
    truth = Truth(np.append(chances.mean(axis=0), 2.0))
    for answers in itertools.product((0.0, 1.0), repeat=8):
        drawn = np.reshape(answers, (4, 2))
        weight = float(np.prod(np.where(drawn == 1.0, chances, 1.0 - chances)))
        result = gate(
            drawn[:, 0],
            {"b": drawn[:, 1]},
            kind="losses",
            level=level,
            reading="expected",
            within=0.1,
        )
        yield Run(weight, [(_with_old_name(result.statement), truth)])


# -- session and router -----------------------------------------------------


def session_status(
    table: np.ndarray, level: float, number: int, *, learner: Any, late: bool = False
) -> Iterator[Run]:
    """Sessions under seeds; late: outcomes above 0 wait, so that arrival depends on the outcome."""
    table = np.tile(table, (4, 1))
    truth = Truth(table.mean(axis=0))
    full = isinstance(learner, Hedge)
    ids = [str(row) for row in range(len(table))]
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(6 * number, 6 * number + 6):
            said = []
            path = Path(folder) / f"s{seed}"
            with SessionFile.start(path, ids, list(NAMES), learner, seed=seed) as file:
                file.interpreted = True
                while file.issued < len(table) or file.pending:
                    file.next(min(4, len(table) - file.issued)) if file.issued < len(
                        table
                    ) else None
                    waiting = file.pending
                    ready = [
                        task for task in waiting
                        if not late or file.issued == len(table)
                        or table[int(task.id), NAMES.index(task.action)] == 0.0
                    ] or waiting[:2]  # fmt: skip
                    for task in ready:
                        row = table[int(task.id)].tolist()
                        file.record(
                            task.ticket, loss=row if full else row[NAMES.index(task.action)]
                        )
                    said.append((file.status(level).statement, truth))
            yield Run(1.0, said)


def router_rows(table: np.ndarray, level: float, _: int, *, late: bool = False) -> Iterator[Run]:
    """All orders of six rows for a router that is best on the first half of them; every look.

    late: rows on which the router loses are pending until the end.
    """
    losses = np.resize(table[:, :2], (6, 2))
    choices = np.where(np.arange(6) < 3, losses.argmin(axis=1), losses.argmax(axis=1))
    for order in itertools.permutations(range(6)):
        rows = np.array(order)
        said = []
        for answered in range(3, 6):
            seen = losses[rows[:answered]].copy()
            picked = choices[rows[:answered]]
            if late:
                seen[seen[np.arange(answered), picked] > 0.0] = np.nan
            certificate = certify_rows(seen, picked, population=6, block=1, level=level)
            is_left = np.ones(6, bool)
            is_left[rows[:answered][~np.isnan(seen[:, 0])]] = False
            left = losses[is_left]
            own = left[np.arange(len(left)), choices[is_left]]
            gain = float((left - own[:, None]).mean(axis=0).min())
            said.append((certificate.statement, Truth(np.zeros(3), gain=gain)))
        yield Run(1.0, said)


class Scenario(NamedTuple):
    """A scenario: its runs from (table, level, number), and whether they are an enumeration."""

    runs: Callable[[np.ndarray, float, int], Iterator[Run]]
    exact: bool = True


def _with(function: Callable[..., Iterator[Run]], **options: Any) -> Callable[..., Iterator[Run]]:
    return lambda table, level, number: function(table, level, number, **options)


SCENARIOS: dict[str, Scenario] = {
    "rank, in order": Scenario(rank_in_order),
    "rank, in order, arrivals by outcome": Scenario(_with(rank_in_order, early=True)),
    "rank, clusters in order": Scenario(rank_clusters),
    "rank, a random part": Scenario(rank_part, exact=False),
    "rank, beyond": Scenario(rank_beyond),
    "rank, beyond in order": Scenario(_with(rank_beyond, in_order=True)),
    "rank, beyond with its end": Scenario(_with(rank_beyond, in_order=True, final=True)),
    "rank, beyond by clusters": Scenario(rank_beyond_clusters),
    "rank, expected": Scenario(rank_expected),
    "front, beyond": Scenario(front_beyond),
    "audit, conditions": Scenario(audit_conditions),
    "audit, strata": Scenario(_with(audit_conditions, strata=True)),
    "audit, history is the future": Scenario(_with(audit_conditions, past=True)),
    "audit, best": Scenario(audit_best),
    "audit, mean": Scenario(audit_mean),
    "audit, mean with history": Scenario(_with(audit_mean, past=True)),
    "gate, beyond": Scenario(gate_scores),
    "gate, beyond, binary": Scenario(_with(gate_scores, better=True, within=None, binary=True)),
    "gate, better": Scenario(_with(gate_scores, better=True, within=None)),
    "gate, any looks": Scenario(_with(gate_scores, looks="any")),
    "gate, expected": Scenario(gate_expected),
    "session, one outcome": Scenario(_with(session_status, learner=UCB1()), exact=False),
    "session, arrivals by outcome": Scenario(
        _with(session_status, learner=UCB1(), late=True), exact=False
    ),
    "session, drawn actions": Scenario(_with(session_status, learner=Exp3()), exact=False),
    "session, whole rows": Scenario(_with(session_status, learner=Hedge()), exact=False),
    "router": Scenario(router_rows),
    "router, late losses": Scenario(_with(router_rows, late=True)),
}


def small_list(number: int) -> np.ndarray:
    """Return a list of five rows and three candidates: near ties, so that errors do occur."""
    rng = np.random.default_rng(number)
    table = rng.integers(0, 2, (5, 3)).astype(float)
    # The leader after four rows loses its lead in the last one, or ties.
    table[:, 1] = table[rng.permutation(5), 0]
    table[rng.random(table.shape) < 0.08] = 0.5
    return table


def judge_scenario(name: str, number: int, level: float) -> Count:
    """Judge one scenario on the list of a number."""
    return count_of(SCENARIOS[name].runs(small_list(number), level, number))
