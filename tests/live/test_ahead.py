"""Noise that is drawn ahead: in time, in memory alone, in no copy and no child. And what else a fork must not keep."""

import copy
import os
import pickle
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits import _forks
from dpbandits.live.predrawn_noise import MOST, PredrawnNoise
from dpbandits.mechanisms import LAPLACE, Hybrid, SecureNoise
from dpbandits.policies import Block
from explore_then_commit import ExploreThenCommit
from phases import Phases
from serving import SERVABLE, WAYS, SharedNoise, shown, step_by_step
from threads import in_threads

pytestmark = pytest.mark.slow

POLICY = ExploreThenCommit(epsilon=1.0, plays=5)


class Watched(SharedNoise):
    """Notes when it draws, and when something is published."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.happened: list[str] = []

    def draw(self, scale: float, mechanism: int) -> int:
        self.happened.append("draw")
        return super().draw(scale, mechanism)

    def publish(self, noisy: int) -> float:
        self.happened.append("release")
        return super().publish(noisy)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("policy", SERVABLE, ids=shown)
def test_a_release_finds_its_noise_drawn(policy: Any, way: str) -> None:
    """The noise of every release was drawn in an earlier step, however answers come."""
    noise = Watched(1)
    bandit = dpb.Bandit(policy, 3, noise=noise, accept_delta=True)
    ahead = bandit._learner.releaser.predrawn
    close = bandit._close
    found: list[bool] = []

    def closing(closings: Any) -> None:
        before = [ahead.count(arm) for arm in range(3)]  # what earlier steps have drawn
        rows = len(bandit._learner.ledger)  # the step has the lock
        close(closings)
        released = Counter(row.content["arm"] for row in list(bandit._learner.ledger)[rows:])
        found.extend(before[arm] >= count for arm, count in released.items())

    bandit._close = closing  # type: ignore[method-assign]
    WAYS[way](bandit, lambda n, arm: 1.0, 300)
    assert len(found) >= 3
    assert all(found)


def test_many_are_drawn_at_a_time_and_few_are_wasted() -> None:
    noise = Watched(1)
    bandit = dpb.Bandit(dpb.DPUCBInt(epsilon=50.0, delta=0.0, horizon=2000), 2, noise=noise)
    step_by_step(bandit, lambda n, arm: float(arm), 2000)
    releases = len(bandit.ledger) - 1
    draws = noise.happened.count("draw")
    assert releases > 100
    assert releases <= draws <= releases + 2 * MOST
    batches = [len(run) for run in "".join("d" if what == "draw" else " " for what in noise.happened).split()]
    assert max(batches[:4]) <= 3  # at first as many as are needed: most arms have few releases
    assert max(batches) >= MOST


def test_a_bad_block_that_is_far_away_disturbs_nobody() -> None:
    bandit = dpb.Bandit(dpb.AdaPUCB(epsilon=1.0), 2, noise=SharedNoise(1))
    step_by_step(bandit, lambda n, arm: 1.0, 200)
    learner = bandit._learner
    arm = max((0, 1), key=lambda arm: learner.places.released[arm])
    learner.releaser.predrawn.drop()
    schedule, filling = learner.schedule, learner.places.filling[arm]
    good = schedule.beginning(filling + 2)
    del schedule._blocks_so_far[filling + 2 :]
    schedule._blocks = lambda: iter([*good, Block(good[-1].last + 1, 10**6, 0.5)])
    schedule._rest = None
    learner.predraw_noise(arm)
    assert learner.places.released[arm] > 3
    assert learner.releaser.predrawn.count(arm) == 2
    with pytest.raises(dpb.InvalidInput, match="to have a scale of at least"):
        schedule.block(filling + 2)


def test_what_was_drawn_ahead_is_in_no_snapshot_and_no_copy() -> None:
    bandit = dpb.Bandit(POLICY, 2, noise=SharedNoise(1))
    bandit._learner.source.draw = lambda scale, mechanism: 271828182  # type: ignore[method-assign]
    bandit.close(bandit.assign(), 1.0)
    ahead = bandit._learner.releaser.predrawn
    assert ahead.count(0) == 1
    assert "271828182" not in repr(ahead)
    assert "271828182" not in str(bandit._learner.snapshot())
    text = bandit.to_json()
    assert "271828182" not in text
    assert ahead.count(0) == 0  # the text goes on alone
    kept = PredrawnNoise(SecureNoise())
    kept.draw(3, [1.0, 2.0])
    assert kept.count(3) == 2
    for make in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="it would be used twice"):
            make(kept)


def test_noise_of_another_scale_is_not_used() -> None:
    ahead = PredrawnNoise(SecureNoise())
    ahead.draw(0, [1.0])
    with pytest.raises(dpb.StepError, match=r"was drawn with scale 1\.0, and its release takes 2\.0"):
        ahead.take(0, 2.0)


def in_child(action: Callable[[], str]) -> str:
    """Return what an action says in a forked child."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = action()
        except Exception as problem:  # noqa: BLE001
            said = f"{type(problem).__name__}: {problem}"
        os.write(writer, said.encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with open(reader, "rb") as file:
        return file.read().decode()


def test_what_was_drawn_ahead_is_in_no_child() -> None:
    bandit = dpb.Bandit(POLICY, 2)
    bandit.close(bandit.assign(), 1.0)
    ahead = bandit._learner.releaser.predrawn
    assert ahead.count(0) == 1
    assert in_child(lambda: str(ahead.count(0))) == "0"
    assert ahead.count(0) == 1


@pytest.mark.parametrize("pid", ["another pid", "the same pid"])
def test_a_child_knows_that_it_is_one(pid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a new pid namespace a child may have the pid of its parent."""
    bandit, counter = dpb.Bandit(POLICY, 2), Hybrid(1.0)
    counter.insert(1.0)
    if pid == "the same pid":
        here = os.getpid()
        monkeypatch.setattr(os, "getpid", lambda: here)
    for use in (bandit.assign, bandit.estimates, bandit.detach):
        assert "StepError: This bandit belongs to the process that made it" in in_child(lambda: str(use()))  # noqa: B023
    assert "StepError: This counter belongs to the process that made it" in in_child(lambda: str(counter.insert(1.0)))
    bandit.assign()
    counter.insert(1.0)


def test_a_fork_that_runs_no_hooks_has_another_pid(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = dpb.Bandit(POLICY, 2)
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)
    with pytest.raises(dpb.StepError, match="belongs to the process that made it"):
        bandit.assign()


def test_grandchildren_are_counted() -> None:
    here = _forks.this_process()
    assert in_child(lambda: str(_forks.this_process()[0])) == str(here[0] + 1)
    assert in_child(lambda: in_child(lambda: str(_forks.this_process()[0]))) == str(here[0] + 2)
    assert _forks.this_process() == here


# ---- one noise source, several threads


def test_a_noise_source_that_is_shared_by_threads_keeps_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may clear the cache after a mechanism was put there."""
    monkeypatch.setattr("dpbandits.mechanisms.secure._MOST_KEPT", 1)
    noise = SecureNoise()

    class Clearing(dict[Any, Any]):
        def __setitem__(self, key: Any, value: Any) -> None:
            super().__setitem__(key, value)
            self.clear()

    noise._mechanisms = Clearing()
    for scale in (1.0, 2.0, 3.0):
        assert isinstance(noise.draw(scale, LAPLACE), int)


def test_bandits_of_several_threads_share_a_noise_source() -> None:
    noise = SecureNoise()
    made: list[dpb.Bandit] = []
    lock = threading.Lock()

    def work() -> None:
        bandit = dpb.Bandit(Phases(epsilon=1.0), 2, noise=noise)
        step_by_step(bandit, lambda n, arm: 0.5, 100)
        with lock:
            made.append(bandit)

    in_threads(work)
    assert len(made) == 4
    for bandit in made:
        assert len(bandit.ledger) > 4
        assert bandit.ledger.verify() == bandit.ledger.head


def test_a_bandit_that_goes_on_has_its_noise_before_its_first_step(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    bandit = dpb.Bandit(dpb.AdaPUCB(epsilon=7.0), 2, journal=path)
    assignments = bandit.assign_many([None] * 60)
    bandit.detach()
    noise = Watched(1)
    again = dpb.Bandit(dpb.AdaPUCB(epsilon=7.0), 2, journal=path, noise=noise)
    noise.happened.clear()
    again.close_many([(assignment, 1.0) for assignment in assignments])
    assert len(again.ledger) == 11
    assert set(noise.happened) == {"release"}
