"""Ticker: the live line of a race: survivors, leader, calls made and saved; silent where nobody watches."""

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tombola._parallel import is_interactive

if TYPE_CHECKING:
    from tombola.racing._race import Race

PAUSE = 0.1  # seconds between two looks


def line_of(race: "Race") -> str:
    """Return how the race stands, in one line."""
    share = race.calls_saved / (race.calls_made + race.calls_saved)
    leader = race.leader
    ahead = f", {leader} leads with {race.means[leader]:.4g}" if leader is not None else ""
    more = race.forecast
    guess = f", about {more:,} row{'s' * (more > 1)} to go" if more else ""
    return (
        f"row {race.rows_counted:,}: {len(race.active)} of {len(race.candidates)} in the race{ahead}, "
        f"{race.calls_made:,} calls, {share:.0%} saved{guess}"
    )


class Ticker:
    """A line on the terminal that is written again as the race goes on."""

    def __init__(self, *, show: bool = True) -> None:
        self._on = show and is_interactive()
        self._status: Any = None
        self._last = 0.0

    def __enter__(self) -> "Ticker":
        if self._on:
            from rich.console import Console

            self._status = Console(stderr=True).status("the race begins")
            self._status.start()
        return self

    def show(self, race: "Race") -> None:
        """Show how the race stands, unless that was done a moment ago."""
        if self._status is not None and time.monotonic() - self._last > PAUSE:
            self._last = time.monotonic()
            self._status.update(line_of(race))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()
