"""Live experiments in a database, many at once, written by several programs and machines (docs/store.md)."""

from dpbandits._extras import require_extras

require_extras("sqlalchemy", "alembic", "psycopg")
