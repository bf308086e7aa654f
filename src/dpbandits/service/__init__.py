"""Live experiments in a database, many at once, written by several programs and machines (docs/store.md)."""

from dpbandits import _extras

_extras.require_extras("sqlalchemy", "alembic", "psycopg")

from dpbandits.service.beginning import begin_experiment  # noqa: E402  (which needs them)
from dpbandits.service.database import DatabaseAway, UnknownOutcome  # noqa: E402
from dpbandits.service.overviews import acknowledged_overview  # noqa: E402
from dpbandits.service.steps import Assign, ChangeState, Forget, ReleaseDue, Reward  # noqa: E402
from dpbandits.service.store import Store  # noqa: E402
from dpbandits.service.ticker import Ticker  # noqa: E402
from dpbandits.service.worker_processes import WorkerProcesses, end_with_parent  # noqa: E402
from dpbandits.service.writer import Writer  # noqa: E402
from dpbandits.service.writer_socket import WriterClient, WriterServer  # noqa: E402

__all__ = [
    "Assign",
    "ChangeState",
    "DatabaseAway",
    "Forget",
    "ReleaseDue",
    "Reward",
    "Store",
    "Ticker",
    "UnknownOutcome",
    "WorkerProcesses",
    "Writer",
    "WriterClient",
    "WriterServer",
    "acknowledged_overview",
    "begin_experiment",
    "end_with_parent",
]
