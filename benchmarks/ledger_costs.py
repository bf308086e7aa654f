"""What the rows of a ledger really cost, computed the slow and obvious way, whatever they say.

For benchmarks/ledger.py and the tests. Nothing here calls the checker or the accountant.
"""

import math
import random
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import dpbandits as dpb
from dpbandits.policies import Policy
from tampering import Content


def losses_of_rows(rows: list[Content], is_cumulative: bool) -> list[Fraction]:
    """Return the losses of the reward that loses most, reward by reward, as exact fractions.

    A release holds the rewards of its assignments: all of its arm up to its last, or, in phases, no further back than
    its first, unless it counts more. Where rows leave open which assignments those are, all of them are counted.
    """
    assert 0 <= rows[0]["grid_bits"] <= 30
    grid = 2 ** rows[0]["grid_bits"]
    releases = []
    for row in rows[1:]:
        assert row["mechanism"] == "discrete laplace"
        begin = 1 if is_cumulative else min(row["first"], row["last"] - row["count"] + 1)
        loss = Fraction(max(grid, row["sensitivity"])) / Fraction(row["scale"])
        releases.append((row["arm"], begin, row["last"], loss))
    worst: list[Fraction] = []
    for arm, begin, _, _ in releases:  # the worst reward is at the beginning of some release
        losses = [loss for other, first, last, loss in releases if other == arm and first <= begin <= last]
        worst = max(worst, losses, key=sum)
    return worst


def losses_of_schedule(first: Content, is_cumulative: bool, steps: int) -> list[Fraction]:
    """Return the losses that row 0 allows one reward within so many plays of its arm, by the policies' definitions."""
    live = first["live_policy"]
    if not is_cumulative:
        return [Fraction(live["epsilon"])]
    limit = min(steps, first["horizon"] or steps)
    return [Fraction(n ** (-live["v"] / 2)) for n in _times(live["density"], live["v"], live["series"], limit)]


@lru_cache(maxsize=1000)
def _times(density: float, v: float, series: str, limit: int) -> list[int]:
    """Lemma B.1, word by word."""
    if series == "constant":
        return list(range(math.ceil(1 / density), limit + 1, math.ceil(1 / density)))
    p = v if series == "y" else v / 2
    times, collected = [], 0.0
    for w in range(1, limit + 1):
        collected += w**-p
        if density * collected >= w**-p:
            times.append(w)
            collected = 0.0
    return times


def epsilon_at(losses: list[Fraction], delta: float) -> float:
    """Return the epsilon of a composition of Laplace releases at delta, at most the true one, by up to 0.1%.

    The privacy losses are rounded down to a grid and convolved; a loss is ε with probability 1/2, -ε with e^-ε/2, and
    has density e^((l - ε)/2)/4 in between (discrete noise on a fine grid differs less than the rounding).
    """
    return _composed(tuple(sorted(map(float, losses))), delta)


@lru_cache(maxsize=1000)
def _composed(losses: tuple[float, ...], delta: float) -> float:
    if not losses:
        return 0.0
    step = sum(losses) / len(losses) / 1000
    total: NDArray[np.float64] = np.ones(1)
    lowest = 0  # of the grid of `total`
    for loss in losses:
        cells = math.floor(loss / step)
        edges = np.arange(-cells - 1, cells + 1) * step
        inside = np.clip(np.append(edges, edges[-1] + step), -loss, loss)
        masses = np.diff(np.exp((inside - loss) / 2)) / 2
        masses[-1] += 0.5
        masses[0] += math.exp(-loss) / 2
        total = np.convolve(total, masses) if len(total) < 5000 else _fft_convolved(total, masses)
        lowest += -cells - 1
    values = (lowest + np.arange(len(total))) * step

    def spent(epsilon: float) -> float:
        above = values > epsilon
        return float(np.sum(total[above] * -np.expm1(epsilon - values[above])))

    low, high = 0.0, float(sum(losses))
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) > delta else (low, middle)
    return low


def _fft_convolved(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    size = len(a) + len(b) - 1
    return np.maximum(np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size), 0.0)


# ---- ledgers, and the verdict of the slow way


class Setting(NamedTuple):
    """A ledger to tamper with, and what has to be known to compute its cost by hand."""

    name: str
    contents: list[Content]
    is_cumulative: bool
    steps: int = 400  # plays of an arm up to which its schedule is added up

    @property
    def claim(self) -> dpb.Budget:
        """What the ledger promised before anybody touched it."""
        promised = self.contents[0]["guarantee"]
        return dpb.Budget(promised["epsilon"], promised["delta"])


def setting(name: str, policy: Policy, people: int = 400, **options: Any) -> Setting:
    """Return the ledger of a bandit with two arms, whose answers come up to thirty people late, or never."""
    bandit = dpb.Bandit(policy, arms=["A", "B"], accept_delta=True, **options)
    dice = random.Random(1)  # noqa: S311
    waiting: list[Any] = []
    for person in range(people):
        waiting.append(bandit.assign(unit=person // bandit._configuration.contributions))
        if len(waiting) > 30:
            bandit.close(waiting.pop(dice.randrange(30)), dice.choice([0.0, 0.3, 1.0, None]))
    return Setting(name, [row.content for row in bandit.ledger], isinstance(policy, dpb.DPUCBInt))


def lowers_privacy(rows: list[Content], made: Setting) -> bool:
    """Tell whether what the rows say costs more than they promise, or than was claimed: so far, or in the end."""
    people = rows[0]["contributions"]
    allowed = [(rows[0]["guarantee"]["epsilon"], rows[0]["guarantee"]["delta"]), (made.claim.epsilon, made.claim.delta)]
    so_far = losses_of_rows(rows, made.is_cumulative)
    in_the_end = losses_of_schedule(rows[0], made.is_cumulative, made.steps)
    for epsilon, delta in allowed:
        if delta == 0:  # exact, but for the powers of the schedule
            same = Fraction(1e-12) if made.is_cumulative else 0
            if people * sum(so_far) > Fraction(epsilon) or people * sum(in_the_end) > Fraction(epsilon) * (1 + same):
                return True
        else:
            assert people == 1
            if max(epsilon_at(so_far, delta), epsilon_at(in_the_end, delta)) > epsilon:
                return True
    return False
