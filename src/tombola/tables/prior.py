"""Prior: how learners rank on other tables, by setting; it decides only between those that are tied here."""

# The mean rank on real tables: every second of seventeen by name, which are nine; of these the five with costs for the
# budget, and the four smallest for bandit feedback, late losses and switching, with all that take part now. 40
# repetitions, a delay of 100 rounds, a price of 5 losses, a budget half-way between the cheapest and the best action; a
# learner that is not listed ranks in the middle. Measured by: python benchmarks/advice.py ranks ../shared/pools; losses
# under a budget by benchmarks/budgets.py, where the first of the two is ahead on most tables.
RANKS: dict[str, dict[str, float]] = {
    "full": {
        "FollowTheLeader": 1.22,
        "FlipFlop": 1.78,
        "AdaHedge": 3.00,
        "HedgeAnytime": 4.00,
        "Hedge": 5.00,
        "Uniform": 6.00,
    },
    "bandit": {
        "Thrifty": 1.25,
        "EpsilonGreedy": 2.50,
        "FrugalUCB": 2.75,
        "ThompsonSampling": 4.00,
        "KLUCB": 4.50,
        "UCB2": 7.00,
        "TsallisInf": 7.50,
        "ExploreThenCommit": 8.25,
        "UCB1": 8.50,
        "Exp3": 8.75,
        "SuccessiveElimination": 11.00,
    },
    "late rows": {
        "FollowTheLeader": 1.33,
        "FlipFlop": 2.11,
        "AdaHedge": 2.56,
        "HedgeAnytime": 4.11,
        "Simulation of leaders": 4.89,
        "Interleaved Hedge": 6.00,
        "Hedge": 7.00,
        "Uniform": 8.00,
    },
    "late losses": {
        "Thrifty": 1.00,
        "ThompsonSampling": 3.00,
        "FrugalUCB": 4.50,
        "EpsilonGreedy": 4.75,
        "KLUCB": 5.25,
        "UCB2": 6.25,
        "UCB1": 7.00,
        "TsallisInf": 7.25,
        "ExploreThenCommit": 7.75,
        "Exp3": 9.25,
        "SuccessiveElimination": 10.00,
    },
    "switching": {
        "Thrifty": 1.00,
        "FrugalUCB": 2.00,
        "SerflingElimination": 4.25,
        "BatchedExp3": 4.50,
        "EpsilonGreedy": 5.25,
        "TsallisSwitching": 6.25,
        "KLUCB": 7.25,
        "UCB2": 7.50,
        "ThompsonSampling": 9.25,
        "ExploreThenCommit": 9.25,
        "UCB1": 11.00,
        "TsallisInf": 11.50,
        "Exp3": 12.00,
        "SuccessiveElimination": 14.00,
    },
    "budget": {
        "EmpiricalLP": 1.00,
        "DualDescent": 2.00,
        "PrimalDual": 3.00,
        "SerflingLP": 4.00,
    },
    "budget losses": {
        "ThriftyLP": 1.00,
        "OptimisticLP": 2.00,
    },
}
