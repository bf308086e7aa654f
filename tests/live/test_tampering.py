"""Ledgers changed at random, chains rebuilt: none that costs more than it promises is accepted.

benchmarks/ledger.py tries many more, and benchmarks/ledger.md says what is accepted and why.
"""

import random
from fractions import Fraction

import pytest

import dpbandits as dpb
from dpbandits.live import check_ledger
from dpbandits.privacy import LaplaceEvent, compose
from ledger import reason_of, tried_out
from ledger_costs import Setting, epsilon_at, losses_of_rows, losses_of_schedule, lowers_privacy, setting
from ledgers import contents_of
from oracles import release_times_naive
from shared_noise import SharedNoise
from tampering import chained, copied, tampered

pytestmark = pytest.mark.slow

SETTINGS = [
    Setting("phases", contents_of(dpb.DPIMED(epsilon=1.0)), False),
    Setting("people", contents_of(dpb.recommended(epsilon=9.0), people=300, contributions=3), False),
    Setting("intervals", contents_of(dpb.DPUCBInt(epsilon=2.0, delta=0.0, horizon=400)), True),
]


@pytest.mark.parametrize("number", range(len(SETTINGS)), ids=[made.name for made in SETTINGS])
def test_nothing_that_lowers_privacy_is_accepted(number: int) -> None:
    made = SETTINGS[number]
    assert not lowers_privacy(made.contents, made)
    outcome = tried_out(made, SETTINGS[number - 1], changes=150, seed=11)
    assert outcome.wrongly_accepted == []
    assert outcome.lowering > 10  # there was something to find
    for kind, times in outcome.accepted.items():
        assert not times or reason_of(kind)


def test_the_harness_notices_a_checker_that_accepts_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    class Always:
        holds = True

    monkeypatch.setattr("ledger.check_ledger", lambda text, claim: Always())
    assert len(tried_out(SETTINGS[0], SETTINGS[1], changes=100, seed=11).wrongly_accepted) > 10


def test_changes_are_random_and_leave_the_original_alone() -> None:
    before = copied(SETTINGS[0].contents)
    dice = random.Random(2)  # noqa: S311
    kinds = {tampered(SETTINGS[0].contents, SETTINGS[1].contents, dice)[0] for _ in range(500)}
    assert SETTINGS[0].contents == before
    assert len(kinds) > 80


def test_costs_by_hand() -> None:
    phases, _, intervals = SETTINGS
    assert losses_of_rows(phases.contents, is_cumulative=False) == [1]
    twice = [phases.contents[0]] + [row for row in phases.contents[1:] for _ in range(2)]
    assert losses_of_rows(twice, is_cumulative=False) == [1, 1]
    assert lowers_privacy(twice, phases)
    quiet = copied(phases.contents)
    quiet[3]["scale"] = 1.0
    assert sum(losses_of_rows(quiet, is_cumulative=False)) == 4096
    live = intervals.contents[0]["live_policy"]
    losses = losses_of_schedule(intervals.contents[0], True, 400)
    times = release_times_naive(live["density"], live["v"], live["series"], 400)
    assert losses == [Fraction(n ** (-live["v"] / 2)) for n in times]
    assert float(sum(losses)) == pytest.approx(intervals.contents[0]["guarantee"]["epsilon"])


def test_compositions_by_hand() -> None:
    losses = [Fraction(1, n) for n in range(3, 30)]
    tight = compose([LaplaceEvent(float(1 / loss)) for loss in losses], delta=1e-6).epsilon
    assert tight * 0.998 < epsilon_at(losses, 1e-6) <= tight


def test_a_real_ledger_holds() -> None:
    made = setting("real", dpb.AdaPUCB(epsilon=0.7), people=200, noise=SharedNoise(1))
    assert check_ledger(chained(made.contents), claim=made.claim).holds
