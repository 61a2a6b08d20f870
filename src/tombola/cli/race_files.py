"""The commands of `tombola race` that work on a file: parse, call one function, print.

`run` and `status` end with 0 if the statement is proved, 1 if its opposite is, 3 if it is undecided.
"""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tombola._formatting import escape_control
from tombola.cli.printing import grid, show, tell
from tombola.cli.race import app
from tombola.cli.race_question import Ask, asking

if TYPE_CHECKING:
    from tombola.persistence.race_file import RaceFile
    from tombola.racing import Race
    from tombola.racing.subprocess_evaluator import SubprocessEvaluator

__all__ = ["app"]

OPPOSITE, UNDECIDED = 1, 3

File = Annotated[Path, typer.Argument(help="The file of the race.")]
RowsFile = Annotated[Path, typer.Argument(help="The rows: CSV or TSV with a column id, or a .txt with one a line.")]
Column = Annotated[str, typer.Option(help="The column with the rows, if it is not called id.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
@asking
def start(
    ask: Ask,
    rows: RowsFile,
    candidates: Annotated[str, typer.Option(help="Their names, with commas between; quote one with a comma.")],
    out: Annotated[Path, typer.Option(help="The file to write; one that exists is never overwritten.")],
    column: Column = "",
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Shuffle a list of rows, and start a race on it; you make the calls."""
    from tombola.cli.session import names_in
    from tombola.persistence.race_file import RaceFile
    from tombola.persistence.session_csv import read_ids

    settings = ask(names_in(candidates))
    with RaceFile.start(out, settings, read_ids(rows, column or None)) as file:
        count, k = len(file.rows), len(settings.candidates)
    if as_json:
        typer.echo(json.dumps({"file": str(out), "rows": count, "race": settings.to_json()}))
    else:
        order = f"in random order (seed {settings.seed})"
        show(f"{out}: {k} candidates on {count:,} rows {order}, at most {k * count:,} calls")
        show(f"ask for the first calls with: tombola race next {out}", soft=True)


@app.command("next")
def next_(
    file: File,
    count: Annotated[
        int | None, typer.Option(help="How many calls; all that the next row needs if left out.", min=1)
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="First list the calls that wait for an answer.")] = False,  # noqa: FBT002
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Say which candidate to ask about which row; the ticket's number goes back with the answer."""
    with _file(file) as race_file:
        calls = race_file.race.pending[:count] if again else []
        if not again or (count is not None and len(calls) < count):
            calls = calls + race_file.calls(None if count is None else count - len(calls))
        now = race_file.race
    if as_json:
        typer.echo(json.dumps([call._asdict() for call in calls]))
        return
    for call in calls:
        show(f"ticket {call.ticket}: ask {call.candidate} about {call.row}", soft=True)
    if not calls:
        waiting = len(now.pending)
        show(f"{waiting} calls wait for an answer; --again lists them" if waiting else now.verdict, soft=True)


@app.command()
def record(
    file: File,
    ticket: Annotated[int | None, typer.Argument(help="The number of the ticket; leave it out with --csv.")] = None,
    loss: Annotated[float | None, typer.Option(help="In [0, 1]; less is better.")] = None,
    score: Annotated[float | None, typer.Option(help="1 - loss, if that is how you count.")] = None,
    cost: Annotated[float, typer.Option(help="What the call cost.", min=0)] = 0.0,
    failed: Annotated[bool, typer.Option("--failed", help="There is no answer, and there will be none.")] = False,  # noqa: FBT002
    csv: Annotated[Path | None, typer.Option(help="Many: columns ticket (or candidate, row), loss (or score).")] = None,
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Take in the answer to a call, or to many; in any order, and twice without harm."""
    from tombola.errors import FeedbackError
    from tombola.racing import Event
    from tombola.racing.answers import read_answers

    beside = csv is not None and (loss is not None or score is not None or cost != 0 or failed)
    if (ticket is None) == (csv is None) or (loss is not None and score is not None) or beside:
        raise FeedbackError(
            "race record: expected either a ticket with its loss, or a table of them, got both or neither; "
            "write record FILE 17 --loss 0.25, or record FILE --csv answers.csv."
        )
    with _file(file) as race_file:
        if csv is not None:
            answers = read_answers(csv, race_file)
        else:
            answers = [Event("answer", ticket or 0, loss if score is None else 1.0 - score, cost, failed)]
        news = race_file.record_all(answers)
        now = race_file.race
    if as_json:
        typer.echo(json.dumps({"recorded": news, "known before": len(answers) - news, "done": now.done}))
    else:
        from tombola.racing.progress import line_of

        show(f"{news} recorded; {now.verdict if now.done else line_of(now)}", soft=True)


@app.command()
def status(
    file: File,
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Say how the race stands; ends with 0, 1 or 3 as the statement is proved, refuted or open."""
    with _file(file) as race_file:
        now = race_file.race
        if as_json:
            from tombola.racing.timeline import story_of

            typer.echo(json.dumps(story_of(race_file).to_json(), allow_nan=False))
        else:
            _show(now)
    raise typer.Exit(_code(now))


@app.command()
def report(
    file: File,
    out: Annotated[Path, typer.Option(help="The page to write; .json, or .csv with all answers.")] = Path("race.html"),
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Write the page of the race: who fell where and against whom, what was saved, how to check it again."""
    from tombola._files import check_output_path, write_atomic
    from tombola._formatting import csv_text
    from tombola.cli.answers import check_page
    from tombola.racing.answers import answers_table
    from tombola.racing.page import race_page
    from tombola.racing.timeline import story_of

    kind = out.suffix.lower()
    (check_output_path if kind in (".csv", ".json") else check_page)(out, str(file))
    with _file(file) as race_file:
        if kind == ".csv":
            text = csv_text(answers_table(race_file))
        else:
            story = story_of(race_file)
            text = json.dumps(story.to_json(), indent=1) if kind == ".json" else race_page(story)
    write_atomic(out, text, file)
    if as_json:
        typer.echo(json.dumps({"page": str(out)}))
    else:
        show(f"the page is {out}", soft=True)


@app.command()
@asking
def run(
    ask: Ask,
    rows: RowsFile,
    candidate: Annotated[list[str], typer.Option(help="'name=COMMAND {row}', once for each candidate.")],
    file: Annotated[Path, typer.Option(help="The file that keeps the answers; run again, the race goes on.")],
    loss: Annotated[str, typer.Option(help="stdout: its last line is the loss (and cost); exit; seconds.")] = "stdout",
    cap: Annotated[float | None, typer.Option(help="With --loss seconds: so many are loss 1.")] = None,
    workers: Annotated[int, typer.Option(help="How many commands run at a time.", min=1)] = 1,
    timeout: Annotated[float | None, typer.Option(help="Seconds after which a command has failed.")] = None,
    retries: Annotated[int, typer.Option(help="How often a failing command is tried again.", min=0)] = 0,
    shell: Annotated[bool, typer.Option("--shell", help="Run the commands by /bin/sh.")] = False,  # noqa: FBT002
    max_seconds: Annotated[float | None, typer.Option(help="Stop after so many seconds; run again to go on.")] = None,
    column: Column = "",
    out: Annotated[Path | None, typer.Option(help="A page to write, such as race.html.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No line for every row.")] = False,  # noqa: FBT002 - a flag
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Run commands on this machine until it is proved which is best; killed, it goes on; ends as `status` does."""
    from tombola.cli.answers import check_page
    from tombola.persistence.race_file import RaceFile
    from tombola.persistence.session_csv import read_ids
    from tombola.racing.lines import run_programs
    from tombola.racing.subprocess_evaluator import SubprocessEvaluator

    check_page(out, str(rows), str(file))
    commands = _commands(candidate)
    programs = SubprocessEvaluator(commands, loss, cap, timeout, retries, shell)
    programs.check()
    with RaceFile.at(file, ask(commands), read_ids(rows, column or None), _means(programs)) as race_file:
        _note(race_file)
        run_programs(race_file, programs, workers, max_seconds, None if quiet else tell)
        now = race_file.race
        _finish(race_file, now, out, as_json=as_json)
        if not as_json and (hint := programs.hint(now)):
            show(hint, soft=True)
    raise typer.Exit(_code(now))


@app.command("table")
def table_(
    files: Annotated[list[Path], typer.Argument(help="Logs of inspect_ai or lm-eval, results of promptfoo, long CSV.")],
    out: Annotated[Path, typer.Option(help="The CSV to write: losses, one column a candidate.")],
    metric: Annotated[str, typer.Option(help="The score that counts, if there are several.")] = "",
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Turn what other programs have written into a table, for `tombola race plan` and `tombola compare`."""
    from tombola._files import check_output_path, write_atomic
    from tombola._formatting import csv_text
    from tombola.plugins.logs import read_logs

    check_output_path(out, *files)
    pool = read_logs(files, metric or None)
    rows = [[name, *losses] for name, losses in zip(pool.ids or (), pool.losses.tolist(), strict=True)]
    write_atomic(out, csv_text([["id", *pool.actions], *rows]), *files)
    if as_json:
        typer.echo(json.dumps({"table": str(out), "rows": pool.rows, "candidates": list(pool.actions)}))
    else:
        show(f"{pool.k} candidates on {pool.rows:,} rows: {out}; see tombola race plan {out}", soft=True)


def _finish(file: "RaceFile", now: "Race", out: Path | None, *, as_json: bool) -> None:
    from tombola.racing.timeline import story_of

    if out is not None:
        from tombola._files import write_atomic
        from tombola.racing.page import race_page

        write_atomic(out, race_page(story_of(file)), file.path)
    if as_json:
        typer.echo(json.dumps(story_of(file).to_json(), allow_nan=False))
    else:
        show(now.verdict, soft=True)
        if out is not None:
            show(f"the page is {out}", soft=True)


def _means(programs: "SubprocessEvaluator") -> dict[str, Any]:
    """Return what of the programs belongs to the race: how often they are tried may change from run to run."""
    return {name: value for name, value in programs.to_json().items() if name not in ("retries", "timeout")}


def _commands(texts: list[str]) -> dict[str, str]:
    from tombola.errors import ParameterError

    commands: dict[str, str] = {}
    for text in texts:
        name, mark, command = text.partition("=")
        if not (mark and name.strip() and command.strip()) or name.strip() in commands:
            raise ParameterError(
                f"--candidate: expected a new name and a command, got {text!r}; write 'name=COMMAND {{row}}'."
            )
        commands[name.strip()] = command.strip()
    return commands


def _file(path: Path) -> "RaceFile":
    from tombola.persistence.race_file import RaceFile

    file = RaceFile.open(path)
    _note(file)
    return file


def _note(file: "RaceFile") -> None:
    for note in file.notes:
        tell(f"note: {note}")


def _code(race: "Race") -> int:
    return {True: 0, False: OPPOSITE, None: UNDECIDED}[race.proved]


def _show(race: "Race") -> None:
    show(race.verdict, soft=True)
    table = grid("candidate", "mean loss", "rows", "out after", "against", "wealth")
    for column in (1, 2, 3, 5):
        table.columns[column].justify = "right"
    means = race.means
    for name in race.active:
        mean = f"{means[name]:.4g}" if race.rows_counted else "–"
        table.add_row(escape_control(name), mean, f"{race.rows_counted:,}", "–", "–", "–")
    for one in reversed(race.dropped):
        wealth = "certain" if math.isinf(one.wealth) else f"{one.wealth:,.4g}"
        table.add_row(
            escape_control(one.candidate), f"{means[one.candidate]:.4g}", f"{one.row:,}", f"{one.row:,}",
            escape_control(one.against), wealth,
        )  # fmt: skip
    show(table)
    if race.pending:
        show(f"{len(race.pending)} calls wait for an answer; tombola race next FILE --again lists them")
