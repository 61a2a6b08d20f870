"""Plans of tables in files."""

from pathlib import Path

import numpy as np

from tombola import Pool
from tombola.racing import plan
from tombola.racing.table_plan import plan_table


def test_plan_table_simulates_the_races_of_plan(tmp_path: Path) -> None:
    losses = np.round(np.random.default_rng(0).random((60, 2)) * [3.0, 10.0], 3)
    path = tmp_path / "table.csv"
    lines = [f"{row},{a},{b}" for row, (a, b) in enumerate(losses.tolist())]
    path.write_text("\n".join(["id,a,b", *lines]) + "\n")
    options = {"kind": "losses", "range": (0.0, 10.0)}
    result = plan_table(path, options, seed=1, within=0.5, shuffles=5)
    pool = Pool(losses / 10.0, actions=["a", "b"])
    # The tolerance is in the unit of the table: 0.5 of 10.
    [expected] = plan(pool, seed=1, within=0.05, shuffles=5)
    assert result.plans[0].outcomes == expected.outcomes
    assert result.to_json()["races"] == [expected.to_json()]
    assert f"answer at level 0.05: {expected.answers[0][0][0]}" in str(result)
    assert "<table" in result._repr_html_()
