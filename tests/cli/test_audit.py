"""audit of statements, the best column and the order: files, streams, JSON, pages, bad input."""

import io
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import tombola
from tombola._formatting import cli_style
from tombola.cli.app import app
from tombola.errors import TableError, TombolaError
from tombola.evidence import RandomOrderTest
from tombola.evidence.rows import RowSource
from tombola.statements import Reading


def run(*arguments: Any, text: str | None = None) -> tuple[int, str]:
    """Run a command; an error of tombola is exit status 2 and its message, as in `main`."""
    words = [str(argument) for argument in arguments]
    if "--best" in words and "--scores" not in words:
        # The names of these tables do not state the direction.
        words.append("--losses")
    with cli_style(["tombola", *words]):
        found = CliRunner().invoke(app, words, input=text)
    if isinstance(found.exception, TombolaError):
        return 2, str(found.exception)
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found.exit_code, found.output


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A list of 600 rows: two models that err together, and a bad one."""
    generator = np.random.default_rng(0)
    hard = generator.random(600)
    path = tmp_path_factory.mktemp("evidence") / "models.csv"
    lines = ["id,good,fair,bad"]
    lines += [f"q{i},{int(h < 0.2)},{int(h < 0.3)},{int(h < 0.8)}" for i, h in enumerate(hard)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_certify_writes_page_and_exits_0_or_3(table: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    best = ("audit", table, "--best", "--candidates", "good,fair,bad")
    status, text = run(*best, "--within", 0.05, "--out", page)
    assert status == 0
    assert "\ngood is within 0.0" in text
    assert "on the values recorded here for these 600 rows" in " ".join(text.split())
    html = page.read_text()
    assert "<svg" in html
    assert "https:" not in html.replace("https://www.w3.org", "")
    status, text = run(*best, "--within", 0.001, "--rows", 100_000, "--level", 1e-12, "--json")
    facts = json.loads(text)
    assert (status, facts["outcome"], facts["best"], facts["rows"]) == (3, "undecided", "good", 600)


def written_as(form: str, folder: Path) -> str:
    """Write 90 rows of two columns in a format, and return the argument that names the table."""
    names, rows = ["id", "früh", "spät"], [(f"q{i}", (i % 9) / 10, 0.95) for i in range(90)]
    path = folder / f"t.{form.partition(' ')[0]}"
    match form:
        case "xlsx":
            book = import_module("openpyxl").Workbook()
            for row in [names, *rows]:
                book.worksheets[0].append(row)
            book.create_sheet("other")
            book.save(path)
            return f"{path}::Sheet"
        case "jsonl":
            path.write_text(
                "\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows)
            )
        case _:
            text = (
                "\n".join(
                    [";".join(names), *(";".join(map(str, row)).replace(".", ",") for row in rows)]
                )
                + "\n"
            )
            path.write_text(text, encoding=form.split()[-1])
    return str(path)


@pytest.mark.parametrize("form", ["xlsx", "jsonl", "csv cp1252", "csv utf-16"])
def test_evidence_reads_every_format_that_describe_reads(form: str, tmp_path: Path) -> None:
    argument = written_as(form, tmp_path)
    status, text = run("audit", argument, "--best", "--json")
    assert (status, json.loads(text)["best"], len(json.loads(text)["actions"])) == (0, "früh", 2)
    status, text = run("audit", argument, "mean(spät) > 0.9", "--json")
    assert (status, json.loads(text)["results"][0]["outcome"]) == (0, "proved")
    status, text = run("audit", argument, "--order", "--json")
    assert (status, json.loads(text)["columns"]) == (1, ["früh", "spät"]), (
        "the rows repeat every nine"
    )
    one = tmp_path / "one.csv"
    one.write_text("id,new_loss\n" + "".join(f"q{i},{(i % 9) / 10}\n" for i in range(90)))
    assert (
        json.loads(
            run(
                "audit", one, "--mean", "new_loss", "--history", argument, "--within", 0.2, "--json"
            )[1]
        )["history_columns"]
        == 2
    )


def test_history_takes_fewer_rows(tmp_path: Path) -> None:
    """`certify` and `audit` with numbers known of every row; rows are matched by id."""
    rng = np.random.default_rng(5)
    hard = rng.random((300, 1)) < 0.5
    answers = np.where(rng.random((300, 4)) < 0.05, ~hard, hard).astype(float)
    past, losses = answers[:, 1:], answers[:, 0]
    ids = [f"r{row}" for row in range(300)]
    new, old = tmp_path / "new.csv", tmp_path / "old.csv"
    new.write_text(
        "id,loss\n" + "\n".join(f"{ids[row]},{losses[row]}" for row in rng.permutation(300))
    )
    old.write_text(
        "id,a,b,c\n"
        + "\n".join(f"{name},{a},{b},{c}" for name, (a, b, c) in zip(ids, past, strict=True))
    )
    status, text = run("audit", new, "--mean", "loss", "--within", 0.05, "--history", old, "--json")
    facts = json.loads(text)
    assert (status, facts["outcome"], facts["population"]) == (0, "proved", 300)
    assert facts["low"] <= losses.mean() <= facts["high"]
    assert facts["high"] - facts["low"] <= 0.1
    assert facts["rows"] < 200
    statement = f"mean(loss) > {losses.mean() - 0.08}"
    rows = [
        json.loads(run("audit", new, statement, "--json", *more)[1])["results"][0]["rows"]
        for more in ((), ("--history", old))
    ]
    assert rows[1] < rows[0]
    old.write_text("id,a\nr0,0.5\n")
    assert "add it to the history" in run("audit", new, "--mean", "loss", "--history", old)[1]


def test_certify_reads_standard_input(table: Path) -> None:
    text = table.read_text()
    status, said = run("audit", "-", "--best", "--rows", 600, "--within", 0.05, "--json", text=text)
    assert status == 0
    assert json.loads(said)["rows"] < 200
    assert run("audit", "-", "--best", text=text) == (2, run("audit", "-", "--best", text=text)[1])
    assert "--rows 5000" in run("audit", "-", "--best", text=text)[1]


BAD_LINES = {
    "no number": ("q40,0,none,1\n", "got 'none'"),
    "too large": ("q40,0,7,1\n", "got '7'"),
    "a cell too few": ("q40,0,1\n", "expected 4 columns as in the header, got 3 in line 42"),
}


@pytest.mark.parametrize("follow", [["--follow"], []], ids=["followed", "read once"])
@pytest.mark.parametrize("kind", BAD_LINES)
def test_certify_prints_result_before_invalid_line(
    kind: str, follow: list[str], table: Path, tmp_path: Path
) -> None:
    line, sentence = BAD_LINES[kind]
    good = "".join(table.read_text().splitlines(keepends=True)[:41])
    path = tmp_path / "growing.csv"
    path.write_text(good + line)
    best = ["audit", str(path), "--best", "--candidates", "good,fair,bad", "--losses"]
    sample = ["--rows", "1000", "--within", "0.001"]
    ended = CliRunner().invoke(app, [*best, *follow, *sample])
    assert isinstance(ended.exception, TableError)
    assert sentence in str(ended.exception)
    path.write_text(good)
    assert ended.output == CliRunner().invoke(app, [*best, *sample]).output
    assert ended.output.startswith("Read as losses: lower is better. Candidates: ")
    assert "\nUndecided: good is within " in ended.output


def test_certify_ignores_lines_after_proof(tmp_path: Path) -> None:
    path = tmp_path / "growing.csv"
    path.write_text("a,b\n" + "0,1\n" * 300 + "x,1\n")
    status, said = run("audit", path, "--best", "--follow", "--rows", 1000, "--within", 0.2)
    assert status == 0
    assert "\na is within " in said
    path.write_text("a,b\nx,1\n")
    ended = CliRunner().invoke(
        app, ["audit", str(path), "--best", "--losses", "--follow", "--rows", "1000"]
    )
    assert isinstance(ended.exception, TableError)
    assert ended.output == ""


def test_check_order_names_column_and_row(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    path, page = tmp_path / "list.csv", tmp_path / "page.html"
    drift = np.arange(800) / 800 + generator.random(800)
    path.write_text(
        "name,noise,drift\n"
        + "".join(f"r{i},{generator.random()},{drift[i]}\n" for i in range(800))
    )
    status, text = run("audit", path, "--order", "--out", page, "--json")
    facts = json.loads(text)
    assert (status, facts["random"], facts["column"], facts["ignored"]) == (
        1,
        False,
        "drift",
        ["name"],
    )
    assert 0 < facts["row"] < 800
    assert "<svg" in page.read_text()
    status, text = run("audit", path, "--order", "--columns", "noise")
    assert status == 0
    words = " ".join(text.split())
    assert words.startswith(
        "Undecided: nothing is proved about the order of the rows on the values"
    )
    assert "The test saw nothing. Shuffle the list to be sure." in words


def test_check_order_ignores_row_numbers(tmp_path: Path) -> None:
    """Ids assigned after a shuffle are sorted; --columns tests them all the same."""
    path, rng = tmp_path / "list.csv", np.random.default_rng(0).random(300)
    path.write_text("id,a\n" + "".join(f"{i + 1},{x}\n" for i, x in enumerate(rng)))
    status, text = run("audit", path, "--order")
    assert status == 0
    assert "300 rows; columns: a\n" in text
    assert "ignored columns: id (row numbers)" in text
    assert run("audit", path, "--order", "--columns", "id")[0] == 1
    path.write_text("a\n" + "".join(f"{i}\n" for i in range(300)))
    assert run("audit", path, "--order")[0] == 1


def test_check_order_permutation_alarm(tmp_path: Path) -> None:
    path = tmp_path / "step.csv"
    coin = np.random.default_rng(2).random(2000) < np.where(np.arange(2000) < 1000, 0.3, 0.38)
    path.write_text("a\n" + "".join(f"{int(x)}\n" for x in coin))
    assert not RandomOrderTest(level=0.005, seed=1).extend(coin.astype(float))
    status, text = run("audit", path, "--order")
    assert status == 1
    assert "Column a differs from its shuffles (p-value" in " ".join(text.split())


def test_order_test_with_undivided_level_is_detected() -> None:
    """Eight columns in random order, 300 times at level .2: together rarely, one by one too often."""
    generator, together, apart = np.random.default_rng(0), 0, 0
    for seed in range(300):
        rows = generator.random((1000, 8))
        together += RandomOrderTest(8, 0.2, seed=seed).extend(rows)
        apart += any(
            RandomOrderTest(1, 0.2, seed=8 * seed + j).extend(rows[:, j]) for j in range(8)
        )
    assert together / 300 <= 0.2 + 0.13 < apart / 300


def test_audit_outcomes_and_exit_codes(table: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    statements = ["mean(bad) > 0.6", "share(good = 0) >= 0.7", "|mean(good) - mean(fair)| <= 0.3"]
    status, text = run("audit", table, *statements, "--out", page)
    assert status == 0
    assert text.count("proved") == 3
    assert "mean(bad) &gt; 0.6 holds, share(good = 0) &gt;= 0.7 holds, |mean" in page.read_text()
    assert page.read_text().count("<svg") == 3
    status, text = run("audit", table, "mean(bad) < 0.6", "--json")
    assert (status, json.loads(text)["results"][0]["outcome"]) == (1, "refuted")
    status, text = run("audit", table, "mean(bad) > 0.79", "--rows", 50_000, "--json")
    result = json.loads(text)["results"][0]
    assert (status, result["outcome"], result["rows"]) == (3, "undecided", 600)
    assert result["expected_rows"] >= 600


def test_audit_expected_rows_uses_deviation(tmp_path: Path) -> None:
    """Scores with mean .8 and deviation .1: 60 rows are not enough; the forecast is right within a factor of 3."""
    generator, path = np.random.default_rng(3), tmp_path / "scores.csv"
    lines = [
        "score",
        *(str(x) for _ in range(200) for x in generator.permutation(np.repeat([0.7, 0.9], 10))),
    ]
    guess, taken = None, 0
    for rows in (60, 4000):
        path.write_text("\n".join(lines[: rows + 1]) + "\n")
        found = json.loads(run("audit", path, "mean(score) > 0.785", "--rows", 4000, "--json")[1])[
            "results"
        ][0]
        guess, taken = guess or found["expected_rows"], found["rows"]
    assert found["outcome"] == "proved"
    assert guess is not None
    assert taken / 3 < guess < 3 * taken


def test_audit_strata_in_table_units(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("region,score\n" + "north,80\nsouth,90\n" * 100)
    options = ["mean(score) > 60", "--strata", "region", "--range", "0,100", "--sizes"]
    status, text = run("audit", path, *options, "north=500,south=700", "--json")
    result = json.loads(text)["results"][0]
    assert (status, result["outcome"]) == (0, "proved")
    assert result["mean"] == pytest.approx((500 * 80 + 700 * 90) / 1200)
    assert run("audit", path, *options, "north=500")[1].endswith(
        "line 3: expected a stratum of north, got 'south'; add its size to --sizes."
    )


def test_audit_statements_in_table_units(tmp_path: Path) -> None:
    """Against the means of the whole list. Ids are outside of the range, which applies to means only."""
    generator, path = np.random.default_rng(5), tmp_path / "people.csv"
    age, fee = generator.integers(31, 91, 300), generator.integers(20, 70, 300)
    path.write_text(
        "id,age,fee\n" + "".join(f"{i + 1000},{a},{f}\n" for i, (a, f) in enumerate(zip(age, fee)))  # noqa: B905
    )
    truths = {
        "share(age > 30) >= 0.5": True,
        "share(age > 60) >= 0.9": False,
        "share(id >= 1000) >= 1": True,
        "mean(age) > 50": age.mean() > 50,
        "mean(age) <= 50": age.mean() <= 50,
        "mean(fee) < 60": fee.mean() < 60,
        "|mean(age) - mean(fee)| <= 40": abs(age.mean() - fee.mean()) <= 40,
        "|mean(age) - mean(fee)| <= 5": abs(age.mean() - fee.mean()) <= 5,
    }
    page = tmp_path / "page.html"
    _, text = run("audit", path, *truths, "--range", "0,100", "--json", "--out", page)
    results = {one["statement"]: one for one in json.loads(text)["results"]}
    assert {words: one["outcome"] == "proved" for words, one in results.items()} == truths
    assert results["mean(age) > 50"]["mean"] == pytest.approx(age.mean(), abs=5)
    assert results["|mean(age) - mean(fee)| <= 5"]["mean"] == pytest.approx(
        age.mean() - fee.mean(), abs=8
    )
    assert results["mean(age) > 50"]["deviation"] == pytest.approx(age.std(), abs=5)
    assert "threshold 50" in page.read_text()


@pytest.mark.parametrize("scores", [False, True])
def test_certify_in_table_units(scores: bool, tmp_path: Path) -> None:
    generator, path = np.random.default_rng(6), tmp_path / "points.csv"
    points = generator.integers([10, 40], [60, 90], (300, 2))
    path.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in points))
    shares = tmp_path / "shares.csv"
    shares.write_text("a,b\n" + "".join(f"{a / 100},{b / 100}\n" for a, b in points))
    more = ["--json", *(["--scores"] if scores else [])]
    page = tmp_path / "page.html"
    facts = json.loads(
        run("audit", path, "--best", "--range", "0,100", "--within", 5, "--out", page, *more)[1]
    )
    plain = json.loads(run("audit", shares, "--best", "--within", 0.05, *more)[1])
    assert (
        (facts["rows"], facts["best"])
        == (plain["rows"], plain["best"])
        == (facts["rows"], "ba"[not scores])
    )
    assert facts["within"] == pytest.approx(100 * plain["within"])
    assert 0 < facts["within"] <= 5
    for one, other, truth in zip(  # noqa: B905
        facts["actions"], plain["actions"], sorted(points.mean(0), reverse=scores)
    ):
        assert one["low"] <= truth <= one["high"]
        assert [one[key] for key in ("mean", "low", "high")] == pytest.approx(
            [100 * other[key] for key in ("mean", "low", "high")]
        )
    assert (
        facts["target"]
        == f"the {'largest mean' if scores else 'least mean loss'} over all 300 rows"
    )
    assert "requested: 5" in page.read_text()


def test_audit_prints_result_before_invalid_line(tmp_path: Path) -> None:
    path, good = (
        tmp_path / "bad.csv",
        [f"{x:.3f}" for x in np.random.default_rng(7).uniform(0.5, 0.9, 60)],
    )
    path.write_text("\n".join(["score", *good, "7", *good]) + "\n")
    found = CliRunner().invoke(
        app, ["audit", str(path), "mean(score) > 0.69", "--rows", "500", "--json"]
    )
    result = json.loads(found.output)["results"][0]
    assert (result["outcome"], result["rows"]) == ("undecided", 60)
    assert isinstance(found.exception, TableError)
    assert "line 62" in str(found.exception)
    assert run("audit", path, "mean(score) > 0.1", "--rows", 500)[0] == 0, "proved before"
    # A whole list is read completely, because it is shuffled first.
    assert "line 62" in run("audit", path, "mean(score) > 0.1")[1]


def test_sorted_rows_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "sorted.csv"
    path.write_text("a,b\n" + "".join(f"{i / 500},{i / 500}\n" for i in range(500)))
    for command in (
        ("audit", path, "--best", "--within", 0.05, "--level", 1e-9),
        ("audit", path, "mean(a) > 0.01", "share(a < 2) >= 1"),
    ):
        status, text = run(*command, "--rows", 5000)
        assert status == 2
        assert "expected rows in random order" in text
    assert run("audit", path, "mean(a) > 0.4")[0] == 0  # the whole list is shuffled first


@pytest.mark.parametrize("command", ["--best", "--order", "mean(a) > 0.5"])
def test_page_never_overwrites_table(command: str, tmp_path: Path) -> None:
    table = tmp_path / "table.html"
    table.write_text("a,b\n0,1\n1,1\n")
    for out in (table, tmp_path / "page.txt", tmp_path / "none" / "page.html"):
        status, said = run("audit", table, command, "--out", out)
        assert status == 2, out
        assert "--out" in said
    assert table.read_text() == "a,b\n0,1\n1,1\n"


def test_certify_never_guesses_the_direction(tmp_path: Path) -> None:
    """A table of right answers without a telling name is refused; its best column is the one with the largest mean."""
    path, named = tmp_path / "table.csv", tmp_path / "accuracy.csv"
    path.write_text("good,poor\n" + "1,0\n" * 60)
    named.write_text("good_accuracy,poor_accuracy\n" + "1,0\n" * 60)
    refused = CliRunner().invoke(app, ["audit", str(path), "--best"]).exception
    assert isinstance(refused, TableError)
    assert "can be either" in str(refused)
    for asked in (["audit", str(path), "--best", "--scores"], ["audit", str(named), "--best"]):
        best = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)["best"]
        assert best.startswith("good")


def test_list_larger_than_given_size_is_rejected(table: Path) -> None:
    """A size that is too small would turn probabilities into certainties."""
    best = ("audit", table, "--best", "--candidates", "good,fair,bad")
    for command in (best, ("audit", table, "mean(bad) > 0.1")):
        status, said = run(*command, "--rows", 300)
        assert status == 2
        assert "expected at most 300 rows" in said
        assert "got 600" in said


def test_check_order_names_invalid_cells(tmp_path: Path) -> None:
    path = tmp_path / "mixed.csv"
    path.write_text("id,score,grade\n1,0.5,pass\n2,x,pass\n\n3,inf,fail\n")
    status, said = run("audit", path, "--order")
    assert status == 2
    assert (
        "got id (row numbers), score (line 3 has 'x'), grade (line 2 has 'pass'); repair a cell"
        in said
    )
    path.write_text(
        "a," + ",".join(f"t{i}" for i in range(20)) + "\n" + ("1" + ",u" * 20 + "\n") * 3
    )
    assert "t7 (line 2 has 'u') and 12 more" in " ".join(run("audit", path, "--order")[1].split())


def test_invalid_input_exits_2_with_fix(table: Path, tmp_path: Path) -> None:
    broken = {
        "empty": "",
        "header": "a,b\n",
        "twice": "a,a\n0,1\n",
        "short": "a,b\n0\n",
        "word": "a,b\n0,x\n",
        "large": "a,b\n0,7\n",
    }
    for name, text in broken.items():
        path = tmp_path / f"{name}.csv"
        path.write_text(text)
        status, said = run("audit", path, "--best", "--within", 0.1)
        assert status == 2, name
        assert "; " in said, name
    ids = tmp_path / "ids.csv"
    ids.write_text("id\n0\n")
    for arguments in (
        ("audit", tmp_path / "none.csv", "--best"),
        ("audit", table, "--best", "--range", "3"),
        ("audit", ids, "--best"),
        ("audit", table, "--order", "--level", 1.5),
        ("audit", tmp_path / "header.csv", "mean(a) > 0.5"),
        ("audit", tmp_path / "header.csv", "--order"),
        ("audit", table, "--order", "--columns", "none"),
        ("audit", table, "--order", "--columns", "id"),
        ("audit", table, "mean(none) > 0.5"),
        ("audit", table, "mean(good) > 0.5", "--strata", "id"),
        ("audit", table, "mean(good) > 0.5", "--strata", "id", "--sizes", "x=none"),
        ("audit", "-", "mean(good) > 0.5"),
    ):
        status, said = run(*arguments, text="")
        assert status == 2, arguments
        assert "; " in said, arguments


def test_non_text_input_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bytes.csv"
    path.write_bytes(b"a,b\n\xff\xfe,1\n")
    assert run("audit", path, "--best", "--within", 0.1)[0] == 2
    monkeypatch.setattr("sys.stdin", io.StringIO("a;b\r\n0;1\r\n"))
    assert list(RowSource("-").rows()) == [(2, ["0", "1"])]


@pytest.fixture
def with_summaries(tmp_path: Path) -> Path:
    """A list of 40 rows, with a column of maxima and a last row of means."""
    numbers = np.random.default_rng(0).integers(0, 101, (40, 3)) / 100
    numbers = np.column_stack([numbers, numbers.max(axis=1)])
    lines = [f"c{i}," + ",".join(map(str, row)) for i, row in enumerate(numbers.tolist())]
    means = ",".join(f"{mean:.4f}" for mean in numbers.mean(axis=0))
    path = tmp_path / "accuracies.csv"
    path.write_text("\n".join(["id,gpt,claude,llama,Max", *lines, f"average,{means}"]) + "\n")
    return path


def test_summary_row_and_column_of_a_file_are_left_out(with_summaries: Path) -> None:
    row = "left out line 42, called 'average': the mean of the rows above"
    column = "Max (the largest of the others in every row)"
    status, text = run("audit", with_summaries, "--best", "--scores")
    assert (status, "'Max' (its name is usual for a summary of others)" in text) == (2, True)
    assert "--scores --candidates gpt,claude,llama if it is no candidate" in text
    text = run("audit", with_summaries, "--best", "--scores", "--ignore", "Max")[1].replace(
        "\n", " "
    )
    assert "40 rows" in text
    assert f"Note: {row}" in text
    facts = json.loads(
        run("audit", with_summaries, "--best", "--scores", "--ignore", "Max", "--json")[1]
    )
    assert sorted(one["name"] for one in facts["actions"]) == ["claude", "gpt", "llama"]
    assert facts["notes"][0] == row
    text = " ".join(run("audit", with_summaries, "--order")[1].split())
    assert "40 rows; columns: gpt, claude, llama Note: " in text
    assert f"{column}. Note: {row}" in text
    text = run("audit", with_summaries, "--order", "--columns", "Max")[1].replace("\n", " ")
    assert "40 rows; columns: Max" in text, "a column that is named is tested"
    text = run("audit", with_summaries, "mean(gpt) > 0.01", "--rows", 40)[1].replace("\n", " ")
    assert f"Note: {row}" in text
    # Only the end of a finished file is known to be the last row.
    assert "41 rows" in run("audit", "-", "--order", text=with_summaries.read_text())[1]
    new = with_summaries.with_name("new.csv")
    new.write_text("id,new\n" + "".join(f"c{i},{i % 2}\n" for i in range(40)))
    status, text = run("audit", new, "--mean", "new", "--history", with_summaries, "--within", 0.4)
    assert (status, "these 40 rows" in " ".join(text.split())) == (0, True)
    assert ": left out line 42, called 'average'" in text.replace("\n", "")


def test_certify_detects_ids_of_a_file(tmp_path: Path) -> None:
    path, rows = tmp_path / "ten.csv", [f"c{i},{i / 10},{i / 20}" for i in range(10)]
    path.write_text("\n".join(["question_id,b,a", *rows]))
    status, text = run("audit", path, "--best")
    assert (status, "Note: ids from column 'question_id'" in text) == (0, True)
    assert text.index("a  ") < text.index("b  ")
    path.write_text("\n".join(["id,a,b,c", *(f"{row},1" for row in rows)]))
    assert "Note: ids from column 'id'" in run("audit", path, "--best", "--ignore", "c")[1]
    path.write_text("\n".join(["q,a,b", *rows]))
    status, text = run("audit", path, "--best", "--scores")
    assert (status, "Note: ids from column 'q'" in text) == (0, True)
    stream = run("audit", "-", "--best", "--scores", "--rows", 10, text=path.read_text())[1]
    assert "got 'c0'" in stream
    assert ", or leave out the column with --ignore q." in stream


@pytest.mark.parametrize("stream", [False, True], ids=["file", "stream"])
@pytest.mark.parametrize(
    ("header", "others"),
    [
        ("id,gpt,claude,seed,delay", ["seed", "delay"]),
        ("id,gpt,claude,x1,date", ["x1", "date"]),
        ("id,time_gpt,time_claude,time_bard,seed", ["seed"]),
    ],
)
def test_certify_asks_about_other_columns(
    stream: bool, header: str, others: list[str], tmp_path: Path
) -> None:
    """A name raises a question; stated candidates do not."""
    path = tmp_path / "table.csv"
    numbers = np.random.default_rng(0).random((60, 4)).round(3)
    rows = "".join(f"q{i},{','.join(map(str, row))}\n" for i, row in enumerate(numbers))
    path.write_text(f"{header}\n{rows}")
    source = ("-", "--rows", 60) if stream else (path,)
    status, text = run("audit", *source, "--best", "--losses", text=path.read_text())
    assert status == 2
    for name in others:
        assert f"{name!r} (its name is usual for" in text
    left = [name for name in header.split(",")[1:] if name not in others]
    for option, names in (("--ignore", others), ("--candidates", left)):
        more = (option, ",".join(names), "--losses", "--json")
        facts = json.loads(run("audit", *source, "--best", *more, text=path.read_text())[1])
        assert sorted(one["name"] for one in facts["actions"]) == sorted(left)


CERTIFY_REFUSED = {
    "one action": ("id,a\n1,0\n2,1\n", [], "at least two actions, got 1 (id, a)"),
    "one action and its cost": (
        "id,a,cost_a\n1,0,1\n2,1,1\n",
        [],
        "'cost_a' (its name is usual for a cost) beside a",
    ),
    "ignored": (
        "id,a,b\n1,0,1\n2,1,1\n",
        ["--ignore", "b"],
        "at least two actions, got 1 (id, a, b)",
    ),
    "long": (
        "id,model,loss\n1,a,0\n1,b,1\n",
        ["--ignore", "model"],
        "column 'model' names the action; write one line",
    ),
    "other unit": (
        "id,d,a,b\n1,0,1,0\n2,4,0,1\n",
        [],
        "'d' (0 to 4, the others 0 to 1",
    ),
    "all above": (
        "id,a,b\n1,70,1\n2,4,90\n",
        [],
        "give the range of the numbers: --range LOW,HIGH, or leave out",
    ),
}


@pytest.mark.parametrize("case", CERTIFY_REFUSED)
def test_certify_rejects_tables_without_two_actions_in_range(case: str, tmp_path: Path) -> None:
    text, more, sentence = CERTIFY_REFUSED[case]
    path = tmp_path / "table.csv"
    path.write_text(text)
    status, said = run("audit", path, "--best", *more)
    assert (status, sentence in said) == (2, True), said
    if case not in ("other unit", "all above"):
        assert sentence in run("audit", "-", "--best", "--rows", 2, *more, text=text)[1]


def test_audit_notes_value_that_is_in_no_row(tmp_path: Path) -> None:
    path = tmp_path / "words.csv"
    path.write_text("grade,points\n" + "pass,1\nfail,2\n" * 30)
    for statement, status, note in (
        ("share(grade = Pass) >= 0.7", 1, "column grade has 'fail', 'pass'"),
        ("share(grade != Pass) >= 0.7", 0, "column grade has 'fail', 'pass'"),
        ("share(points = 3) >= 0.7", 1, "column points has '"),
    ):
        found, text = run("audit", path, statement, "--json")
        assert (found, len(json.loads(text)["notes"])) == (status, 1)
        assert note in json.loads(text)["notes"][0].replace("'pass', 'fail'", "'fail', 'pass'")
    for statement in (
        "share(grade = pass) >= 0.2",
        "share(grade != fail) >= 0.2",
        "share(points < 1) <= 0.2",
    ):
        assert json.loads(run("audit", path, statement, "--json")[1])["notes"] == []


def sample_of(values: Any, path: Path) -> Path:
    path.write_text("id,score\n" + "\n".join(f"q{i},{value:g}" for i, value in enumerate(values)))
    return path


def test_reading_beyond_is_about_rows_like_these(tmp_path: Path) -> None:
    """After the last row the list is known for certain, rows like these are not."""
    path = sample_of([1.0] * 11 + [0.0] * 9, tmp_path / "t.csv")
    for reading, words, status in (
        ("recorded", "on the values recorded here for these 20 rows, for certain", 0),
        ("beyond", "nothing is proved", 3),
    ):
        found, text = run("audit", path, "mean(score) > 0.5", "--reading", reading)
        assert found == status, text
        assert words in " ".join(text.split())
    ones = sample_of([1.0] * 2000, tmp_path / "ones.csv")
    page = tmp_path / "page.html"
    _, text = run("audit", ones, "mean(score) > 0.5", "--reading", "beyond", "--out", page)
    text = " ".join(text.split())
    assert "mean(score) > 0.5 holds for rows like these, with probability 0.95 or more" in text
    assert "certain" not in text
    assert "not limited" in page.read_text(encoding="utf-8")


def test_proofs_about_rows_like_these_keep_the_level() -> None:
    """400 samples of 40 coins, level .2: of proofs of "mean > 0.5", which is false, more than 107
    have probability .005. The values of the list itself are above 0.5 in almost half of them.
    """
    rng = np.random.default_rng(5)
    proofs = {"recorded": 0, "beyond": 0}
    for _ in range(400):
        coins = (rng.random((40, 1)) < 0.5) * 1.0
        readings: tuple[Reading, ...] = ("recorded", "beyond")
        for reading in readings:
            rows = [{"ok": float(coin)} for coin in coins[:, 0]]
            report = tombola.audit(rows, "mean(ok) > 0.5", level=0.2, reading=reading)
            proofs[reading] += report.outcome == "proved"
    assert proofs["beyond"] <= 107 < proofs["recorded"]


@pytest.mark.parametrize(
    "options",
    [
        ["mean(score) > 0.5", "--reading", "expected"],
        ["mean(score) > 0.5", "--reading", "beyond", "--rows", "500"],
        ["mean(score) > 0.5", "--reading", "beyond", "--history", "t.csv"],
        ["--best", "--scores", "--reading", "beyond"],
    ],
)
def test_readings_that_an_audit_does_not_have(
    options: list[str], tmp_path: Path, one_sentence: Callable[[object], str]
) -> None:
    path = sample_of([0.0, 1.0], tmp_path / "t.csv")
    status, text = run("audit", path, *options)
    assert status == 2
    one_sentence(text)
