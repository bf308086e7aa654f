"""A ledger that was touched anywhere must say so."""

import hashlib
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbandits import InvalidInput, Ledger, LedgerError, WrongKind
from dpbandits.privacy import verify
from dpbandits.privacy.ledger import GENESIS
from threads import in_threads

pytestmark = pytest.mark.slow

plain_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def example() -> Ledger:
    ledger = Ledger()
    ledger.append({"configuration": {"epsilon": 0.1, "arms": ["a", "b"]}})
    for number in range(4):
        ledger.append({"release": number, "value": 0.1 * number, "scale": 1e-7})
    return ledger


@given(st.lists(st.dictionaries(st.text(), plain_json, max_size=4), min_size=1, max_size=5))
def test_exact_round_trip(contents: list[dict[str, object]]) -> None:
    ledger = Ledger()
    for content in contents:
        ledger.append(content)
    text = ledger.to_jsonl()
    again = Ledger.from_jsonl(text, head=ledger.head)
    assert again.to_jsonl() == text
    assert [row.content for row in again] == contents
    assert verify(text, head=ledger.head) == ledger.head


def test_an_empty_ledger_shows_nothing() -> None:
    assert Ledger().head == (-1, GENESIS)
    for check in (lambda: verify(""), lambda: verify("", head=(-1, GENESIS)), lambda: Ledger.from_jsonl("")):
        with pytest.raises(LedgerError, match="The text is empty: a ledger has at least one row"):
            check()
    with pytest.raises(LedgerError, match="is empty"):
        Ledger().verify()


def forged(columns: str) -> str:
    """A line whose hash fits its columns, whatever they are."""
    return columns[:-1] + f',"hash":"{hashlib.sha256(columns.encode()).hexdigest()}"}}'


LONG = "9" * 5000
HOSTILE = {
    "blanks": "   ",
    "other lines": "\n\n",
    "a long number of a row": '{"content":{},"hash":"","number":' + LONG + ',"previous":""}',
    "a long number in a content": '{"content":{"a":' + LONG + '},"hash":"","number":0,"previous":""}',
    "a long text": f'"{"a" * 10**6}"',
    "a content that is text": f'{{"content":"{"a" * 10**6}","hash":"x","number":0,"previous":"0"}}',
    "a long column": f'{{"{"k" * 10**6}":1}}',
    "a long key, twice": f'{{"{"k" * 10**6}":1,"{"k" * 10**6}":1}}',
    "a nested content": '{"content":{"a":' + "[" * 10**5 + "]" * 10**5 + '},"hash":"","number":0,"previous":""}',
    "not a number": '{"content":{"a":NaN},"hash":"x","number":0,"previous":"0"}',
    "infinity": '{"content":{"a":1e999},"hash":"x","number":0,"previous":"0"}',
    "half a character": '{"content":{"a":"\\ud800"},"hash":"x","number":0,"previous":"0"}',
    "a number that is a list": forged(f'{{"content":{{}},"number":[],"previous":"{GENESIS}"}}'),
    "a hash that is a number": '{"content":{},"hash":1,"number":0,"previous":"0"}',
    "a control character": "\x00",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_whatever_a_file_holds_the_error_is_one_short_sentence(text: str) -> None:
    refused_in_short(LedgerError, text)


@pytest.mark.parametrize(
    "given", [None, example.__name__.encode() * 10_000, [1] * 10**5], ids=["None", "bytes", "list"]
)
def test_what_is_no_text_is_no_ledger(given: Any) -> None:
    refused_in_short(WrongKind, given)


def refused_in_short(error: type[Exception], given: Any) -> None:
    for check in (verify, Ledger.from_jsonl):
        with pytest.raises(error) as refused:
            check(given)
        message = str(refused.value)
        assert len(message) < 250
        assert "\n" not in message
        assert message.endswith(".")


@pytest.mark.parametrize(
    "head", [5, "abc", (1,), (1, 2, 3), ("1", "2"), (1, 2), (True, "x"), 1.5, object(), {1: "x", 2: "y"}, ([], [])]
)
def test_odd_heads_are_refused(head: Any) -> None:
    for check in (verify, Ledger.from_jsonl):
        with pytest.raises(InvalidInput, match=r"Expected head=.* to be the number and the hash of a row\."):
            check(example().to_jsonl(), head)


@pytest.mark.parametrize("head", [(10**5000, "a"), (4, "a" * 10**6), (-1, ""), [4, "é\n"]], ids=range(4))
def test_heads_of_other_ledgers_are_named_in_short(head: Any) -> None:
    with pytest.raises(LedgerError, match="not at the expected head, row ") as refused:
        verify(example().to_jsonl(), head)
    assert len(str(refused.value)) < 300
    assert verify(example().to_jsonl(), list(example().head)) == example().head  # type: ignore[arg-type]


def test_every_changed_character_is_found() -> None:
    """Each single-character change of the export breaks it, except where JSON itself does not mind."""
    text = example().to_jsonl()
    head = example().head
    for position, old in enumerate(text):
        for new in "0a ":
            if new == old:
                continue
            changed = text[:position] + new + text[position + 1 :]
            if _same_json(changed, text):
                continue
            with pytest.raises(LedgerError):
                verify(changed, head=head)


def _same_json(a: str, b: str) -> bool:
    try:
        return [json.loads(line) for line in a.splitlines()] == [json.loads(line) for line in b.splitlines()]
    except ValueError:
        return False


def test_removed_moved_and_added_rows() -> None:
    ledger = example()
    lines = ledger.to_jsonl().splitlines(keepends=True)
    for broken in (lines[1:], lines[:2] + lines[3:], [lines[1], lines[0], *lines[2:]], [*lines, lines[-1]]):
        with pytest.raises(LedgerError, match="does not follow the row before"):
            verify("".join(broken))


def test_truncation_needs_the_head() -> None:
    ledger = example()
    shorter = "".join(ledger.to_jsonl().splitlines(keepends=True)[:-1])
    assert verify(shorter)[0] == 3  # a chain alone cannot know
    with pytest.raises(LedgerError, match=r"ends at row 3 with hash .*, not at the expected head, row 4 with"):
        verify(shorter, head=ledger.head)
    with pytest.raises(LedgerError, match="expected head"):
        Ledger.from_jsonl(shorter, head=ledger.head)


def test_rebuilt_chain_is_found_by_the_head() -> None:
    rebuilt = Ledger()
    for row in example():
        content = row.content
        rebuilt.append({**content, "value": 7.0} if row.number == 2 else content)
    assert verify(rebuilt.to_jsonl())[0] == 4
    with pytest.raises(LedgerError, match="expected head"):
        verify(rebuilt.to_jsonl(), head=example().head)


@pytest.mark.parametrize("line", ["nonsense", "[]", "7", '{"number":0}', '{"content":{},"content":{}}', "null"])
def test_unreadable_rows(line: str) -> None:
    with pytest.raises(LedgerError, match="Row 5 "):
        verify(example().to_jsonl() + line + "\n")


def test_blank_lines_at_the_end_are_no_rows() -> None:
    assert verify(example().to_jsonl() + "\n \n") == example().head


def test_extra_columns_are_refused() -> None:
    row = json.loads(example().to_jsonl().splitlines()[0])
    with pytest.raises(LedgerError, match="other columns"):
        verify(json.dumps({**row, "note": 1}))


def test_types_are_kept_apart() -> None:
    """1 and 1.0, True and 1: equal in Python, different in a ledger."""
    text = example().to_jsonl()
    assert '"release":1' in text
    for other in ("1.0", "true", '"1"'):
        with pytest.raises(LedgerError, match="Row 2 was changed"):
            verify(text.replace('"release":1', f'"release":{other}'))


def test_rows_cannot_be_changed_from_outside() -> None:
    ledger = Ledger()
    content = {"values": [1, 2]}
    row = ledger.append(content)
    content["values"].append(3)
    row.content["values"].append(4)
    assert ledger[0].content == {"values": [1, 2]}
    assert verify(ledger.to_jsonl()) == ledger.head


@pytest.mark.parametrize("value", [math.nan, math.inf, np.float64(1.0), np.int64(1), (1, 2), {1: 2}, b"x", object()])
def test_only_plain_json_is_recorded(value: object) -> None:
    ledger = example()
    head = ledger.head
    with pytest.raises(InvalidInput, match="to be plain JSON"):
        ledger.append({"value": value})
    assert ledger.head == head


@pytest.mark.parametrize("content", [[1, 2], "x", None, 7])
def test_contents_are_mappings(content: object) -> None:
    with pytest.raises(InvalidInput, match="to be a mapping"):
        Ledger().append(content)  # type: ignore[arg-type]


def test_deep_nesting_is_no_way_out() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidInput, match="nested less deeply"):
        Ledger().append({"deep": deep})
    with pytest.raises(LedgerError, match="Row 0 cannot be read"):
        verify("[" * 100_000)


@pytest.mark.parametrize("number", ["false", "-0.0", "0.0"])
def test_numbers_of_rows_are_integers(number: str) -> None:
    with pytest.raises(LedgerError, match="Row 0"):
        verify(forged(f'{{"content":{{}},"number":{number},"previous":"{GENESIS}"}}'))


def test_threads_share_a_ledger() -> None:
    ledger = Ledger()
    in_threads(lambda: [ledger.append({"i": i}) for i in range(200)])
    assert verify(ledger.to_jsonl()) == ledger.head == (799, ledger.head[1])


def test_a_ledger_goes_on_from_stored_rows_without_hashing_them_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger()
    for number in range(5):
        ledger.append({"number": number})
    rows = list(ledger)
    with monkeypatch.context() as patched:
        patched.setattr("dpbandits.privacy.ledger.hashlib", None)
        again = Ledger.from_rows(rows[:3])
        for row in rows[3:]:
            again.append_stored(row)
    assert again.to_jsonl() == ledger.to_jsonl()
    assert again.append({"more": 1}) == ledger.append({"more": 1})
    assert again.verify() == again.head


def test_stored_rows_that_do_not_follow_each_other_are_refused() -> None:
    ledger = Ledger()
    for number in range(3):
        ledger.append({"number": number})
    rows = list(ledger)
    with pytest.raises(LedgerError, match="Row 2 does not follow row 0"):
        Ledger.from_rows([rows[0], rows[2]])
    with pytest.raises(LedgerError, match="Row 1 does not follow row -1"):
        Ledger.from_rows(rows[1:])
