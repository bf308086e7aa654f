"""Claims of pure mathematics: their numbers, and that their verdicts follow from them."""

import math
from itertools import pairwise

import pytest

from dpbandits.reproduce import CLAIMS, Finding, Settings, Study
from dpbandits.reproduce.claims.counters import error_ratios
from dpbandits.reproduce.claims.regret_theorems import twice_the_noise
from dpbandits.reproduce.claims.shared_runs import GAP
from dpbandits.reproduce.paper_experiments import DELTA, HORIZON
from dpbandits.theory import upper_bounds
from mathematics_of_claims import MATHEMATICS

pytestmark = pytest.mark.slow

BY_NAME = {claim.name: claim for claim in CLAIMS}
PANELS = ("2 arms, ε = 1", "2 arms, ε = 0.1", "10 arms, ε = 1", "10 arms, ε = 0.1")


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finding]:
    study = Study(Settings(horizon=2000, runs=2, seed=9, effort=0.01), tmp_path_factory.mktemp("mathematics"))
    return {name: BY_NAME[name].check(study) for name in MATHEMATICS}


@pytest.mark.parametrize("name", MATHEMATICS)
def test_verdict_and_numbers_are_the_same_whatever_the_settings(findings: dict[str, Finding], name: str) -> None:
    verdict, numbers = MATHEMATICS[name]
    finding = findings[name]
    assert finding.verdict is verdict
    assert finding.because
    assert all(measure.is_exact for measure in finding.measures)
    assert {measure.name: measure.value for measure in finding.measures} == pytest.approx(numbers, rel=1e-5, abs=1e-24)


def values(findings: dict[str, Finding], claim: str) -> dict[str, float]:
    return {measure.name: measure.value for measure in findings[claim].measures}


def test_what_is_said_of_definitions_follows(findings: dict[str, Finding]) -> None:
    definition = values(findings, "definition")
    assert definition["log ratio of one choice"] <= 1 + 1e-12 < definition["log ratio of 5 choices together"]
    assert all(1 > belief > 0.5 for belief in values(findings, "side-information").values())
    assert values(findings, "no-assumption")["worst loss of 4,096 items in [0, 1], whatever their values"] <= 1
    several = values(findings, "several-rewards")
    assert several["all 5 rewards, each with ε/5 and δ = 0"] <= 1 + 1e-9
    assert several["all 5 rewards, each with ε/5 and δ = e⁻¹⁰"] > 7 * DELTA
    assert several["all 5 rewards, each with ε/5 and δ divided as well"] <= DELTA * (1 + 1e-9)


def test_what_is_said_of_counters_follows(findings: dict[str, Finding]) -> None:
    hybrid = values(findings, "hybrid-private")
    assert hybrid["worst loss of 4,096 items at ε = 1: as published"] == 2
    assert hybrid["worst loss of 4,096 items at ε = 1: with the budget split"] <= 1 + 1e-12
    assert values(findings, "hybrid-error")["chance of a larger error at n = 2, γ = 5%, without a split"] > 0.05
    ratios = error_ratios()
    assert 1.25 < min(ratios) < max(ratios)
    lemma = values(findings, "lemma-b2")
    large = "b = 0.01, n = 2^400 - 1"
    assert lemma[f"{large}: chance of an error above the bound"] > lemma[f"{large}: γ"]
    noise = "standard deviation of the noise at t = 100,000, ε = 1"
    equal = values(findings, "equal-noise")
    assert equal[f"{noise}: in the mean of 100 plays"] > equal["UCB's own term after 100 plays"]
    assert equal[f"{noise}: in the mean of 100 plays"] > 900 * equal[f"{noise}: in the mean of 99,900 plays"]
    tighter = values(findings, "tighter-error")
    assert (
        tighter["earlier bound over the paper's: n = 10"]
        < 1
        < tighter[f"earlier bound over the paper's: n = {HORIZON:,}"]
    )


def test_the_step_of_theorem_3_2_fails_as_published_and_holds_as_proved() -> None:
    published = upper_bounds.noise_regret_of_theorem_3_2(1.0, 0.5, math.log(HORIZON)) / GAP
    proved = upper_bounds.noise_pulls(GAP, math.log(HORIZON), 1.0, 0.5)
    assert twice_the_noise(proved) <= GAP / 2 < twice_the_noise(published)


def test_what_is_said_of_regret_bounds_follows(findings: dict[str, Finding]) -> None:
    order = values(findings, "theorem-3.2-order")
    rows = [
        [order[f"bound over UCB1's and (1/ε) ln ln t, ε = {epsilon}: t = 10^{power}"] for power in (5, 10, 20, 40, 70)]
        for epsilon in ("1", "0.01", "0.0001")
    ]
    assert all(later < earlier for row in rows for earlier, later in pairwise(row))  # bounded for a fixed ε,
    assert rows[2][-1] > 1.1 * rows[0][-1]  # and growing as ε falls
    theorem = values(findings, "theorem-3.3")
    step = "t = 100,000, n = 1, ε = 1"
    assert theorem[f"{step}: noise bound"] > 300 * theorem[f"{step}: needed at most"]
    assert all(theorem[f"bound over the largest possible regret: {panel}"] > 1 for panel in PANELS)
    threshold = theorem["2 arms, ε = 1: first t at which it says something"]
    assert upper_bounds.dp_ucb([0, GAP], threshold * 1.01, 1.0, capped=False) < threshold * 1.01 * GAP
    assert upper_bounds.dp_ucb([0, GAP], threshold / 1.01, 1.0, capped=False) > threshold / 1.01 * GAP
    chances = [*values(findings, "noise-below-bonus").values()]
    assert chances[-1] < chances[0] < chances[1] < chances[2]  # it grows with n, far above what the proof assumes
    bounds = values(findings, "better-bounds")
    for panel in PANELS:
        assert bounds[f"{panel}: Theorem 3.2 as proved"] < bounds[f"{panel}: earlier"] < bounds[f"{panel}: Theorem 3.3"]


def test_what_is_said_of_intervals_follows(findings: dict[str, Finding]) -> None:
    theorem = values(findings, "theorem-3.4")
    for budget in ("ε′ = 1", "ε′ = 0.1"):
        valid = min(theorem[f"{budget}: C"], theorem[f"{budget}: D"])
        for series in ("x-series", "constant interval"):
            assert theorem[f"{budget}: really spent, {series}"] <= valid
    assert theorem["what the misprint takes from D at t = 100,000"] > 0
    for claim in ("theorem-3.4", "corollary-3.1"):
        assert values(findings, claim)["y-series, ε′ = 0.1: at the claimed ε, at least"] > 2 * DELTA
    corollary = values(findings, "corollary-3.1")
    for subject in {name.rpartition(": ")[0] for name in corollary if name.endswith("really spent")}:
        assert corollary[f"{subject}: really spent"] <= corollary[f"{subject}: by the branches that hold"]
    ratio = "largest ratio of the two sides, where at most 1 is right"
    lemma = values(findings, "lemma-b1")
    right = {name for name in ("x in C", "x in D", "y in C", "y in D") if lemma[f"{ratio}: {name}"] <= 1 + 1e-9}
    assert right == {"x in C", "x in D", "y in D"}
    assert lemma["longer than ⌈1/ε⌉"] == 0
    intervals = values(findings, "shorter-intervals")
    for budget in ("ε′ = 1", "ε′ = 0.1"):
        first, releases = (
            [intervals[f"{budget}, {series}: {what}"] for series in ("y-series", "x-series", "constant interval")]
            for what in ("first release after", "up to n = 100,000")
        )
        assert first[0] < first[1] < first[2]
        assert releases[0] < 2 * releases[2]
    spent = values(findings, "optimal-trade-off")
    assert all(share < (0.5 if name.endswith("by then") else 0.75) for name, share in spent.items())
