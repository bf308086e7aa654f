"""People as hashes: who is the same person."""

from dpbandits.live.units import Units, is_hash


def test_a_key_and_a_name_of_the_same_text_have_different_hashes() -> None:
    units = Units(1)
    (visit,) = units.hashed_visits([("text", "text")])
    assert len({units.hashed_unit("text"), units.hashed_key("text"), visit.key}) == 3
    assert all(map(is_hash, (visit.unit, visit.key, units.hashed_key("text"))))


def test_a_name_is_the_same_however_it_is_encoded() -> None:
    units = Units(1)
    assert units.hashed_unit("Jos\u00e9") == units.hashed_unit("Jose\u0301") != units.hashed_unit("Jose")
    assert units.hashed_unit(7) == units.hashed_unit("7")


def test_every_experiment_has_a_key_of_its_own() -> None:
    assert Units(1).hashed_unit("Zebedee") != Units(1).hashed_unit("Zebedee")


def test_a_key_of_a_visit_is_that_of_one_person() -> None:
    p, q, again = Units(1).hashed_visits([("p", "1"), ("q", "1"), ("p", "1")])
    assert p == again
    assert p.key != q.key


def test_people_without_a_name_have_no_hash() -> None:
    units = Units(1)
    assert units.hashed_unit(None) is None
    assert units.hashed_visits([(None, None)]) == [(None, None)]
