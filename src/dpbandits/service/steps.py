"""Steps: what is asked of the writer. Each is plain data, and takes effect once it was answered, completely or not."""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from dpbandits import _validate
from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput, WrongKind

State = Literal["draft", "running", "paused", "stopped", "archived"]
STATES: tuple[State, ...] = get_args(State)
Beginning = Literal["running", "draft"]
BEGINNINGS: tuple[Beginning, ...] = get_args(Beginning)

# From which states one may come to a state. From `running` on nothing of the configuration changes.
BEFORE: dict[State, tuple[State, ...]] = {
    "draft": (),
    "running": ("draft", "paused"),
    "paused": ("running",),
    "stopped": ("running", "paused"),
    "archived": ("draft", "stopped"),
}


@dataclass(frozen=True, slots=True)
class Assign:
    """Hand out an arm to a person: the answer is an Assignment."""

    experiment: str
    unit: str | int | None
    key: str | None = None

    def __post_init__(self) -> None:
        _check_text(experiment=self.experiment)


@dataclass(frozen=True, slots=True)
class Reward:
    """Take in the reward of an assignment, None for the default one: the answer is None."""

    assignment: str
    value: float | None = field(repr=False)
    key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _check_text(assignment=self.assignment)

    @property
    def assignment_number(self) -> int:
        """The number in the id of its assignment; 0 if it cannot have one."""
        digits = self.assignment.rpartition("-")[2]
        is_plain = digits.isascii() and digits.isdigit() and len(digits) < 19 and digits[0] != "0"
        return int(digits) if is_plain else 0


@dataclass(frozen=True, slots=True)
class ReleaseDue:
    """Release the blocks of an experiment whose windows are over: the answer is how many they were."""

    experiment: str

    def __post_init__(self) -> None:
        _check_text(experiment=self.experiment)


@dataclass(frozen=True, slots=True)
class Forget:
    """Cut the links between a person and their assignments, in every experiment: the answer is None."""

    unit: str | int


@dataclass(frozen=True, slots=True)
class ChangeState:
    """Bring an experiment into another state: the answer is None."""

    experiment: str
    state: State

    def __post_init__(self) -> None:
        _check_text(experiment=self.experiment)
        _validate.one_of(STATES, state=self.state)


def _check_text(**named: Any) -> None:
    ((name, value),) = named.items()
    if not isinstance(value, str):
        raise InvalidInput(f"Expected {name}={value_text(value)} to be text.")


Step = Assign | Reward | ReleaseDue | Forget | ChangeState
KINDS: tuple[type[Any], ...] = get_args(Step)


def check_step(step: object) -> None:
    """Refuse what is no step."""
    if type(step) not in KINDS:
        names = ", ".join(kind.__name__ for kind in KINDS)
        raise WrongKind(f"Expected step={value_text(step)} to be one of {names}.")
