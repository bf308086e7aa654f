"""The releases view: what it must refute, what it must not, and that it says what it could not score."""

from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits.auditing.audit_report import write_report
from dpbandits.auditing.sentences import sentence, verdict
from dpbandits.auditing.trials import Trials
from spoiling import InTurn

pytestmark = pytest.mark.slow

ASKED: dict[str, Any] = {"view": "releases", "arms": 1, "horizon": 4, "trials": 100_000}
# What is wrong, what shows it, and what to ask for so that it can.
SPOILED: dict[str, tuple[str, dict[str, Any]]] = {
    "kept": ("cannot give", {"arms": 2, "horizon": 8}),
    "bounded": ("noise", {}),
    "pushed": ("smallest noise", {}),
    "shrinking": ("times as likely", {"horizon": 32}),
    "third": ("", {"arms": 3, "horizon": 6}),
    "mean": ("noise", {}),
    "all": ("noise", {}),
    "random": ("arms 1,", {"arms": 2}),
}


@pytest.mark.parametrize("what", SPOILED)
def test_what_is_wrong_with_noise_is_refuted(what: str) -> None:
    event, more = SPOILED[what]
    result = dpb.audit(InTurn(what), **ASKED | more)
    assert result.refuted, sentence(result)
    assert result.worst is not None
    assert event in result.worst.event


@pytest.mark.parametrize("what", ["right", "dropped"])
def test_what_is_right_is_not(what: str) -> None:
    result = dpb.audit(InTurn(what), **ASKED)
    assert not result.refuted
    assert 0.9 < result.lower_bound < 1.0
    assert result.unknown is None
    assert result.unscored == (1.0 if what == "dropped" else 0.0)  # two noises at once have no simple density
    assert ("In 100% of the runs some releases" in sentence(result)) == (what == "dropped")


def test_where_nothing_can_be_scored_it_says_so(tmp_path: Path) -> None:
    result = dpb.audit(InTurn("mean"), claim=dpb.Budget(5.0), **ASKED)
    assert result.unscored == 1.0
    assert result.unknown is not None
    assert verdict(result) == "cannot be told"
    assert sentence(result).startswith("Cannot be told: noise is reserved and used in a way that the score")
    assert result.to_dict()["unknown"] == result.unknown
    assert "cannot be told" in write_report(tmp_path / "a.html", [result]).read_text()
    silent = dpb.audit(InTurn(), **ASKED | {"horizon": 1})
    assert (silent.lower_bound, silent.unscored) == (0.0, 0.0)
    assert sentence(silent).startswith("Cannot be told: no run was seen")


def test_no_more_runs_are_played_than_asked_for_when_arms_and_releases_are_tested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played = []

    def counted(play: Any) -> Any:
        def of_trials(trials: Trials, *arguments: Any) -> Any:
            played.append(next(each for each in arguments if isinstance(each, int)))
            return play(trials, *arguments)

        return of_trials

    monkeypatch.setattr(Trials, "scores", counted(Trials.scores))
    monkeypatch.setattr(Trials, "outcomes", counted(Trials.outcomes))
    result = dpb.audit(InTurn("random"), claim=dpb.Budget(9.0), **ASKED | {"arms": 2})
    assert not result.refuted
    assert sum(played) == result.trials <= 100_040
    # Nothing is released in one step, but arms are drawn: that is all there is to see, and it was looked at.
    assert dpb.audit(InTurn("random"), **ASKED | {"horizon": 1}).unknown is None


def test_a_noise_that_is_none_is_refused() -> None:
    with pytest.raises(dpb.InvalidInput, match=r"every scale of a release in \(0, inf\)"):
        dpb.audit(InTurn("right", epsilon=float("inf")), claim=dpb.Budget(1.0), **ASKED)
