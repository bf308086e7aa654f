"""People as hashes: who is the same person, how often they have entered, and which arm they keep."""

import pytest

from dpbandits.live.units import PastAssignment, Units, is_hash


def units_of(contributions: int = 1, *, sticky: bool = True, repeats: bool = True) -> Units:
    return Units(contributions, sticky=sticky, repeats=repeats)


def test_a_key_and_a_name_of_the_same_text_have_different_hashes() -> None:
    units = units_of()
    (visit,) = units.hashed_visits([("text", "text")])
    assert len({units.hashed_unit("text"), units.hashed_key("text"), visit.key}) == 3
    assert all(map(is_hash, (visit.unit, visit.key, units.hashed_key("text"))))


def test_a_name_is_the_same_however_it_is_encoded() -> None:
    units = units_of()
    assert units.hashed_unit("Jos\u00e9") == units.hashed_unit("Jose\u0301") != units.hashed_unit("Jose")
    assert units.hashed_unit(7) == units.hashed_unit("7")


def test_every_experiment_has_a_key_of_its_own() -> None:
    assert units_of().hashed_unit("Zebedee") != units_of().hashed_unit("Zebedee")


def test_a_key_of_a_visit_is_that_of_one_person() -> None:
    p, q, again = units_of().hashed_visits([("p", "1"), ("q", "1"), ("p", "1")])
    assert p == again
    assert p.key != q.key


@pytest.mark.parametrize("sticky", [True, False])
def test_an_assignment_that_enters_nothing_uses_up_nothing(sticky: bool) -> None:
    units = units_of(sticky=sticky)
    early = units.hashed_unit("early")
    units.note(early, arm=1, number=11, enters=False)
    assert units.may_enter(early)
    assert units.fixed_arm(early) == (1 if sticky else None)
    units.note(early, arm=1, number=12, enters=True)
    assert not units.may_enter(early)
    assert units.fixed_arm(early) == 1  # what is left to them is what they have
    assert units.latest == {early: PastAssignment(1, 1, 12)}


def test_a_person_enters_as_often_as_declared() -> None:
    units = units_of(3)
    person = units.hashed_unit("p")
    for number in (1, 2, 3):
        assert units.may_enter(person)
        units.note(person, arm=0, number=number, enters=True)
    assert not units.may_enter(person)
    assert units.may_enter(units.hashed_unit("q"))


def test_nothing_is_remembered_of_people_without_a_name() -> None:
    units = units_of()
    assert units.hashed_unit(None) is None
    units.note(None, arm=0, number=1, enters=True)
    assert units.may_enter(None)
    assert units.fixed_arm(None) is None
    assert units.latest == {}
