"""The noise-aware index: what was searched, and how it does on bandits that the search never saw.

    python benchmarks/noise_aware.py search    candidates on 150 random cases (seed 0)
    python benchmarks/noise_aware.py report    the recommended policy on 250 fresh ones (seed 3), against all others
    python benchmarks/noise_aware.py speed     microseconds a run
    python benchmarks/noise_aware.py few       the same as report on 250 cases with 2, 3, 5, 10 or 20 arms (seed 4)

Written to benchmarks/noise_aware.md. What is played is kept in benchmarks/parts: stopped, it goes on where it was. The
report takes more than an hour on two cores: policies that decide at every step are slow, and get fewer runs. On many
cores, play every part of the cases in a process of its own (--part 1/16, --part 2/16, ...), then run it without.
"""

import argparse
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import dpbandits as dpb
from candidates import SlopedIMED, TailIMED, TwoMeansIMED
from dpbandits.comparison import Case, Contender, Leaderboard, Score, compare, random_cases
from dpbandits.comparison.leaderboard import is_worse
from dpbandits.engine.driver import Chunk
from dpbandits.policies import Policy
from dpbandits.simulation.job import Job
from report import seconds, table, write_section

HERE = Path(__file__).parent
RESULTS = HERE / "noise_aware.md"
HEAD = "# The noise-aware index, measured\n"
HORIZONS = (10**5, 10**6)
RUNS = 1000
PART: str | None = None


def made(kind: Callable[..., Policy], **settings: object) -> Contender:
    """Return a policy as a function of epsilon; `first` is the first phase times epsilon."""

    def make(epsilon: float) -> Policy:
        chosen = dict(settings)
        first = chosen.pop("first", None)
        if first is not None:
            chosen["first_phase"] = math.ceil(first / epsilon)  # type: ignore[operator]
        return kind(epsilon=epsilon, **chosen)

    return make


def play(contenders: dict[str, Contender], cases: list[Case], horizon: int, runs: int = RUNS) -> Leaderboard:
    """Play what has not been played yet."""
    return compare(contenders, cases, horizon=horizon, runs=runs, seed=0, folder=HERE / "parts")


ours = made(dpb.NoiseAwareIMED)


def search(cases: list[Case], title: str) -> None:
    """Compare exponents at equal phases, then first phase, growth and caution of the winner."""
    same = {"first": 16, "growth": 1.5}
    exponents = {
        "published: n d_ε of the sum": made(dpb.DPIMED, **same),
        "chernoff: the sum and its noises": made(TailIMED, **same, saddlepoint=False),
        "saddlepoint: the tail of the sum": made(TailIMED, **same, saddlepoint=True),
        "saddlepoint, caution 1": made(TailIMED, **same, saddlepoint=True, caution=1.0),
        "phase-wise": made(dpb.NoiseAwareIMED, **same, caution=0.0),
        "phase-wise, two means": made(TwoMeansIMED, **same, caution=0.0),
        "phase-wise, caution 1": made(dpb.NoiseAwareIMED, **same, caution=1.0),
        "phase-wise, caution by arms": made(dpb.NoiseAwareIMED, **same),
    }
    grid: dict[str, Contender] = {}
    for first in (8, 12, 16, 24):
        for growth in (1.25, 1.5, 2.0):
            grid[f"first {first}/ε, growth {growth:g}"] = made(dpb.NoiseAwareIMED, first=first, growth=growth)
    front: dict[str, Contender] = {}
    for caution in (-2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0):
        front[f"caution {caution:g} for any number of arms"] = made(dpb.NoiseAwareIMED, caution=caution)
    for slope in (0.3, 0.4, 0.5, 0.7, 0.8):
        front[f"caution 1 - {slope:g} ln(K/2)"] = made(SlopedIMED, slope=slope)
    front["caution 1 - 0.6 ln(K/2)"] = ours
    rival = {"dp-imed": made(dpb.DPIMED)}
    text = ""
    for part, candidates in (("Exponents", exponents), ("First phase and growth", grid), ("The front", front)):
        rows = []
        for horizon in HORIZONS:
            board = play({**rival, **candidates}, cases, horizon)
            rows += [_row(name, board, horizon) for name in candidates]
        text += f"### {part}\n\n{table(_COLUMNS, rows)}\n"
    _write(title, f"{RUNS} runs each, arms in random order. {_MEANING}\n\n{text}")


_COLUMNS = [
    *("candidate", "T", "mean / bound: median", "90%", "at most 1.15", "99% / median: median", "95%", "at most 2.5"),
    *("linear, of 1000", "worse than dp-imed"),
]
_MEANING = (
    "mean / bound is mean regret over C ln T, with its median and 90th percentile over the cases and the share of "
    "cases in which it is at most 1.15; 99% / median is that of the runs of a case, with its median and 95th "
    "percentile over the cases and the share in which it is at most 2.5; linear are runs with regret above T "
    "(smallest gap) / 2, where T (smallest gap) > 10 C ln T; worse: share of cases with a larger mean than published "
    "DP-IMED (first phase 1, growth 2) at 99% confidence."
)


def _row(name: str, board: Leaderboard, horizon: int) -> list[str]:
    scores, rivals = board.of(name), board.of("dp-imed")
    worse = np.mean([is_worse(score, rival) for score, rival in zip(scores, rivals, strict=True)])
    return [name, *_criteria(scores, horizon), f"{worse:.1%}"]


def _spread(scores: list[Score], level: float) -> str:
    """Return 99% / median of a run, as a quantile over the cases."""
    return f"{np.quantile([score.percentile_99 / score.median for score in scores], level):.2f}"


def _criteria(scores: list[Score], horizon: int) -> list[str]:
    ratios = np.array([score.mean / score.yardstick for score in scores])
    spreads = np.array([score.percentile_99 / score.median for score in scores])
    linear, counted = (sum(getattr(score, field) for score in scores) for field in ("linear", "counted"))
    return [
        *(f"{horizon:.0e}", f"{np.median(ratios):.2f}", f"{np.quantile(ratios, 0.9):.2f}"),
        *(f"{np.mean(ratios <= 1.15):.1%}", f"{np.median(spreads):.2f}", f"{np.quantile(spreads, 0.95):.2f}"),
        *(f"{np.mean(spreads <= 2.5):.1%}", f"{1000 * linear / max(counted, 1):.2f}"),
    ]


IN_PHASES: dict[str, Contender] = {
    "dp-imed (phases of ours)": made(dpb.DPIMED, first=16, growth=1.5),
    "dp-imed (growth 2)": made(dpb.DPIMED),
    "dp-imed (growth 1.5)": made(dpb.DPIMED, growth=1.5),
    "dp-imed (growth 1.1)": made(dpb.DPIMED, growth=1.1),
    "dp-klucb (growth 2)": made(dpb.DPKLUCB),
    "dp-klucb (growth 1.1)": made(dpb.DPKLUCB, growth=1.1),
    "adap-ucb": made(dpb.AdaPUCB),
    "adap-klucb": made(dpb.AdaPKLUCB),
    "anytime-lazy-ucb": made(dpb.AnytimeLazyUCB),
    "dp-se": made(dpb.DPSE),
    "block-ucb": made(dpb.BlockUCB),
}
AT_EVERY_STEP: dict[str, Contender] = {
    "private-ucb": made(dpb.PrivateUCB),
    "dp-ucb (published)": made(dpb.DPUCB, variant="published"),
    "dp-ucb (proved)": made(dpb.DPUCB),
    "dp-ucb-bound (published)": made(dpb.DPUCBBound, variant="published"),
    "dp-ucb-bound (proved)": made(dpb.DPUCBBound),
    "hybrid-dmab (published)": made(dpb.HybridDMAB, variant="published"),
    "lazy-dp-ts": made(dpb.LazyDPTS),
}
STEP_RUNS = {10**4: 200, 10**5: 100, 10**6: 4}


def report(cases: list[Case], title: str, *, at_every_step: bool) -> None:
    """Compare the recommended policy with every other one."""
    criteria, rivals = [], []
    for horizon in (10**4, *HORIZONS):
        board = play({"noise-aware-imed": ours}, cases, horizon)
        criteria.append(_criteria(board.of("noise-aware-imed"), horizon))
        others = play(IN_PHASES, cases, horizon)
        if at_every_step:
            others += play(AT_EVERY_STEP, cases, horizon, STEP_RUNS[horizon])
        worst = [any(is_worse(a, b) for b in _same(others, a)) for a in board.of("noise-aware-imed")]
        criteria[-1].append(f"{np.mean(worst):.1%}")
        for name in others.policies:
            pairs = list(zip(board.of("noise-aware-imed"), others.of(name), strict=True))
            quotients = [other.mean / mine.mean for mine, other in pairs]
            rivals.append(
                [
                    *(name, f"{horizon:.0e}", f"{others.of(name)[0].runs}", f"{np.median(quotients):.2f}"),
                    f"{np.mean([is_worse(mine, other) for mine, other in pairs]):.1%}",
                    f"{np.mean([is_worse(other, mine) for mine, other in pairs]):.1%}",
                    # Tails are not seen in few runs.
                    *([_spread(others.of(name), level) for level in (0.5, 0.95)] if pairs[0][1].runs >= RUNS else "--"),
                ]
            )
    columns = [
        *("T", "mean / bound: median", "90%", "at most 1.15", "99% / median: median", "95%", "at most 2.5"),
        *("linear, of 1000", "beaten by at least one"),
    ]
    names = [
        *("policy", "T", "runs", "its mean / ours, median", "it is better (99%)", "ours is better (99%)"),
        *("its 99% / median: median", "95%"),
    ]
    text = (
        f"{RUNS} runs each, those that decide at every step as told, the arms in another random order in every run. "
        "beaten by at least one: share of cases in which another policy has a smaller mean at 99% confidence. "
        "dp-imed (phases of ours) is published DP-IMED with the first phase and growth of the recommended policy.\n\n"
        f"{table(columns, criteria)}\n{table(names, rivals)}"
    )
    _write(title, text)


def _same(board: Leaderboard, score: Score) -> list[Score]:
    return [other for other in board.scores if other.case == score.case]


def speed() -> None:
    """Measure microseconds a run on one core, with 10 arms."""
    environment = dpb.Bernoulli([0.55, 0.2, *[0.1] * 8])
    rows = []
    measured = {
        "noise-aware-imed": ours,
        "noise-aware-klucb": made(dpb.NoiseAwareKLUCB),
        "adac-ucb (delta 1e-6)": made(dpb.AdaCUCB, delta=1e-6),
        **IN_PHASES,
    }
    for name, make in measured.items():
        for epsilon in (0.1, 1.0):
            times = []
            for horizon in (10**5, 10**12):
                job = Job(make(epsilon), environment, horizon, np.array([horizon]))
                job.play(Chunk(0, np.random.SeedSequence(1)))  # compiles it
                times.append(seconds(partial(job.play, Chunk(1000, np.random.SeedSequence(1)))) * 1e3)
            rows.append([name, f"{epsilon:g}", *(f"{each:.1f}" for each in times), f"{times[1] / times[0]:.1f}"])
    rows.sort()
    _write(
        "Speed",
        "Microseconds a run with 10 arms {0.55, 0.2, 0.1 x 8}, one core, the best of three times 1000 runs.\n\n"
        + table(["policy", "epsilon", "T = 1e5", "T = 1e12", "ratio"], rows),
    )


def _write(title: str, text: str) -> None:
    if PART is None:
        write_section(title, "noise_aware.py", text, path=RESULTS, head=HEAD)


def part_of(cases: list[Case]) -> list[Case]:
    """Return all cases, or every so-many-th of them."""
    if PART is None:
        return cases
    number, parts = map(int, PART.split("/"))
    return cases[number - 1 :: parts]


SECTIONS: dict[str, Callable[[], None]] = {
    "search": lambda: search(part_of(random_cases(150, seed=0)), "Search: 150 random cases, seed 0"),
    "report": lambda: report(
        part_of(random_cases(250, seed=3)), "Report: 250 fresh random cases, seed 3", at_every_step=True
    ),
    "few": lambda: report(
        part_of(random_cases(250, seed=4, arms=(2, 3, 5, 10, 20))),
        "Few arms: 250 random cases with 2, 3, 5, 10 or 20 arms, seed 4",
        at_every_step=False,
    ),
    "speed": speed,
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=list(SECTIONS))
    parser.add_argument("--part", help="such as 3/16: only play this part of the cases, and write nothing")
    chosen = parser.parse_args()
    PART = chosen.part
    for section in chosen.sections:
        SECTIONS[section]()
