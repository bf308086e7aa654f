"""LearnerCache: the experiments that a process remembers, those that were used last."""

from collections import OrderedDict
from collections.abc import Iterable

from dpbandits.service.experiment_rows import Experiment


class LearnerCache:
    """Experiments, by their numbers.

    Args:
        most: how many are remembered; beyond, the one that was not used for longest is read again when it is needed.
    """

    def __init__(self, most: int) -> None:
        self.known: OrderedDict[int, Experiment] = OrderedDict()
        self._most = most

    def keep(self, experiments: Iterable[Experiment]) -> None:
        """Remember experiments as they are after a transaction."""
        for experiment in experiments:
            self.known[experiment.id] = experiment
            self.known.move_to_end(experiment.id)
        while len(self.known) > self._most:
            self.known.popitem(last=False)

    def forget(self, ids: Iterable[int]) -> None:
        """Forget experiments of which a transaction has failed: what was drawn in it was seen by nobody."""
        for number in ids:
            self.known.pop(number, None)
