"""What an erratum is: a line of the paper, what it should say, and a computation that tells the two apart."""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

from tombola.paper.base import docstring_fields

Severity = Literal["false", "gap", "typo", "loose"]
Relation = Literal["equals", "at most", "at least", "within", "tighter"]
Method = Literal["computed", "arithmetic"]
RELATIVE_TOLERANCE = 0.01


class Evidence(NamedTuple):
    """What the line gives as printed, what it gives as corrected, and what is the case, computed on another way."""

    printed: float
    corrected: float
    truth: float


class Erratum(NamedTuple):
    """An erratum: number, first line, how bad it is, both texts, and what its numbers are.

    The relation says how the truth must stand to a right value: it "equals" it, is "at most" it (the value is a bound)
    or "at least" it. "within": the truth is a limit, which a right value keeps. "tighter": both values are bounds, and
    the corrected one is smaller. The way says where the truth comes from: "computed" without the corrected text, or
    worked "arithmetic", which puts numbers into the corrected text and shows what it says, not that it is right.
    """

    number: int
    line: int
    severity: Severity
    printed: str
    correct: str
    quantity: str
    relation: Relation
    evidence: Callable[[], Evidence]
    method: Method = "computed"


def erratum(
    number: int, line: int, severity: Severity, relation: Relation, method: Method = "computed"
) -> Callable[[Callable[[], Evidence]], Erratum]:
    """Make an erratum of the function that computes its evidence; the docstring has the quantity and both texts."""

    def wrap(evidence: Callable[[], Evidence]) -> Erratum:
        quantity, words = (evidence.__doc__ or "").partition(".\n")[0], docstring_fields(evidence.__doc__)
        return Erratum(number, line, severity, words["printed"], words["correct"], quantity, relation, evidence, method)

    return wrap


def demonstrates(relation: str, printed: float, corrected: float, truth: float) -> bool:
    """Tell whether these numbers show that the printed value is wrong, or too weak, and the corrected one right.

    >>> shown("at most", printed=1.0, corrected=3.0, truth=2.0), shown("at most", printed=2.5, corrected=3.0, truth=2.0)
    (True, False)
    """
    if relation == "tighter":
        return satisfies("at most", corrected, truth) and corrected < printed
    return satisfies(relation, corrected, truth) and not satisfies(relation, printed, truth)


def satisfies(relation: str, value: float, truth: float) -> bool:
    """Tell whether a value stands to the truth as it should; values within 1 % are equal.

    >>> right("equals", 1.001, 1.0), right("within", 1.001, 1.0)
    (True, False)
    """
    if relation == "equals":
        return math.isclose(value, truth, rel_tol=RELATIVE_TOLERANCE)
    tolerance = 1e-12 * abs(truth)
    return value >= truth - tolerance if relation == "at most" else value <= truth + tolerance
