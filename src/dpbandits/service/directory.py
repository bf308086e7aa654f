"""Directory: which experiment a step is about, by its name or by the tag of an assignment."""

import re
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select

from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput
from dpbandits.live.book import FORGOTTEN
from dpbandits.live.units import Units
from dpbandits.service.book_rows import BookRows, Wanted
from dpbandits.service.database import Database
from dpbandits.service.schema import experiments
from dpbandits.service.steps import Forget, Reward, Step

_MOST_REMEMBERED = 200_000
_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def validated_name(name: object) -> str:
    """Return the name of an experiment, which can stand in a URL."""
    if isinstance(name, str) and is_name(name):
        return name
    raise InvalidInput(
        f"Expected name={value_text(name)} to be 1 to 100 letters, digits, dots, dashes and underscores, beginning "
        "with a letter or a digit."
    )


def is_name(name: object) -> bool:
    """Tell whether something can be the name of an experiment."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


class Directory:
    """Experiments by name and by tag. Neither ever changes while a service runs."""

    def __init__(self) -> None:
        self._by_name: dict[str, int] = {}
        self._by_tag: dict[str, int] = {}

    def experiments_of(self, steps: Sequence[Step], connection: Connection) -> list[int | None]:
        """Return the id of the experiment of every step; None where there is none, or the step is about a person."""
        names = [None if isinstance(step, Forget | Reward) else step.experiment for step in steps]
        tags = [step.assignment.rpartition("-")[0] if isinstance(step, Reward) else None for step in steps]
        by_name = self._found(names, self._by_name, experiments.c.name, connection)
        by_tag = self._found(tags, self._by_tag, experiments.c.tag, connection)
        return [one if one is not None else other for one, other in zip(by_name, by_tag, strict=True)]

    def _found(
        self, words: Sequence[str | None], known: dict[str, int], column: Any, connection: Connection
    ) -> list[int | None]:
        if len(known) > _MOST_REMEMBERED:
            known.clear()
        missing = sorted({word for word in words if word is not None and word not in known and _NAME.fullmatch(word)})
        if missing:
            found = connection.execute(select(column, experiments.c.id).where(column.in_(missing)))
            known.update((word, number) for word, number in found)
        return [None if word is None else known.get(word) for word in words]


def links_of(unit: str | int, database: Database, connection: Connection) -> list[tuple[int, str]]:
    """Return the experiments in which a person is known, and the hashes by which they are."""
    # All at once: a result that is left unread, since a name is refused, would keep its lock on a file.
    found = connection.execute(select(experiments.c.id, experiments.c.unit_key)).all()
    keys = [(number, _hashed(unit, key)) for number, key in found]
    rows = BookRows(database, connection)  # of its own: what it reads may change until the experiments are locked
    rows.read_ahead(Wanted(people=keys))
    return [key for key in keys if rows.person(key) not in (None, FORGOTTEN)]


def _hashed(unit: str | int, key: str) -> str:
    units = Units(contributions=1)
    units.key = key
    hashed_unit = units.hashed_unit(unit)
    if hashed_unit is None:
        raise InvalidInput("Expected unit=None to be the name of a person.")
    return hashed_unit
