"""SubprocessEvaluator: candidates that are commands of this machine; a call runs one of them on a row, without a shell."""

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
from typing import TYPE_CHECKING, Any

from tombola import _validate
from tombola.errors import ParameterError, TombolaError
from tombola.racing.events import Call

if TYPE_CHECKING:
    from tombola.racing._race import Race

ROW = "{row}"
LONGEST = 1 << 20  # bytes of output that are read
HIGH = 0.1  # of the cap: where times begin to count for something


class ProgramError(TombolaError):
    """A command that did not answer."""


def silent(text: str) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class SubprocessEvaluator:
    """A command for every candidate, in which {row} stands for the row, and how its loss is read.

    loss "stdout": the last line of its output, a number in [0, 1], and after a space what it cost
    loss "exit": 0 if it ends with status 0, else 1
    loss "seconds": the time it takes, as a share of `cap` seconds; one that takes longer is stopped, and has loss 1
    """

    commands: Mapping[str, str]
    loss: str = "stdout"
    cap: float | None = None
    timeout: float | None = None
    retries: int = 0
    shell: bool = False

    def __post_init__(self) -> None:
        if self.loss not in ("stdout", "exit", "seconds"):
            raise ParameterError(f"--loss: expected stdout, exit or seconds, got {self.loss!r}; write --loss stdout.")
        if (self.loss == "seconds") != (self.cap is not None):
            raise ParameterError(
                "--cap: expected the number of seconds that count as the worst loss with --loss seconds, and only "
                f"there, got {self.cap!r} with --loss {self.loss}; write --loss seconds --cap 60."
            )
        for name in ("cap", "timeout"):
            if getattr(self, name) is not None:
                _validate.real("race run", name, getattr(self, name), above=0)
        _validate.integer("race run", "retries", self.retries, least=0)

    def check(self) -> None:
        """Refuse commands that cannot run, before the first call is made."""
        for name, command in self.commands.items():
            words = self.words(command, "")
            if ROW not in command:
                raise ParameterError(
                    f"--candidate: expected {ROW} where the row goes in the command of {name}, got {command!r}; "
                    f"write --candidate '{name}=COMMAND {ROW}'."
                )
            if not self.shell and shutil.which(words[0]) is None:
                raise ParameterError(
                    f"--candidate: the command of {name} starts with {words[0]!r}, which is no program that can be "
                    "run here; check its name, or give its whole path."
                )

    def words(self, command: str, row: str) -> list[str]:
        """Return the command for a row as the words of a program call; the row is one word, or part of one."""
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
        return [word.replace(ROW, row) for word in words]

    async def ask(self, call: Call, tell: Callable[[str], None] = silent) -> tuple[float, float]:
        """Run the command of a call, and return its loss and its cost; one that fails is tried again."""
        for attempt in range(self.retries + 1):
            try:
                return await self._ask(call)
            except ProgramError as error:
                more = "trying again" if attempt < self.retries else "counted as failed"
                tell(f"{call.candidate} on {call.row}: {error}; {more}")
                last = error
        raise last

    async def _ask(self, call: Call) -> tuple[float, float]:
        patience = min(self.cap or math.inf, self.timeout or math.inf)
        began = time.perf_counter()
        try:
            status, output, errors = await _run(
                self.words(self.commands[call.candidate], call.row), patience if math.isfinite(patience) else None
            )
        except TimeoutError:
            if self.cap is not None and patience == self.cap:
                return 1.0, self.cap
            raise ProgramError(f"took longer than {patience:g} seconds") from None
        except OSError as error:
            raise ProgramError(f"could not be started ({error.strerror})") from None
        seconds = time.perf_counter() - began
        return self._answer(status, output, errors, seconds)

    def _answer(self, status: int, output: str, errors: str, seconds: float) -> tuple[float, float]:
        if self.loss == "exit" and 0 <= status <= 125:
            return float(status != 0), 0.0
        if status != 0:
            raise ProgramError(f"ended with status {status}" + (f" and said {errors!r}" if errors else ""))
        if self.loss == "seconds":
            return min(1.0, seconds / (self.cap or 1.0)), seconds
        return _numbers(output)

    def hint(self, race: "Race") -> str:
        """Say if the cap makes the race longer than it need be; nothing else.

        A loss is a share of the cap, and any row to come might take all of it: times that are all a small part of the
        cap decide late, however much they differ.
        """
        if self.cap is None or race.largest_loss > HIGH or race.calls_saved > race.calls_made:
            return ""
        longest = race.largest_loss * self.cap
        return (
            f"no call took more than {longest:.2g} of the {self.cap:g} seconds of --cap, so differences count for "
            f"little: a new race with --cap {2 * longest:.1g} will probably take fewer calls"
        )

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {**asdict(self), "commands": dict(self.commands)}


def _as_variable(command: str) -> str:
    """Return a command for the shell with a variable in place of the row, as one word also where it stands in quotes.

    The text of a row is never part of the command, so nothing in it is run.

    >>> _as_variable("ask {row}"), _as_variable('ask "x {row}"')
    ('ask "${tombola_row}"', 'ask "x ${tombola_row}"')
    """
    variable = "${tombola_row}"
    written = {'"': variable, "'": f"'\"{variable}\"'"}
    found, inside, at = "", [""], 0  # the quotes and brackets that are open
    while at < len(command):
        if command.startswith(ROW, at):
            found += written.get(inside[-1], f'"{variable}"')
            at += len(ROW)
        else:
            step = 2 if command[at] == "\\" and inside[-1] != "'" else 1
            _turn(inside, command[at : at + step], command[:at])
            found += command[at : at + step]
            at += step
    return found


def _turn(inside: list[str], sign: str, before: str) -> None:
    """Note what a sign of a command opens or closes for the shell."""
    top = inside[-1]
    if sign == (")" if top == "(" else top):
        inside.pop()
    elif top != "'" and (
        sign in ('"', "`") or (sign == "'" and top != '"') or (sign == "(" and (top != '"' or before.endswith("$")))
    ):
        inside.append(sign)


def _numbers(output: str) -> tuple[float, float]:
    """Return the loss, and the cost if there is one, of the last line that is not empty."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    try:
        loss, cost = [*map(float, lines[-1].split()), *([0.0] if len(lines[-1].split()) == 1 else [])]
        if 0.0 <= loss <= 1.0 and 0.0 <= cost < math.inf:
            return loss, cost
    except (IndexError, ValueError):
        pass
    raise ProgramError(f"expected a loss in [0, 1] in the last line of its output, got {lines[-1:]}")


async def _run(words: list[str], patience: float | None) -> tuple[int, str, str]:
    """Run a program in a session of its own, so that all its children can be stopped with it."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *words, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, start_new_session=True, limit=LONGEST
    )
    try:
        output, errors = await asyncio.wait_for(process.communicate(), patience)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    last = errors.decode(errors="replace").strip().splitlines()[-1:]
    return process.returncode or 0, output.decode(errors="replace"), "".join(last)[:200]
