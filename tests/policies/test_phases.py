"""Phases: where they end, that every play is in one, and the options of the policies that use them."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, islice, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpbandits as dpb
from dpbandits.engine.game import Game
from dpbandits.mechanisms import RecordingNoise, SeededNoise
from dpbandits.policies import FOREVER, Policy, hold
from dpbandits.policies.adac_ucb import AdaCUCB
from dpbandits.policies.growing_phases import GrowingPhases
from dpbandits.policies.phases import PhasePolicy, geometric_ends
from dpbandits.privacy import Budget, LaplaceEvent, Ledger, scale_for
from expected_noises import expected_noises


def ends(policy: PhasePolicy, most: int = 8) -> list[int]:
    return list(islice(policy.phase_ends(), most))


@dataclass(frozen=True, kw_only=True)
class LinearPhases(dpb.DPIMED):
    name = "linear-phases"

    def phase_ends(self) -> Iterator[int]:
        return count(100, 100)


def test_phases_that_do_not_grow_are_refused_where_there_is_no_horizon() -> None:
    with pytest.raises(
        dpb.InvalidInput, match="Expected the phases of policy=linear-phases to grow, or a smaller horizon"
    ):
        dpb.Bandit(LinearPhases(epsilon=1.0), 2)
    assert dpb.Bandit(LinearPhases(epsilon=1.0), 2, horizon=10_000).guarantee.epsilon == 1.0


def test_phases_end_where_they_are_printed() -> None:
    doubling = [1, 2, 4, 8, 16, 32, 64, 128]
    for policy in (
        dpb.DPIMED(epsilon=0.3),
        dpb.DPKLUCB(epsilon=0.3),
        dpb.AdaPUCB(epsilon=0.3),
        dpb.AdaPKLUCB(epsilon=0.3),
        dpb.BlockUCB(epsilon=0.3),
    ):
        assert ends(policy) == doubling
    for lazy in (dpb.LazyDPTS(epsilon=0.3), dpb.AnytimeLazyUCB(epsilon=0.3)):
        assert ends(lazy) == [1, 3, 7, 15, 31, 63, 127, 255]
    noise_aware: tuple[type[GrowingPhases], ...] = (dpb.NoiseAwareIMED, dpb.NoiseAwareKLUCB)
    published: tuple[type[GrowingPhases], ...] = (dpb.DPIMED, dpb.DPKLUCB)
    for kind in noise_aware:
        for epsilon, first in ((0.1, 160), (0.3, 54), (1.0, 16), (3.0, 6), (16.0, 1), (1000.0, 1), (1e-6, 16_000_000)):
            assert ends(kind(epsilon=epsilon))[0] == first
        assert ends(kind(epsilon=1.0)) == [16, 24, 36, 54, 81, 122, 183, 275]
        assert ends(kind(epsilon=1.0, first_phase=3, growth=1.25)) == [3, 4, 5, 7, 9, 12, 15, 19]
    for kind in published:
        assert ends(kind(epsilon=1.0, first_phase=5)) == [5, 10, 20, 40, 80, 160, 320, 640]
        assert ends(kind(epsilon=1.0, first_phase=10, growth=1.1)) == [10, 11, 13, 15, 17, 19, 21, 24]
        assert ends(kind(epsilon=1.0, growth=3)) == [1, 3, 9, 27, 81, 243, 729, 2187]
    assert ends(dpb.BlockUCB(epsilon=1.0, first_phase=10, growth=1.5)) == [10, 15, 23, 35, 53, 80, 120, 180]
    assert AdaCUCB(epsilon=1.0, delta=1e-6).configure(2, 100).params.phases.ends.tolist() == doubling[:7]


@given(first=st.integers(1, 10**18), growth=st.floats(1.01, 100))
def test_geometric_ends_grow_by_the_factor_and_no_more_than_a_play_beyond(first: int, growth: float) -> None:
    """With exact numbers: the growth is the one that was written, 10 times 1.1 is 11."""
    counts = list(islice(geometric_ends(first, growth), 60))
    assert counts[0] == first
    for n, following in pairwise(counts):
        assert isinstance(following, int)
        assert n < following
        assert following - 1 < Fraction(str(growth)) * n <= following


@given(
    first=st.integers(1, 50),
    growth=st.floats(1.01, 5),
    horizon=st.integers(1, 10**6),
    epsilon=st.floats(0.01, 10),
)
def test_every_play_is_in_one_block(first: int, growth: float, horizon: int, epsilon: float) -> None:
    """Blocks follow each other without a gap, end within the horizon, and are the phases of the kernels."""
    policy = dpb.BlockUCB(epsilon=epsilon, growth=growth, first_phase=first)
    blocks, phases = list(policy.blocks(horizon)), policy.phases(horizon)
    assert [block.last for block in blocks] == phases.ends.tolist()
    assert [block.last - block.first + 1 for block in blocks] == phases.sizes.tolist()
    assert [block.first for block in blocks] == [1, *(block.last + 1 for block in blocks)][: len(blocks)]
    assert {block.scale for block in blocks} <= {scale_for(epsilon)}
    assert phases.scale == scale_for(epsilon)
    assert phases.sizes.sum() <= horizon
    assert next(end for end in policy.phase_ends() if end not in phases.ends) > horizon
    (schedule,) = expected_noises(policy, 7, horizon)
    assert list(schedule) == [LaplaceEvent(scale_for(epsilon))] * len(blocks)


PHASED: list[Policy] = [
    dpb.DPIMED(epsilon=1.0),
    dpb.NoiseAwareIMED(epsilon=1.0, growth=1.2),
    dpb.DPKLUCB(epsilon=1.0, first_phase=3),
    dpb.NoiseAwareKLUCB(epsilon=1.0, first_phase=2),
    dpb.AdaPUCB(epsilon=1.0),
    dpb.AdaPKLUCB(epsilon=1.0),
    dpb.LazyDPTS(epsilon=1.0),
    dpb.AnytimeLazyUCB(epsilon=1.0),
    dpb.BlockUCB(epsilon=1.0),
    dpb.AdaCUCB(epsilon=1.0, delta=1e-6),
]
every_phased_policy = pytest.mark.parametrize("policy", PHASED, ids=lambda policy: repr(policy).replace(" ", ""))


@every_phased_policy
def test_arms_are_opened_in_order_and_release_when_a_phase_ends(policy: Policy) -> None:
    noise = RecordingNoise(SeededNoise(3), Ledger())
    game = Game(policy, 3, 2000, noise)
    phase_ends = set(game.params.phases.ends.tolist())
    counts, done = [0, 0, 0], [0, 0, 0]
    table = np.random.default_rng(1).random((2001, 3)) < [0.3, 0.5, 0.6]
    while game.t <= 2000:
        released = len(noise.ledger)
        game.play(lambda t, arm: float(table[t, arm]), game.t)
        arm = game.actions[-1]
        if 0 in done:
            assert arm == done.index(0)
        counts[arm] += 1
        ends_now = int(counts[arm] in phase_ends)
        assert [row.content["arm"] for row in list(noise.ledger)[released:]] == [arm] * ends_now
        done[arm] += ends_now
    assert sum(done) > 6


@every_phased_policy
@pytest.mark.parametrize("arms", [1, 2])
def test_playing_on_releases_nothing_more(policy: Policy, arms: int) -> None:
    noise = RecordingNoise(SeededNoise(3), Ledger())
    game = Game(policy, arms, 100, noise)
    game.play(lambda t, arm: 1.0, 5000, "blocks")
    allowed = sum(1 for stream in expected_noises(policy, arms, 100) for _ in stream)
    for arm in range(arms):
        assert sum(row.content["arm"] == arm for row in noise.ledger) <= allowed
    if arms == 1:
        assert len(noise.ledger) == allowed
        if not isinstance(policy, dpb.LazyDPTS):
            assert hold(game.params, game.state, 0, 5001) == FOREVER


def test_a_horizon_within_the_first_phase_is_played_without_a_release() -> None:
    policy = dpb.NoiseAwareIMED(epsilon=0.1)
    noise = RecordingNoise(SeededNoise(3), Ledger())
    game = Game(policy, 3, 100, noise).play(lambda t, arm: 1.0, 400, "blocks")
    assert set(game.actions) == {0}
    assert len(noise.ledger) == 0
    assert len(list(policy.blocks(100))) == 0


# ---- options


@pytest.mark.parametrize("arms", [1, 2, 3, 5, 10, 100])
def test_caution_follows_the_number_of_arms(arms: int) -> None:
    """κ = 1 - 0.6 ln(K/2) for the noise-aware policy, 0 for the published one, unless it is given."""

    def caution(kind: type[dpb.DPIMED | dpb.NoiseAwareIMED], given: float | None = None) -> float:
        return float(kind(epsilon=1.0, caution=given).configure(arms, 1000).params.caution)

    expected = 1.0 if arms == 1 else 1 - 0.6 * math.log(arms / 2)
    assert caution(dpb.NoiseAwareIMED) == pytest.approx(expected, abs=1e-12)
    assert caution(dpb.DPIMED) == 0
    for chosen in (-10, -0.3, 0, 1):
        assert caution(dpb.DPIMED, chosen) == caution(dpb.NoiseAwareIMED, chosen) == chosen


EPSILON = r"in \[1e-06, inf\)\."
REFUSED: list[tuple[Callable[[], object], str]] = [
    *(
        (lambda kind=kind, bad=bad: kind(epsilon=bad), rf"Expected epsilon={bad} {EPSILON}")
        for kind in (
            *(dpb.NoiseAwareIMED, dpb.NoiseAwareKLUCB),
            *(dpb.DPIMED, dpb.DPKLUCB, dpb.AdaPUCB, dpb.AdaPKLUCB, dpb.LazyDPTS, dpb.AnytimeLazyUCB),
            *(dpb.DPSE, dpb.BlockUCB, dpb.LDPUCBBernoulli, dpb.LDPUCBLaplace),
        )
        for bad in (0, -1.5, 9e-7, math.inf, math.nan)
    ),
    (lambda: dpb.DPSE(epsilon="1"), r"Expected epsilon='1' to be a number in \[1e-06, inf\)\."),  # type: ignore[arg-type]
    (lambda: dpb.AdaCUCB(epsilon=0, delta=1e-6), f"Expected epsilon=0 {EPSILON}"),
    (lambda: dpb.AdaCUCB(epsilon=1, delta=0), r"Expected delta=0 in \(0, 1\)\."),
    (lambda: dpb.AdaCUCB(epsilon=1, delta=1), r"Expected delta=1 in \(0, 1\)\."),
    (lambda: dpb.AdaCUCB(epsilon=1, delta=1e-6, beta=0), r"Expected beta=0 in \(0, 1000\]\."),
    (lambda: dpb.NoiseAwareKLUCB(epsilon=1, growth=1), r"Expected growth=1 in \[1\.01, 100\]\."),
    (lambda: dpb.NoiseAwareIMED(epsilon=1, caution=1.1), r"Expected caution=1\.1 in \[-10, 1\]\."),
    (lambda: dpb.DPIMED(epsilon=1, growth=1), r"Expected growth=1 in \[1\.01, 100\]\."),
    (lambda: dpb.DPKLUCB(epsilon=1, growth=100.5), r"Expected growth=100\.5 in \[1\.01, 100\]\."),
    (lambda: dpb.DPIMED(epsilon=1, first_phase=0), r"Expected first_phase=0 in \[1, 1000000000000000000\]\."),
    (lambda: dpb.DPIMED(epsilon=1, first_phase=1.5), r"first_phase=1\.5 to be a whole number in \[1, "),  # type: ignore[arg-type]
    (lambda: dpb.DPIMED(epsilon=1, caution=1.1), r"Expected caution=1\.1 in \[-10, 1\]\."),
    (lambda: dpb.DPIMED(epsilon=1, caution=-11), r"Expected caution=-11 in \[-10, 1\]\."),
    (lambda: dpb.AdaPUCB(epsilon=1, alpha=0), r"Expected alpha=0 in \(0, 1000\]\."),
    (lambda: dpb.AdaPKLUCB(epsilon=1, alpha=1001), r"Expected alpha=1001 in \(0, 1000\]\."),
    (lambda: dpb.BlockUCB(epsilon=1, confidence=0), r"Expected confidence=0 in \(0, 1000\]\."),
    (lambda: dpb.BlockUCB(epsilon=1, growth=1.001), r"Expected growth=1\.001 in \[1\.01, 100\]\."),
    (lambda: dpb.BlockUCB(epsilon=1, first_phase=-1), r"Expected first_phase=-1 in \[1, 1000000000000000000\]\."),
    (lambda: dpb.recommended(epsilon=0), f"Expected epsilon=0 {EPSILON}"),
    (lambda: dpb.recommended(epsilon=1, delta=1), r"Expected delta=1 in \[0, 1\)\."),
    (
        lambda: dpb.LazyDPTS(epsilon=1).live(1, 12),
        r"policy=lazy-dp-ts to be one that can run live: it draws its choices",
    ),
    (
        lambda: dpb.DPIMED(epsilon=1e-6).live(3, 12),
        r"Expected contributions=3 to leave every reward at least 1e-06 of epsilon=1e-06\.",
    ),
    (lambda: dpb.AdaCUCB(epsilon=1, delta=1e-6).live(1, 12), r"Expected policy=adac-ucb to be one that can run live"),
    (lambda: dpb.DPSE(epsilon=1).live(1, 12), r"Expected policy=dp-se to be one that can run live"),
    (lambda: dpb.DPSE(epsilon=1).blocks(100), r"Expected policy=dp-se to have releases that are fixed in advance"),
    (lambda: dpb.LDPUCBLaplace(epsilon=1).live(1, 12), r"Expected policy=ldp-ucb-laplace to be one that can run live"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message[:60] for _, message in REFUSED])
def test_what_is_out_of_range_is_refused_with_its_range(make: Callable[[], object], message: str) -> None:
    with pytest.raises(dpb.InvalidInput, match=message):
        make()


def test_whole_numbers_may_be_floats_and_reals_integers() -> None:
    """Settings are stored as what they are, so that equal settings are equal policies."""
    assert dpb.DPIMED(epsilon=1, first_phase=1e3, growth=2) == dpb.DPIMED(epsilon=1.0, first_phase=1000, growth=2.0)  # type: ignore[arg-type]
    policy = dpb.BlockUCB(epsilon=2, confidence=4, growth=2, first_phase=3.0)  # type: ignore[arg-type]
    for value, kind in ((policy.epsilon, float), (policy.confidence, float), (policy.first_phase, int)):
        assert type(value) is kind


# ---- the recommended policy


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1, 1e-6), (20.0, 0.5)])
def test_the_recommended_policy_spends_no_delta(epsilon: float, delta: float) -> None:
    policy = dpb.recommended(epsilon=epsilon, delta=delta)
    assert policy == dpb.NoiseAwareIMED(epsilon=epsilon)
    guarantee = policy.guarantee()
    assert guarantee is not None
    assert (guarantee.epsilon, guarantee.delta) == (epsilon, 0)
    assert guarantee.within(Budget(epsilon, delta))


def test_live_phases_have_the_budget_of_one_reward() -> None:
    """A person with four rewards has the whole budget; the first phase follows the budget that is left for one."""
    for policy in PHASED:
        if isinstance(policy, PhasePolicy) and not isinstance(policy, dpb.LazyDPTS | dpb.AdaCUCB):
            live = policy.live(4, 12)
            assert live.epsilon == pytest.approx(0.25, rel=1e-9)
            assert live.epsilon * 4 <= 1
            assert type(live) is type(policy)
    aware = dpb.NoiseAwareIMED(epsilon=1.0).live(4, 12)
    assert next(aware.phase_ends()) in (64, 65)
    # Written down, so that the phases of a running bandit outlive other defaults.
    assert (aware.first_phase, aware.growth) == (next(aware.phase_ends()), 1.5)
