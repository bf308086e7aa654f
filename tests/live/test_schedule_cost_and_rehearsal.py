"""A policy is not believed: its blocks are composed and its kernels rehearsed before anybody is assigned anything."""

import json
import math
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dpbandits as dpb
from doubling_phases import FIRST, Phases, State
from dpbandits import kernel
from dpbandits.live.acknowledged_records import AcknowledgedRecords
from dpbandits.live.blocks import Schedule, schedule_of
from dpbandits.live.persistence import journal_overview
from dpbandits.live.schedule_cost import declared_cost
from dpbandits.mechanisms import GAUSSIAN, LAPLACE, SecureNoise, public, release, secret
from dpbandits.policies import FOREVER, Block, Policy, Setup, hold, select, update
from dpbandits.policies.phases import PhasePolicy
from dpbandits.privacy import scale_for, zcdp_epsilon
from explore_then_commit import ExploreThenCommit
from insides import state_of
from learners import learner_for, play
from servable_policies import SERVABLE, shown
from shared_noise import SharedNoise
from ways_of_answering import step_by_step

pytestmark = pytest.mark.slow

# ---- policies that promise more than their blocks keep


@dataclass(frozen=True, kw_only=True)
class ClaimsATenth(ExploreThenCommit):
    """Claims 0.1 with a block of scale 1."""

    def guarantee(self, horizon: float = math.inf) -> dpb.Guarantee:
        return dpb.Guarantee(0.1, horizon=horizon, theorem="its own word", proved=True)


@dataclass(frozen=True, kw_only=True)
class LastBlockBare(Phases):
    """Blocks of its epsilon, and one far out with a tenth of the noise."""

    def blocks(self, horizon: int) -> Iterator[Block]:
        for number, block in enumerate(super().blocks(horizon)):
            yield block._replace(scale=block.scale / 10) if number == 7 else block


@dataclass(frozen=True, kw_only=True)
class Repeating(dpb.DPUCBInt):
    """Sums of all rewards so far, composed as if each were a block of its own."""

    name = "repeating"

    def guarantee(self, horizon: float = math.inf) -> dpb.Guarantee:
        worst = max(1 / block.scale for block in self.blocks(10_000))
        return dpb.Guarantee(worst, horizon=horizon, theorem="parallel composition, wrongly", proved=True)


@dataclass(frozen=True, kw_only=True)
class EndlessPure(dpb.DPUCBInt):
    """Sums of all rewards so far, for ever, of which nothing is proved."""

    name = "endless"

    def squared_loss_after(self, last: int) -> float:
        return math.inf


@dataclass(frozen=True, kw_only=True)
class LessThanNothing(dpb.DPUCBInt):
    """Proves that later releases give back what earlier ones cost."""

    name = "less than nothing"

    def squared_loss_after(self, last: int) -> float:
        return -5.0


@dataclass(frozen=True, kw_only=True)
class ForAWhile(ExploreThenCommit):
    """Promises something up to ten people, whatever it is asked for."""

    def guarantee(self, horizon: float = math.inf) -> dpb.Guarantee:
        return replace(super().guarantee(horizon), horizon=10)


@dataclass(frozen=True, kw_only=True)
class AnotherClass(ExploreThenCommit):
    def live(self, contributions: int, grid_bits: int) -> Any:
        return None


@dataclass(frozen=True, kw_only=True)
class JustANumber(ExploreThenCommit):
    def guarantee(self, horizon: float = math.inf) -> Any:
        return 1.0


@dataclass(frozen=True, kw_only=True)
class Blocks(ExploreThenCommit):
    """Has these blocks."""

    made: list[Any]

    def blocks(self, horizon: int) -> Any:
        return iter(self.made)


# ---- policies whose kernels release something else than their blocks say


class SpoiltParams(NamedTuple):
    scale: float
    spoilt: int


NEVER_RESETS, TWICE, DOUBLED, READS, OTHER_NOISE, LATE, CONSTANT, OTHER_ARM, FIFTH_BLOCK, FOURTH_ARM = range(10)
NO_ARM, NO_ARM_SOMETIMES = 10, 11  # always, and where a mean is larger than any in a rehearsal


@select.register(SpoiltParams)
@kernel
def _select(params: SpoiltParams, state: State, t: int) -> int:
    is_large = np.max(state.released / np.maximum(state.ends, 1)) > 100
    if params.spoilt == NO_ARM or (params.spoilt == NO_ARM_SOMETIMES and is_large):
        return len(state.counts)
    return (t - 1) % len(state.counts)


@hold.register(SpoiltParams)
@kernel
def _hold(params: SpoiltParams, state: State, arm: int, t: int) -> int:
    return FOREVER


@update.register(SpoiltParams)
@kernel
def _update(params: SpoiltParams, state: State, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    state.counts[arm] += plays
    state.sums[arm] += reward
    end = 2 * state.ends[arm] + FIRST
    if state.counts[arm] == end + (params.spoilt == LATE):
        total = state.sums[arm]
        is_fifth = params.spoilt == FIFTH_BLOCK and state.ends[arm] >= 15 * FIRST
        if params.spoilt == DOUBLED or is_fifth or (params.spoilt == FOURTH_ARM and arm == 3):
            total = 2 * total
        if params.spoilt == CONSTANT:
            total = total + 1
        if params.spoilt == READS and total > 3:
            total = total + 0
        mechanism = GAUSSIAN if params.spoilt == OTHER_NOISE else LAPLACE
        of_arm = 0 if params.spoilt == OTHER_ARM else arm
        state.released[arm] += release(noise, total, params.scale, mechanism, of_arm)
        if params.spoilt == TWICE:
            state.released[arm] += release(noise, total, params.scale, LAPLACE, arm)
        if params.spoilt != NEVER_RESETS:
            state.sums[arm] = 0
        state.ends[arm] = end


@dataclass(frozen=True, kw_only=True)
class Spoilt(Phases):
    spoilt: int

    def setup(self, arms: int, horizon: int) -> Setup:
        setup = super().setup(arms, horizon)
        return setup._replace(params=SpoiltParams(setup.params.scale, self.spoilt))


class OtherScale(ExploreThenCommit):
    def blocks(self, horizon: int) -> Any:
        return (block._replace(scale=2 * block.scale) for block in super().blocks(horizon))


class Failing(ExploreThenCommit):
    def setup(self, arms: int, horizon: int) -> Any:
        return super().setup(arms, horizon)._replace(params=None)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (ClaimsATenth(epsilon=1.0, plays=5), r"to cost at most \(0.1, 0\) in one reward, as it promises, not \(1.0, 0"),
        (LastBlockBare(epsilon=1.0), r"to cost at most \(1.0, 0\) in one reward, as it promises, not \(9.99"),
        (Repeating(epsilon=1.0, delta=0.0, horizon=10_000), "as it promises, not .* by basic composition"),
        (Repeating(epsilon=1.0, delta=1e-6), "to promise a delta above 0, or to be declared for a shorter horizon"),
        (
            EndlessPure(epsilon=1.0, delta=1e-6),
            "`squared_loss_after` gives no bound on the rest",
        ),
        (LessThanNothing(epsilon=1.0, delta=1e-6), r"Expected squared_loss_after=-5.0 in \[0, inf\]"),
        (ForAWhile(epsilon=1.0, plays=5), "to hold up to n = inf, as it was asked for, not up to n = 10"),
        (AnotherClass(epsilon=1.0, plays=5), "Expected `live` of policy=explore-then-commit to return one of its own"),
        (JustANumber(epsilon=1.0, plays=5), "to have a proved guarantee"),
        (Blocks(epsilon=1.0, plays=5, made=[(1, 4.5, 1.0)]), "to be two whole numbers and a scale, not "),
        (Blocks(epsilon=1.0, plays=5, made=[5]), "to be two whole numbers and a scale, not 5"),
        (Blocks(epsilon=1.0, plays=5, made=[(1, 5, 1e-300)]), r"to cost at most \(1.0, 0\)|to be in|in \["),
        (Spoilt(epsilon=1.0, spoilt=NEVER_RESETS), "a release of the sum of 1 block, not a release of the sum of 2"),
        (Spoilt(epsilon=1.0, spoilt=TWICE), "to make one release, not 2, at the end of block 0 of arm 0"),
        (Spoilt(epsilon=1.0, spoilt=DOUBLED), "sum of 1 block, not a release of blocks with weights"),
        (
            Spoilt(epsilon=1.0, spoilt=READS),
            r"to leave rewards alone \(line \d+ of test_schedule_cost_and_rehearsal.py\): a secret was read without",
        ),
        (Spoilt(epsilon=1.0, spoilt=OTHER_NOISE), "with other noise of scale 1.0"),
        (Spoilt(epsilon=1.0, spoilt=LATE), "to make one release, not 0"),
        (Spoilt(epsilon=1.0, spoilt=CONSTANT), "sum of 1 block, not one with a constant added"),
        (Spoilt(epsilon=1.0, spoilt=NO_ARM), r"Expected `select` of policy=phases to return an arm in \[0, 1\], not 2"),
        (Spoilt(epsilon=1.0, spoilt=OTHER_ARM), "a release of arm 1 .*, not one of arm 0"),
        (OtherScale(epsilon=1.0, plays=5), "with Laplace noise of scale 2.0, not one of arm 0 .* of scale 1.0"),
        (
            Failing(epsilon=1.0, plays=5),
            "to play its first blocks, not to end with TypeError: builtins.Params belongs to no policy",
        ),
    ],
    ids=lambda value: shown(value) if isinstance(value, Policy) else "",
)
def test_a_dishonest_policy_is_refused_before_it_begins(policy: Policy, message: str) -> None:
    with pytest.raises(dpb.InvalidInput, match=message) as refused:
        dpb.Bandit(policy, 2, accept_delta=True)
    assert "\n" not in str(refused.value)


def test_more_than_one_block_and_more_than_one_arm_are_rehearsed() -> None:
    for spoilt, where in ((FIFTH_BLOCK, "block 4 of arm 0"), (FOURTH_ARM, "block 0 of arm 3")):
        with pytest.raises(dpb.InvalidInput, match=f"blocks with weights, at the end of {where}"):
            dpb.Bandit(Spoilt(epsilon=1.0, spoilt=spoilt), 5)


@dataclass(frozen=True, kw_only=True)
class Nearly(dpb.DPUCBInt):
    """Promises a share of what it costs."""

    name = "nearly"
    share: float = 1.0

    def guarantee(self, horizon: float = math.inf) -> dpb.Guarantee:
        guarantee = super().guarantee(horizon)
        return replace(guarantee, epsilon=self.share * guarantee.epsilon)


@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon": 1.0, "delta": 0.0, "horizon": 2000},
        {"epsilon": 1.0, "delta": 1e-6, "horizon": 2000},
        {"epsilon": 3.0, "delta": 1e-6, "series": "constant"},
    ],
    ids=str,
)
def test_a_policy_that_promises_a_little_less_than_it_costs_is_refused(settings: dict[str, Any]) -> None:
    dpb.Bandit(Nearly(**settings), 2, accept_delta=True)
    with pytest.raises(dpb.InvalidInput, match="as it promises, not"):
        dpb.Bandit(Nearly(**settings, share=0.97), 2, accept_delta=True)


def test_releases_of_another_schedule_are_refused() -> None:
    """Both schedules cost the same. Half of each costs more."""

    @dataclass(frozen=True, kw_only=True)
    class Turned(dpb.DPUCBInt):
        name = "turned"

        def blocks(self, horizon: int) -> Iterator[Block]:
            blocks = list(super().blocks(horizon))
            scales = sorted((block.scale for block in blocks), reverse=is_turned)
            return (block._replace(scale=scale) for block, scale in zip(blocks, scales, strict=True))

        def setup(self, arms: int, horizon: int) -> Setup:
            setup = super().setup(arms, horizon)
            scales = tuple(block.scale for block in self.blocks(horizon))
            return setup._replace(params=TurnedParams(setup.params, scales))

    is_turned = False
    policy = Turned(epsilon=4.0, delta=0.0, horizon=60)
    bandit = dpb.Bandit(policy, 2)
    step_by_step(bandit, lambda n, arm: 1.0, 20)
    text = bandit.to_json()
    is_turned = True
    dpb.Bandit(policy, 2)
    with pytest.raises(dpb.InvalidInput, match="Expected the ledger's releases to be those of the schedule"):
        dpb.Bandit.from_json(text, policy=policy)


class TurnedParams(NamedTuple):
    inner: Any
    scales: tuple[float, ...]


@select.register(TurnedParams)
@kernel
def _select_turned(params: TurnedParams, state: Any, t: int) -> int:
    return select(params.inner, state, t)


@update.register(TurnedParams)
@kernel
def _update_turned(params: TurnedParams, state: Any, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    state.sums[arm] += reward
    state.counts[arm] += plays
    scale = params.scales[state.releases[arm]]
    state.means[arm] = release(noise, state.sums[arm], scale, LAPLACE, arm) / state.counts[arm]
    state.releases[arm] += 1


def test_a_refusal_can_be_logged_with_its_variables() -> None:
    """The numbers of the rehearsal cannot be shown, so no frame that has one is kept."""
    for policy in (Failing(epsilon=1.0, plays=5), Spoilt(epsilon=1.0, spoilt=READS), Misspelt(epsilon=1.0, plays=5)):
        with pytest.raises(dpb.InvalidInput) as refused:
            dpb.Bandit(policy, 2)
        lines = traceback.TracebackException.from_exception(refused.value, capture_locals=True).format()
        assert "Expected policy=" in "".join(lines)
    assert "AttributeError (line " in str(refused.value)


class MisspeltParams(NamedTuple):
    plays: int
    scale: float


@update.register(MisspeltParams)
@kernel
def _misspelt(params: Any, state: Any, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    state.sums[arm] += reward
    release(noise, state.sums[arm], params.sclae, LAPLACE, arm)


class Misspelt(ExploreThenCommit):
    def setup(self, arms: int, horizon: int) -> Any:
        setup = super().setup(arms, horizon)
        return setup._replace(params=MisspeltParams(*setup.params))


def test_numbers_of_numpy_and_plain_tuples_are_blocks_too() -> None:
    for made in ((*np.array([1, 5]), np.float64(1.0)), (1, 5, 1)):
        schedule = schedule_of(Blocks(epsilon=1.0, plays=5, made=[made]), 100, SecureNoise(), 24)
        assert [type(value) for value in schedule.block(0) or ()] == [int, int, float]


def test_a_policy_may_have_settings_for_every_arm() -> None:
    class Priors(ExploreThenCommit):
        def setup(self, arms: int, horizon: int) -> Any:
            assert arms == 6
            return super().setup(arms, horizon)

    dpb.Bandit(Priors(epsilon=1.0, plays=5), 6)
    many = dpb.Bandit(ExploreThenCommit(epsilon=1.0, plays=5), 5000)
    assert len(many.arms) == 5000


def test_a_choice_that_is_no_arm_is_refused_live() -> None:
    """It depends on released values, so a rehearsal may miss it. Nothing has happened."""
    bandit = dpb.Bandit(Spoilt(epsilon=1.0, spoilt=NO_ARM_SOMETIMES), 2, noise=noise_of(10_000))
    step_by_step(bandit, lambda n, arm: 1.0, 15)
    last = bandit.assign()
    assert last.arm == 1
    bandit.close(last, 1.0)
    before = state_of(bandit)
    with pytest.raises(
        dpb.InvalidInput, match=r"Expected `select` of policy=phases to return an arm in \[0, 1\], not 2"
    ):
        bandit.assign()
    assert state_of(bandit) == before
    usual = dpb.Bandit(Spoilt(epsilon=1.0, spoilt=NO_ARM_SOMETIMES), 2, noise=noise_of(0))
    step_by_step(usual, lambda n, arm: 1.0, 17)


def test_a_tail_that_is_larger_than_was_proved_is_not_released() -> None:
    class Vanishing(dpb.DPUCBInt):
        """Its noise gets small after so many blocks that nobody looks at all of them."""

        name = "vanishing"

        def blocks(self, horizon: int) -> Iterator[Block]:
            for number, block in enumerate(super().blocks(horizon)):
                yield block._replace(scale=0.01) if number > 100_005 else block

    policy = Vanishing(epsilon=9.0, delta=1e-6, series="constant", density=0.5, v=1.5)
    schedule = learner_for(policy).schedule
    assert schedule.block(100_005) is not None
    looked_at = schedule.beginning(100_000)
    expected = math.fsum(block.scale**-2 for block in looked_at) + policy.squared_loss_after(looked_at[-1].last)
    assert schedule.most_squares == pytest.approx(expected, rel=1e-9)
    with pytest.raises(
        dpb.InvalidInput, match="to be within what its `squared_loss_after` leaves, not to have a scale"
    ):
        schedule.block(100_006)


@pytest.mark.parametrize("policy", SERVABLE, ids=shown)
def test_no_honest_policy_is_refused(policy: Policy) -> None:
    """Not as it is, and not if it were somebody's own, whose blocks are composed."""
    dpb.Bandit(policy, 3, accept_delta=True)
    kind = type(policy)
    mine = type("Mine", (kind,), {"name": "mine"})
    dpb.Bandit(mine(**vars(policy)), 3, accept_delta=True)


@dataclass(frozen=True, kw_only=True)
class Repeated(Policy):
    """Releases the sum of all rewards so many times, each with the same noise."""

    name = "repeated"
    source = "this file"

    epsilon: float
    uses: int
    scale: float | None = None
    delta: float = 0.0

    def setup(self, arms: int, horizon: int) -> Setup:
        return Setup(RepeatedParams(self._scale), RepeatedState)

    def guarantee(self, horizon: float = math.inf) -> dpb.Guarantee:
        return dpb.Guarantee(self.epsilon, self.delta, horizon=horizon, theorem="composition", proved=True)

    def live(self, contributions: int, grid_bits: int) -> "Repeated":
        return self

    def blocks(self, horizon: int) -> Iterator[Block]:
        return (Block(1, number, self._scale) for number in range(1, self.uses + 1))

    def squared_loss_after(self, last: int) -> float:
        return (self.uses - last) * self._scale**-2

    @property
    def _scale(self) -> float:
        return scale_for(self.epsilon, uses=self.uses) if self.scale is None else self.scale


class RepeatedParams(NamedTuple):
    scale: float


class RepeatedState(NamedTuple):
    means: Annotated[Any, public("arms")]
    sums: Annotated[Any, secret("arms")]


@select.register(RepeatedParams)
@kernel
def _select_repeated(params: RepeatedParams, state: RepeatedState, t: int) -> int:
    return int(np.argmax(state.means))


@update.register(RepeatedParams)
@kernel
def _update_repeated(
    params: RepeatedParams, state: RepeatedState, arm: int, plays: int, reward: Any, t: int, noise: Any
) -> None:
    state.sums[arm] += reward
    state.means[arm] = release(noise, state.sums[arm], params.scale, LAPLACE, arm)


def test_what_costs_exactly_what_it_promises_is_not_refused() -> None:
    """k releases of scale k/ε cost ε, and not a rounding error more; and the ledger says so too."""
    for epsilon in (0.1, 0.5, 1.0, 0.3):
        for uses in (3, 5, 6, 7, 10, 49):
            policy = Repeated(epsilon=epsilon, uses=uses)
            bandit = dpb.Bandit(policy, 2, noise=SharedNoise(1))
            step_by_step(bandit, lambda n, arm: 1.0, 4 * uses)
            releases = Counter(row.content["arm"] for row in bandit.ledger if row.number)
            assert bandit.exhausted or max(releases.values()) == uses
            assert bandit.spent().epsilon <= epsilon
            found = dpb.check_ledger(bandit.ledger.to_jsonl(), policy=Repeated, head=bandit.ledger.head)
            assert found.holds


def test_a_long_schedule_that_spends_all_it_proved_comes_to_its_end() -> None:
    """Rounding errors of a hundred thousand sums, all in one direction, refuse nobody."""
    for scale in (909.0, 700.0, 333.3, 1234.5):
        blocks = 100_000 + 20_000
        rho = blocks / scale**2 / 2
        epsilon = zcdp_epsilon(rho * (1 + 1e-9), 1e-6)
        policy = Repeated(epsilon=epsilon, delta=1e-6, uses=blocks, scale=scale)
        schedule = learner_for(policy).schedule
        assert schedule.most_squares < math.inf
        assert schedule.block(blocks - 1) is not None
        assert schedule.block(blocks) is None


def test_a_scale_that_is_next_to_nothing_is_refused_in_words() -> None:
    for scale in (1e-160, 1e-300, 5e-324):
        with pytest.raises(dpb.InvalidInput):
            dpb.Bandit(Repeated(epsilon=1.0, uses=3, scale=scale), 2)


@pytest.mark.parametrize("policy", SERVABLE, ids=shown)
def test_our_policies_promise_what_their_blocks_cost(policy: Policy) -> None:
    """They are believed, so that a long schedule is not composed twice: here it is, by its blocks alone."""
    source = SecureNoise()
    live = policy.live(1, 12)
    horizon = math.inf if policy.horizon is None else policy.horizon
    promised = live.guarantee(horizon)
    assert promised is not None
    limit = int(min(horizon, 10**12))
    cost = declared_cost(live, schedule_of(live, limit, source, 24), 2**12, promised)
    assert cost.epsilon <= promised.epsilon
    if not isinstance(policy, dpb.DPUCBInt) or math.isinf(horizon):
        assert cost.epsilon > 0.995 * promised.epsilon  # and no more than that


def test_single_blocks_are_looked_at_as_they_come() -> None:
    """A schedule without an end cannot be looked at as a whole, and one block is enough to break a promise."""

    @dataclass(frozen=True, kw_only=True)
    class Late(PhasePolicy):
        name = "late"
        source = "this test"

        def setup(self, arms: int, horizon: int) -> Setup:
            return dpb.AdaPUCB(epsilon=self.epsilon).setup(arms, horizon)

        def phase_ends(self) -> Iterator[int]:
            return dpb.AdaPUCB(epsilon=self.epsilon).phase_ends()

    schedule = learner_for(Late(epsilon=1.0)).schedule
    assert schedule.least_scale == 1.0
    good = schedule.beginning(10)
    spoilt = Schedule(lambda: iter([*good, Block(good[-1].last + 1, 2**60, 0.5)]))
    spoilt.least_scale = schedule.least_scale
    assert spoilt.beginning(10) == good
    for _ in range(2):
        with pytest.raises(dpb.InvalidInput, match=r"a scale of at least 1\.0, as its guarantee requires, not 0\.5"):
            spoilt.block(10)


def test_the_tail_of_a_schedule_is_bounded() -> None:
    """Lemma B.1's bound against ten million releases that are added up."""
    for policy in (
        dpb.DPUCBInt(epsilon=9.0, delta=1e-6, density=0.9),
        dpb.DPUCBInt(epsilon=9.0, delta=1e-6, series="constant", density=0.3, v=1.3),
        dpb.DPUCBInt(epsilon=9.0, delta=1e-6, series="x", density=0.5, v=1.5),
    ):
        blocks = list(policy.blocks(300_000))
        last = blocks[100].last
        added = math.fsum(block.scale**-2 for block in blocks[101:])
        assert added <= policy.squared_loss_after(last)
        rest = policy.squared_loss_after(blocks[-1].last)
        assert added + rest >= 0.5 * policy.squared_loss_after(last)


def noise_of(size: int, grid_bits: int = 12) -> SharedNoise:
    """Return a source of noise that is always as large as so many rewards."""
    noise = SharedNoise(1, grid_bits)
    noise.draw = lambda scale, mechanism: size * 2**grid_bits  # type: ignore[method-assign]
    return noise


# ---- what is released is the learner's own sum


class ShyParams(NamedTuple):
    plays: int
    scale: float


@select.register(ShyParams)
@kernel
def _select_shy(params: ShyParams, state: Any, t: int) -> int:
    return 0


@update.register(ShyParams)
@kernel
def _update_shy(params: ShyParams, state: Any, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
    value = release(noise, reward, params.scale, LAPLACE, arm)
    if value > 10.0:
        raise dpb.InvalidInput(f"cannot do with {value}")


class Shy(ExploreThenCommit):
    """Fails if a released value is too large for it."""

    def setup(self, arms: int, horizon: int) -> Any:
        setup = super().setup(arms, horizon)
        return setup._replace(params=ShyParams(*setup.params))


def test_a_policy_that_does_not_like_a_value_does_not_get_another(tmp_path: Path) -> None:
    """The value is on disk before the policy sees it. Otherwise the one that was published would be one it likes."""
    noise = SharedNoise(1)
    draws = []
    noise.draw = lambda scale, mechanism: draws.append(1) or 100 * 4096  # type: ignore[func-returns-value,method-assign]
    policy = Shy(epsilon=1.0, plays=2)
    bandit = dpb.Bandit(policy, 2, noise=noise, journal=tmp_path / "journal")
    waiting = [bandit.assign() for _ in range(4)]
    bandit.close(waiting[0], 1.0)
    with pytest.raises(dpb.InvalidInput, match=r"cannot do with 102\.0"):
        bandit.close(waiting[2], 1.0)
    with pytest.raises(dpb.StepError, match="failed halfway"):
        bandit.assign()
    made = len(draws)
    for _ in range(3):
        with pytest.raises(dpb.JournalError, match="cannot be followed from record 6 on"):
            dpb.Bandit(policy, 2, noise=noise, journal=tmp_path / "journal")
    assert len(draws) == made
    assert b'{"release":[[0,102.0,4096.0]],' in (tmp_path / "journal").read_bytes()


def test_noise_is_added_to_the_sums_of_the_learner() -> None:
    """A kernel that would release something else after the rehearsal gets nothing to release."""
    learner = learner_for(Phases(epsilon=1.0), noise=noise_of(0, grid_bits=4))
    learner.params = SpoiltParams(learner.params.scale, NEVER_RESETS)  # from the first block on
    play(learner, lambda n, arm: 1.0, 200)
    rows = [row.content for row in learner.ledger if row.number]
    assert [row["value"] for row in rows] == [float(row["count"]) for row in rows]
    assert len(rows) > 5
    assert not np.any(learner.state.sums)  # nothing secret ever gets into a kernel's state


def test_sums_of_all_rewards_so_far_are_exact() -> None:
    bandit = dpb.Bandit(dpb.DPUCBInt(epsilon=9.0, delta=0.0, horizon=400), 2, noise=noise_of(0, grid_bits=10))
    rewards = np.random.default_rng(1).integers(1025, size=400) / 1024
    arms = step_by_step(bandit, lambda n, arm: float(rewards[n - 1]), 400)
    released = 0
    for row in (row.content for row in bandit.ledger if row.number):
        mine = [reward for reward, arm in zip(rewards, arms, strict=True) if arm == row["arm"]]
        assert row["value"] == sum(mine[: row["count"]])
        released += 1
    assert released > 20
    assert not np.any(json.loads(bandit.to_json())["learner"]["state"]["sums"])


def test_spent_shows_more_than_was_promised(tmp_path: Path) -> None:
    """If blocks ever cost more than the guarantee, `spent` would say so."""
    bandit = dpb.Bandit(Phases(epsilon=0.5), 2, journal=tmp_path / "journal")
    step_by_step(bandit, lambda n, arm: 1.0, 16)
    overview = journal_overview(AcknowledgedRecords(tmp_path / "journal"), Phases)
    assert overview.spent() == bandit.spent()
    terms = replace(overview.terms, person=replace(overview.terms.person, epsilon=0.1))
    assert str(replace(overview, terms=terms).spent()) == "0.5 of 0.1 spent"
