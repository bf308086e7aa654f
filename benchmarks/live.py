"""The live learner: microseconds a step, with and without a journal, and what its intervals are worth.

Run with `make bench`.
"""

import itertools
import math
import random
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

import dpbandits as dpb
from dpbandits.live import Assignment
from dpbandits.live.counts import Counts
from dpbandits.live.predrawn_noise import MOST, PredrawnNoise
from interval_coverage import simultaneous
from report import seconds, table, write_section

EXPERIMENTS = 2000
PEOPLE = 20_000
LATE_PEOPLE, LATE, LATE_RUNS = 10_000, 300, 19
TIMED = 100_000  # releases

Array = NDArray[np.float64]


def micro(value: float) -> str:
    return f"{value * 1e6:.1f}"


def step_times(arms: int) -> list[str]:
    """Return the time of a decision, of closings without and with a release, of estimates."""
    bandit = dpb.Bandit(dpb.DPUCBInt(epsilon=1.0, delta=1e-6, horizon=PEOPLE), arms)
    rewards = [float(random.random() < 0.5) for _ in range(PEOPLE)]  # noqa: S311
    deciding = quiet = releasing = 0.0
    releases = 0
    for reward in rewards:
        start = time.perf_counter()
        a = bandit.assign()
        decided = time.perf_counter()
        bandit.close(a, reward)
        closed = time.perf_counter()
        deciding += decided - start
        if len(bandit._learner.ledger) > releases + 1:
            releases += 1
            releasing += closed - decided
        else:
            quiet += closed - decided
    estimating = seconds(bandit.estimates)
    figures = (deciding / PEOPLE, quiet / (PEOPLE - releases), releasing / releases, estimating)
    return [str(arms), *map(micro, figures)]


def journal_times(folder: Path) -> list[list[str]]:
    """Return the time of a step with a journal, and of a step when the journal is opened again."""
    steps = 4000
    policy = dpb.DPUCBInt(epsilon=1.0, delta=0.0, horizon=PEOPLE)
    bandit = dpb.Bandit(policy, 10, journal=folder / "journal")
    start = time.perf_counter()
    for _ in range(steps // 2):
        bandit.close(bandit.assign(), 1.0)
    written = time.perf_counter() - start
    bandit.detach()
    start = time.perf_counter()
    dpb.Bandit(policy, 10, journal=folder / "journal")
    resumed = time.perf_counter() - start
    return [["a step, on disk", micro(written / steps)], ["a step when resuming", micro(resumed / steps)]]


# ---- what the time of a release tells


@dataclass(frozen=True, kw_only=True)
class EveryPlay(dpb.AdaPUCB):
    """Every reward is released by itself, so that there are many releases to be timed."""

    name = "every-play"

    def phase_ends(self) -> Iterator[int]:
        return itertools.count(1)


class Watched(PredrawnNoise):
    """The rule as it is; it is noted when noise is drawn."""

    drawn = 0

    def draw(self, arm: int, scales: Iterable[float]) -> None:
        listed = list(scales)
        self.drawn = len(listed)
        super().draw(arm, listed)


class DrawnWhenNeeded(Watched):
    """The rule that is not used: noise is drawn in the step that releases it."""

    is_releasing = False

    def count(self, arm: int) -> int:
        return super().count(arm) if self.is_releasing else 10**9

    def take(self, arm: int, scale: float) -> Any:
        self.is_releasing = True
        noise = super().take(arm, scale)
        self.is_releasing = False
        return noise


class Closing(NamedTuple):
    """How long it took, how large the noise of its release was in its own scale, and how many noises it has drawn."""

    arm: int
    nanoseconds: int
    size: float
    drawn: int


def timed_closings(rule: type[Watched]) -> list[Closing]:
    """Return closings that release one reward each, which is 0, so that the value is the noise."""
    bandit = dpb.Bandit(EveryPlay(epsilon=1.0), 2, horizon=TIMED + 2)
    ahead = bandit._learner.releaser.predrawn = rule(bandit._learner.source)
    closings = []
    for _ in range(TIMED):
        a = bandit.assign()
        ahead.drawn = 0
        start = time.perf_counter_ns()
        bandit.close(a, 0.0)
        taken = time.perf_counter_ns() - start
        closings.append(Closing(int(a.arm), taken, abs(bandit._learner.ledger[-1].content["value"]), ahead.drawn))
    return closings


def timing_row(name: str, rule: type[Watched]) -> list[str]:
    """Return what the time of a closing says about the noise of its own release, and of those that it draws."""
    closings = timed_closings(rule)
    times, sizes = (np.array(values, dtype=np.float64) for values in list(zip(*closings, strict=True))[1:3])
    fastest = sizes[times <= np.quantile(times, 0.05)]
    return [
        name,
        f"{rank_correlation(times, sizes):+.3f}",
        f"{np.mean(fastest > 1):.1%}",
        f"{np.mean(sizes > 1):.1%}",
        *later_noises(closings),
        micro(float(np.median(times)) / 1e9),
        micro(float(np.mean(times)) / 1e9),
    ]


def later_noises(closings: list[Closing]) -> list[str]:
    """Return what the time of a closing that draws says of the noises that it draws: of the first, and of all."""
    times, next_ones, sums = [], [], []
    for arm in (0, 1):
        mine = [closing for closing in closings if closing.arm == arm]
        for number, closing in enumerate(mine):
            later = [other.size for other in mine[number + 1 : number + 1 + MOST]]
            if closing.drawn == len(later) == MOST:
                times.append(closing.nanoseconds)
                next_ones.append(later[0])
                sums.append(sum(later))
    if not times:
        return ["-", "-", "0"]
    return [*(f"{rank_correlation(np.array(times), np.array(of)):+.3f}" for of in (next_ones, sums)), f"{len(times):,}"]


def rank_correlation(a: Array, b: Array) -> float:
    return float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])


class OneBlockAhead(Counts):
    """The rule that is not used: while its next release waits, an arm fills one block more, and the rest is lost."""

    def free_block(self, arm: int) -> int | None:
        return super().free_block(arm) if self.filling[arm] <= self.released[arm] + 1 else None


def late_answers(rule: type[Counts], epsilon: float) -> str:
    """Return quartiles of the regret, and the share of answers that enter, when each comes LATE people later."""
    policy = dpb.DPUCBInt(epsilon=epsilon, delta=1e-6, horizon=LATE_PEOPLE)
    means = [0.9, 0.6]
    regrets = []
    entered = 0.0
    for seed in range(LATE_RUNS):
        bandit = dpb.Bandit(policy, len(means))
        bandit._learner.counts = rule(len(means), bandit._learner.schedule, LATE_PEOPLE)
        dice = random.Random(seed)  # noqa: S311
        waiting: deque[Assignment] = deque()
        regret = 0.0
        for _ in range(LATE_PEOPLE):
            waiting.append(bandit.assign())
            regret += means[0] - means[int(waiting[-1].arm)]
            if len(waiting) > LATE:
                answered = waiting.popleft()
                bandit.close(answered, float(dice.random() < means[int(answered.arm)]))
        regrets.append(regret)
        entered += bandit._learner.counts.entered / LATE_PEOPLE
    quartiles = " / ".join(f"{regret:.0f}" for regret in statistics.quantiles(regrets, n=4))
    return f"{quartiles}, {entered / LATE_RUNS:.0%}"


def late_rows() -> list[list[str]]:
    """Return what late answers cost, under both rules."""
    return [
        [f"{epsilon:g}", *(late_answers(rule, epsilon) for rule in (Counts, OneBlockAhead))] for epsilon in (1.0, 5.0)
    ]


def coverage_rows() -> list[list[str]]:
    """Return how often all intervals are right at once, and their width against the narrowest that would do."""
    cases: list[tuple[str, dpb.DPUCBInt, list[float], int]] = [
        ("ε = 1, δ = 0, n ≤ 10⁴", dpb.DPUCBInt(epsilon=1.0, delta=0.0, horizon=10_000), [0.5, 0.7], 10_000),
        ("ε = 1, δ = 10⁻⁶, n ≤ 10⁴", dpb.DPUCBInt(epsilon=1.0, delta=1e-6, horizon=10_000), [0.5, 0.7], 10_000),
        ("same, ten arms", dpb.DPUCBInt(epsilon=1.0, delta=1e-6, horizon=10_000), [0.1] * 8 + [0.2, 0.55], 10_000),
        ("same, rare successes", dpb.DPUCBInt(epsilon=1.0, delta=1e-6, horizon=10_000), [0.01, 0.02], 10_000),
        ("ε = 0.1, δ = 10⁻⁷, n ≤ 10⁵", dpb.DPUCBInt(epsilon=0.1, delta=1e-7, horizon=100_000), [0.3, 0.9], 100_000),
        ("ε = 5, δ = 10⁻⁶, for ever", dpb.DPUCBInt(epsilon=5.0, delta=1e-6), [0.5, 0.7], 10_000),
    ]
    rows = []
    for name, policy, means, horizon in cases:
        blocks = list(policy.live(1, 12).blocks(horizon))
        share, factor = simultaneous(blocks, means, EXPERIMENTS, seed=1)
        error = math.sqrt(share * (1 - share) / EXPERIMENTS)
        rows.append([name, str(len(means)), str(len(blocks)), f"{share:.2%} ± {error:.2%}", f"{factor:.2f}"])
    return rows


def main() -> None:
    times = [step_times(arms) for arms in (2, 10)]
    with tempfile.TemporaryDirectory() as folder:
        journal = journal_times(Path(folder))
    timing = [timing_row("in the step that releases it", DrawnWhenNeeded), timing_row("ahead, as it is", Watched)]
    text = f"""
DP-UCB-Int, (1, 10⁻⁶), {PEOPLE:,} people one after the other, microseconds.

{table(["arms", "a decision", "closing, no release", "closing, release", "estimates of all arms"], times)}
With a journal, 10 arms, microseconds (most of a step on disk is the disk's own time):

{table(["", "time"], journal)}
What the time of a closing tells about noise, {TIMED:,} closings that release one reward each: the rank correlation of
the time with the size of the noise; how often the noise of the fastest 5% is larger than its scale, and how often that
of all is; and, of the n closings in which the noise of the arm's next {MOST} releases is drawn, the rank correlation of
the time with the first of these noises, and with all of them together.

{table(["drawn", "own noise", "fastest 5%", "all", "next one", "next 16", "n", "median µs", "mean µs"], timing)}
Answers that come {LATE} people later, arms 0.9 and 0.6, {LATE_PEOPLE:,} people, {LATE_RUNS} runs: quartiles of regret,
and the share of answers that enter. While an arm's release waits, the leader fills its next blocks. If it filled only
one of them, most answers would be lost, and more so with the finer blocks of a larger budget.

{table(["ε", "as it is", "one block ahead"], late_rows())}
Intervals at 95%, {EXPERIMENTS} experiments: how often all of them, for all arms and all releases, are right at once;
and the factor by which all could be narrower and still be right in 95% (benchmarks/interval_coverage.py).

{table(["DP-UCB-Int", "arms", "releases an arm", "all right", "factor"], coverage_rows())}"""
    write_section("Live learner", "live.py", text)


if __name__ == "__main__":
    main()
