"""Accounting against independent truth: exact inversion, enumeration, closed forms, dp-accounting itself."""

import math
from collections import Counter
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

import oracles
from dpbandits.errors import InvalidInput
from dpbandits.policies import release_times
from dpbandits.privacy import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    Event,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    RandomizedResponseEvent,
    advanced_composition,
    basic_composition,
    compose,
    epsilons_by_theorem,
    gaussian_delta,
    gaussian_epsilon,
    kov_composition,
    rho_of,
    zcdp_epsilon,
)
from dpbandits.privacy import pld as pld_module
from dpbandits.privacy.accountant import GAUSSIAN_PROFILE, PLD, RDP, ZCDP
from dpbandits.privacy.pld import discrete_laplace_profile, float_error, pld_epsilon, randomized_response_profile
from dpbandits.privacy.renyi import ORDERS, renyi_curve
from dpbandits.privacy.rounding import above

pytestmark = pytest.mark.slow

DELTA = math.exp(-10)


def multiples(f: int) -> list[int]:
    return list(range(f, 100_001, f))


# ---- tight composition


@pytest.mark.parametrize(("f", "reference"), [(252, 0.3113), (1000, 0.1208), (4000, 0.0438)])
def test_tight_epsilon_of_a_constant_schedule(f: int, reference: float) -> None:
    found = compose([LaplaceEvent(n**0.55) for n in multiples(f)], DELTA).epsilon
    epsilons = [n**-0.55 for n in multiples(f)]
    log_mgfs, squares = [oracles.laplace_log_mgf(e) for e in epsilons], sum(e**2 for e in epsilons)
    assert oracles.true_delta(log_mgfs, squares, found) <= DELTA < oracles.true_delta(log_mgfs, squares, found - 5e-4)
    assert found == pytest.approx(reference, abs=0.0005)


@pytest.mark.parametrize("f", [252, 1000, 4000])
def test_bare_epsilons_cost_slightly_more(f: int) -> None:
    epsilons = [n**-0.55 for n in multiples(f)]
    found = compose(epsilons, DELTA).epsilon
    log_mgfs, squares = [oracles.response_log_mgf(e) for e in epsilons], sum(e**2 for e in epsilons)
    assert oracles.true_delta(log_mgfs, squares, found) <= DELTA < oracles.true_delta(log_mgfs, squares, found - 5e-4)
    as_laplace = compose([LaplaceEvent(n**0.55) for n in multiples(f)], DELTA).epsilon
    assert as_laplace < found < 1.01 * as_laplace
    if f == 252:
        assert found == pytest.approx(0.3122, abs=0.0005)


@settings(max_examples=60)
@given(
    st.lists(st.floats(0.01, 1.5), min_size=1, max_size=10),
    st.floats(1e-7, 0.1),
)
def test_bare_epsilons_against_enumeration(epsilons: list[float], delta: float) -> None:
    found = compose(epsilons, delta).epsilon
    assert oracles.response_delta_by_enumeration(epsilons, found) <= delta * (1 + 1e-9)  # valid
    slightly_less = found * (1 - 5e-3) - 1e-9
    if slightly_less > 0:
        assert oracles.response_delta_by_enumeration(epsilons, slightly_less) > delta * (1 - 1e-9)  # and tight


@settings(max_examples=400)
@given(st.floats(-10, 0), st.floats(0.01, 1))
def test_one_tiny_laplace_release(log10_epsilon: float, share: float) -> None:
    """Where 1 - e^-ε loses its digits; δ between 1% and all of the total variation."""
    epsilon = 10**log10_epsilon
    delta = share * -math.expm1(-epsilon / 2)
    found = compose([LaplaceEvent(1 / epsilon)], delta).epsilon
    with mp.workdps(40):
        assert found >= 1 / mp.mpf(1 / epsilon) + 2 * mp.log1p(-mp.mpf(delta))


@settings(max_examples=400)
@given(st.integers(10, 100_000), st.sampled_from([1, 4, 8, 12]), st.floats(1e-9, 0.1))
def test_live_events_always_have_a_profile(scale: int, grid_bits: int, delta: float) -> None:
    event = DiscreteLaplaceEvent(scale * 2.0**grid_bits, 2**grid_bits)
    assert compose([event], delta).epsilon <= event.epsilon


@settings(max_examples=60)
@given(st.floats(0.01, 5), st.floats(1e-9, 0.2))
def test_one_laplace_release(epsilon: float, delta: float) -> None:
    """δ(e) = 1 - exp((e - ε)/2), so e = ε + 2 ln(1 - δ)."""
    truth = max(0.0, epsilon + 2 * math.log1p(-delta))
    found = compose([LaplaceEvent(1 / epsilon)], delta).epsilon
    assert truth <= found <= truth + epsilon / 500


@pytest.mark.parametrize("delta", [1e-4, 1e-8, 1e-10])
def test_gaussian_releases(delta: float) -> None:
    """k releases at σ are one at σ/√k, whose profile is known in closed form (Balle & Wang 2018, Thm 8)."""
    from dp_accounting import gaussian_mechanism

    truth = gaussian_mechanism.get_epsilon_gaussian(2.0, delta)
    assert truth <= pld_epsilon([GaussianEvent(sigma=10.0)] * 25, delta) <= truth + 0.005
    composed = compose([GaussianEvent(sigma=10.0)] * 25, delta)
    assert composed.theorem == GAUSSIAN_PROFILE
    assert composed.epsilon == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("mu", [1e-8, 1e-3, 0.25, 1.0, 5.0, 40.0, 1e5])
@pytest.mark.parametrize("delta", [1e-280, 1e-100, 1e-12, 1e-6, 0.1, 0.9])
def test_one_gaussian_release_is_never_below_the_truth(mu: float, delta: float) -> None:
    """In 60 digits, whatever cancels. What is lost to rounding is far less than a thousandth."""
    found = gaussian_epsilon([GaussianEvent(1 / mu)], delta)
    assert oracles.gaussian_delta(mu, found) <= delta
    assert found == 0 or oracles.gaussian_delta(mu, 0.9999 * found) > delta
    assert found <= zcdp_epsilon(above(mu * mu / 2), delta)


def test_a_delta_below_the_floats_of_the_profile() -> None:
    """Subnormal deltas have few digits: the closed form of zCDP takes over, and nothing Gaussian is free."""
    assert gaussian_epsilon([GaussianEvent(1.0)], 1e-310) == pytest.approx(0.5 + math.sqrt(-2 * math.log(1e-310)))
    assert gaussian_epsilon([], 1e-6) == 0.0
    assert gaussian_delta(1000.0, 0.0) == pytest.approx(1.0)
    with pytest.raises(InvalidInput, match=r"Expected delta=0 in \(0, 1\)"):
        gaussian_epsilon([GaussianEvent(1.0)], 0)


def test_every_theorem_is_above_the_truth() -> None:
    epsilons = [0.3, 0.2, 0.1] * 4
    for delta in (1e-2, 1e-4, 1e-8):
        bounds = epsilons_by_theorem(epsilons, delta)
        assert len(bounds) == 5
        for theorem, bound in bounds.items():
            assert oracles.response_delta_by_enumeration(epsilons, bound) <= delta, theorem
        assert compose(epsilons, delta).epsilon == min([*bounds.values(), basic_composition(epsilons)])


def test_smallest_bound_wins_and_is_named() -> None:
    assert compose([0.5, 0.25], 0).theorem == "basic composition"
    assert compose([0.5] * 20, 1e-6).theorem == PLD
    assert compose([LaplaceEvent(10.0)] * 100, 1e-18).theorem == RDP  # below the floats of a convolution
    assert compose([DiscreteGaussianEvent(5.0)] * 10, 1e-6).theorem in (ZCDP, RDP)
    assert compose([1000.0] * 2, 1e-6).epsilon == pytest.approx(2000.0)


def test_mixed_events() -> None:
    mixed = compose([LaplaceEvent(10.0), GaussianEvent(10.0), 0.1, DiscreteLaplaceEvent(160.0, 16)] * 5, 1e-6)
    weaker = compose([0.1] * 15 + [GaussianEvent(10.0)] * 5, 1e-6)
    assert mixed.epsilon < weaker.epsilon < 3
    only_zcdp = compose([LaplaceEvent(10.0), DiscreteGaussianEvent(10.0)] * 5, 1e-6)
    assert only_zcdp.epsilon > compose([LaplaceEvent(10.0), GaussianEvent(10.0)] * 5, 1e-6).epsilon


@pytest.mark.parametrize(
    "event",
    [
        LaplaceEvent(7.0),
        DiscreteLaplaceEvent(50.0, 8),
        GaussianEvent(9.0),
        RandomizedResponseEvent(0.2),
        PureEvent(0.2),
    ],
    ids=lambda event: type(event).__name__,
)
def test_repeating_an_event_equals_listing_it(event: Event) -> None:
    """n times the same must not depend on whether the events are recognised as equal.

    Against dp-accounting's own distributions, composed one by one, and against events that are nearly the same.
    """
    from dp_accounting.pld import privacy_loss_distribution as theirs

    response = theirs.from_randomized_response(2 / (1 + math.exp(0.2)), 2)
    one = {
        LaplaceEvent: theirs.from_laplace_mechanism(7.0),
        DiscreteLaplaceEvent: theirs.from_discrete_laplace_mechanism(1 / 50, sensitivity=8),
        GaussianEvent: theirs.from_gaussian_mechanism(9.0),
        RandomizedResponseEvent: response,
        PureEvent: response,
    }[type(event)]
    composed = one
    for _ in range(11):
        composed = composed.compose(one)
    together = pld_epsilon([event] * 12, 1e-5)
    assert together == pytest.approx(composed.get_epsilon_for_delta(1e-5), rel=2e-3)
    (size_of, size), *others = ((field.name, getattr(event, field.name)) for field in fields(event))
    listed = [type(event)(**{size_of: size * (1 + n * 1e-13)}, **dict(others)) for n in range(12)]
    assert len(set(listed)) == 12
    assert together == pytest.approx(pld_epsilon(listed, 1e-5), rel=2e-3)


def test_merging_many_distinct_events_is_safe_and_close(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Event] = [LaplaceEvent(n**0.55) for n in multiples(100)]
    exact = pld_epsilon(events, DELTA)
    monkeypatch.setattr(pld_module, "_MAX_DISTINCT", 200)
    monkeypatch.setattr(pld_module, "_BANDS", 150)
    merged = pld_epsilon(events, DELTA)
    assert exact < merged < exact * 1.02


@pytest.mark.parametrize("releases", [10_000, 100_000])
@pytest.mark.parametrize("delta", [1e-13, 1e-12, 1e-9, 1e-6])
def test_repeated_gaussians_stay_above_the_truth(releases: int, delta: float) -> None:
    """Floating-point error grows with the number of releases; what is set aside for it must grow too."""
    from dp_accounting import gaussian_mechanism

    found = pld_epsilon([GaussianEvent(sigma=math.sqrt(releases) / 3)] * releases, delta)
    assert found >= gaussian_mechanism.get_epsilon_gaussian(1 / 3, delta)


@pytest.mark.parametrize("delta", [1e-12, 1e-11, 1e-10])
def test_small_deltas_against_enumeration(delta: float) -> None:
    epsilons = [0.11, 0.23, 0.31, 0.17] * 3
    found = compose(epsilons, delta).epsilon
    assert oracles.response_delta_by_enumeration(epsilons, found) <= delta


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 255, 256, 257])
@pytest.mark.parametrize("event", [LaplaceEvent(20.0), DiscreteLaplaceEvent(20.0), PureEvent(0.05)], ids=repr)
def test_equal_releases_by_squaring(event: Event, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same as dp-accounting's own power, which allows for a mass of 1e-15 that it cuts off."""
    found = pld_epsilon([event] * count, 1e-6)
    monkeypatch.setattr(pld_module, "_SQUARED", 0)
    assert found == pytest.approx(pld_epsilon([event] * count, 1e-6), rel=1e-7)


def test_every_convolution_is_reserved_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What rounding may move is taken from delta: so much once, so much a release, and so much a convolution made."""
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    made = []
    for name in ("compose", "self_compose"):
        original = getattr(PrivacyLossDistribution, name)

        def counted(self: Any, *arguments: Any, original: Any = original, **named: Any) -> Any:
            made.append(1)
            return original(self, *arguments, **named)

        monkeypatch.setattr(PrivacyLossDistribution, name, counted)
    for counts in (
        {20.0: 1},
        {20.0: 2},
        {20.0: 255},
        {20.0: 256},
        {20.0: 257},
        {20.0: 127, 30.0: 127, 40.0: 300, 50.0: 1},
    ):
        made.clear()
        events: Counter[Event] = Counter({LaplaceEvent(scale): count for scale, count in counts.items()})
        pld_epsilon(events.elements(), 1e-6)
        reserved = round((float_error(events) - 1e-12 - 1e-15 * events.total()) / 1e-14)
        assert len(made) <= reserved <= len(made) + 2 * len(counts)


@pytest.mark.parametrize("delta", [1e-5, 1e-9, 1e-10])
def test_long_schedules_stay_above_the_truth(delta: float) -> None:
    """Whatever the order of the convolutions and whatever is cut off."""
    losses = [n**-0.55 for n in release_times(0.01, horizon=20_000)]
    found = pld_epsilon([LaplaceEvent(1 / e) for e in losses], delta)
    log_mgfs, squares = [oracles.laplace_log_mgf(e) for e in losses], sum(e**2 for e in losses)
    assert 0.6 * delta < oracles.true_delta(log_mgfs, squares, found) <= delta


def test_merging_keeps_families_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting a bare epsilon as Laplace noise of nearly the same size would be too little."""
    bare: list[Event] = [PureEvent(0.1 + 1e-6 * i) for i in range(20)]
    laplace: list[Event] = [LaplaceEvent(1 / (0.1 + 1e-6 * i + 1e-7)) for i in range(20)]
    exact = pld_epsilon(bare + laplace, 1e-5)
    monkeypatch.setattr(pld_module, "_MAX_DISTINCT", 5)
    monkeypatch.setattr(pld_module, "_BANDS", 1)
    assert pld_epsilon(bare + laplace, 1e-5) >= exact * (1 - 1e-6)


def test_merging_events_of_equal_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pld_module, "_MAX_DISTINCT", 5)
    events: list[Event] = [LaplaceEvent(10.0 * n, float(n)) for n in range(1, 20)]
    assert pld_epsilon(events, 1e-5) == pytest.approx(pld_epsilon([LaplaceEvent(10.0)] * 19, 1e-5), rel=1e-3)


def test_extreme_events_are_counted_by_closed_forms() -> None:
    assert compose([1e99], 1e-6).epsilon <= 1e99
    assert compose([1e-99], 1e-300).epsilon == 1e-99
    assert compose([GaussianEvent(1e-40)], 1e-6).epsilon > 1e79
    assert 0 < compose([GaussianEvent(1e90)], 1e-200).epsilon < 1e-4
    for bad in (1e-101, 1e101):
        with pytest.raises(InvalidInput, match=r"in \[1e-100, 1e100\]"):
            PureEvent(bad)
        with pytest.raises(InvalidInput, match=r"Expected sensitivity/scale=.* in \[1e-100, 1e100\]"):
            LaplaceEvent(1 / bad)


# ---- profiles


@pytest.mark.parametrize("sensitivity", [1, 2, 5, 8])
@pytest.mark.parametrize("scale", [0.7, 3.0, 40.0])
def test_discrete_laplace_profile(scale: float, sensitivity: int) -> None:
    event = DiscreteLaplaceEvent(scale, sensitivity)
    e = np.linspace(-1.2 * event.epsilon, 1.2 * event.epsilon, 60)
    expected = [oracles.discrete_laplace_delta(scale, sensitivity, x) for x in e]
    assert discrete_laplace_profile(event, e) == pytest.approx(expected, abs=1e-12)


def test_randomised_response_profile() -> None:
    e = np.linspace(-1, 1, 41)
    expected = [oracles.response_delta_by_enumeration([0.6], x) for x in e]
    assert randomized_response_profile(0.6, e) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("scale", "sensitivity"), [(20.0, 3), (400.0, 64)])
def test_discrete_laplace_against_dp_accounting(scale: float, sensitivity: int) -> None:
    from dp_accounting.pld import privacy_loss_distribution as pld

    theirs = pld.from_discrete_laplace_mechanism(1 / scale, sensitivity, value_discretization_interval=1e-4)
    ours = pld_epsilon([DiscreteLaplaceEvent(scale, sensitivity)] * 30, 1e-6)
    assert ours == pytest.approx(theirs.self_compose(30).get_epsilon_for_delta(1e-6), rel=1e-3)


def test_laplace_against_dp_accounting() -> None:
    from dp_accounting.pld import privacy_loss_distribution as pld

    theirs = pld.from_laplace_mechanism(8.0, value_discretization_interval=1e-4).self_compose(30)
    assert pld_epsilon([LaplaceEvent(8.0)] * 30, 1e-6) == pytest.approx(theirs.get_epsilon_for_delta(1e-6), rel=1e-3)


def test_live_grid_costs_almost_nothing() -> None:
    continuous = compose([LaplaceEvent(20.0)] * 50, 1e-6).epsilon
    on_the_grid = compose([DiscreteLaplaceEvent(20.0 * 4096, 4096)] * 50, 1e-6).epsilon
    assert continuous * (1 - 1e-6) <= on_the_grid <= continuous * 1.0001


# ---- closed forms


def test_basic_composition_is_exact() -> None:
    assert basic_composition([0.5, 0.25, 0.25]) == 1.0
    many = [0.1] * 1000
    exact = oracles.exact_sum(many)
    assert basic_composition(many) >= exact
    assert math.nextafter(basic_composition(many), 0) < exact


def test_advanced_and_kov_formulas() -> None:
    e = [0.1, 0.2, 0.05]
    squares, log_term = sum(x * x for x in e), math.log(1e6)
    drv = sum(x * math.expm1(x) for x in e) + math.sqrt(2 * log_term * squares)
    first = sum(x * math.expm1(x) / (math.exp(x) + 1) for x in e)
    kov = first + min(
        math.sqrt(2 * squares * log_term), math.sqrt(2 * squares * math.log(math.e + math.sqrt(squares) * 1e6))
    )
    assert drv <= advanced_composition(e, 1e-6) <= drv * (1 + 1e-9)
    assert kov <= kov_composition(e, 1e-6) <= kov * (1 + 1e-9)
    assert kov < drv


def test_renyi_curves_against_dp_accounting() -> None:
    from dp_accounting import NeighboringRelation, dp_event
    from dp_accounting.rdp import RdpAccountant

    orders = [float(a) for a in ORDERS[200:1400:40]]
    pairs: dict[Event, object] = {
        LaplaceEvent(2.0): dp_event.LaplaceDpEvent(2.0),
        GaussianEvent(3.0): dp_event.GaussianDpEvent(3.0),
        PureEvent(0.5): dp_event.RandomizedResponseDpEvent(2 / (1 + math.exp(0.5)), 2),
    }
    for ours, theirs in pairs.items():
        accountant = RdpAccountant(orders, NeighboringRelation.REPLACE_ONE)
        accountant.compose(theirs)
        assert renyi_curve(ours)[200:1400:40] == pytest.approx(accountant._rdp, rel=1e-6)


def test_discrete_laplace_has_the_renyi_curve_of_the_worst_mechanism() -> None:
    """At sensitivity 1 its two neighbours differ like randomised response; the Laplace curve would be too low."""
    assert renyi_curve(DiscreteLaplaceEvent(2.0, 1)) == pytest.approx(renyi_curve(PureEvent(0.5)))
    assert np.all(renyi_curve(LaplaceEvent(2.0)) < renyi_curve(PureEvent(0.5)))


@given(st.floats(1e-12, 10), st.floats(1e-15, 0.5))
def test_zcdp_conversion_rounds_up(rho: float, delta: float) -> None:
    """Against 40 digits, at the best of the orders and its neighbours."""
    rough = rho * ORDERS - np.log1p(1 / (ORDERS - 1)) - np.log(ORDERS * delta) / (ORDERS - 1)
    best = int(np.argmin(rough))
    with mp.workdps(40):
        exact = min(
            mp.mpf(a) * rho - mp.log1p(1 / (mp.mpf(a) - 1)) - mp.log(mp.mpf(a) * delta) / (mp.mpf(a) - 1)
            for a in ORDERS[max(best - 1, 0) : best + 2]
        )
        assert max(exact, 0) <= zcdp_epsilon(rho, delta) <= max(exact, 0) * (1 + 1e-9) + 1e-12


def test_zcdp_conversion() -> None:
    rho, delta = 0.02, 1e-6
    simple = rho + 2 * math.sqrt(rho * math.log(1 / delta))  # Bun & Steinke, Prop. 1.3
    assert 0.8 * simple < zcdp_epsilon(rho, delta) < simple
    assert rho_of(GaussianEvent(sigma=5.0)) == pytest.approx(0.02)
    assert rho_of(GaussianEvent(sigma=15.0, sensitivity=3.0)) == pytest.approx(0.02)
    assert rho_of(LaplaceEvent(scale=5.0)) == pytest.approx(0.02)
    # One Gaussian is the worst 0.02-zCDP mechanism we know; its exact epsilon must be below.
    assert pld_epsilon([GaussianEvent(sigma=5.0)], delta) < zcdp_epsilon(rho, delta)


# ---- bad input


@pytest.mark.parametrize("delta", [-0.1, 1.0, 2, math.nan, "0.1"])
def test_bad_delta(delta: float) -> None:
    with pytest.raises(InvalidInput, match=r"Expected delta=.* in \[0, 1\)\.$"):
        compose([0.1], delta)


@pytest.mark.parametrize("epsilon", [0, -0.1, math.nan, math.inf, "x", None])
def test_bad_events(epsilon: float) -> None:
    with pytest.raises(InvalidInput, match=r"Expected (epsilon|event)="):
        compose([0.1, epsilon], 0.1)
    with pytest.raises(InvalidInput, match=r"Expected scale=.* in \(0, inf\)"):
        LaplaceEvent(epsilon)
    with pytest.raises(InvalidInput, match=r"Expected sensitivity="):
        DiscreteLaplaceEvent(1.0, 1.5)  # type: ignore[arg-type]


def test_gaussian_noise_needs_a_delta() -> None:
    with pytest.raises(InvalidInput, match=r"Expected delta=0\.0 in \(0, 1\)"):
        compose([GaussianEvent(1.0)], 0)


def test_mappings_are_refused() -> None:
    with pytest.raises(InvalidInput, match="of a mapping only the keys would count"):
        compose({LaplaceEvent(1.0): 100}, 0)


def test_no_events_cost_nothing() -> None:
    assert compose([], 0).epsilon == compose([], 0.1).epsilon == 0.0
