"""What was executed of a policy, and what was not: to the branch of a line."""

import sys
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits.auditing.broken import BROKEN
from dpbandits.auditing.broken.late import TenthAfterManyParams
from dpbandits.auditing.kernel_coverage import KernelCoverage
from dpbandits.auditing.sentences import sentence, verdict
from dpbandits.engine.game import Game
from dpbandits.mechanisms import SeededNoise

pytestmark = pytest.mark.slow


def test_a_branch_that_is_not_taken_is_missing() -> None:
    """The tenth is in one line with the right scale, and only its branch is late."""
    coverage = KernelCoverage(TenthAfterManyParams)
    before = sys.gettrace()

    def play(steps: int) -> set[str]:
        game = Game(BROKEN["tenth-after-1024"].make(1.0, 0.0), 2, steps, SeededNoise(1))
        with coverage:
            game.play_blocks(lambda t, arm, plays: 0.5 * plays, steps, "blocks")
        return {line.split(":")[0] for line in coverage.missing}

    assert play(1000) == {"late.py", "phases.py"}  # phases.py: nothing comes after the last phase yet
    assert "late.py" not in play(10_000)
    assert sys.gettrace() is before


def test_it_names_what_no_run_has_reached() -> None:
    late: Any = BROKEN["tenth-after-1024"].make(1.0, 0.0)
    result = dpb.exact_audit(late, arms=2, horizon=60)
    assert not result.refuted
    (line,) = (line for line in result.unreached if line.startswith("late.py:"))
    assert f"Never fully reached: {line}" in sentence(result)
    assert result.to_dict()["unreached"] == list(result.unreached)


@pytest.mark.parametrize("policy", [dpb.AdaPUCB(epsilon=1.0), dpb.DPIMED(epsilon=1.0)], ids=lambda policy: policy.name)
def test_all_of_a_policy_in_phases_is_reached(policy: Any) -> None:
    result = dpb.exact_audit(policy)
    assert result.unreached == ()
    assert {part.arms for part in result.parts} == {2, 3}
    assert "2 and 3 arms for 256 and 150,000 steps" in sentence(result)


def test_runs_in_which_nothing_happens_tell_nothing() -> None:
    """With ε = 1e-6 a first phase has 16 million plays: that no reward loses anything in shorter runs says little."""
    result = dpb.exact_audit(dpb.recommended(epsilon=1e-6))
    assert (result.epsilon, result.refuted, verdict(result)) == (0.0, False, "cannot be told")
    assert sentence(result).startswith("Cannot be told: nothing was released in these runs, and parts of the policy")


def test_narrow_windows_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second look for gaps of 0.002, wherever they are, and for equal means."""
    for window in ((0.05, 0.052), (0.41, 0.412), (0.73, 0.732), (-1e-9, 1e-9)):
        monkeypatch.setattr("dpbandits.auditing.broken.rare.WINDOW", window)
        assert dpb.exact_audit(BROKEN["second-look"].make(1.0, 0.0)).refuted, window
