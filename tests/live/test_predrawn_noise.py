"""Noise that is drawn ahead: in time, in memory alone, in no copy and no child. And what else a fork must not keep."""

import copy
import os
import pickle
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from doubling_phases import Phases
from dpbandits import _forks
from dpbandits.live.predrawn_noise import MOST, PredrawnNoise
from dpbandits.mechanisms import Hybrid, SecureNoise
from dpbandits.policies import Policy
from explore_then_commit import ExploreThenCommit
from learners import closed, handed_out, learner_for
from servable_policies import SERVABLE, shown
from shared_noise import SharedNoise
from threads import in_threads
from ways_of_answering import WAYS, step_by_step

pytestmark = pytest.mark.slow

POLICY = ExploreThenCommit(epsilon=1.0, plays=5)


class Watched(SharedNoise):
    """Notes when it draws, and when something is published."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.happened: list[str] = []
        self.drawn: Counter[int] = Counter()  # by arm

    def draw(self, scale: float, mechanism: int) -> int:
        self.happened.append("draw")
        self.drawn[self.arm] += 1
        return super().draw(scale, mechanism)

    def publish(self, noisy: int) -> float:
        self.happened.append("release")
        return super().publish(noisy)


class Stepwise(dpb.Bandit):
    """Notes of the releases of every step whether their noise had been drawn before it."""

    def __init__(self, policy: Policy, noise: Watched) -> None:
        super().__init__(policy, 3, noise=noise, accept_delta=True)
        self.noise = noise
        self.was_drawn: list[bool] = []

    def close(self, *answer: Any, **named: Any) -> None:
        self.note(super().close, *answer, **named)

    def close_many(self, *answers: Any) -> None:
        self.note(super().close_many, *answers)

    def update(self, *answer: Any) -> None:
        self.note(super().update, *answer)

    def note(self, step: Callable[..., None], *answer: Any, **named: Any) -> None:
        drawn, rows = self.noise.drawn.copy(), len(self.ledger)
        step(*answer, **named)
        released = Counter(row.content["arm"] for row in self.ledger if row.number)
        self.was_drawn += [
            drawn[row.content["arm"]] >= released[row.content["arm"]] for row in list(self.ledger)[rows:]
        ]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("policy", SERVABLE, ids=shown)
def test_a_release_finds_its_noise_drawn(policy: Policy, way: str) -> None:
    """The noise of every release was drawn in an earlier step, however answers come."""
    bandit = Stepwise(policy, Watched(1))
    WAYS[way](bandit, lambda n, arm: 1.0, 300)
    assert len(bandit.was_drawn) >= 3
    assert all(bandit.was_drawn)


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


class Drawn:
    """A noise of which can be seen whether anybody still has it."""


def drawing_what_can_be_followed() -> tuple[SharedNoise, weakref.WeakSet[Drawn]]:
    """Return a noise source, and what it has drawn that anybody still has. It cannot be added to a sum."""
    noise, drawn = SharedNoise(1), weakref.WeakSet[Drawn]()

    def draw(scale: float, mechanism: int) -> Any:
        made = Drawn()
        drawn.add(made)
        return made

    noise.draw = draw  # type: ignore[method-assign]
    return noise, drawn


def test_what_a_moved_bandit_has_drawn_is_gone() -> None:
    """The text goes on alone."""
    noise, drawn = drawing_what_can_be_followed()
    bandit = dpb.Bandit(POLICY, 2, noise=noise)
    bandit.close(bandit.assign(), 1.0)
    assert len(drawn) == 1
    bandit.to_json()
    assert len(drawn) == 0


def test_what_a_detached_bandit_has_drawn_is_gone(tmp_path: Path) -> None:
    noise, drawn = drawing_what_can_be_followed()
    bandit = dpb.Bandit(POLICY, 2, noise=noise, journal=tmp_path / "journal")
    bandit.close(bandit.assign(), 1.0)
    assert len(drawn) == 1
    bandit.detach()
    assert len(drawn) == 0


def drawing(size: int) -> SharedNoise:
    noise = SharedNoise(1)
    noise.draw = lambda scale, mechanism: size  # type: ignore[method-assign]
    return noise


def test_what_was_drawn_ahead_is_written_nowhere(tmp_path: Path) -> None:
    bandit = dpb.Bandit(POLICY, 2, noise=drawing(271828182), journal=tmp_path / "journal")
    moving = dpb.Bandit(POLICY, 2, noise=drawing(271828182))
    for each in (bandit, moving):
        each.close(each.assign(), 1.0)
    assert b"271828182" not in (tmp_path / "journal").read_bytes()
    assert "271828182" not in moving.to_json()
    learner = learner_for(POLICY, noise=drawing(271828182))
    learner.predraw_noise(0)
    closed(learner, handed_out(learner), 1.0)
    assert learner.releaser.predrawn.count(0) == 1
    assert "271828182" not in str(learner.snapshot())


def test_what_was_drawn_ahead_is_neither_printed_nor_copied() -> None:
    kept = PredrawnNoise(drawing(271828182))
    kept.draw(3, [1.0, 2.0])
    assert kept.count(3) == 2
    assert "271828182" not in repr(kept)
    for make in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="it would be used twice"):
            make(kept)


def test_noise_is_used_once_and_in_the_order_in_which_it_was_drawn() -> None:
    noise = SharedNoise(1)
    drawn = iter([10, 20, 30, 40])
    noise.draw = lambda scale, mechanism: next(drawn)  # type: ignore[method-assign]
    ahead = PredrawnNoise(noise)
    ahead.draw(0, [1.0, 2.0])
    ahead.draw(1, [5.0])
    assert [ahead.count(arm) for arm in (0, 1, 2)] == [2, 1, 0]
    assert [ahead.take(0, 1.0), ahead.take(1, 5.0), ahead.take(0, 2.0)] == [10, 30, 20]
    assert ahead.take(0, 7.0) == 40  # there was none: it is drawn now
    assert [ahead.count(arm) for arm in (0, 1, 2)] == [0, 0, 0]


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
    noise, drawn = drawing_what_can_be_followed()
    bandit = dpb.Bandit(POLICY, 2, noise=noise)
    bandit.close(bandit.assign(), 1.0)
    assert len(drawn) == 1
    assert in_child(lambda: str(len(drawn))) == "0"
    assert len(drawn) == 1


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
