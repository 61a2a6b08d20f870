"""Conversion of tables to pools."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tombola.errors import TableError
from tombola.readers import read_pool as read_any_pool

Write = Callable[..., Path]
read_pool = partial(read_any_pool, kind="losses")


def test_rescale_maps_extremes_to_0_and_1(write: Write) -> None:
    path = write("a,b\n-10,30\n10,0\n")
    assert read_pool(path, rescale=True).losses.tolist() == [[0.0, 1.0], [0.5, 0.25]]
    with pytest.raises(TableError, match="got numbers from -10 to 30; write the smallest"):
        read_pool(path)
    assert read_pool(write("a,b\n7,7\n7,7\n"), rescale=True).losses.tolist() == [[0.0, 0.0], [0.0, 0.0]]
