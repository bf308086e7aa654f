"""People who are forgotten: the link to their assignments is cut, and they enter no second time."""

from pathlib import Path

import pytest

import dpbandits as dpb
from dpbandits.live import Assignment
from insides import state_of
from journal_lines import records_in


def test_who_is_forgotten_enters_no_second_time_and_gets_the_leader(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    bandit = dpb.Bandit(dpb.recommended(epsilon=30.0), ["A", "B"], contributions=2, journal=path)
    first = bandit.assign(unit="Ada", key="visit")
    bandit.forget("Ada")
    bandit.forget("Ada")
    bandit.forget("nobody that is known")
    bandit.close(first, 1.0)  # the assignment is there, and nobody's
    for key in (None, "visit", "another"):
        assert bandit.assign(unit="Ada", key=key) == Assignment("", "A", is_new=False)
    for n in range(30):
        a = bandit.assign(unit=n)
        bandit.close(a, float(a.arm == "B"))
    assert bandit.assign(unit="Ada").arm == "B"  # the leader, now
    assert bandit.assign(unit="Bo").is_new
    state = state_of(bandit)
    bandit.detach()
    bandit = dpb.Bandit(dpb.recommended(epsilon=30.0), ["A", "B"], contributions=2, journal=path)
    assert state_of(bandit) == state
    assert bandit.assign(unit="Ada").id == ""
    with pytest.raises(dpb.InvalidInput, match="Expected assignment='' to be one of this bandit"):
        bandit.close(bandit.assign(unit="Ada"), 1.0)


def test_the_link_is_gone_from_the_journal_after_the_next_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    bandit = dpb.Bandit(dpb.recommended(epsilon=30.0), ["A", "B"], contributions=2, journal=path)
    bandit.assign(unit="Ada", key="visit")
    record = records_in(path)[1]
    bandit.assign(unit="Bo")
    bandit.forget("Ada")
    bandit.assign(unit="Bo", key="2")
    content = path.read_text()
    assert content.count(record["unit"]) == 1
    assert record["key"] not in content
    people = [piece["piece"]["people"] for piece in records_in(path) if "people" in piece.get("piece", {})]
    assert len(people) == 1
    assert [0, -1, 0] in [list(row[1:]) for row in zip(*people[0], strict=True)]


def test_a_name_is_needed_to_forget() -> None:
    bandit = dpb.Bandit(dpb.recommended(epsilon=1.0), 2)
    with pytest.raises(dpb.InvalidInput, match="Expected unit=None to be the name of a person"):
        bandit.forget(None)  # type: ignore[arg-type]
