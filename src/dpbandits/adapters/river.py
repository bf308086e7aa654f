"""RiverPolicy: a live bandit behind River's bandit interface, `pull` and `update`."""

from collections.abc import Iterator, Sequence
from typing import Any

from dpbandits._extras import require_extras
from dpbandits._frames import clean
from dpbandits.errors import InvalidInput
from dpbandits.live import Bandit, OutOfBounds
from dpbandits.policies import DPUCBInt, Policy

require_extras("river")

from river import bandit, utils  # noqa: E402  (after the check)

__all__ = ["RiverPolicy"]


class RiverPolicy(bandit.base.Policy):  # type: ignore[misc]
    """A private policy for River.

    River's own policies keep the mean reward of every arm and show it. This one keeps released means alone: its
    choices, `ranking` and `repr` are private in every single reward. Its noise takes no seed.

    Parameters
    ----------
    policy
        One that can run live, such as `DPUCBInt`.
    reward_bounds
        The least and the largest reward.
    out_of_bounds
        "refuse" rewards outside the bounds, or "clip" them.
    accept_delta
        Allow a delta above 1/(10 horizon).

    Examples
    --------

    >>> import dpbandits as dpb
    >>> policy = RiverPolicy(dpb.DPUCBInt(epsilon=1.0, delta=0.0, horizon=1000))
    >>> arm = policy.pull(["A", "B"])
    >>> policy.update(arm, 1.0)
    >>> arm, policy.pull(["A", "B"])
    ('A', 'B')

    """

    def __init__(
        self,
        policy: Policy,
        reward_bounds: tuple[float, float] = (0.0, 1.0),
        out_of_bounds: OutOfBounds = "refuse",
        accept_delta: bool = False,
    ) -> None:
        super().__init__()
        self.policy = policy
        self.reward_bounds = reward_bounds
        self.out_of_bounds = out_of_bounds
        self.accept_delta = accept_delta
        self._bandit: Bandit | None = None  # made at the first pull, which brings the arms

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"policy": DPUCBInt(epsilon=10.0, delta=0.0, horizon=10_000)}

    @property
    def bandit(self) -> Bandit:
        """The bandit at work: its guarantee, estimates and ledger."""
        if self._bandit is None:
            raise InvalidInput("Expected a pull first: it brings the arms.")
        return self._bandit

    def _pull(self, arm_ids: Sequence[str | int]) -> str | int:
        if self._bandit is None:
            self._bandit = Bandit(
                self.policy,
                list(arm_ids),
                reward_bounds=self.reward_bounds,
                out_of_bounds=self.out_of_bounds,
                accept_delta=self.accept_delta,
            )
        if tuple(arm_ids) != self._bandit.arms:
            raise InvalidInput(f"Expected the same arms at every pull: {', '.join(map(str, self._bandit.arms))}.")
        return self._bandit.select()

    @clean
    def update(self, arm_id: str | int, reward: float) -> None:
        """Take in the reward of the arm that was pulled last."""
        self.bandit.update(arm_id, reward)
        self._counts[arm_id] += 1
        self._n += 1

    @property
    def ranking(self) -> list[str | int]:
        """The arms in descending order of their released means; those without a release come last."""
        if self._bandit is None:
            return []
        estimates = self._bandit.estimates().values()
        means = {e.arm: float("-inf") if e.mean is None else e.mean for e in estimates}
        return sorted(means, key=lambda arm: means[arm], reverse=True)

    def __repr__(self) -> str:
        if self._bandit is None:
            return f"{type(self).__name__}({self.policy!r})"
        ranking, estimates = self.ranking, self._bandit.estimates()
        return str(
            utils.pretty.print_table(
                headers=["Arm ID", "Released mean", "Pulls", "Share"],
                columns=[
                    [str(arm) for arm in ranking],
                    ["-" if estimates[arm].mean is None else f"{estimates[arm].mean:.4f}" for arm in ranking],
                    [f"{self._counts[arm]:,d}" for arm in ranking],
                    [f"{self._counts[arm] / self._n if self._n else 0:.2%}" for arm in ranking],
                ],
            )
        )
