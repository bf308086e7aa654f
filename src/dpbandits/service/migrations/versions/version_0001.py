"""Experiments, their ledgers, assignments, people who were forgotten, blocks and sums."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "experiments",
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("identity", sa.Text, nullable=False),
        sa.Column("tag", sa.Text, nullable=False, unique=True),
        sa.Column("unit_key", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("checked_by", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "progress",
        sa.Column("experiment", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("ledger_rows", sa.BigInteger, nullable=False),
        sa.Column("counts", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "ledger",
        sa.Column("experiment", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("arm", sa.Integer),
        sa.Column("release", sa.BigInteger),
        sa.Column("decisions", sa.BigInteger, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.UniqueConstraint("experiment", "arm", "release", name="one_release_of_every_block"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "assignments",
        sa.Column("experiment", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("arm", sa.Integer, nullable=False),
        sa.Column("block", sa.BigInteger),
        sa.Column("until", sa.Float(53)),
        sa.Column("unit", sa.Text),
        sa.Column("entered", sa.BigInteger, nullable=False),
        sa.Column("visit_key", sa.Text),
        sa.Column("is_answered", sa.Boolean, nullable=False),
        sa.Column("answer_key", sa.Text),
        sqlite_with_rowid=False,
    )
    has_unit, has_visit = sa.text("unit IS NOT NULL"), sa.text("visit_key IS NOT NULL")
    op.create_index(
        "assignments_of_people",
        "assignments",
        ["experiment", "unit", "number"],
        sqlite_where=has_unit,
        postgresql_where=has_unit,
    )
    op.create_index(
        "assignments_of_visits",
        "assignments",
        ["experiment", "visit_key"],
        unique=True,
        sqlite_where=has_visit,
        postgresql_where=has_visit,
    )
    op.create_table(
        "forgotten",
        sa.Column("experiment", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("unit", sa.Text, primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "blocks",
        sa.Column("experiment", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("arm", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("block", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("first", sa.BigInteger, nullable=False),
        sa.Column("last", sa.BigInteger, nullable=False),
        sa.Column("until", sa.Float(53)),
        sa.Column("unanswered", sa.BigInteger, nullable=False),
        sa.Column("is_full", sa.Boolean, nullable=False),
        sa.Column("total", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    is_full = sa.text("is_full")
    op.create_index("full_blocks", "blocks", ["until", "experiment"], sqlite_where=is_full, postgresql_where=is_full)
    op.create_table(
        "released_sums",
        sa.Column("experiment", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("arm", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("total", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.name == "postgresql":
        # Room on every page for rows that change, so that no index has to be told where they are now.
        for table, share in (("progress", 20), ("blocks", 50), ("assignments", 80)):
            op.execute(f"ALTER TABLE {table} SET (fillfactor = {share})")
