"""Bandits whose journals need not survive a power cut."""

import os

import pytest


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pulls a plug here, so nothing has to be on the disk itself. Tests of `fsync` bring their own."""
    monkeypatch.setattr(os, "fsync", lambda file: None)
