"""Declared states: nested, allocated for any kind of secret, and back from JSON."""

import json
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from dpbandits import InvalidInput
from dpbandits.mechanisms import public, secret
from dpbandits.mechanisms.state import allocate, fields_of, restore, to_plain


class Part(NamedTuple):
    exact: Annotated[Any, secret("arms", "depth")]


class Whole(NamedTuple):
    counts: Annotated[Any, public("arms", dtype=np.int64)]
    part: Part


def test_parts_are_allocated_with_their_whole() -> None:
    for dtype in (np.float64, np.int64, object):
        state = allocate(Whole, {"arms": 2, "depth": 3}, dtype)
        assert (state.counts.dtype, state.part.exact.dtype, state.part.exact.shape) == (np.int64, dtype, (2, 3))
        assert not state.part.exact.any()
    declared = fields_of(Whole)
    assert not declared["counts"].is_secret
    assert declared["part"] is Part


def test_states_go_through_json_and_bad_ones_change_nothing() -> None:
    state = allocate(Whole, {"arms": 2, "depth": 2}, np.float64)
    state.counts[:] = [3, 2**62]
    state.part.exact[:] = [[0.1, 1e-300], [np.pi, -0.0]]
    plain = json.loads(json.dumps(to_plain(state)))
    again = allocate(Whole, {"arms": 2, "depth": 2}, np.float64)
    restore(again, plain)
    assert to_plain(again) == to_plain(state)
    bad: dict[str, Any]
    for bad, message in (
        ({"counts": [1, 2]}, "Expected the fields counts, part in a saved state, not counts."),
        ({"counts": [1, 2], "part": {"exact": [[1, 2]]}}, r"Expected exact of shape \(2, 2\) in a saved state"),
        ({"counts": [1, 2, 3], "part": plain["part"]}, r"Expected counts of shape \(2,\) in a saved state"),
        ({"counts": [1, "x"], "part": plain["part"]}, "Expected counts to be numbers"),
        ({"counts": [1, 1.5], "part": plain["part"]}, "Expected counts to be whole numbers"),
        ({"counts": [1, 2], "part": 3}, "Expected part to be the fields"),
    ):
        with pytest.raises(InvalidInput, match=message):
            restore(again, bad)
        assert to_plain(again) == to_plain(state)
