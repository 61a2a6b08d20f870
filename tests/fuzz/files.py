"""Fuzz the files that tombola reads, and print the number of tries by result.

PYTHONPATH=src:tests python tests/fuzz/files.py KIND TRIES    with a kind of KINDS, e.g. tables 5000
"""

from fuzz.cached_results import cached_results
from fuzz.damaged_tables import tables
from fuzz.driver import Check, main
from fuzz.event_logs import races, runs
from fuzz.saved_sessions import sessions

KINDS: dict[str, Check] = {
    "sessions": sessions,
    "session_files": runs,
    "race_files": races,
    "tables": tables,
    "cached_results": cached_results,
}

if __name__ == "__main__":
    main(KINDS)
