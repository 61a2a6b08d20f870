"""SubprocessEvaluator: candidates are commands, a call runs one on a row."""

import asyncio
import contextlib
import math
import os
import shlex
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tombola import _validate
from tombola.errors import ParameterError, TombolaError
from tombola.racing.events import Call
from tombola.readers.to_pool import suggested_range
from tombola.readers.units import UNIT_LOSSES, Units

if TYPE_CHECKING:
    from tombola.racing._race import Race

# Placeholder in a command that is replaced by the name of the row.
_ROW = "{row}"
# Buffer of each output pipe in bytes, 1 MiB: how far asyncio reads ahead of the program.
_MAX_LINE_BYTES = 1 << 20
# `hint` suggests a smaller cap if no loss, which is run time / cap, exceeds this: then the differences are small.
_LOW_LOSS = 0.1
# The answer of a command: loss in [0, 1] and cost, or the loss alone.
Answer: TypeAlias = float | tuple[float, float]


class _CommandError(TombolaError):
    """Raised if a command fails to produce a loss: status, timeout or bad output."""


@dataclass(frozen=True)
class SubprocessEvaluator:
    """Evaluate candidates by running a command per call.

    commands  candidate name -> command, in which {row} is replaced by the row
    loss      "stdout": the last line of output is the loss in [0, 1], optionally followed by the cost;
              "exit": 0 for exit status 0, else 1; "seconds": run time divided by `cap`
    cap       seconds that count as loss 1; a command that takes longer is killed (only with loss "seconds")
    timeout   seconds after which a command has failed
    retries   how often a failed command is run again
    shell     whether /bin/sh runs the commands; else they are started directly
    units     the unit of the numbers that commands print, with loss "stdout"
    """

    commands: Mapping[str, str]
    loss: str = "stdout"
    cap: float | None = None
    timeout: float | None = None
    retries: int = 0
    shell: bool = False
    units: Units = UNIT_LOSSES

    def __post_init__(self) -> None:
        if self.loss not in ("stdout", "exit", "seconds"):
            raise ParameterError(f"--loss: expected stdout, exit or seconds, got {self.loss!r}; write --loss stdout.")
        if (self.loss == "seconds") != (self.cap is not None):
            raise ParameterError(
                "--cap: expected the number of seconds that count as loss 1, with --loss seconds only, "
                f"got {self.cap!r} with --loss {self.loss}; write --loss seconds --cap 60."
            )
        for name in ("cap", "timeout"):
            if getattr(self, name) is not None:
                _validate.real("race run", name, getattr(self, name), above=0)
        _validate.integer("race run", "retries", self.retries, least=0)

    def check(self) -> None:
        """Raise ParameterError if a command cannot run, before the first call is made."""
        if self.cap is not None and self.timeout is not None and self.timeout < self.cap:
            raise ParameterError(
                f"--timeout: expected at least the {self.cap:g} seconds of --cap, got {self.timeout:g}; leave out "
                "--timeout: with --loss seconds a run ends at --cap and counts as a timeout."
            )
        for name, command in self.commands.items():
            words = self.command_line(command, "")
            if _ROW not in command:
                raise ParameterError(
                    f"--candidate: expected {_ROW} where the row goes in the command of {name}, got {command!r}; "
                    f"write --candidate '{name}=COMMAND {_ROW}'."
                )
            if not self.shell and shutil.which(words[0]) is None:
                raise ParameterError(
                    f"--candidate: the command of {name} starts with {words[0]!r}, which is not an executable "
                    "program here; check its name, or give its full path."
                )

    def command_line(self, command: str, row: str) -> list[str]:
        """Return the program to start and its arguments, for one row.

        The name of a row is never split into several arguments. ParameterError if the command is empty or a quote is
        not closed.

        command: command of a candidate, with {row} in place of the row.
        row: name of the row.
        """
        if self.shell:
            return ["/bin/sh", "-c", f"tombola_row=$1; shift; {_as_variable(command)}", "sh", row]
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise ParameterError(
                f"--candidate: expected a command, got {command!r} ({error}); close its quotes."
            ) from None
        if not words:
            raise ParameterError("--candidate: expected a command after the name, got none; write name=COMMAND {row}.")
        return [word.replace(_ROW, row) for word in words]

    async def evaluate(self, call: Call, log: Callable[[str], None] | None = None) -> Answer:
        """Run the command of a call, with retries; return (loss, cost), or the loss.

        A TombolaError if the last attempt fails, too. The cost is the run time in seconds with loss "seconds", and the
        printed cost, if there is one, with loss "stdout".

        call: candidate and row.
        log: function that receives a line per failure; None: silent.
        """
        for attempt in range(self.retries + 1):
            try:
                return await self._run_once(call)
            except _CommandError as error:
                more = "trying again" if attempt < self.retries else "counted as failed"
                if log is not None:
                    log(f"{call.candidate} on {call.row}: {error}; {more}")
                last = error
        raise last

    async def _run_once(self, call: Call) -> Answer:
        limit_seconds = min(self.cap or math.inf, self.timeout or math.inf)
        started = time.perf_counter()
        try:
            status, output, errors = await _run(
                self.command_line(self.commands[call.candidate], call.row),
                limit_seconds if math.isfinite(limit_seconds) else None,
            )
        except TimeoutError:
            if self.cap is not None and limit_seconds == self.cap:
                return 1.0, self.cap
            raise _CommandError(f"took longer than {limit_seconds:g} seconds") from None
        except OSError as error:
            raise _CommandError(f"could not be started ({error.strerror})") from None
        seconds = time.perf_counter() - started
        return self._result(status, output, errors, seconds)

    def _result(self, status: int, output: str, errors: str, seconds: float) -> Answer:
        # Statuses above 125 mean that the shell could not run the command or that a signal ended it.
        if self.loss == "exit" and 0 <= status <= 125:
            return float(status != 0)
        if status != 0:
            raise _CommandError(f"ended with status {status}" + (f" and printed {errors!r}" if errors else ""))
        if self.loss == "seconds":
            return min(1.0, seconds / (self.cap or 1.0)), seconds
        return _parse_output(output, self.units)

    def hint(self, race: "Race") -> str:
        """Return advice if the cap is so large that it slows the race; else "".

        A loss is a share of the cap, and any remaining row may take all of it. So run times that are all a small part
        of the cap decide late, however much they differ.

        race: the race that was run.
        """
        if self.cap is None or race.largest_loss > _LOW_LOSS or race.calls_saved > race.calls_made:
            return ""
        longest = race.largest_loss * self.cap
        return (
            f"no call took more than {longest:.2g} of the {self.cap:g} seconds of --cap, so differences are "
            f"small: a new race with --cap {2 * longest:.1g} will probably need fewer calls"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data, without `units`, which the race settings have."""
        fields = {name: value for name, value in asdict(self).items() if name != "units"}
        return {**fields, "commands": dict(self.commands)}


def _as_variable(command: str) -> str:
    """Replace {row} by a quoted shell variable, as one word also inside quotes.

    The text of a row is never part of the command, so the shell never executes it.

    >>> _as_variable("ask {row}"), _as_variable('ask "x {row}"')
    ('ask "${tombola_row}"', 'ask "x ${tombola_row}"')
    """
    variable = "${tombola_row}"
    in_quotes = {'"': variable, "'": f"'\"{variable}\"'"}
    # `open_quotes` is the stack of open quotes and brackets.
    result, open_quotes, at = "", [""], 0
    while at < len(command):
        if command.startswith(_ROW, at):
            result += in_quotes.get(open_quotes[-1], f'"{variable}"')
            at += len(_ROW)
        else:
            step = 2 if command[at] == "\\" and open_quotes[-1] != "'" else 1
            _update_quotes(open_quotes, command[at : at + step], command[:at])
            result += command[at : at + step]
            at += step
    return result


def _update_quotes(open_quotes: list[str], sign: str, before: str) -> None:
    """Update the stack of open quotes with the next character of a command."""
    top = open_quotes[-1]
    if sign == (")" if top == "(" else top):
        open_quotes.pop()
    elif top != "'" and (
        sign in ('"', "`") or (sign == "'" and top != '"') or (sign == "(" and (top != '"' or before.endswith("$")))
    ):
        open_quotes.append(sign)


def _parse_output(output: str, units: Units) -> Answer:
    """Return (loss, cost) from the last non-empty line, or the loss if it has no cost."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    try:
        value, cost = [*map(float, lines[-1].split()), *([0.0] if len(lines[-1].split()) == 1 else [])]
        if units.low <= value <= units.high and 0.0 <= cost < math.inf:
            return (units.loss(value), cost) if len(lines[-1].split()) == 2 else units.loss(value)
    except (IndexError, ValueError):
        value = math.nan
    fix = ""
    if units == UNIT_LOSSES and 1.0 < value < math.inf:
        fix = f"; for scores, start the race with --range 0,{suggested_range(0.0, value)[1]:g} --scores"
    raise _CommandError(
        f"expected a {units.quantity} from {units.low:g} to {units.high:g} in the last line of its output, got "
        f"{lines[-1:]}{fix}"
    )


async def _run(words: list[str], limit_seconds: float | None) -> tuple[int, str, str]:
    """Run a program; return status, output and the last line of its errors.

    It runs in its own session, so that its children can be killed with it.
    """
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        start_new_session=True,
        limit=_MAX_LINE_BYTES,
    )
    try:
        output, errors = await asyncio.wait_for(process.communicate(), limit_seconds)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    last = errors.decode(errors="replace").strip().splitlines()[-1:]
    return process.returncode or 0, output.decode(errors="replace"), "".join(last)[:200]
