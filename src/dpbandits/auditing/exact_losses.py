"""exact_audit: what every single reward loses in a run, from the code itself, compared with what is claimed.

A policy is played with `Secret` rewards, by usual noise and by noise of an adversary, who sends it down action
sequences that chance would hardly find. The loss of a reward is the sum, over the releases it is in, of how far their
noise must move to hide it; with delta, and for Gaussian noise, the accountant composes them (account.py). This is exact
for every run that was played. What it says about other runs, docs/auditing.md explains.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbandits import _validate
from dpbandits._progress import Progress
from dpbandits.auditing.account import CertainLoss
from dpbandits.auditing.claims import claim_to_test
from dpbandits.auditing.kernel_coverage import KernelCoverage
from dpbandits.auditing.runs import FULLY_FOLLOWED, MOST_RUNS, Part, Runs, Size, reachable
from dpbandits.policies.catalogue import is_ours
from dpbandits.policies.policy import Policy, validated_size
from dpbandits.privacy import Budget, Guarantee

USUAL_ARMS = (2, 3)
LONGEST = 10**7  # steps: what every reward loses is in memory
SILENT = "nothing was released in these runs, and parts of the policy never ran"
USUAL_HORIZON = 256
DECLARED = 20_000  # steps that a policy was declared for, up to which a few runs go if decisions are many
UPPER_BOUND = "the losses of a run add up to more than is claimed, and that is an upper bound"


@dataclass(frozen=True)
class ExactAudit:
    """What every reward loses, over all runs played.

    The runs come in `parts`, each with a number of arms and of steps. What is said about one part, from `arms` to
    `adversary`, is said about the worst. `losses` has, for every time, the most that its reward lost, in the sum of its
    pure losses (for Gaussian noise: the root of twice its zCDP). `epsilon` is what the worst reward, number `worst`,
    loses at the claim's delta at most, by the accountant; `shown` is what is certainly lost. With a `leak` a
    secret was read without noise, and nothing bounds its loss. What is `unknown` is something that this account cannot
    tell, and then there is no verdict unless the rest certainly exceeds the claim. Lines of the policy's kernels that
    no run has executed are `unreached`, as file:line.
    """

    policy: Policy
    seed: int
    parts: tuple[Part, ...]
    leak: str | None
    unknown: str | None
    unreached: tuple[str, ...]

    @property
    def refuted(self) -> bool:
        """Whether some reward certainly loses more than is claimed."""
        return self._worst.exceeds

    @property
    def shown(self) -> CertainLoss:
        """The largest loss that is certain, the time of the reward that has it, and who chose the noise."""
        return self._worst.certain_loss

    @property
    def runs(self) -> int:
        """How many runs were played."""
        return sum(part.runs for part in self.parts)

    @property
    def _worst(self) -> Part:
        return max(self.parts, key=lambda part: (part.exceeds, part.is_open, part.share))

    @property
    def arms(self) -> int:
        """The number of arms of the worst part."""
        return self._worst.arms

    @property
    def horizon(self) -> int:
        """The steps of the worst part; where a policy was declared for them, its runs went on for as long again."""
        return self._worst.horizon

    @property
    def claim(self) -> Guarantee:
        """What is claimed for these steps."""
        return self._worst.claim

    @property
    def proved(self) -> Guarantee | None:
        """What is proved for these steps."""
        return self.policy.guarantee(self.horizon)

    @property
    def losses(self) -> NDArray[np.float64]:
        """The most that every reward lost in a run."""
        return self._worst.losses

    @property
    def epsilon(self) -> float:
        """What the worst reward loses."""
        return self._worst.epsilon

    @property
    def worst(self) -> int:
        """The time of the worst reward."""
        return self._worst.worst

    @property
    def adversary(self) -> str:
        """Who chose the noise when it lost most."""
        return self._worst.adversary

    def __str__(self) -> str:
        from dpbandits.auditing.sentences import sentence

        return sentence(self)

    def to_dict(self) -> dict[str, Any]:
        """Return a form that JSON can hold; a loss without a bound is "infinity"."""
        return {
            **{"policy": repr(self.policy), "arms": self.arms, "horizon": self.horizon, "seed": self.seed},
            **{"runs": self.runs, "refuted": self.refuted, "epsilon": _json_number(self.epsilon), "worst": self.worst},
            "shown": {**self.shown._asdict(), "epsilon": _json_number(self.shown.epsilon)},
            "claim": self.claim.to_dict(),
            "proved": None if self.proved is None else self.proved.to_dict(),
            "proved_by": None if self.proved is None else "dpbandits" if is_ours(self.policy) else "its author",
            "losses": _stretches(self.losses),
            **{"adversary": self.adversary, "leak": self.leak, "unknown": self.unknown},
            "parts": [
                {
                    **{"arms": part.arms, "horizon": part.horizon, "runs": part.runs, "steps": part.steps},
                    **{"claim": part.claim.to_dict(), "epsilon": _json_number(part.epsilon)},
                    **{"worst": part.worst, "adversary": part.adversary, "followed": part.followed},
                }
                for part in self.parts
            ],
            "unreached": list(self.unreached),
        }


def exact_audit(
    policy: Policy,
    *,
    arms: int | None = None,
    horizon: int | None = None,
    claim: Budget | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> ExactAudit:
    """Play a policy with secret rewards, by chance and by adversaries, and return what every reward loses.

    Args:
        policy: what to audit.
        arms: how many arms; by default 2, and then 3.
        horizon: steps per run; by default 256, and then as far as some 1500 decisions reach, at most 150,000. Runs to
            the horizon that a policy was declared for go on after it, for as long again.
        claim: the budget to compare with, instead of what the policy claims.
        seed: of the usual noise and the rewards; the same seed gives the same numbers.
        progress: show a bar when it takes longer than a second; by default if standard error is a terminal.

    Returns:
        The most that every reward lost in any run, and whether that is certainly more than is claimed.

    Raises:
        InvalidInput: a setting is outside its range, or there is no claim to compare with.

    >>> from dpbandits import DPIMED, DPUCB
    >>> exact_audit(DPIMED(epsilon=1.0), horizon=50).epsilon
    1.0
    >>> exact_audit(DPUCB(epsilon=1.0, variant="published"), horizon=50).epsilon
    2.0
    """
    _validate.check_kind(Policy, "a policy, such as DPUCB(epsilon=1.0)", policy=policy)
    seed = _validate.integer("[0, inf)", seed=seed)
    if arms is not None or horizon is not None:
        validated_size(USUAL_ARMS[0] if arms is None else arms, 1)
        _validate.integer(f"[1, {LONGEST}]", horizon=1 if horizon is None else horizon)
    parts: list[Part] = []
    sizes = list(_sizes(policy, arms, horizon))
    coverage = KernelCoverage(type(policy.configure(sizes[0].arms, sizes[0].horizon).params))
    with Progress(MOST_RUNS * len(sizes), "runs", progress) as bar:
        for size in sizes:
            runs = Runs(policy, size, claim_to_test(policy, size.horizon, claim), seed, coverage)
            parts.append(runs.play(bar, to_the_last_line=size is sizes[-1] or horizon is not None))
            if parts[-1].exceeds:
                break
    unknown = next((part.unknown for part in parts if part.unknown is not None), None)
    if unknown is None and any(part.is_open for part in parts):
        unknown = UPPER_BOUND
    if unknown is None and coverage.missing and all(part.epsilon == 0 for part in parts):
        unknown = SILENT
    return ExactAudit(policy, seed, tuple(parts), parts[-1].leak, unknown, coverage.missing)


def _sizes(policy: Policy, arms: int | None, horizon: int | None) -> Iterator[Size]:
    """Yield what is asked; else short runs, which have everything in them early, and long ones."""
    for many in USUAL_ARMS if arms is None else (arms,):
        if horizon is not None:
            yield Size(many, horizon)
            continue
        short = policy.horizon if policy.horizon is not None and policy.horizon <= FULLY_FOLLOWED else USUAL_HORIZON
        yield Size(many, short)
        if short != policy.horizon and (long := reachable(policy, many)).horizon > short:
            yield long
            if policy.horizon is not None and many == USUAL_ARMS[0] and long.horizon < policy.horizon <= DECLARED:
                yield Size(many, policy.horizon, adversaries=("usual", "turns", "for arm 1"))


def _stretches(losses: NDArray[np.float64]) -> list[dict[str, float | str]]:
    """Return losses by time, where they change."""
    changes = [0, *(np.flatnonzero(losses[1:] != losses[:-1]) + 1).tolist()]
    return [{"from": int(place) + 1, "loss": _json_number(float(losses[place]))} for place in changes]


def _json_number(loss: float) -> float | str:
    return "infinity" if loss == float("inf") else loss
