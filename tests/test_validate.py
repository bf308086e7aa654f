"""Whatever is passed in, the error is one sentence of a readable length."""

from fractions import Fraction

import pytest

from dpbandits import Budget, InvalidInput, _validate


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


CASES: list[tuple[object, str]] = [
    (1.5, "1.5"),
    ("a", "'a'"),
    (Fraction(1, 3), "1/3"),
    (10**5000, "a number of thousands of digits"),
    ([10**5000], "something of type list"),
    (Unprintable(), "something of type Unprintable"),
    ("a" * 78, "'" + "a" * 78 + "'"),
    ("a" * 10**6, "'" + "a" * 59 + "... (1,000,002 characters)"),
    (10**100, "1" + "0" * 59 + "... (101 characters)"),
    ("two\nlines", r"'two\nlines'"),
]
HOSTILE = ["a" * 10**6, [1] * 10**6, 10**5000, -(10**5000), Fraction(10**5000, 3), Unprintable()]


def test_values_in_errors_are_readable() -> None:
    assert [_validate.value_text(value) for value, _ in CASES] == [value_text for _, value_text in CASES]


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_errors_are_short(value: object) -> None:
    for check in (
        lambda: Budget(value),  # type: ignore[arg-type]
        lambda: _validate.integer("[1, 10]", arms=value),
        lambda: _validate.flag(exact=value),
        lambda: _validate.one_of(["a", "b"], series=value),
        lambda: _validate.horizon(value),
    ):
        with pytest.raises(InvalidInput, match="Expected ") as refused:
            check()
        assert len(str(refused.value)) < 200
