"""Windows, clocks and sealed timing, as a bandit shows them."""

import math
import warnings
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from explore_then_commit import ExploreThenCommit
from insides import learner_of, state_of
from journal_lines import records_in
from shared_noise import SharedNoise
from shown_to_owner import everything_reported

PLAYS = 3
POLICY = ExploreThenCommit(epsilon=1.0, plays=PLAYS)
WINDOW = 60.0


class Clock:
    def __init__(self, now: Any = 1000.0) -> None:
        self.now = now

    def __call__(self) -> Any:
        return self.now


def noiseless() -> SharedNoise:
    noise = SharedNoise(1)
    noise.draw = lambda scale, mechanism: 0  # type: ignore[method-assign]
    return noise


def bandit_at(clock: Any, timing: str = "open", policy: Any = POLICY, **options: Any) -> dpb.Bandit:
    options = {"window": WINDOW, "noise": noiseless(), **options}
    return dpb.Bandit(policy, ["A", "B"], timing=timing, clock=clock, **options)  # type: ignore[arg-type]


def values_of(bandit: dpb.Bandit) -> list[tuple[int, float]]:
    return [(row.content["arm"], row.content["value"]) for row in bandit.ledger if row.number]


# ---- settings


def test_without_a_window_no_clock_is_asked() -> None:
    def refuse() -> float:
        raise AssertionError

    bandit = dpb.Bandit(POLICY, 2, clock=refuse)
    for _ in range(2 * PLAYS):
        bandit.update(bandit.select(), 1.0)
    assert bandit.release_due() == 0
    assert len(bandit.ledger) == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"window": 0}, r"Expected window=0 in \[0.001, 1e8\]"),
        ({"window": math.nan}, r"Expected window=nan in \[0.001, 1e8\]"),
        ({"window": "1 h"}, r"Expected window='1 h' to be a number in \[0.001, 1e8\]"),
        ({"window": math.inf}, r"Expected window=inf in \[0.001, 1e8\]"),
        ({"timing": "closed"}, "Expected timing='closed' to be one of open, sealed"),
        ({"timing": "sealed"}, "Expected window=None to be a number of seconds with timing='sealed'"),
        ({"shares": {"C": 0.1}}, "Expected arm='C' to be one of 'A', 'B'"),
        ({"shares": {True: 0.1}}, "Expected arm=True to be one of 'A', 'B'"),
        ({"shares": {"B": 1.0}}, r"Expected share of 'B'=1.0 in \[0, 1\)"),
        ({"shares": {"A": -0.1}}, r"Expected share of 'A'=-0.1 in \[0, 1\)"),
        ({"shares": {"A": 0.5, "B": 0.5}}, r"Expected shares={'A': 0.5, 'B': 0.5} to be less than 1 together, not 1:"),
        ({"shares": [0.1]}, r"Expected shares=\[0.1\] to be a mapping"),
        ({"shares": 0}, "Expected shares=0 to be a mapping"),
        ({"shares": ""}, "Expected shares='' to be a mapping"),
    ],
)
def test_settings_outside_their_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(dpb.InvalidInput, match=message):
        dpb.Bandit(POLICY, ["A", "B"], **settings)


def test_a_clock_is_a_function() -> None:
    with pytest.raises(dpb.WrongKind, match=r"Expected clock=12.0 to be a function that returns seconds"):
        dpb.Bandit(POLICY, 2, window=1, clock=12.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("time", [math.nan, math.inf, "now", None, 1.8e12])  # the last one is in milliseconds
def test_a_clock_that_gives_no_seconds_is_refused_and_nothing_has_changed(time: Any) -> None:
    clock = Clock()
    bandit = bandit_at(clock)
    first = bandit.assign()
    before = state_of(bandit)
    clock.now = time
    for step in (bandit.assign, bandit.release_due, bandit.select, lambda: bandit.close(first, 1.0)):
        with pytest.raises(dpb.InvalidInput, match=r"Expected the clock's seconds=.* in \[-1e12, 1e12\]"):
            step()
    assert state_of(bandit) == before
    clock.now = 1000
    bandit.close(first, 1.0)


def test_a_clock_that_fails_is_named_and_nothing_has_changed() -> None:
    clock = Clock()
    bandit = bandit_at(lambda: 1 / clock.now)
    first = bandit.assign()
    clock.now = 0
    for step in (bandit.assign, bandit.release_due, bandit.open_assignments, lambda: bandit.close(first, 1.0)):
        with pytest.raises(dpb.InvalidInput, match="The clock did not answer: ZeroDivisionError: division by zero"):
            step()
    clock.now = 1
    bandit.close(first, 1.0)


# ---- windows


def test_a_reward_is_accepted_until_its_window_is_over() -> None:
    clock = Clock()
    bandit = bandit_at(clock)
    first, second, third = bandit.assign_many([None] * 3)
    clock.now = math.nextafter(1000 + WINDOW, 0)
    assert bandit.open_assignments() == [first, second, third]
    bandit.close(first, 1.0, key="first")
    with pytest.raises(dpb.AlreadyClosed, match="it was closed before"):
        bandit.close(first, 1.0)
    clock.now = 1000 + WINDOW
    assert bandit.open_assignments() == []
    bandit.close(first, 1.0, key="first")  # acknowledged again
    messages = set()
    for assignment in (first, second):  # whether it was closed or not
        with pytest.raises(dpb.WindowClosed, match="to be closed within 1 minute: its window is over") as late:
            bandit.close(assignment, 1.0, key="another")
        messages.add(str(late.value).replace(str(assignment.id), ""))
    assert len(messages) == 1
    with pytest.raises(dpb.InvalidInput, match="Expected reward=2 in"):  # the value comes first
        bandit.close(third, 2)


def test_a_batch_with_one_late_answer_takes_none() -> None:
    clock = Clock()
    bandit = bandit_at(clock)
    late = bandit.assign()
    clock.now += WINDOW / 2
    early = bandit.assign()
    clock.now += WINDOW / 2
    with pytest.raises(dpb.WindowClosed, match="Answer 2 of 2: "):
        bandit.close_many([(early, 1.0), (late, 1.0)])
    assert bandit.open_assignments() == [early]


def test_an_earlier_reading_counts_as_the_latest_one() -> None:
    clock = Clock()
    bandit = bandit_at(clock)
    first = bandit.assign()
    clock.now += WINDOW
    second = bandit.assign()
    clock.now = -5
    with pytest.warns(dpb.ClockWarning, match="The clock says -5, "):
        third = bandit.assign()
    with pytest.raises(dpb.WindowClosed):
        bandit.close(first, 1.0)
    clock.now = 1000 + 2 * WINDOW
    for assignment in (second, third):
        with pytest.raises(dpb.WindowClosed):
            bandit.close(assignment, 1.0)


def test_a_clock_that_is_put_far_back_is_told_once_each_time(tmp_path: Path) -> None:
    """Time stands still until it is there again, which nobody would notice otherwise."""
    clock = Clock()
    bandit = bandit_at(clock, journal=tmp_path / "journal")
    bandit.assign()
    clock.now -= WINDOW  # as far as a small correction may go
    bandit.assign()
    clock.now -= 1
    with pytest.warns(RuntimeWarning) as told:
        bandit.assign()
    assert [str(warning.message) for warning in told] == [
        "The clock says 939, about 61 seconds before its latest reading. Until it is there again no block is due and "
        "no window ends. If that reading was wrong, go on with a clock that adds 61 seconds to this one."
    ]
    assert told[0].filename == __file__  # the line that called, wherever in the library it was noticed
    bandit.assign()
    clock.now += WINDOW  # nearly there, and then put back once more
    bandit.assign()
    clock.now -= WINDOW
    with pytest.warns(dpb.ClockWarning, match="about 61 seconds before"):
        bandit.assign()
    bandit.detach()
    again = bandit_at(lambda: clock.now + WINDOW + 1, journal=tmp_path / "journal")  # which adds as much
    clock.now += WINDOW
    assert again.open_assignments() == []


def test_a_reading_at_which_nothing_was_due_counts_as_well(tmp_path: Path) -> None:
    """The book has let go of what was over by then; a journal in which time ran backwards could not be followed."""
    clock = Clock()
    options: dict[str, Any] = {"contributions": 3, "horizon": 50, "journal": tmp_path / "journal"}
    bandit = bandit_at(clock, **options)
    first = bandit.assign("somebody")
    clock.now += WINDOW
    assert bandit.release_due() == 0
    clock.now -= WINDOW / 2
    with pytest.raises(dpb.WindowClosed):
        bandit.close(first, 1.0)
    second = bandit.assign("somebody")
    assert second.is_new
    bandit.detach()
    clock.now += WINDOW  # one and a half after the first
    assert bandit_at(clock, **options).open_assignments() == [second]


def test_with_sealed_timing_the_reading_at_an_answer_does_not_count() -> None:
    """Else a clock that is put back would tell when the answer came."""
    clock = Clock()
    bandit = bandit_at(clock, timing="sealed")
    given = bandit.assign_many([None] * 2 * PLAYS)
    clock.now += WINDOW / 2
    bandit.close(given[0], 1.0)
    clock.now -= WINDOW / 2
    later = bandit.assign()
    clock.now += WINDOW
    with pytest.raises(dpb.WindowClosed):
        bandit.close(later, 1.0)


@pytest.mark.parametrize("timing", ["open", "sealed"])
def test_that_the_clock_was_put_back_is_never_told_because_an_answer_came(timing: str) -> None:
    """Else no warning at the next assignment would tell that there was an answer."""
    clock = Clock()
    bandit = bandit_at(clock, timing=timing)
    assignments = [bandit.assign() for _ in range(2)]
    clock.now -= 2 * WINDOW
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bandit.close(assignments[0], 1.0)
        assert len(bandit.open_assignments()) == 1
    with pytest.warns(dpb.ClockWarning, match="The clock says 880, about 2 minutes before"):
        bandit.release_due()


def test_where_warnings_are_errors_the_step_is_refused_until_the_clock_is_there_again() -> None:
    clock = Clock()
    bandit = bandit_at(clock)
    bandit.assign()
    before = state_of(bandit)
    clock.now -= 2 * WINDOW
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            for step in (bandit.assign, bandit.release_due):
                with pytest.raises(dpb.ClockWarning, match="about 2 minutes before its latest reading"):
                    step()
        assert state_of(bandit) == before
        clock.now += 2 * WINDOW
        bandit.assign()


def test_another_clock_that_is_decades_ahead_is_refused_and_nothing_has_changed(tmp_path: Path) -> None:
    """It would end all windows for good: such as that of the machine, where a clock of one's own was forgotten."""
    clock, path = Clock(), tmp_path / "journal"
    bandit = bandit_at(clock, journal=path)
    first = bandit.assign()
    clock.now += 9 * 365 * 86400  # years
    bandit.assign()
    latest = clock.now
    before = state_of(bandit)
    bandit.detach()
    content = path.read_bytes()
    bandit = bandit_at(lambda: latest + 11 * 365.25 * 86400, journal=path)
    for step in (bandit.assign, bandit.release_due, bandit.open_assignments, lambda: bandit.close(first, 1.0)):
        with pytest.raises(dpb.InvalidInput, match="to be within ten years of 283825000, the latest before: go"):
            step()
    assert (state_of(bandit), path.read_bytes()) == (before, content)
    bandit.detach()
    again = bandit_at(clock, journal=path)
    again.assign()


def test_places_without_an_answer_count_as_the_default_reward() -> None:
    clock = Clock()
    bandit = bandit_at(clock, default_reward=0.25)
    given = bandit.assign_many([None] * 2 * PLAYS)
    bandit.close(given[0], 1.0)
    assert bandit.release_due() == 0
    clock.now += WINDOW
    assert bandit.release_due() == 2
    assert values_of(bandit) == [(0, 1.0 + 2 * 0.25), (1, 3 * 0.25)]
    assert bandit.release_due() == 0
    assert bandit.exhausted


def test_who_comes_finds_released_what_was_due() -> None:
    clock = Clock()
    bandit = bandit_at(clock)
    for a in bandit.assign_many([None] * 2 * PLAYS):
        if a.arm == "B":
            bandit.close(a, 1.0)
    clock.now += WINDOW
    assert values_of(bandit) == [(1, 3.0)]  # open timing: it had all its answers
    assert bandit.assign().arm == "B"
    assert values_of(bandit) == [(1, 3.0), (0, 0.0)]


def test_a_block_that_is_complete_waits_for_one_that_is_not() -> None:
    """Those of an arm release in order; when the first is due, all that are complete follow it."""
    clock = Clock()
    bandit = bandit_at(clock, policy=dpb.DPUCBInt(epsilon=60.0, delta=0.0, horizon=50))
    given = bandit.assign_many([None] * 20)
    of_arm = [a for a in given if a.arm == "A"]
    clock.now += WINDOW / 2
    later = bandit.assign_many([None] * 20)
    bandit.close_many([(a, 1.0) for a in [*of_arm[1:], *[a for a in later if a.arm == "A"]]])
    assert len(bandit.ledger) == 1
    clock.now += WINDOW / 2
    count = bandit.release_due()
    assert {row.content["last"] > 20 for row in bandit.ledger if row.number} == {True, False}
    assert count == len(bandit.ledger) - 1 > 4


def test_a_selection_that_comes_too_late_is_followed_by_another() -> None:
    clock = Clock()
    bandit = bandit_at(clock)
    arm = bandit.select()
    clock.now += WINDOW
    with pytest.raises(dpb.WindowClosed, match="Expected the selection to be closed within 1 minute"):
        bandit.update(arm, 1.0)
    assert bandit.select() == "B"
    bandit.update("B", 1.0)
    assert learner_of(bandit).counts.assigned == 2


def test_a_person_keeps_their_assignment_while_its_window_runs() -> None:
    clock = Clock()
    bandit = bandit_at(clock, policy=dpb.recommended(epsilon=9.0), contributions=2)
    first = bandit.assign(unit="Ada")
    bandit.close(first, 1.0)
    clock.now += WINDOW - 1
    again = bandit.assign(unit="Ada")
    assert (again, again.is_new) == (first, False)
    twice = bandit.assign_many(["Bo", "Bo"])
    assert [a.is_new for a in twice] == [True, False]
    assert twice[0] == twice[1]
    clock.now += 1
    second = bandit.assign(unit="Ada")
    assert (second.is_new, second.arm) == (True, first.arm)
    clock.now += WINDOW
    assert bandit.assign(unit="Ada") == second  # both have entered


# ---- sealed


def test_with_sealed_timing_blocks_are_released_when_they_are_due_and_never_because_an_answer_came() -> None:
    clock = Clock()
    bandit = bandit_at(clock, "sealed")
    given = bandit.assign_many([None] * 2 * PLAYS)
    bandit.close_many([(a, 1.0) for a in given])
    assert len(bandit.ledger) == 1
    clock.now += WINDOW - 1
    other = bandit.assign()
    assert len(bandit.ledger) == 1
    clock.now += 1
    bandit.close(other, 1.0)
    assert len(bandit.ledger) == 1
    assert bandit.release_due() == 2
    assert values_of(bandit) == [(0, 3.0), (1, 3.0)]


def test_select_and_update_need_open_timing() -> None:
    bandit = bandit_at(Clock(), "sealed")
    for step in (bandit.select, lambda: bandit.update("A", 1.0)):
        with pytest.raises(dpb.InvalidInput, match="Expected timing='sealed' to be 'open' for select"):
            step()


def test_what_its_owner_is_shown_does_not_tell_who_has_answered(tmp_path: Path) -> None:
    seen = []
    for answered in (0, 2, 5):
        bandit = bandit_at(Clock(), "sealed")
        for a in bandit.assign_many([None] * 5)[:answered]:
            bandit.close(a, 1.0)
        seen.append(
            [*everything_reported(bandit, tmp_path), repr(bandit), str(bandit.spent()), str(bandit.estimates())]
        )
    assert seen[0] == seen[1] == seen[2]


# ---- on disk


@pytest.mark.parametrize("timing", ["open", "sealed"])
def test_times_and_due_releases_are_replayed_as_they_were(tmp_path: Path, timing: str) -> None:
    clock, path = Clock(), tmp_path / "journal"

    def opened() -> dpb.Bandit:
        return bandit_at(clock, timing, policy=dpb.recommended(epsilon=30.0), journal=path)

    bandit = opened()
    for step in range(60):
        clock.now += 7
        given = bandit.assign_many([f"person {step}", None])
        bandit.close(given[step % 2], 1.0)
        if step % 9 == 0:
            bandit.release_due()
    state, ledger = state_of(bandit), bandit.ledger.to_jsonl()
    assert len(bandit.ledger) > 5
    bandit.detach()
    clock.now = 0
    bandit = opened()
    again = state_of(bandit)
    # A book lets go of what is over when it likes.
    now, past = state["learner"]["counts"]["now"], 3
    for found in (state, again):
        rows = [row for row in zip(*found["places"], strict=True) if row[past] > now]
        found["places"] = rows
    assert again == state
    assert bandit.ledger.to_jsonl() == ledger
    with pytest.warns(dpb.ClockWarning, match="The clock says 0, "):
        a = bandit.assign()
    clock.now = now + WINDOW - 1  # what was written down is the latest reading
    bandit.close(a, 1.0)
    times = [record["time"] for record in records_in(path) if "time" in record]
    assert times == sorted(times)
    assert "time" not in ledger
    check = dpb.check_ledger(bandit.ledger.to_jsonl(), head=bandit.ledger.head)
    assert check.holds
    row_0 = bandit.ledger[0].content
    assert (row_0["window"], row_0["timing"], row_0["shares"]) == (WINDOW, timing, None)


def test_with_sealed_timing_the_time_of_an_answer_is_not_written_down(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "journal"
    bandit = bandit_at(clock, "sealed", journal=path)
    a = bandit.assign()
    clock.now += 7
    bandit.close(a, 1.0)
    assert [record.get("time") for record in records_in(path)] == [None, 1000, None]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"window": 61}, r"was begun with window=60.0, not with 61.0"),
        ({"window": None, "timing": "open"}, r"was begun with timing='sealed', not with 'open'"),
        ({"shares": {"A": 0.1}}, "was begun with shares=None, not with {'A': 0.1}"),
    ],
)
def test_a_journal_keeps_its_window_its_timing_and_its_shares(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    bandit_at(Clock(), "sealed", journal=tmp_path / "journal").detach()
    with pytest.raises(dpb.JournalError, match=message):
        bandit_at(Clock(), **{"timing": "sealed", "journal": tmp_path / "journal", **settings})


@pytest.mark.parametrize("settings", [{"window": 5.0}, {"window": 5.0, "timing": "sealed"}, {"shares": {"A": 0.1}}])
def test_a_bandit_that_was_begun_before_there_were_windows_has_none(tmp_path: Path, settings: dict[str, Any]) -> None:
    before = Path(__file__).with_name("before") / "format_3"
    for ending in (".journal", ".journal.mark"):
        content = (before / f"block-ucb{ending}").read_bytes()
        (tmp_path / f"j{ending}").write_bytes(content)
        (tmp_path / f"j{ending}").chmod(0o600)
    policy = dpb.BlockUCB(epsilon=0.7, confidence=1.0)
    with pytest.raises(dpb.JournalError, match=r"was begun with (window|timing|shares)=(None|'open'), not with"):
        dpb.Bandit(policy, ["A", "B"], journal=tmp_path / "j.journal", **settings)
    dpb.Bandit(policy, ["A", "B"], journal=tmp_path / "j.journal")


def test_a_bandit_with_a_window_moves_as_text() -> None:
    clock = Clock()
    bandit = bandit_at(clock, "sealed")
    given = bandit.assign_many([None] * 2 * PLAYS)
    bandit.close(given[1], 1.0)
    moved = dpb.Bandit.from_json(bandit.to_json(), policy=POLICY, noise=noiseless(), clock=clock)
    clock.now += WINDOW - 1
    moved.close(given[3], 1.0)
    clock.now += 1
    assert moved.release_due() == 2
    assert values_of(moved) == [(0, 0.0), (1, 2.0)]
