"""Find the best solver setting: capped run times, failures, and a baseline."""

from tombola import demo, race

pool = demo.solvers(seed=0)  # 1,000 instances, 5 solvers: run time as a share of the time limit
solvers = {name: column for column, name in enumerate(pool.actions)}


def run(solver, instance):
    """Return the run time as a share of the limit; raise on a timeout.

    Here it is looked up in a table.
    """
    share = float(pool.losses[instance, solver])
    if share == 1.0:
        raise TimeoutError("no solution within the limit")
    return share


best = race(solvers, range(pool.rows), run, kind="losses", seed=1, workers=1)
print(best.verdict)

first, *others = pool.actions
print(f"\nIs anything better than {first}? At most 600 runs.")
asked = {"baseline": first, "better": True, "max_calls": 600}
gate = race(solvers, range(pool.rows), run, kind="losses", seed=2, workers=1, **asked)
print(gate.verdict)
print("passed by all:", gate.proved)
