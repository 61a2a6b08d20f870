"""Run every how-to, and store what it prints: `python docs/record.py` after a change of a script or a learner."""

import subprocess
import sys
from pathlib import Path

HOWTO = Path(__file__).parent / "howto"

for script in sorted(HOWTO.glob("*.py")):
    ran = subprocess.run([sys.executable, "-W", "error", script], capture_output=True, text=True, check=True)
    (HOWTO / "output" / f"{script.stem}.txt").write_text(ran.stdout, encoding="utf-8")
    print(f"{script.name}: {len(ran.stdout.splitlines())} lines")
