"""What policies share that forget: an arm's mean is that of its last phase alone, so it carries a single noise."""

from typing import Annotated, Any, NamedTuple

from dpbandits._kernel import kernel
from dpbandits.mechanisms.release import release
from dpbandits.mechanisms.state import public
from dpbandits.policies.phases import Phases, Tally, begin_next_phase, ends_phase


class State(NamedTuple):
    """Where the arms stand, and what their last phases gave."""

    tally: Tally
    means: Annotated[Any, public("arms")]
    sizes: Annotated[Any, public("arms")]  # plays of the last phase


@kernel
def learn_last(phases: Phases, state: State, arm: int, plays: int, reward: Any, noise: Any, mechanism: int) -> bool:
    """Take in plays; at a phase's end release its mean. Tell whether a new arm is to be chosen by its index."""
    tally = state.tally
    if not ends_phase(phases, tally, arm, plays, reward):
        return False
    size = phases.sizes[tally.done[arm]]
    state.means[arm] = release(noise, tally.sums[arm], phases.scale, mechanism, arm) / size
    state.sizes[arm] = size
    return begin_next_phase(tally, arm)
