"""`tombola gate`: whether a new version is not worse than the old one."""

import json
import shlex
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tombola._formatting import join_names, written_line
from tombola.cli.live_gate import LiveOptions, run_live
from tombola.cli.options import (
    By,
    Json,
    LiveSeed,
    MaxCallCost,
    MaxCalls,
    MaxCost,
    Page,
    check_level,
    check_page,
)
from tombola.cli.printing import show
from tombola.cli.table_options import parse_kind, parse_names
from tombola.errors import ParameterError

if TYPE_CHECKING:
    from tombola.gating import GateResult


def gate(
    versions: Annotated[
        list[str],
        typer.Argument(
            metavar="OLD NEW...",
            help="A file or folder for each version, the old one first: a table with columns id "
            "and score, a log of inspect_ai, lm-eval or promptfoo. One file with all versions "
            "needs --baseline. Live: the list of rows, or a race file to continue.",
        ),
    ],
    within: Annotated[
        list[str] | None,
        typer.Option(help="Allowed loss, such as 0.02; for one metric, as accuracy=0.02."),
    ] = None,
    better: Annotated[
        bool, typer.Option("--better", help="The new version must be strictly better.")
    ] = False,
    baseline: Annotated[str, typer.Option(help="The old version, if one file has several.")] = "",
    metric: Annotated[
        str, typer.Option(help="The scores to compare, with commas between; all must pass.")
    ] = "",
    old: Annotated[
        str,
        typer.Option(help="Command of the old version, 'COMMAND {row}'; it prints the score."),
    ] = "",
    new: Annotated[
        list[str] | None,
        typer.Option(help="Command of the new version; several as 'name=COMMAND {row}'."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="Live: race file for all answers, to continue from.")
    ] = None,
    loss: Annotated[
        Literal["stdout", "exit"],
        typer.Option(
            help="Live: the numbers in the last line of output, one for each of --metric, then "
            "the cost if any (stdout), or 0 if the status is 0 and else 1, lower is better (exit)."
        ),
    ] = "stdout",
    workers: Annotated[
        int, typer.Option("--workers", "--jobs", help="Live: commands at a time.", min=1)
    ] = 1,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    max_call_cost: MaxCallCost = None,
    timeout: Annotated[
        float | None, typer.Option(help="Live: seconds after which a command has failed.")
    ] = None,
    retries: Annotated[
        int, typer.Option(help="Live: how often a failed command is run again.", min=0)
    ] = 0,
    shell: Annotated[
        bool, typer.Option("--shell", help="Live: run the commands by /bin/sh.")
    ] = False,
    seed: LiveSeed = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Live: no line per row.")] = False,
    reading: Annotated[
        Literal["recorded", "expected", "beyond"] | None,
        typer.Option(
            help="What the verdict is about: rows like these (beyond), fresh answers on these "
            "rows (expected), or the answers in the files (recorded). Default: beyond.",
            show_default=False,
        ),
    ] = None,
    looks: Annotated[
        Literal["1", "any"] | None,
        typer.Option(
            help="1: the number of rows was fixed before. any: the files grow, in the order of "
            "the answers, and every look counts. Default: 1; live: any.",
            show_default=False,
        ),
    ] = None,
    undecided: Annotated[
        Literal["pass", "fail"] | None,
        typer.Option(help="Exit status of an undecided gate: 0 (pass) or 1 (fail) instead of 3."),
    ] = None,
    by: By = "",
    each: Annotated[
        bool, typer.Option("--each", help="Each group of --by must pass; else it is reported.")
    ] = False,
    clusters: Annotated[
        str, typer.Option(help="Column of clusters of related rows, such as conversation.")
    ] = "",
    cluster_size: Annotated[
        int | None,
        typer.Option(help="The largest possible cluster, if they have different sizes.", min=1),
    ] = None,
    binary: Annotated[
        bool, typer.Option("--binary", help="Declare that every score is right or wrong.")
    ] = False,
    level: Annotated[float, typer.Option(help="Probability of a wrong verdict.")] = 0.05,
    scores: Annotated[bool, typer.Option("--scores", help="Higher values are better.")] = False,
    losses: Annotated[bool, typer.Option("--losses", help="Lower values are better.")] = False,
    lower: Annotated[
        str, typer.Option(help="Several metrics: those of which lower is better, such as price.")
    ] = "",
    value_range: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            help="Smallest and largest possible value, as 0,10; of one metric, as price=0,10.",
        ),
    ] = None,
    missing: Annotated[
        Literal["error", "drop", "worst"],
        typer.Option(
            help="A row without a score: reject (error), drop the row, or count the worst value."
        ),
    ] = "error",
    id_column: Annotated[
        str, typer.Option("--id", help="The column with the ids of the rows.")
    ] = "",
    run_column: Annotated[
        str, typer.Option(help="The column that numbers several answers to a row.")
    ] = "",
    run_effects: Annotated[
        bool,
        typer.Option(
            "--run-effects",
            help="The answers of one run have a common cause, such as one seed (with expected).",
        ),
    ] = False,
    unfinished: Annotated[
        bool,
        typer.Option(
            "--unfinished",
            help="Read an evaluation log of a run that was cancelled, or ended in an error.",
        ),
    ] = False,
    candidates: Annotated[
        str, typer.Option(help="One table: the columns that are versions; commas between.")
    ] = "",
    ignore: Annotated[str, typer.Option(help="Columns to ignore; commas between.")] = "",
    ignore_rows: Annotated[
        str, typer.Option(help="Ids of rows to ignore, such as Total; or first, last, none.")
    ] = "",
    version_column: Annotated[
        str, typer.Option("--action-column", help="The column that names the version of a line.")
    ] = "",
    out: Page = None,
    summary: Annotated[
        Path | None,
        typer.Option(help="Markdown file to append the result to, for a comment or a summary."),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(help="JUnit XML file to write; it is replaced.")
    ] = None,
    title: Annotated[
        str, typer.Option(help="Name of this gate in the page, the summary and the XML.")
    ] = "",
    commits: Annotated[
        str,
        typer.Option(
            help="Commit of each version, the old one first, for the page and the summary; commas "
            "between."
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Decide whether a new version is not worse than an old one.

    From finished scores, or live: with --old and --new the commands run on a list of rows until it
    is decided, and `tombola gate FILE` continues.

    Exit status: 0 passed, 1 worse, 3 undecided, 2 could not be measured.
    """
    from tombola._files import write_atomic
    from tombola.gating.page import gate_page
    from tombola.gating.summary import to_junit, to_markdown
    from tombola.worklists.race_file import is_race_file

    check_level(level)
    check_page(out, *versions)
    is_live = bool(old or new or file) or (len(versions) == 1 and is_race_file(Path(versions[0])))
    of_finished: dict[str, Any] = {
        "--baseline": baseline,
        "--binary": binary,
        "--run-column": run_column,
        "--run-effects": run_effects,
        "--unfinished": unfinished,
        "--action-column": version_column,
        "--looks": looks == "1",
    }
    if each and not by:
        raise ParameterError(
            "--each: expected the column of the groups, got no --by; add --by COLUMN, or leave "
            "--each out."
        )
    margins = _parse_within(within or [])
    ranges = _parse_ranges(value_range or [])
    metrics = parse_names(metric)
    if is_live:
        _check_live(versions, of_finished)
        options = LiveOptions(
            old,
            new or [],
            file,
            loss,
            workers,
            max_calls,
            max_cost,
            max_call_cost,
            timeout,
            retries,
            shell,
            seed,
            quiet,
            by,
            each,
            clusters,
            cluster_size,
            metrics,
        )
        result = run_live(
            Path(versions[0]),
            options,
            within=margins,
            better=better,
            kind=_parse_kinds(metrics, lower, losses=losses, scores=scores),
            limits=ranges,
            reading=reading,
            level=level,
            column=id_column,
        )
    else:
        if len(versions) > 1 and baseline:
            raise ParameterError(
                f"--baseline: expected one file with all versions, got {len(versions)}; leave it "
                "out, the first file is the old version."
            )
        _check_finished(
            {
                "--max-calls": max_calls,
                "--max-cost": max_cost,
                "--max-call-cost": max_call_cost,
                "--timeout": timeout,
                "--retries": retries,
                "--shell": shell,
                "--seed": seed,
            }
        )
        from tombola.gating import gate as compare_versions

        result = compare_versions(
            versions[0],
            versions[1:] or None,
            within=margins,
            better=better,
            baseline=baseline or None,
            metric=metrics,
            kind=_parse_kinds(metrics, lower, losses=losses, scores=scores),
            range=ranges,
            reading=reading or "beyond",
            looks="any" if looks == "any" else 1,
            level=level,
            by=by,
            each_group=each,
            clusters=clusters,
            cluster_size=cluster_size,
            binary=binary,
            missing=missing,
            ids=id_column,
            run=run_column,
            run_effects=run_effects,
            unfinished=unfinished,
            action=version_column,
            candidates=parse_names(candidates),
            ignore=parse_names(ignore),
            ignore_rows=parse_names(ignore_rows),
        )
    command = shlex.join(["tombola", *sys.argv[1:]])
    by_version = _commits_of(result, parse_names(commits))
    if out is not None:
        page = gate_page(result, title or "Gate", command, datetime.now(), by_version)
        write_atomic(out, page, *versions)
    if junit is not None:
        write_atomic(junit, to_junit(result, title, undecided=undecided), *versions)
    if summary is not None:
        with summary.open("a", encoding="utf-8") as markdown:
            markdown.write(to_markdown(result, title, command, by_version))
    if as_json:
        sys.stdout.write(json.dumps(result.to_json(), allow_nan=False) + "\n")
    else:
        for line in result.lines():
            show(line, soft=True)
        if out is not None:
            show(written_line(out), soft=True)
    status = result.exit_code
    if status == 3 and undecided is not None:
        status = 0 if undecided == "pass" else 1
    raise typer.Exit(status)


def _commits_of(result: "GateResult", commits: list[str]) -> dict[str, str]:
    """Return the commit of each version by its name; {} if none is given."""
    if not commits:
        return {}
    if len(commits) != len(result.versions):
        raise ParameterError(
            f"--commits: expected a commit for each of {join_names(result.versions)}, got "
            f"{len(commits)}; write them in this order, with commas between."
        )
    return dict(zip(result.versions, commits, strict=True))


def _check_live(versions: list[str], of_finished: dict[str, Any]) -> None:
    """Raise ParameterError for options of finished scores, and for more than one list."""
    if len(versions) != 1:
        raise ParameterError(
            f"gate: expected one list of rows for the commands, got {len(versions)} files; give "
            "the list only."
        )
    if wrong := [name for name, value in of_finished.items() if value]:
        raise ParameterError(
            f"{wrong[0]}: expected finished scores, got a live gate, which counts every look and "
            "the calls decide how many rows there are; leave it out."
        )


def _check_finished(of_live: dict[str, Any]) -> None:
    """Raise ParameterError for options of a live gate."""
    if wrong := [name for name, value in of_live.items() if value]:
        raise ParameterError(
            f"{wrong[0]}: expected a live gate, got finished scores; leave it out, or give "
            "commands by --old and --new."
        )


def _parse_within(texts: list[str]) -> float | dict[str, float] | None:
    """Return one allowed loss, or one for each metric."""
    by_metric: dict[str, float] = {}
    for text in (part for argument in texts for part in argument.split(",")):
        name, sign, number = text.rpartition("=")
        try:
            by_metric[name if sign else ""] = float(number)
        except ValueError:
            raise ParameterError(
                f"--within: expected a number, or a metric and a number, got {text!r}; write "
                "--within 0.02 or --within accuracy=0.02."
            ) from None
    if "" in by_metric and len(by_metric) > 1:
        raise ParameterError(
            "--within: expected one number for all metrics, or one for each, got both; name the "
            "metric of each number."
        )
    return by_metric.get("", by_metric) if by_metric else None


def _parse_kinds(metrics: list[str], lower: str, *, losses: bool, scores: bool) -> Any:
    """Return the direction of all metrics, or of each; None if no option states it."""
    kind = parse_kind(losses=losses, scores=scores)
    if not lower:
        return kind
    fewer = parse_names(lower)
    if unknown := [name for name in fewer if name not in metrics]:
        raise ParameterError(
            f"--lower: expected metrics of --metric, got {unknown[0]!r}; name it there too."
        )
    return {name: "losses" if name in fewer else kind for name in metrics}


def _parse_ranges(texts: list[str]) -> Any:
    """Return one range for all metrics, or one for each."""
    from tombola.units import parse_range

    ranges = {}
    for text in texts:
        name, sign, values = text.rpartition("=")
        ranges[name if sign else ""] = parse_range(values)
    return ranges.get("", ranges) if ranges else None
