"""Parts are found again by all they were computed from, and more runs begin with those that are there."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits import kernel
from dpbandits.engine.stamp import program_stamp
from dpbandits.environments import Replay
from dpbandits.mechanisms import public
from dpbandits.policies import Policy, Setup, hold, select, update
from dpbandits.policies.policy import every_step
from dpbandits.simulation import RegretSummary
from dpbandits.simulation.parts import Parts

pytestmark = pytest.mark.slow

TWO = dpb.Bernoulli([0.9, 0.6])


def constant_policy(arm: int) -> Policy:
    """Return a policy that always plays one arm, and whose text does not say which."""

    class Params(NamedTuple):
        unused: float

    class State(NamedTuple):
        counts: Annotated[Any, public("arms", dtype=np.int64)]

    @select.register(Params)
    @kernel
    def _select(params: Any, state: Any, t: int) -> int:
        return arm

    hold.register(Params)(every_step)

    @update.register(Params)
    @kernel
    def _update(params: Any, state: Any, arm: int, plays: int, reward: Any, t: int, noise: Any) -> None:
        state.counts[arm] += plays

    @dataclass(frozen=True)
    class Constant(Policy):
        name = "constant"
        source = "this file"

        def setup(self, arms: int, horizon: int) -> Setup:
            return Setup(Params(0.0), State)

        def guarantee(self, horizon: float = np.inf) -> None:
            return None

        def __repr__(self) -> str:
            return "Constant()"

    return Constant()


def mean(parts: Parts, policy: Policy, environment: dpb.Bernoulli = TWO) -> float:
    return float(parts.summary(policy, environment, horizon=100, runs=5, seed=0).mean[-1])


def test_another_kernel_is_another_part(tmp_path: Path) -> None:
    for _ in range(2):  # the second time from the folder
        assert mean(Parts(tmp_path), constant_policy(0)) == 0.0
        assert mean(Parts(tmp_path), constant_policy(1)) == pytest.approx(30.0)
    assert len(list(tmp_path.iterdir())) == 2


def test_what_is_asked_is_in_the_name(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    asked: dict[str, Any] = {"horizon": 100, "runs": 5, "seed": 0}
    changes: list[dict[str, Any]] = [{}, {"horizon": 101}, {"runs": 6}, {"seed": 1}, {"points": 7}, {"shuffled": True}]
    for changed in changes:
        parts.summary(dpb.UCB(), TWO, **{**asked, **changed})
    parts.summary(dpb.UCB(), dpb.Bernoulli([0.9, 0.61]), **asked)
    parts.summary(dpb.IMED(), TWO, **asked)
    # The same means, and a text that leaves numbers out.
    for table in ([[0.9, 0.6]] * 80, [[1.0, 0.6]] * 72 + [[0.0, 0.6]] * 8):
        environment = Replay(table)
        assert environment.means.tolist() == pytest.approx([0.9, 0.6])
        parts.summary(dpb.IMED(), environment, **asked)
    assert len(list(tmp_path.iterdir())) == 10


@dataclass(frozen=True)
class Scaled(dpb.UCB):
    """A policy whose constants do not follow from its text."""

    def setup(self, arms: int, horizon: int) -> Setup:
        return super().setup(arms, horizon * FACTOR)


FACTOR = 1


def test_other_constants_are_another_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mean(Parts(tmp_path), Scaled())
    monkeypatch.setitem(globals(), "FACTOR", 2)
    mean(Parts(tmp_path), Scaled())
    assert len(list(tmp_path.iterdir())) == 2


def test_who_edits_a_file_later_plays_what_was_there_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is kept under the name of that."""
    mean(Parts(tmp_path), dpb.UCB())
    monkeypatch.setattr(Path, "read_text", lambda *asked: "an edit")
    program_stamp.cache_clear()
    mean(Parts(tmp_path), dpb.UCB())
    program_stamp.cache_clear()
    assert len(list(tmp_path.iterdir())) == 1


def test_points_in_time_are_as_many_as_asked() -> None:
    few = list(dpb.simulation.summarise(dpb.UCB(), TWO, horizon=1000, runs=3, seed=0, points=5))[-1]
    many = list(dpb.simulation.summarise(dpb.UCB(), TWO, horizon=1000, runs=3, seed=0))[-1]
    assert len(few.checkpoints) == 5
    assert few.mean[-1] == many.mean[-1]
    with pytest.raises(dpb.InvalidInput, match=r"Expected points=0 in \[1, 10000\]"):
        list(dpb.simulation.summarise(dpb.UCB(), TWO, horizon=1000, runs=3, seed=0, points=0))


NOISY = dpb.DPUCBInt(epsilon=1.0, delta=1e-3)


def asked(parts: Parts, runs: int) -> RegretSummary:
    return parts.summary(NOISY, TWO, horizon=300, runs=runs, seed=4, workers=2)


def bits(summary: RegretSummary) -> dict[str, Any]:
    return {name: getattr(value, "tobytes", lambda value=value: value)() for name, value in vars(summary).items()}


@pytest.mark.parametrize(
    ("runs", "played"),
    [
        ((1000, 2000), (1000, 1040)),  # 960 runs are whole chunks
        ((128, 300, 2000), (128, 172, 1744)),
        ((2000, 1000), (2000, 1000)),
        ((1000, 2000, 1000), (1000, 1040, 0)),
        ((2000, 1984, 3), (2000, 0, 3)),
        ((3, 5), (3, 5)),
    ],
)
def test_more_runs_begin_with_those_that_are_there(
    tmp_path: Path, runs: tuple[int, ...], played: tuple[int, ...]
) -> None:
    for number, new in zip(runs, played, strict=True):
        parts = Parts(tmp_path)
        found = asked(parts, number)
        assert parts.pulls == 300 * new
        assert bits(found) == bits(asked(Parts(None), number))


def test_stopped_it_goes_on_also_to_another_number_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpbandits.simulation.parts._SECONDS_BETWEEN_SAVES", -1.0)  # save after every chunk
    stopped = Parts(tmp_path)
    finished: list[int] = []

    def stop_at_four_chunks(runs: int) -> None:
        if sum(finished) >= 4 * 64:
            raise KeyboardInterrupt
        finished.append(runs)

    stopped.on_runs = stop_at_four_chunks
    with pytest.raises(KeyboardInterrupt):
        asked(stopped, 1000)
    assert len(list(tmp_path.iterdir())) == 1
    parts = Parts(tmp_path)
    assert bits(asked(parts, 2000)) == bits(asked(Parts(None), 2000))
    assert parts.pulls == 300 * (2000 - 256)


def every_run(parts: Parts, runs: int, plays: bool = False) -> dict[str, bytes]:
    rows = parts.every_run(NOISY, TWO, horizon=300, runs=runs, seed=4, plays=plays)
    return {name: array.tobytes() for name, array in rows.items()}


def test_all_runs_are_kept_and_never_played_twice(tmp_path: Path) -> None:
    for runs, new in ((1000, 1000), (2000, 1040), (1500, 0), (1000, 0), (2000, 0), (2050, 66)):
        parts = Parts(tmp_path)
        assert every_run(parts, runs) == every_run(Parts(None), runs)
        assert parts.pulls == 300 * new
    with_plays = every_run(parts, 1000, plays=True)  # which were not kept
    assert parts.pulls == 300 * (66 + 1000)
    assert with_plays == every_run(Parts(tmp_path), 1000, plays=True)
    assert with_plays.keys() - every_run(parts, 1000).keys() == {"plays", "chosen"}


def test_a_damaged_file_of_runs_is_played_again(tmp_path: Path) -> None:
    whole = every_run(Parts(tmp_path), 200)
    for path in sorted(tmp_path.iterdir()):
        for damage in (b"", path.read_bytes()[:-30]):
            path.write_bytes(damage)
            assert every_run(Parts(tmp_path), 200) == whole
    assert len(list(tmp_path.iterdir())) == 2
