"""Run every how-to script and store its output.

`python docs/studies/howto_output.py`.

Needed after a change of a script or of a learner.
"""

import os
import subprocess
import sys
from pathlib import Path

HOWTO = Path(__file__).parents[1] / "howto"

for script in sorted(HOWTO.glob("*.py")):
    ran = subprocess.run(
        [sys.executable, "-W", "error", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    (HOWTO / "output" / f"{script.stem}.txt").write_text(ran.stdout, encoding="utf-8")
    print(f"{script.name}: {len(ran.stdout.splitlines())} lines")
