"""Write the runs of an ASlib scenario as a long table: python aslib_to_csv.py FOLDER > runs.csv.

A run that did not end well is a timeout. Then, with the cutoff time of the scenario:
tombola rank runs.csv --losses --missing worst --range 0,CUTOFF
"""

import csv
import sys
from pathlib import Path

names: list[str] = []
rows: list[list[str]] = []
for line in Path(sys.argv[1], "algorithm_runs.arff").read_text().splitlines():
    if line.lower().startswith("@attribute"):
        names.append(line.split()[1].strip("'\""))
    elif line.strip() and not line.startswith(("@", "%")):
        rows += csv.reader([line], quotechar="'", skipinitialspace=True)
writer = csv.writer(sys.stdout, lineterminator="\n")
writer.writerow(["id", "algorithm", "run", "seconds"])
for row in rows:
    run = dict(zip(names, row, strict=True))
    seconds = run["runtime"] if run["runstatus"].strip() == "ok" else "timeout"
    writer.writerow([run["instance_id"], run["algorithm"], run["repetition"], seconds])
