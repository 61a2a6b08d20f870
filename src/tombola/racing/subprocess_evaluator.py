"""SubprocessEvaluator: candidates are commands, a call runs one on a row."""

import asyncio
import contextlib
import math
import os
import shlex
import shutil
import signal
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tombola import _validate
from tombola._formatting import join_names, truncate
from tombola.errors import FeedbackError, ParameterError, SessionError, TombolaError
from tombola.racing.events import Call
from tombola.units import UNIT_LOSSES, Units

if TYPE_CHECKING:
    from tombola.racing._race import Race

# Placeholder in a command that is replaced by the name of the row.
_ROW = "{row}"
# Buffer of each output pipe in bytes, 1 MiB: how far asyncio reads ahead of the program.
_MAX_LINE_BYTES = 1 << 20
# `hint` suggests a smaller cap if no loss, which is run time / cap, exceeds this: then the
# differences are small.
_LOW_LOSS = 0.1
# Characters of the reason in a note about failed calls: a path and the message of the system.
_MAX_REASON_LENGTH = 240
# The answer of a command: loss in [0, 1] and cost, or the loss alone; with several metrics the cost
# and the losses by the others.
Answer: TypeAlias = float | tuple[float, float] | tuple[float, float | None, tuple[float, ...]]


class _CommandError(TombolaError):
    """Raised if a command fails to produce a loss: status, timeout or bad output."""


class OutOfRangeError(FeedbackError):
    """Raised if a command prints a number outside of the range of the race.

    The call has not failed: the range is wrong. As failures, the best scores would count as the
    worst.
    """


class CallCounts:
    """Numbers of calls and of failed calls by candidate, in one run."""

    def __init__(self) -> None:
        self._calls: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._last_reason: dict[str, str] = {}

    def add(self, candidate: str, error: Exception | None = None) -> None:
        """Count a call of a candidate; `error` is the reason of a failure."""
        self._calls[candidate] += 1
        if error is not None:
            self._failures[candidate] += 1
            self._last_reason[candidate] = str(error)

    @property
    def always_failed(self) -> list[str]:
        """Names of the candidates that were called, and whose calls all failed."""
        return [name for name, count in self._failures.items() if count == self._calls[name]]

    def notes(self) -> list[str]:
        """Return a line per candidate with failed calls, with the last reason.

        >>> counts = CallCounts()
        >>> counts.add("new", ValueError("ended with status 2"))
        >>> counts.notes()
        ['Note: 1 of 1 calls of new failed; the last one: ended with status 2']
        """
        return [
            f"Note: {count:,} of {self._calls[name]:,} calls of {name} failed; the last one: "
            f"{truncate(self._last_reason[name], _MAX_REASON_LENGTH)}"
            for name, count in self._failures.items()
        ]

    def check(self, *, proved: bool | None, loss: str) -> None:
        """Raise SessionError if all calls of a candidate failed, and the question is decided.

        loss: as in `SubprocessEvaluator`; with "exit" and "seconds" a failed call is a valid
            result.
        """
        if proved is not None and loss == "stdout" and self.always_failed:
            raise SessionError(
                "race run: expected an answer from each candidate, but all calls of "
                f"{join_names(self.always_failed)} "
                "failed in this run, each counted as the worst answer; run its command by hand, "
                "then start a new race."
            )


@dataclass(frozen=True)
class SubprocessEvaluator:
    """Evaluate candidates by running a command per call.

    commands  candidate name -> command, in which {row} is replaced by the row
    loss      "stdout": the last line of output is the loss in [0, 1], optionally followed by the
              cost; "exit": 0 for exit status 0, else 1; "seconds": run time divided by `cap`
    cap       with loss "seconds" only: seconds that count as loss 1; a command that takes longer is
              killed. Else None
    timeout   seconds after which a command is killed and has failed; None: no limit
    retries   how often a failed command is run again
    shell     whether /bin/sh runs the commands; else they are started directly
    units     the unit of the numbers that commands print, with loss "stdout"
    further   units of further numbers that they print after the first, before the cost
    """

    commands: Mapping[str, str]
    loss: str = "stdout"
    cap: float | None = None
    timeout: float | None = None
    retries: int = 0
    shell: bool = False
    units: Units = UNIT_LOSSES
    further: tuple[Units, ...] = ()

    def __post_init__(self) -> None:
        if self.loss not in ("stdout", "exit", "seconds"):
            raise ParameterError(
                f"--loss: expected stdout, exit or seconds, got {self.loss!r}; write --loss stdout."
            )
        if (self.loss == "seconds") != (self.cap is not None):
            raise ParameterError(
                "--cap: expected the number of seconds that count as loss 1, with --loss seconds "
                "only, "
                f"got {self.cap!r} with --loss {self.loss}; write --loss seconds --cap 60."
            )
        for name in ("cap", "timeout"):
            if getattr(self, name) is not None:
                _validate.real("race run", name, getattr(self, name), above=0)
        _validate.integer("race run", "retries", self.retries, least=0)

    def check(self) -> None:
        """Raise ParameterError if a command cannot run; no command is started."""
        if self.cap is not None and self.timeout is not None and self.timeout < self.cap:
            raise ParameterError(
                f"--timeout: expected at least the {self.cap:g} seconds of --cap, got "
                f"{self.timeout:g}; leave out "
                "--timeout: with --loss seconds a run ends at --cap and counts as a timeout."
            )
        for name, command in self.commands.items():
            words = self._command_line(command, "")
            if _ROW not in command:
                raise ParameterError(
                    f"--candidate: expected {_ROW} where the row goes in the command of {name}, "
                    f"got {command!r}; "
                    f"write --candidate '{name}=COMMAND {_ROW}'."
                )
            if not self.shell and shutil.which(words[0]) is None:
                raise ParameterError(
                    f"--candidate: the command of {name} starts with {words[0]!r}, which is not "
                    "an executable "
                    "program here; check its name, or give its full path."
                )

    def _command_line(self, command: str, row: str) -> list[str]:
        """Return the program to start and its arguments; a row is never split."""
        if self.shell:
            return ["/bin/sh", "-c", f"tombola_row=$1; shift; {_as_variable(command)}", "sh", row]
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise ParameterError(
                f"--candidate: expected a command, got {command!r} ({error}); close its quotes."
            ) from None
        if not words:
            raise ParameterError(
                "--candidate: expected a command after the name, got none; write name=COMMAND "
                "{row}."
            )
        return [word.replace(_ROW, row) for word in words]

    async def evaluate(
        self, call: Call, log: Callable[[str], None] | None = None, counts: CallCounts | None = None
    ) -> Answer:
        """Run the command of a call, with retries; return (loss, cost), or the loss.

        The loss is in [0, 1]. The cost is the run time in seconds with loss "seconds", and the
        printed cost, if there is one, with loss "stdout". Raises a TombolaError if the last attempt
        fails, too; OutOfRangeError at once. `log` receives a line per failed attempt, and `counts`
        counts the call.
        """
        counts = CallCounts() if counts is None else counts
        for left in range(self.retries, -1, -1):
            try:
                answer = await self._run_once(call)
            except _CommandError as error:
                if log is not None:
                    log(
                        f"{call.candidate} on {call.row}: {error}; "
                        f"{'trying again' if left else 'counted as failed'}"
                    )
                if not left:
                    counts.add(call.candidate, error)
                    raise
            else:
                break
        counts.add(call.candidate)
        return answer

    async def _run_once(self, call: Call) -> Answer:
        limit = min(filter(None, (self.cap, self.timeout)), default=None)
        words = self._command_line(self.commands[call.candidate], call.row)
        started = time.perf_counter()
        try:
            status, output, errors = await _run(words, limit)
        except TimeoutError:
            if self.cap is not None and limit == self.cap:
                return 1.0, self.cap
            raise _CommandError(f"took longer than {limit:g} seconds") from None
        except OSError as error:
            raise _CommandError(f"could not be started ({error.strerror})") from None
        seconds = time.perf_counter() - started
        # Statuses above 125 mean that the shell could not run the command or that a signal ended
        # it.
        if self.loss == "exit" and 0 <= status <= 125:
            return float(status != 0)
        if status != 0:
            raise _CommandError(
                f"ended with status {status}" + (f" and printed {errors!r}" if errors else "")
            )
        if self.cap is not None:
            return min(1.0, seconds / self.cap), seconds
        return _parse_output(call, output, (self.units, *self.further))

    def hint(self, race: "Race") -> str:
        """Return advice if the cap is so large that it slows the race; else "".

        A loss is a share of the cap, and any remaining row may take all of it. So run times that
        are all a small part of the cap decide late, however much they differ.
        """
        if self.cap is None or race.largest_loss > _LOW_LOSS or race.calls_left > race.calls_made:
            return ""
        longest = race.largest_loss * self.cap
        return (
            f"no call took more than {longest:.2g} of the {self.cap:g} seconds of --cap, so "
            "differences are "
            f"small: a new race with --cap {2 * longest:.1g} will probably need fewer calls"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data, without units, which the settings have."""
        own = ("units", "further")
        fields = {name: value for name, value in asdict(self).items() if name not in own}
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
    result = ""
    open_quotes = [""]
    at = 0
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
        sign in ('"', "`")
        or (sign == "'" and top != '"')
        or (sign == "(" and (top != '"' or before.endswith("$")))
    ):
        open_quotes.append(sign)


def _parse_output(call: Call, output: str, units: tuple[Units, ...]) -> Answer:
    """Return the losses of the last non-empty line, and the cost if it has one.

    units: of each number before the cost.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    words = lines[-1].split() if lines else []
    numbers: list[float] = []
    with contextlib.suppress(ValueError):
        numbers = [float(word) for word in words]
    values = numbers[: len(units)]
    costs = numbers[len(units) :]
    if (
        len(values) < len(units)
        or len(costs) > 1
        or not all(map(math.isfinite, numbers))
        or not all(cost >= 0.0 for cost in costs)
    ):
        names = ", then ".join(_range_text(own, by_name=len(units) > 1) for own in units)
        raise _CommandError(f"expected {names} in the last line of its output, got {lines[-1:]}")
    for own, value, word in zip(units, values, words, strict=False):
        if not own.low <= value <= own.high:
            raise _out_of_range(call, own, word, by_name=len(units) > 1)
    losses = [own.loss(value) for own, value in zip(units, values, strict=True)]
    if len(units) > 1:
        return losses[0], costs[0] if costs else None, tuple(losses[1:])
    return (losses[0], costs[0]) if costs else losses[0]


def _range_text(units: Units, *, by_name: bool) -> str:
    """Return what a number may be, such as "a score from 0 to 1", or "accuracy from 0 to 1"."""
    article = "" if by_name else "a "
    return f"{article}{units.quantity} from {units.low:g} to {units.high:g}"


def _out_of_range(call: Call, units: Units, word: str, *, by_name: bool) -> OutOfRangeError:
    # One number does not reveal the true range, so no range is suggested.
    direction = "--scores " if units.scores else ""
    scores = "" if units.scores else ", and with --scores if higher is better"
    option = f"--range {units.quantity}=LOW,HIGH" if by_name else f"{direction}--range LOW,HIGH"
    return OutOfRangeError(
        f"race run: expected {_range_text(units, by_name=by_name)}, got {truncate(word)} for "
        f"{call.candidate} on row {truncate(call.row)}; start the race with the true range, "
        f"{option} with the smallest and the largest possible {units.quantity}"
        f"{'' if by_name else scores}."
    )


async def _run(words: list[str], limit_seconds: float | None) -> tuple[int, str, str]:
    """Run a program; return status, output and the last line of its errors.

    It runs in its own session, so that its children can be killed with it.
    """
    streams: Any = {"stdin": DEVNULL, "stdout": PIPE, "stderr": PIPE, "limit": _MAX_LINE_BYTES}
    process = await asyncio.create_subprocess_exec(*words, start_new_session=True, **streams)
    try:
        output, errors = await asyncio.wait_for(process.communicate(), limit_seconds)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    last = errors.decode(errors="replace").strip().splitlines()[-1:]
    return process.returncode or 0, output.decode(errors="replace"), "".join(last)[:200]
