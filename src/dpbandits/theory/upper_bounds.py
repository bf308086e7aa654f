"""Regret bounds of UCB1 and of the 2016 paper, as functions: as published, and as proved where that is possible.

    UCB1            Σ 8 ln t / Δ + (1 + π²/3) Δ                                                 (Auer et al. 2002)
    DP-UCB-Bound    Σ max(B (ln B + 7), 8 ln t / (λ² Δ)) + Δ + 2π²Δ/3,                          (Theorem 3.2)
                    B = √8 ln(4 t^4) / (ε (1 - λ))
    DP-UCB          Σ Δ [max(C² (ln C + 7)², 8 ln t / Δ²) + 1 + 4ζ(1.5)],                       (Theorem 3.3)
                    C = 56 (2 + √3.5) √(ln t) / ε
    DP-UCB-Int      Σ Δ [f_0 + 8 ln t / Δ² + 1 + 4ζ(1.5)]                                       (Theorem 3.5)

Sums run over the inferior arms. A regret is never above t max Δ, and so is every bound here unless `capped=False`; most
private ones are vacuous in that sense for the t of experiments.

Theorem 3.2, as proved. The paper's argument is sound, its constants are not: B must contain 1/Δ (as in its appendix,
with the prefactor Δ), the condition (1-λ)Δ > 2h is solved as if it were (1-λ)Δ > h, and log n is the binary logarithm.
With e the epsilon of each part of the counter (ε without a split, ε/2 with) an inferior arm is played at most n* times
because of the noise, n* = A (log2 n* + 1), A = 2√8 ln(4 t^4) / (e (1-λ) Δ), which Lambert's W_-1 solves:

    Σ Δ [max(⌈n*⌉, 8 ln t / (λΔ)²) + 1 + 2π²/3], with the best λ

Theorem 3.3 cannot be repaired: its proof needs the noise of the best arm to be small already when it has been played
once. `dp_ucb(form="threshold")` is what the proof's condition says when the noise is that of a stream of t items; it
proves nothing. Theorem 3.5 is false, so there is nothing to repair either.
"""

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from dpbandits import _validate
from dpbandits._kernel import kernel
from dpbandits.errors import InvalidInput

FOUR_ZETA = 4 * 2.6123753486854883  # 4 ζ(3/2), in Theorems 3.3 and 3.5
_PER_ARM = 1 + 2 * math.pi**2 / 3  # in Theorem 3.2
_LARGEST_T = 1e75  # t^4 is a float

FormOfTheorem32 = Literal["proved", "published", "appendix"]
FORMS_OF_THEOREM_3_2: tuple[FormOfTheorem32, ...] = get_args(FormOfTheorem32)
FormOfTheorem33 = Literal["published", "threshold"]
FORMS_OF_THEOREM_3_3: tuple[FormOfTheorem33, ...] = get_args(FormOfTheorem33)


def one_per_arm(name: str, numbers: ArrayLike) -> list[float]:
    """Return gaps or means as a list of numbers in [0, 1]; `name` is for the error."""
    values = np.atleast_1d(np.asarray(numbers, dtype=np.float64))
    if values.ndim != 1 or values.size == 0:
        raise InvalidInput(f"Expected one {name} per arm, not something of shape {values.shape}.")
    return [_validate.real("[0, 1]", **{name: value}) for value in values.tolist()]


def ucb1(gaps: ArrayLike, t: float, *, capped: bool = True) -> float:
    """Return the bound of Auer et al. on UCB1.

    >>> ucb1([0, 0.3], 1e5)
    308.3
    """
    log_t, inferior = _prepared(gaps, t)
    bound = sum(8 * log_t / gap + (1 + math.pi**2 / 3) * gap for gap in inferior)
    return _capped(bound, inferior, t, capped)


def dp_ucb_bound(
    gaps: ArrayLike,
    t: float,
    epsilon: float,
    *,
    form: FormOfTheorem32 = "proved",
    split: bool = True,
    balance: float | None = None,
    capped: bool = True,
) -> float:
    """Return the bound of Theorem 3.2 on DP-UCB-Bound.

    Args:
        gaps: how much less than the best arm each arm gives.
        t: after how many steps.
        epsilon: the budget.
        form: "proved"; "published" is the main text's, "appendix" that of the proof. Neither is proved.
        split: whether the counters share epsilon between their two parts, as they must to cost no more than epsilon.
            It matters for the proved form; the paper knows no split.
        balance: λ_0 in (0, 1); by default the best one.
        capped: never more than t max Δ.

    >>> dp_ucb_bound([0, 0.3], 1e5, epsilon=1.0, form="published"), dp_ucb_bound([0, 0.3], 1e5, epsilon=1.0)
    (2538.6, 10423.4)
    """
    log_t, inferior = _prepared(gaps, t)
    epsilon = _validate.real("(0, inf)", epsilon=epsilon)
    form = _validate.one_of(FORMS_OF_THEOREM_3_2, form=form)
    noise_epsilon = epsilon / 2 if _validate.flag(split=split) and form == "proved" else epsilon

    def bound(share: float) -> float:
        return sum(_dp_ucb_bound_of_arm(gap, log_t, noise_epsilon, form, share) for gap in inferior)

    if balance is not None:
        best = bound(_validate.real("(0, 1)", balance=balance))
    else:
        from scipy.optimize import minimize_scalar

        # Every λ gives a bound, so an inexact minimum costs tightness only.
        best = float(minimize_scalar(bound, bounds=(1e-6, 1 - 1e-6), method="bounded", options={"xatol": 1e-7})["fun"])
    return _capped(best, inferior, t, capped)


def dp_ucb(
    gaps: ArrayLike, t: float, epsilon: float, *, form: FormOfTheorem33 = "published", capped: bool = True
) -> float:
    """Return the bound that Theorem 3.3 states for DP-UCB, whose proof is not valid.

    `form="threshold"` puts the noise of a stream of t items, split, into the proof's condition
    √n >= 8 (2 + √3.5)(3.5 ln t + ln 4)(log2 t + 1) / (e √(ln t)). It is no bound either.

    >>> dp_ucb([0, 0.3], 1e5, epsilon=1.0, capped=False)
    30019554.9
    """
    log_t, inferior = _prepared(gaps, t)
    epsilon = _validate.real("(0, inf)", epsilon=epsilon)
    if _validate.one_of(FORMS_OF_THEOREM_3_3, form=form) == "published":
        pulls = noise_pulls_of_theorem_3_3(epsilon, log_t)
    else:
        factor = 8 * (2 + math.sqrt(3.5)) * (3.5 * log_t + math.log(4)) * (math.log2(t) + 1)
        pulls = (factor / (epsilon / 2)) ** 2 / log_t if log_t > 0 else math.inf
    bound = sum(gap * (max(pulls, 8 * log_t / gap**2) + 1 + FOUR_ZETA) for gap in inferior)
    return _capped(bound, inferior, t, capped)


def dp_ucb_int(gaps: ArrayLike, t: float, first_interval: int, *, capped: bool = True) -> float:
    """Return the bound that Theorem 3.5 states for DP-UCB-Int, which is false; f_0 is W_1 of its release times.

    >>> dp_ucb_int([0, 0.3], 1e5, first_interval=46)
    324.2
    """
    log_t, inferior = _prepared(gaps, t)
    first_interval = _validate.integer("[1, inf)", first_interval=first_interval)
    bound = sum(gap * (first_interval + 8 * log_t / gap**2 + 1 + FOUR_ZETA) for gap in inferior)
    return _capped(bound, inferior, t, capped)


@kernel
def noise_regret_of_theorem_3_2(epsilon: float, balance: float, log_t: float) -> float:
    """Return B (ln B + 7), B = √8 ln(4 t^4) / (ε (1 - λ)): what the main text adds per arm because of the noise."""
    b = math.sqrt(8.0) * (math.log(4.0) + 4.0 * log_t) / (epsilon * (1.0 - balance))
    return b * (math.log(b) + 7.0)


@kernel
def noise_pulls_of_theorem_3_3(epsilon: float, log_t: float) -> float:
    """Return C² (ln C + 7)², C = 56 (2 + √3.5) √(ln t) / ε: the plays per arm because of the noise."""
    if log_t <= 0.0:
        return 0.0
    c = 56.0 * (2.0 + math.sqrt(3.5)) * math.sqrt(log_t) / epsilon
    return (c * (math.log(c) + 7.0)) ** 2


def noise_pulls(gap: float, log_t: float, noise_epsilon: float, balance: float) -> float:
    """Return n* of Theorem 3.2 as proved: from there on 2ν/n, twice the error of the mean, is below (1-λ)Δ."""
    from scipy.special import lambertw

    a = 2 * math.sqrt(8) * (math.log(4) + 4 * log_t) / (noise_epsilon * (1 - balance) * gap)
    b = a / math.log(2)
    if 2 * b < math.e:  # then n > A (log2 n + 1) for every n
        return 1.0
    argument = -1 / (2 * b)
    return float(-b * lambertw(argument, -1).real)  # n = B ln(2n)


def _dp_ucb_bound_of_arm(gap: float, log_t: float, epsilon: float, form: FormOfTheorem32, balance: float) -> float:
    if form == "published":
        from_noise = noise_regret_of_theorem_3_2(epsilon, balance, log_t)
    elif form == "appendix":
        b = math.sqrt(8) * (math.log(4) + 4 * log_t) / (epsilon * (1 - balance) * gap)
        from_noise = gap * b * (math.log(b) + 7)
    else:
        from_noise = gap * math.ceil(noise_pulls(gap, log_t, epsilon, balance))
    return max(from_noise, 8 * log_t / (balance**2 * gap)) + gap * _PER_ARM


def _prepared(gaps: ArrayLike, t: float) -> tuple[float, list[float]]:
    log_t = math.log(_validate.real(f"[1, {_LARGEST_T:g}]", t=t))
    return log_t, [gap for gap in one_per_arm("gap", gaps) if gap > 0]


def _capped(bound: float, inferior: list[float], t: float, capped: bool) -> float:
    return min(bound, t * max(inferior, default=0.0)) if capped else bound
