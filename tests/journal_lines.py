"""What is written in a journal, read line by line."""

import json
from pathlib import Path
from typing import Any


def records_in(journal: Path) -> list[dict[str, Any]]:
    """Return the records of a journal without their checksums, a snapshot in its pieces."""
    return [json.loads(line.split(b" ", 1)[1]) for line in journal.read_bytes().splitlines()]
