"""Every decision of the policies in phases against the printed index, written out slowly, along whole runs."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

import dpbandits as dpb
from dpbandits.engine.game import Cut, Game
from dpbandits.mechanisms import RecordingNoise, SeededNoise
from dpbandits.policies import Policy, hold, select
from dpbandits.privacy import Ledger
from oracles import bernoulli_divergence, largest_mean, phase_cost, private_divergence_by_search

pytestmark = pytest.mark.slow

MEANS = (0.45, 0.7, 0.2, 0.6)
ARMS = len(MEANS)
TABLE = np.random.default_rng(8).random((40_001, ARMS)) < MEANS


class Released(NamedTuple):
    """A phase of an arm: so many plays, and their sum with its noise."""

    plays: int
    value: float


History = tuple[Released, ...]  # of one arm
Index = Callable[[History, int], float]  # at decision t; the arm with the largest is played
Indices = Callable[[list[History], int], list[float]]


def rewards(t: int, arm: int) -> float:
    return float(TABLE[t, arm])


def each(index: Index) -> Indices:
    """Return the indices of arms that are judged by themselves."""
    return lambda histories, t: [index(history, t) for history in histories]


def compared(policy: Policy, indices: Indices, horizon: int, seed: int, cut: Cut = "blocks") -> tuple[int, int]:
    """Play, compare every decision, and return how many were clear and how many indices were too close to tell."""
    noise = RecordingNoise(SeededNoise(seed), Ledger())
    game = Game(policy, ARMS, horizon, noise)
    histories: list[History] = [()] * ARMS
    plays, clear, close = [0] * ARMS, 0, 0
    while game.t <= horizon:
        t = game.t
        arm = int(select(game.params, game.state, t))
        if all(histories) or isinstance(policy, dpb.LDPUCBLaplace):  # whose index tells also how to begin
            values = indices(histories, t)
            least = max(values) - 1e-6 * (1 + abs(max(values)))
            assert values[arm] >= least, (t, arm, values)
            is_clear = sum(value >= least for value in values) == 1
            clear, close = clear + is_clear, close + (not is_clear)
        else:
            assert arm == next(a for a in range(ARMS) if not histories[a])
        released = len(noise.ledger)
        longest = 1 if cut == "step" else int(hold(game.params, game.state, arm, t))
        game.play(rewards, min(t + longest - 1, horizon), cut)
        plays[arm] += game.t - t
        for row in list(noise.ledger)[released:]:
            assert row.content["arm"] == arm
            histories[arm] += (Released(plays[arm], row.content["value"]),)
            plays[arm] = 0
    assert sum(len(history) > 2 for history in histories) >= 3
    return clear, close


# ---- plausibility: DP-IMED and DP-KLUCB


def pooled(history: History) -> tuple[int, float]:
    """Return the plays of all phases and the mean of all sums, within [0, 1]."""
    n = sum(phase.plays for phase in history)
    return n, min(max(sum(phase.value for phase in history) / n, 0.0), 1.0)


def dp_imed(epsilon: float, caution: float = 0.0) -> Indices:
    def indices(histories: list[History], t: int) -> list[float]:
        best = max(pooled(history)[1] for history in histories)
        found = []
        for n, mean in map(pooled, histories):
            u = n * private_divergence_by_search(mean, best, epsilon)
            found.append(-(u - caution * u / (1 + u) + math.log(n)))
        return found

    return indices


def dp_klucb(epsilon: float) -> Index:
    def index(history: History, t: int) -> float:
        n, mean = pooled(history)
        return largest_mean(lambda y: private_divergence_by_search(mean, y, epsilon, 40), mean, math.log(t) / n)

    return index


class Phasewise(NamedTuple):
    """The cost of every mean by brute force over w, and where it is least."""

    epsilon: float
    history: History

    def cost(self, z: float) -> float:
        plays, values = np.array(self.history, dtype=float).T
        return phase_cost(self.epsilon, plays, values, z, thirds=40)

    def least(self) -> tuple[float, float]:
        return _least(self)

    def exponent(self, mean: float) -> float:
        estimate, least = self.least()
        return self.cost(mean) - least if mean > estimate else 0.0


@lru_cache(maxsize=1000)
def _least(phases: Phasewise) -> tuple[float, float]:
    found = minimize_scalar(phases.cost, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-9})
    return float(found["x"]), float(found["fun"])


def noise_aware_imed(epsilon: float, caution: float) -> Indices:
    def indices(histories: list[History], t: int) -> list[float]:
        arms = [Phasewise(epsilon, history) for history in histories]
        best = max(arm.least()[0] for arm in arms)
        found = []
        for arm in arms:
            u = arm.exponent(best)
            found.append(-(u - caution * u / (1 + u) + math.log(sum(phase.plays for phase in arm.history))))
        return found

    return indices


def noise_aware_klucb(epsilon: float) -> Index:
    def index(history: History, t: int) -> float:
        arm, highest = Phasewise(epsilon, history), 1 - 1e-9
        if arm.exponent(highest) <= math.log(t):
            return highest
        return float(brentq(lambda y: arm.exponent(y) - math.log(t), arm.least()[0], highest, xtol=1e-9))

    return index


# ---- the last phase alone


def adap_ucb(epsilon: float, alpha: float) -> Index:
    def index(history: History, t: int) -> float:
        n, total = history[-1]
        return total / n + math.sqrt(alpha * math.log(t) / (2 * n)) + alpha * math.log(t) / (epsilon * n)

    return index


def adap_klucb(epsilon: float, alpha: float) -> Index:
    def index(history: History, t: int) -> float:
        n, total = history[-1]
        level = alpha * math.log(t)
        x = min(max(total / n + level / (epsilon * n), 0.0), 1.0)
        return largest_mean(lambda y: bernoulli_divergence(x, y), x, level / n)

    return index


def anytime_lazy_ucb(epsilon: float) -> Index:
    def index(history: History, t: int) -> float:
        n, total = history[-1]
        return total / n + math.sqrt(3 * math.log(t) / n) + 3 * math.log(t) / (epsilon * n)

    return index


def adac_ucb(rho: float, beta: float) -> Index:
    def index(history: History, t: int) -> float:
        n, total = history[-1]
        return total / n + math.sqrt(beta * math.log(t) * (1 / (2 * n) + 1 / (rho * n**2)))

    return index


# ---- all blocks, with their Chernoff width


def block_ucb(epsilon: float, confidence: float) -> Index:
    def index(history: History, t: int) -> float:
        n, k = sum(phase.plays for phase in history), len(history)

        def width(h: float) -> float:
            noise = -k * math.log(1 - (h / (n * epsilon)) ** 2)
            return (h**2 / (8 * n) + noise + confidence * math.log(t)) / h

        # In terms of ln(h/(nε) / (1 - h/(nε))), so that both ends of the interval can be reached.
        found = minimize_scalar(
            lambda u: width(n * epsilon / (1 + math.exp(-u))),
            bounds=(-20, 20),
            method="bounded",
            options={"xatol": 1e-9},
        )
        return sum(phase.value for phase in history) / n + float(found["fun"])

    return index


# ---- local: every phase is one play


def ldp_ucb_bernoulli(history: History, t: int) -> float:
    assert {phase.value for phase in history} <= {0.0, 1.0}
    n = len(history)
    return sum(phase.value for phase in history) / n + math.sqrt(2 * math.log(t) / n)


def ldp_ucb_laplace(epsilon: float) -> Indices:
    def indices(histories: list[History], t: int) -> list[float]:
        found = []
        for arm, history in enumerate(histories):
            n = len(history)
            if n <= 4 * math.log(t + 1):
                found.append(1e9 * (1 - arm / ARMS))  # the first of those that have been played too little
                continue
            bonus = math.sqrt(2 * math.log(t) / n) + math.sqrt(32 * math.log(t) / (epsilon**2 * n))
            found.append(sum(phase.value for phase in history) / n + bonus)
        return found

    return indices


CASES: list[tuple[Policy, Indices, int, str]] = [
    (dpb.DPIMED(epsilon=0.5, growth=1.1, first_phase=8), dp_imed(0.5), 4000, "blocks"),
    (dpb.DPIMED(epsilon=5.0, growth=1.1, caution=0.7), dp_imed(5.0, 0.7), 4000, "blocks"),
    (dpb.DPIMED(epsilon=2.0), dp_imed(2.0), 40_000, "blocks"),
    (dpb.DPKLUCB(epsilon=0.5, growth=1.1, first_phase=30), each(dp_klucb(0.5)), 4000, "blocks"),
    (dpb.DPKLUCB(epsilon=20.0, growth=1.2), each(dp_klucb(20.0)), 4000, "blocks"),
    (
        dpb.NoiseAwareIMED(epsilon=0.5, first_phase=8, growth=1.3),
        noise_aware_imed(0.5, 1 - 0.6 * math.log(ARMS / 2)),
        3000,
        "blocks",
    ),
    (dpb.NoiseAwareIMED(epsilon=4.0, caution=-1.0), noise_aware_imed(4.0, -1.0), 5000, "blocks"),
    (
        dpb.NoiseAwareKLUCB(epsilon=1.0, first_phase=25, growth=1.3),
        each(noise_aware_klucb(1.0)),
        4000,
        "blocks",
    ),
    (dpb.AdaPUCB(epsilon=0.5), each(adap_ucb(0.5, 3.1)), 40_000, "blocks"),
    (dpb.AdaPUCB(epsilon=9.0, alpha=0.4), each(adap_ucb(9.0, 0.4)), 40_000, "blocks"),
    (dpb.AdaPKLUCB(epsilon=9.0, alpha=0.7), each(adap_klucb(9.0, 0.7)), 40_000, "blocks"),
    (dpb.AdaPKLUCB(epsilon=50.0), each(adap_klucb(50.0, 3.1)), 40_000, "blocks"),
    (dpb.AnytimeLazyUCB(epsilon=0.5), each(anytime_lazy_ucb(0.5)), 3000, "step"),
    (dpb.AnytimeLazyUCB(epsilon=30.0), each(anytime_lazy_ucb(30.0)), 40_000, "blocks"),
    (dpb.BlockUCB(epsilon=0.5), each(block_ucb(0.5, 4.0)), 40_000, "blocks"),
    (dpb.BlockUCB(epsilon=6.0, confidence=0.8, growth=1.1, first_phase=5), each(block_ucb(6.0, 0.8)), 4000, "blocks"),
    (dpb.LDPUCBBernoulli(epsilon=2.0), each(ldp_ucb_bernoulli), 700, "step"),
    (dpb.LDPUCBLaplace(epsilon=2.0), ldp_ucb_laplace(2.0), 700, "step"),
    *(
        (policy, each(adac_ucb(policy.rho, policy.beta)), 40_000, "blocks")
        for policy in (dpb.AdaCUCB(epsilon=0.5, delta=1e-6), dpb.AdaCUCB(epsilon=9.0, delta=1e-3, beta=0.4))
    ),
]


@pytest.mark.parametrize(
    ("policy", "indices", "horizon", "cut"), CASES, ids=[repr(policy).replace(" ", "") for policy, *_ in CASES]
)
def test_the_best_index_is_played(policy: Policy, indices: Indices, horizon: int, cut: Cut) -> None:
    counted = np.array([compared(policy, indices, horizon, seed, cut) for seed in (1, 2)])
    clear, close = counted.sum(axis=0)
    assert clear > 50
    assert close < 0.1 * clear


WRONG: list[tuple[Policy, Indices, int, str]] = [
    (dpb.DPIMED(epsilon=0.5, growth=1.1, first_phase=8), dp_imed(0.55), 4000, "blocks"),
    (dpb.DPIMED(epsilon=5.0, growth=1.1, caution=0.7), dp_imed(5.0, 0.5), 4000, "blocks"),
    (dpb.DPKLUCB(epsilon=0.5, growth=1.1, first_phase=30), each(dp_klucb(0.55)), 4000, "blocks"),
    (dpb.NoiseAwareIMED(epsilon=4.0, caution=-1.0), dp_imed(4.0, -1.0), 5000, "blocks"),
    (dpb.AdaPUCB(epsilon=9.0, alpha=0.4), each(adap_ucb(9.0, 0.45)), 40_000, "blocks"),
    (dpb.AdaPKLUCB(epsilon=9.0, alpha=0.7), each(adap_klucb(9.0, 0.8)), 40_000, "blocks"),
    (dpb.AnytimeLazyUCB(epsilon=0.5), each(anytime_lazy_ucb(0.55)), 3000, "step"),
    (dpb.BlockUCB(epsilon=6.0, confidence=0.8, growth=1.1, first_phase=5), each(block_ucb(6.0, 0.9)), 4000, "blocks"),
    (dpb.LDPUCBLaplace(epsilon=2.0), ldp_ucb_laplace(2.05), 700, "step"),
    (dpb.AdaCUCB(epsilon=9.0, delta=1e-3, beta=0.4), each(adac_ucb(2.85, 0.4)), 40_000, "blocks"),
]


@pytest.mark.parametrize(
    ("policy", "indices", "horizon", "cut"), WRONG, ids=[repr(policy).replace(" ", "") for policy, *_ in WRONG]
)
def test_another_index_is_told_apart(policy: Policy, indices: Indices, horizon: int, cut: Cut) -> None:
    """The comparison has power: with a constant that is a tenth off, or without the phases, some decision differs."""
    with pytest.raises(AssertionError):
        compared(policy, indices, horizon, 1, cut)
