"""PromiseChecks: whether this version of the library agrees with what an experiment promised under another one.

Nobody goes on from a promise that is known to be broken. To find out takes seconds for long schedules, so it is done
beside the writer, once for every version; until then the steps of the experiment are refused, and nobody else's.
"""

import json
import logging
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import select, update

from dpbandits._version import __version__
from dpbandits.errors import DatabaseError
from dpbandits.service.database import Database
from dpbandits.service.experiment_rows import ExperimentRow
from dpbandits.service.schema import experiments, ledger
from dpbandits.service.terms_process import promise_problem_of

_LOG = logging.getLogger(__name__)


class PromiseChecks:
    """The experiments that are being checked, and those that have failed.

    Args:
        database: where they are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._under_way: set[int] = set()
        self._problems: dict[int, str] = {}
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="dpbandits check")  # one after the other

    def close(self) -> None:
        """End what is under way."""
        self._is_over = True
        self._executor.shutdown(wait=False, cancel_futures=True)
        if self._process is not None:
            self._process.kill()

    def refusal(self, row: ExperimentRow) -> DatabaseError | None:
        """Return why the steps of an experiment cannot be taken; None if they can. A check is begun if one is due."""
        if row.checked_by == __version__:
            return None
        with self._lock:
            if row.id in self._problems:
                return DatabaseError(f"Experiment {row.name!r} cannot go on. {self._problems[row.id]}")
            if row.id not in self._under_way:
                self._under_way.add(row.id)
                self._executor.submit(self._check, row.id)
        return DatabaseError(
            f"Experiment {row.name!r} began with version {row.checked_by} of dpbandits, and what it promised is being "
            "checked. Ask again in a moment."
        )

    def _check(self, number: int) -> None:
        try:
            with self._database.reading() as connection:
                is_first = (ledger.c.experiment == number) & (ledger.c.number == 0)
                content = connection.scalar(select(ledger.c.content).where(is_first))
            problem = promise_problem_of(json.loads(content or "{}"), self._started)
            if problem:
                self._problems[number] = problem
                return
            with self._database.writing() as connection:
                is_it = experiments.c.id == number
                connection.execute(update(experiments).where(is_it).values(checked_by=__version__))
        except Exception as problem:  # noqa: BLE001  (whatever it was, the next step that comes has it checked again)
            if not self._is_over:
                _LOG.warning("What experiment %d promised could not be checked: %s", number, type(problem).__name__)
        finally:
            with self._lock:
                self._under_way.discard(number)

    def _started(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        if self._is_over:
            process.kill()
