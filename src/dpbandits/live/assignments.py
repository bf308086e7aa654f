"""Assignments: one decision for one person, and the ids by which a program remembers them."""

from dataclasses import dataclass, field

from dpbandits import _validate
from dpbandits.errors import InvalidInput


@dataclass(frozen=True)
class Assignment:
    """One decision for one person. Close it with its reward; either the object or its id will do.

    Attributes:
        id: what a program remembers it by; empty for somebody who was forgotten, of whom nothing is kept.
        arm: what the person gets.
        is_new: False if the person had this assignment before, and may have answered already.
    """

    id: str
    arm: str | int
    is_new: bool = field(default=True, compare=False)


def id_of(tag: str, number: int) -> str:
    """Return the id of an assignment: its number, after the tag of its bandit."""
    return f"{tag}-{number}"


def number_of(assignment: Assignment | str, tag: str, assigned: int) -> int:
    """Return the number of an assignment of the bandit with this tag, of which `assigned` were made."""
    name = assignment.id if isinstance(assignment, Assignment) else assignment
    if not isinstance(name, str):
        raise InvalidInput(f"Expected assignment={_validate.value_text(assignment)} to be an assignment or its id.")
    if name == "":
        raise InvalidInput(
            "Expected assignment='' to be one of this bandit's, not that of somebody who was forgotten: there is "
            "nothing to close."
        )
    digits = name.removeprefix(f"{tag}-")
    number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 20 else 0
    if not 0 < number <= assigned or name != id_of(tag, number):
        raise InvalidInput(f"Expected assignment={_validate.value_text(name)} to be one of this bandit's.")
    return number
