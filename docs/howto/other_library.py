"""A learner of another library: regressors of scikit-learn, objects of river."""

from sklearn.linear_model import SGDRegressor

from tombola import FollowTheLeader, Simulation, demo, play
from tombola.learners import PythonLearner, Uniform

pool = demo.gpu_models(horizon=400, seed=0)

# scikit-learn: one regressor for each action learns its mean loss; play the smallest prediction.
ONE = [[1.0]]


def make(actions, rounds):
    """Return fresh regressors, one per action, each fitted to a middling loss."""
    return [SGDRegressor(random_state=0).partial_fit(ONE, [0.5]) for _ in range(actions)]


def predict(models):
    """Return the action with the smallest prediction."""
    predictions = [model.predict(ONE)[0] for model in models]
    return predictions.index(min(predictions))


def update(models, losses):
    """Show every regressor the loss of its action."""
    for model, loss in zip(models, losses, strict=True):
        model.partial_fit(ONE, [loss])


# river: an object that learns one at a time.
class RunningMeans:
    """Means of the losses seen, with the method names of river."""

    def __init__(self, actions):
        self.seen, self.means = 0, [0.0] * actions

    def predict_one(self):
        """Return the action with the smallest mean."""
        return self.means.index(min(self.means))

    def learn_one(self, losses):
        """Take in a row."""
        self.seen += 1
        self.means = [
            mean + (loss - mean) / self.seen for mean, loss in zip(self.means, losses, strict=True)
        ]


learners = {
    "scikit-learn regressors": Simulation(PythonLearner(make, predict, update)),
    "river-style means": Simulation(
        PythonLearner(
            make=lambda actions, _rounds: RunningMeans(actions),
            predict=lambda subject: subject.predict_one(),
            update=lambda subject, losses: subject.learn_one(losses),
        )
    ),
    "FollowTheLeader": Simulation(FollowTheLeader()),
}
uniform = play(Uniform(), pool, order="random", seed=1).expected_regret
print(f"Uniform: regret {uniform:.1f} over {pool.rows} rounds")
for name, learner in learners.items():
    trace = play(learner, pool, order="random", delay=10, seed=1)
    print(
        f"Simulation of {name:>23}: less than two thirds of that:",
        trace.expected_regret < uniform * 2 / 3,
    )
