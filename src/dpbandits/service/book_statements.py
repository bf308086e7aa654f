"""What books read and write, as SQL for both kinds of database, and the columns of the rows that each is given.

The given rows come first in every join, and all others are found by an index.
"""

from dpbandits.service.given_rows import insert_text
from dpbandits.service.schema import assignments, blocks, forgotten, released_sums

ASSIGNMENT_COLUMNS = tuple(assignments.c)
EXPERIMENT_COLUMNS = (assignments.c.experiment,)
NUMBER_COLUMNS = (assignments.c.experiment, assignments.c.number)
UNIT_COLUMNS = (forgotten.c.experiment, forgotten.c.unit)
VISIT_COLUMNS = (assignments.c.experiment, assignments.c.visit_key)
ARM_COLUMNS = (blocks.c.experiment, blocks.c.arm)
BLOCK_COLUMNS = (*ARM_COLUMNS, blocks.c.block)
ANSWER_COLUMNS = (*NUMBER_COLUMNS, assignments.c.is_answered, assignments.c.answer_key)
BLOCK_ROW_COLUMNS = tuple(blocks.c)
SUM_COLUMNS = (*BLOCK_COLUMNS, blocks.c.unanswered, blocks.c.total)
RELEASED_SUM_COLUMNS = tuple(released_sums.c)

READ_ASSIGNMENTS = """
    SELECT found.experiment, found.number, found.arm, found.block, found.until, found.is_answered, found.answer_key
    FROM {given} CROSS JOIN assignments AS found
    WHERE found.experiment = given.experiment AND found.number = given.number
"""
READ_PEOPLE = """
    SELECT given.experiment, given.unit, gone.unit IS NOT NULL, latest.number, latest.entered, latest.arm, latest.block,
        latest.until, latest.is_answered, latest.answer_key
    FROM {given}
    LEFT JOIN forgotten AS gone ON gone.experiment = given.experiment AND gone.unit = given.unit
    LEFT JOIN assignments AS latest ON latest.experiment = given.experiment AND latest.number = (
        SELECT max(own.number) FROM assignments AS own
        WHERE own.experiment = given.experiment AND own.unit = given.unit)
"""
READ_VISITS = """
    SELECT found.experiment, found.visit_key, found.arm, found.number
    FROM {given} CROSS JOIN assignments AS found
    WHERE found.experiment = given.experiment AND found.visit_key = given.visit_key
"""
_FOUND_BLOCKS = """
    SELECT found.experiment, found.arm, found.block, found.first, found.last, found.unanswered, found.total,
        before.total
    FROM {given} CROSS JOIN blocks AS found
    LEFT JOIN released_sums AS before ON before.experiment = found.experiment AND before.arm = found.arm
    WHERE found.experiment = given.experiment
"""
READ_BLOCKS = _FOUND_BLOCKS + " AND found.arm = given.arm AND found.block = given.block"
READ_ANSWERED_BLOCKS = _FOUND_BLOCKS + " AND found.arm = given.arm AND found.unanswered = 0"
READ_DUE_BLOCKS = _FOUND_BLOCKS + " AND found.is_full AND found.until <= {now} ORDER BY found.last"
READ_RELEASED_SUMS = """
    SELECT coalesce(before.total, 0) FROM {given}
    LEFT JOIN released_sums AS before ON before.experiment = given.experiment AND before.arm = given.arm
"""
ADD_ASSIGNMENTS = insert_text(assignments)
ANSWER_ASSIGNMENTS = """
    UPDATE assignments SET is_answered = given.is_answered, answer_key = given.answer_key FROM {given}
    WHERE assignments.experiment = given.experiment AND assignments.number = given.number
"""
APPEND_TO_BLOCKS = (
    insert_text(blocks)
    + """
    ON CONFLICT (experiment, arm, block) DO UPDATE SET
        last = excluded.last, until = excluded.until, is_full = excluded.is_full,
        unanswered = blocks.unanswered + excluded.unanswered
"""
)
SUM_UP_BLOCKS = """
    UPDATE blocks SET unanswered = blocks.unanswered - given.unanswered, total = blocks.total + given.total FROM {given}
    WHERE blocks.experiment = given.experiment AND blocks.arm = given.arm AND blocks.block = given.block
"""
TAKE_OUT_BLOCKS = """
    DELETE FROM blocks USING {given}
    WHERE blocks.experiment = given.experiment AND blocks.arm = given.arm AND blocks.block = given.block
"""
KEEP_RELEASED_SUMS = insert_text(released_sums) + " ON CONFLICT (experiment, arm) DO UPDATE SET total = excluded.total"
FORGET_PEOPLE = insert_text(forgotten)
UNLINK_PEOPLE = """
    UPDATE assignments SET unit = NULL, visit_key = NULL FROM {given}
    WHERE assignments.experiment = given.experiment AND assignments.unit = given.unit
"""
