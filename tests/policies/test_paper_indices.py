"""Every decision against the printed index, written out slowly, along whole runs."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.engine.game import Cut, Game
from dpbandits.mechanisms import Hybrid, RecordingNoise, SeededNoise, WeightedHybrid
from dpbandits.policies import Policy, hold, select, update
from dpbandits.policies.hybrid_dmab import bound_of_dp_ucb, bound_of_dp_ucb_bound
from dpbandits.privacy import Ledger
from expected_noises import expected_noises

ARMS, HORIZON = 3, 400
HYBRID, WEIGHTED = Hybrid(8.0, noise=SeededNoise(0)), WeightedHybrid(8.0, noise=SeededNoise(0))
Index = Callable[[Game, int, int], float]


def rewards(t: int, arm: int) -> float:
    return float((t * 7919 + arm * 104729) % 10 < (3, 7, 5)[arm])


def plays(game: Game, arm: int) -> int:
    return game.actions.count(arm)


def counter_sum(game: Game, arm: int) -> float:
    state: Any = game.state
    return float(state.counter.sums[arm])


def bonus(game: Game, arm: int, t: int) -> float:
    return math.sqrt(2 * math.log(t) / plays(game, arm))


def ucb(game: Game, arm: int, t: int) -> float:
    total = sum(rewards(s, arm) for s, played in enumerate(game.actions, start=1) if played == arm)
    return total / plays(game, arm) + bonus(game, arm, t)


def private_ucb(epsilon: float, *, relaxed: bool) -> Index:
    def index(game: Game, arm: int, t: int) -> float:
        n, log_horizon = plays(game, arm), math.log(HORIZON)
        share = epsilon / ARMS if relaxed else epsilon  # relaxed with the split over arms, plain without
        gamma = log_horizon**2 * math.log(ARMS * HORIZON * log_horizon / t**-4) / share if relaxed else 0.0
        return counter_sum(game, arm) / n + bonus(game, arm, t) + gamma / n

    return index


def dp_ucb(game: Game, arm: int, t: int) -> float:
    return counter_sum(game, arm) / plays(game, arm) + bonus(game, arm, t)


def published_bound(epsilon: float) -> Index:
    def index(game: Game, arm: int, t: int) -> float:
        n = plays(game, arm)
        nu = math.sqrt(8) / epsilon * math.log(4 * t**4)
        if n & (n - 1):
            nu *= math.log2(n) + 1
        return dp_ucb(game, arm, t) + nu / n

    return index


def proved_bound(counter: Hybrid | WeightedHybrid) -> Index:
    """The exact Chernoff bound; the policy's own is up to 2% larger, see the tolerance below."""

    def index(game: Game, arm: int, t: int) -> float:
        n = plays(game, arm)
        return dp_ucb(game, arm, t) + counter.error_bound(n, t**-4.0) / n

    return index


@pytest.mark.parametrize(
    ("policy", "index", "slack"),
    [
        (dpb.UCB(), ucb, 0.0),
        (dpb.PrivateUCB(epsilon=40.0), private_ucb(40.0, relaxed=True), 0.0),
        (dpb.PrivateUCB(epsilon=2.0, relaxation="none", split_over_arms=False), private_ucb(2.0, relaxed=False), 0.0),
        (dpb.DPUCB(epsilon=2.0), dp_ucb, 0.0),
        (dpb.DPUCB(epsilon=2.0, variant="published"), dp_ucb, 0.0),
        (dpb.DPUCB(epsilon=2.0, counter="weighted"), dp_ucb, 0.0),
        (dpb.DPUCBBound(epsilon=8.0, variant="published"), published_bound(8.0), 0.0),
        (dpb.DPUCBBound(epsilon=8.0), proved_bound(HYBRID), 0.02),
        (dpb.DPUCBBound(epsilon=8.0, counter="weighted"), proved_bound(WEIGHTED), 0.02),
    ],
    ids=lambda value: repr(value).replace(" ", "") if isinstance(value, Policy) else "",
)
def test_the_largest_index_is_played(policy: Policy, index: Index, slack: float) -> None:
    game = Game(policy, ARMS, HORIZON, SeededNoise(1))
    decided = 0
    while game.t <= HORIZON:
        t = game.t
        arm = int(select(game.params, game.state, t))
        assert hold(game.params, game.state, arm, t) == 1
        if t <= ARMS:
            assert arm == t - 1
        else:
            indices = [index(game, a, t) for a in range(ARMS)]
            others = [value for a, value in enumerate(indices) if a != arm]
            # With slack, the relaxation of another arm may be larger than ours by so much of itself.
            assert indices[arm] >= max(others) - 1e-9 - slack * max(abs(value) for value in indices)
            decided += indices[arm] > max(others)
        game.actions.append(arm)
        game.t += 1
        update(game.params, game.state, arm, 1, rewards(t, arm), game.t, game.noise)
    assert decided > HORIZON / 2
    assert len(set(game.actions)) == ARMS


@pytest.mark.parametrize("frozen", [True, False], ids=["frozen", "live"])
@pytest.mark.parametrize("cut", ["step", "blocks"])
def test_dp_ucb_int_plays_the_largest_index(frozen: bool, cut: Cut) -> None:
    """Means and times from the ledger; the frozen bonus is that of the first decision after the release."""
    policy = dpb.DPUCBInt(epsilon=8.0, delta=1e-6, accounting="corollary", bonus="frozen" if frozen else "live")
    times = dpb.policies.release_times(policy.interval_epsilon, 1.1, "y", horizon=HORIZON).tolist()
    noise = RecordingNoise(SeededNoise(3), Ledger())
    game = Game(policy, ARMS, HORIZON, noise)
    released: dict[int, tuple[float, int, int]] = {}  # mean, count, time of the next decision
    rows = 0
    while game.t <= HORIZON:
        t = game.t
        arm = int(select(game.params, game.state, t))
        if t <= ARMS * times[0]:
            assert arm == (t - 1) % ARMS
        else:
            indices = []
            for mean, n, decision in (released[a] for a in range(ARMS)):
                at = max(decision, ARMS * times[0] + 1) if frozen else t
                indices.append(mean + math.sqrt(2 * math.log(at) / n))
            assert arm == max(range(ARMS), key=lambda a: (indices[a], -a))
        longest = 1 if cut == "step" else int(hold(game.params, game.state, arm, t))
        game.play(rewards, min(t + longest - 1, HORIZON), cut)
        for row in list(noise.ledger)[rows:]:
            n = plays(game, row.content["arm"])
            assert n in times
            assert row.content["scale"] == float(n) ** 0.55
            released[row.content["arm"]] = (row.content["value"] / n, n, game.t)
        rows = len(noise.ledger)
    assert rows > 3 * ARMS


def test_hybrid_dmab_follows_the_smaller_bound() -> None:
    followed = set()
    for epsilon in (1.0, 7000.0):
        policy = dpb.HybridDMAB(epsilon=epsilon, balance=0.9)
        game = Game(policy, ARMS, HORIZON, SeededNoise(1))
        state: Any = game.state
        game.play(rewards, ARMS)
        while game.t <= HORIZON:
            means = [float(state.bounded.counter.sums[a]) / plays(game, a) for a in range(ARMS)]
            first = bound_of_dp_ucb_bound(epsilon / 2, 0.9, np.array(means), game.t)
            second = bound_of_dp_ucb(epsilon / 2, state.plain.counter.sums, state.plain.inverses, game.t)
            smaller = "bounded" if first < second else "plain"
            followed.add(smaller)
            expected = select(getattr(game.params, smaller), getattr(state, smaller), game.t)
            assert select(game.params, state, game.t) == expected
            game.play(rewards, game.t)
    assert followed == {"bounded", "plain"}


def test_gaps_are_at_most_one() -> None:
    """Noise may put means far apart; a gap between means of rewards in [0, 1] is not larger than 1."""
    assert bound_of_dp_ucb_bound(1.0, 0.5, np.array([50.0, 0.0]), 100) == bound_of_dp_ucb_bound(
        1.0, 0.5, np.array([1.0, 0.0]), 100
    )
    apart, ones = np.array([50.0, 0.0]), np.ones(2)
    assert bound_of_dp_ucb(1.0, apart, ones, 100) == bound_of_dp_ucb(1.0, np.array([1.0, 0.0]), ones, 100)


@pytest.mark.parametrize(
    "policy",
    [
        dpb.UCB(),
        dpb.DPUCB(epsilon=1.0),
        dpb.DPUCBBound(epsilon=1.0),
        dpb.PrivateUCB(epsilon=1.0),
        dpb.DPUCBInt(epsilon=9.0, delta=1e-6),
    ],
    ids=lambda policy: policy.name,
)
def test_ties_go_to_the_first_arm(policy: Policy) -> None:
    game = Game(policy, ARMS, HORIZON, SeededNoise(1))
    assert select(game.params, game.state, HORIZON) == 0  # nothing is known: all indices are equal
    state: Any = game.state
    for name in ("means", "widths", "sums", "inverses"):
        if hasattr(state, name):
            getattr(state, name)[1:] = 0.5
    if hasattr(state, "counter"):
        state.counter.sums[1:] = 0.5
    assert select(game.params, game.state, HORIZON) == 1


# ---- hold, where it matters: indices that are about to cross


@pytest.mark.parametrize("t", [50, 10_000, 10**9, 10**15])
def test_a_live_bonus_is_held_exactly_up_to_the_crossing(t: int) -> None:
    """Random states with nearly equal indices: the choice stands to the end of `hold`, and mostly not much longer."""
    policy = dpb.DPUCBInt(epsilon=1.0, delta=1e-6)
    game = Game(policy, 4, 10**18, SeededNoise(1))
    state: Any = game.state
    dice = np.random.default_rng(t)
    spread = math.sqrt(2 * math.log(t))
    crossed = 0
    game.params = game.params._replace(opening=0)
    for _ in range(1500):
        counts = dice.integers(40, 3000, size=4)
        state.widths[:] = 1 / np.sqrt(counts)
        state.counts[:] = counts
        state.releases[:] = 10**6 // 144 + dice.integers(0, 10, size=4)  # the next release is far away
        gap = 10.0 ** dice.uniform(-9, -3, size=4)
        state.means[:] = 0.5 - spread * state.widths + gap * dice.choice([-1, 1], size=4)
        arm = int(select(game.params, state, t))
        plays_held = int(hold(game.params, state, arm, t))
        assert plays_held >= 1
        for time in {t, t + plays_held // 2, t + plays_held - 1}:
            assert select(game.params, state, time) == arm
        if plays_held < 10**5:  # less than the way to the release: a crossing ended it
            after = t + plays_held + 2 + int(1e-9 * t)
            crossed += int(select(game.params, state, after)) != arm
    assert crossed > 100 or t > 10_000  # later, crossings are far apart


def test_exact_ties_are_decided_at_every_step() -> None:
    game = Game(dpb.DPUCBInt(epsilon=1.0, delta=1e-6), 2, 10**6, SeededNoise(1))
    state: Any = game.state
    game.params = game.params._replace(opening=0)
    state.means[:] = 0.25
    state.widths[:] = 0.125
    assert (select(game.params, state, 100), hold(game.params, state, 0, 100)) == (0, 1)
    state.means[0] = math.nextafter(0.25, 1)
    assert hold(game.params, state, 0, 100) == 1


# ---- beyond the horizon that a policy was configured for


@pytest.mark.parametrize(
    "policy",
    [
        dpb.PrivateUCB(epsilon=1.0),
        dpb.DPUCB(epsilon=1.0),
        dpb.DPUCB(epsilon=1.0, counter="weighted"),
        dpb.DPUCBBound(epsilon=1.0),
        dpb.DPUCBBound(epsilon=1.0, variant="published"),
        dpb.DPUCBInt(epsilon=0.3, delta=1e-6, accounting="corollary"),
        dpb.DPUCBInt(epsilon=3.0, delta=1e-6),
        dpb.DPUCBInt(epsilon=3.0, delta=1e-6, horizon=100),
        dpb.HybridDMAB(epsilon=1.0),
    ],
    ids=lambda policy: repr(policy).replace(" ", ""),
)
@pytest.mark.parametrize("arms", [1, 2])
def test_playing_on_releases_nothing_more(policy: Policy, arms: int) -> None:
    noise = RecordingNoise(SeededNoise(3), Ledger())
    game = Game(policy, arms, 100, noise)
    game.play(lambda t, arm: 1.0, 5000, "blocks")
    allowed = sum(1 for stream in expected_noises(policy, arms, 100) for _ in stream)
    for arm in range(arms):
        drawn = [row.content["scale"] for row in noise.ledger if row.content["arm"] == arm and "scale" in row.content]
        assert len(drawn) <= allowed
    assert set(game.actions[-100:]) <= set(range(arms))
