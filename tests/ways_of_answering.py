"""Live bandits in tests: policies that can be served, ways in which answers come, and noise that can be watched."""

import random
from collections.abc import Callable
from typing import Any

import dpbandits as dpb
from dpbandits.auditing.taint import TaintNoise
from dpbandits.live import Assignment
from dpbandits.mechanisms import CARRIED, LAPLACE, SecureNoise, release, reserve
from dpbandits.mechanisms.linear import secret_reward
from dpbandits.policies import Policy
from explore_then_commit import ExploreThenCommit
from phases import Phases

HORIZON = 400
SERVABLE: list[Policy] = [
    dpb.DPUCBInt(epsilon=2.0, delta=0.0, horizon=HORIZON),
    dpb.DPUCBInt(epsilon=3.0, delta=1e-6),
    dpb.DPUCBInt(epsilon=3.0, delta=1e-6, bonus="frozen", series="x", horizon=HORIZON),
    dpb.DPUCBInt(epsilon=9.0, delta=1e-6, accounting="corollary", series="constant", v=1.3),
    ExploreThenCommit(epsilon=0.5, plays=20),
    Phases(epsilon=0.7),
    dpb.DPIMED(epsilon=0.7),
    dpb.NoiseAwareIMED(epsilon=1.5, first_phase=6),
    dpb.DPKLUCB(epsilon=0.7, first_phase=3),
    dpb.NoiseAwareKLUCB(epsilon=1.5, growth=1.2),
    dpb.AdaPUCB(epsilon=0.7),
    dpb.AdaPKLUCB(epsilon=7.0, alpha=0.5),
    dpb.BlockUCB(epsilon=0.7, confidence=1.0),
    dpb.AnytimeLazyUCB(epsilon=0.7),
]


def shown(policy: Policy) -> str:
    return repr(policy).replace(" ", "")


class SharedNoise(SecureNoise):
    """Noise from a seed, for tests alone: the n-th noise of an arm is the same in every bandit with this seed."""

    def __init__(self, seed: int, grid_bits: int = 12) -> None:
        super().__init__(grid_bits)
        self.seed = seed
        self.arm = 0  # for which noise is drawn now
        self.generators: dict[int, random.Random] = {}

    def draw(self, scale: float, mechanism: int) -> int:
        assert mechanism == LAPLACE
        generator = self.generators.setdefault(self.arm, random.Random(f"{self.seed} {self.arm}"))  # noqa: S311
        size: float = generator.expovariate(1.0) * generator.choice([-1, 1])
        steps: int = round(size * scale * 2**self.grid_bits)
        return steps


@reserve.register(SharedNoise)
def _reserve_shared(noise: SharedNoise, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> int:
    noise.arm = arm
    return noise.draw(scale, mechanism)


@release.register(SharedNoise)
def _release_shared(noise: SharedNoise, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    total = int(secret) if scale == CARRIED else int(secret) + _reserve_shared(noise, scale, mechanism, arm)
    return noise.publish(total)


class TaintedNoise(SecureNoise):
    """Rewards become Secret numbers when they are encoded, and only `release` opens them."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.taint = TaintNoise(seed)
        self.encoded = 0

    @property
    def secret_dtype(self) -> Any:
        return object

    def encode(self, reward: float) -> Any:
        self.encoded += 1
        return secret_reward(self.encoded, reward)


@release.register(TaintedNoise)
def _release(noise: TaintedNoise, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    return release(noise.taint, secret, scale, mechanism, arm)


@reserve.register(TaintedNoise)
def _reserve(noise: TaintedNoise, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> Any:
    return reserve(noise.taint, scale, mechanism, arm)


Answer = Callable[[Any], Any]
Rewards = Callable[[int, Any], float | None]  # of the n-th assignment and its arm


def step_by_step(bandit: dpb.Bandit, rewards: Rewards, people: int) -> list[Any]:
    """Play one at a time and return the arms."""
    arms = []
    for person in range(1, people + 1):
        arm = bandit.select()
        bandit.update(arm, rewards(person, arm))
        arms.append(arm)
    return arms


def with_delays(delay: Callable[[random.Random], int]) -> Callable[[dpb.Bandit, Rewards, int], list[Any]]:
    """Return a way to play in which the answer of a person comes so many people later; in the end all have answered."""

    def play(bandit: dpb.Bandit, rewards: Rewards, people: int) -> list[Any]:
        dice = random.Random(5)  # noqa: S311
        due: dict[int, list[tuple[int, Assignment]]] = {}
        arms = []
        for person in range(1, people + 1):
            assignment = bandit.assign()
            arms.append(assignment.arm)
            due.setdefault(person + delay(dice), []).append((person, assignment))
            for number, late in due.pop(person, []):
                bandit.close(late, rewards(number, late.arm))
        for _, answers in sorted(due.items()):
            for number, late in answers:
                bandit.close(late.id, rewards(number, late.arm))
        return arms

    return play


def in_batches(bandit: dpb.Bandit, rewards: Rewards, people: int) -> list[Any]:
    """Hand out fifty at a time, then close them in any order."""
    dice = random.Random(7)  # noqa: S311
    arms = []
    for start in range(1, people + 1, 50):
        batch = [(person, bandit.assign()) for person in range(start, min(start + 50, people + 1))]
        arms += [assignment.arm for _, assignment in batch]
        dice.shuffle(batch)
        for person, assignment in batch:
            bandit.close(assignment, rewards(person, assignment.arm))
    return arms


def many_at_once(bandit: dpb.Bandit, rewards: Rewards, people: int) -> list[Any]:
    """Hand out and close by batches, each one step; some answers come in the batch after next."""
    dice = random.Random(9)  # noqa: S311
    arms: list[Any] = []
    late: list[tuple[int, Assignment]] = []
    while len(arms) < people:
        size = min(dice.randrange(1, 60), people - len(arms))
        late += list(enumerate(bandit.assign_many([None] * size), start=len(arms) + 1))
        arms += [assignment.arm for _, assignment in late[-size:]]
        dice.shuffle(late)
        cut = len(late) if len(arms) == people else dice.randrange(len(late) + 1)
        bandit.close_many([(assignment, rewards(person, assignment.arm)) for person, assignment in late[:cut]])
        late = late[cut:]
    return arms


WAYS: dict[str, Callable[[dpb.Bandit, Rewards, int], list[Any]]] = {
    "step": step_by_step,
    "at once": with_delays(lambda dice: 0),
    "late": with_delays(lambda dice: 40),
    "shuffled": with_delays(lambda dice: dice.randrange(60)),
    "batches": in_batches,
    "many": many_at_once,
}
