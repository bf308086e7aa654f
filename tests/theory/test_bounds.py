"""Regret bounds against known values, against the conditions they come from, and against each other."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from dpbandits.errors import InvalidInput
from dpbandits.theory import bernoulli_kl, lower_bounds, private_divergence, upper_bounds

T = 1e5
TWO = [0.0, 0.3]
TEN = [0.45] * 8 + [0.35, 0.0]
PANELS = [(TWO, 0.1), (TWO, 1.0), (TEN, 0.1), (TEN, 1.0)]
FIRST = {"y": (1751, 46), "x": (9834, 124), "constant": (21591, 253)}


@pytest.mark.parametrize(
    ("form", "split", "known"),
    [
        ("published", True, (21_851, 2547, 194_466, 21_747)),
        ("appendix", True, (23_544, 2738, 205_131, 22_873)),
        ("proved", False, (53_827, 5341, 464_639, 45_154)),
        ("proved", True, (110_712, 10_470, 960_812, 89_121)),
    ],
)
def test_dp_ucb_bound_has_the_known_values(
    form: upper_bounds.FormOfTheorem32, split: bool, known: tuple[float, ...]
) -> None:
    """The known values took the best of a grid of balances, so ours are at most equal, and within 1%."""
    for (gaps, epsilon), value in zip(PANELS, known, strict=True):
        bound = upper_bounds.dp_ucb_bound(gaps, T, epsilon, form=form, split=split, capped=False)
        assert 0.99 * value < bound < 1.0001 * value


def test_the_other_bounds_have_the_known_values() -> None:
    for (gaps, epsilon), ucb1, plain, threshold in zip(
        PANELS,
        (308.3, 308.3, 1917.5, 1917.5),
        (4.104e9, 3.002e7, 5.404e10, 3.953e8),
        (5.385e9, 5.385e7, 7.090e10, 7.090e8),
        strict=True,
    ):
        assert upper_bounds.ucb1(gaps, T) == pytest.approx(ucb1, rel=2e-4)
        assert upper_bounds.dp_ucb(gaps, T, epsilon, capped=False) == pytest.approx(plain, rel=1e-3)
        assert upper_bounds.dp_ucb(gaps, T, epsilon, form="threshold", capped=False) == pytest.approx(
            threshold, rel=1e-3
        )
    known = {"y": (836, 324, 8862, 2128), "x": (3261, 348, 40_790, 2436), "constant": (6788, 386, 87_230, 2945)}
    for series, values in known.items():
        for (gaps, epsilon), value in zip(PANELS, values, strict=True):
            first = FIRST[series][0 if epsilon == 0.1 else 1]
            assert upper_bounds.dp_ucb_int(gaps, T, first, capped=False) == pytest.approx(value, rel=2e-3)


def test_no_bound_is_above_the_largest_regret() -> None:
    for t in (1.0, 2.0, 10.0, 1e5, 1e12):
        for gaps, epsilon in PANELS:
            for bound in (
                upper_bounds.ucb1(gaps, t),
                upper_bounds.dp_ucb_bound(gaps, t, epsilon),
                upper_bounds.dp_ucb_bound(gaps, t, epsilon, form="published"),
                upper_bounds.dp_ucb(gaps, t, epsilon),
                upper_bounds.dp_ucb(gaps, t, epsilon, form="threshold"),
                upper_bounds.dp_ucb_int(gaps, t, 46),
            ):
                assert 0 <= bound <= t * max(gaps)
    assert upper_bounds.ucb1([0.0, 0.0], 100) == 0


@pytest.mark.parametrize("gap", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 40.0, 4000.0])
def test_from_n_star_on_twice_the_noise_is_small(gap: float, epsilon: float) -> None:
    """The condition (1 - λ) Δ >= 2ν/n with ν = √8/e ln(4t^4)(log2 n + 1): true from n* on, false just before."""
    balance, log_t = 0.4, math.log(T)

    def twice(n: float) -> float:
        return 2 * math.sqrt(8) * math.log(4 * T**4) * (math.log2(n) + 1) / (epsilon * n)

    plays = upper_bounds.noise_pulls(gap, log_t, epsilon, balance)
    for n in plays * np.array([1.000001, 1.5, 10, 1e6]):
        assert twice(float(n)) <= (1 - balance) * gap
    if plays > 1:
        assert twice(plays * 0.999) > (1 - balance) * gap


def test_the_corrected_bound_counts_whole_plays() -> None:
    plays = upper_bounds.noise_pulls(0.3, math.log(T), 0.5, 0.5)
    assert plays != round(plays)
    bound = upper_bounds.dp_ucb_bound(TWO, T, 1.0, balance=0.5, capped=False)
    assert bound == pytest.approx(0.3 * (math.ceil(plays) + 1 + 2 * math.pi**2 / 3), rel=1e-12)


def test_a_given_balance_is_never_better_than_the_best() -> None:
    best = upper_bounds.dp_ucb_bound(TEN, T, 1.0, capped=False)
    others = [upper_bounds.dp_ucb_bound(TEN, T, 1.0, balance=b, capped=False) for b in np.linspace(0.02, 0.98, 97)]
    assert best <= min(others) * (1 + 1e-6)
    assert best >= min(others) * 0.99


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: upper_bounds.ucb1([0, 1.5], 10), r"gap=1.5 in \[0, 1\]"),
        (lambda: upper_bounds.ucb1([], 10), "one gap per arm"),
        (lambda: lower_bounds.asymptotic_constant([0.5, 1.5]), r"mean=1.5 in \[0, 1\]"),
        (lambda: upper_bounds.ucb1([0, 0.5], 0), r"t=0 in \[1, 1e\+75\]"),
        (lambda: upper_bounds.dp_ucb([0, 0.5], 10, -1), "epsilon=-1"),
        (
            lambda: upper_bounds.dp_ucb_bound([0, 0.5], 10, 1, form="best"),  # type: ignore[arg-type]
            "proved, published, appendix",
        ),
        (lambda: upper_bounds.dp_ucb_bound([0, 0.5], 10, 1, balance=1), "balance=1"),
        (lambda: upper_bounds.dp_ucb_int([0, 0.5], 10, 0), "first_interval=0"),
        (lambda: lower_bounds.asymptotic_constant([0.5, 0.9], 0), "epsilon=0"),
        (lambda: lower_bounds.minimax(0, 10, 1), "arms=0"),
    ],
)
def test_bad_input_is_refused(call: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call()  # type: ignore[operator]


# ---- lower bounds and divergences


def test_lower_bounds_have_the_known_constants() -> None:
    for means, known in (
        ([0.9, 0.6], (10.16, 1.24, 0.96)),
        ([0.55, 0.2] + [0.1] * 8, (92.64, 12.54, 9.30)),
        ([0.75, 0.625, 0.5, 0.375, 0.25], (41.68, 7.71, 7.13)),
    ):
        for epsilon, value in zip((0.1, 1.0, math.inf), known, strict=True):
            assert lower_bounds.asymptotic_constant(means, epsilon) == pytest.approx(value, abs=0.006)
        # d_ε is at most kl and at most εΔ, so the later bound is the larger one.
        for epsilon in (0.05, 0.5, 5.0):
            earlier = lower_bounds.earlier_asymptotic_constant(means, epsilon)
            assert earlier <= lower_bounds.asymptotic_constant(means, epsilon)
    assert lower_bounds.earlier_asymptotic_constant([0.9, 0.6], 0.1) == pytest.approx(0.3 / 0.18)
    assert lower_bounds.earlier_asymptotic_constant([0.9, 0.6], 9.0) == pytest.approx(0.3 / bernoulli_kl(0.6, 0.9))
    assert lower_bounds.asymptotic_constant([1.0, 0.4], 0.5) == 0
    assert lower_bounds.minimax(10, 1e5, 1.0) == pytest.approx(math.sqrt(9e5) / 27)
    assert lower_bounds.minimax(10, 1e5, 1e-6) == pytest.approx(9 / 131e-6)
    assert lower_bounds.minimax(10, 1e4, 1e-6) == 1e4
    assert lower_bounds.order_with_privacy([0, 0.5], math.e, 0.1) == pytest.approx(2 + 20)


def brute_force(x: float, y: float, epsilon: float) -> float:
    """d_ε from its definition; z is searched by its distance to x on a logarithmic scale."""

    def cost(exponent: float) -> float:
        z = x + (y - x) * math.exp(-exponent)
        return epsilon * abs(z - x) + bernoulli_kl(z, y)

    best = minimize_scalar(cost, bounds=(0, 36), method="bounded", options={"xatol": 1e-12, "maxiter": 2000})
    return min(float(best["fun"]), cost(0.0), bernoulli_kl(x, y))


def test_private_divergence_is_its_definition() -> None:
    for x in (0.0, 1e-6, 0.1, 0.5, 0.6, 0.97, 1.0):
        for y in (1e-6, 0.2, 0.5, 0.61, 0.9, 0.999):
            for epsilon in (1e-3, 0.1, 0.7, 3.0, 20.0):
                assert private_divergence(x, y, epsilon) == pytest.approx(brute_force(x, y, epsilon), abs=1e-9)
    assert private_divergence(0.5, 1.0, math.inf) == math.inf
    for epsilon in (0.1, 36.0, 40.0, 800.0):  # the best z is x itself: nobody else is certain
        assert private_divergence(0.5, 1.0, epsilon) == private_divergence(0.5, 0.0, epsilon) == epsilon / 2
    assert private_divergence(1.0, 1.0, 1.0) == 0
    assert private_divergence(0.3, 0.9, 800.0) == bernoulli_kl(0.3, 0.9)
    assert private_divergence(0.3, 0.3, 1.0) == 0


def test_privacy_is_free_above_a_threshold() -> None:
    x, y = 0.6, 0.9
    free = math.log(y * (1 - x) / (x * (1 - y)))
    assert private_divergence(x, y, free * 1.0001) == bernoulli_kl(x, y)
    assert private_divergence(x, y, free * 0.9) < bernoulli_kl(x, y)
