"""Which file of marks belongs to a database."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "own_marks",
        sa.Column("one", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("identity", sa.Text, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
    )
