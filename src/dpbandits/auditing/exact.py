"""exact_audit: what every single reward loses in a run, from the code itself, compared with what is claimed.

A policy is played with `Secret` rewards, by usual noise and by noise of an adversary, who sends it down action
sequences that chance would hardly find. The loss of a reward is the sum, over the releases it is in, of how far their
noise must move to hide it; with delta, and for Gaussian noise, the accountant composes them (account.py). This is exact
for every run that was played. What it says of other runs, docs/auditing.md explains.
"""

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbandits import _validate
from dpbandits._progress import Progress
from dpbandits.auditing.account import Account
from dpbandits.auditing.claims import claim_to_test
from dpbandits.auditing.horizons import telling_horizon
from dpbandits.auditing.playing import CUTS, Game
from dpbandits.auditing.secret import Leak, secret_reward
from dpbandits.auditing.taint import Steering, TaintNoise, Unknown
from dpbandits.errors import InvalidInput
from dpbandits.policies.base import Policy, validated_size
from dpbandits.privacy import Budget, Guarantee

USUAL_HORIZON = 256
LONGEST_DECLARED = 2**14
_TOLERANCE = 1e-9
_FAR = 1e4  # scales: far more than any difference of sums, and no rounding that hides a reward


@dataclass(frozen=True)
class ExactAudit:
    """What every reward loses, over all runs played.

    `losses` has, for every time, the most that its reward lost, in the sum of its pure losses (for Gaussian noise: the
    root of twice its zCDP). `epsilon` is what the worst reward, number `worst`, loses at the claim's delta, by the
    accountant. With a `leak` a secret was read without noise, and nothing bounds its loss. What is `unknown` is
    something that this account cannot tell, and then there is no verdict.
    """

    policy: Policy
    arms: int
    horizon: int
    seed: int
    runs: int
    claim: Guarantee
    proved: Guarantee | None
    losses: NDArray[np.float64]
    epsilon: float
    worst: int
    adversary: str
    leak: str | None
    unknown: str | None

    @property
    def refuted(self) -> bool:
        """Whether some reward loses more than is claimed."""
        return self.unknown is None and self.epsilon > self.claim.epsilon * (1 + _TOLERANCE)

    def __str__(self) -> str:
        from dpbandits.auditing.words import sentence

        return sentence(self)

    def to_dict(self) -> dict[str, Any]:
        """Return a form that JSON can hold; a loss without a bound is "infinity"."""

        def plain(loss: float) -> float | str:
            return "infinity" if loss == float("inf") else loss

        return {
            **{"policy": repr(self.policy), "arms": self.arms, "horizon": self.horizon, "seed": self.seed},
            **{"runs": self.runs, "refuted": self.refuted, "epsilon": plain(self.epsilon), "worst": self.worst},
            "claim": self.claim.to_dict(),
            "proved": None if self.proved is None else self.proved.to_dict(),
            "losses": [plain(loss) for loss in self.losses.tolist()],
            **{"adversary": self.adversary, "leak": self.leak, "unknown": self.unknown},
        }


def exact_audit(
    policy: Policy,
    *,
    arms: int = 2,
    horizon: int | None = None,
    claim: Budget | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> ExactAudit:
    """Play a policy with secret rewards, by chance and by adversaries, and return what every reward loses.

    Args:
        policy: what to audit.
        arms: how many arms.
        horizon: steps per run; by default 256, more where a policy releases late. Runs to the horizon that a policy was
            declared for go on after it, for as long again.
        claim: the budget to compare with, instead of what the policy claims.
        seed: of the usual noise and the rewards.
        progress: show a bar when it takes longer than a second; by default if standard error is a terminal.

    >>> from dpbandits import DPUCB
    >>> exact_audit(DPUCB(epsilon=1.0)).epsilon, exact_audit(DPUCB(epsilon=1.0, variant="published")).epsilon
    (1.0, 2.0)
    """
    if not isinstance(policy, Policy):
        raise InvalidInput(f"Expected policy={policy!r} to be a policy, such as DPUCB(epsilon=1.0).")
    arms, horizon = validated_size(arms, usual_horizon(policy, arms) if horizon is None else horizon)
    seed = _validate.integer("[0, inf)", seed=seed)
    stated = claim_to_test(policy, horizon, claim)
    until = 2 * horizon if policy.horizon == horizon else horizon
    adversaries = dict(_adversaries(arms, seed))
    plays = [(name, cut) for name in adversaries for cut in CUTS]
    account = Account(until)
    leak = unknown = None
    with Progress(len(plays), "runs", progress) as bar:
        for number, (name, cut) in enumerate(plays, 1):
            bar.describe(f"{name}, {cut}")
            try:
                noise = _played(policy, arms, horizon, until, cut, seed + number, adversaries[name])
                account.add(noise, name)
            except Leak as problem:
                leak, plays = str(problem), plays[:number]
                account.say(math.inf, 0, name)
                account.losses[:] = math.inf
                break
            except Unknown as problem:
                unknown, plays = str(problem), plays[:number]
                break
            bar.advance(1)
        if leak is None and unknown is None:
            bar.describe("composing")
            account.settle(stated.delta, stated.epsilon)
    return ExactAudit(
        *(policy, arms, horizon, seed, len(plays), stated, policy.guarantee(horizon)),
        losses=account.losses,
        epsilon=account.epsilon,
        worst=account.worst,
        adversary=account.adversary,
        leak=leak,
        unknown=unknown,
    )


def usual_horizon(policy: Policy, arms: int) -> int:
    """Return for how long to play: to the declared horizon, or until something was released several times."""
    if policy.horizon is not None and policy.horizon <= LONGEST_DECLARED:
        return policy.horizon
    return max(USUAL_HORIZON, telling_horizon(policy, arms))


def _played(
    policy: Policy, arms: int, horizon: int, until: int, cut: str, seed: int, steer: Steering | None
) -> TaintNoise:
    dice = random.Random(seed)  # noqa: S311
    noise = TaintNoise(seed, steer)
    game = Game(policy, arms, horizon, noise, object)
    game.play(lambda t, arm: secret_reward(t, float(dice.random() < 0.5)), until, cut, seed)
    return noise


def _adversaries(arms: int, seed: int) -> Iterator[tuple[str, Steering | None]]:
    """Yield names and ways to choose the noise: by chance, none, and so that the policy goes where it hardly would."""
    dice = random.Random(seed)  # noqa: S311
    yield "usual", None
    yield "no noise", lambda drawn, scale, arm: 0.0
    yield "wild", lambda drawn, scale, arm: drawn * 10 ** dice.uniform(-1, 3)
    for favourite in dict.fromkeys([0, 1, arms - 1]):
        if favourite < arms:
            yield f"for arm {favourite + 1}", _favouring(favourite)
    yield "turns", _taking_turns(arms)


def _favouring(favourite: int) -> Steering:
    return lambda drawn, scale, arm: (_FAR if arm == favourite else -_FAR) * scale


def _taking_turns(arms: int) -> Callable[[float, float, int], float]:
    released = [0] * arms

    def steer(drawn: float, scale: float, arm: int) -> float:
        released[arm] += 1
        return (_FAR if released[arm] <= min(released) + 1 else -_FAR) * scale

    return steer
