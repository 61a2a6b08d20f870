"""Names of versions, and of the groups of several metrics."""

from pathlib import Path

import pytest

from tombola import gate
from tombola.errors import ParameterError
from tombola.gating.versions import version_names

FIRST = "2026-01-01T08-00-00-00-00_qa_KfX.eval"
SECOND = "2026-01-01T09-00-00-00-00_qa_ZsB.eval"


@pytest.mark.parametrize(
    ("sources", "names"),
    [
        (["old.csv", "new.csv"], ["old", "new"]),
        ([f"old/{FIRST}", f"new/{SECOND}"], ["old", "new"]),
        ([f"logs/{FIRST}", f"logs/{SECOND}"], ["2026-01-01T08-00-00", "2026-01-01T09-00-00"]),
        ([f"logs/{FIRST}", f"logs/{FIRST.replace('KfX', 'Aa')}"], [FIRST[:-5], FIRST[:-8] + "Aa"]),
        (
            [
                "a/samples_t_2026-01-01T08-00-00.1.jsonl",
                "b/samples_t_2026-01-01T09-00-00.1.jsonl",
            ],
            ["a", "b"],
        ),
        ([f"logs/{FIRST}", "logs/new.eval"], [FIRST[:-5], "new"]),
    ],
)
def test_a_time_is_a_name_only_where_the_folder_is_none(
    sources: list[str], names: list[str]
) -> None:
    assert version_names(sources) == names


def test_groups_of_several_metrics_are_told_apart(tmp_path: Path) -> None:
    for name in ("old", "new"):
        rows = [f"q{i},{i % 2},{i % 3 % 2},{'xy'[i % 2]}" for i in range(40)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,acc,fmt,topic", *rows]) + "\n")
    files = [str(tmp_path / f"{name}.csv") for name in ("old", "new")]
    text = str(gate(*files, within=0.5, metric=["acc", "fmt"], kind="scores", by="topic"))
    assert [line.split("  ")[1] for line in text.splitlines() if line.startswith("  ")][:4] == [
        "acc, x",
        "acc, y",
        "fmt, x",
        "fmt, y",
    ]


def write(path: Path, header: str, rows: list[str]) -> str:
    path.write_text("\n".join([header, *rows]) + "\n")
    return str(path)


def test_rows_without_ids_are_matched_by_a_column_of_texts(tmp_path: Path) -> None:
    """The order of the rows does not matter where the files agree on a text for each row."""
    rows = [f"what is {i}?,{int(i % 3 == 0)}" for i in range(60)]
    old = write(tmp_path / "old.csv", "input,passed", rows)
    new = write(tmp_path / "new.csv", "input,passed", rows[::-1])
    result = gate(old, new, within=0.1)
    assert result.comparisons[0].n_same == 60
    assert "rows are matched by input" in str(result)
    # One row is missing: it is listed, where rows matched by place would be refused.
    fewer = gate(old, write(tmp_path / "fewer.csv", "input,passed", rows[:0:-1]), within=0.1)
    assert fewer.only_old == {"fewer": ("what is 0?",)}
    other = [f"answer {i},{int(i % 3 == 0)}" for i in range(60)]
    result = gate(old, write(tmp_path / "other.csv", "input,passed", other), within=0.1)
    assert "rows are paired by their place" in str(result)


def test_two_columns_that_match_rows_differently_are_asked_about(tmp_path: Path) -> None:
    names = [f"q{i}" for i in range(9)]
    old = [f"{name},u{i},1" for i, name in enumerate(names)]
    new = [f"{name},u{(i + 1) % 9},1" for i, name in enumerate(names)]
    paths = [
        write(tmp_path / f"{name}.csv", "input,link,passed", rows)
        for name, rows in (("old", old), ("new", new))
    ]
    with pytest.raises(ParameterError, match="input and link, which match them in different ways"):
        gate(*paths, within=0.1)
    assert gate(*paths, within=0.5, ids="link").comparisons[0].rows == 9
    same = write(tmp_path / "same.csv", "input,link,passed", old[::-1])
    assert gate(paths[0], same, within=0.5).comparisons[0].rows == 9
