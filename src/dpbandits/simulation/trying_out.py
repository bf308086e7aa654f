"""A trial of a user's environment, before anything is played: whether its rewards are in range and have its means.

A reward outside [0, 1] would be played without a word, and everything that is proved for a policy would be void.
"""

import numpy as np

from dpbandits._phrases import count_text
from dpbandits.environments.environment import Environment, block_sum, reward
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.seeded import SeededNoise

_ARMS = 10  # that are tried out
_DRAWS = 2000
# A correct mean is this far from that of _DRAWS draws with a probability below 1e-16 (Hoeffding 1963).
_TOLERANCE = 0.1
_BLOCK = 50
_OURS = "dpbandits.environments."


def try_out(environment: Environment, horizon: int) -> None:
    """Refuse an environment that is not one of ours, if some of its rewards are not in [0, 1] or miss its means."""
    if type(environment).__module__.startswith(_OURS):  # tested
        return
    params, noise = environment.configure(), SeededNoise(0)
    plays = min(_BLOCK, horizon)
    times = np.linspace(1, horizon, _DRAWS).astype(np.int64)  # rewards may depend on time
    for arm in range(min(environment.arms, _ARMS)):
        rewards = np.array([float(reward(params, arm, int(t), noise)) for t in times])
        of_arm = f"of {type(environment).__name__} for arm {arm}"
        _check_range(f"rewards {of_arm}", rewards, 1)
        starts = np.minimum(times[:: _DRAWS // _BLOCK], horizon - plays + 1)
        sums = [float(block_sum(params, arm, plays, int(t), noise)) for t in starts]
        _check_range(f"sums {of_arm} over {count_text(plays, 'play')}", np.array(sums), plays)
        mean = float(environment.means[arm])
        for what, average in (("rewards", rewards.mean()), ("sums of blocks", np.mean(sums) / plays)):
            if abs(average - mean) > _TOLERANCE:
                raise InvalidInput(
                    f"Expected {what} {of_arm} to have the mean {mean:g} that it states, not {average:.3g}."
                )


def _check_range(what: str, values: "np.ndarray[tuple[int], np.dtype[np.float64]]", most: int) -> None:
    outside = values[~((values >= 0) & (values <= most))]  # NaN is inside nothing
    if len(outside):
        raise InvalidInput(f"Expected {what} in [0, {most}], not {outside[0]:g}.")
