"""Verdicts on what was measured follow from it: shown something else, a claim says something else."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbandits.reproduce import CLAIMS, Settings, Study, Verdict
from dpbandits.reproduce.claims import counters, definition
from mathematics_of_claims import MATHEMATICS
from told_study import Shown, Told, around, by_kind, flat

pytestmark = pytest.mark.slow

HOLDS, ONLY_IF, FAILS, UNDECIDED = Verdict.HOLDS, Verdict.ONLY_IF, Verdict.FAILS, Verdict.UNDECIDED
BY_NAME = {claim.name: claim for claim in CLAIMS}
NOISE = 5000.0


def crossing(plain: list[float], bound: list[float], spread: float = 1.0) -> Told:
    """DP-UCB and DP-UCB-Bound with these means at four times."""
    runs = spread * np.linspace(-1, 1, 50)[:, None]
    return by_kind(around(10.0), Plain=np.array(plain) + runs, Bound=np.array(bound) + runs)


def by_panel() -> Told:
    """DP-UCB-Bound overtakes DP-UCB at ε = 1 and not at ε = 0.1."""
    runs = np.linspace(-1, 1, 50)[:, None]
    return by_kind(
        around(10.0),
        Plain=np.array([1, 50, 80, 100]) + runs,
        Bound=lambda policy, t: np.array([2, 70, 90, 90 if policy.epsilon == 1.0 else 120]) + runs,
    )


def by_epsilon(**factors: tuple[float, float]) -> Told:
    """UCB has 100; the named ones have 100 and what is told at ε = 1 and at ε = 0.1."""

    def told(weak: float, strong: float) -> Callable[[Any, int], Any]:
        return lambda policy, t: around(100 + (weak if policy.epsilon == 1.0 else strong), 0.1)

    return by_kind(around(100.0, 0.1), **{name: told(*values) for name, values in factors.items()})


def by_gap(plain: Callable[[float], float], bound: Callable[[float], float], spread: float) -> type[Shown]:
    """UCB has none; DP-UCB and DP-UCB-Bound have what is told of a gap."""

    class OfGap(Shown):
        def summary(self, policy: Any, environment: Any, *, horizon: Any = None, runs: Any = None) -> Any:
            gap = float(environment.gaps.max())
            self._told = by_kind(around(0.0, 0.1), Plain=around(plain(gap), spread), Bound=around(bound(gap), spread))
            return super().summary(policy, environment, horizon=horizon, runs=runs)

    return OfGap


def interval_only(value: float, series: str) -> Callable[[Any, int], Any]:
    return lambda policy, t: around(value if policy.series == series else 900.0)


def stuck(share: float) -> Any:
    """Ten thousand runs, some of which lose nearly everything at the horizon of the study."""
    runs = np.full(10_000, 100.0)
    runs[: int(share * 10_000)] = 29_000.0
    return runs


def doubling(policy: Any, t: int) -> Any:
    return np.array([100.0, 150.0, 200.0, 300.0]) + np.linspace(-1, 1, 50)[:, None]


def growing(policy: Any, t: int) -> Any:
    return around(t / 100)  # at ten times the horizon, ten times as much


def saturating(policy: Any, t: int) -> Any:
    return flat(150.0)


def privately(power: float) -> Callable[[Any, int], Any]:
    return lambda policy, t: around(1e5 / policy.epsilon**power, 0.1)


SHOWN: dict[str, list[tuple[Told, Verdict]]] = {
    "optimal-regret": [
        (by_kind(flat(69.0), Int=growing), FAILS),
        (by_kind(flat(69.0), Int=saturating), HOLDS),
        (by_kind(flat(69.0), Int=doubling), UNDECIDED),
        (by_kind(flat(69.0), Int=around(10_000.0, 3e5)), UNDECIDED),
    ],
    "additive-constant": [
        (by_kind(flat(69.0), Int=growing), FAILS),
        (by_kind(flat(69.0), Int=saturating), HOLDS),
        (by_kind(flat(69.0), Int=around(10_000.0, 3e5)), UNDECIDED),
    ],
    "gap-constant": [
        (by_kind(flat(69.0), Int=growing), FAILS),
        (by_kind(flat(69.0), Int=saturating), HOLDS),
        (by_kind(flat(69.0), Int=around(10_000.0, 3e5)), UNDECIDED),
    ],
    "earlier-results": [(by_kind(around(1.0), Private=privately(1.0)), FAILS)],
    "multiplicative": [
        (by_kind(around(100.0), Private=around(10_000.0)), HOLDS),
        (by_kind(around(100.0), Private=around(150.0)), FAILS),
        (by_kind(around(100.0), Private=around(400.0, 900.0)), UNDECIDED),
    ],
    "any-time": [
        (by_kind(flat(0.0, 0.0)), UNDECIDED),
        (by_kind(flat(0.0, 0.0), Int=around(5e4)), FAILS),
        (by_kind(flat(0.0, 0.0), Bound=around(2e4)), FAILS),
        (by_kind(flat(0.0, 0.0), Int=around(300.0, NOISE)), UNDECIDED),
    ],
    "theorem-3.2": [
        (by_kind(around(100.0)), ONLY_IF),
        (by_kind(around(100.0), Bound=around(3e5)), FAILS),
        (by_kind(around(100.0), Bound=around(2500.0, NOISE)), UNDECIDED),
    ],
    "proportional": [
        (by_epsilon(Bound=(100, 1000), Plain=(100, 10_000)), HOLDS),
        (by_epsilon(Bound=(100, 1000), Plain=(100, 700)), ONLY_IF),
        (by_epsilon(Bound=(100, 1000), Plain=(-90, 700)), UNDECIDED),
        (by_epsilon(Bound=(100, 6300), Plain=(100, 700)), UNDECIDED),  # faster than either says
        (by_kind(around(100.0, NOISE)), UNDECIDED),
    ],
    "theorem-3.5": [
        (by_kind(around(100.0)), UNDECIDED),
        (by_kind(around(100.0), Int=around(1e4)), FAILS),
        (by_kind(around(100.0), Printed=around(1e4)), FAILS),
        (by_kind(around(100.0), Int=around(380.0, NOISE)), UNDECIDED),
        (by_kind(around(100.0), Int=around(450.0, NOISE)), UNDECIDED),
    ],
    "int-best": [
        (by_kind(around(500.0), Int=around(100.0), Printed=around(100.0)), HOLDS),
        (by_kind(around(500.0), Int=interval_only(100.0, "y"), Printed=around(900.0)), ONLY_IF),
        (by_kind(around(500.0), Int=around(900.0), Printed=around(900.0)), FAILS),
        (
            by_kind(
                around(500.0), Int=lambda p, t: around(100.0 if p.epsilon == 1.0 else 900.0), Printed=around(900.0)
            ),
            FAILS,
        ),
        (by_kind(around(500.0), Int=around(499.0, 400.0), Printed=around(499.0, 400.0)), UNDECIDED),
    ],
    "early-late": [
        (crossing([1, 50, 80, 100], [2, 70, 90, 90]), HOLDS),
        (crossing([5, 50, 90, 100], [5, 70, 80, 90]), HOLDS),  # ahead in the first tenth alone, which is enough
        (crossing([1, 50, 80, 100], [2, 70, 90, 120]), FAILS),  # never overtaken
        (crossing([70, 70, 80, 100], [1, 50, 90, 90]), FAILS),  # not ahead in the beginning, only in the middle
        (crossing([1, 50, 80, 100], [2, 70, 90, 99], spread=90.0), UNDECIDED),
        (by_panel(), ONLY_IF),
    ],
    "private-ucb-worst": [
        (by_kind(around(500.0), Private=around(900.0)), HOLDS),
        (by_kind(around(500.0), Private=around(10.0)), FAILS),
        (by_kind(around(500.0), Private=around(500.1)), UNDECIDED),
    ],
    "spread": [
        (by_kind(around(100.0)), HOLDS),
        (by_kind(around(100.0), Int=stuck(0.005)), ONLY_IF),
        (by_kind(around(100.0), Int=stuck(0.05)), FAILS),
    ],
    "spread-private-ucb": [
        (by_kind(around(0.0), Private=np.array([0.3, 29_999.7])), HOLDS),
        (
            by_kind(
                around(0.0),
                Private=lambda p, t: np.array([0.3, 29_999.7]) if p.relaxation == "none" else around(9000.0),
            ),
            ONLY_IF,
        ),
        (by_kind(around(0.0), Private=around(9000.0)), UNDECIDED),
    ],
    "trade-off": [
        (by_kind(around(100.0), Int=stuck(0.0), Private=around(9000.0)), HOLDS),
        (by_kind(around(100.0), Int=np.where(stuck(0.009) > 1000, 9000.0, 100.0), Private=around(9000.0)), HOLDS),
        (by_kind(around(100.0), Int=stuck(0.009), Private=around(9000.0)), ONLY_IF),
        (by_kind(around(100.0), Int=stuck(0.009), Private=around(150.0)), UNDECIDED),  # Private-UCB does well too
        (by_kind(around(100.0), Int=stuck(0.009), Private=around(9000.0), Plain=stuck(0.001)), UNDECIDED),
        (by_kind(around(100.0), Private=around(9000.0)), UNDECIDED),  # fifty runs show no one in a thousand
    ],
    "privacy-for-free": [
        (by_kind(around(100.0)), HOLDS),
        (by_kind(around(1.0), Int=lambda p, t: around(50.0 if p.epsilon == 1.0 else 500.0)), FAILS),
        (by_kind(around(1.0), Int=lambda p, t: around(50.0 if p.epsilon == 1.0 else 65.0)), UNDECIDED),
    ],
    "experiments-validate": [(by_kind(around(100.0)), FAILS)],  # Theorem 3.3 says nothing whatever is measured
}


@pytest.mark.parametrize(
    ("name", "told", "verdict"),
    [(name, told, verdict) for name, cases in SHOWN.items() for told, verdict in cases],
    ids=[f"{name}: {verdict}" for name, cases in SHOWN.items() for _, verdict in cases],
)
def test_what_is_measured_decides(tmp_path: Path, name: str, told: Told, verdict: Verdict) -> None:
    finding = BY_NAME[name].check(Shown(tmp_path, told))
    assert finding.verdict is verdict
    assert finding.because or verdict is UNDECIDED


@pytest.mark.parametrize("name", SHOWN)
def test_measures_have_the_same_names_whatever_is_measured(tmp_path: Path, name: str) -> None:
    names = {
        tuple(measure.name for measure in BY_NAME[name].check(Shown(tmp_path, told)).measures)
        for told, _ in SHOWN[name]
    }
    assert len(names) == 1


@pytest.mark.parametrize(
    ("shown", "verdict"),
    [
        (by_gap(lambda gap: 1000 * gap, lambda gap: 200.0, 1.0), ONLY_IF),
        (by_gap(lambda gap: 50 / gap, lambda gap: 200.0, 1.0), FAILS),
        (by_gap(lambda gap: 1000 * gap, lambda gap: 1000 * gap, 1.0), UNDECIDED),
        (by_gap(lambda gap: 1000 * gap, lambda gap: 200.0, 900.0), UNDECIDED),
    ],
)
def test_the_reason_for_early_and_late(tmp_path: Path, shown: type[Shown], verdict: Verdict) -> None:
    assert BY_NAME["early-late-reason"].check(shown(tmp_path, lambda policy, t: None)).verdict is verdict


def test_the_exponent_of_privacy_is_measured_where_it_can_be(tmp_path: Path) -> None:
    finding = BY_NAME["earlier-results"].check(Shown(tmp_path, by_kind(around(1.0), Private=privately(1.0))))
    exponent = finding.measure("measured exponent of 1/ε")
    assert exponent.value == pytest.approx(1.0, abs=1e-3)  # UCB's own regret, of 1, is taken away
    assert exponent.low < exponent.value < exponent.high < exponent.low + 1e-3
    noisy = BY_NAME["earlier-results"].check(Shown(tmp_path, by_kind(around(1.0), Private=around(100.0, NOISE))))
    unknown = noisy.measure("measured exponent of 1/ε")
    assert (unknown.low, unknown.high, unknown.amount) == (-math.inf, math.inf, "not known")


def test_no_spread_is_judged_where_none_is_possible(tmp_path: Path) -> None:
    study = Shown(tmp_path, by_kind(around(1.0)), Settings(horizon=1000))
    assert BY_NAME["spread"].check(study).verdict is UNDECIDED


# ---- counted and integrated events


@pytest.mark.parametrize(
    ("counts", "refuted", "processed"),
    [
        ((48_000, 16_000), FAILS, FAILS),  # log ratio 1.1: more than 1, which is what the split sums lose
        ((48_000, 40_000), HOLDS, HOLDS),
        ((2_800, 1_000), UNDECIDED, UNDECIDED),
        ((100_000, 1_000), FAILS, FAILS),  # 4.6: more than the sums lose
    ],
)
def test_choices_are_judged_by_counts(
    tmp_path: Path, counts: tuple[int, int], refuted: Verdict, processed: Verdict
) -> None:
    study = Study(Settings(), tmp_path)
    for variant in ("published", "proved"):
        study.kept(f"telling {variant}", lambda: counts)
    assert counters.dp_ucb_private.check(study).verdict is refuted
    assert definition.post_processing.check(study).verdict is processed


@pytest.mark.parametrize(
    ("ratio", "verdict"), [([2.0, 1.9, 2.1], FAILS), ([0.9, 0.8, 1.0], ONLY_IF), ([1.5, 0.5, 2.5], ONLY_IF)]
)
def test_theorem_3_1_is_judged_by_its_event(tmp_path: Path, ratio: list[float], verdict: Verdict) -> None:
    study = Study(Settings(), tmp_path)
    study.kept("bound counterexample", lambda: [ratio, 1e-21])
    assert counters.theorem_3_1.check(study).verdict is verdict


# ---- one run of Algorithm 3 as printed


@pytest.mark.parametrize("name", ["lemma-3.1", "corollary-3.2"])
def test_if_redrawing_were_cheap_nothing_would_depend_on_it(tmp_path: Path, name: str) -> None:
    study = Study(Settings(), tmp_path)
    study.kept("cost as printed", lambda: [0.5, 100])
    assert BY_NAME[name].check(study).verdict is HOLDS


def test_every_claim_has_a_test_of_its_verdict() -> None:
    """Shown other evidence here, or computed once more in test_mathematics.py."""
    measured = {*SHOWN, "early-late-reason", "dp-ucb-private", "post-processing", "theorem-3.1", "lemma-3.1"}
    measured |= {"earlier-results", "corollary-3.2", "no-horizon"}
    assert measured.isdisjoint(MATHEMATICS)
    assert measured | set(MATHEMATICS) == set(BY_NAME)
