"""Program `tombola`: registers the commands, handles signals, prints errors."""

import io
import os
import signal
import sys
import warnings
from contextlib import suppress
from types import FrameType
from typing import Annotated

import typer

from tombola import __version__
from tombola.cli.audit import audit
from tombola.cli.compare import compare
from tombola.cli.demo import demo
from tombola.cli.describe import describe
from tombola.cli.gate import gate
from tombola.cli.help import App
from tombola.cli.printing import print_error, show_warning
from tombola.cli.race import app as race_app
from tombola.cli.rank import rank
from tombola.cli.reference import cite, learners
from tombola.cli.reproduce import reproduce
from tombola.cli.serve import serve
from tombola.cli.session import app as session_app
from tombola.errors import (
    EXIT_SIGINT,
    EXIT_SIGTERM,
    FileError,
    QuestionError,
    TombolaError,
    TombolaWarning,
)

# The command `tombola`; its subcommands are added below.
app = App(add_completion=True)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"tombola {__version__}")
        raise typer.Exit


@app.callback()
def _tombola(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Online learning over a finite list of rows in random order."""


# Commands by purpose, in the order of a first use.
_TABLE_PANEL = "A table of answers"
_LIVE_PANEL = "Live work"
_PAPER_PANEL = "The paper and this package"
app.command(rich_help_panel=_TABLE_PANEL)(describe)
app.command(rich_help_panel=_TABLE_PANEL)(rank)
app.command(rich_help_panel=_TABLE_PANEL)(gate)
app.command(rich_help_panel=_TABLE_PANEL)(compare)
app.command(rich_help_panel=_TABLE_PANEL)(audit)
app.command(rich_help_panel=_TABLE_PANEL)(demo)
app.add_typer(race_app, name="race", rich_help_panel=_LIVE_PANEL)
app.add_typer(session_app, name="session", rich_help_panel=_LIVE_PANEL)
app.command(rich_help_panel=_LIVE_PANEL)(serve)
app.command(rich_help_panel=_PAPER_PANEL)(reproduce)
app.command(rich_help_panel=_PAPER_PANEL)(learners)
app.command(rich_help_panel=_PAPER_PANEL)(cite)


def main() -> None:
    """Run the command in `sys.argv`, and end the process with its exit status.

    Bad input prints one sentence to standard error, with status 2. Ctrl-C ends with 130, SIGTERM
    with 143.
    """
    from tombola._formatting import cli_style

    warnings.showwarning = show_warning
    _prepare_streams()
    status = EXIT_SIGINT

    def terminate(number: int, frame: FrameType | None) -> None:
        """Stop like Ctrl-C, also where that is ignored (background jobs of a shell)."""
        nonlocal status
        status = EXIT_SIGTERM
        stop = signal.getsignal(signal.SIGINT)
        (stop if callable(stop) else signal.default_int_handler)(signal.SIGINT, frame)

    signal.signal(signal.SIGTERM, terminate)
    try:
        with cli_style(["tombola", *sys.argv[1:]]):
            try:
                _check_folder()
                app(prog_name="tombola")
            finally:
                sys.stdout.flush()  # a write error is reported below
    except (TombolaError, TombolaWarning, OSError) as error:
        if not isinstance(
            error, BrokenPipeError
        ):  # the reader has closed the pipe, as `| head -1` does
            if isinstance(error, QuestionError):
                # A line for each command, to copy.
                print_error(f"tombola: {error.question}.")
                for condition, command in error.answers:
                    print_error(f"if {condition}:")
                    print_error(f"  {command}")
            else:
                print_error(f"tombola: {_without_class(str(error))}")
        _discard_output()
        sys.exit(2)
    except MemoryError:
        print_error(
            "tombola: expected enough memory, got out of memory; take fewer rows or actions, or "
            "save the "
            "table as .npy, which is read from disk."
        )
        sys.exit(2)
    except (KeyboardInterrupt, SystemExit) as ended:
        if isinstance(ended, SystemExit) and ended.code != EXIT_SIGINT:
            raise
        print_error("tombola: stopped.")
        for sign in (signal.SIGINT, signal.SIGTERM):  # a second signal ends the process at once
            signal.signal(sign, signal.SIG_DFL)
        sys.exit(status)


def _without_class(message: str) -> str:
    """Replace a Python class at the start of a message by the command it belongs to."""
    owner, colon, rest = message.partition(":")
    command = {"certify": "audit", "check_order": "audit"}
    command |= {"Race": "race", "RaceFile": "race", "Session": "session", "SessionFile": "session"}
    return f"{command.get(owner.partition('.')[0], owner)}{colon}{rest}"


def _prepare_streams() -> None:
    """Escape characters the terminal cannot encode; replace closed streams."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - open until the process ends
        elif isinstance(stream, io.TextIOWrapper) and mode == "w":
            stream.reconfigure(errors="backslashreplace")


def _check_folder() -> None:
    """Raise if the working directory was removed: paths and Numba need it."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise FileError(
            "expected an existing working directory, got one that was removed; go to another "
            "with cd."
        ) from None


def _discard_output() -> None:
    """Discard buffered output, so that Python does not write it again at exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
