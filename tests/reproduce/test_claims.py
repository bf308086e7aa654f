"""Every claim is there, is tested, and the tests can tell right from wrong."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, laplace

import dpbandits as dpb
from dpbandits.mechanisms import Hybrid
from dpbandits.privacy import interval_guarantee
from dpbandits.reproduce import CLAIMS, Finding, Settings, Study, Verdict, check_claims
from dpbandits.reproduce.claims import bounds, counters, experiments, interval, overview
from dpbandits.reproduce.claims.counters import tail
from dpbandits.reproduce.experiments import DELTA
from dpbandits.reproduce.statistics import Interval, difference, log_ratio, mean_at, number, share
from dpbandits.simulation import RegretSummary

Small = tuple[Study, dict[str, Finding], Path]
BY_NAME = {claim.name: claim for claim in CLAIMS}


def test_no_claim_of_the_paper_is_missing() -> None:
    """Its numbered statements, and at least one row for each section that claims something."""
    where = " ".join(claim.where for claim in CLAIMS)
    for statement in (
        *("Definition 2.1", "Theorem 3.1", "Theorem 3.2", "Theorem 3.3", "Theorem 3.4", "Theorem 3.5", "Lemma 3.1"),
        *("Corollary 3.1", "Corollary 3.2", "Lemma B.1", "Lemma B.2", "equation (2)"),
        *("Abstract", "Introduction", "Related work", "Contributions, 1", "contributions, 2", "Contributions, 3"),
        *("Section 2.3", "Section 3,", "Section 3.1", "Section 3.2", "Section 3.3", "Experiments", "Conclusion"),
    ):
        assert statement in where, statement
    assert len(BY_NAME) == len(CLAIMS) == 40


def test_every_claim_has_a_finding_with_numbers(small: Small) -> None:
    _, findings, _ = small
    assert findings.keys() == BY_NAME.keys()
    for name, finding in findings.items():
        assert finding.numbers or name == "tighter-error", name
        assert finding.reason.endswith((".", ".)")), name
        assert "nan" not in " ".join(finding.numbers), name
        assert Finding.from_dict(finding.to_dict()) == finding


def test_what_does_not_depend_on_runs_is_decided_even_with_few(small: Small) -> None:
    _, findings, _ = small
    expected = {
        Verdict.HOLDS: ["no-horizon", "theorem-3.2-order", "shorter-intervals"],
        Verdict.FAILS: ["definition", "hybrid-private", "theorem-3.3", "noise-below-bonus", "lemma-b2"],
        Verdict.ONLY_IF: [
            *("side-information", "no-assumption", "hybrid-error", "tighter-error", "theorem-3.1", "equal-noise"),
            *("theorem-3.4", "corollary-3.1", "corollary-3.2", "lemma-3.1", "lemma-b1", "several-rewards"),
            "better-bounds",
        ],
    }
    for verdict, names in expected.items():
        for name in names:
            assert findings[name].verdict is verdict, name


@pytest.mark.parametrize(
    ("name", "verdict"),
    [("theorem-3.5", "fails"), ("dp-ucb-private", "fails"), ("spread-private-ucb", "holds only if")],
)
def test_with_the_papers_settings_runs_decide(tmp_path: Path, name: str, verdict: str) -> None:
    (finding,) = check_claims(Study(Settings(), tmp_path), [BY_NAME[name]]).values()
    assert finding.verdict == verdict


# ---- the checks follow the evidence: shown something else, they say something else


def summary_of(regrets: Any, horizon: int = 100_000) -> RegretSummary:
    """A summary with these final regrets, reached in straight lines."""
    checkpoints = np.array([1, horizon // 10, horizon // 2, horizon])
    summary = RegretSummary(checkpoints, np.array([0.0, 0.3]))
    summary.add(np.outer(np.asarray(regrets, dtype=np.float64), checkpoints / horizon))
    return summary


class Shown(Study):
    """A study in which every simulation comes out as told."""

    def __init__(self, folder: Path, told: Callable[[dpb.policies.Policy, int], Any]) -> None:
        super().__init__(Settings(), folder)
        self._told = told

    def summary(self, policy: Any, environment: Any, *, horizon: int | None = None, runs: int | None = None) -> Any:
        t = horizon or self.settings.horizon
        return summary_of(self._told(policy, t), t)


def around(mean: float) -> Any:
    return mean + np.linspace(-1, 1, 50)


def test_a_regret_of_order_log_t_would_refute_nothing(tmp_path: Path) -> None:
    """DP-UCB-Int with 100 at T and 101 at 10 T: the claims about its growth are not called false."""

    def logarithmic(policy: Any, t: int) -> Any:
        return around(100 + math.log10(t / 1e5) + (900 if isinstance(policy, dpb.PrivateUCB) else 0))

    class Flat(Shown):
        def summary(self, policy: Any, environment: Any, *, horizon: int | None = None, runs: int | None = None) -> Any:
            t = horizon or self.settings.horizon
            checkpoints = np.array([1, t // 10, t // 2, t])
            summary = RegretSummary(checkpoints, np.array([0.0, 0.3]))
            summary.add(np.tile(self._told(policy, t)[:, None], 4))
            return summary

    study = Flat(tmp_path, logarithmic)
    for claim in (overview.optimal_regret, overview.additive_constant, experiments.gap_constant, bounds.theorem_3_5):
        assert claim.check(study).verdict is Verdict.UNDECIDED, claim.name
    growing = Shown(tmp_path, lambda policy, t: around(t / 100 if isinstance(policy, dpb.DPUCBInt) else 10.0))
    for claim in (overview.optimal_regret, overview.additive_constant, experiments.gap_constant, bounds.theorem_3_5):
        assert claim.check(growing).verdict is Verdict.FAILS, claim.name


def test_the_best_algorithm_is_the_one_with_the_least_regret(tmp_path: Path) -> None:
    def told(interval: float, spread: float = 1.0) -> Shown:
        def regret(policy: Any, t: int) -> Any:
            is_interval = isinstance(policy, dpb.DPUCBInt)
            return interval + spread * np.linspace(-1, 1, 50) if is_interval else around(500.0)

        return Shown(tmp_path, regret)

    assert experiments.int_best.check(told(100)).verdict is Verdict.HOLDS
    assert experiments.int_best.check(told(499, spread=400)).verdict is Verdict.FAILS
    assert experiments.int_best.check(told(900)).verdict is Verdict.FAILS


def test_private_ucb_is_the_worst_if_it_is(tmp_path: Path) -> None:
    def told(private: float) -> Shown:
        return Shown(tmp_path, lambda policy, t: around(private if isinstance(policy, dpb.PrivateUCB) else 500.0))

    assert experiments.private_ucb_worst.check(told(900)).verdict is Verdict.HOLDS
    assert experiments.private_ucb_worst.check(told(500.1)).verdict is Verdict.UNDECIDED
    assert overview.multiplicative.check(told(5000 * 2)).verdict is Verdict.HOLDS
    assert overview.multiplicative.check(told(900)).verdict is Verdict.UNDECIDED


def test_dp_ucb_and_dp_ucb_bound_are_compared_over_time(tmp_path: Path) -> None:
    def told(end: float) -> Shown:
        class Crossing(Shown):
            def summary(self, policy: Any, environment: Any, *, horizon: Any = None, runs: Any = None) -> Any:
                curve = [1, 50, 80, 100] if isinstance(policy, dpb.DPUCB) else [2, 70, 80, end]
                summary = RegretSummary(np.array([1, 10_000, 50_000, 100_000]), np.array([0.0, 0.3]))
                summary.add(np.array(curve) + np.linspace(-1, 1, 50)[:, None])
                return summary

        return Crossing(tmp_path, lambda policy, t: None)

    assert experiments.early_late.check(told(90)).verdict is Verdict.HOLDS
    assert experiments.early_late.check(told(120)).verdict is Verdict.FAILS


def test_the_spread_is_within_the_papers_or_not(tmp_path: Path) -> None:
    def told(worst: float) -> Shown:
        return Shown(tmp_path, lambda policy, t: np.append(np.full(99, 100.0), worst))

    assert experiments.spread.check(told(700)).verdict is Verdict.HOLDS
    assert experiments.spread.check(told(30_000)).verdict is Verdict.ONLY_IF


@pytest.mark.parametrize(
    ("counts", "verdict"), [((4800, 1600), "fails"), ((4800, 4000), "holds"), ((2800, 1000), "not decided")]
)
def test_the_counterexample_needs_significance(tmp_path: Path, counts: tuple[int, int], verdict: str) -> None:
    study = Study(replace(Settings(), effort=0.1), tmp_path)
    for variant in ("published", "proved"):
        study.kept(f"telling {variant}", lambda: [10 * count for count in counts] if verdict == "fails" else counts)
    assert counters.dp_ucb_private.check(study).verdict == verdict


# ---- exact statements, once more and differently


def test_tail_of_a_sum_of_laplace_noises() -> None:
    for x in (0.0, 0.5, 3.0, 12.0):
        assert tail({1.0: 1}, x) == pytest.approx(2 * laplace.sf(x), abs=2e-5)
        assert tail({7.0: 1}, x) == pytest.approx(2 * laplace.sf(x / 7), abs=2e-5)
        # The sum of two: density (1 + |y|) e^-|y| / 4.
        assert tail({1.0: 2}, x) == pytest.approx((1 + x / 2) * math.exp(-x), abs=2e-5)
    noises = {1.0: 10, 9.0: 5}
    dice = np.random.default_rng(1)
    sums = sum(dice.laplace(0, scale, (200_000, count)).sum(axis=1) for scale, count in noises.items())
    for x in (10.0, 40.0, 90.0):
        found = int(np.count_nonzero(np.abs(sums) > x))
        low, high = (float(binom.ppf(level, 200_000, tail(noises, x))) for level in (5e-6, 1 - 5e-6))
        assert low <= found <= high


def test_the_noises_of_the_counterexamples_are_those_of_the_counter() -> None:
    for power in range(3, 20):
        assert counters.noises_before(power) == dict(Hybrid(epsilon=1.0, split=False).noise_scales(2**power - 1))


def test_the_y_series_breaks_the_first_branch_by_exact_composition_too() -> None:
    """The lower bound on δ from one event is below the exact δ, which dp-accounting brackets."""
    epsilon, bound, delta, releases = interval._counterexample(100_000)
    assert releases == 7
    assert delta > DELTA
    assert interval_guarantee(epsilon, 1.1, "y", delta=DELTA, horizon=100_000).epsilon > bound


def test_intervals_cover_what_they_say() -> None:
    """99% intervals of a share: over 3000 samples at most 1.5% miss, whose probability is below 1e-2 per case."""
    dice = np.random.default_rng(4)
    for p in (0.003, 0.4):
        missed = sum(not low <= p <= high for _, low, high in (share(int(x), 500) for x in dice.binomial(500, p, 3000)))
        assert missed <= 45
    ratios = [log_ratio(int(a), int(b), 100_000) for a, b in dice.binomial(100_000, [0.02, 0.01], (2000, 2))]
    assert np.mean([low <= math.log(2) <= high for _, low, high in ratios]) >= 0.99
    assert log_ratio(0, 5, 10).low == -math.inf
    assert share(0, 10).low == 0
    assert share(10, 10).high == 1


def test_means_differ_with_both_errors() -> None:
    one, other = mean_at(summary_of([1.0, 2.0, 3.0])), mean_at(summary_of([4.0, 5.0, 6.0]))
    gap = difference(one, other)
    assert gap.value == pytest.approx(-3)
    assert gap.high - gap.value == pytest.approx(math.hypot(one.high - one.value, other.high - other.value))
    assert one.high - one.value == pytest.approx(9.9248 / math.sqrt(3), rel=1e-4)  # Student, 2 degrees of freedom


def test_numbers_are_written_as_people_do() -> None:
    assert str(Interval(320.61, 287.2, 354.0)) == "321 ± 33"
    assert str(Interval(1.0629, 1.0284, 1.0974)) == "1.063 ± 0.034"
    assert str(Interval(307.2, 307.2, 307.2 + 1e-13)) == "307.2"
    assert "no interval" in str(Interval(1.0, -math.inf, math.inf))
    assert [number(x) for x in (0, 1e-9, -5.25, 123456.7, math.inf)] == ["0", "1×10⁻⁹", "-5.25", "123,457", "inf"]
