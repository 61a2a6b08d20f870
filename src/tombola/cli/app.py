"""The command line: the jobs of `tombola.cli` put together, and what happens when one of them fails."""

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
from tombola.cli.claims import claims
from tombola.cli.compare import compare
from tombola.cli.demo import demo
from tombola.cli.describe import describe
from tombola.cli.evidence import audit, certify, check_order
from tombola.cli.learners import learners
from tombola.cli.printing import remark, tell
from tombola.cli.race import app as race_app
from tombola.cli.reproduce import reproduce
from tombola.cli.session import app as session_app
from tombola.errors import EXIT_SIGTERM, STOPPED, FileError, TombolaError, TombolaWarning

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _version(asked: bool) -> None:  # noqa: FBT001 - as typer calls it
    if asked:
        typer.echo(f"tombola {__version__}")
        raise typer.Exit


@app.callback()
def tombola(
    version: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Learn over a finite pool of rows drawn in random order."""


app.command()(reproduce)
app.command()(describe)
app.command()(compare)
app.command()(demo)
app.command()(learners)
app.command()(claims)
app.command()(certify)
app.command("check-order")(check_order)
app.command()(audit)
app.add_typer(race_app, name="race")
app.add_typer(session_app, name="session")


def main() -> None:
    """Run the command line; bad input is one sentence and exit status 2, never a traceback."""
    from tombola._formatting import cli_style

    warnings.showwarning = remark
    _prepare_streams()
    status = STOPPED

    def end(number: int, frame: FrameType | None) -> None:
        """Stop as Ctrl-C does, also where Ctrl-C is not listened to, as in the background of a shell."""
        nonlocal status
        status = EXIT_SIGTERM
        stop = signal.getsignal(signal.SIGINT)
        (stop if callable(stop) else signal.default_int_handler)(signal.SIGINT, frame)

    signal.signal(signal.SIGTERM, end)
    try:
        with cli_style(["tombola", *sys.argv[1:]]):
            try:
                _check_folder()
                app(prog_name="tombola")
            finally:
                sys.stdout.flush()  # where it cannot be written, this is the place to say so
    except (TombolaError, TombolaWarning, OSError) as error:
        if not isinstance(error, BrokenPipeError):  # then nobody reads on, as after `| head -1`
            tell(f"tombola: {error}")
        _leave_output()
        sys.exit(2)
    except MemoryError:
        tell(
            "tombola: expected enough memory for this, got to the end of it; take fewer rows or actions, or save the "
            "table as .npy, which stays on the disk."
        )
        sys.exit(2)
    except (KeyboardInterrupt, SystemExit) as ended:
        if isinstance(ended, SystemExit) and ended.code != STOPPED:
            raise
        tell("tombola: stopped.")
        for sign in (signal.SIGINT, signal.SIGTERM):  # a second one ends it at once, and not with a traceback
            signal.signal(sign, signal.SIG_DFL)
        sys.exit(status)


def _prepare_streams() -> None:
    """Let a terminal that lacks a letter show its number instead, and a stream that is closed be an empty one."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - to the end of the process
        elif isinstance(stream, io.TextIOWrapper) and mode == "w":
            stream.reconfigure(errors="backslashreplace")


def _check_folder() -> None:
    """Refuse to work in a folder that is gone: names of files mean nothing there, and Numba cannot compile."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise FileError(
            "expected to work in a folder that is there, but this one was removed; go to another with cd."
        ) from None


def _leave_output() -> None:
    """Drop what could not be written, so that Python does not try it again as it ends."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
