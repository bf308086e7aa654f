"""The one loop: a policy in an environment, with any source of noise, written down by any trace.

    select -> hold -> rewards of the environment -> note -> update

It is plain Python, and a kernel: the same text runs step by step in a `Game`, compiled on the cores of a machine and
compiled on a GPU. What a run leaves behind is a generic on the type of the *trace*. A trace carries the numbers of the
run at hand from note to note in a tuple, its *memo*, which compiled code keeps in registers; what stays is written into
arrays with a row for every run.

Two details decide the speed on a CPU (benchmarks/results.md). The loop is compiled without reference counting (see
kernels.py), which would count at every access to an array of a State. Such code may not allocate, and does not. And
a change of the arm is a branch with a side effect: processors guess that the arm stays, and prepare the next step while
the indices of this one are still being compared.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._kernel import generic, kernel
from dpbandits.environments.environment import block_sum, reward
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.draws import uniform
from dpbandits.policies.policy import FOREVER, Policy, hold, select, update, wrong_arm

# Mistakes of a policy, which end a run.
NO_MISTAKE = 0
WRONG_ARM = -1
WRONG_HOLD = -2
_NO_ARM = 1 - 2**63  # which no policy arrives at, as it might at -1 or -FOREVER


def check_answer(policy: Policy, arms: int, answer: int) -> None:
    """Refuse a policy that named an arm which does not exist, or held one for less than a play."""
    if answer == WRONG_ARM:
        raise wrong_arm(policy, arms)
    if answer == WRONG_HOLD:
        raise InvalidInput(f"Expected `hold` of policy={policy.name} to return at least 1.")


class Rules(NamedTuple):
    """How far a run goes, and how the policy sees its arms."""

    first: int  # the time at which it begins
    horizon: int  # the last time
    longest_block: int  # plays between two decisions, at most; with 1 the run goes step by step
    # Which arm of the environment the policy gets as its first, second, ... If it is shuffled, anew before every run,
    # then runs that are played at the same time need a row each; otherwise one row does for all of them.
    orders: Any
    is_shuffled: bool
    stop: Any  # another thread ends all runs by writing something else than 0 here


def rules_of(
    arms: int,
    horizon: int,
    *,
    first: int = 1,
    longest_block: int = FOREVER,
    shuffled: bool = False,
    stop: NDArray[np.int64] | None = None,
) -> Rules:
    """Return the rules of runs that are played one after the other."""
    stop = np.zeros(1, dtype=np.int64) if stop is None else stop
    return Rules(first, horizon, longest_block, np.arange(arms).reshape(1, arms), shuffled, stop)


class Task(NamedTuple):
    """Runs to be played: where, and what is written down."""

    environment: Any
    trace: Any
    rules: Rules


@generic
def note_start(trace: Any, run: int) -> Any:
    """Return the memo of a run that begins."""
    raise TypeError(f"{type(trace).__name__} is not a trace: nothing is registered for it with `note_start`.")


@generic
def note_switch(trace: Any, memo: Any, t: int, arm: int) -> Any:
    """Note that another arm is played from time t on, or the first one, and return the memo."""
    raise TypeError(f"{type(trace).__name__} is not a trace: nothing is registered for it with `note_switch`.")


@generic
def note_plays(trace: Any, memo: Any, t: int, arm: int, plays: int) -> Any:
    """Note a decision for `plays` plays of an arm of the environment from time t on, and return the memo."""
    raise TypeError(f"{type(trace).__name__} is not a trace: nothing is registered for it with `note_plays`.")


@generic
def play_run(task: Any, params: Any, state: Any, noise: Any, run: int) -> int:
    """Play a run of a task from a cleared state, and return NO_MISTAKE, a mistake, or what else the task returns."""
    raise TypeError(f"{type(task).__name__} is not a task: nothing is registered for it with `play_run`.")


@kernel
def play(params: Any, state: Any, environment: Any, trace: Any, noise: Any, rules: Any, run: int) -> int:
    """Play one run, which is number `run` to its trace, and return NO_MISTAKE, WRONG_ARM or WRONG_HOLD."""
    row = run % len(rules.orders)
    arms = rules.orders.shape[1]
    memo = note_start(trace, run)
    t = rules.first
    arm = _NO_ARM
    place = 0  # of that arm in the environment
    while t <= rules.horizon and rules.stop[0] == 0:
        choice = int(select(params, state, t))
        if choice != arm:
            arm = choice
            if arm < 0 or arm >= arms:
                return WRONG_ARM
            place = rules.orders[row, arm]
            memo = note_switch(trace, memo, t, place)
        plays = min(int(hold(params, state, arm, t)), rules.longest_block, rules.horizon - t + 1)
        if plays < 1:
            return WRONG_HOLD
        if plays == 1:  # noqa: SIM108  (the two are different things)
            total = reward(environment, place, t, noise)
        else:
            total = block_sum(environment, place, plays, t, noise)
        memo = note_plays(trace, memo, t, place, plays)
        t += plays
        update(params, state, arm, plays, total, t, noise)
    return NO_MISTAKE


@play_run.register(Task)
@kernel
def _play_run(task: Task, params: Any, state: Any, noise: Any, run: int) -> int:
    if task.rules.is_shuffled:
        shuffle(task.rules.orders, run % len(task.rules.orders), noise)
    return play(params, state, task.environment, task.trace, noise, task.rules, run)


@kernel
def shuffle(orders: Any, row: int, noise: Any) -> None:
    """Put the arms of a row into random order, every one as likely (Fisher & Yates)."""
    for last in range(orders.shape[1] - 1, 0, -1):
        other = int(uniform(noise) * (last + 1))
        orders[row, last], orders[row, other] = orders[row, other], orders[row, last]


def clear(part: Any) -> None:
    """Set every array of a state, nested or not, to zero. Compiled code has its own (kernels.py)."""
    if isinstance(part, tuple):
        for inner in part:
            clear(inner)
    else:
        part.fill(0)


def play_runs(task: Any, params: Any, state: Any, noise: Any, runs: int) -> int:
    """Play `runs` runs one after the other, all from one source of noise, up to the first mistake, and return it.

    Many runs go through one call, since a call from Python costs more than a short run.
    """
    for run in range(runs):
        if task.rules.stop[0] != 0:
            return NO_MISTAKE
        clear(state)
        answer = play_run(task, params, state, noise, run)
        if answer != NO_MISTAKE:
            return answer
    return NO_MISTAKE
