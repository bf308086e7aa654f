"""A live release, in two steps: it is drawn, from the learner's own sum, and later handed to the policy.

In between it is written to the journal. So nothing that a policy does, not even a failure that depends on the value,
can make it be drawn again. When a journal is read again, stored values take the place of new ones.

A kernel that asks for another arm, another scale or a second release is refused. The secret that it hands over is
ignored.
"""

from typing import Any, NamedTuple

from dpbandits.errors import StepError, WrongKind
from dpbandits.live.blocks import live_scale
from dpbandits.live.predrawn_noise import PredrawnNoise
from dpbandits.mechanisms import CARRIED, LAPLACE, SecureNoise, release
from dpbandits.mechanisms.recording import release_row
from dpbandits.policies import Block
from dpbandits.privacy import DiscreteLaplaceEvent, Event, Ledger

_SAME = 2.0**-20  # so much scales differ at most between machines, where they were rounded differently


def live_source(noise: object) -> SecureNoise:
    """Return the noise source of live use: SecureNoise, or what is derived from it."""
    if noise is None:
        return SecureNoise()
    if not isinstance(noise, SecureNoise):
        raise WrongKind(
            f"Expected noise={type(noise).__name__} to be SecureNoise: live noise is exact and takes no seed."
        )
    return noise


class UndrawableNoise(SecureNoise):
    """The noise source where nothing may be drawn: releases that were made before are read, and no more."""

    def draw(self, scale: float, mechanism: int) -> int:
        """Refuse to."""
        raise StepError("Nothing is drawn where a journal is only read.")


def is_same_scale(stored_scale: float, scheduled: float) -> bool:
    """Tell whether a scale that was stored can be that of a block, as another machine may have rounded it."""
    return abs(stored_scale / scheduled - 1) <= _SAME


class ReleasedValue(NamedTuple):
    """A released value and the scale of its noise in grid steps; None if it was drawn before scales were stored."""

    value: float
    steps: float | None


class Releaser:
    """What draws: adds noise to a sum, which is secret, and writes the release into the ledger."""

    def __init__(self, source: SecureNoise, ledger: Ledger) -> None:
        self.predrawn = PredrawnNoise(source)
        self.ledger = ledger
        self._source = source

    def release(
        self, block: Block, total: Any, arm: int, context: dict[str, Any], stored_value: ReleasedValue | None
    ) -> ReleasedValue:
        """Return the release of a block's sum, described by the context; `stored_value` if it was drawn before."""
        row = release_row(self._event(block, stored_value), arm, context)
        if stored_value is None:
            value = float(release(self._source, total + self.predrawn.take(arm, block.scale), CARRIED, LAPLACE, arm))
        else:
            value = float(stored_value.value)
        self.ledger.append({**row, "value": value})
        return ReleasedValue(value, row["scale"])

    def _event(self, block: Block, stored_value: ReleasedValue | None) -> Event:
        if stored_value is None or stored_value.steps is None:
            return self._source.event(block.scale)
        grid = 2**self._source.grid_bits
        if not is_same_scale(stored_value.steps / grid, block.scale):
            raise StepError("A release was stored with another scale than its block has.")
        return DiscreteLaplaceEvent(stored_value.steps, grid)


class LiveNoise:
    """The noise source that a live policy gets. It has nothing but the one value that is due, which is on disk."""

    def __init__(self, scale_bits: int | None) -> None:
        self._scale_bits = scale_bits
        self._due: tuple[int, float, float] | None = None  # arm, scale, value

    def allow(self, arm: int, scale: float, value: float) -> None:
        """Allow one release of this arm with this scale, which has this value."""
        self._due = (arm, scale, value)

    def take_due(self, arm: int, scale: float, mechanism: int) -> float:
        """Return the value that is due, if it is the one that the policy asks for."""
        due, self._due = self._due, None
        is_due = due is not None and due[:2] == (arm, live_scale(scale, self._scale_bits))
        if due is None or not is_due or mechanism != LAPLACE:
            raise StepError(f"The policy asked for a release of arm {arm} with scale {scale}, which is not due.")
        return due[2]

    def check_taken(self) -> None:
        """Refuse a policy that did not make its release."""
        if self._due is not None:
            raise StepError("The policy did not make the release that its blocks announce.")


@release.register(LiveNoise)
def _release(noise: LiveNoise, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    return noise.take_due(arm, scale, mechanism)
