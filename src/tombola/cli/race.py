"""Commands of `tombola race`.

`run` exits with 0 if the question is answered (a gate: passed), 1 if a gate is refuted, 2 on bad
input or if all calls of a candidate failed (with --loss exit and seconds a failure is an answer), 3
if it is undecided; `status --exit-code` exits with 0, 1 or 3.
"""

import json
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from tombola._formatting import join_names, nan_to_none, plural
from tombola.cli.help import App
from tombola.cli.options import (
    CORES,
    REPLACED,
    By,
    Json,
    MakeSettings,
    MaxCalls,
    MaxCost,
    Page,
    Question,
    RankOf,
    ReissueAfter,
    Seeds,
    Token,
    Top,
    Url,
    Workers,
    check_output,
    check_page,
    check_reissue_after,
    split_commas,
    with_race_options,
)
from tombola.cli.printing import (
    OpenTicket,
    open_text,
    open_ticket_lines,
    print_error,
    recorded_text,
    show,
    show_cells,
    show_lines,
    show_result,
)
from tombola.cli.session import ID_HELP, LIST_HELP, check_direction, other_id_text
from tombola.cli.table_options import (
    Missing,
    Rescale,
    TableArgument,
    TableOptions,
    parse_names,
    table_header,
    with_table_options,
)
from tombola.errors import FeedbackError, ParameterError, SessionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tombola.racing import Call, Plan, Race, RaceSettings, SubprocessEvaluator
    from tombola.racing.report import RaceReport, RunTimes
    from tombola.racing.side_information import SideInformation
    from tombola.racing.strata import Strata
    from tombola.racing.subprocess_evaluator import CallCounts
    from tombola.service.client import RaceClient
    from tombola.tables.cells import RowList
    from tombola.tables.to_pool import Table as ReadTable
    from tombola.units import Kind
    from tombola.worklists.race_file import RaceFile

# Exit codes by the field `proved` of a race: answered (a gate: passed), a gate refuted, undecided.
_EXIT_CODES: dict[bool | None, int] = {True: 0, False: 1, None: 3}
# If a race needs more than this share of all calls, `plan` suggests --within: a tolerance makes it
# cheaper.
_EXPENSIVE_SHARE = 0.5
# Different answers of simulated races that `plan` prints; of the others only the number is given.
_MAX_ANSWERS = 3

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
    no_args_is_help=True,
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
    baseline: Annotated[
        str, typer.Option(help="Gate: are the others better than this candidate?")
    ] = "",
    question: Question = "best",
    rank_of: RankOf = "",
    by: By = "",
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
    from tombola.racing import plan
    from tombola.racing.strata import Strata
    from tombola.tables import read_table
    from tombola.tables.cells import read_history

    name = "standard input" if table == "-" else Path(table).name
    read = read_table(table, rescale=rescale, missing=missing, **table_options, by=by or None)
    pool, ids = read.pool, read.pool.ids or tuple(str(row) for row in range(read.pool.rows))
    on_file, known_notes = _known_cells(known, read, ids, table_options.get("ids", ""))
    notes = [*read.notes, *known_notes]
    asked: Any = {"question": question, "candidate": rank_of or None}
    plans = plan(
        pool,
        within=_to_loss(within, *read.range),
        seed=seed,
        levels=_levels(level),
        top=top,
        baseline=baseline or None,
        **asked,
        shuffles=shuffles,
        workers=workers,
        known=on_file,
        max_cost=max_cost,
        max_call_cost=max_call_cost,
        history=None if history is None else read_history(history, ids)[1],
        strata=None if read.strata is None else Strata.of(read.strata, pool.rows, by),
    )
    if as_json:
        facts = {
            "table": name,
            "rows": pool.rows,
            "candidates": list(pool.actions),
            "total_calls": pool.losses.size,
            "notes": notes,
            "within": within,
            "max_cost": max_cost,
            "shuffles": shuffles,
            "seed": seed,
        }
        typer.echo(json.dumps({**facts, "races": [one.to_json() for one in plans]}))
        return
    heading = f"{', '.join(filter(None, [name, read.without]))}: {read.direction}"
    _show_plans("\n".join([heading, *read.remarks]), plans)
    if on_file is not None:
        count = plural(int(on_file.sum()), "answer")
        show(f"{count} on file cost no call; the column of all counts them in the whole table.")
    show_lines(f"note: {note}" for note in notes[1:])


@app.command()
@with_race_options
def start(
    settings: MakeSettings,
    rows: _RowsFile,
    candidates: Annotated[
        str, typer.Option(help="Names, comma-separated; quote a name that has a comma.")
    ],
    file: _NewFile,
    column: _Column = "",
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
    from tombola.worklists.race_file import RaceFile

    names = parse_names(candidates, keep_blank=True)
    row_list, asked = (
        read_row_list(rows, column or None),
        settings(names, _stated_kind(known, names)),
    )
    side, strata = _side_of_list(row_list, asked, known, history, column, by)
    with RaceFile.start(
        file, asked, row_list.ids, side=side, strata=strata, row_list=row_list
    ) as race_file:
        count, chosen, on_file = (
            len(race_file.rows),
            race_file.settings,
            race_file.race.calls_on_file,
        )
    k, order = len(chosen.candidates), f"in random order (seed {chosen.seed})"
    calls = k * count - on_file
    show_result(
        {"file": str(file), "rows": count, "race": chosen.to_json()},
        f"{file}: {k} candidates on {plural(count, 'row')} {order}, at most "
        f"{plural(calls, 'call')}",
        f"ids: column {row_list.id_column}{other_id_text(row_list, column)}",
        f"Answers from {chosen.range[0]:g} to {chosen.range[1]:g}, {_direction(chosen)}.",
        *_list_remarks(row_list, known, chosen, column, by),
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
    ] = (None),
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the calls to .csv or .xlsx, with the list's own columns and a blank "
            "outcome."
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="First list the calls without an answer.")
    ] = False,
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
    from tombola.worklists.race_csv import write_calls
    from tombola.worklists.session_csv import check_daily_list

    check_reissue_after(reissue_after, url)
    with _open(file, url, token) as opened:
        if out is not None:
            check_daily_list(out, file)
        calls = pending = opened.pending[:count] if again else []
        if not again or (count is not None and len(calls) < count):
            more = None if count is None else count - len(calls)
            if url:
                # With --again the calls without an answer are listed already.
                calls = calls + opened.calls(more, reissue_after=None if again else reissue_after)
            else:
                # A lease stores the time, which `status` prints for open calls.
                calls = calls + opened.lease(secrets.token_urlsafe(12), more)
        waiting, line, scores = (
            _open_calls(opened),
            _summary(opened)[1],
            opened.settings.kind == "scores",
        )
        if out is not None and calls:
            write_calls(out, calls, opened.settings, None if url else opened, file)
    if as_json:
        typer.echo(json.dumps([call._asdict() for call in calls]))
        return
    if out is not None and calls:
        show(
            f"{out}: {plural(len(calls), 'call')}. Fill in the column outcome, then record it:",
            soft=True,
        )
        show(f"  tombola race record {file} --csv {out}{f' --url {url}' if url else ''}", soft=True)
    for call in calls if out is None else []:
        show(f"ticket {call.ticket}: {call.candidate} on {call.row}", soft=True)
    if len({call.row for call in calls[len(pending) :]}) > 1:
        show("note: calls issued together cannot be saved; ask for few at a time")
    if not calls:
        show_lines(open_ticket_lines("race", waiting, file, url, scores=scores) or [line])


@app.command()
def record(
    file: _File,
    ticket: Annotated[
        int | None, typer.Argument(help="The ticket number; leave it out with --csv.")
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(help="Loss: lower is better; in the --range of the race, 0 to 1 by default."),
    ] = None,
    score: Annotated[
        str | None, typer.Option(help="Score: higher is better; instead of --loss.")
    ] = None,
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
    from tombola.racing import Event
    from tombola.worklists.race_csv import read_answers

    extra = csv is not None and (
        loss is not None or score is not None or cost is not None or failed
    )
    if (ticket is None) == (csv is None) or (loss is not None and score is not None) or extra:
        raise FeedbackError(
            "race record: expected either a ticket with its loss, or a table of them, got both "
            "or neither; "
            "write record FILE 17 --loss 0.25, or record FILE --csv answers.csv."
        )
    with _open(file, url, token) as opened:
        settings = opened.settings
        if csv is not None:
            answers = read_answers(
                csv, *_issued_calls(opened), settings, getattr(opened, "id_column", "row")
            )
        else:
            paid = cost if cost is not None else 0.0 if failed else settings.default_cost
            if paid is None:
                raise FeedbackError(
                    "race record: expected the cost of the call, because the race has "
                    "--max-cost, got none; write for "
                    "example --cost 0.02."
                )
            answers = [Event("answer", ticket or 0, _loss(loss, score, settings), paid, failed)]
            if not url and (ticket or 0) > 0 and ticket not in _issued_calls(opened)[0].values():
                raise FeedbackError(
                    f"race record: expected a ticket that has been issued, got {ticket}; list "
                    "the next calls with "
                    f"tombola race next {file}."
                )
        new = opened.record_all(answers)
        done, line = _summary(opened)
        waiting = [] if done or as_json else _open_calls(opened)
    old = len(answers) - new
    facts = {"recorded": new, "already_recorded": old, "done": done}
    value = ""
    if csv is None and new and answers[0].loss is not None:
        value = f" ({settings.units.quantity} {settings.units.text(answers[0].loss)})"
    lines = open_ticket_lines("race", waiting, file, url, scores=settings.kind == "scores")
    show_result(facts, f"{recorded_text(new, old)}{value}; {line}", *lines, as_json=as_json)


@app.command()
def status(
    file: _File,
    exit_code: Annotated[
        bool,
        typer.Option(
            "--exit-code", help="Exit with 0 if it is proved, 1 if refuted, 3 if undecided."
        ),
    ] = False,
    url: Url = "",
    token: Token = "",
    as_json: Json = False,
) -> None:
    """Print verdict and standings of a race so far, and calls without an answer.

    Exit status 0; with --exit-code 0 if the answer is proved, 1 if it is refuted, and 3 if it is
    undecided.
    """
    from tombola.racing.report import RaceReport, run_times

    with _open(file, url, token) as opened:
        report = None if url else RaceReport.from_file(opened)
        # Only a race on seconds has a cap.
        cap = None if url else opened.evaluator_config.get("cap")
        times = [] if cap is None else run_times(opened.race, opened.replay(), float(cap))
        facts = opened.status() if report is None else report.to_json()
        waiting = _open_calls(opened)
    if as_json:
        known = {"run_times": [nan_to_none(one._asdict()) for one in times]} if times else {}
        typer.echo(json.dumps({**facts, **known}, allow_nan=False))
    else:
        _show_status(facts, report, file)
        show_lines(
            open_ticket_lines(
                "race", waiting, file, url, scores=facts["settings"]["kind"] == "scores"
            )
        )
        _show_run_times(times)
    if exit_code:
        raise typer.Exit(_EXIT_CODES[facts["proved"]])


@app.command()
def report(
    file: _File,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Output: .html page, .json, or .csv with all answers. Default: my.html for "
            f"my.race. {REPLACED}"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a page about the race: standings, savings, how to verify.

    The suffix of --out decides: .html for a page, .json for its data, .csv for a table of all
    answers.
    """
    from tombola._files import write_atomic
    from tombola._formatting import csv_text
    from tombola.racing.report import RaceReport
    from tombola.worklists.race_csv import answer_table

    out = out or file.with_name(f"{file.name.removesuffix('.race')}.html")
    kind = out.suffix.lower()
    if kind != ".csv":
        (check_output if kind == ".json" else check_page)(out, str(file))
    with _open(file) as race_file:
        if kind == ".csv":
            lines = answer_table(race_file)
            check_output(out, file, columns=lines[0], keys=[line[:3] for line in lines[1:]])
            text = csv_text(lines)
        else:
            found = RaceReport.from_file(race_file)
            text = json.dumps(found.to_json(), indent=1) if kind == ".json" else found.to_html()
    write_atomic(out, text, file)
    show_result({"page": str(out)}, f"written: {out}", as_json=as_json, soft=True)


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
        float | None, typer.Option(help="Time limit of this run; run again to continue.")
    ] = None,
    column: _Column = "",
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
    continues with the commands in the file; a higher --max-calls or --max-cost raises the limit.

    Exits with 0 if the question is answered (a gate: passed), 1 if a gate is refuted, 3 if it is
    undecided, and 2 on bad input, a number outside of --range, or a candidate whose calls all
    failed. With --loss exit and --loss seconds a failed call is an answer, the worst one, and does
    not exit with 2.

    With --url, ROWS is the name of a race at that server, and several machines may run it at the
    same time.
    """
    from tombola._files import write_atomic
    from tombola.racing import SubprocessEvaluator
    from tombola.racing.driver import run_race_file
    from tombola.racing.report import RaceReport
    from tombola.racing.subprocess_evaluator import CallCounts
    from tombola.tables.cells import read_row_list
    from tombola.worklists.race_file import RaceFile, is_race_file

    check_reissue_after(reissue_after, url)
    commands = _commands(candidate or [])
    log, counts = None if quiet else print_error, CallCounts()
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
        file, opened = rows, RaceFile.open(rows)
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
        # Statuses and run times are losses; the server has the direction of its race.
        chosen = settings(
            commands,
            "losses" if url or loss != "stdout" else _stated_kind(known, commands),
            **seconds,
        )
        evaluator = replace(evaluator, units=chosen.units)
        if url:
            fix = "give it to race start, before the race is served"
            _check_not_given(settings(commands, "losses"), {**of_race, "--out": out}, fix)
            _run_remote(
                url,
                token,
                str(rows),
                evaluator,
                workers,
                max_seconds,
                log,
                reissue_after,
                as_json=as_json,
            )
        if file is None:
            raise ParameterError(
                "race run: expected a race file, got none; write --file my.race, or --url ADDRESS."
            )
        check_page(out, str(rows), str(file))
        if cap is not None and chosen.max_cost is not None and chosen.max_call_cost is None:
            # With --loss seconds the cost is the run time, and the cap bounds it.
            chosen = replace(chosen, max_call_cost=cap)
        row_list = read_row_list(rows, column or None)
        side, strata = _side_of_list(row_list, chosen, known, history, column, by)
        remarks = _list_remarks(row_list, known, chosen, column, by)
        if other := other_id_text(row_list, column):
            remarks = [f"ids: column {row_list.id_column}{other}", *remarks]
        show_lines([] if as_json else remarks)
        # Retries and timeout may change per run.
        stored = {
            key: value
            for key, value in evaluator.to_json().items()
            if key not in ("retries", "timeout")
        }
        opened = RaceFile.at(file, chosen, row_list.ids, stored, side, strata)
    with opened as race_file:
        if continues:
            evaluator = _stored_evaluator(race_file, timeout, retries)
            race_file.raise_limits(max_calls=limits.max_calls, max_cost=limits.max_cost)

        def log_open_calls(race: "Race") -> None:
            if log is not None and (waiting := _open_calls(race_file, race.pending)):
                log(f"{open_text('call', waiting)} This run makes them first.")

        try:
            now = run_race_file(
                race_file, evaluator, workers, max_seconds, log, counts, log_open_calls
            )
        except KeyboardInterrupt:
            answers = sum(event.kind == "answer" for event in race_file.replay())
            print_error(f"{file} has {plural(answers, 'answer')}. To continue:")
            print_error(f"  tombola race run {file}")
            raise
        found, waiting = RaceReport.from_file(race_file, now), _open_calls(race_file, now.pending)
    if out is not None:
        write_atomic(out, found.to_html(), file)
    if as_json:
        typer.echo(json.dumps(found.to_json(), allow_nan=False))
    else:
        show(f"{file}: {_direction(now.settings)}", soft=True)
        # The first line states the direction.
        show(f"{now.statement}; seed {now.settings.seed}")
        if out is not None:
            show(f"written: {out}", soft=True)
        if hint := evaluator.hint(now):
            show(hint)
        _show_limit(now, f"tombola race run {file}")
        if waiting and not now.done:
            show_lines(
                [f"{open_text('call', waiting)} To make them:", f"  tombola race run {file}"]
            )
    _exit_run(now.proved, evaluator, counts)


@app.command()
def extend(
    file: _File,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    as_json: Json = False,
) -> None:
    """Raise the total of --max-calls or --max-cost of a race, so that it can go on.

    No call is made: `tombola race run FILE` continues. The guarantee stays: it holds after every
    row, whenever you look and continue. The log keeps the earlier limit. Prints the file, its
    limits and the summary of the race.
    """
    if max_calls is None and max_cost is None:
        raise ParameterError(
            "race extend: expected a new limit, got none; write --max-cost 50 or --max-calls 500."
        )
    with _open(file) as race_file:
        race_file.raise_limits(max_calls=max_calls, max_cost=max_cost)
        chosen, line = race_file.settings, _summary(race_file)[1]
    given = (("--max-calls", chosen.max_calls), ("--max-cost", chosen.max_cost))
    show_result(
        {"file": str(file), "max_calls": chosen.max_calls, "max_cost": chosen.max_cost},
        f"{file}: {', '.join(f'{name} {value:g}' for name, value in given if value is not None)}; {line}",
        as_json=as_json,
    )


def _show_limit(race: "Race", command: str) -> None:
    """Print how to continue a race that a limit has stopped, by this command."""
    limits = race.settings
    if not (race.limit_reached and race.done and race.proved is None and race.failed_call is None):
        return
    calls = limits.max_calls is not None and race.calls_made >= limits.max_calls
    name, value = ("--max-calls", limits.max_calls) if calls else ("--max-cost", limits.max_cost)
    show(f"{name} {value:g} is reached. To go on, raise it, for example:")
    show(f"  {command} {name} {2 * (value or 1):g}", soft=True)


def _check_not_given(chosen: "RaceSettings", given: dict[str, Any], fix: str) -> None:
    """Reject options of a race that was started before, and so has fixed them."""
    from tombola.racing import RaceSettings

    wrong = [name for name, value in given.items() if value]
    if wrong or chosen != RaceSettings(chosen.candidates):
        got = wrong[0] if wrong else "options of the race"
        raise ParameterError(
            f"race run: expected only commands and options of this run, got {got}; {fix}."
        )


def _stored_evaluator(
    file: "RaceFile", timeout: float | None, retries: int
) -> "SubprocessEvaluator":
    """Return the commands that a race file has stored; ParameterError if it has none."""
    from tombola.racing import SubprocessEvaluator

    stored = file.evaluator_config
    if not stored.get("commands"):
        raise ParameterError(
            f"race run: expected a race file with commands, got {file.path}, whose calls are "
            "made by hand; write "
            f"tombola race next {file.path}."
        )
    evaluator = SubprocessEvaluator(
        **{**stored, "timeout": timeout, "retries": retries}, units=file.settings.units
    )
    evaluator.check()
    return evaluator


def _run_remote(
    url: str,
    token: str,
    name: str,
    evaluator: "SubprocessEvaluator",
    workers: int,
    max_seconds: float | None,
    log: "Callable[[str], None] | None",
    reissue_after: float | None,
    *,
    as_json: bool,
) -> NoReturn:
    """Run the commands of a served race, print its verdict, and exit."""
    import asyncio

    from tombola.racing.subprocess_evaluator import CallCounts
    from tombola.service.client import AsyncRaceClient
    from tombola.service.remote_race import run_remote_race

    counts = CallCounts()

    async def run_it() -> dict[str, Any]:
        async with AsyncRaceClient(url, token, name) as client:
            return await run_remote_race(
                client, evaluator, workers, max_seconds, log, reissue_after, counts
            )

    found = asyncio.run(run_it())
    show_result(found, found["verdict"], as_json=as_json, soft=True)
    _exit_run(found["proved"], evaluator, counts)


def _exit_run(
    proved: bool | None, evaluator: "SubprocessEvaluator", counts: "CallCounts"
) -> NoReturn:
    """Print notes about failed calls, and exit with the code of the answer.

    SessionError if all calls of a candidate failed; with --loss exit and seconds that is a valid
    result.
    """
    for note in counts.notes():
        print_error(note)
    if proved is not None and evaluator.loss == "stdout" and counts.always_failed:
        raise SessionError(
            "race run: expected an answer from each candidate, but all calls of "
            f"{join_names(counts.always_failed)} "
            "failed in this run, each counted as the worst answer; run its command by hand, then "
            "start a new race."
        )
    raise typer.Exit(_EXIT_CODES[proved])


@app.command("table")
def table_(
    files: Annotated[
        list[Path],
        typer.Argument(help="Logs of inspect_ai or lm-eval, promptfoo results, long CSV."),
    ],
    out: Annotated[
        Path, typer.Option(help=f"The CSV to write: losses, one column per candidate. {REPLACED}")
    ],
    metric: Annotated[
        str,
        typer.Option(
            help="The metric to use, if there are several; of lm-eval also METRIC,FILTER."
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Convert evaluation logs of other programs to a table of losses.

    The CSV, --out, has a column id and one column of losses in [0, 1] per candidate, lower is
    better.
    """
    from tombola._files import check_output_path, write_atomic
    from tombola._formatting import csv_text
    from tombola.plugins.logs import read_logs

    check_output_path(out, *files)
    pool = read_logs(files, metric or None)
    rows = [
        [name, *losses] for name, losses in zip(pool.ids or (), pool.losses.tolist(), strict=True)
    ]
    # An earlier table of fewer candidates may be replaced: its ids and first losses must be the
    # same.
    check_output(out, *files, columns=["id", *pool.actions], keys=rows, n_keys=2)
    write_atomic(out, csv_text([["id", *pool.actions], *rows]), *files)
    next_step = ["Simulate a race on it:", f"  tombola race plan {out} --losses"]
    if pool.k < 2:
        next_step = ["A race needs at least two candidates: give the log of another too."]
    show_result(
        {"table": str(out), "rows": pool.rows, "candidates": list(pool.actions)},
        f"{out}: losses of {plural(pool.k, 'candidate')} on {plural(pool.rows, 'row')}. "
        f"{next_step[0]}",
        *next_step[1:],
        as_json=as_json,
    )


def _side_of_list(
    row_list: "RowList",
    settings: "RaceSettings",
    known: Path | None,
    history: Path | None,
    column: str,
    by: str,
) -> "tuple[SideInformation | None, Strata | None]":
    """Return the answers on file and history of a list, and its groups; None without."""
    from tombola.racing.side_information import SideInformation
    from tombola.racing.strata import Strata
    from tombola.tables.cells import read_history
    from tombola.worklists.race_csv import read_known

    names, ids, side = settings.candidates, row_list.ids, None
    if known is not None or history is not None:
        answers = (
            None if known is None else read_known(known, names, ids, column or None, settings.units)
        )
        past = None if history is None else read_history(history, ids, column or None)[1]
        side = SideInformation.of(names, ids, answers, past)
    return side, Strata.of(row_list.labels(by), len(ids), by) if by else None


def _known_columns(
    known: Path, candidates: "Iterable[str]"
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of a table of answers on file, and those of candidates."""
    from tombola.tables.cells import read_cells
    from tombola.tables.names import without_kind_word

    names, chosen = read_cells(known).names, set(candidates)
    return names, tuple(
        name for name in names if name in chosen or without_kind_word(name) in chosen
    )


def _stated_kind(known: Path | None, candidates: "Iterable[str]") -> "Kind | None":
    """Return the direction that the names of the answers on file state; None without."""
    return (
        None
        if known is None
        else table_header(str(known), _known_columns(known, candidates)[1]).kind
    )


def _list_remarks(
    row_list: "RowList", known: Path | None, settings: "RaceSettings", column: str, by: str
) -> list[str]:
    """Return notes on a list and the answers on file: direction, missing columns, sums.

    column, by: the columns of row ids, "" to detect it, and of groups, "" without groups.
    """
    from tombola.tables.names import is_group_name, is_id_name, without_kind_word

    notes = list(row_list.notes)
    if known is not None:
        columns, used = _known_columns(known, settings.candidates)
        on_file = {*used, *map(without_kind_word, used)}
        contradiction = table_header(str(known), used, settings.kind).contradiction
        if contradiction:
            notes.append(contradiction.removesuffix("."))
        if absent := [name for name in settings.candidates if name not in on_file]:
            notes.append(
                f"no answers on file for {join_names(absent)}; check the spelling if there "
                "should be some"
            )
        others = [
            name
            for name in columns
            if name not in used and name.lower() not in {column.lower(), by.lower()}
        ]
        if unused := [name for name in others if not is_id_name(name) and not is_group_name(name)]:
            notes.append(f"columns of {known} that are not used: {join_names(unused)}")
        notes += _summary_notes(known, column)
    return [f"Note: {note}." for note in notes]


def _summary_notes(known: Path, column: str) -> list[str]:
    """Return a note if a last row of the answers on file sums up the others."""
    from tombola.tables.cells import id_place, read_cells, without_summary_line

    table = read_cells(known)
    kept = without_summary_line(table, id_place(table, column or None))
    return [f"{known}: {note}" for note in kept.notes[len(table.notes) :]]


def _direction(settings: "RaceSettings") -> str:
    """Return the direction of the answers of a race as a phrase."""
    from tombola.tables.to_pool import direction_text

    return direction_text(settings.kind, settings.unit)


def _loss(loss: str | None, score: str | None, settings: "RaceSettings") -> float | None:
    """Return the loss in [0, 1] of --loss or --score, in the range of the race."""
    from tombola.tables.unit_checks import cell_fix, cell_loss

    text, units = loss if score is None else score, settings.units
    if text is None:
        return None
    check_direction(
        "race record", "race", settings.kind, "losses" if score is None else "scores", text
    )
    found = cell_loss(text, units)
    if found is None:
        fix = cell_fix(text, units, "repair it, or start the race with another --range")
        raise FeedbackError(
            f"race record: expected a {units.quantity} from {units.low:g} to {units.high:g}, got "
            f"{text!r}; {fix}."
        )
    return found


def _known_cells(
    known: Path | None, table: "ReadTable", ids: tuple[str, ...], column: str
) -> "tuple[NDArray[np.bool_] | None, list[str]]":
    """Return the cells of a finished table that --known has answers for, and notes."""
    import numpy as np

    from tombola.units import Units
    from tombola.worklists.race_csv import read_known

    if known is None:
        return None, []
    units = Units(*table.range, scores=table.kind == "scores")
    return ~np.isnan(
        read_known(known, table.pool.actions, ids, column or None, units)
    ), _summary_notes(known, column)


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


def _open(file: Path, url: str = "", token: str = "") -> Any:
    """Open a race: a `RaceFile`, or with --url the `RaceClient` of this name."""
    if url:
        from tombola.service.client import RaceClient

        return RaceClient(url, token, str(file))
    from tombola.worklists.race_file import RaceFile

    return RaceFile.open(file)


def _open_calls(
    opened: "RaceFile | RaceClient", calls: "Sequence[Call] | None" = None
) -> list[OpenTicket]:
    """Return the calls without an answer: `calls`, or those of the file or server."""
    from tombola.worklists.race_file import RaceFile

    if isinstance(opened, RaceFile):
        times = opened.lease_times()
        calls = opened.pending if calls is None else calls
        pending = [{**call._asdict(), "since": times.get(call.ticket)} for call in calls]
    else:
        pending = opened.status()["pending"]
    return [
        OpenTicket(one["ticket"], f"{one['candidate']} on {one['row']}", one["since"])
        for one in pending
    ]


def _summary(opened: "RaceFile | RaceClient") -> tuple[bool, str]:
    """Return whether a race is done, and its verdict or its progress."""
    from tombola.racing.driver import progress_line
    from tombola.worklists.race_file import RaceFile

    if isinstance(opened, RaceFile):
        race = opened.race
        return race.done, race.verdict if race.done else progress_line(race)
    now = opened.verdict()
    return now["done"], now["verdict"] if now["done"] else now["progress"]


def _issued_calls(
    opened: "RaceFile | RaceClient",
) -> "tuple[dict[tuple[str, str], int], Callable[[int], Call | None]]":
    """Return tickets by candidate and row, and a function from tickets to calls.

    By URL, both have only the pending calls.
    """
    from tombola.worklists.race_file import RaceFile

    if isinstance(opened, RaceFile):
        return opened.tickets(), opened.race.call
    calls = {call.ticket: call for call in opened.pending}
    return {(call.candidate, call.row): ticket for ticket, call in calls.items()}, calls.get


def _show_status(facts: dict[str, Any], report: "RaceReport | None", file: Path) -> None:
    """Print the report of a race.

    facts: JSON data of the report.
    report: the report itself; None if the data came from a server.
    """
    from tombola.racing import RaceSettings
    from tombola.racing.report import MEANS_NOTE, limit_history

    settings = RaceSettings.from_json(facts["settings"])
    show(f"{file}: {_direction(settings)}", soft=True)
    # The first line states the direction.
    show(f"{facts['verdict'].removesuffix(f'; {_direction(settings)}')}; seed {settings.seed}")
    _show_standings(facts, settings)
    if facts.get("calls_on_file"):
        show(MEANS_NOTE)
    if report is None:
        return
    race = report.race
    if not race.rank_sets:
        reached = f"{float(race.rule.state.threshold):g}"
        words = (
            ("for or against", "decided", "change it")
            if settings.baseline
            else ("against", "dropped", "help it")
        )
        bet, ended, change = words
        show(
            f"wealth: evidence {bet} a candidate; it is {ended} at {reached}, or when the rows "
            f"left cannot {change}."
        )
    if race.strata is not None:
        headings = (
            race.strata.title,
            "rows counted",
            "answer",
            "leader",
            f"mean {settings.units.quantity}",
        )
        keys = ("name", "rows", "answer", "leader", "mean")
        show_cells(
            headings, ([one[key] for key in keys] for one in report.group_cells()), right=(1, 4)
        )
    for word, now, before in limit_history(report):
        if before:
            show(
                f"The limit of {word} is {now:,.6g}; it was raised from "
                f"{', '.join(f'{one:,.6g}' for one in before)}."
            )
    has_commands = bool((report.evaluator_config or {}).get("commands"))
    _show_limit(race, f"tombola race {'run' if has_commands else 'extend'} {file}")


def _show_standings(facts: dict[str, Any], settings: "RaceSettings") -> None:
    """Print a table of the candidates: drops with their evidence, or rank sets."""
    from tombola.statements import rank_text

    mean = f"mean {settings.units.quantity}"
    rows: list[tuple[str, ...]] = []
    for one in facts["candidates"]:
        cells = one["name"], f"{one['mean']:.4g}" if one["rows"] else "–", f"{one['rows']:,}"
        if settings.question == "ranks":
            rows.append((rank_text(one["ranks"]) if one["ranks"] else "–", *cells))
            continue
        wealth = one["wealth"] if isinstance(one["wealth"], str | None) else f"{one['wealth']:,.4g}"
        dropped = "–" if one["active"] else f"{one['drop_row']:,}"
        rows.append((*cells, dropped, one["against"] or "–", wealth or "–"))
    if settings.question == "ranks":
        show_cells(("ranks", "candidate", mean, "rows"), rows, right=(0, 2, 3))
    else:
        ended = "decided after" if settings.baseline else "dropped after"
        show_cells(
            ("candidate", mean, "rows", ended, "against", "wealth"), rows, right=(1, 2, 3, 5)
        )


def _show_run_times(times: "list[RunTimes]") -> None:
    if not times:
        return
    rows = [
        (
            one.name,
            f"{one.calls:,}",
            f"{one.seconds:,.4g}",
            f"{one.timeouts:,}",
            f"{one.failures:,}",
            f"{one.par10:.4g}" if one.calls else "–",
        )
        for one in times
    ]
    show_cells(
        ("candidate", "calls", "seconds", "timeouts", "failed", "PAR10"), rows, right=range(1, 6)
    )
    show("PAR10: mean seconds; a timeout or failure counts ten time limits.")
    if len({one.calls for one in times}) > 1:
        show(
            "Candidates with fewer calls were dropped earlier: compare PAR10 where the calls are "
            "equal."
        )


def _to_loss(within: float, low: float, high: float) -> float:
    """Convert a difference in table units to a difference of losses in [0, 1]."""
    span = (high - low) or 1.0
    if within >= span:
        raise ParameterError(
            f"--within: expected less than {span:g}, as the numbers are from {low:g} to "
            f"{high:g}, got {within:g}; "
            f"write for example --within {0.02 * span:g}."
        )
    return within / span


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


def _show_plans(name: str, plans: "list[Plan]") -> None:
    first = plans[0]
    show(name)
    races = plural(len(first.outcomes), "simulated race")
    show(f"{plural(first.rows, 'row')}, {len(first.settings.candidates)} candidates, {races}")
    rows = [("whole table", f"{first.total_calls:,}", "", *map(_percent, (1.0, 1.0, 0.0)))]
    for one in plans:
        low, high = one.calls_range
        shares = map(_percent, (one.share, one.decided, one.wrong))
        rows.append(
            (
                f"level {one.settings.level:g}",
                f"{one.calls:,.0f}",
                f"{low:,.0f} - {high:,.0f}",
                *shares,
            )
        )
    show_cells(("", "calls", "90 % range", "of all", "decided", "wrong"), rows, right=range(1, 6))
    for one in plans:
        show(f"answer at level {one.settings.level:g}: {_answers(one)}")
        if one.strata is not None:
            _show_group_plans(one, one.strata.title)
    if first.settings.max_cost is not None:
        costs = " and ".join(f"{one.cost:,.4g} at level {one.settings.level:g}" for one in plans)
        show(f"Cost: {costs} on average, never above {first.settings.max_cost:,.6g}.")
        if first.decided < 1:
            show(
                "An undecided race names the candidates that are left; the best is one of them, "
                "up to the level."
            )
    if first.share > _EXPENSIVE_SHARE and first.settings.within == 0.0:
        show(
            "Near ties take most of these calls. Use --within to accept a candidate that is "
            "close to the best."
        )


def _show_group_plans(plan: "Plan", title: str) -> None:
    """Print the most frequent answer of each group as a table."""
    rows = []
    for name, one in plan.by_group.items():
        names, times = one.answers[0]
        shares = map(_percent, (times / len(one.outcomes), one.decided, one.wrong))
        rows.append((name, f"{one.rows:,}", ", ".join(names), *shares))
    show_cells(
        (title, "rows", "answer", "of shuffles", "decided", "wrong"), rows, right=(1, 3, 4, 5)
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if 0 < share < 1 else f"{100 * share:.0f} %"


def _answers(plan: "Plan") -> str:
    """Return the most frequent answers as text."""
    count = len(plan.outcomes)
    texts = [
        f"{', '.join(names) or 'none'} ({_percent(times / count)} of shuffles)"
        for names, times in plan.answers
    ]
    more = f"; and {len(texts) - _MAX_ANSWERS} others" if len(texts) > _MAX_ANSWERS else ""
    return "; ".join(texts[:_MAX_ANSWERS]) + more
