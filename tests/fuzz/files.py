"""Fuzz saved sessions, session files and race files.

PYTHONPATH=src:tests python tests/fuzz/files.py sessions 5000    (or session_files, race_files)
"""

from fuzz.driver import Check, main
from fuzz.event_logs import races, runs
from fuzz.saved_sessions import sessions

KINDS: dict[str, Check] = {"sessions": sessions, "session_files": runs, "race_files": races}

if __name__ == "__main__":
    main(KINDS)
