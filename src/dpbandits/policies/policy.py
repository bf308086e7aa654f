"""Policy: an immutable configuration, and three kernels over its Params and State.

    select(params, state, t)                                    -> the arm of decision t = 1, 2, ...
    hold(params, state, arm, t)                                 -> for how many plays that choice cannot change
    update(params, state, arm, plays, reward, t, noise)         takes in the rewards of `plays` plays of one arm

`select` and `hold` read released statistics and counts, nothing else, and change nothing. `update` keeps secret sums
and lets noisy ones out through `release`. A simulator may play up to `hold` times between two decisions and hand in the
sum of the rewards; playing step by step, or cutting blocks anywhere, gives the same distribution.

A file per policy, in this order: docstring with the index and a *Privacy* paragraph, Params, State, kernels, the public
frozen dataclass. docs/adding_a_policy.md walks through one.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, ClassVar, NamedTuple, Self

from numpy.typing import DTypeLike

from dpbandits import _validate
from dpbandits._kernel import generic, kernel
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.counter import MAX_ITEMS
from dpbandits.mechanisms.state import NOTHING, allocate
from dpbandits.privacy import Guarantee

MAX_ARMS = 1_000_000
MAX_HORIZON = 10**18
# "For ever", for a hold: far beyond every horizon, and still no overflow when a time is added.
FOREVER = 2**62
# Every private policy takes an epsilon from this range: with less, a million rewards are lost in the noise.
SMALLEST_EPSILON = 1e-6
EPSILONS = f"[{SMALLEST_EPSILON}, inf)"


@generic
def select(params: Any, state: Any, t: int) -> int:
    """Return the arm of decision t, counted from 1."""
    raise TypeError(f"{type(params).__module__}.Params belongs to no policy: nothing is registered with `select`.")


@generic
def hold(params: Any, state: Any, arm: int, t: int) -> int:
    """Return for how many plays from decision t on `arm`, which `select` gave, surely stays the choice: 1 or more."""
    raise TypeError(f"{type(params).__module__}.Params belongs to no policy: nothing is registered with `hold`.")


@generic
def update(params: Any, state: Any, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    """Take in the rewards, in one sum, of `plays` plays of `arm`, at most `hold` many; decision t comes next."""
    raise TypeError(f"{type(params).__module__}.Params belongs to no policy: nothing is registered with `update`.")


@kernel
def every_step(params: Any, state: Any, arm: int, t: int) -> int:
    """Hold nothing: for policies that may change their mind after every reward."""
    return 1


class Setup(NamedTuple):
    """What a machine needs to run a policy: its constants, and the state to allocate.

    Args:
        params: the constants of the kernels.
        state_class: the NamedTuple that declares the state.
        sizes: the lengths of the axes besides "arms" and "one", by name.
        parts: the State classes of the fields that are declared as `part()`, by field.
    """

    params: Any
    state_class: Any
    sizes: Mapping[str, int] = NOTHING
    parts: Mapping[str, Any] = NOTHING

    def allocate(self, secret_dtype: DTypeLike) -> Any:
        """Return the state as zeros, with secrets of this dtype."""
        return allocate(self.state_class, self.sizes, secret_dtype, self.parts)


class Block(NamedTuple):
    """One release of an arm, fixed in advance: a sum of its rewards with noise.

    Args:
        first, last: the numbers of the first and the last reward of the sum, counted from 1 for every arm.
        scale: of the noise, in rewards.
    """

    first: int
    last: int
    scale: float


class Policy(ABC):
    """A policy's configuration: immutable, validated when it is made, the same for any number of arms."""

    name: ClassVar[str]  # on the command line and in results
    source: ClassVar[str]  # where it comes from
    # The text that its random numbers in simulations follow from, with its settings in braces; by default its repr.
    # When a class or a setting is renamed, write down here what the repr was, and all published numbers stay.
    seed_text: ClassVar[str] = ""
    # What is proved about its regret, if anything. C = Σ Δ / kl(μ, μ*), C_ε = Σ Δ / d_ε(μ, μ*), over inferior arms.
    regret: ClassVar[str] = ""
    horizon: int | None = None  # what it was declared for, if its releases end somewhere

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return policies of this class that differ in everything that matters, for checks and comparisons."""
        takes_epsilon = any(field.name == "epsilon" for field in fields(cls))  # type: ignore[arg-type]
        return (cls(epsilon=0.7) if takes_epsilon else cls(),)  # type: ignore[call-arg]

    def configure(self, arms: int, horizon: int) -> Setup:
        """Return constants and state for a number of arms and at most `horizon` plays, after checking both numbers."""
        arms, horizon = validated_size(arms, horizon)
        self.check_declared(horizon)
        setup = self.setup(arms, horizon)
        return setup._replace(sizes={"arms": arms, **setup.sizes})

    @abstractmethod
    def setup(self, arms: int, horizon: int) -> Setup:
        """Return constants and state; the numbers are in range, and the axis "arms" has its size."""

    def check_declared(self, horizon: float) -> None:
        """Refuse a horizon beyond the declared one; infinity means whatever was declared."""
        if self.horizon is not None and self.horizon < horizon < math.inf:
            raise InvalidInput(f"Expected horizon={horizon} in [1, {self.horizon}], which the policy was declared for.")

    def guarantee(self, horizon: float = math.inf) -> Guarantee | None:
        """Return what is proved for the whole action sequence and every release up to `horizon`; None if nothing."""
        return None

    def claim(self, horizon: float = math.inf) -> Guarantee | None:
        """Return what the publication says, where that is not what is proved."""
        return None

    def live(self, contributions: int, grid_bits: int) -> "Policy":
        """Return the policy to run for people: its budget covers that many rewards of one person, on the live grid.

        Whatever it has to calibrate is a setting of the returned policy, which has the same class: it is written
        down, so that the schedule is the same wherever a bandit goes on. Only a policy whose releases are fixed in
        advance, as `blocks`, can be run with answers that come late.
        """
        raise not_live(self, "its releases are not fixed in advance, as those of noise-aware-imed are")

    def blocks(self, horizon: int) -> Iterator[Block]:
        """Yield the releases of one arm up to its `horizon`-th reward, the same whatever is played.

        Block k releases when its last reward is in. Either all begin at 1, or each after the last of the one before.
        `select` reads what was released and the time, never a count within a block.
        """
        raise InvalidInput(
            f"Expected policy={self.name} to have releases that are fixed in advance, as noise-aware-imed has."
        )

    def squared_loss_after(self, last: int) -> float:
        """Return a proved bound on Σ 1/scale² over all blocks after the one that ends with an arm's reward `last`.

        Needed of a policy whose blocks all begin at 1 and have no end; infinity means that nothing is proved.
        """
        return math.inf


def validated_size(arms: int, horizon: int) -> tuple[int, int]:
    """Return a number of arms and a horizon that every policy can be configured for."""
    return (
        _validate.integer(f"[1, {MAX_ARMS}]", arms=arms),
        _validate.integer(f"[1, {min(MAX_HORIZON, MAX_ITEMS)}]", horizon=horizon),
    )


def not_live(policy: Policy, why: str) -> InvalidInput:
    """Return the error of a policy that cannot run for people, and the reason."""
    return InvalidInput(f"Expected policy={policy.name} to be one that can run live: {why}.")


def wrong_arm(policy: Policy, arms: int, instead: str = "") -> InvalidInput:
    """Return the error of a policy that chose an arm which does not exist."""
    return InvalidInput(f"Expected `select` of policy={policy.name} to return an arm in [0, {arms - 1}]{instead}.")
