"""Source faults: seen by every reference, plain and compiled, and gone after the block."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from tombola import Pool, bounds, play
from tombola.bounds.frugal import _best_index_excess
from tombola.engine.compiler import compiled, interpreted
from tombola.errors import ParameterError
from tombola.learners import SuccessiveElimination
from tombola.paper.registry import CLAIMS
from tombola.paper.source_faults import SourceFault, _faulty_function, _function_of, injected

HALVING = SourceFault("bounds.classification:halving", "math.log2", "2 * math.log2")
EARLY_DROP = SourceFault("learners.bandit.counts:drop_inferior", "<= ceiling", "<= ceiling - 0.2")


def fail_with(fault: SourceFault) -> None:
    """Raise with a fault injected."""
    with injected(fault):
        raise ZeroDivisionError(bounds.halving(8))


def test_fault_ends_with_the_block_also_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError, match=r"6\.0"):
        fail_with(HALVING)
    assert bounds.halving(8) == 3


@pytest.mark.parametrize("mode", [interpreted, pytest.param(compiled, marks=pytest.mark.full)])
def test_kernels_see_the_fault(mode: Callable[[], AbstractContextManager[None]]) -> None:
    """The helper of a kernel drops too early; the same learner is sound again afterwards."""
    pool = Pool([[1.0, 0.0]] * 100)

    def actions() -> list[int]:
        return [
            int(action)
            for action in play(SuccessiveElimination(), pool, order="given", seed=0).actions
        ]

    with mode():
        sound = actions()
        with injected(EARLY_DROP):
            assert actions() != sound
        assert actions() == sound


def test_memoised_results_do_not_survive() -> None:
    before = _best_index_excess(100, 2, 1, 1.0)
    with injected(SourceFault("bounds.frugal:_excess", "math.exp(scale", "2 * math.exp(scale")):
        assert _best_index_excess(100, 2, 1, 1.0) != before
    assert _best_index_excess(100, 2, 1, 1.0) == before


def test_text_must_occur_once() -> None:
    for old, count in (("sqrt", 0), ("a", 20)):
        with pytest.raises(ParameterError, match="must occur exactly once") as error:
            _faulty_function(HALVING._replace(old=old))
        assert (count == 0) == ("got 0 times" in str(error.value))
    with pytest.raises(ParameterError, match="must name a function"):
        _function_of("bounds.common:ZETA_HALF")


@pytest.mark.parametrize("kind", CLAIMS, ids=lambda kind: kind.name)
def test_source_faults_of_claims_apply_to_the_source(kind: type) -> None:
    for fault in kind().source_faults().values():
        assert _faulty_function(fault).__code__ != _function_of(fault.function).__code__
