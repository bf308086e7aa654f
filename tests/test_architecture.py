"""The picture of the architecture is the one that its script draws, and the map names what is there."""

import re
from collections import Counter
from pathlib import Path
from xml.parsers.expat import ParserCreate

import dpbandits
from architecture_picture import PICTURE, picture

FILES = [path for path in Path(dpbandits.__file__).parent.rglob("*.py") if not path.name.startswith("__")]


def test_the_checked_in_picture_is_what_the_script_draws() -> None:
    assert PICTURE.read_text("utf-8") == picture(), "run `make picture`"


def test_the_picture_is_well_formed() -> None:
    ParserCreate().Parse(picture(), True)


def test_the_document_shows_the_picture() -> None:
    assert f"]({PICTURE.name})" in PICTURE.with_suffix(".md").read_text("utf-8")


def test_every_file_has_a_name_of_its_own() -> None:
    """Tests and their helpers as well: they are imported by their names alone."""
    tests = list(Path(__file__).parent.rglob("*.py"))
    repeated = [name for name, times in Counter(path.name for path in FILES + tests).items() if times > 1]
    assert repeated == []


def test_the_map_names_every_file_and_no_other() -> None:
    rooms = PICTURE.with_suffix(".md").read_text("utf-8").split("## Rooms")[1]
    named = set(re.findall(r"[\w]+\.py\b", rooms.split("\n\nImports go one way")[0]))
    commands = {path.name for path in FILES if path.parent.name == "cli"}  # a file per command
    broken = {path.name for path in FILES if path.parent.name in ("broken", "adapters")}
    assert {path.name for path in FILES} - commands - broken - named == set()
    assert named - {path.name for path in FILES} == set()
