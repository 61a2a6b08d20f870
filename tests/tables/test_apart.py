"""Columns that stand apart by structure: blocks, candidates in rows, lone names, correlation."""

from pathlib import Path

import numpy as np
import pytest

from tombola.errors import QuestionError
from tombola.tables import read_table


def _csv(names: str, columns: object, ids: str = "item", labels: list[str] | None = None) -> str:
    values = np.asarray(columns)
    labels = labels or [f"r{row}" for row in range(len(values))]
    lines = [",".join([ids, *names.split()])]
    for label, row in zip(labels, values.tolist(), strict=True):
        lines.append(",".join([label, *map(str, row)]))
    return "\n".join(lines) + "\n"


def _shares(rng: np.random.Generator, rows: int, k: int) -> object:
    """Return shares of candidates that find the same rows hard."""
    hardness = rng.normal(size=(rows, 1))
    numbers = 0.5 - 0.15 * hardness + 0.1 * rng.normal(size=(rows, k))
    return np.clip(numbers, 0, 1).round(2)


@pytest.mark.parametrize(
    ("names", "doubtful"),
    [
        ("a1 a2 a1_t a2_t", "a1_t"),
        ("kurs1 kurs2 vor1 vor2", "vor1"),
        ("red blue pre_red pre_blue", "pre_red"),
        ("gpt claude gpt_ok claude_ok", "gpt_ok"),
        ("Bayern Dortmund Leipzig zuschauer", "zuschauer"),
        ("gpt-4o claude-3 gemini-2 mc", "mc"),
        ("modelA modelB modelC zeta", "zeta"),
        ("\u65b9\u6848\u4e00 \u65b9\u6848\u4e8c \u65b9\u6848\u4e09 \u661f\u7ea7", "\u661f\u7ea7"),
        ("lad glasgow ri diabetic2", "diabetic2"),
    ],
)
def test_name_apart_is_asked_about(names: str, doubtful: str, tmp_path: Path) -> None:
    numbers = np.random.default_rng(1).random((12, len(names.split()))).round(2)
    path = tmp_path / "t.csv"
    path.write_text(_csv(names, numbers), encoding="utf-8")
    with pytest.raises(QuestionError) as asked:
        read_table(path, kind="scores")
    assert doubtful in asked.value.columns
    for _, text in asked.value.answers:
        answer = eval(f"dict({text})")
        if "features" not in answer:
            assert read_table(path, kind="scores", **answer).pool.k >= 2


@pytest.mark.parametrize(
    "names",
    [
        "gpt claude gpt_cot claude_cot",
        "rater1 rater2 rater3",
        "default no_presolve aggressive",
        "m_small m_mid m_big",
        "lad vf2 glasgow ri",
        "gpt-4 gpt-4-mini claude-3",
    ],
)
def test_names_of_candidates_are_certain(names: str, tmp_path: Path) -> None:
    numbers = np.random.default_rng(1).random((12, len(names.split()))).round(2)
    path = tmp_path / "t.csv"
    path.write_text(_csv(names, numbers), encoding="utf-8")
    assert read_table(path, kind="scores").pool.actions == tuple(names.split())


def test_few_rows_with_words_may_be_candidates(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    numbers = np.random.default_rng(2).random((4, 3)).round(2)
    path.write_text(_csv("ort1 ort2 ort3", numbers, "Sorte", ["Alba", "Bella", "Cora", "Dora"]))
    with pytest.raises(QuestionError, match="candidates were in the rows") as asked:
        read_table(path, kind="scores")
    answers = [eval(f"dict({text})") for _, text in asked.value.answers]
    assert read_table(path, kind="scores", **answers[0]).pool.k == 4
    path.write_text(_csv("ort1 ort2 ort3", numbers, "Sorte", ["s1", "s2", "s3", "s4"]))
    assert read_table(path, kind="scores").pool.k == 3


def test_correlation_tells_an_unknown_name(tmp_path: Path) -> None:
    """Fixed seed: the column without correlation is asked about, a third candidate is not."""
    rng = np.random.default_rng(3)
    shares = np.asarray(_shares(rng, 40, 3))
    path = tmp_path / "t.csv"
    path.write_text(_csv("wug dax fep", shares))
    assert read_table(path, kind="scores").pool.k == 3
    shares[:, 2] = rng.permutation(shares[:, 2])
    path.write_text(_csv("wug dax fep", shares))
    with pytest.raises(QuestionError, match="correlation") as asked:
        read_table(path, kind="scores")
    assert asked.value.columns == ("fep",)


def test_smooth_numbers_are_asked_about(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    values = rng.random((60, 3)).round(2)
    values[:, 2] = (0.5 + 0.4 * np.sin(np.arange(60) / 6)).round(2)
    path = tmp_path / "t.csv"
    path.write_text(_csv("wug dax fep", values))
    with pytest.raises(QuestionError, match="near to the one before") as asked:
        read_table(path, kind="scores")
    assert asked.value.columns == ("fep",)


@pytest.mark.parametrize(
    ("names", "doubtful"),
    [
        ("farmaco_x farmaco_y placebo cronico", ["cronico"]),
        ("drug1 drug2 zalto febis", ["zalto", "febis"]),
        ("clip siglip blip nsf", ["nsf"]),
        ("kaldi espnet wug accent_uk", ["accent_uk"]),
    ],
)
def test_outsiders_are_asked_about(names: str, doubtful: list[str], tmp_path: Path) -> None:
    numbers = np.random.default_rng(5).random((14, len(names.split()))).round(2)
    path = tmp_path / "t.csv"
    path.write_text(_csv(names, numbers))
    with pytest.raises(QuestionError) as asked:
        read_table(path, kind="scores")
    assert {*doubtful} <= {*asked.value.columns}


def test_candidates_that_nothing_confirms_are_noted(tmp_path: Path) -> None:
    """Unknown names without correlation are read with a note; stated ones, or known names, without."""
    path = tmp_path / "t.csv"
    path.write_text(_csv("wug dax fep", np.random.default_rng(6).random((30, 3)).round(2)))
    noted = read_table(path, kind="scores")
    assert any("state them: actions" in note for note in noted.notes)
    stated = read_table(path, kind="scores", actions=["wug", "dax", "fep"])
    assert not any("state them" in note for note in stated.notes)
    path.write_text(_csv("wug dax fep", _shares(np.random.default_rng(6), 30, 3)))
    assert not any("state them" in note for note in read_table(path, kind="scores").notes)
