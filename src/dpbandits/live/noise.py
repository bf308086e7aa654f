"""LiveNoise: lets out the one release that is due, writes it into the ledger, and nothing else.

A kernel that asks for another arm, another scale or a second release is refused before anything is drawn. (That it
releases the right sum is shown by the taint check.) When a journal is read again, stored values take the place of new
ones.
"""

from typing import Any

from dpbandits.errors import InvalidInput
from dpbandits.mechanisms import LAPLACE, NoiseSource, RecordingNoise, SecureNoise, release
from dpbandits.privacy import Event, Ledger


def live_source(noise: object) -> SecureNoise:
    """Return the noise source of live use: SecureNoise, or what is derived from it."""
    if noise is None:
        return SecureNoise()
    if not isinstance(noise, SecureNoise):
        raise InvalidInput(
            f"Expected noise={type(noise).__name__} to be SecureNoise: live noise is exact and takes no seed."
        )
    return noise


class StoredNoise:
    """A noise source that has one value to give, drawn before."""

    def __init__(self, source: NoiseSource, value: float) -> None:
        self._source = source
        self.value = value

    def event(self, scale: float, mechanism: int = LAPLACE) -> Event:
        """As in the source that drew the value."""
        return self._source.event(scale, mechanism)


@release.register(StoredNoise)
def _stored(noise: StoredNoise, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    return noise.value


class LiveNoise:
    """The noise source that a live policy gets: `due` says what it may release, `taken` returns what it did."""

    def __init__(self, source: SecureNoise, ledger: Ledger) -> None:
        self._source = source
        self._ledger = ledger
        self._due: tuple[int, float, RecordingNoise] | None = None
        self._value: float | None = None

    def due(self, arm: int, scale: float, context: dict[str, Any], stored: float | None = None) -> None:
        """Allow one release of this arm with this scale, described by the context; `stored` if it was drawn before."""
        source = self._source if stored is None else StoredNoise(self._source, stored)
        self._due = (arm, scale, RecordingNoise(source, self._ledger, context))  # type: ignore[arg-type]

    def taken(self) -> float:
        """Return the value that was released; it must have been."""
        if self._value is None:
            raise RuntimeError("The policy did not make the release that its blocks announce.")
        value, self._value = self._value, None
        return value


@release.register(LiveNoise)
def _release(noise: LiveNoise, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    if noise._due is None or noise._due[:2] != (arm, scale) or mechanism != LAPLACE:
        raise RuntimeError(f"The policy asked for a release of arm {arm} with scale {scale} that is not in its blocks.")
    recording, noise._due = noise._due[2], None
    noise._value = release(recording, secret, scale, mechanism, arm)
    return noise._value
