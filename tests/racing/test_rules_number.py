"""The number of the rules: a race in a file ends by the rules that it was started with."""

import hashlib
from typing import Any

import numpy as np
import pytest

from tombola.racing.settings import RULES, RaceSettings

NAMES = ("a", "b", "c", "d")
QUESTIONS: dict[str, dict[str, Any]] = {
    "best": {},
    "within": {"within": 0.2},
    "top": {"top": 2},
    "ranks": {"question": "ranks"},
    "place": {"question": "ranks", "candidate": "b"},
    "gate": {"baseline": "a", "within": 0.1},
    "expected": {"answers": "random", "max_calls": 900},
    "beyond": {"reading": "beyond"},
    "once": {"answers": "once"},
    "passes": {"answers": "random", "passes": 3},
}
# What the rules decide on the tables below. If a change of a rule is meant, raise RULES, and write
# the new digests.
DIGESTS = {
    "best": "985a01e82d45",
    "within": "4e7d5100e471",
    "top": "8e0528e90783",
    "ranks": "f516fdff4992",
    "place": "e53fc95de4e5",
    "gate": "d3e7d2a471f2",
    "expected": "0f3a4e4c39af",
    "beyond": "777351e91a1f",
    "once": "15475c5d8d81",
    "passes": "8aefd31d01b3",
}


def decisions(question: dict[str, Any]) -> str:
    """Return a digest of the rows in which a rule drops candidates, on six tables."""
    digest = hashlib.sha256()
    settings = RaceSettings(NAMES, seed=1, **{"answers": "fixed", **question})
    for seed in range(6):
        rng = np.random.default_rng(seed)
        size = 120
        means = np.array([0.25, 0.4, 0.45, 0.7])
        table = (rng.random((size, len(NAMES))) < means).astype(float)
        rule = settings.rule(size)
        if question.get("passes"):
            table = np.tile(table, (3, 1))
        for row in table:
            if rule.done:
                break
            rule.update(row)
        dropped = rule.state.drop_row.astype(int).tolist()
        digest.update(f"{rule.rows_seen} {dropped} {rule.answer}".encode())
    return digest.hexdigest()[:12]


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("name", QUESTIONS)
def test_decisions_belong_to_the_number_of_the_rules(name: str) -> None:
    """A rule that decides otherwise needs another number, so that files are not read by it."""
    assert RULES == 2
    assert decisions(QUESTIONS[name]) == DIGESTS[name]
