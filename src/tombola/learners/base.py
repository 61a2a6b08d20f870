"""Base classes of learners.

Kernels are static methods over the state of a learner; Numba compiles them, and they also run as
plain Python. Their arguments are passed by name: a kernel lists those it needs, in any order, and
other names are rejected. Every number of the state is float64 inside. Feedback may be late, out of
order or missing, so `act` must not assume that earlier rounds were answered.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from tombola._types import Floats, RngState
from tombola.errors import LearnerError
from tombola.learners.parameters import Checked

# Kind of feedback of a learner: "full" reveals the losses of all actions, "bandit" the loss of the
# action played.
Feedback = Literal["full", "bandit"]
# A function that Numba compiles, which also runs as plain Python.
Kernel: TypeAlias = Callable[..., Any]


class Kernels(NamedTuple):
    """Methods of a learner that the engine compiles; one of `act` and `mix` is None.

    mix: writes the probabilities of all actions; for learners that return a mix.
    needs_plan: whether `plan` must run before the next round.
    """

    act: Kernel | None
    mix: Kernel | None
    observe: Kernel
    needs_plan: Kernel


# The order in which the engine passes arguments, by kernel; `observe` depends on the feedback.
_KERNEL_PARAMETERS: dict[str, tuple[str, ...]] = {
    "act": ("state", "rng"),
    "mix": ("state", "mix"),
    "needs_plan": ("state",),
    "observe full": ("state", "round", "losses"),
    "observe bandit": ("state", "action", "probability", "loss"),
    "needs_plan budgeted": ("state", "fits"),
    "observe budgeted": ("state", "round", "played", "losses", "costs"),
    "observe budgeted-bandit": ("state", "round", "action", "probability", "loss", "costs"),
}


@dataclass(frozen=True)
class Learner(Checked, ABC):
    """Base class of learners that return one action.

    Subclass it as a frozen dataclass with the class attribute `feedback`, and define:

    - `init(self, actions, horizon)` returns the state before the first round, a named tuple of
      numbers and arrays;
    - `act(state, rng)`, static, returns the action of the round, from 0, and its probability;
    - `observe(state, losses)` or, with bandit feedback, `observe(state, action, probability,
      loss)`, static, updates the arrays of the state with the feedback of one round.

    help() of each has the parameters. The static methods are kernels: Numba compiles them, so they
    use numbers and arrays only. Optional: `needs_plan` and `plan`, to compute in plain Python
    between rounds, and `bound`. CONTRIBUTING.md has a complete example.

    feedback: "full", the learner observes the losses of all actions, or "bandit", that of the
        action played.
    learns: whether `check_learner` tests that it beats uniform play; False for baselines and slow
        learners.
    names_actions: whether a parameter is the index of an action. `compare` renumbers the actions at
        random in each repetition, but not for such a learner.
    """

    feedback: ClassVar[Feedback]
    learns: ClassVar[bool] = True
    names_actions: ClassVar[bool] = False

    @abstractmethod
    def init(self, actions: int, horizon: int) -> Any:
        """Return the state before the first round, a named tuple of numbers and arrays.

        The kernels get it as `state`. Fields that change must be arrays, even single numbers.
        Raises ParameterError if the parameters of the learner do not fit the number of actions.
        """

    @staticmethod
    @abstractmethod
    def act(state: Any, rng: RngState) -> tuple[int, float]:
        """Return the action of this round, from 0, and its probability; a kernel.

        The probability is 1 if the action is not random, NaN if there is no formula. `rng` is the
        first argument of `tombola.rng.uniform(rng)` and others there.
        """

    @staticmethod
    @abstractmethod
    def observe(state: Any, *feedback: Any) -> None:
        """Update the state in place with the feedback of one round; a kernel.

        A learner declares the arguments that it uses, in any order; they are passed by name.

        losses, round: with full information; losses in [0, 1] of all actions, shape (k,), and the
            round, from 1.
        action, probability, loss: with bandit feedback; the action played, from 0, its probability
            then, and its loss in [0, 1].
        """

    @staticmethod
    def needs_plan(state: Any) -> bool:
        """Return whether `plan` must run before the next round; a kernel.

        False for learners that never plan. `plan` must change the state so that this returns False.
        """
        return False

    def plan(self, state: Any, rng: RngState) -> None:
        """Compute between two rounds in plain Python; write the result into `state`.

        It is called when `needs_plan` returns True, for work that cannot be compiled, such as an
        LP.
        """

    @property
    def plans(self) -> bool:
        """Whether this learner may plan between rounds: it overrides `needs_plan`."""
        return type(self).needs_plan is not Learner.needs_plan

    @property
    def needs_round(self) -> bool:
        """Whether `observe` takes the round of the play as a parameter."""
        return "round" in inspect.signature(self.observe).parameters

    @property
    def mixes(self) -> bool:
        """Whether it is a `MixedLearner`, which returns the probability of every action."""
        return False

    def kernels(self, actions: int, horizon: int) -> Kernels:
        """Return the static methods as functions to compile, parameters in engine order.

        Raises LearnerError for a parameter that the engine does not pass.
        """
        return Kernels(
            act=kernel_by_name(self, "act"),
            mix=None,
            observe=kernel_by_name(self, "observe", str(self.feedback)),
            needs_plan=kernel_by_name(self, "needs_plan"),
        )

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        """Return a bound on the expected regret for every pool in random order, or None.

        None means that no bound is proved for these arguments; most are proved without delay only.
        Learners for switching costs include the price of their switches, in losses. An override
        lists the parameters it needs, in any order: they are passed by name. `delay` is the
        constant delay of the feedback, in rounds.
        """
        return None


@dataclass(frozen=True)
class MixedLearner(Learner):
    """Base class of learners that return a mix; the engine draws the action.

    As `Learner`, but define `mix(state, mix)` instead of `act`.
    """

    @staticmethod
    @abstractmethod
    def mix(state: Any, mix: Floats) -> None:
        """Write the probability of every action, with sum 1, into `mix`, shape (k,)."""

    @staticmethod
    def act(state: Any, rng: RngState) -> tuple[int, float]:
        raise AssertionError("the engine draws the action of a MixedLearner from its mix")

    @property
    def mixes(self) -> bool:
        return True

    def kernels(self, actions: int, horizon: int) -> Kernels:
        return super().kernels(actions, horizon)._replace(act=None, mix=kernel_by_name(self, "mix"))


def kernel_by_name(learner: Any, method: str, feedback: str = "") -> Kernel:
    """Return a method of `learner` with its parameters in the engine's order.

    Raises LearnerError for a parameter that the engine does not pass.

    method: "act", "mix", "observe" or "needs_plan".
    feedback: kind of feedback, where the parameters depend on it; else "".
    """
    key = f"{method} {feedback}".strip()
    kernel: Kernel = getattr(learner, method)
    # A kind of feedback defined elsewhere passes its arguments by position.
    return (
        _reorder(type(learner).__name__, method, kernel, _KERNEL_PARAMETERS[key])
        if key in _KERNEL_PARAMETERS
        else kernel
    )


def bound_of(learner: Any, *, actions: int, horizon: int, delay: int = 0) -> float | None:
    """Return the regret bound of a learner by `learner.bound`; None without a proof.

    Arguments are passed by name, since numbers of actions and of rounds in the wrong places would
    give a wrong bound; LearnerError if `learner.bound` has other parameters. None with a `delay`
    above 0 if it has no parameter `delay`.
    """
    values = {"actions": actions, "horizon": horizon, "delay": delay}
    parameters = inspect.signature(learner.bound).parameters.values()
    names = {p.name for p in parameters if p.name in values or p.default is p.empty}
    if unknown := sorted(names - values.keys()):
        raise LearnerError(
            f"{type(learner).__name__}.bound: expected parameters among {', '.join(values)}, got "
            f"{', '.join(unknown)}; "
            "arguments are passed by name, write for example def bound(self, actions, horizon, "
            "delay=0)."
        )
    # A bound without the parameter `delay` holds without delay only.
    if delay and "delay" not in names:
        return None
    bound: float | None = learner.bound(**{name: values[name] for name in names})
    return bound


@lru_cache(maxsize=1024)
def _reorder(owner: str, method: str, kernel: Kernel, parameters: tuple[str, ...]) -> Kernel:
    """Return `kernel`, wrapped if it takes its parameters in another order.

    Numba inlines the wrapper, so another order costs nothing. Equal kernels share one wrapper, so
    that the fingerprint of the compiled loop stays the same.
    """
    signature = inspect.signature(kernel).parameters.values()
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in signature):
        return kernel
    names = tuple(p.name for p in signature if p.name in parameters or p.default is p.empty)
    if names == parameters:
        return kernel
    if unknown := [name for name in names if name not in parameters]:
        raise LearnerError(
            f"{owner}.{method}: expected parameters among {', '.join(parameters)}, got "
            f"{', '.join(unknown)}; arguments "
            f"are passed by name, write for example def {method}({', '.join(parameters)})."
        )
    # Generated source, because Numba cannot compile a call with keywords from a dictionary.
    source = f"lambda kernel: lambda {', '.join(parameters)}: kernel({', '.join(names)})"
    wrapper: Kernel = eval(source, {"__name__": __name__})(kernel)
    return wrapper
