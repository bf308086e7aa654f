"""A live release in its two steps: drawn and written down, then handed to the policy, once and as it was announced."""

import pytest

import dpbandits as dpb
from dpbandits.live.live_noise import LiveNoise, Releaser
from dpbandits.mechanisms import CARRIED, GAUSSIAN, LAPLACE, normal, release, reserve, uniform
from dpbandits.policies import Block
from dpbandits.privacy import Ledger
from shared_noise import SharedNoise


def due_noise() -> LiveNoise:
    noise = LiveNoise(scale_bits=24)
    noise.allow(1, 2.0, 0.75)
    return noise


@pytest.mark.parametrize(
    ("arm", "scale", "mechanism"), [(0, 2.0, LAPLACE), (1, 2.5, LAPLACE), (1, 2.0, GAUSSIAN), (1, CARRIED, LAPLACE)]
)
def test_only_the_release_that_is_due_is_handed_over(arm: int, scale: float, mechanism: int) -> None:
    with pytest.raises(dpb.StepError, match="which is not due"):
        release(due_noise(), 5, scale, mechanism, arm)


def test_a_release_is_handed_over_once() -> None:
    noise = due_noise()
    with pytest.raises(dpb.StepError, match="did not make the release"):
        noise.check_taken()
    assert release(noise, 10**9, 2.0, LAPLACE, 1) == 0.75  # whatever the kernel hands in
    noise.check_taken()
    with pytest.raises(dpb.StepError, match="which is not due"):
        release(noise, 5, 2.0, LAPLACE, 1)
    for generic in (reserve, uniform, normal):
        with pytest.raises(TypeError, match="LiveNoise"):
            generic(*(noise, 2.0) if generic is reserve else (noise,))


def test_a_release_is_drawn_and_written_down() -> None:
    releaser = Releaser(SharedNoise(1), Ledger())
    drawn = releaser.release(Block(1, 5, 2.0), 5 * 4096, 1, {"release": 1}, None)
    assert abs(drawn.value - 5) < 30
    content = releaser.ledger[0].content
    assert (content["value"], content["scale"], content["arm"], content["release"]) == (drawn.value, 2.0 * 4096, 1, 1)
    again = Releaser(SharedNoise(2), Ledger())
    assert again.release(Block(1, 5, 2.0), 0, 1, {"release": 1}, drawn) == drawn
    assert again.ledger.head == releaser.ledger.head
