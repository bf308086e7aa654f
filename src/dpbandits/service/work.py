"""Work: what a batch has to do for one experiment."""

from dataclasses import dataclass, field

from dpbandits.live.units import Visit
from dpbandits.service.experiment_rows import Experiment
from dpbandits.service.steps import Assign, ChangeState, ReleaseDue, Reward


@dataclass(slots=True)
class Work:
    """What a batch has to do for one experiment. A step is known by its place in the batch.

    Attributes:
        experiment: locked and up to date.
        time: when it was locked.
        now: the time that counts for it; None where nothing depends on time.
        states: into which it is to be brought.
        rewards: with the numbers of their assignments; 0 where the id can be none.
        due: those who ask for what is due.
        assigns: with who asks.
    """

    experiment: Experiment
    time: float
    now: float | None = None
    states: list[tuple[int, ChangeState]] = field(default_factory=list)
    rewards: list[tuple[int, Reward, int]] = field(default_factory=list)
    due: list[tuple[int, ReleaseDue]] = field(default_factory=list)
    assigns: list[tuple[int, Assign, Visit]] = field(default_factory=list)

    @property
    def is_sealed(self) -> bool:
        """Whether rewards alone release nothing."""
        return self.experiment.learner.is_sealed

    @property
    def hands_out(self) -> bool:
        """Whether what is due is released, in any timing."""
        return bool(self.assigns or self.due)
