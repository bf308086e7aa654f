"""The tables of live experiments.

What an arm, a block, an assignment or a release is, docs/live_learner.md says; `live/book.py` says what is kept of
them. No table has a reward: it is added to the sum of its block when it is acknowledged. What is secret is marked so.
People and keys are hashes with the key of their experiment, as in a journal.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

experiments = Table(
    "experiments",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False, unique=True),
    Column("identity", Text, nullable=False),  # random: tells it from another one with the same id
    Column("tag", Text, nullable=False, unique=True),  # with which the ids of its assignments begin
    Column("unit_key", Text, nullable=False),  # of the hashes of people; secret
    Column("state", Text, nullable=False),  # one of STATES
    Column("checked_by", Text, nullable=False),  # the version of this library that has confirmed its epsilon
    sqlite_with_rowid=False,
)

# What nearly every transaction changes, in small rows. Who holds the lock on one has the experiment.
progress = Table(
    "progress",
    metadata,
    Column("experiment", BigInteger, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),  # how many transactions have changed the experiment
    Column("ledger_rows", BigInteger, nullable=False),  # how many there are
    Column("counts", Text, nullable=False),  # Counts.snapshot, as JSON
    sqlite_with_rowid=False,
)

ledger = Table(
    "ledger",
    metadata,
    Column("experiment", BigInteger, primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("arm", Integer),  # of a release; row 0 has none
    Column("release", BigInteger),
    Column("decisions", BigInteger, nullable=False),  # how many there were when it was made
    Column("content", Text, nullable=False),  # canonical JSON, which the hash is taken over
    Column("hash", Text, nullable=False),
    UniqueConstraint("experiment", "arm", "release", name="one_release_of_every_block"),
    sqlite_with_rowid=False,
)

assignments = Table(
    "assignments",
    metadata,
    Column("experiment", BigInteger, primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("arm", Integer, nullable=False),
    Column("block", BigInteger),  # that its reward enters; null if it enters nothing
    Column("until", Float(53)),  # when its window is over; null for ever
    Column("unit", Text),  # the person; null if they gave no name or were forgotten
    Column("entered", BigInteger, nullable=False),  # how many rewards of the person have entered, with this one
    Column("visit_key", Text),
    Column("is_answered", Boolean, nullable=False),  # secret
    Column("answer_key", Text),  # secret
    sqlite_with_rowid=False,
)
Index(
    "assignments_of_people",
    assignments.c.experiment,
    assignments.c.unit,
    assignments.c.number,
    sqlite_where=assignments.c.unit.is_not(None),
    postgresql_where=assignments.c.unit.is_not(None),
)
Index(
    "assignments_of_visits",
    assignments.c.experiment,
    assignments.c.visit_key,
    unique=True,
    sqlite_where=assignments.c.visit_key.is_not(None),
    postgresql_where=assignments.c.visit_key.is_not(None),
)

forgotten = Table(
    "forgotten",
    metadata,
    Column("experiment", BigInteger, primary_key=True, autoincrement=False),
    Column("unit", Text, primary_key=True),
    sqlite_with_rowid=False,
)

# Blocks from their first assignment to their release.
blocks = Table(
    "blocks",
    metadata,
    Column("experiment", BigInteger, primary_key=True, autoincrement=False),
    Column("arm", Integer, primary_key=True, autoincrement=False),
    Column("block", BigInteger, primary_key=True, autoincrement=False),
    Column("first", BigInteger, nullable=False),  # the numbers of its first and last assignment
    Column("last", BigInteger, nullable=False),
    Column("until", Float(53)),  # when the window of its last assignment is over
    Column("unanswered", BigInteger, nullable=False),  # secret
    Column("is_full", Boolean, nullable=False),
    Column("total", BigInteger, nullable=False),  # of the rewards that have come, on the grid; secret
    sqlite_with_rowid=False,
)
Index(
    "full_blocks",
    blocks.c.until,
    blocks.c.experiment,
    sqlite_where=blocks.c.is_full,
    postgresql_where=blocks.c.is_full,
)

# The file of marks that shows whether this database is the newest (service/marks.py).
own_marks = Table(
    "own_marks",
    metadata,
    Column("one", Integer, primary_key=True, autoincrement=False),  # it is the only row
    Column("identity", Text, nullable=False),
    Column("path", Text, nullable=False),  # where the file was, as the host that has made it calls it
)

# Where a release is of all rewards so far: those of the blocks that were released.
released_sums = Table(
    "released_sums",
    metadata,
    Column("experiment", BigInteger, primary_key=True, autoincrement=False),
    Column("arm", Integer, primary_key=True, autoincrement=False),
    Column("total", BigInteger, nullable=False),  # secret
    sqlite_with_rowid=False,
)
