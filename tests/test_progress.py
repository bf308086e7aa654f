"""A progress bar comes after a second, and one at a time. Here the second is over when a test says so."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from dpbandits._progress import Progress


class Patience:
    """A timer that never runs; `end` does what it would have done."""

    made: list["Patience"]

    def __init__(self, seconds: float, action: Callable[[], None]) -> None:
        assert seconds == 1.0
        self.end = action
        self.is_over = False
        self.made.append(self)

    def start(self) -> None:
        self.is_over = False

    def cancel(self) -> None:
        self.is_over = True


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The timers of all bars, as they are made."""
    Patience.made = []
    monkeypatch.setattr(threading, "Timer", Patience)
    return Patience.made


def test_what_is_done_in_a_second_shows_no_bar(timers: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(10, "runs", is_wanted=True) as bar:
        bar.advance(5)
    assert timers[0].is_over
    timers[0].end()  # too late
    assert capsys.readouterr().err == ""


def test_after_a_second_there_is_a_bar(timers: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(10, "runs", is_wanted=True) as bar:
        bar.describe("ucb")
        timers[0].end()
        bar.advance(10)
    shown = capsys.readouterr().err
    assert "ucb" in shown
    assert "10/10" in shown
    assert "time left" in shown


def test_a_bar_inside_another_is_not_shown(timers: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(10, "runs", is_wanted=True) as outer:
        timers[0].end()
        with Progress(5, "schedules tried", is_wanted=True) as inner:
            timers[1].end()
            inner.describe("calibrating")
        outer.describe("ucb")
    shown = capsys.readouterr().err
    assert "ucb" in shown
    assert "calibrating" not in shown
    assert "schedules tried" not in shown
    with Progress(5, "schedules tried", is_wanted=True):
        timers[2].end()
    assert "schedules tried" in capsys.readouterr().err
