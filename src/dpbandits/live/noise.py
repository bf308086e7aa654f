"""LiveNoise: lets out the one release that is due, of the learner's own sum, writes it into the ledger, nothing else.

A kernel that asks for another arm, another scale or a second release is refused before anything is drawn. What it hands
over as its secret is not looked at. When a journal is read again, stored values take the place of new ones.
"""

from typing import Any, NamedTuple

from dpbandits.errors import InvalidInput, StepError
from dpbandits.live.ahead import NoiseAhead
from dpbandits.live.blocks import live_scale
from dpbandits.mechanisms import CARRIED, LAPLACE, SecureNoise, release
from dpbandits.mechanisms.recording import release_row
from dpbandits.privacy import DiscreteLaplaceEvent, Ledger

_SAME = 2.0**-20  # so much scales differ at most between machines, where they were rounded differently


def live_source(noise: object) -> SecureNoise:
    """Return the noise source of live use: SecureNoise, or what is derived from it."""
    if noise is None:
        return SecureNoise()
    if not isinstance(noise, SecureNoise):
        raise InvalidInput(
            f"Expected noise={type(noise).__name__} to be SecureNoise: live noise is exact and takes no seed."
        )
    return noise


def is_same_scale(stored: float, scheduled: float) -> bool:
    """Tell whether a scale that was stored can be that of a block, as another machine may have rounded it."""
    return abs(stored / scheduled - 1) <= _SAME


class Drawn(NamedTuple):
    """A released value and the scale of its noise in grid steps; None if it was drawn before scales were stored."""

    value: float
    steps: float | None


class Due:
    """The release that comes next: a sum, which is secret, and how it is described."""

    def __init__(self, arm: int, scale: float, total: Any, context: dict[str, Any], stored: Drawn | None) -> None:
        self.arm, self.scale, self.total, self.context, self.stored = arm, scale, total, context, stored


class LiveNoise:
    """The noise source that a live policy gets: `due` says what it may release, `taken` returns what it did."""

    def __init__(self, source: SecureNoise, ledger: Ledger, scale_bits: int | None) -> None:
        self.ahead = NoiseAhead(source)
        self.ledger = ledger
        self._source = source
        self._scale_bits = scale_bits
        self._due: Due | None = None
        self._drawn: Drawn | None = None

    def due(self, arm: int, scale: float, total: Any, context: dict[str, Any], stored: Drawn | None = None) -> None:
        """Allow one release of this arm and sum with this scale, described by the context; `stored` if it was drawn."""
        self._due, self._drawn = Due(arm, scale, total, context, stored), None

    def taken(self) -> Drawn:
        """Return what was released; it must have been."""
        drawn, self._drawn = self._drawn, None
        if drawn is None:
            raise StepError("The policy did not make the release that its blocks announce.")
        return drawn

    def asked(self, arm: int, scale: float, mechanism: int) -> float:
        """Make the release that is due, if it is the one that the policy asks for, and return its value."""
        due, self._due = self._due, None
        is_due = due is not None and (arm, live_scale(scale, self._scale_bits)) == (due.arm, due.scale)
        if due is None or not is_due or mechanism != LAPLACE:
            raise StepError(f"The policy asked for a release of arm {arm} with scale {scale}, which is not due.")
        grid = 2**self._source.grid_bits
        if due.stored is None or due.stored.steps is None:
            event = self._source.event(due.scale)
        elif is_same_scale(due.stored.steps / grid, due.scale):
            event = DiscreteLaplaceEvent(due.stored.steps, grid)
        else:
            raise StepError(f"A release of arm {arm} was stored with another scale than its block has.")
        row = release_row(event, arm, due.context)
        if due.stored is None:
            value = float(release(self._source, due.total + self.ahead.take(arm, due.scale), CARRIED, LAPLACE, arm))
        else:
            value = float(due.stored.value)
        self.ledger.append({**row, "value": value})
        self._drawn = Drawn(value, row["scale"])
        return value


@release.register(LiveNoise)
def _release(noise: LiveNoise, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    return noise.asked(arm, scale, mechanism)
