"""Commands of `tombola race`.

`run` exits with 0 if the question is answered (a gate: passed), 1 if a gate is refuted, 2 on bad
input or if all calls of a candidate failed (with --loss exit and seconds a failure is an answer), 3
if it is undecided; `status --exit-code` exits with 0, 1 or 3.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tombola._formatting import (
    nan_to_none,
    note_line,
    plural,
    written_line,
)
from tombola.cli.help import App
from tombola.cli.options import (
    CORES,
    Baseline,
    Better,
    By,
    Force,
    IgnoreRows,
    Json,
    MakeSettings,
    MaxCost,
    Page,
    PageOrData,
    Question,
    RankOf,
    ReadingOption,
    ReissueAfter,
    Seeds,
    Token,
    Top,
    Url,
    Workers,
    check_page,
    check_reissue_after,
    check_report,
    split_commas,
    with_race_options,
)
from tombola.cli.printing import (
    print_error,
    show,
    show_answer,
    show_blocks,
    show_lines,
    show_result,
    write_report,
)
from tombola.cli.session import ID_HELP, LIST_HELP, other_id_text
from tombola.cli.table_options import (
    Missing,
    Rescale,
    TableArgument,
    TableOptions,
    parse_names,
    with_table_options,
)
from tombola.cli.work_list import (
    Again,
    ExportTable,
    TicketTable,
    export_list,
    issue_tickets,
    open_list,
    record_outcomes,
    verify_list,
)
from tombola.errors import FeedbackError, ParameterError

if TYPE_CHECKING:
    from tombola.racing import Race, RaceSettings, SubprocessEvaluator
    from tombola.racing.subprocess_evaluator import CallCounts
    from tombola.worklists.race_file import RaceFile

# Exit codes by the field `proved` of a race: answered (a gate: passed), a gate refuted, undecided.
_EXIT_CODES: dict[bool | None, int] = {True: 0, False: 1, None: 3}

# Arguments and options that the commands of this file share.
_File = Annotated[Path, typer.Argument(help="The race file.")]
_NewFile = Annotated[Path, typer.Option(help="The race file.")]
_RowsFile = Annotated[Path, typer.Argument(help=LIST_HELP)]
# Option --known.
_Known = Annotated[
    Path | None,
    typer.Option(
        help="Answers on file, no calls: a table, also Excel, with ids and a column per known "
        "candidate. The "
        "options --id, --losses, --scores and --range apply to it."
    ),
]
_History = Annotated[
    Path | None,
    typer.Option(
        help="CSV with a column id and numbers of every row, such as losses of earlier candidates."
    ),
]
_Column = Annotated[str, typer.Option("--id", "--column", help=ID_HELP)]

# The command `tombola race`; its subcommands follow.
app = App(
    add_completion=False,
    help="Find the best candidate on a list with as few calls as a guarantee allows.",
)


@app.callback()
def _race() -> None:
    """Find the best candidate on a list with as few calls as a guarantee allows."""


@app.command("plan")
@with_table_options
def plan_(
    table: TableArgument,
    table_options: TableOptions,
    level: Annotated[
        str,
        typer.Option(help="Probability that the answer may be wrong; several, comma-separated."),
    ] = ("0.05,0.01"),
    within: Annotated[
        float,
        typer.Option(
            help="Tolerance in the unit of the table: this much worse is good enough.", min=0
        ),
    ] = 0.0,
    top: Top = 1,
    baseline: Baseline = "",
    better: Better = False,
    question: Question = "best",
    rank_of: RankOf = "",
    by: By = "",
    reading: ReadingOption = None,
    max_cost: MaxCost = None,
    max_call_cost: Annotated[
        float | None,
        typer.Option(
            help="Largest cost of a call; without cost columns, the cost of every call.", min=0
        ),
    ] = None,
    shuffles: Annotated[
        int, typer.Option(help="Number of simulated races, each in its own order.", min=1)
    ] = 200,
    rescale: Rescale = False,
    missing: Missing = "error",
    known: _Known = None,
    history: _History = None,
    as_json: Json = False,
    seed: Seeds = 1,
    workers: Workers = CORES,
) -> None:
    """Simulate races on a finished table: number of calls, answers, and error rate.

    Each simulated race shuffles the rows anew. Prints a line per --level; no call is made, and no
    file is written.
    """
    from tombola.racing.table_plan import plan_table

    result = plan_table(
        table,
        table_options,
        levels=_levels(level),
        within=within,
        top=top,
        baseline=baseline or None,
        better=better,
        question=question,
        candidate=rank_of or None,
        by=by,
        reading=reading,
        max_cost=max_cost,
        max_call_cost=max_call_cost,
        shuffles=shuffles,
        rescale=rescale,
        missing=missing,
        known=known,
        history=history,
        seed=seed,
        workers=workers,
    )
    show_answer(result, as_json=as_json)


@app.command()
@with_race_options
def start(
    settings: MakeSettings,
    rows: _RowsFile,
    candidates: Annotated[
        str,
        typer.Option(
            help="Names, comma-separated; quote a name that has a comma. A pattern such as "
            "'gpt*' stands for columns of --known."
        ),
    ],
    file: _NewFile,
    column: _Column = "",
    ignore_rows: IgnoreRows = "",
    known: _Known = None,
    history: _History = None,
    by: By = "",
    as_json: Json = False,
) -> None:
    """Shuffle a list of rows and start a race on it; you make the calls.

    The race file, --file, keeps the order, the settings and all answers. `race next` prints the
    calls to make, `race record` takes their answers.
    """
    from tombola.tables.cells import read_row_list
    from tombola.tables.to_pool import reading_line
    from tombola.worklists.known_answers import KnownTable
    from tombola.worklists.race_file import RaceFile
    from tombola.worklists.race_start import list_notes, side_of_list

    names = parse_names(candidates, keep_blank=True)
    left_out = parse_names(ignore_rows)
    row_list = read_row_list(rows, column or None, None, left_out)
    known_table = None if known is None else KnownTable(known, names, column, left_out)
    if known_table is not None:
        names = list(known_table.candidates)
    race_settings = settings(names, None if known_table is None else known_table.kind)
    side, strata = side_of_list(row_list, race_settings, known_table, history, column, by)
    with RaceFile.start(
        file, race_settings, row_list.ids, side=side, strata=strata, row_list=row_list
    ) as race_file:
        about = race_file.describe()
        chosen = race_file.settings
        calls = race_file.race.calls_left
        pilot = race_file.race.pilot_text
    k = len(about.actions)
    show_result(
        {"file": str(file), "rows": about.rows, "race": chosen.to_json(), "pilot": pilot},
        reading_line(chosen.kind, chosen.unit, about.actions, str(file)),
        f"{k} candidates on {plural(about.rows, 'row')} in random order (seed "
        f"{chosen.seed}), at most {plural(calls, 'call')}",
        f"ids: column {row_list.id_column}{other_id_text(row_list, column)}",
        f"Answers from {chosen.range[0]:g} to {chosen.range[1]:g}.",
        *map(note_line, list_notes(row_list, known_table, chosen, by)),
        *filter(None, [pilot]),
        "The next calls to make:" if calls else "All answers are on file. The result:",
        f"  tombola race {'next' if calls else 'status'} {file}",
        as_json=as_json,
    )


@app.command("next")
def next_(
    file: _File,
    count: Annotated[
        int | None,
        typer.Option(help="Number of calls. Default: all that the next row needs.", min=1),
    ] = None,
    out: TicketTable = None,
    again: Again = False,
    url: Url = "",
    token: Token = "",
    reissue_after: ReissueAfter = None,
    as_json: Json = False,
) -> None:
    """Print the next calls, each with its ticket, or write a table to fill in.

    A call is one candidate on one row. They are added to the race file as issued; record each
    answer by its ticket, the number of the call. With --out, the table is a .csv or .xlsx file with
    a blank column outcome.
    """
    issue_tickets("race", file, count, out, url, token, reissue_after, again=again, as_json=as_json)


@app.command()
def record(
    file: _File,
    ticket: Annotated[
        int | None, typer.Argument(help="The ticket number; leave it out with --csv.")
    ] = None,
    loss: Annotated[
        str,
        typer.Option(help="Loss: lower is better; in the --range of the race, 0 to 1 by default."),
    ] = "",
    score: Annotated[str, typer.Option(help="Score: higher is better; instead of --loss.")] = "",
    cost: Annotated[
        float | None,
        typer.Option(help="Cost of the call. Default: 0, or --max-call-cost of the race.", min=0),
    ] = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Mark the call as failed; it counts as loss 1.")
    ] = False,
    csv: Annotated[
        Path | None,
        typer.Option(help="Many answers: ticket (or candidate, row), outcome (or loss, score)."),
    ] = None,
    url: Url = "",
    token: Token = "",
    as_json: Json = False,
) -> None:
    """Record the answer to a call, or many from a CSV file, in any order.

    The answer is --loss or --score, in the range of the race, or --failed. The same answer again is
    ignored; another one is an error. Prints the number of new answers.
    """
    from tombola.worklists.ticket_tables import parse_outcome, read_outcomes
    from tombola.worklists.work_file import Outcome

    is_single = bool(loss or score or failed or cost is not None)
    if (ticket is None) == (csv is None) or (csv is not None and is_single):
        raise FeedbackError(
            "race record: expected either a ticket with its loss, or a table of them, got both or "
            "neither; write record FILE 17 --loss 0.25, or record FILE --csv answers.csv."
        )

    def read(work: Any) -> "list[Outcome]":
        if csv is not None:
            return read_outcomes(work, csv)
        value: Any = None
        if loss or score or not failed:
            value, _ = parse_outcome("race record", work.describe(), loss, score)
        return [Outcome(ticket or 0, value, cost=cost, failed=failed)]

    record_outcomes("race", file, read, url, token, as_json=as_json)


@app.command()
def export(
    file: _File,
    out: ExportTable,
    force: Force = False,
    url: Url = "",
    token: Token = "",
    as_json: Json = False,
) -> None:
    """Write all answers of a race to a table, by arrival.

    A .csv or .parquet file, one line per answer: ticket, candidate, row, answer in the unit of the
    race, cost, and whether the call failed.
    """
    export_list("race", file, out, url, token, force=force, as_json=as_json)


@app.command()
def verify(file: _File, as_json: Json = False) -> None:
    """Check the whole file of a race: every digest, and a replay call for call."""
    verify_list("race", file, as_json=as_json)


@app.command()
def status(
    file: _File,
    out: PageOrData = None,
    exit_code: Annotated[
        bool,
        typer.Option(
            "--exit-code", help="Exit with 0 if it is proved, 1 if refuted, 3 if undecided."
        ),
    ] = False,
    reading: Annotated[
        Literal["expected"] | None,
        typer.Option(
            "--reading",
            help="expected: also what a race played on recorded answers says about repeated ones.",
        ),
    ] = None,
    url: Url = "",
    token: Token = "",
    as_json: Json = False,
) -> None:
    """Print verdict and standings of a race so far, and calls without an answer.

    With --out also write a page with standings, savings, and how to verify; all answers are written
    by `race export`. Exit status 0; with --exit-code 0 if the answer is proved, 1 if it is refuted,
    and 3 if it is undecided.
    """
    from tombola.racing import RaceSettings
    from tombola.racing.report import RaceReport, run_times
    from tombola.racing.status_text import direction, run_time_blocks, status_blocks
    from tombola.worklists.ticket_text import open_ticket_lines

    check_report(out, file, url)
    report = None
    times = []
    with open_list("race", file, url, token) as work, work.reading():
        facts = work.to_json()
        waiting = work.pending
        if not url:
            report = RaceReport.from_file(work)
            # Only a race on seconds has a cap.
            cap = work.evaluator_config.get("cap")
            times = [] if cap is None else run_times(work.race, work.replay(), float(cap))
            if reading is not None and work.race.reading != reading:
                facts["expected"] = work.race.read_once().statement.to_json()
    if as_json:
        known = {"run_times": [nan_to_none(row._asdict()) for row in times]} if times else {}
        typer.echo(json.dumps({**facts, **known}, allow_nan=False))
    else:
        settings = RaceSettings.from_json(facts["settings"])
        show(f"{file}: {direction(settings)}", soft=True)
        show_blocks(status_blocks(facts, report, f"tombola race run {file}"))
        scores = settings.kind == "scores"
        show_lines(open_ticket_lines("race", waiting, file, url, scores=scores))
        show_blocks(run_time_blocks(times))
    if out is not None and report is not None:
        is_json = out.suffix.lower() == ".json"
        text = json.dumps(report.to_json(), indent=1) if is_json else report.to_html()
        write_report(out, text, file, as_json=as_json)
    if exit_code:
        raise typer.Exit(_EXIT_CODES[facts["proved"]])


@app.command()
@with_race_options
def run(
    settings: MakeSettings,
    rows: Annotated[
        Path,
        typer.Argument(
            help=f"{LIST_HELP} Or a race file that an earlier run made, to continue it."
        ),
    ],
    candidate: Annotated[
        list[str] | None, typer.Option(help="'name=COMMAND {row}', once per candidate.")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="The race file; not with --url.")] = None,
    loss: Annotated[
        str,
        typer.Option(
            help="stdout: loss (and cost) in the last line; exit: 0 if status 0, else 1; seconds."
        ),
    ] = "stdout",
    cap: Annotated[
        float | None, typer.Option(help="With --loss seconds: the time that counts as loss 1.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Commands at a time.", min=1)] = 1,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds after which a command has failed.")
    ] = None,
    retries: Annotated[
        int, typer.Option(help="How often a failed command is run again.", min=0)
    ] = 0,
    shell: Annotated[bool, typer.Option("--shell", help="Run the commands by /bin/sh.")] = False,
    max_seconds: Annotated[
        float | None,
        typer.Option(help="Time limit of this run; the next one makes open calls again."),
    ] = None,
    column: _Column = "",
    ignore_rows: IgnoreRows = "",
    known: _Known = None,
    history: _History = None,
    by: By = "",
    out: Page = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No line per row.")] = False,
    url: Url = "",
    token: Token = "",
    reissue_after: ReissueAfter = None,
    as_json: Json = False,
) -> None:
    """Run commands until the best candidate is proved, or another question answered.

    Prints a line per row and the verdict, and stores all answers in --file. `race run FILE`
    continues with the commands in the file; --max-calls or --max-cost change its limit.

    Exits with 0 if the question is answered (a gate: passed), 1 if a gate is refuted, 3 if it is
    undecided, and 2 on bad input, a number outside of --range, or a candidate whose calls all
    failed. With --loss exit and --loss seconds a failed call is an answer, the worst one, and does
    not exit with 2.

    With --url, ROWS is the name of a race at that server, and several machines may run it at the
    same time.
    """
    from tombola._files import write_atomic
    from tombola.racing import SubprocessEvaluator
    from tombola.racing.report import RaceReport
    from tombola.racing.status_text import direction, limit_blocks
    from tombola.racing.subprocess_evaluator import CallCounts
    from tombola.tables.cells import read_row_list
    from tombola.worklists.known_answers import KnownTable
    from tombola.worklists.race_file import RaceFile, is_race_file
    from tombola.worklists.race_start import (
        list_notes,
        side_of_list,
        stored_commands,
        stored_evaluator,
    )
    from tombola.worklists.ticket_text import open_text

    check_reissue_after(reissue_after, url)
    commands = _commands(candidate or [])
    log = None if quiet else print_error
    counts = CallCounts()
    evaluator = SubprocessEvaluator(commands, loss, cap, timeout, retries, shell)
    # Run times: --within and all numbers are in seconds.
    seconds: dict[str, Any] = {} if cap is None else {"range": (0.0, cap), "unit": "seconds"}
    of_race = {"--file": file, "--id": column, "--known": known, "--history": history}
    continues = not url and not commands and is_race_file(rows)
    if continues:
        limits = settings(("a", "b"), "losses")
        others = replace(limits, max_calls=None, max_cost=None)
        _check_not_given(others, {**of_race, "--by": by}, "the file has them already")
        check_page(out, str(rows))
        file = rows
        opened = RaceFile.open(rows)
    else:
        if not (url or "::" in str(rows) or rows.exists()):
            raise ParameterError(
                "race run: expected a list of rows, or a race file to continue, found no "
                f"{rows}; check the path."
            )
        if not commands:
            raise ParameterError(
                "race run: expected a command for each candidate, got none; write --candidate "
                "'name=COMMAND {row}', "
                "once per candidate."
            )
        evaluator.check()
        left_out = parse_names(ignore_rows)
        known_table = None if known is None else KnownTable(known, commands, column, left_out)
        # Statuses and run times are losses; the server has the direction of its race.
        stated = None if known_table is None else known_table.kind
        chosen = settings(
            commands,
            "losses" if url or loss != "stdout" else stated,
            **seconds,
        )
        evaluator = replace(evaluator, units=chosen.units)
        if url:
            fix = "give it to race start, before the race is served"
            _check_not_given(settings(commands, "losses"), {**of_race, "--out": out}, fix)
            from tombola.service.remote_race import run_served_race

            facts = run_served_race(
                url,
                token,
                str(rows),
                evaluator,
                workers,
                max_seconds,
                log,
                reissue_after,
                counts,
            )
            show_result(facts, facts["verdict"], as_json=as_json, soft=True)
            check_calls(facts["proved"], evaluator, counts)
            raise typer.Exit(_EXIT_CODES[facts["proved"]])
        if file is None:
            raise ParameterError(
                "race run: expected a race file, got none; write --file my.race, or --url ADDRESS."
            )
        check_page(out, str(rows), str(file))
        if cap is not None and chosen.max_cost is not None and chosen.max_call_cost is None:
            # With --loss seconds the cost is the run time, and the cap bounds it.
            chosen = replace(chosen, max_call_cost=cap)
        row_list = read_row_list(rows, column or None, None, parse_names(ignore_rows))
        side, strata = side_of_list(row_list, chosen, known_table, history, column, by)
        remarks = [note_line(note) for note in list_notes(row_list, known_table, chosen, by)]
        if other := other_id_text(row_list, column):
            remarks = [f"ids: column {row_list.id_column}{other}", *remarks]
        show_lines([] if as_json else remarks)
        stored = stored_commands(evaluator)
        opened = RaceFile.at(file, chosen, row_list.ids, stored, side, strata)
    with opened as race_file:
        if continues:
            race_file.set_limits(max_calls=limits.max_calls, max_cost=limits.max_cost)
            if not race_file.evaluator_config.get("commands") and limits.has_limit:
                _show_new_limit(race_file, as_json=as_json)
                return
            evaluator = stored_evaluator(race_file, timeout, retries)

        now = run_commands(
            race_file, evaluator, workers, max_seconds, log, counts, f"tombola race run {file}"
        )
        page = RaceReport.from_file(race_file, now)
        waiting = race_file.tickets_of(now.pending)
    if out is not None:
        write_atomic(out, page.to_html(), file)
    if as_json:
        typer.echo(json.dumps(page.to_json(), allow_nan=False))
    else:
        show(f"{file}: {direction(now.settings)}", soft=True)
        # The first line states the direction.
        show(f"{now.statement}; seed {now.settings.seed}")
        show_lines(mean["statement"] for mean in page.to_json()["chosen_means"])
        if out is not None:
            show(written_line(out), soft=True)
        if hint := evaluator.hint(now):
            show(hint)
        show_blocks(limit_blocks(now, f"tombola race run {file}"))
        if waiting and not now.done:
            show_lines(
                [f"{open_text('call', waiting)} To make them:", f"  tombola race run {file}"]
            )
    check_calls(now.proved, evaluator, counts)
    raise typer.Exit(_EXIT_CODES[now.proved])


def _show_new_limit(race_file: "RaceFile", *, as_json: bool) -> None:
    """Print the limits of a race whose calls are made by hand, and how it goes on."""
    settings = race_file.settings
    limits = (("--max-calls", settings.max_calls), ("--max-cost", settings.max_cost))
    texts = [f"{name} {value:g}" for name, value in limits if value is not None]
    path = str(race_file.path)
    show_result(
        {"file": path, "max_calls": settings.max_calls, "max_cost": settings.max_cost},
        f"{path}: {', '.join(texts)}; {race_file.summary()}",
        "The next calls to make:",
        f"  tombola race next {path}",
        as_json=as_json,
    )


def run_commands(
    race_file: "RaceFile",
    evaluator: "SubprocessEvaluator",
    workers: int,
    max_seconds: float | None,
    log: "Callable[[str], None] | None",
    counts: "CallCounts",
    command: str,
) -> "Race":
    """Run the commands of a race file; on Ctrl-C print the command that continues it."""
    from tombola.racing.driver import run_race_file
    from tombola.worklists.ticket_text import open_text

    def log_open_calls(race: "Race") -> None:
        if log is not None and (waiting := race_file.tickets_of(race.pending)):
            log(f"{open_text('call', waiting)} This run makes them first.")

    try:
        return run_race_file(
            race_file, evaluator, workers, max_seconds, log, counts, log_open_calls
        )
    except KeyboardInterrupt:
        answers = sum(event.kind == "answer" for event in race_file.replay())
        print_error(f"{race_file.path} has {plural(answers, 'answer')}. To continue:")
        print_error(f"  {command}")
        raise


def _check_not_given(chosen: "RaceSettings", given: dict[str, Any], fix: str) -> None:
    """Reject options of a race that was started before, and so has fixed them."""
    from tombola.racing import RaceSettings

    wrong = [name for name, value in given.items() if value]
    if wrong or chosen != RaceSettings(chosen.candidates):
        got = wrong[0] if wrong else "options of the race"
        raise ParameterError(
            f"race run: expected only commands and options of this run, got {got}; {fix}."
        )


def check_calls(
    proved: bool | None, evaluator: "SubprocessEvaluator", counts: "CallCounts"
) -> None:
    """Print notes about failed calls; SessionError if all calls of a candidate failed."""
    for note in counts.notes():
        print_error(note)
    counts.check(proved=proved, loss=evaluator.loss)


def _commands(texts: list[str]) -> dict[str, str]:
    commands: dict[str, str] = {}
    for text in texts:
        name, sign, command = text.partition("=")
        if not (sign and name.strip() and command.strip()) or name.strip() in commands:
            raise ParameterError(
                f"--candidate: expected a new name and a command, got {text!r}; write "
                f"'name=COMMAND {{row}}'."
            )
        commands[name.strip()] = command.strip()
    return commands


def _levels(text: str) -> tuple[float, ...]:
    try:
        levels = tuple(float(word) for word in split_commas(text))
    except ValueError:
        levels = ()
    if not levels or not all(0 < level < 1 for level in levels):
        raise ParameterError(
            "--level: expected a probability above 0 and below 1, or several, comma-separated, "
            f"got {text!r}; "
            "write --level 0.05."
        )
    return levels
