"""The command line: the jobs of `tombola.commands` put together, and what happens when one of them fails."""

import io
import signal
import sys
import warnings
from types import FrameType
from typing import Annotated

import typer

from tombola import __version__
from tombola.commands.audit import audit
from tombola.commands.bound import OPEN, bound
from tombola.commands.certify import certify
from tombola.commands.claims import claims
from tombola.commands.compare import compare
from tombola.commands.demo import demo
from tombola.commands.exact import exact
from tombola.commands.examine import examine
from tombola.commands.learners import learners
from tombola.commands.look import look
from tombola.commands.printing import remark, tell
from tombola.commands.race_files import app as race_app
from tombola.commands.reproduce import reproduce
from tombola.commands.session import app as session_app

STOPPED = 130  # the exit status of Ctrl-C, by typer too
ENDED = 143  # that of a process that was asked to end, as by `kill` or when a container is stopped

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
app.command()(look)
app.command()(compare)
app.command()(demo)
app.command()(learners)
app.command()(claims)
app.command(context_settings=OPEN)(bound)
app.command()(certify)
app.command()(examine)
app.command()(audit)
app.command()(exact)
app.add_typer(race_app, name="race")
app.add_typer(session_app, name="session")


def main() -> None:
    """Run the command line; bad input is one sentence and exit status 2, never a traceback."""
    from tombola.errors import TombolaError, TombolaWarning
    from tombola.wording import command_line

    warnings.showwarning = remark
    _write_what_can_be_written()
    status = STOPPED

    def end(number: int, frame: FrameType | None) -> None:
        """Stop as Ctrl-C does, also where Ctrl-C is not listened to, as in the background of a shell."""
        nonlocal status
        status = ENDED
        stop = signal.getsignal(signal.SIGINT)
        (stop if callable(stop) else signal.default_int_handler)(signal.SIGINT, frame)

    signal.signal(signal.SIGTERM, end)
    try:
        with command_line():
            app(prog_name="tombola")
    except (TombolaError, TombolaWarning, OSError) as error:
        tell(f"tombola: {error}")
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


def _write_what_can_be_written() -> None:
    """Let a terminal that lacks a letter show its number instead; there is none where output is closed."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
