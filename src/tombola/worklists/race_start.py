"""What a new race file starts from: its list, answers on file, history, groups and commands."""

from pathlib import Path
from typing import Any

from tombola.errors import ParameterError
from tombola.racing.settings import RaceSettings
from tombola.racing.side_information import SideInformation
from tombola.racing.strata import Strata
from tombola.racing.subprocess_evaluator import SubprocessEvaluator
from tombola.tables.cells import RowList, read_history
from tombola.worklists.known_answers import KnownTable
from tombola.worklists.race_file import RaceFile


def side_of_list(
    row_list: RowList,
    settings: RaceSettings,
    known: KnownTable | None,
    history: Path | None,
    column: str,
    by: str,
) -> tuple[SideInformation | None, Strata | None]:
    """Return the answers on file and history of a list, and its groups; None without."""
    names = settings.candidates
    ids = row_list.ids
    side = None
    if known is not None or history is not None:
        answers = None if known is None else known.losses(names, ids, settings.units)
        past = None if history is None else read_history(history, ids, column or None)[1]
        side = SideInformation.of(names, ids, answers, past)
    return side, Strata.of(row_list.labels(by), len(ids), by) if by else None


def list_notes(
    row_list: RowList, known: KnownTable | None, settings: RaceSettings, by: str
) -> list[str]:
    """Return notes on a list and the answers on file."""
    return [*row_list.notes, *([] if known is None else known.notes(settings, by))]


def stored_commands(evaluator: SubprocessEvaluator) -> dict[str, Any]:
    """Return what a race file stores of its commands; retries and timeout may change per run."""
    fields = evaluator.to_json().items()
    return {key: value for key, value in fields if key not in ("retries", "timeout")}


def stored_evaluator(file: RaceFile, timeout: float | None, retries: int) -> SubprocessEvaluator:
    """Return the commands that a race file has stored; ParameterError if it has none."""
    stored = file.evaluator_config
    if not stored.get("commands"):
        raise ParameterError(
            f"race run: expected a race file with commands, got {file.path}, whose calls are "
            "made by hand; write "
            f"tombola race next {file.path}."
        )
    evaluator = SubprocessEvaluator(
        **{**stored, "timeout": timeout, "retries": retries},
        units=file.settings.units,
        further=file.settings.further_units,
    )
    evaluator.check()
    return evaluator
