"""An identical version on every shared table: passed from 149 rows on, and undecided below."""

import numpy as np
import pytest

from pools import REAL, SHARED
from tombola import gate

NO_POOLS = "the shared tables do not lie beside this copy of the project"


@pytest.mark.full
@pytest.mark.skipif(not REAL, reason=NO_POOLS)
@pytest.mark.parametrize("name", REAL or ["none"])
def test_an_identical_version_passes_from_149_rows_on(name: str) -> None:
    with np.load(SHARED / f"{name}.npz", allow_pickle=True) as data:
        column = np.asarray(data["loss"], float)[:, 0]
    if len(column) < 149:
        pytest.skip(f"{name} has {len(column)} rows")
    for rows, tag in ((149, "PASSED"), (148, "UNDECIDED"), (len(column[:400]), "PASSED")):
        result = gate(column[:rows], column[:rows], within=0.02, kind="losses")
        assert result.tag == tag
        if tag == "UNDECIDED":
            assert result.comparisons[0].rows_needed == 149
