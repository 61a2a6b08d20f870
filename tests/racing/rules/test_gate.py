"""Gate: naive twin and threshold."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import race as naive
from race_cases import MARGINS, loss_tables, play_table
from tombola.racing.rules.gate import Gate, _decide


@settings(max_examples=60, deadline=None)
@given(loss_tables(), st.sampled_from([0.05, 0.3, 0.9]), st.one_of(st.just(0.0), MARGINS))
@pytest.mark.usefixtures("short_work")
def test_gate_matches_naive(table: list[list[float]], level: float, margin: float) -> None:
    k, N = len(table[0]), len(table)
    if k > 1:
        rule = Gate(candidates=k, rows=N, population=N, level=level, baseline=1, margin=margin)
        assert play_table(rule, table).decisions == naive.gate(table, level, 1, margin)


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("d", [1.0, -1.0])
def test_gate_decides_at_threshold(d: float) -> None:
    """A wealth equal to the threshold decides (Ville's inequality is for reaching it)."""
    rule = Gate(candidates=2, rows=1000, population=1000, level=1e-6, baseline=0, margin=0.0)
    _decide(rule.state, 1, 0, d)
    assert rule.state.decision[1] == 0.0
    again = Gate(candidates=2, rows=1000, population=1000, level=1e-6, baseline=0, margin=0.0)
    reached = float(rule.state.current_wealth[1])
    _decide(again.state._replace(threshold=reached, worse_threshold=reached), 1, 0, d)
    assert again.state.decision[1] == d
