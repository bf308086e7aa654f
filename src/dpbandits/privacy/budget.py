"""Budget: what a user allows. Guarantee: what is proved, or only claimed."""

import math
from dataclasses import dataclass, field
from typing import Any

from dpbandits import _validate

ONE_REWARD = "one reward"


@dataclass(frozen=True)
class Budget:
    """The largest (epsilon, delta) that a user accepts for the whole action sequence.

    >>> Budget(epsilon=1.0, delta=1e-6)
    Budget(epsilon=1.0, delta=1e-06)
    >>> Budget(epsilon=1.0, delta=2)
    Traceback (most recent call last):
    dpbandits.errors.InvalidInput: Expected delta=2 in [0, 1).
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon="(0, inf)", delta="[0, 1)")


@dataclass(frozen=True)
class Guarantee:
    """An (epsilon, delta) statement together with everything needed to judge it.

    For all neighbouring reward sequences r, r' (they differ in one `unit`) and every set E of outputs up to
    `horizon`: Pr[output in E | r] <= e^epsilon Pr[output in E | r'] + delta. The output is the whole action
    sequence and everything else that was released.

    `theorem` names what gives the bound. `certified` means proved, for the noise that is really drawn; without it the
    statement is only a claim: of a publication whose proof fails, or about noise that is not exact. A horizon of None
    means the listed releases and nothing else.

    >>> print(Guarantee(epsilon=0.5, delta=1e-6, horizon=1000, theorem="zCDP", certified=True))
    (0.5, 1e-06)-DP in one reward up to n = 1000, by zCDP
    """

    epsilon: float
    delta: float = 0.0
    unit: str = field(default=ONE_REWARD, kw_only=True)
    horizon: float | None = field(default=math.inf, kw_only=True)
    theorem: str = field(kw_only=True)
    certified: bool = field(kw_only=True)

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon="[0, inf)", delta="[0, 1)")
        if self.horizon is not None:
            object.__setattr__(self, "horizon", _validate.horizon(self.horizon))
        _validate.flag(certified=self.certified)

    def within(self, budget: Budget) -> bool:
        """Tell whether the guarantee is certified and costs no more than the budget."""
        return self.certified and self.epsilon <= budget.epsilon and self.delta <= budget.delta

    def to_dict(self) -> dict[str, object]:
        """Return a form that JSON can hold; an unlimited horizon is "infinity"."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "unit": self.unit,
            "horizon": "infinity" if self.horizon == math.inf else self.horizon,
            "theorem": self.theorem,
            "certified": self.certified,
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "Guarantee":
        """Return what `to_dict` wrote down."""
        horizon = math.inf if plain["horizon"] == "infinity" else plain["horizon"]
        return cls(**{**plain, "horizon": horizon})

    def __str__(self) -> str:
        spans = {None: "for these releases", math.inf: "at any horizon"}
        span = spans.get(self.horizon, f"up to n = {self.horizon}")
        verb = "by" if self.certified else "only claimed, by"
        return f"({self.epsilon:.6g}, {self.delta:.3g})-DP in {self.unit} {span}, {verb} {self.theorem}"
