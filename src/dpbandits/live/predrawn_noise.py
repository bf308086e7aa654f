"""PredrawnNoise: noise that is drawn before it is needed, so that the time of a release does not tell its size.

A large noise takes longer to draw than a small one. The noise of an arm's next releases is drawn in earlier steps, many
at a time once an arm has had many releases, so that a step that draws tells at most something about their sum.

It is kept in memory alone: in no snapshot, journal or copy, and in no forked child.
"""

import weakref
from collections import deque
from collections.abc import Iterable
from typing import Any, NoReturn

from dpbandits import _forks
from dpbandits.errors import StepError
from dpbandits.mechanisms import LAPLACE, SecureNoise, reserve

MOST = 16  # noises of one arm that are drawn at a time


class PredrawnNoise:
    """What was drawn for the next releases of every arm, in their order. All of it is secret."""

    def __init__(self, source: SecureNoise) -> None:
        self._source = source
        self._noises: dict[int, deque[tuple[float, Any]]] = {}  # by arm: scale and noise
        _ALL.add(self)

    def count(self, arm: int) -> int:
        """Return for how many of the arm's next releases there is noise."""
        noises = self._noises.get(arm)
        return 0 if noises is None else len(noises)

    def draw(self, arm: int, scales: Iterable[float]) -> None:
        """Draw the noise for further releases of the arm, one for each of these scales."""
        noises = [(scale, reserve(self._source, scale, LAPLACE, arm)) for scale in scales]
        self._noises.setdefault(arm, deque()).extend(noises)

    def take(self, arm: int, scale: float) -> Any:
        """Return the noise of the arm's next release and forget it; if there is none, it is drawn now."""
        if not self.count(arm):
            self.draw(arm, [scale])
        drawn_scale, noise = self._noises[arm].popleft()
        if drawn_scale != scale:
            raise StepError(
                f"The noise of arm {arm} was drawn with scale {drawn_scale}, and its release takes {scale}."
            )
        return noise

    def drop(self, arm: int | None = None) -> None:
        """Forget everything, or what is of one arm. Nobody has seen it, so drawing again costs nothing."""
        if arm is None:
            self._noises = {}
        else:
            self._noises.pop(arm, None)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("Noise that was drawn ahead cannot be copied or pickled: it would be used twice.")


_ALL: weakref.WeakSet[PredrawnNoise] = weakref.WeakSet()


def _drop_in_child() -> None:
    for predrawn in list(_ALL):
        predrawn.drop()


_forks.in_child(_drop_in_child)
