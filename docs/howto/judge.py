"""A judge has scored 2,000 answers; people label as few of them as the question needs.

Generated data: the judge is right in 93 % of the rows, and too kind.
"""

import numpy as np

import tombola

rng = np.random.default_rng(3)
N = 2_000
person = rng.random(N) < 0.66
judge = np.where(person, rng.random(N) < 0.99, rng.random(N) < 0.2)
scores = [{"id": f"q{row}", "ok": int(judge[row])} for row in range(N)]
question = "mean(ok) > 0.72"

labels: list[dict[str, object]] = []
report = tombola.audit(None, question, judge=scores)
while report.outcome == "undecided":
    # A person labels the next ten rows.
    labels += [{"id": name, "ok": int(person[int(name[1:])])} for name in report.next_rows(10)]
    report = tombola.audit(labels, question, judge=scores)
print(report)

print()
plan = {"judge": scores, "looks": 1, "labels": 100}
names = tombola.audit(None, question, **plan).next_rows(100)
labels = [{"id": name, "ok": int(person[int(name[1:])])} for name in names]
print(tombola.audit(labels, question, **plan))
