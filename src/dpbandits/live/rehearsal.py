"""Rehearsal: what a policy's kernels do with the first blocks, found out before anybody is assigned anything.

Live, a kernel never gets a reward: the learner keeps the sums, and adds the noise to its own. So a kernel cannot give
anything away, but one that releases something else than its blocks say would run here as it never ran in a simulation.
The first blocks of a few arms are played with sums that carry their linear form and are read by nobody: what is handed
to `release` must be the sum of the block, or of all blocks of the arm so far, once, with the scale of the block.
"""

from typing import Any, NoReturn

from dpbandits.errors import InvalidInput
from dpbandits.live.blocks import Schedule, live_scale
from dpbandits.mechanisms import LAPLACE, release
from dpbandits.mechanisms.linear import Leak, Secret, Unknown, parts
from dpbandits.mechanisms.state import allocate
from dpbandits.policies import Block, Policy, select, update

_ARMS = 4  # at most
_BLOCKS = 32  # of each of them


class RehearsedNoise:
    """A noise source that keeps what it is asked for and answers with a number that was laid down before."""

    def __init__(self) -> None:
        self.answer = 0.0
        self.asked: list[tuple[Any, float, int, int]] = []  # secret, scale, mechanism, arm


@release.register(RehearsedNoise)
def _release(noise: RehearsedNoise, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    noise.asked.append((secret, scale, mechanism, arm))
    return noise.answer


def rehearse(policy: Policy, schedule: Schedule, arms: int, limit: int, scale_bits: int | None) -> None:
    """Refuse a policy whose kernels do not release what its blocks say."""
    try:
        _Stage(policy, schedule, min(arms, _ARMS), limit, scale_bits).play()
    except InvalidInput:
        raise
    except (Leak, Unknown) as problem:
        raise InvalidInput(f"Expected policy={policy.name} to leave rewards alone: {problem}.") from problem
    except Exception as problem:
        raise InvalidInput(
            f"Expected policy={policy.name} to run over its first blocks, not to end with {type(problem).__name__}: "
            f"{str(problem)[:200]}"
        ) from problem


class _Stage:
    def __init__(self, policy: Policy, schedule: Schedule, arms: int, limit: int, scale_bits: int | None) -> None:
        self.policy, self.schedule, self.scale_bits = policy, schedule, scale_bits
        self.params, state_class, sizes = policy.configure(arms, limit)
        self.state = allocate(state_class, sizes, object)
        self.noise = RehearsedNoise()
        self.sums: list[Secret | None] = [None] * arms  # of the arm's blocks so far
        self.played = 0

    def play(self) -> None:
        """Play block after block of every arm in turn, and choose after each round."""
        blocks = self.schedule.beginning(_BLOCKS)
        before = 0
        for number, block in enumerate(blocks):
            for arm in range(len(self.sums)):
                self._play(arm, number, block, block.last - before)
            chosen = int(select(self.params, self.state, self.played + 1))
            if not 0 <= chosen < len(self.sums):
                raise InvalidInput(
                    f"Expected `select` of policy={self.policy.name} to be in [0, {len(self.sums) - 1}], not {chosen}."
                )
            before = block.last

    def _play(self, arm: int, number: int, block: Block, plays: int) -> None:
        reward = Secret(float(plays // 2), {("reward", self.played): 1})  # one name for all rewards of the block
        earlier = self.sums[arm]
        expected = reward if earlier is None or not self.schedule.is_cumulative else earlier + reward
        self.sums[arm] = expected
        self.played += plays
        self.noise.answer = 0.5 * (block.last - block.first + 1)
        update(self.params, self.state, arm, plays, reward, self.played + 1, self.noise)
        asked, self.noise.asked = self.noise.asked, []
        if len(asked) != 1:
            self._refuse(arm, number, "one release", str(len(asked)))
        ((secret, scale, mechanism, of_arm),) = asked
        if (live_scale(scale, self.scale_bits), mechanism, of_arm) != (block.scale, LAPLACE, arm):
            kind = "Laplace" if mechanism == LAPLACE else "other"
            wanted = f"a release of arm {arm} with Laplace noise of scale {block.scale}"
            self._refuse(arm, number, wanted, f"one of arm {of_arm} with {kind} noise of scale {scale}")
        if parts(secret) != parts(expected):
            is_shifted = parts(secret)[1] == parts(expected)[1]
            found = "one with a constant added" if is_shifted else _named(secret)
            self._refuse(arm, number, _named(expected), found)

    def _refuse(self, arm: int, number: int, expected: str, found: str) -> NoReturn:
        raise InvalidInput(
            f"Expected `update` of policy={self.policy.name} to make {expected}, not {found}, "
            f"at the end of block {number} of arm {arm}."
        )


def _named(secret: Any) -> str:
    factors = parts(secret)[1].values()
    if any(factor != 1 for factor in factors):
        return "a release of blocks with weights"
    return f"a release of the sum of {len(factors)} block{'' if len(factors) == 1 else 's'}"
