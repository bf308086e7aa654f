"""A ledger that says something else than what happened, or than what it promises, does not hold."""

import math
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

import dpbandits as dpb
from doubling_phases import Phases
from dpbandits import Budget, InvalidInput
from dpbandits.live import LedgerCheck, check_ledger
from dpbandits.live.checking.assignment_ranges import AssignmentRange, fit_together
from dpbandits.live.checking.check_page import to_page
from dpbandits.mechanisms import Hybrid, RecordingNoise, SecureNoise
from dpbandits.policies import POLICIES, Block, Policy
from dpbandits.privacy import zcdp_epsilon
from explore_then_commit import ExploreThenCommit
from ledgers import contents_of
from servable_policies import SERVABLE, shown
from shared_noise import SharedNoise
from tampering import Content, chained, copied
from ways_of_answering import WAYS

pytestmark = pytest.mark.slow


def kind_of(policy: Policy) -> type[Policy] | None:
    return None if policy.name in POLICIES else type(policy)


def checked(contents: list[Content], **named: Any) -> LedgerCheck:
    return check_ledger(chained(contents), **named)


@pytest.mark.parametrize("policy", SERVABLE, ids=shown)
def test_true_ledgers_hold(policy: Policy) -> None:
    """One after the other, with answers in flight, and all the ways in which they come."""
    for way in WAYS:
        contents = contents_of(policy, way, people=150)
        assert len(contents) > 2
        found = checked(contents, policy=kind_of(policy))
        assert (found.verdict, found.reasons) == ("holds", ())
        assert found.spent is not None
        assert found.whole is not None
        assert found.promised is not None
        assert 0 < found.spent.epsilon <= found.whole.epsilon * (1 + 1e-9)
        assert found.whole.epsilon <= found.promised.epsilon * (1 + 1e-9)


@pytest.mark.parametrize("policy", SERVABLE, ids=shown)
def test_true_ledgers_of_people_with_several_rewards_hold(policy: Policy) -> None:
    contents = contents_of(policy, people=300, contributions=3, arms=["a", 7, "c"])
    found = checked(contents, policy=kind_of(policy))
    assert (found.verdict, found.reasons) == ("holds", ())
    assert found.promised is not None
    assert found.promised.unit == "up to 3 rewards of one person"


def test_ledgers_at_every_moment_hold() -> None:
    policy = dpb.DPUCBInt(epsilon=2.0, delta=0.0, horizon=60)
    bandit = dpb.Bandit(policy, arms=[4, "b"], horizon=50, noise=SecureNoise(grid_bits=5))
    assert check_ledger(bandit.ledger.to_jsonl()).holds  # before anything was released
    while not bandit.exhausted:
        bandit.update(bandit.select(), 0.5)
        found = check_ledger(bandit.ledger.to_jsonl(), head=bandit.ledger.head)
        assert found.holds
        assert found.spent is not None
        assert found.spent.epsilon == pytest.approx(bandit.spent().epsilon, rel=1e-12)
    assert found.rows > 5
    assert [arm.arm for arm in found.arms] == [4, "b"]
    assert sum(arm.rewards for arm in found.arms) <= 50


def test_a_long_ledger_is_not_accused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many releases the rows are composed by a quick bound, which is above what tight accounting calibrated."""
    monkeypatch.setattr("dpbandits.live.checking.release_rows.MOST_COMPOSED", 5)
    policy = dpb.DPUCBInt(epsilon=2.0, delta=1e-3, series="constant", horizon=200)
    bandit = dpb.Bandit(policy, arms=2, accept_delta=True, noise=SharedNoise(3))
    while not bandit.exhausted:
        bandit.update(bandit.select(), 0.0 if bandit.select() else 1.0)
    found = check_ledger(bandit.ledger.to_jsonl())
    assert found.holds
    assert found.spent is not None
    losses = [row.content["epsilon"] for row in bandit.ledger if row.number and row.content["arm"] == 0]
    assert min(sum(losses), zcdp_epsilon(sum(loss**2 for loss in losses) / 2, 1e-3)) > bandit.guarantee.epsilon
    assert found.spent.epsilon <= bandit.guarantee.epsilon


TRUE = contents_of(dpb.DPIMED(epsilon=1.0))
INTERVAL = contents_of(dpb.DPUCBInt(epsilon=2.0, delta=0.0, horizon=400))


@pytest.mark.parametrize("contents", [TRUE, INTERVAL], ids=["phases", "intervals"])
class TestAttacks:
    def test_less_noise(self, contents: list[Content]) -> None:
        forged = copied(contents)
        for row in forged[1:]:
            row["scale"] = 1.0
        found = checked(forged)
        assert found.verdict == "does not hold"
        assert "Row 1 has epsilon=" in found.reasons[1]
        assert any("its release in the schedule has" in reason for reason in found.reasons)
        for row in forged[1:]:  # and owning up to it
            row["epsilon"] = 4096.0
        found = checked(forged)
        assert found.verdict == "does not hold"
        assert found.reasons[0].startswith("The releases cost epsilon = ")
        assert found.spent is not None
        assert found.spent.epsilon >= 4096.0

    def test_every_block_twice(self, contents: list[Content]) -> None:
        found = checked([contents[0]] + [row for row in contents[1:] for _ in range(2)])
        assert found.verdict == "does not hold"
        assert f"Row 2 is release 1 of arm {contents[1]['arm']}, where release 2 comes next." in found.reasons
        once = checked(contents)
        assert found.spent is not None
        assert once.spent is not None
        assert found.spent.epsilon == pytest.approx(2 * once.spent.epsilon)

    def test_every_block_twice_with_new_numbers(self, contents: list[Content]) -> None:
        forged, seen = [contents[0]], [0, 0]
        for row in copied([row for row in contents[1:] for _ in range(2)]):
            seen[row["arm"]] += 1
            forged.append({**row, "release": seen[row["arm"]]})
        assert checked(forged).verdict == "does not hold"

    def test_the_end_needs_the_head(self, contents: list[Content]) -> None:
        head = checked(contents).head
        for other in (contents[:-1], contents[:1]):
            assert checked(other).holds
            assert str(checked(other)).startswith("The end of the ledger was not checked")
            assert checked(other, head=head).verdict == "does not hold"
        longer = [*contents, {**contents[-1], "release": contents[-1]["release"] + 1}]
        assert checked(longer).verdict == "does not hold"
        assert checked(contents, head=head).holds
        assert head is not None
        for kept in (head[1], f"{head[0]}:{head[1].upper()}", str(head)):
            assert checked(contents, head=kept).holds
        assert checked(contents, head=f"{head[0] + 1}:{head[1]}").verdict == "does not hold"
        assert checked(contents, head=f"Head: {head[0]}:{head[1]}").holds  # the line as `ledger show` prints it
        assert checked(contents, head="0" * 64).verdict == "does not hold"
        assert "not checked" not in str(checked(contents, head=head)).splitlines()[0]

    def test_an_earlier_head_covers_the_rows_up_to_its_own(self, contents: list[Content]) -> None:
        assert checked(contents, head=checked(contents).head).warning is None
        for length in (1, 3, len(contents) - 1):
            head = checked(contents[:length]).head
            assert head is not None
            for kept in (head, list(head), head[1]):
                found = checked(contents, head=kept)
                assert found.holds
                assert found.rows_after_head == len(contents) - length
                assert str(found).startswith(f"The head covers the rows up to {length - 1}, and not the ")
                assert any(item.startswith("The beginning: ") for item in found.checked)
                assert not any(item.startswith("The end: ") for item in found.checked)
                assert f"missing after row {length - 1} and none were added there" in found.unchecked[0]
                assert checked(contents[: length - 1] or [{}], head=kept).verdict == "does not hold"  # cut off below it
                rewritten = copied(contents)
                rewritten[0]["arms"] = ["X", "Y"]
                assert checked(rewritten, head=kept).verdict == "does not hold"
            for other in ((head[0] + 1, head[1]), (head[0] - len(contents), head[1]), (-1, "0" * 64)):
                assert checked(contents, head=other).verdict == "does not hold"

    def test_a_promise_for_one_reward_is_bound_to_that_for_a_person(self, contents: list[Content]) -> None:
        for change in ({"epsilon": 1000.0, "delta": 0.9}, {"delta": 0.9}, {"epsilon": 1000.0}, {"delta": 1e-9}):
            forged = copied(contents)
            forged[0]["reward_guarantee"] |= change
            assert " in one reward does not follow." in checked(forged).reasons[0]

    def test_a_smaller_promise(self, contents: list[Content]) -> None:
        for column in ("guarantee", "reward_guarantee"):
            forged = copied(contents)
            forged[0][column]["epsilon"] *= 0.5
            assert "but its schedule costs up to epsilon" in checked(forged).reasons[0]
        forged = copied(contents)
        forged[0]["policy"]["epsilon"] *= 0.5
        assert "more than its policy allows: epsilon" in checked(forged).reasons[0]

    def test_another_promise_for_the_same_rows(self, contents: list[Content]) -> None:
        forged = copied(contents)
        for part in ("policy", "live_policy", "guarantee", "reward_guarantee"):
            forged[0][part]["epsilon"] *= 0.5
        assert checked(forged).verdict == "does not hold"

    def test_a_policy_that_leaves_its_schedule_open(self, contents: list[Content]) -> None:
        forged = copied(contents)
        forged[0]["live_policy"]["density" if "density" in forged[0]["live_policy"] else "growth"] = None
        assert "leaves open what was calibrated" in checked(forged).reasons[0]

    def test_rows_and_columns(self, contents: list[Content]) -> None:
        row = contents[3]
        for change, reason in (
            ({"arm": 2}, "Row 3 has arm=2, and there are 2, from 0 on."),
            ({"arm": True}, "Row 3 has arm=True, which is not a whole number."),
            ({"mechanism": "laplace"}, "Row 3 has mechanism='laplace', not 'discrete laplace'."),
            ({"sensitivity": 1}, "Row 3 has sensitivity=1, and one reward can move the sum by 4096."),
            ({"scale": -1.0}, "Row 3 has scale=-1.0, which cannot be the scale of noise."),
            ({"scale": 4096}, "Row 3 has scale=4096, which is not a number with a decimal point."),
            ({"epsilon": row["epsilon"] / 2}, f"Row 3 has epsilon={row['epsilon'] / 2}, and its noise costs"),
            ({"count": row["count"] + 1}, f"Row 3 has count={row['count'] + 1}, and its sum is one of"),
            ({"value": 0.1}, "Row 3 has value=0.1, which is not on the grid."),
            ({"value": 1e300}, "Row 3 has value=1e+300, which is not on the grid."),
            ({"first": 0}, "Row 3 has first=0 and last="),
            ({"last": row["first"] - 1}, "Row 3 has first="),
            ({"release": 10**400}, "Row 3 is release 1000"),
            ({"note": 1}, "Row 3 has other columns than a release: 'note' (missing or unknown)."),
        ):
            forged = copied(contents)
            forged[3] |= change
            assert any(found.startswith(reason) for found in checked(forged).reasons), change
        forged = copied(contents)
        del forged[3]["count"]
        assert "'count' (missing or unknown)" in checked(forged).reasons[0]

    def test_a_wrong_row_0(self, contents: list[Content]) -> None:
        for column, value in (
            ("arms", 2),
            ("arms", ["a", "a"]),
            ("arms", ["a", 1.0]),
            ("horizon", 0),
            ("horizon", 10**9),
            ("horizon", "long"),
            ("contributions", 0),
            ("contributions", 2),
            ("contributions", True),
            ("grid_bits", 11),
            ("grid_bits", 99),
            ("reward_bounds", [0.0]),
            ("reward_bounds", 5),
            ("reward_bounds", [1.0, 0.0]),
            ("out_of_bounds", "ignore"),
            ("default_reward", 2.0),
            ("accept_delta", 1),
            ("policy", "dp-imed"),
            ("policy", {"name": "ucb"}),
            ("policy", {"name": "dp-imed", "epsilon": "1"}),
            ("live_policy", None),
            ("live_policy", {"epsilon": 1.0}),
            ("guarantee", {}),
            ("guarantee", None),
            ("guarantee", {**contents[0]["guarantee"], "proved": False}),
            ("guarantee", {("certified" if k == "proved" else k): v for k, v in contents[0]["guarantee"].items()}),
            ("guarantee", {**contents[0]["guarantee"], "unit": "one user"}),
            ("guarantee", {**contents[0]["guarantee"], "horizon": 7}),
            ("guarantee", {**contents[0]["guarantee"], "delta": -1.0}),
            ("note", 1),
        ):
            found = checked([{**contents[0], column: value}, *contents[1:]])
            assert found.verdict == "does not hold", column
            assert found.reasons[0].startswith(("Row ", "The ")), found.reasons
            assert len(found.reasons[0]) < 500
        for column in contents[0]:
            if column not in ("format", "policy"):
                without = {key: value for key, value in contents[0].items() if key != column}
                assert checked([without, *contents[1:]]).reasons == (f"Row 0 has no column {column!r}.",)


def test_what_cannot_be_told() -> None:
    for text in ("", "\n", "  \n\t"):
        assert check_ledger(text).verdict == "cannot be told"
        assert check_ledger(text).reasons == ("The text is empty: a ledger has at least one row.",)
    ledger = dpb.Ledger()
    Hybrid(epsilon=1.0, noise=RecordingNoise(SecureNoise(), ledger)).insert(1.0)
    assert "Row 0 is not the configuration of a Bandit" in check_ledger(ledger.to_jsonl()).reasons[0]
    own = contents_of(ExploreThenCommit(epsilon=0.5, plays=20))
    assert "'explore-then-commit' is not one of the built-in policies: its class is needed" in checked(own).reasons[0]

    class NotLive(ExploreThenCommit):
        def blocks(self, horizon: int) -> Any:
            raise dpb.InvalidInput("no blocks")

    found = check_ledger(chained(own), policy=NotLive)  # the name fits, the class does not
    assert (found.verdict, "Is NotLive the class that ran?" in found.reasons[0]) == ("cannot be told", True)
    assert "format=5, and this version reads 4 and before" in checked([{**TRUE[0], "format": 5}]).reasons[0]
    assert "format=True" in checked([{**TRUE[0], "format": True}]).reasons[0]
    for found in (check_ledger(""), check_ledger(ledger.to_jsonl()), checked(own)):
        assert found.verdict == "cannot be told"
        assert found.sentence.startswith("Cannot be told: ")


def test_a_broken_chain_does_not_hold() -> None:
    text = chained(TRUE).replace('"arm":1', '"arm":0', 1)
    found = check_ledger(text)
    assert found.verdict == "does not hold"
    assert "was changed: its hash does not fit" in found.reasons[0]
    assert check_ledger("nonsense").verdict == "cannot be told"


def test_claims() -> None:
    interval = contents_of(dpb.DPUCBInt(epsilon=2.0, delta=1e-6, horizon=400))
    for contents, claim, holds in (
        (TRUE, Budget(1.0), True),
        (TRUE, Budget(math.nextafter(1.0, 0) - 1e-9), False),
        (TRUE, Budget(1.0, 1e-6), True),
        (INTERVAL, Budget(2.0), True),
        (INTERVAL, Budget(1.9), False),
        (INTERVAL, Budget(1.9, 1e-2), True),  # at another delta the same schedule costs less
        (interval, Budget(2.0, 1e-6), True),
        (interval, Budget(2.0, 1e-7), False),
        (interval, Budget(3.0, 1e-7), True),
        (interval, Budget(2.0, 1e-5), True),
        (interval, Budget(2.0), False),
        (interval, Budget(100.0), True),
        (contents_of(dpb.DPIMED(epsilon=1.0), people=300, contributions=3), Budget(1.0), True),
        (contents_of(dpb.DPIMED(epsilon=1.0), people=300, contributions=3), Budget(0.5), False),
        (contents_of(dpb.DPUCBInt(epsilon=3.0, delta=1e-6)), Budget(50.0), False),  # no pure bound for ever
    ):
        assert checked(contents, claim=claim).holds is holds, (contents[0]["policy"], claim)
    # The cost that was compared is named, and there it is above the claim.
    (reason,) = checked(interval, claim=Budget(2.0, 1e-7)).reasons
    named = re.search(r"At delta = 1e-07 it costs epsilon = ([\d.]+) in one reward\.$", reason)
    assert named is not None
    assert 2.0 < float(named[1]) < 3.0
    (reason,) = checked(contents_of(dpb.DPUCBInt(epsilon=3.0, delta=1e-6)), claim=Budget(50.0)).reasons
    assert reason.endswith("At delta = 0 in one reward no bound is known.")


def test_a_claim_is_compared_with_what_is_recomputed() -> None:
    """Row 0 may understate its promise by what machines differ; a claim may not be missed by that."""
    for delta in (0.0, 1e-6):
        contents = contents_of(dpb.DPUCBInt(epsilon=2.0, delta=delta, horizon=400))
        true = contents[0]["guarantee"]["epsilon"]
        assert checked(contents, claim=Budget(true, delta)).holds
        low = true * (1 - (9e-7 if delta else 2.0**-41))
        for column in ("guarantee", "reward_guarantee"):
            contents[0][column]["epsilon"] = low
        assert checked(contents).holds
        found = checked(contents, claim=Budget(low, delta))
        assert found.verdict == "does not hold"
        assert found.whole is not None
        assert found.whole.epsilon > low
        cost, claimed = found.reasons[0].removeprefix("The schedule of row 0 costs ").split(", and the claim is ")
        assert cost != claimed.removesuffix(".")


def test_what_was_spent_is_proved_without_delta_alone() -> None:
    """How many releases an arm has had depends on what was released, which composition does not allow for."""
    with_delta = checked(contents_of(dpb.DPUCBInt(epsilon=1.0, delta=1e-6, horizon=2000), people=400))
    assert with_delta.spent is not None
    assert with_delta.spent.delta > 0
    assert not with_delta.spent.proved
    assert "So far they cost about epsilon = " in with_delta.sentence
    assert "in the end at most epsilon = " in with_delta.sentence
    assert to_page(with_delta, "ledger.jsonl").count("about epsilon = ") == 2  # the sentence, and the table of figures
    pure = checked(INTERVAL)
    assert pure.spent is not None
    assert pure.spent.proved
    assert "about" not in pure.sentence


def test_what_was_spent_is_not_told_at_a_delta_that_is_only_promised() -> None:
    """With everything else fitting: at a delta of 0.9 the same releases cost epsilon = 0."""
    forged = copied(INTERVAL)
    for column in ("guarantee", "reward_guarantee", "policy"):
        forged[0][column]["delta"] = 0.9
    found = checked(forged)
    assert found.holds
    assert found.spent == checked(INTERVAL).spent
    assert checked(forged, claim=Budget(2.0)).holds  # what the schedule costs is the same, whatever is promised


def test_a_schedule_is_made_as_far_as_the_rows_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes row 0 chooses the density, and the whole table of a thin endless schedule takes ten seconds."""
    made, original = [], dpb.DPUCBInt.blocks

    def counted(policy: dpb.DPUCBInt, horizon: int) -> Iterator[Block]:
        for block in original(policy, horizon):
            made.append(block)
            yield block

    monkeypatch.setattr(dpb.DPUCBInt, "blocks", counted)
    forged = contents_of(dpb.DPUCBInt(epsilon=3.0, delta=1e-6))
    made.clear()
    forged[0]["live_policy"]["density"] = 1e-4
    assert "its release in the schedule has" in checked(forged).reasons[0]
    assert 0 < len(made) < 100


def test_pure_schedules_that_are_too_long_cannot_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten million losses can be written into row 0 as easily as ten."""
    monkeypatch.setattr("dpbandits.live.checking.recomputed_cost._MOST_ADDED_UP", 5)
    found = checked(INTERVAL)
    assert found.verdict == "cannot be told"
    assert found.reasons == ("The schedule of row 0 has more than 5 releases of an arm, too many to add up.",)
    assert checked(TRUE).holds  # every reward is in one release
    with_delta = contents_of(dpb.DPUCBInt(epsilon=2.0, delta=1e-6, horizon=400))
    assert checked(with_delta).holds  # there is a quick bound
    assert checked(with_delta, claim=Budget(3.0, 1e-7)).holds
    assert not checked(with_delta, claim=Budget(100.0)).holds  # but none for a pure claim


def test_users_policies_are_added_up() -> None:
    """What a policy says of itself is not believed where its blocks say more."""

    class Boastful(Phases):
        def guarantee(self, horizon: float = math.inf) -> dpb.Guarantee:
            return dpb.Guarantee(self.epsilon / 2, horizon=horizon, theorem="hope", proved=True)

    contents = contents_of(Phases(epsilon=0.7))
    for column in ("guarantee", "reward_guarantee"):
        contents[0][column]["epsilon"] = 0.35
    found = checked(contents, policy=Boastful)
    assert found.verdict == "does not hold"
    assert "promises epsilon = 0.35 in one reward, but its schedule costs up to epsilon = 0.7" in found.reasons[0]

    class Failing(Phases):
        def blocks(self, horizon: int) -> Any:
            raise OSError("no blocks")

    assert "cannot be made: no blocks" in checked(contents, policy=Failing).reasons[0]


def test_what_row_0_says_of_times_and_shares_is_told_to_be_unchecked() -> None:
    policy = dpb.recommended(epsilon=4.0)
    for options, expected in (
        ({}, (False, False)),
        ({"window": 60.0}, (True, False)),
        ({"shares": {0: 0.25}}, (False, True)),
    ):
        ledger = dpb.Bandit(policy, 2, **options).ledger
        found = check_ledger(ledger.to_jsonl())
        assert found.holds
        texts = ("That blocks were released when row 0 says", "That arms got the shares of all decisions")
        assert tuple(any(item.startswith(text) for item in found.unchecked) for text in texts) == expected


def test_users_policies_of_all_rewards_so_far() -> None:
    """A schedule with an end is composed; of one without, the policy's own word is taken, and the check says so."""

    class Mine(dpb.DPUCBInt):
        name = "mine"

    word = "What the whole schedule costs: "
    for policy, is_told in ((Mine(epsilon=2.0, delta=0.0, horizon=400), False), (Mine(epsilon=3.0, delta=1e-6), True)):
        contents = contents_of(policy)
        found = checked(contents, policy=Mine)
        assert found.holds
        assert any(item.startswith(word) for item in found.unchecked) is is_told
        contents[-1]["scale"] *= 0.5
        assert not checked(contents, policy=Mine).holds
    assert not checked(contents_of(Mine(epsilon=2.0, delta=0.0, horizon=400)), policy=Mine, claim=Budget(1.0)).holds


def test_odd_arguments() -> None:
    text = chained(TRUE)
    for named, message in (
        ({"head": 5}, "Expected head=5 to be the number and the hash of a row"),
        ({"head": "abc"}, "Expected head='abc' as HASH or NUMBER:HASH"),
        ({"head": (1, 2)}, r"Expected head=\(1, 2\) to be"),
        ({"policy": ExploreThenCommit}, "Expected policy=ExploreThenCommit to be the one of the ledger, 'dp-imed'"),
    ):
        with pytest.raises(InvalidInput, match=message):
            check_ledger(text, **named)
    wrong: dict[str, Any]
    for wrong, message in (
        ({"claim": 1}, "Expected claim=1 to be a Budget"),
        ({"policy": dpb.DPIMED(epsilon=1.0)}, "Expected policy=DPIMED.* to be the class of a policy"),
        ({"policy": int}, "Expected policy=<class 'int'> to be the class"),
    ):
        with pytest.raises(dpb.WrongKind, match=message):
            check_ledger(text, **wrong)
    odd: Any
    for odd in (None, 5, b"x", []):
        with pytest.raises(dpb.WrongKind, match="Expected a ledger as text, not "):
            check_ledger(odd)


def test_json_and_words() -> None:
    found = checked(TRUE, claim=Budget(2.0))
    plain = found.to_dict()
    assert plain["verdict"] == "holds"
    assert plain["whole"]["epsilon"] == 1.0
    assert plain["claim"] == {"epsilon": 2.0, "delta": 0.0}
    assert plain["head"]["number"] == len(TRUE) - 1
    text = str(found)
    assert f"Holds: {len(TRUE) - 1} releases of dp-imed, as row 0 lays down." in text
    assert "within the epsilon = 1 that row 0 promises and the epsilon = 2 of the claim." in text
    assert "That the noise was really drawn so" in text


def test_assignments_that_leave_no_room() -> None:
    assert fit_together([])
    assert fit_together([AssignmentRange(5, 5, 1)])
    assert fit_together([AssignmentRange(1, 10, 5), AssignmentRange(2, 9, 5)])
    assert not fit_together([AssignmentRange(1, 10, 5), AssignmentRange(2, 9, 6)])
    assert not fit_together([AssignmentRange(1, 10, 5), AssignmentRange(10, 12, 2)])  # one assignment in two blocks
    assert not fit_together([AssignmentRange(1, 4, 3), AssignmentRange(2, 5, 2), AssignmentRange(3, 6, 2)])
    forged = copied(TRUE)
    one, other = (next(row for row in forged[1:] if (row["arm"], row["release"]) == (arm, 1)) for arm in (0, 1))
    other["first"] = other["last"] = one["first"]
    assert "leave no room for so many different ones" in checked(forged).reasons[0]


def test_places_against_trying_everything() -> None:
    """The quick way agrees with a search over all ways to hand out twelve numbers."""
    dice = random.Random(4)  # noqa: S311

    def possible(stretches: list[AssignmentRange]) -> bool:
        ends = [end for stretch in stretches for end in {stretch.first, stretch.last}]
        if len(set(ends)) < len(ends):
            return False
        free = [number for number in range(1, 13) if number not in ends]
        needs = [stretch.holds - len({stretch.first, stretch.last}) for stretch in stretches]

        def place(position: int, needs: list[int]) -> bool:
            if position == len(free):
                return not any(needs)
            if place(position + 1, needs):
                return True
            return any(
                need > 0
                and stretch.first < free[position] < stretch.last
                and place(position + 1, [*needs[:index], need - 1, *needs[index + 1 :]])
                for index, (need, stretch) in enumerate(zip(needs, stretches, strict=True))
            )

        return place(0, needs)

    answers = []
    for _ in range(300):
        stretches = []
        for _ in range(dice.randint(1, 3)):
            first = dice.randint(1, 11)
            last = dice.randint(first + 1, 12)
            stretches.append(AssignmentRange(first, last, dice.randint(2, last - first + 1)))
        answers.append(fit_together(stretches))
        assert answers[-1] == possible(stretches)
    assert 50 < sum(answers) < 250
