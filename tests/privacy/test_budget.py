import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbandits import Budget, Guarantee, InvalidInput
from dpbandits.privacy import group_guarantee, per_reward_budget, per_reward_rho, scale_for
from dpbandits.privacy.rounding import above, below, down, ratio_up, sum_up, up


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "1", None, True, 10**400])
def test_bad_epsilon(epsilon: float) -> None:
    with pytest.raises(InvalidInput, match=r"^Expected epsilon=.* in \(0, inf\)\.$"):
        Budget(epsilon)


@pytest.mark.parametrize("delta", [1, -1e-9, math.nan, "0", None])
def test_bad_delta(delta: float) -> None:
    with pytest.raises(InvalidInput, match=r"^Expected delta=.* in \[0, 1\)\.$"):
        Budget(1.0, delta)


def test_guarantee() -> None:
    claimed = Guarantee(epsilon=1.0, theorem="the paper", horizon=1e5, proved=False)
    assert claimed.horizon == 100_000
    assert str(claimed) == "(1, 0)-DP in one reward up to n = 100000, only claimed, by the paper"
    assert not claimed.within(Budget(2.0))
    proved = Guarantee(epsilon=1.0, delta=1e-6, theorem="t", proved=True)
    assert proved.within(Budget(1.0, 1e-6))
    assert not proved.within(Budget(1.0, 1e-7))
    assert not proved.within(Budget(0.9, 1e-6))
    assert proved.to_dict()["horizon"] == "infinity"
    listed = Guarantee(epsilon=1.0, horizon=None, theorem="t", proved=True)
    assert listed.to_dict()["horizon"] is None
    assert "for these releases" in str(listed)
    with pytest.raises(InvalidInput, match="Expected horizon="):
        Guarantee(epsilon=1.0, horizon=0, theorem="t", proved=True)


@given(st.floats(1e-3, 10), st.floats(0, 0.01), st.integers(1, 20))
def test_group_privacy_round_trip(epsilon: float, delta: float, m: int) -> None:
    budget = Budget(epsilon, delta)
    per_reward = per_reward_budget(budget, m)
    whole = group_guarantee(Guarantee(per_reward.epsilon, per_reward.delta, theorem="t", proved=True), m)
    assert whole.within(budget)
    assert whole.epsilon == pytest.approx(epsilon)
    assert whole.delta == pytest.approx(delta, rel=1e-9, abs=1e-270)


def test_group_privacy_formula() -> None:
    per_reward = per_reward_budget(Budget(1.0, 1e-6), contributions=3)
    assert per_reward.epsilon == pytest.approx(1 / 3)
    assert per_reward.delta == pytest.approx(1e-6 / (1 + math.exp(1 / 3) + math.exp(2 / 3)))
    assert per_reward_budget(Budget(1.0, 1e-6), 1) == Budget(1.0, 1e-6)
    assert per_reward_rho(0.9, 3) == pytest.approx(0.1)
    assert group_guarantee(Guarantee(0.5, theorem="t", proved=True), 4).unit == "up to 4 rewards of one person"
    for bad in (0, -1, 1.5, math.nan, "2"):
        with pytest.raises(InvalidInput, match=r"Expected contributions=.* \[1, inf\)"):
            per_reward_budget(Budget(1.0), bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [1e-300, 1e-9, 0.05, 1.0, 30.0])
@pytest.mark.parametrize("m", [2, 3, 7, 20])
def test_group_privacy_is_exact_for_the_worst_mechanism(epsilon: float, m: int) -> None:
    """It answers yes or no. Yes has probability 0 for the first sequence, and δ + e^ε p for the next of one with p.

    So each is (ε, δ)-DP against the next, and the first against the last needs just this delta, in 400 digits.
    """
    with mpmath.workdps(400):
        grown, delta = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(1e-6 * math.exp(-m * epsilon))
        answers = [mpmath.mpf(0)]
        for _ in range(m):
            answers.append(delta + grown * answers[-1])
        for less, more in pairwise(answers):
            assert less <= grown * more + delta
            assert 1 - less <= grown * (1 - more) + delta
        whole = group_guarantee(Guarantee(epsilon, float(delta), theorem="t", proved=True), m)
        assert answers[-1] <= whole.delta <= answers[-1] * (1 + mpmath.mpf(10) ** -11)
        one = per_reward_budget(Budget(m * epsilon, float(answers[-1])), m)
        assert one.delta == pytest.approx(float(delta), rel=1e-10)


@pytest.mark.parametrize("epsilon", [0.0, 5e-324, 1e-310])
def test_group_privacy_of_next_to_nothing(epsilon: float) -> None:
    """Before anything is released, nothing is lost: m times as much delta."""
    whole = group_guarantee(Guarantee(epsilon, 1e-6, theorem="t", proved=True), 3)
    assert whole.epsilon == 3 * epsilon
    assert 3e-6 <= whole.delta <= 3e-6 * (1 + 1e-11)


def test_group_privacy_of_a_delta_that_nobody_could_see() -> None:
    whole = group_guarantee(Guarantee(355.2, 1e-312, theorem="t", proved=True), 3)
    assert whole.delta == pytest.approx(1e-312 * math.exp(355.2) * (1 + math.exp(355.2)), rel=1e-3)


def test_group_privacy_at_the_edges() -> None:
    assert per_reward_budget(Budget(2000.0, 1e-6), 2).delta == 0.0  # e^-1000 of it is below every float
    one = Guarantee(1.0, 1e-6, theorem="t", proved=True)
    with pytest.raises(InvalidInput, match="Expected contributions=20 small enough to keep delta below 1"):
        group_guarantee(one, 20)
    with pytest.raises(InvalidInput, match="Expected contributions=1000000 small enough"):
        group_guarantee(one, 10**6)
    with pytest.raises(InvalidInput, match="unit='up to 2 rewards of one person' to be 'one reward'"):
        group_guarantee(group_guarantee(one, 2), 2)
    with pytest.raises(InvalidInput, match="Expected proved='no' to be True or False"):
        Guarantee(1.0, theorem="t", proved="no")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="a number of thousands of digits"):
        Budget(10**5000)


@pytest.mark.parametrize(("epsilon", "uses"), [(0, 1), (-1, 1), (math.inf, 1), (math.nan, 1), (1.0, 0), (1.0, "3")])
def test_bad_scales(epsilon: float, uses: int) -> None:
    with pytest.raises(InvalidInput, match=r"Expected (epsilon|uses)="):
        scale_for(epsilon, uses)


@given(st.floats(1e-9, 1e6), st.integers(1, 100))
def test_scales_round_up_by_less_than_two_units(epsilon: float, uses: int) -> None:
    scale = scale_for(epsilon, uses)
    assert uses / Fraction(scale) <= Fraction(epsilon)
    assert uses / Fraction(math.nextafter(scale, 0)) > Fraction(epsilon)


@given(st.fractions(min_value=-1000, max_value=1000))
def test_directed_rounding(exact: Fraction) -> None:
    assert Fraction(down(exact)) <= exact <= Fraction(up(exact))
    assert up(exact) <= math.nextafter(down(exact), math.inf)


def test_rounding_extremes() -> None:
    subnormal = 2.2250738585e-313
    assert below(subnormal) == 0.0 == above(0.0)
    assert above(subnormal) > subnormal
    assert up(Fraction(10) ** 400) == math.inf
    assert ratio_up(1, math.inf) == 0.0
    assert sum_up([1.0, math.inf]) == math.inf
