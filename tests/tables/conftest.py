"""Fixtures of the tests of readers."""

from collections.abc import Callable
from typing import Any

import pytest

from tombola.errors import TombolaError
from tombola.tables import read_table


@pytest.fixture
def refused(one_sentence: Callable[[object], str]) -> Callable[..., str]:
    """Return a function that reads a table, which must be rejected, and returns the sentence."""

    def refused(source: Any, **options: Any) -> str:
        with pytest.raises(TombolaError) as caught:
            read_table(source, **{"kind": "losses", **options})
        return one_sentence(caught.value)

    return refused
