"""Assertions for test suites: a new version is not worse than an old one."""

from typing import Any

from tombola.gating import GateResult, gate


def assert_not_worse(
    old: Any,
    new: Any,
    *,
    within: float | dict[str, float],
    undecided: str = "pass",
    **options: Any,
) -> GateResult:
    """Assert that a new version is not worse than an old one, and return the result.

    old, new: scores as `gate` takes them: files, folders, frames, mappings or arrays.
    within: the allowed loss in the unit of the scores, or one for each metric.
    undecided: "pass" accepts scores that do not settle the question, "fail" does not. The result
        says which it was.
    options: further options of `gate`.

    AssertionError, with the text of the result, if the new version is proved to be worse.

    >>> result = assert_not_worse([1, 1, 0] * 60, [1, 1, 0] * 60, within=0.02, kind="scores")
    >>> result.tag
    'PASSED'
    """
    result = gate(old, new, within=within, **options)
    if undecided not in ("pass", "fail"):
        raise ValueError(
            f"assert_not_worse: expected undecided='pass' or 'fail', got {undecided!r}; write one."
        )
    if result.passed is False or (result.passed is None and undecided == "fail"):
        raise AssertionError(f"\n{result}")
    return result
