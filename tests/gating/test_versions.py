"""Names of versions, and of the groups of several metrics."""

from pathlib import Path

import pytest

from tombola import gate
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
