"""RecordingNoise: writes every release of another noise source into a ledger before anyone sees the value."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from numpy.typing import DTypeLike

from dpbandits import _validate
from dpbandits.errors import InvalidInput
from dpbandits.mechanisms.forwarding import forward_draws
from dpbandits.mechanisms.release import CARRIED, LAPLACE, NoiseSource, release, reserve
from dpbandits.privacy import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    Event,
    GaussianEvent,
    LaplaceEvent,
    Ledger,
    RandomizedResponseEvent,
)
from dpbandits.privacy.events import GaussEvent
from dpbandits.privacy.ledger import canonical_json

MECHANISM_NAMES: dict[type[Any], str] = {
    DiscreteGaussianEvent: "discrete gaussian",
    DiscreteLaplaceEvent: "discrete laplace",
    GaussianEvent: "gaussian",
    LaplaceEvent: "laplace",
    RandomizedResponseEvent: "randomised response",
}


@forward_draws
class RecordingNoise:
    """A noise source that passes everything on to `source` and writes it into `ledger`.

    The row of a release holds the arm by its number, the mechanism, its parameters, its pure epsilon if it has one, the
    released value, and whatever the caller put into `context`. The row of a reserved noise has no value, and the
    release of a sum that carries reserved noise says so, but not which: that is the counter's schedule. No row holds a
    secret or a noise.

    Args:
        source: the noise source that draws.
        ledger: where the rows go.
        context: what every row holds besides; a key that a release uses itself is refused.

    >>> from dpbandits.mechanisms import SeededNoise
    >>> noise = RecordingNoise(SeededNoise(7), Ledger(), {"experiment": "A"})
    >>> value = release(noise, 10.0, scale=2.0)
    >>> noise.ledger[0].content == {
    ...     "experiment": "A", "arm": 0, "mechanism": "laplace", "scale": 2.0, "sensitivity": 1.0, "epsilon": 0.5,
    ...     "value": value}
    True
    """

    def __init__(self, source: NoiseSource, ledger: Ledger, context: Mapping[str, Any] | None = None) -> None:
        _validate.check_kind(Ledger, "a Ledger", ledger=ledger)
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

    @property
    def largest_scale(self) -> float:
        """As in the source."""
        return self.source.largest_scale

    @property
    def rounding(self) -> float:
        """As in the source."""
        return self.source.rounding

    @property
    def is_exact(self) -> bool:
        """As in the source."""
        return self.source.is_exact

    def encode(self, reward: float) -> float:
        """As in the source."""
        return self.source.encode(reward)

    def event(self, scale: float, mechanism: int = LAPLACE) -> Event:
        """As in the source."""
        return self.source.event(scale, mechanism)

    def row(self, scale: float, mechanism: int, arm: int) -> dict[str, Any]:
        """Return what is known about a release before it is drawn; anything wrong with it is found here."""
        event = None if scale == CARRIED else self.source.event(scale, mechanism)
        return release_row(event, arm, self.context)


def release_row(event: Event | None, arm: int, context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a release but for its value; None for an event whose noise has a row of its own."""
    details: dict[str, Any] = {"arm": int(arm), "mechanism": "carried noise"}
    if event is not None:
        details |= {"mechanism": MECHANISM_NAMES[type(event)], **asdict(event)}
        if not isinstance(event, GaussEvent):
            details["epsilon"] = event.epsilon
    clashes = context.keys() & {*details, "reserved", "value"}
    if clashes:
        raise InvalidInput(f"Expected the context to leave {', '.join(sorted(clashes))} to the release.")
    row = {**context, **details}
    canonical_json(row)
    return row


@release.register(RecordingNoise)
def _release(noise: RecordingNoise, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    row = noise.row(scale, mechanism, arm)
    value = float(release(noise.source, secret, scale, mechanism, arm))
    noise.ledger.append({**row, "value": value})
    return value


@reserve.register(RecordingNoise)
def _reserve(noise: RecordingNoise, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> Any:
    row = noise.row(scale, mechanism, arm)
    secret_noise = reserve(noise.source, scale, mechanism, arm)
    noise.ledger.append({**row, "reserved": True})
    return secret_noise
