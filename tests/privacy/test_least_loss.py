"""epsilon_below: never above what is lost, and infinite for nobody who loses a finite epsilon."""

import pytest

from dpbandits.privacy import GaussianEvent, LaplaceEvent, RandomizedResponseEvent, epsilon_below, gaussian_epsilon


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 1e-17, 1e-100, 1e-300])
@pytest.mark.parametrize(("sigma", "count"), [(4.0, 1), (1.0, 3), (1000.0, 10_000), (0.2, 1)])
def test_gaussian_releases_by_their_exact_profile(sigma: float, count: int, delta: float) -> None:
    events = [GaussianEvent(sigma)] * count
    found, truth = epsilon_below(events, delta), gaussian_epsilon(events, delta)
    assert found <= truth
    assert found > 0.9999 * truth or delta < 1e-200


@pytest.mark.parametrize("delta", [1e-6, 1e-9, 1e-12, 1e-14, 1e-16, 1e-20])
@pytest.mark.parametrize("event", [LaplaceEvent(1.0), RandomizedResponseEvent(1.0)])
def test_pure_releases_lose_no_more_than_their_sum(event: LaplaceEvent | RandomizedResponseEvent, delta: float) -> None:
    for count in (1, 2, 10):
        found = epsilon_below([event] * count, delta)
        assert found <= count
        assert found > 0.4 * count or delta < 1e-9


def test_mixed_releases_with_a_tiny_delta_are_left_alone() -> None:
    """What floating point may have lost in the tails is as large as that."""
    events = [GaussianEvent(1000.0)] * 100_000 + [LaplaceEvent(10.0)]
    assert epsilon_below(events, 1e-12) == 0.0
    assert epsilon_below([GaussianEvent(4.0), LaplaceEvent(10.0)], 1e-6) > 1.06
