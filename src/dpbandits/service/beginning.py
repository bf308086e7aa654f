"""Beginning: an experiment put into the database, with row 0 of its ledger and its mark."""

import json
import secrets

from sqlalchemy import func, insert, select

from dpbandits._version import __version__
from dpbandits.errors import InvalidInput
from dpbandits.live.configuration import Configuration, Terms
from dpbandits.live.learner import Learner
from dpbandits.mechanisms import SecureNoise
from dpbandits.service.database import Database
from dpbandits.service.directory import validated_name
from dpbandits.service.experiment_rows import Experiment
from dpbandits.service.marks import Marks
from dpbandits.service.schema import experiments, ledger, own_marks
from dpbandits.service.steps import State


def begin_experiment(
    database: Database,
    marks: Marks,
    name: str,
    configuration: Configuration,
    terms: Terms,
    state: State = "running",
) -> int:
    """Put an experiment into the database and return its id.

    Args:
        database: where it will be.
        marks: where its mark will be.
        name: what people call it, also in URLs.
        configuration: what was asked for.
        terms: what follows from it, computed before.
        state: with which it begins.

    Raises:
        InvalidInput: the name is taken or cannot be one, or the configuration cannot run. Nothing has changed.
    """
    validated_name(name)
    learner = Learner(configuration, terms, SecureNoise(configuration.grid_bits))
    row_0 = learner.ledger[0]
    identity = secrets.token_hex(8)
    with database.writing() as connection:
        # An id is never given again, also if the database that gave it is gone: its mark is still there.
        connection.execute(select(own_marks).with_for_update())  # one at a time, where several hosts write
        largest = connection.scalar(select(func.max(experiments.c.id))) or 0
        number = max(largest, marks.slots) + 1
        if connection.scalar(select(experiments.c.id).where(experiments.c.name == name)) is not None:
            raise InvalidInput(f"Expected name={name!r} to be a new one: there is an experiment with this name.")
        connection.execute(
            insert(experiments).values(
                id=number,
                name=name,
                identity=identity,
                tag=learner.tag,
                unit_key=learner.units.key,
                state=state,
                version=1,
                counts=json.dumps(learner.counts.snapshot()),
                ledger_rows=1,
                checked_by=__version__,
            )
        )
        connection.execute(
            insert(ledger).values(experiment=number, number=0, decisions=0, content=row_0.content_json, hash=row_0.hash)
        )
    marks.raise_to({number: Experiment(number, name, identity, state, learner, 1).mark}, durable=True)
    return number
