"""count_actions: how often a policy chooses which sequence of arms when the rewards are given in advance."""

from collections import Counter

from numpy.typing import ArrayLike

from dpbandits import _validate
from dpbandits._phrases import count_text
from dpbandits.auditing.trials import Trials
from dpbandits.environments.given import Given
from dpbandits.errors import InvalidInput
from dpbandits.policies.policy import Policy

_MAX_SEQUENCES = 2**22


def count_actions(
    policy: Policy, rewards: ArrayLike, *, arms: int, trials: int, seed: int = 0
) -> Counter[tuple[int, ...]]:
    """Play a policy many times on the same rewards and count the sequences of arms, numbered from 1.

    Args:
        policy: what to play.
        rewards: one for every step, in [0, 1], whichever arm is chosen.
        arms: how many arms.
        trials: how many runs.
        seed: the same seed gives the same numbers, on any number of cores.

    Raises:
        InvalidInput: there are more than 2^22 possible sequences.
        MissingExtra: numba is not installed.

    >>> from dpbandits import UCB
    >>> count_actions(UCB(), [0, 1, 0, 0], arms=2, trials=10)
    Counter({(1, 2, 2, 2): 10})
    """
    _validate.check_kind(Policy, "a policy, such as DPUCB(epsilon=1.0)", policy=policy)
    arms = _validate.integer("[1, 1000]", arms=arms)
    environment = Given(rewards, arms)
    trials = _validate.integer("[1, inf)", trials=trials)
    steps = len(environment.rewards)
    if arms**steps > _MAX_SEQUENCES:
        size = f"arms={arms} and {count_text(steps, 'reward')}"
        raise InvalidInput(f"Expected {size} to have at most {_MAX_SEQUENCES} sequences.")
    player = Trials(policy, arms, steps, _validate.integer("[0, inf)", seed=seed))
    codes, counts = player.outcomes(environment, trials)
    return Counter(
        {
            tuple(arm + 1 for arm in player.sequence(code, environment, trials)): times
            for code, times in zip(codes.tolist(), counts.tolist(), strict=True)
        }
    )
