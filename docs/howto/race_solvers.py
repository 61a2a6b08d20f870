"""Which solver setting is best on a set of instances: run times with a cap, failures, and a baseline to beat."""

from tombola import demo, race

pool = demo.solvers(seed=0)  # 1,000 instances, 5 solvers: run time as a share of the time limit
solvers = {name: column for column, name in enumerate(pool.actions)}


def run(solver, instance):
    """Run a solver on an instance, here by looking it up; a crash is an exception, a timeout the loss 1."""
    share = float(pool.losses[instance, solver])
    if share == 1.0:
        raise TimeoutError("no solution within the limit")
    return share


found = race(solvers, range(pool.rows), run, seed=1, workers=1)
print(found.verdict)

first, *others = pool.actions
print(f"\nIs anything better than {first}? At most 600 runs.")
gate = race(solvers, range(pool.rows), run, seed=2, workers=1, baseline=first, max_calls=600)
print(gate.verdict)
print("passed by all:", gate.proved)
