"""A service is killed anywhere: what was acknowledged is there once, no release is drawn twice, nobody is left over.

Here a sample; `make torture` kills fifty times on each kind of database, and the server of PostgreSQL ten times.
"""

import random
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import select

import dpbandits as dpb
import service_to_kill
from dpbandits.service.overviews import acknowledged_overview
from dpbandits.service.schema import assignments, blocks, experiments
from dpbandits.service.steps import ReleaseDue, Reward
from dpbandits.service.store import Store
from dpbandits.service.writer import Writer
from processes import children_of, environment, is_running, killed
from service_stores import Place, begun, configured, server
from service_to_kill import EXPERIMENTS, GRID_BITS, TelltaleNoise, parts_of

pytestmark = pytest.mark.slow

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "open": {"window": 0.2},
    "sealed": {"window": 0.2, "timing": "sealed"},
    "cumulative": {"policy": dpb.DPUCBInt(epsilon=500.0, delta=0.0, horizon=10_000)},
}
POLICY = dpb.NoiseAwareIMED(epsilon=9.0, first_phase=2, growth=1.2)


class Journal:
    """What workers have said, of all services that ever ran."""

    def __init__(self) -> None:
        self.lines = 0
        self.pids: set[int] = set()
        self.assigned: dict[str, tuple[str, str]] = {}  # experiment and person, by id
        self.begun: dict[str, tuple[float, str]] = {}  # reward and key
        self.taken: set[str] = set()
        self.late: set[str] = set()
        self.rows: dict[tuple[str, int], str] = {}
        self.writers: set[str] = set()  # who have drawn them
        self.doubled: list[str] = []

    def read(self, output: Any) -> None:
        """Take in the lines of a service, to the end."""
        for line in output:
            kind, *words = line.decode().split()
            self.lines += 1
            if kind == "P":
                self.pids.add(int(words[0]))
            elif kind == "A":
                if words[1] in self.assigned:
                    self.doubled.append(words[1])
                self.assigned[words[1]] = words[0], words[2]
            elif kind == "B":
                self.begun[words[0]] = float(words[1]), words[2]
            elif kind in "CL":
                (self.taken if kind == "C" else self.late).add(words[0])
            else:
                self.writers.add(words[3])
                if self.rows.setdefault((words[0], int(words[1])), words[2]) != words[2]:
                    self.doubled.append(f"row {words[1]} of {words[0]}")


class Service:
    """A service in processes of its own."""

    def __init__(self, place: Place, journal: Journal, number: int = 0, workers: int = 2) -> None:
        path = place.state / f"socket-{number}"
        arguments = ["serve", place.url, str(place.state), str(path), str(workers), str(number)]
        self.process = subprocess.Popen(
            [sys.executable, service_to_kill.__file__, *arguments], stdout=subprocess.PIPE, env=environment()
        )
        self._journal = journal
        self._reader = threading.Thread(target=journal.read, args=(self.process.stdout,))
        self._reader.start()

    def workers(self) -> list[int]:
        """Return the ids of its workers."""
        return children_of(self.process.pid)

    def wait_for(self, lines: int) -> None:
        """Wait until so many more lines have come."""
        goal = self._journal.lines + lines
        while self._journal.lines < goal:
            assert self.process.poll() is None
            time.sleep(0.002)

    def kill(self) -> None:
        """Kill the process that writes, and wait until none of its workers is left."""
        workers = self.workers()
        self.process.kill()
        self.wait_for_end(workers)

    def kill_everything(self) -> None:
        """Kill all processes at once."""
        workers = self.workers()
        for pid in [self.process.pid, *workers]:
            killed(pid)
        self.wait_for_end(workers)

    def wait_for_end(self, workers: list[int]) -> None:
        """Wait until it has ended, and all these with it."""
        self.process.wait()
        while any(is_running(pid) for pid in workers):
            time.sleep(0.002)
        self._reader.join()  # nobody holds the other end of the pipe any more
        assert self.process.stdout is not None
        self.process.stdout.close()


def prepared(place: Place) -> None:
    with place.store() as store:
        for name in EXPERIMENTS:
            begun(store, name, configured(**{"policy": POLICY, **SETTINGS[name]}))


def check(store: Store, journal: Journal) -> None:
    """Check that all that was acknowledged is there, once, and that what was seen has not changed."""
    assert journal.doubled == []
    for name in EXPERIMENTS:
        ledger = acknowledged_overview(store, name).ledger  # which checks its chain
        for (experiment, number), row_hash in journal.rows.items():
            if experiment == name:
                assert ledger[number].hash == row_hash
    answered = {name for name, is_answered in stored_assignments(store).items() if is_answered}
    assert journal.assigned.keys() - stored_assignments(store).keys() == set()
    assert journal.taken - answered == set()
    assert journal.late & journal.taken == set()


def stored_assignments(store: Store) -> dict[str, bool]:
    with store.database.reading() as connection:
        own = assignments.c.experiment == experiments.c.id
        found = connection.execute(
            select(experiments.c.tag, assignments.c.number, assignments.c.is_answered).where(own)
        ).all()
    return {f"{tag}-{number}": is_answered for tag, number, is_answered in found}


def check_sums(store: Store, journal: Journal) -> Counter[int]:
    """Ask again for all answers whose acknowledgement was lost, and compare all sums with what was acknowledged then.

    Returns:
        How many releases every writer has drawn.
    """
    with Writer(store, make_source=lambda name, bits: TelltaleNoise(7)) as writer:
        for name, (reward, key) in journal.begun.items():
            if name not in journal.taken | journal.late:
                try:
                    writer.take(Reward(name, reward, key))
                    journal.taken.add(name)
                except dpb.WindowClosed:
                    journal.late.add(name)
        for name, is_answered in stored_assignments(store).items():
            if not is_answered:  # nobody has ever answered, and blocks wait for it
                with suppress(dpb.WindowClosed):
                    writer.take(Reward(name, 1.0))
                    journal.begun[name] = 1.0, ""
                    journal.taken.add(name)
        for name in EXPERIMENTS:
            writer.take(ReleaseDue(name))
    drawn: Counter[int] = Counter()
    for name in EXPERIMENTS:
        overview = acknowledged_overview(store, name)
        sums, counts = summed(store, name, journal)
        for row in overview.releases:
            content = row.content
            block = content["release"] - 1
            members = [
                key
                for key in sums
                if key[0] == content["arm"] and (key[1] <= block if overview.is_cumulative else key[1] == block)
            ]
            total, number = parts_of(content["value"])
            assert total == sum(sums[key] for key in members)
            assert sum(counts[key] for key in members) == content["count"]
            drawn[number] += 1
        with store.database.reading() as connection:
            own = (experiments.c.name == name) & (blocks.c.experiment == experiments.c.id)
            for arm, block, total in connection.execute(
                select(blocks.c.arm, blocks.c.block, blocks.c.total).where(own)
            ):
                assert total == sums[arm, block]
    return drawn


def summed(store: Store, name: str, journal: Journal) -> tuple[Counter[Any], Counter[Any]]:
    """Return, of every block, the sum of what was acknowledged, and how many places it has."""
    with store.database.reading() as connection:
        tag = connection.scalar(select(experiments.c.tag).where(experiments.c.name == name))
        own = (experiments.c.name == name) & (assignments.c.experiment == experiments.c.id)
        columns = (assignments.c.number, assignments.c.arm, assignments.c.block, assignments.c.unit)
        found = connection.execute(select(*columns).where(own)).all()
    assert len({unit for *_, unit in found}) == len(found)
    sums: Counter[Any] = Counter()
    counts: Counter[Any] = Counter()
    for number, arm, block, _ in found:
        assignment = f"{tag}-{number}"
        reward = journal.begun[assignment][0] if assignment in journal.taken else 0.0
        sums[arm, block] += round(reward * 2**GRID_BITS)
        counts[arm, block] += 1
    return sums, counts


def test_nothing_is_lost_doubled_or_drawn_twice_wherever_a_service_is_killed(place: Place, torture: bool) -> None:
    prepared(place)
    dice, journal = random.Random("kills"), Journal()  # noqa: S311
    service = None
    for kill in range(50 if torture else 3):
        if service is None:
            service = Service(place, journal)
            service.wait_for(20)
        service.wait_for(dice.randrange(300 if torture else 60))
        what = ("writer", "worker", "everything")[kill % 3]
        if what == "worker":
            pids = set(journal.pids)
            killed(dice.choice(service.workers()))
            while journal.pids == pids:  # until another one has taken its place
                service.wait_for(1)
            continue
        service.kill() if what == "writer" else service.kill_everything()
        service = None
        with place.store() as store:
            check(store, journal)
    if service is not None:
        service.kill()
    with place.store() as store:
        check(store, journal)
        check_sums(store, journal)
        assert len(journal.taken) > 20
        assert all(len(acknowledged_overview(store, name).ledger) > 4 for name in EXPERIMENTS)


def test_nothing_is_lost_doubled_or_drawn_twice_where_the_server_is_killed(
    postgresql_place: Place, torture: bool
) -> None:
    place = postgresql_place
    prepared(place)
    dice, journal = random.Random("server"), Journal()  # noqa: S311
    service = Service(place, journal)
    service.wait_for(20)
    for _ in range(10 if torture else 1):
        service.wait_for(dice.randrange(100, 500) if torture else 60)
        server().kill()
        server().start()
        service.wait_for(50)
    service.kill()
    with place.store() as store:
        check(store, journal)
        check_sums(store, journal)


def test_three_writers_share_the_experiments_of_one_server(postgresql_place: Place, torture: bool) -> None:
    place = postgresql_place
    prepared(place)
    dice, journal = random.Random("writers"), Journal()  # noqa: S311
    services = {number: Service(place, journal, number, workers=1) for number in range(3)}
    for _ in range(10 if torture else 1):
        for service in services.values():
            service.wait_for(dice.randrange(200, 500) if torture else 40)
        number = dice.randrange(3)
        services[number].kill()
        services[number] = Service(place, journal, number, workers=1)
    for service in services.values():
        service.wait_for(300 if torture else 80)
    while not journal.writers >= {"0", "1", "2"}:  # until each of them has released something
        services[0].wait_for(1)
    for service in services.values():
        service.kill_everything()
    with place.store() as store:
        check(store, journal)
        drawn = check_sums(store, journal)
    assert drawn.keys() >= {0, 1, 2}
