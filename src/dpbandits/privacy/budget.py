"""Budget: what a user allows. Guarantee: what is proved, or only claimed."""

import math
from dataclasses import dataclass, field
from typing import Any

from dpbandits import _validate

ONE_REWARD = "one reward"


@dataclass(frozen=True)
class Budget:
    """The largest (epsilon, delta) that a user accepts for the whole action sequence.

    Args:
        epsilon: above 0; 0.1 is strict, 1 is usual, 10 protects hardly anybody.
        delta: in [0, 1); 0 by default.

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

    Args:
        epsilon, delta: the two numbers of the statement.
        unit: what neighbouring reward sequences differ in, such as "one reward".
        horizon: up to which step the statement holds; by default at any horizon. None means that it is about the
            listed releases and nothing else.
        theorem: what gives the bound.
        proved: whether it is proved for the noise that is really drawn. Otherwise it is only a claim: of a publication
            whose proof fails, or about noise that is not exact.

    >>> print(Guarantee(epsilon=0.5, delta=1e-6, horizon=1000, theorem="zCDP", proved=True))
    (0.5, 1e-06)-DP in one reward up to n = 1000, by zCDP
    """

    epsilon: float
    delta: float = 0.0
    unit: str = field(default=ONE_REWARD, kw_only=True)
    horizon: float | None = field(default=math.inf, kw_only=True)
    theorem: str = field(kw_only=True)
    proved: bool = field(kw_only=True)

    def __post_init__(self) -> None:
        _validate.real_fields(self, epsilon="[0, inf)", delta="[0, 1)")
        if self.horizon is not None:
            object.__setattr__(self, "horizon", _validate.horizon(self.horizon))
        _validate.flag(proved=self.proved)

    def within(self, budget: Budget) -> bool:
        """Tell whether the guarantee is proved and costs no more than the budget."""
        return self.proved and self.epsilon <= budget.epsilon and self.delta <= budget.delta

    def to_dict(self) -> dict[str, object]:
        """Return a form that JSON can hold; an unlimited horizon is "infinity"."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "unit": self.unit,
            "horizon": "infinity" if self.horizon == math.inf else self.horizon,
            "theorem": self.theorem,
            "proved": self.proved,
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "Guarantee":
        """Return what `to_dict` wrote down."""
        horizon = math.inf if plain["horizon"] == "infinity" else plain["horizon"]
        return cls(**{**plain, "horizon": horizon})

    @property
    def level(self) -> str:
        """The numbers alone, to a few digits, without a delta that is 0.

        >>> Guarantee(epsilon=0.5, delta=1e-6, theorem="zCDP", proved=True).level
        '(0.5, 1e-06)-DP'
        """
        epsilon = f"{self.epsilon:.4g}"
        return f"{epsilon}-DP" if self.delta == 0 else f"({epsilon}, {self.delta:.2g})-DP"

    @property
    def brief(self) -> str:
        """The numbers and what gives them, for a cell of a table.

        >>> Guarantee(epsilon=0.5, theorem="basic composition", proved=True).brief
        '0.5-DP, by basic composition'
        """
        return f"{self.level}, {'by' if self.proved else 'claimed by'} {self.theorem}"

    def __str__(self) -> str:
        spans = {None: "for these releases", math.inf: "at any horizon"}
        span = spans.get(self.horizon, f"up to n = {self.horizon}")
        verb = "by" if self.proved else "only claimed, by"
        return f"({self.epsilon:.6g}, {self.delta:.3g})-DP in {self.unit} {span}, {verb} {self.theorem}"
