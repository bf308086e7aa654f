"""Overviews: what may be shown of an experiment in a database, read beside the writer that goes on writing it.

Nothing is shown that no mark on disk covers: whoever sees what depends on a release must be sure that it is never drawn
again. So a reader waits until the marks have come as far as what it has read, and forces them to disk itself.
"""

import time

from sqlalchemy import select

from dpbandits import _validate
from dpbandits._frames import clean
from dpbandits._validate import value_text
from dpbandits.errors import DatabaseError, NotFound
from dpbandits.live.experiment_overview import Overview
from dpbandits.service.book_rows import BookRows
from dpbandits.service.directory import is_name
from dpbandits.service.experiment_rows import read_experiment
from dpbandits.service.schema import experiments
from dpbandits.service.store import Store

_PATIENCE = 5.0  # seconds
_PAUSE = 0.002


@clean
def acknowledged_overview(store: Store, name: str) -> Overview:
    """Return what may be shown of an experiment now.

    Raises:
        NotFound: there is none of this name.
        DatabaseError: it has changed and no mark says so: no writer has acknowledged it.
    """
    _validate.check_kind(Store, "a Store", store=store)
    database = store.database
    if not is_name(name):
        raise NotFound(f"There is no experiment={value_text(name)}.")
    with database.reading() as connection:
        number = connection.scalar(select(experiments.c.id).where(experiments.c.name == name))
        if number is None:
            raise NotFound(f"There is no experiment={value_text(name)}.")
        rows = BookRows(database, connection)
        experiment = read_experiment(database, connection, number, rows)
        overview = Overview.of(experiment.learner)
    deadline = time.monotonic() + _PATIENCE
    while not store.marks.covers(experiment.id, experiment.mark):
        if time.monotonic() > deadline:
            raise DatabaseError(f"Experiment {name!r} has changed, and no writer has acknowledged it. Ask again.")
        time.sleep(_PAUSE)
    return overview
