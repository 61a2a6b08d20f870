"""Models on one GPU, with a price for each switch.

Loading another model takes as long as several answers.
"""

from tombola import UCB1, UCB2, FrugalUCB, compare, demo
from tombola.learners import SerflingElimination, TsallisSwitching

PRICE = 5.0  # a switch costs as much as five wholly lost answers

pool = demo.gpu_models(seed=0)  # 4,000 requests, 4 models
for name, mean in zip(pool.actions, pool.means, strict=True):
    print(f"{name:>6}: mean loss {mean:.3f}")

learners = {
    "FrugalUCB": FrugalUCB(price=PRICE),
    "UCB2": UCB2(),
    "UCB1": UCB1(),
    "SerflingElimination": SerflingElimination(),
    "TsallisSwitching": TsallisSwitching(price=PRICE),
}
runs = compare(pool, learners, repetitions=20, switching_price=PRICE, seed=1)
free = compare(pool, learners, repetitions=20, seed=1)  # the same plays, switches not counted

print(f"\n{'':>20}  regret   of which switches   (price {PRICE:g}, 20 shuffles)")
for name in runs.ranking():
    regret, without = runs.regret(name).value, free.regret(name).value
    print(f"{name:>20}: {regret:7.1f} {(regret - without) / PRICE:10.1f} x {PRICE:g}")
