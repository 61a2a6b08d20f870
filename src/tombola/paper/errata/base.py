"""Errata: a line of the paper, its correction, and a computation that decides."""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

# Types of the fields of `Erratum`, which explains their values.
_Severity = Literal["false", "gap", "typo", "loose"]
_Relation = Literal["equals", "at most", "at least", "within", "tighter"]
_Method = Literal["computed", "arithmetic"]
# Severity of an erratum, a field of `Erratum` -> its name on pages.
SEVERITY_LABELS: dict[_Severity, str] = {
    "false": "false as stated",
    "gap": "gap in a proof",
    "typo": "slip",
    "loose": "not tight",
}
# Relative tolerance of "equals"; asymptotic constants are compared at finite sizes.
_RELATIVE_TOLERANCE = 0.01


class Evidence(NamedTuple):
    """Values of one quantity: as printed, as corrected, and true (`Erratum.method`)."""

    printed: float
    corrected: float
    truth: float


class Erratum(NamedTuple):
    """One erratum of the paper, with numbers that demonstrate it.

    number, line: number of the erratum, and line of the paper's LaTeX source.
    severity: "false" statement, "gap" in a proof, "typo", or "loose" for a bound that is not tight.
    printed, correct: the text as printed and as corrected.
    quantity: the quantity that is computed, in words.
    relation: condition on a value v of the quantity, given its true value t. "equals": v = t within
        1 %. "at most": t <= v, v being an upper bound on t. "at least": t >= v, v being a lower
        bound on t. "within": v <= t, t being a limit for v. The corrected value satisfies it and
        the printed value does not. "tighter": t <= corrected value < printed value.
    evidence: computes the quantity by the printed and by the corrected text, and its true value.
    method: origin of the true value: "computed" independently of the corrected text, or
        "arithmetic", which evaluates the corrected text and does not prove it.
    """

    number: int
    line: int
    severity: _Severity
    printed: str
    correct: str
    quantity: str
    relation: _Relation
    evidence: Callable[[], Evidence]
    method: _Method = "computed"


def erratum(
    number: int,
    line: int,
    severity: _Severity,
    relation: _Relation,
    quantity: str,
    method: _Method = "computed",
) -> Callable[[Callable[[], Evidence]], Erratum]:
    """Return a decorator that turns a function returning `Evidence` into an `Erratum`.

    The docstring of the function is "Printed: .... Correct: ....". Parameters are those of
    `Erratum`.
    """

    def wrap(evidence: Callable[[], Evidence]) -> Erratum:
        text = " ".join((evidence.__doc__ or "").split())
        printed, correct = text.removeprefix("Printed: ").removesuffix(".").split(". Correct: ")
        return Erratum(
            number, line, severity, printed, correct, quantity, relation, evidence, method
        )

    return wrap


def demonstrates(relation: str, printed: float, corrected: float, truth: float) -> bool:
    """Return whether the printed value is wrong and the corrected one is right.

    relation: condition on both, given the true value; see `Erratum`.

    >>> [demonstrates("at most", printed, corrected=3.0, truth=2.0) for printed in (1.0, 2.5)]
    [True, False]
    """
    if relation == "tighter":
        return _satisfies("at most", corrected, truth) and corrected < printed
    return _satisfies(relation, corrected, truth) and not _satisfies(relation, printed, truth)


def _satisfies(relation: str, value: float, truth: float) -> bool:
    if relation == "equals":
        return math.isclose(value, truth, rel_tol=_RELATIVE_TOLERANCE)
    tolerance = 1e-12 * abs(truth)
    return value >= truth - tolerance if relation == "at most" else value <= truth + tolerance
