"""Whatever fails, what is raised holds neither a reward, nor a sum, nor a value that was drawn: frame by frame."""

import inspect
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from dpbandits._frames import clean
from dpbandits.adapters.river import RiverPolicy
from dpbandits.live.acknowledged_records import AcknowledgedRecords
from dpbandits.live.journal import Journal
from dpbandits.live.journal_format import START, chained, line_of
from dpbandits.live.memory_book import MemoryBook
from dpbandits.live.persistence import journal_overview
from dpbandits.mechanisms import Hybrid, SecureNoise
from explore_then_commit import ExploreThenCommit
from frames import found_in_frames, library_frames
from insides import journal_of, learner_of
from journal_lines import records_in
from shared_noise import SharedNoise

pytestmark = pytest.mark.slow

GRID_BITS = 24
REWARD = 0.7182818
ENCODED = round(REWARD * 2**GRID_BITS)
POLICY = ExploreThenCommit(epsilon=1.0, plays=2)
WITH_A_PAST = ExploreThenCommit(epsilon=1.0, plays=5)  # of which there is a journal of an earlier format
SECRETS = [str(REWARD), *(str(k * ENCODED) for k in (1, 2))]


def fresh(**options: Any) -> dpb.Bandit:
    return dpb.Bandit(POLICY, ["A", "B"], **{"noise": SharedNoise(1, GRID_BITS), **options})


def one_answer_left(**options: Any) -> tuple[dpb.Bandit, Any]:
    """Return a bandit and the assignment that makes it release."""
    bandit = fresh(**options)
    waiting = [bandit.assign() for _ in range(4)]
    bandit.close(waiting[0], REWARD)
    return bandit, waiting[2]


def failure(action: Callable[..., Any], *arguments: Any, **named: Any) -> BaseException:
    """Return what is raised."""
    with pytest.raises(BaseException) as raised:  # noqa: PT011
        action(*arguments, **named)
    return raised.value


class Angry(Exception):
    """An error that says what it should not."""


@pytest.mark.parametrize("kind", [Angry, ValueError, OSError, MemoryError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize(
    "place",
    [
        ("source", "encode"),
        ("source", "publish"),
        ("source", "event"),
        ("book", "answer"),
        ("book", "take_out"),
        ("book", "has_all_answers"),
        ("releaser", "release"),
        ("noise", "take_due"),
        ("noise", "check_taken"),
        ("ledger", "append"),
        ("statistics", "add"),
        ("journal", "append"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("is_batch", [False, True], ids=["one", "many"])
def test_a_failure_anywhere_in_a_step(
    place: tuple[str, str], kind: type[BaseException], is_batch: bool, tmp_path: Path
) -> None:
    """Something in the middle breaks, and says everything it was given."""
    bandit, last = one_answer_left(journal=tmp_path / "journal")
    owner = {
        "statistics": learner_of(bandit).statistics[0],
        "journal": journal_of(bandit),
        "ledger": learner_of(bandit).releaser.ledger,
    }.get(place[0]) or getattr(learner_of(bandit), place[0])

    def broken(*arguments: Any, **named: Any) -> Any:
        raise kind(f"{arguments} {named} {ENCODED}") if issubclass(kind, Exception) else kind

    setattr(owner, place[1], broken)
    problem = failure(bandit.close_many, [(last, REWARD)]) if is_batch else failure(bandit.close, last, REWARD)
    assert found_in_frames(problem, *SECRETS) == []
    assert [frame.f_code.co_name for frame in library_frames(problem)] == ["called"]
    assert (problem.__context__, problem.__cause__) == (None, None)
    if issubclass(kind, Exception):
        assert isinstance(problem, dpb.StepError)
        assert str(problem).startswith(f"A step ended with {kind.__name__}.")
    else:
        assert type(problem) is kind
    if place != ("source", "encode"):  # which comes before the step
        with pytest.raises(dpb.StepError, match="failed halfway"):
            bandit.assign()
    bandit.detach()
    again = fresh(journal=tmp_path / "journal")
    is_drawn = place[0] in ("noise", "statistics")  # what comes after it was written to disk
    assert len(again.ledger) == 1 + is_drawn
    assert (last in again.open_assignments()) is not is_drawn


@pytest.mark.parametrize("reward", [7.0 + REWARD, f"{REWARD}", [REWARD], complex(REWARD)])
def test_a_refused_reward_is_in_the_message_alone(reward: Any) -> None:
    """The message names it, to the caller who passed it. Nothing else does."""
    bandit, last = one_answer_left()
    selected = bandit.select()
    for action, argument in ((bandit.close, last), (bandit.update, selected)):
        problem = failure(action, argument, reward)
        assert isinstance(problem, dpb.InvalidInput)
        assert "reward=" in str(problem)
        found = found_in_frames(problem, str(REWARD)[2:])
        assert all(place.startswith(("InvalidInput", "clean.<locals>.called: failure")) for place in found)
        assert (problem.__context__, problem.__cause__) == (None, None)
    bandit.close(last, 0.5)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda bandit, last: bandit.close("nobody", REWARD),
        lambda bandit, last: bandit.close(None, REWARD),
        lambda bandit, last: bandit.update("Z", REWARD),
        lambda bandit, last: bandit.update("A", REWARD),
        lambda bandit, last: bandit.close(last, REWARD, 1),
        lambda bandit, last: bandit.close_many([(last, REWARD), ("nobody", REWARD)]),
        lambda bandit, last: bandit.close(last, rewrad=REWARD),
    ],
)
def test_arguments_are_let_go(wrong: Callable[[dpb.Bandit, Any], Any]) -> None:
    bandit, last = one_answer_left()
    problem = failure(wrong, bandit, last)
    assert isinstance(problem, dpb.InvalidInput | TypeError)
    assert found_in_frames(problem, *SECRETS) == []
    if isinstance(problem, TypeError):
        assert str(problem).startswith("Bandit.close() ")


def test_a_used_or_forked_bandit_lets_go(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit, last = one_answer_left()
    text = bandit.to_json()
    assert found_in_frames(failure(bandit.close, last, REWARD), *SECRETS) == []
    again = dpb.Bandit.from_json(text, policy=POLICY, noise=SecureNoise(GRID_BITS))
    monkeypatch.setattr("os.getpid", lambda: 1)
    assert found_in_frames(failure(again.close, last, REWARD), *SECRETS) == []


def test_a_text_that_cannot_be_resumed_shows_nothing() -> None:
    bandit, _ = one_answer_left()
    text = bandit.to_json()
    assert str(ENCODED) in text
    damaged = text.replace('"assigned": 4', '"assigned": 5')
    for wrong, named in ((damaged, {}), (text, {"noise": SecureNoise(3)}), (text, {"policy": dpb.UCB()}), (text, {})):
        problem = failure(dpb.Bandit.from_json, wrong, **named)
        assert isinstance(problem, dpb.InvalidInput)
        assert found_in_frames(problem, *SECRETS) == []


def test_a_text_that_cannot_be_written_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit, _ = one_answer_left()

    def full(*arguments: Any, **named: Any) -> Any:
        raise MemoryError(str(arguments))

    monkeypatch.setattr("json.dumps", full)
    problem = failure(bandit.to_json)
    assert isinstance(problem, dpb.StepError)
    assert found_in_frames(problem, *SECRETS) == []


# ---- replay


@pytest.mark.parametrize("kind", [OSError(5, "Input/output error"), KeyboardInterrupt(), Angry(str(ENCODED))])
@pytest.mark.parametrize("call", ["write", "fsync", "ftruncate", "pwrite"])
def test_a_journal_that_cannot_be_gone_on_with_shows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, kind: BaseException
) -> None:
    """Its last record, with a reward, is written again."""
    path = tmp_path / "journal"
    bandit, _ = one_answer_left(journal=path)
    bandit.detach()

    def broken(*arguments: Any) -> Any:
        raise kind

    with monkeypatch.context() as patched:
        patched.setattr(os, call, broken)
        problem = failure(fresh, journal=path)
    assert found_in_frames(problem, *SECRETS) == []
    assert fresh(journal=path).ledger.head[0] == 0  # and it is not locked


def journal_with(tmp_path: Path, record: dict[str, Any]) -> Path:
    path = tmp_path / "journal"
    bandit, _ = one_answer_left(journal=path)
    bandit.detach()
    assert append(path, record) == 6
    return path


def append(path: Path, record: dict[str, Any]) -> int:
    """Add a record to a journal, with the right checksum, and return its number."""
    journal = Journal(path)
    number = len(list(journal.records()))
    journal.force()
    journal.go_on()
    journal.append(record)
    journal.close()
    return number


FORGED: list[dict[str, Any]] = [
    {"close": 3, "reward": ENCODED},
    {"close": 3, "reward": ENCODED, "released": [1.5], "scales": [2.0**24], "head": "x"},
    {"close": 3, "reward": ENCODED, "released": ["1.5"], "scales": [2.0**24], "head": "x"},
    {"close": 3, "reward": ENCODED, "released": [], "scales": [], "head": "x"},
    {"close": 3, "reward": ENCODED, "released": [1.5, 2.5], "scales": [2.0**24], "head": "x"},
    {"close": 3, "reward": ENCODED, "released": 5},
    {"close": 3, "reward": ENCODED, "released": [None]},
    {"close": 3, "reward": ENCODED, "released": [[]]},
    {"close": 3, "reward": ENCODED, "released": {"a": 1}},
    {"close": 3, "reward": ENCODED, "scales": 7},
    {"close": 3, "reward": -ENCODED},
    {"close": 3, "reward": 2**GRID_BITS + 1},
    {"close": 4, "reward": float(ENCODED)},
    {"close": 4, "reward": str(ENCODED)},
    {"close": 4, "reward": True},
    {"close": 4, "reward": None},
    {"close": 4, "reward": 10**40},
    {"close": 4, "reward": ENCODED, "more": 1},
    {"close": [4], "reward": ENCODED},
    {"close": {}, "reward": ENCODED},
    {"close": "4", "reward": ENCODED},
    {"close": 4.0, "reward": ENCODED},
    {"close": 1, "reward": ENCODED},
    {"close": 4},
    {"reward": ENCODED},
    {"batch": [{"close": 3, "reward": ENCODED}]},
    {"batch": [{"close": 3, "reward": ENCODED}, {"release": [[0, 1.5, 2.0**24]], "head": "x"}]},
    {"batch": [{"close": 3, "reward": ENCODED}, {"release": [[0, "1.5", 2.0**24]], "head": "x"}]},
    {"batch": [{"close": 3, "reward": ENCODED}, {"release": [[0, 1.5, None]], "head": "x"}]},
    {"batch": [{"close": 3, "reward": ENCODED}, {"release": [[1, 1.5, 2.0**24]], "head": "x"}]},
    {"batch": [{"close": 3, "reward": ENCODED}, {"release": [[0, 1.5, 2.0**24], [0, 2.5, 2.0**24]], "head": "x"}]},
    {"batch": [{"close": 3, "reward": ENCODED}, {"release": [], "head": "x"}]},
    {"batch": [{"close": 3, "reward": ENCODED}, {"release": [1.5], "head": "x"}]},
    {"batch": [{"close": 3, "reward": ENCODED}, {"release": {"0": 1.5}, "head": "x"}]},
    {"batch": [{"close": 3, "reward": ENCODED}, {"release": 5, "head": "x"}]},
    {"batch": [{"close": 3, "reward": ENCODED}, {"release": [[0, 1.5, 2.0**24]]}]},
    {"batch": [{"release": [[0, 1.5, 2.0**24]], "head": "x"}, {"close": 3, "reward": ENCODED}]},
    {"release": [[0, 1.5, 2.0**24]], "head": "x"},
    {"release": [], "head": "x"},
    {"release": []},
    {"forget": "0" * 32},  # whom it does not know
    {"forget": None},
    {"forget": [ENCODED]},
    {"close": 4, "reward": ENCODED, "time": 1.0},  # where there is no clock
    {"places": [[9], [0], [0], [None], [False]]},  # a piece of a snapshot, and no step
    {"piece": {}},
    {"end": True},
    {"assign": -1, "block": 0},
    {"assign": 0.0, "block": None},
    {"assign": True, "block": None},
    {"assign": "A", "block": None},
    {"assign": 10**30, "block": None},
    {"assign": None, "block": None},
    {"assign": [0], "block": None},
    {"assign": 0, "block": 0},
    {"assign": 0, "block": False},
    {"assign": 0},
    {"assign": 0, "block": None, "unit": 7},
    {"assign": 0, "block": None, "unit": [1]},
    {"assign": 0, "block": None, "selection": "yes"},
    {"assign": 0, "block": None, "more": 1},
    {"assign": 0, "block": None, "close": 4},
    {},
]


@pytest.mark.parametrize("record", FORGED, ids=str)
def test_a_forged_record_is_refused_in_one_sentence(tmp_path: Path, record: dict[str, Any]) -> None:
    """Its checksum is right. Nothing of it, or of the records before, is shown."""
    path = journal_with(tmp_path, record)
    before = path.read_bytes()
    problem = failure(fresh, journal=path)
    assert isinstance(problem, dpb.JournalError)
    only_in_snapshots = record.keys() & {"piece", "end"}
    assert ("is damaged at line 7" if only_in_snapshots else "cannot be followed from record 6 on") in str(problem)
    assert found_in_frames(problem, *SECRETS) == []
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["[]", "7", "null", '"x"', "{", "[" * 100_000, "9" * 5000, '{"a": NaN}'])
def test_a_forged_line_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    path = journal_with(tmp_path, {"assign": 0, "block": None})
    last = path.read_bytes().splitlines()[-1][:16].decode()
    checksum = chained(last, text.encode())
    with path.open("ab") as file:
        file.write(f"{checksum} {text}\n".encode())
    path.with_name("journal.mark").write_text(f"{7:<20} {checksum}\n")
    problem = failure(fresh, journal=path)
    assert isinstance(problem, dpb.JournalError)
    assert ("record 7" if text.startswith('{"') else "line 8") in str(problem)
    assert "\n" not in str(problem)
    assert found_in_frames(problem, *SECRETS) == []


CHANGES: list[Callable[[dict[str, Any]], Any]] = [
    lambda first: first.pop("learner"),
    lambda first: first.pop("configuration"),
    lambda first: first.update(configuration=7),
    lambda first: first.update(configuration=None),
    lambda first: first.update(learner=[]),
    lambda first: first["configuration"].update(format=99),
    lambda first: first["configuration"].update(scale_bits="many"),
    lambda first: first["configuration"].update(scale_bits=-5),
    lambda first: first["configuration"].update(more=1),
    lambda first: first["configuration"]["policy"].update(plays=3),
    lambda first: first["learner"].update(state={"sums": "x"}),
    lambda first: first["learner"].pop("tag"),
    lambda first: forge(first, lambda row: row["live_policy"].update(epsilon=50)),
    lambda first: forge(first, lambda row: row["reward_guarantee"].update(epsilon=50)),
    lambda first: forge(
        first, lambda row: [row["live_policy"].update(epsilon=50), row["reward_guarantee"].update(epsilon=50)]
    ),
    lambda first: forge(first, lambda row: row.update(arms=["C", "D"])),
    lambda first: forge(first, lambda row: row["policy"].update(epsilon=7.0)),
    lambda first: forge(first, lambda row: row.update(more=1)),
]
CHANGES_NOW: list[Callable[[dict[str, Any]], Any]] = [
    *CHANGES,
    lambda first: first.pop("ledger"),
    lambda first: first.update(ledger=[]),
    lambda first: first.update(ledger="{}"),
    lambda first: first.update(ledger=7),
    lambda first: first.update(ledger=[7]),
    lambda first: first.update(ledger=[["{}", "0" * 64]]),
    lambda first: first["ledger"].append(["{}", "0" * 64]),
    lambda first: first["learner"].update(counts=None),
    lambda first: first["learner"]["counts"].pop("filling"),
    lambda first: first["learner"]["counts"].update(handed_out=7),
    lambda first: first["configuration"].update(window=-1),
    lambda first: first["configuration"].update(timing="sealed"),
    lambda first: first["configuration"].update(shares=[0.5]),
]
CHANGES_BEFORE: list[Callable[[dict[str, Any]], Any]] = [
    *CHANGES,
    lambda first: first["learner"].update(ledger=""),
    lambda first: first["learner"].update(ledger="{}"),
    lambda first: first["learner"].update(ledger=7),
    lambda first: first["learner"].update(places=None),
    lambda first: first["learner"]["places"].update(landed=7),
    lambda first: first["learner"].update(awaited=[[1]]),
    lambda first: first["learner"].update(units=[]),
]


def begun(path: Path, is_earlier: bool) -> None:
    """Make a journal that has just begun, in the format of now or in the one before."""
    if is_earlier:
        first = Path(__file__).parent / "before/format_3/explore-then-commit.journal"
        begin_again(path, first_record(first))
    else:
        dpb.Bandit(WITH_A_PAST, ["A", "B"], journal=path).detach()


def assert_refused(path: Path) -> str:
    """Open a journal that somebody made up, and return the one sentence that refuses it."""
    before = path.read_bytes()
    problem = failure(dpb.Bandit, WITH_A_PAST, ["A", "B"], journal=path)
    assert isinstance(problem, dpb.JournalError)
    assert "\n" not in str(problem)
    assert found_in_frames(problem, *SECRETS) == []
    assert path.read_bytes() == before
    return str(problem)


@pytest.mark.parametrize(
    ("is_earlier", "change"),
    [*((False, change) for change in CHANGES_NOW), *((True, change) for change in CHANGES_BEFORE)],
)
def test_a_forged_first_record_is_refused_in_one_sentence(
    tmp_path: Path, is_earlier: bool, change: Callable[[dict[str, Any]], Any]
) -> None:
    path = tmp_path / "journal"
    begun(path, is_earlier)
    dpb.Bandit(WITH_A_PAST, ["A", "B"], journal=path).detach()  # as it is, it opens
    first = first_record(path)
    change(first)
    begin_again(path, first)
    assert_refused(path)


# Where a snapshot may have more pieces.
@pytest.mark.parametrize(
    "record",
    [
        {},
        {"reward": ENCODED},
        {"places": [[1]]},
        {"places": 7},
        {"ledger": 7},
        {"ledger": [["{}", "0" * 64]]},
        {"rows": []},
        {"piece": {}},
        {"end": True},
        {"close": 1, "reward": ENCODED},
        {"forget": "0" * 32},
    ],
    ids=str,
)
@pytest.mark.parametrize("is_earlier", [False, True], ids=["now", "before"])
def test_a_forged_second_record_is_refused_in_one_sentence(
    tmp_path: Path, is_earlier: bool, record: dict[str, Any]
) -> None:
    path = tmp_path / "journal"
    begun(path, is_earlier)
    append(path, record)
    only_in_snapshots = record.keys() & {"piece", "end"}
    expected = "is damaged at line 2" if only_in_snapshots else "cannot be followed from record 1 on"
    assert expected in assert_refused(path)


def begin_with_snapshot(path: Path, *lines: dict[str, Any], after: Any = None) -> None:
    """Make a journal of a bandit that has just begun, as a snapshot, with these lines after its first one."""
    begun(path, is_earlier=False)
    _, last = path.with_name(f"{path.name}.mark").read_text().split()
    content, checksum = line_of(START, {"snapshot": first_record(path), "after": [0, last] if after is None else after})
    for line in (*lines, {"end": True}):
        more, checksum = line_of(checksum, line)
        content += more
    path.write_bytes(content)


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"assign": 0, "block": 0},
        {"piece": None},
        {"piece": 7},
        {"piece": {"places": [[1]]}},
        {"piece": {"places": 7}},
        {"piece": {"people": {"0" * 32: [1, 0]}}},
        {"piece": {"released_sums": 7}},
        {"piece": {"blocks": [[0], [0], [1], [1], [None], [ENCODED]]}},
        {"piece": {"ledger": [["{}", "0" * 64]]}},
        {"piece": {"rows": []}},
    ],
    ids=str,
)
def test_a_forged_line_of_a_snapshot_is_refused_in_one_sentence(tmp_path: Path, line: dict[str, Any]) -> None:
    path = tmp_path / "journal"
    begin_with_snapshot(path)
    dpb.Bandit(WITH_A_PAST, ["A", "B"], journal=path).detach()  # as it is, it opens
    begin_with_snapshot(tmp_path / "another journal", line)
    assert_refused(tmp_path / "another journal")


@pytest.mark.parametrize("after", [7, [], [1], ["1", "x"], [0, 7], {"0": "x"}, [10**30, "0" * 16]], ids=str)
def test_a_snapshot_of_a_forged_moment_is_refused_in_one_sentence(tmp_path: Path, after: Any) -> None:
    path = tmp_path / "journal"
    begin_with_snapshot(path, after=after)
    assert_refused(path)


def first_record(path: Path) -> dict[str, Any]:
    first: dict[str, Any] = records_in(path)[0]
    return first


def begin_again(path: Path, first: dict[str, Any]) -> None:
    """Put a journal with this first record, and right checksums, in the place of another."""
    for file in (path, path.with_name("journal.mark")):
        file.unlink(missing_ok=True)
    journal = Journal(path)
    assert list(journal.records()) == []
    journal.begin(first)
    journal.close()


def forge(first: dict[str, Any], change: Callable[[dict[str, Any]], Any]) -> None:
    """Change row 0 of the ledger in a first record, with a hash that fits."""
    is_earlier = "ledger" in first["learner"]
    ledger = dpb.Ledger()
    content = (
        dpb.Ledger.from_jsonl(first["learner"]["ledger"])[0].content
        if is_earlier
        else json.loads(first["ledger"][0][0])
    )
    change(content)
    row = ledger.append(content)
    if is_earlier:
        first["learner"]["ledger"] = ledger.to_jsonl()
    else:
        first["ledger"] = [[row.content_json, row.hash]]


def test_a_promise_of_more_than_was_asked_for_is_refused(tmp_path: Path) -> None:
    """Row 0 is consistent, and not what this program asks for."""
    path = tmp_path / "journal"
    policy = dpb.DPIMED(epsilon=1.0)
    dpb.Bandit(policy, 2, journal=path).detach()
    first = first_record(path)

    def everything(row: dict[str, Any]) -> None:
        for column in ("live_policy", "reward_guarantee", "guarantee"):
            row[column]["epsilon"] = 50.0

    forge(first, everything)
    begin_again(path, first)
    with pytest.raises(dpb.JournalError, match=r"Expected \(50.0, 0\), as it was promised .* to be within Budget"):
        dpb.Bandit(policy, 2, journal=path)


def test_a_ledger_whose_chain_is_broken_is_refused(tmp_path: Path) -> None:
    """Its rows are not hashed when they are read, but before anybody goes on from them."""
    path = tmp_path / "journal"
    begun(path, is_earlier=False)
    first = first_record(path)
    first["ledger"][0][1] = "0" * 64
    begin_again(path, first)
    for read in (
        lambda: dpb.Bandit(WITH_A_PAST, ["A", "B"], journal=path),
        lambda: journal_overview(AcknowledgedRecords(path), ExploreThenCommit),
    ):
        with pytest.raises(dpb.JournalError, match=r"Its ledger is broken\. Row 0"):
            read()


# ---- everything else


def test_counters_and_adapters_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Hybrid(1.0, noise=SecureNoise(GRID_BITS))
    counter.insert(REWARD)

    def broken(*arguments: Any) -> Any:
        raise Angry(str(arguments))

    monkeypatch.setattr(SecureNoise, "publish", broken)
    problem = failure(counter.insert, REWARD)
    assert isinstance(problem, dpb.StepError)
    assert found_in_frames(problem, *SECRETS) == []
    river = RiverPolicy(POLICY)
    arm = river.pull(["A", "B"])
    monkeypatch.setattr(SecureNoise, "encode", broken)
    problem = failure(river.update, arm, REWARD)
    assert isinstance(problem, dpb.StepError)
    assert found_in_frames(problem, *SECRETS) == []


def test_nothing_that_holds_a_secret_shows_it() -> None:
    source = SharedNoise(1, GRID_BITS)
    drawn: list[int] = []
    draw = source.draw
    source.draw = lambda scale, mechanism: drawn.append(draw(scale, mechanism)) or drawn[-1]  # type: ignore[func-returns-value, method-assign]
    bandit, last = one_answer_left(noise=source)
    noises = list(map(str, drawn))
    assert len(noises) == 2
    learner = learner_of(bandit)
    book = learner.book
    assert isinstance(book, MemoryBook)
    for thing in (bandit, learner, book, book.pending, learner.counts, learner.releaser, learner.releaser.predrawn):
        assert not any(secret in repr(thing) for secret in (*SECRETS, *noises))
    assert not any(secret in repr(learner.state) for secret in SECRETS)
    assert (book.pending[0, 0].first, book.pending[0, 0].total) == (1, ENCODED)  # which has it
    bandit.close(last, REWARD)
    assert not any(secret in repr(learner.state) for secret in SECRETS)


def test_groups_of_exceptions_are_not_repeated() -> None:
    @clean
    def several() -> None:
        raise BaseExceptionGroup("several", [KeyboardInterrupt(), ValueError(str(ENCODED))])

    problem = failure(several)
    assert isinstance(problem, dpb.StepError)
    assert found_in_frames(problem, *SECRETS) == []


def is_closed(bandit: dpb.Bandit, assignment: Any) -> bool:
    """Tell whether an assignment was closed, or a step on the way failed halfway."""
    try:
        return assignment not in bandit.open_assignments()
    except dpb.StepError:
        return True


@pytest.mark.parametrize("limit", [150, 151, 152, 153, 300])
def test_a_full_stack_shows_nothing(limit: int) -> None:
    """Wherever in a step Python runs out of frames."""
    bandit, last = one_answer_left()
    depth = len(inspect.stack())

    def deep(levels: int) -> None:
        if levels:
            deep(levels - 1)
        else:
            bandit.close(last, reward=REWARD)

    before = sys.getrecursionlimit()
    kinds = set()
    for levels in range(20, limit):
        sys.setrecursionlimit(depth + limit)
        try:
            deep(levels)
        except (RecursionError, dpb.StepError) as problem:
            sys.setrecursionlimit(before)
            found = found_in_frames(problem, *SECRETS)
            kinds.add(type(problem).__name__)
            assert found == []
        except dpb.InvalidInput:  # it was closed before
            pass
        finally:
            sys.setrecursionlimit(before)
        if is_closed(bandit, last):
            bandit, last = one_answer_left()
    assert kinds == {"RecursionError", "StepError"}


def test_clean_is_for_functions_of_any_kind() -> None:
    @clean
    def divide(a: float, b: float) -> float:
        return a / b

    assert divide(1, b=2) == 0.5
    assert divide.__name__ == "divide"
    problem = failure(divide, REWARD, 0)
    assert isinstance(problem, dpb.StepError)
    assert found_in_frames(problem, *SECRETS) == []
    assert isinstance(failure(divide, REWARD), TypeError)
    with pytest.raises(dpb.StepError, match="TypeError"):  # not of the call, but in the function
        divide("a", REWARD)  # type: ignore[arg-type]


def test_the_callers_own_exception_stays_with_the_caller() -> None:
    """Who calls in an `except` block keeps its context, as everywhere."""
    bandit, _ = one_answer_left()
    try:
        raise LookupError("mine")
    except LookupError:
        problem = failure(bandit.close, "nobody", REWARD)
    assert isinstance(problem.__context__, LookupError)
    assert found_in_frames(problem, *SECRETS) == []
    assert sys.exc_info() == (None, None, None)


def test_a_look_at_a_journal_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bandit, last = one_answer_left(journal=tmp_path / "journal")
    bandit.close(last, REWARD)
    bandit.detach()

    def broken(*arguments: Any, **named: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("dpbandits.live.experiment_overview.Overview.of", broken)
    problem = failure(journal_overview, AcknowledgedRecords(tmp_path / "journal"), ExploreThenCommit)
    assert isinstance(problem, KeyboardInterrupt)
    assert found_in_frames(problem, *SECRETS) == []
