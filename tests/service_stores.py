"""Stores for tests, on both kinds of database, and experiments in them."""

import os
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits.live.configuration import Configuration, Terms, declared_horizon
from dpbandits.live.reward_scale import RewardScale
from dpbandits.policies import Policy
from dpbandits.service.beginning import insert_experiment
from dpbandits.service.database import Clock
from dpbandits.service.store import Store
from postgresql_server import MissingServer, PostgreSQLServer

SQLITE, POSTGRESQL = "sqlite", "postgresql"
KINDS = (SQLITE, POSTGRESQL)
POLICY = dpb.NoiseAwareIMED(epsilon=9.0, first_phase=2, growth=1.5)  # many releases soon

_servers: list[PostgreSQLServer] = []


def server() -> PostgreSQLServer:
    """Return the server of this process of tests."""
    if not _servers:
        try:
            _servers.append(PostgreSQLServer())
        except MissingServer as problem:
            if os.environ.get("CI"):
                pytest.fail(str(problem))
            pytest.skip(str(problem))
    return _servers[0]


def stop_servers() -> None:
    """Stop what was started."""
    while _servers:
        _servers.pop().remove()


class Place:
    """Where a store is, so that it can be opened again.

    Args:
        kind: of the database.
        folder: where its files are.
    """

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.state = folder / "state"
        self.state.mkdir()
        self.url = str(folder / "experiments.db") if kind == SQLITE else server().new_database()

    def save(self, copy: Path) -> None:
        """Make a copy of the database."""
        if self.kind == SQLITE:
            with sqlite3.connect(self.url) as source, sqlite3.connect(copy) as target:
                source.backup(target)
            source.close()
            target.close()
        else:
            server().dump(self._name, str(copy))

    def empty(self) -> None:
        """Take away all that is in the database."""
        if self.kind == SQLITE:
            for ending in ("", "-wal", "-shm"):
                Path(f"{self.url}{ending}").unlink(missing_ok=True)
        else:
            server().make_anew(self._name)

    def put_back(self, copy: Path) -> None:
        """Put a copy in the place of the database, where nothing else may be in its way."""
        if self.kind == SQLITE:
            for ending in ("-wal", "-shm"):
                Path(f"{self.url}{ending}").unlink(missing_ok=True)
            shutil.copy(copy, self.url)
        else:
            server().restore(self._name, str(copy))

    @property
    def _name(self) -> str:
        return self.url.partition("?")[0].rpartition("/")[2]

    def store(self, clock: Clock | None = None) -> Store:
        """Open it."""
        return Store(self.url, self.state, clock=clock)


def configured(policy: Policy = POLICY, arms: int | Sequence[str] = ("A", "B"), **options: Any) -> Configuration:
    """Return the configuration of an experiment, as `Bandit` would make it."""
    names = tuple(range(arms)) if isinstance(arms, int) else tuple(arms)
    return Configuration(
        policy=policy,
        arms=names,
        horizon=declared_horizon(policy, options.pop("horizon", None)),
        rewards=options.pop("rewards", RewardScale()),
        accept_delta=True,
        grid_bits=options.pop("grid_bits", 12),
        **{"contributions": 1, **options},
    )


def begun(store: Store, name: str, configuration: Configuration | None = None, state: Any = "running") -> int:
    """Begin an experiment, and return its id."""
    configuration = configured() if configuration is None else configuration
    return insert_experiment(store, name, configuration, Terms.computed(configuration), state)
