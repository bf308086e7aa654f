"""RecordingNoise: writes every release of another noise source into a ledger before anyone sees the value."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from numpy.typing import DTypeLike

from dpbandits.mechanisms.draws import beta, binomial, normal, uniform
from dpbandits.mechanisms.release import CARRIED, LAPLACE, NoiseSource, release, reserve
from dpbandits.privacy import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    Event,
    GaussianEvent,
    LaplaceEvent,
    Ledger,
    PureEvent,
    RandomizedResponseEvent,
)

MECHANISM_NAMES: dict[type[Any], str] = {
    DiscreteGaussianEvent: "discrete gaussian",
    DiscreteLaplaceEvent: "discrete laplace",
    GaussianEvent: "gaussian",
    LaplaceEvent: "laplace",
    PureEvent: "pure",
    RandomizedResponseEvent: "randomised response",
}


class RecordingNoise:
    """A noise source that passes everything on to `source` and appends a row to `ledger` for each release.

    A row holds the mechanism, its parameters, the released value, and whatever the caller put into `context`
    (the arm, the number of the release), never the secret or the noise.

    >>> from dpbandits.mechanisms import SeededNoise
    >>> noise = RecordingNoise(SeededNoise(7), Ledger(), {"arm": "A"})
    >>> value = release(noise, 10.0, scale=2.0)
    >>> noise.ledger[0].content == {
    ...     "arm": "A", "mechanism": "laplace", "scale": 2.0, "sensitivity": 1.0, "value": value}
    True
    """

    def __init__(self, source: NoiseSource, ledger: Ledger, context: Mapping[str, Any] | None = None) -> None:
        self.source = source
        self.ledger = ledger
        self.context = dict(context or {})

    @property
    def secret_dtype(self) -> DTypeLike:
        """As in the source."""
        return self.source.secret_dtype

    @property
    def capacity(self) -> int:
        """As in the source."""
        return self.source.capacity

    def encode(self, reward: float) -> float:
        """As in the source."""
        return self.source.encode(reward)

    def event(self, scale: float, mechanism: int = LAPLACE) -> Event:
        """As in the source."""
        return self.source.event(scale, mechanism)

    def record(self, scale: float, mechanism: int, value: float) -> None:
        """Append the row of one release."""
        if scale == CARRIED:
            details = {"mechanism": "carried noise"}
        else:
            event = self.source.event(scale, mechanism)
            details = {"mechanism": MECHANISM_NAMES[type(event)], **asdict(event)}
        self.ledger.append({**self.context, **details, "value": value})


@release.register(RecordingNoise)
def _release(noise: RecordingNoise, secret: Any, scale: float, mechanism: int = LAPLACE) -> float:
    value = float(release(noise.source, secret, scale, mechanism))
    noise.record(scale, mechanism, value)
    return value


@reserve.register(RecordingNoise)
def _reserve(noise: RecordingNoise, scale: float, mechanism: int = LAPLACE) -> Any:
    return reserve(noise.source, scale, mechanism)


@uniform.register(RecordingNoise)
def _uniform(noise: RecordingNoise) -> float:
    return uniform(noise.source)


@normal.register(RecordingNoise)
def _normal(noise: RecordingNoise) -> float:
    return normal(noise.source)


@beta.register(RecordingNoise)
def _beta(noise: RecordingNoise, a: float, b: float) -> float:
    return beta(noise.source, a, b)


@binomial.register(RecordingNoise)
def _binomial(noise: RecordingNoise, trials: int, probability: float) -> int:
    return binomial(noise.source, trials, probability)
