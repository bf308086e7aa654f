"""Rehearsal: a policy's kernels play the first blocks, checked before anybody is assigned anything.

Live, a kernel never gets a reward: the learner keeps the sums, and adds the noise to its own. So a kernel cannot give
anything away, but one that releases something else than its blocks say would run here as it never ran in a simulation.
The first blocks of a few arms are played with sums that carry their linear form and are read by nobody: what is handed
to `release` must be the sum of the block, or of all blocks of the arm so far, once, with the scale of the block.
"""

import functools
import traceback
from pathlib import Path
from typing import Any, NoReturn

from dpbandits._phrases import one_line
from dpbandits.errors import InvalidInput
from dpbandits.live.blocks import Schedule, live_scale
from dpbandits.live.policy_choice import checked_arm
from dpbandits.mechanisms import LAPLACE, release
from dpbandits.mechanisms.linear import Leak, Secret, Unknown, value_and_form
from dpbandits.policies import Block, Policy, update

_MOST_ARMS = 64  # of which all are played
_FEW_ARMS = 4  # of which more than one block is
_BLOCKS = 32
_MEANS = (0.5, -0.3, 1.2, 0.0, 0.9)
_LIBRARY = str(Path(__file__).parents[1])


class RehearsedNoise:
    """A noise source that records requests, and answers each with a number that was set before."""

    def __init__(self) -> None:
        self.answer = 0.0
        self.requests: list[tuple[Any, float, int, int]] = []  # secret, scale, mechanism, arm


@release.register(RehearsedNoise)
def _release(noise: RehearsedNoise, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    noise.requests.append((secret, scale, mechanism, arm))
    return noise.answer


def rehearse(policy: Policy, schedule: Schedule, arms: int, limit: int, scale_bits: int | None) -> None:
    """Refuse a policy whose kernels do not release what its blocks say."""
    try:
        _Stage(policy, schedule, arms, limit, scale_bits).play()
        return
    except InvalidInput:
        raise
    except (Leak, Unknown) as problem:
        refusal = f"to leave rewards alone{_where(problem)}: {one_line(problem)}"
    except Exception as problem:  # noqa: BLE001  (a user's policy may raise anything)
        refusal = f"to play its first blocks, not to end with {type(problem).__name__}{_where(problem)}: "
        refusal += one_line(problem)
    # Not from within the handler: the frames of the kernels hold numbers that cannot even be shown.
    raise InvalidInput(f"Expected policy={policy.name} {refusal}")


def _where(problem: BaseException) -> str:
    """Return the last line of a user's file that the problem came through."""
    lines = [
        f" (line {frame.lineno} of {Path(frame.filename).name})"
        for frame in traceback.extract_tb(problem.__traceback__)
        if not frame.filename.startswith(_LIBRARY) and frame.filename != functools.__file__
    ]
    return lines[-1] if lines else ""


class _Stage:
    def __init__(self, policy: Policy, schedule: Schedule, arms: int, limit: int, scale_bits: int | None) -> None:
        self.policy, self.schedule, self.scale_bits = policy, schedule, scale_bits
        setup = policy.configure(arms, limit)
        self.params, self.state = setup.params, setup.allocate(object)
        self.noise = RehearsedNoise()
        self.arms = arms
        self.sums: dict[int, Secret] = {}  # of an arm's blocks so far
        self.plays = 0

    def play(self) -> None:
        """Play the first block of every arm, and more of a few; choose after each round, when all have been played."""
        can_choose = self.arms <= _MOST_ARMS
        before = 0
        for number, block in enumerate(self.schedule.beginning(_BLOCKS)):
            for arm in range(self.arms if number == 0 and can_choose else min(self.arms, _FEW_ARMS)):
                self._play(arm, number, block, block.last - before)
            before = block.last
            if can_choose:
                checked_arm(self.policy, self.params, self.state, self.plays + 1, self.arms)

    def _play(self, arm: int, number: int, block: Block, plays: int) -> None:
        reward = Secret(float(plays // 2), {("reward", self.plays): 1})  # one name for all rewards of the block
        is_first = arm not in self.sums or not self.schedule.is_cumulative
        expected = self.sums[arm] = reward if is_first else self.sums[arm] + reward
        self.plays += plays
        # Noise takes means anywhere, also out of [0, 1].
        self.noise.answer = _MEANS[(number + arm) % len(_MEANS)] * (block.last - block.first + 1)
        update(self.params, self.state, arm, plays, reward, self.plays + 1, self.noise)
        requests, self.noise.requests = self.noise.requests, []
        if len(requests) != 1:
            self._refuse(arm, number, "one release", str(len(requests)))
        ((secret, scale, mechanism, of_arm),) = requests
        if (live_scale(scale, self.scale_bits), mechanism, of_arm) != (block.scale, LAPLACE, arm):
            kind = "Laplace" if mechanism == LAPLACE else "other"
            wanted = f"a release of arm {arm} with Laplace noise of scale {block.scale}"
            self._refuse(arm, number, wanted, f"one of arm {of_arm} with {kind} noise of scale {scale}")
        if value_and_form(secret) != value_and_form(expected):
            is_shifted = value_and_form(secret)[1] == value_and_form(expected)[1]
            actual = "one with a constant added" if is_shifted else _sum_text(secret)
            self._refuse(arm, number, _sum_text(expected), actual)

    def _refuse(self, arm: int, number: int, expected: str, actual: str) -> NoReturn:
        raise InvalidInput(
            f"Expected `update` of policy={self.policy.name} to make {expected}, not {actual}, "
            f"at the end of block {number} of arm {arm}."
        )


def _sum_text(secret: Any) -> str:
    factors = value_and_form(secret)[1].values()
    if any(factor != 1 for factor in factors):
        return "a release of blocks with weights"
    return f"a release of the sum of {len(factors)} block{'' if len(factors) == 1 else 's'}"
