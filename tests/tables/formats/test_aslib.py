"""ASlib folders: the loss is the run time in units of the cutoff, and 1 for what did not succeed."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tombola.errors import TableError
from tombola.tables import read_table

DESCRIPTION = """scenario_id: TEST
performance_measures:
- runtime
maximize:
    - false
performance_type:
- runtime
algorithm_cutoff_time: 100
"""
RUNS = """% a comment
@RELATION ALGORITHM_RUNS
@ATTRIBUTE instance_id STRING
@ATTRIBUTE repetition NUMERIC
@ATTRIBUTE algorithm STRING
@attribute 'runtime' numeric
@ATTRIBUTE runstatus {ok, timeout, crash}

@DATA
one,1,quick,25,ok
one,1,slow,50,ok
'two, too',1,quick,3,crash
'two, too', 1, slow, 250, ok
three,1,quick,100,timeout
three,1,slow,10,ok
three,2,slow,30,ok
"""
Scenario = Callable[[str, str], Path]


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    def make(description: str, runs: str) -> Path:
        (tmp_path / "description.txt").write_text(description)
        (tmp_path / "algorithm_runs.arff").write_text(runs)
        return tmp_path

    return make


def test_run_times_are_par1_losses(scenario: Scenario) -> None:
    table = read_table(scenario(DESCRIPTION, RUNS))
    assert table.pool.actions == ("quick", "slow")
    assert table.pool.ids == ("one", "two, too", "three")
    assert table.pool.losses.tolist() == [[0.25, 0.5], [1.0, 1.0], [1.0, 0.2]]
    assert table.pool.costs is None
    assert (
        "loss = run time / cutoff (100), and 1 for a run that did not succeed (PAR1)" in table.notes
    )


def test_quality_is_unchanged(scenario: Scenario) -> None:
    description = DESCRIPTION.replace("- runtime", "- quality", 1).replace(
        "type:\n- runtime", "type: solution_quality"
    )
    runs = RUNS.replace("'runtime'", "quality")
    folder = scenario(description.replace("- false", "- true"), runs)
    assert read_table(folder, range=(0, 250)).pool.losses[0].tolist() == [0.9, 0.8]
    folder = scenario(description, runs)
    assert read_table(folder, range=(0, 250)).pool.losses[0].tolist() == [0.1, 0.2]


def test_missing_run_is_missing_cell(scenario: Scenario) -> None:
    folder = scenario(DESCRIPTION, RUNS.replace("one,1,slow,50,ok\n", ""))
    with pytest.raises(TableError, match="row 'one', action 'slow', got none"):
        read_table(folder)
    assert read_table(folder, missing="worst").pool.losses[0].tolist() == [0.25, 1.0]


def test_features_are_matched_by_instance(scenario: Scenario) -> None:
    folder = scenario(DESCRIPTION, RUNS)
    names = "".join(
        f"@attribute {name} numeric\n" for name in ("instance_id", "repetition", "clauses", "ratio")
    )
    (folder / "feature_values.arff").write_text(f"{names}@data\nthree,1,20,?\none,1,10,0.5\n")
    table = read_table(folder, features=["*"])
    assert table.pool.feature_names == ("clauses", "ratio")
    np.testing.assert_array_equal(
        np.asarray(table.pool.features), [[10.0, 0.5], [np.nan, np.nan], [20.0, np.nan]]
    )
    assert "1 of 3 instances have no features" in table.notes


@pytest.mark.parametrize(
    ("description", "runs", "says"),
    [
        (DESCRIPTION.replace("100", "'?'"), RUNS, "algorithm_cutoff_time"),
        ("", RUNS, "algorithm_cutoff_time"),
        (DESCRIPTION, "", "got 0 attributes and 0 runs"),
        (DESCRIPTION, RUNS + "four,1,quick\n", "got 3 in line 17"),
        (DESCRIPTION, RUNS.replace("algorithm STRING", "solver STRING"), "called 'algorithm'"),
        (DESCRIPTION, RUNS.replace("runstatus", "ending"), "called 'runstatus'"),
        (DESCRIPTION, RUNS.replace("one,1,quick,25", "one,1,quick,soon"), "got 'soon'"),
        (DESCRIPTION, RUNS.replace("repetition", "algorithm"), "'algorithm' twice"),
        (DESCRIPTION, RUNS.replace("one,1,quick", "x" * 200_000 + ",1,quick"), "field"),
    ],
)
def test_bad_scenario_is_rejected(
    description: str,
    runs: str,
    says: str,
    scenario: Scenario,
    one_sentence: Callable[[object], str],
) -> None:
    with pytest.raises(TableError) as caught:
        read_table(scenario(description, runs))
    assert says in one_sentence(caught.value)
