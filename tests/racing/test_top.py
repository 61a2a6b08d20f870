"""Top: naive twin."""

from hypothesis import given, settings
from hypothesis import strategies as st

from naive import race as naive
from race_cases import loss_tables, play_table
from tombola.racing.top import Top


@settings(max_examples=60, deadline=None)
@given(loss_tables(), st.sampled_from([0.05, 0.3, 0.9]), st.integers(1, 3))
def test_top_matches_naive(table: list[list[float]], level: float, m: int) -> None:
    k, N = len(table[0]), len(table)
    if m < k:
        assert play_table(Top(candidates=k, rows=N, population=N, level=level, top=m), table).active == naive.top(
            table, level, m
        )
