"""Gate for continuous integration: decide whether a prompt change may be merged."""

import subprocess
import sys
import tempfile
from pathlib import Path

GRADE = """
import sys
prompt, question = sys.argv[1], int(sys.argv[2].split()[1])
wrong = {"old": 30, "new": 12, "broken": 55}[prompt]  # per cent; replace this by a call of your model
print(float((question * 7919 + len(prompt) * 104729) % 100 < wrong))
"""

with tempfile.TemporaryDirectory() as folder:
    place = Path(folder)
    (place / "grade.py").write_text(GRADE)
    (place / "questions.txt").write_text("\n".join(f"question {number}" for number in range(400)))
    for change in ("new", "broken"):
        commands = [
            f"{prompt}={sys.executable} -I -S grade.py {prompt} {{row}}"
            for prompt in ("old", change)
        ]
        gate = subprocess.run(
            [
                sys.executable,
                "-m",
                "tombola",
                "race",
                "run",
                "questions.txt",
                "--losses",
                "--file",
                f"{change}.race",
                "--candidate",
                commands[0],
                "--candidate",
                commands[1],
                "--baseline",
                "old",
                "--within",
                "0.02",
                "--seed",
                "1",
                "--quiet",
            ],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
        )
        print(gate.stdout.strip())
        print("exit status:", gate.returncode)
