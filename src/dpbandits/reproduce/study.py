"""Study: the settings of a reproduction, and everything it has computed so far, kept in its folder."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpbandits import _validate
from dpbandits.environments.environment import Environment
from dpbandits.policies import DPUCBInt, Policy
from dpbandits.reproduce.paper_experiments import HORIZON, RUNS
from dpbandits.simulation import RegretSummary
from dpbandits.simulation.parts import Parts


@dataclass(frozen=True)
class Settings:
    """What a user may choose. `effort` scales the extra runs and trials that single claims need."""

    horizon: int = HORIZON
    runs: int = RUNS
    seed: int = 0
    effort: float = 1.0

    def __post_init__(self) -> None:
        _validate.integer_fields(self, horizon="[1000, 1000000000]", runs="[2, 1000000000]", seed="[0, inf)")
        _validate.real_fields(self, effort="(0, 1]")


class Study:
    """Computes what figures and claims ask for, each thing once.

    Attributes:
        parts: where it is kept, in the folder `parts/`.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings = settings
        self.parts = Parts(folder / "parts")

    def scaled(self, number: int, least: int) -> int:
        """Return a number of extra runs or trials, fewer if less effort is asked for."""
        return max(least, round(number * self.settings.effort))

    def summary(
        self, policy: Policy, environment: Environment, *, horizon: int | None = None, runs: int | None = None
    ) -> RegretSummary:
        """Return the regret of a policy, with the study's own horizon and number of runs unless told otherwise."""
        return self.parts.summary(
            policy,
            environment,
            horizon=self.settings.horizon if horizon is None else horizon,
            runs=self.settings.runs if runs is None else runs,
            seed=self.settings.seed,
        )

    def steady(self, policy: Policy, environment: Environment) -> RegretSummary:
        """Return so many runs that their mean can be trusted: the study's own, or more of DP-UCB-Int.

        About one in a hundred of its runs decides its mean; a hundred runs show some of them or none.
        """
        many = max(self.settings.runs, self.scaled(20_000, least=1000))
        return self.summary(policy, environment, runs=many if isinstance(policy, DPUCBInt) else None)

    def kept(self, what: str, compute: Callable[[], Any]) -> Any:
        """Return a result that JSON can hold, computed now or by an earlier process with the same settings."""
        return self.parts.kept(f"{what} {self.settings!r}", compute)
