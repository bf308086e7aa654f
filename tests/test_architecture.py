"""The picture of the architecture is the one that its script draws, and the document shows it."""

from xml.parsers.expat import ParserCreate

from architecture_picture import PICTURE, picture


def test_the_checked_in_picture_is_what_the_script_draws() -> None:
    assert PICTURE.read_text("utf-8") == picture(), "run `make picture`"


def test_the_picture_is_well_formed() -> None:
    ParserCreate().Parse(picture(), True)


def test_the_document_shows_the_picture() -> None:
    assert f"]({PICTURE.name})" in PICTURE.with_suffix(".md").read_text("utf-8")
