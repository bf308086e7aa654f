"""People who come again: what they are given, what enters, and what that costs them."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from doubling_phases import Phases
from dpbandits.live.journal import Journal
from dpbandits.policies import Policy
from explore_then_commit import ExploreThenCommit
from insides import state_of
from journal_lines import records_in
from servable_policies import SERVABLE, shown
from shared_noise import SharedNoise
from tainted_noise import TaintedNoise

pytestmark = pytest.mark.slow

PLAYS = 5
POLICY = ExploreThenCommit(epsilon=1.0, plays=PLAYS)
VARIANTS = ["A", "B", "C", "D", "E"]


def fresh(arms: Any = ("A", "B"), **options: Any) -> dpb.Bandit:
    return dpb.Bandit(POLICY, arms, **options)


def assigned(bandit: dpb.Bandit) -> int:
    """Return how many assignments there were."""
    return int(bandit.to_pandas()["assigned"].sum())


def records_of(path: Path) -> list[dict[str, Any]]:
    """Return the steps in a journal."""
    return records_in(path)[1:]


# ---- once and again


def test_a_person_enters_once_and_keeps_the_assignment() -> None:
    noise = SharedNoise(1)
    bandit = fresh(noise=noise)
    first = bandit.assign(unit="p-17")
    again = [bandit.assign(unit="p-17") for _ in range(3)]
    assert again == [first] * 3
    assert [first.is_new, *(a.is_new for a in again)] == [True, False, False, False]
    second = bandit.assign(unit="p-18")
    assert second.arm == "B"  # the turn goes on where it was
    assert bandit.open_assignments() == [first, second]
    bandit.close(first, 1.0)
    assert bandit.assign(unit="p-17") == first  # also after the answer: nobody can tell from it whether one came
    with pytest.raises(dpb.AlreadyClosed):
        bandit.close(first, 1.0)
    bandit.close(second, 1.0)
    assert (noise.encoded, assigned(bandit)) == (2, 2)


def test_a_returning_visitor_sees_one_variant() -> None:
    noise = SharedNoise(1)
    bandit = fresh(VARIANTS, contributions=5, noise=noise)
    given = [bandit.assign(unit="p") for _ in range(7)]
    assert [a.arm for a in given] == ["A"] * 7
    assert [a.is_new for a in given] == [True] * 5 + [False] * 2
    bandit.close_many([(a, 1.0) for a in given[:5]])
    assert (noise.encoded, bandit.estimates()["A"].rewards) == (5, 5)
    assert bandit.assign(unit="q").arm == "B"
    noise = SharedNoise(1)
    other = fresh(VARIANTS, contributions=5, sticky=False, noise=noise)
    given = [other.assign(unit="p") for _ in range(7)]
    assert [a.arm for a in given] == ["A", "B", "C", "D", "E", "E", "E"]
    assert [a.is_new for a in given] == [True] * 5 + [False] * 2
    other.close_many([(a, 1.0) for a in given[:5]])
    assert noise.encoded == 5
    assert other.to_pandas()["assigned"].tolist() == [1] * 5


def test_a_visit_is_no_decision_of_the_policy() -> None:
    """Turns and t go on as if nobody had come."""
    noise = SharedNoise(1)
    bandit = fresh(VARIANTS, contributions=3, noise=noise)
    given = [bandit.assign(unit=person) for person in (1, 1, 2, 1, 2, 3, 2, 1, 4)]
    assert [a.arm for a in given] == ["A", "A", "B", "A", "B", "C", "B", "A", "D"]
    bandit.close_many([(a, 1.0) for a in given if a.is_new])
    assert noise.encoded == 8
    assert bandit.assign(unit=5).arm == "E"  # the fifth decision


def test_a_visit_takes_the_next_free_place_of_its_arm() -> None:
    bandit = dpb.Bandit(Phases(epsilon=3.0), 2, contributions=3)
    assignments = [bandit.assign(unit=person) for person in range(10)]
    assignments += [bandit.assign(unit=person) for person in range(0, 10, 2)]  # all of them have arm 0
    for assignment in assignments:
        bandit.close(assignment, 1.0)
    (row,) = [row.content for row in bandit.ledger if row.number]
    assert (row["arm"], row["count"], row["first"], row["last"]) == (0, 8, 1, 13)
    people = [0, 2, 4, 6, 8, *range(10, 28)]  # two of the second block are given: 5 visits, and 9 of those who are new
    for assignment in bandit.assign_many(people):
        bandit.close(assignment, 1.0)
    second = [row.content for row in bandit.ledger if row.number and row.content["arm"] == 0][1]
    assert (second["count"], second["first"]) == (16, 14)


def test_a_person_enters_as_often_as_declared() -> None:
    noise = SharedNoise(1)
    bandit = fresh(contributions=2, sticky=False, noise=noise)
    given = [bandit.assign(unit=7) for _ in range(5)]
    assert [a.arm for a in given] == ["A", "B", "B", "B", "B"]
    assert len({a.id for a in given}) == 2
    bandit.close_many([(a, 1.0) for a in given[:2]])
    assert noise.encoded == 2
    assert bandit.assign(unit="7") == given[1]  # the same person, written as text
    assert bandit.guarantee.unit == "up to 2 rewards of one person"
    assert bandit.guarantee.epsilon <= 1.0
    for other in range(100, 108):
        bandit.close(bandit.assign(unit=other), 1.0)
    assert [row.content["scale"] for row in bandit.ledger if row.number] == [2.0 * 4096] * 2


@pytest.mark.parametrize("sticky", [True, False])
def test_an_assignment_outside_of_every_block_uses_up_nothing(sticky: bool) -> None:
    noise = SharedNoise(1)
    bandit = fresh(sticky=sticky, noise=noise)
    filled = [bandit.assign() for _ in range(2 * PLAYS)]
    early = bandit.assign(unit="early")
    assert bandit.assign(unit="early") == early  # nothing more can enter
    assert assigned(bandit) == len(filled) + 1
    bandit.close_many([(a, 1.0) for a in bandit.open_assignments()])
    assert noise.encoded == len(filled)


def test_visits_can_use_up_the_horizon_before_every_arm_had_a_release() -> None:
    noise = SharedNoise(1)
    policy = Phases(epsilon=12.0)  # blocks of 8 and 16
    bandit = dpb.Bandit(policy, ["A", "B"], contributions=17, horizon=24, noise=noise)
    bandit.close(bandit.assign(unit="often"), 1.0)
    bandit.close(bandit.assign(unit="once"), 1.0)  # B
    for _ in range(16):
        assert not bandit.exhausted
        bandit.close(bandit.assign(unit="often"), 1.0)
    assert len(bandit.ledger) == 2
    assert noise.encoded == 18
    assert bandit.exhausted  # six places are left, and either arm would need seven
    late = [bandit.assign(unit=f"late {person}") for person in range(8)]
    assert [a.arm for a in late] == ["A", "B"] * 4
    bandit.close_many([(a, 1.0) for a in late])
    assert noise.encoded == 24
    assert bandit.estimates()["B"].mean is None


def test_a_name_is_the_same_however_it_is_encoded() -> None:
    bandit = fresh()
    assert len({bandit.assign(unit=name).id for name in ("Jos\u00e9", "Jose\u0301", "Jos\u00e9")}) == 1
    assert assigned(bandit) == 1


def test_names_of_people_are_kept_nowhere() -> None:
    bandit, other = fresh(), fresh()
    bandit.assign(unit="Zebedee Q")
    other.assign(unit="Zebedee Q")
    assert not any("Zebedee" in each.to_json() for each in (bandit, other))
    hashes = [state_of(each)["people"][0] for each in (bandit, other)]
    assert [len(each) for each in hashes] == [1, 1]
    assert hashes[0] != hashes[1]  # a key of its own


# ---- what it costs


def loss_of_person(bandit: dpb.Bandit, noise: TaintedNoise, visits: list[str]) -> Fraction:
    """Return what the person 'p' has lost in all releases, of all their rewards together."""
    encoded: list[str] = []
    for person in visits:
        before = noise.encoded
        visit = bandit.assign(unit=person)
        if visit.is_new:
            bandit.close(visit, 1.0)
        encoded += [person] * (noise.encoded - before)
    losses = noise.taint.losses()
    return sum((Fraction(losses.get(n, 0.0)) for n, who in enumerate(encoded, start=1) if who == "p"), Fraction(0))


def test_all_visits_of_one_person_in_one_block_cost_the_whole_budget() -> None:
    noise = TaintedNoise(3)
    bandit = fresh(contributions=PLAYS, noise=noise)
    loss = loss_of_person(bandit, noise, ["p"] * PLAYS)
    (release,) = noise.taint.releases
    assert sum(kind == "reward" for kind, _ in release) == PLAYS  # all of them, and nobody else's
    assert float(loss) == pytest.approx(bandit.guarantee.epsilon, rel=1e-6)
    assert loss <= Fraction(bandit.guarantee.epsilon)


def test_a_budget_that_is_not_divided_is_noticed() -> None:
    """The measure has power: it sees every one of a person's rewards."""

    class Undivided(ExploreThenCommit):
        def live(self, contributions: int, grid_bits: int) -> "Undivided":
            return self

    noise = TaintedNoise(3)
    bandit = dpb.Bandit(Undivided(epsilon=1.0, plays=PLAYS), 2, contributions=PLAYS, noise=noise)
    assert loss_of_person(bandit, noise, ["p"] * PLAYS) == PLAYS
    assert bandit.guarantee.epsilon == PLAYS  # and it is not promised either


@pytest.mark.parametrize("sticky", [True, False])
@pytest.mark.parametrize("apart", [0, 7, 40], ids=["together", "near", "spread"])
@pytest.mark.parametrize(
    "policy",
    [policy for policy in SERVABLE if getattr(policy, "delta", 0.0) == 0 and policy.name != "adap-klucb"],
    ids=shown,
)
def test_visits_of_one_person_cost_no_more_than_the_budget(policy: Policy, apart: int, sticky: bool) -> None:
    """With delta = 0 what a person loses is the sum over their rewards, however these are spread over blocks."""
    noise = TaintedNoise(5)
    bandit = dpb.Bandit(policy, 2, noise=noise, contributions=4, sticky=sticky)
    visits: list[str] = []
    for visit in range(4):
        visits += ["p", *(f"{visit}.{other}" for other in range(apart))]
    visits += [f"later {other}" for other in range(400 - len(visits))]
    loss = loss_of_person(bandit, noise, visits)
    assert 0 < float(loss) <= bandit.guarantee.epsilon * (1 + 1e-12)


# ---- on disk


def test_row_0_and_the_journal_say_whether_it_is_sticky(tmp_path: Path) -> None:
    for sticky in (True, False):
        path = tmp_path / f"{sticky}.journal"
        bandit = fresh(VARIANTS, contributions=3, sticky=sticky, journal=path)
        assert (bandit.ledger[0].content["format"], bandit.ledger[0].content["sticky"]) == (4, sticky)
        assert dpb.check_ledger(bandit.ledger.to_jsonl(), policy=ExploreThenCommit).holds
        arms = [bandit.assign(unit=person).arm for person in "papbp"]
        bandit.detach()
        with pytest.raises(dpb.JournalError, match=f"was begun with sticky={sticky}, not with {not sticky}"):
            fresh(VARIANTS, contributions=3, sticky=not sticky, journal=path)
        again = fresh(VARIANTS, contributions=3, journal=path)  # as the journal says
        assert again.ledger[0].content["sticky"] is sticky
        assert [a.arm for a in again.open_assignments()] == arms
        assert again.assign(unit="p").arm == arms[-1]
        assert again.assign(unit="b").arm == ("C" if sticky else "A")
        again.detach()
        moved = fresh(VARIANTS, contributions=3, sticky=sticky)
        latest = [moved.assign(unit="p") for _ in range(3)][-1]
        moved = dpb.Bandit.from_json(moved.to_json(), policy=POLICY)
        assert moved.assign(unit="p") == latest
        assert moved.ledger[0].content["sticky"] is sticky


@pytest.mark.parametrize("sticky", [None, False])
def test_a_journal_of_an_earlier_format_is_not_sticky(tmp_path: Path, sticky: bool | None) -> None:
    path = copied(tmp_path)
    arms: dict[str, set[int]] = {}
    for record in records_of(path):
        if "assign" in record:
            arms.setdefault(record["unit"], set()).add(record["assign"])
    assert {0, 1} in arms.values()  # a sticky bandit would not follow a journal in which one person has both
    bandit = dpb.Bandit(dpb.recommended(epsilon=2.0), ["A", "B"], contributions=3, journal=path, sticky=sticky)
    assert "sticky" not in bandit.ledger[0].content
    given = [bandit.assign(unit="new") for _ in range(5)]
    assert all(a.is_new for a in given)
    assert len({a.id for a in given}) == 5  # by its own rule they get a new one, for nothing
    assert given[2].arm == given[3].arm == given[4].arm
    assert [record["block"] is None for record in records_of(path)[-5:]] == [False] * 3 + [True] * 2


def test_a_journal_of_an_earlier_format_does_not_become_sticky(tmp_path: Path) -> None:
    path = copied(tmp_path)
    content = path.read_bytes()
    with pytest.raises(dpb.JournalError, match="was begun with sticky=False, not with True"):
        dpb.Bandit(dpb.recommended(epsilon=2.0), ["A", "B"], contributions=3, journal=path, sticky=True)
    assert path.read_bytes() == content


def copied(folder: Path) -> Path:
    name = "dp-imed-noise-aware.journal"
    for ending in ("", ".mark"):
        content = (Path(__file__).parent / "before" / "format_2" / f"{name}{ending}").read_bytes()
        (folder / f"{name}{ending}").write_bytes(content)
        (folder / f"{name}{ending}").chmod(0o600)
    return folder / name


def test_bad_options_are_refused() -> None:
    for bad in ("no", 1, 0):
        with pytest.raises(dpb.InvalidInput, match=r"Expected sticky=.* to be True or False\."):
            fresh(sticky=bad)


def test_two_bandits_with_the_same_noise_and_visits_agree() -> None:
    """The rewards of a person who comes again change nothing before the release that holds them."""
    arms = []
    for reward in (0.0, 1.0):
        bandit = dpb.Bandit(Phases(epsilon=3.0), 3, contributions=3, noise=SharedNoise(4))
        visits = [bandit.assign(unit=person % 9) for person in range(27)]
        for number, visit in enumerate(visits):
            bandit.close(visit, reward if number in (0, 9, 18) else 0.5)
        rows = [row.content for row in bandit.ledger if row.number]
        arms.append(([visit.arm for visit in visits], [(row["arm"], row["count"]) for row in rows]))
    assert arms[0] == arms[1]


# ---- asking again


def test_a_visit_that_is_asked_for_again_is_known_by_its_key(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    bandit = fresh(VARIANTS, contributions=3, journal=path)
    first = bandit.assign(unit="p", key="request 1")
    content = path.read_bytes()
    for _ in range(2):
        again = bandit.assign(unit="p", key="request 1")
        assert (again, again.is_new) == (first, False)
    assert path.read_bytes() == content
    second = bandit.assign(unit="p", key="request 2")
    other = bandit.assign(unit="q", key="request 1")  # of another person it is another key
    assert len({first.id, second.id, other.id}) == 3
    bandit.close(first, 1.0)
    bandit.detach()
    assert b"request" not in path.read_bytes()
    bandit = fresh(VARIANTS, contributions=3, journal=path)
    assert bandit.assign(unit="p", key="request 1") == first  # also after the answer and after a crash
    assert bandit.assign_many(["q", "p", "p"], keys=["request 1", "request 2", None])[:2] == [other, second]
    bandit.detach()
    moved = fresh()
    anonymous = moved.assign(key="request 1")
    moved = dpb.Bandit.from_json(moved.to_json(), policy=POLICY)
    assert moved.assign(key="request 1") == anonymous
    assert moved.assign(key="request 2") != anonymous


def test_retried_visits_do_not_stop_an_experiment() -> None:
    """Without a key each would take a place that nobody answers, and hold its block for ever."""
    noise = SharedNoise(1)
    bandit = dpb.Bandit(Phases(epsilon=3.0), 5, contributions=3, noise=noise)
    for visit in range(120):
        for _ in range(3):
            assignment = bandit.assign(unit=visit % 40, key=f"visit {visit}")
        bandit.close(assignment, 1.0, key=f"answer {visit}")
    assert noise.encoded == 120
    assert len(bandit.ledger) > 5
    assert bandit.open_assignments() == []


def test_keys_of_visits_are_checked() -> None:
    bandit = fresh()
    for bad in (7, "", b"key"):
        with pytest.raises(dpb.InvalidInput, match=r"Expected key=.* to be text of 1 to 10000 characters\."):
            bandit.assign(key=bad)  # type: ignore[arg-type]
    with pytest.raises(dpb.InvalidInput, match=r"Expected as many keys as units, not 1 for 2\."):
        bandit.assign_many(["p", "q"], keys=["k"])
    assert assigned(bandit) == 0


# ---- records that somebody made up


@pytest.mark.parametrize(
    "record",
    [
        {"assign": 1, "block": 0, "unit": "P"},  # another arm than the first
        {"assign": 0, "block": 1, "unit": "P"},
        {"assign": 0, "block": None, "unit": "P"},
        {"assign": 1, "block": 0, "unit": "Q"},  # who has given all their rewards
        {"assign": 0, "block": 0, "unit": "Q"},
        {"assign": 1, "block": None, "unit": "Q"},
        {"assign": 1, "block": 0},  # without a name, where the rewards of each are counted
        {"assign": 1, "block": 0, "selection": True},
        {"assign": 1, "block": 0, "unit": "R", "selection": True},
        {"assign": 1, "block": 0, "unit": "R", "key": "a name"},
        {"assign": 1, "block": 0, "unit": "R", "key": "K"},  # a visit that there was already
        {"close": 1, "reward": 0, "key": "a name"},
        {"close": 1, "reward": 0, "key": 7},
    ],
    ids=str,
)
def test_a_record_that_no_bandit_writes_is_not_followed(tmp_path: Path, record: dict[str, Any]) -> None:
    path = tmp_path / "journal"
    bandit = fresh(contributions=2, journal=path)
    bandit.assign(unit="p", key="k")
    for _ in range(2):
        bandit.assign(unit="q")
    bandit.detach()
    first, second, _ = records_of(path)
    of_p, key, of_q = first["unit"], first["key"], second["unit"]
    hashes = {"P": of_p, "Q": of_q, "R": "0" * 32, "K": key}
    journal = Journal(path)
    assert len(list(journal.records())) == 4
    journal.force()
    journal.go_on()
    journal.append({name: hashes.get(value, value) for name, value in record.items()})
    journal.close()
    with pytest.raises(dpb.JournalError, match="cannot be followed from record 4 on"):
        fresh(contributions=2, journal=path)


def test_a_key_stands_for_one_assignment_also_where_nothing_enters_for_a_while() -> None:
    """Without sticky the choice may go to an arm that has places again."""
    noise = SharedNoise(1)
    noise.draw = lambda scale, mechanism: 0  # type: ignore[method-assign]
    bandit = dpb.Bandit(dpb.AdaPUCB(epsilon=7.0), 2, horizon=60, contributions=50, sticky=False, noise=noise)
    held, given = set(), {}
    for visit in range(200):
        key = f"visit {visit}"
        given[key] = bandit.assign(unit=visit % 9, key=key)
        if given[key].arm == 1:
            held.add(given[key])
        elif given[key].is_new:
            bandit.close(given[key], 1.0)
        if visit == 120:
            bandit.close_many([(assignment, 1.0) for assignment in held])
    for visit in range(200):
        assert bandit.assign(unit=visit % 9, key=f"visit {visit}") == given[f"visit {visit}"]
