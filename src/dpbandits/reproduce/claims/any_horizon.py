"""Claims about time: the algorithms do not know the horizon, and their analysis holds at every step."""

from collections.abc import Callable

import numpy as np

from dpbandits.engine.driver import Chunk, Driver
from dpbandits.policies.policy import Policy
from dpbandits.reproduce.claims.claim import Cause, Finding, Verdict, claim
from dpbandits.reproduce.claims.shared_runs import EASY, OURS, long_interval_runs, of_panel
from dpbandits.reproduce.confidence import mean_at
from dpbandits.reproduce.measures import Measure
from dpbandits.reproduce.paper_experiments import TWO_ARMS, first_interval, published_interval
from dpbandits.reproduce.study import Study
from dpbandits.simulation import RegretSummary
from dpbandits.simulation.job import Job
from dpbandits.theory import upper_bounds

SEEDS = 50


@claim(
    "no-horizon",
    where="Contributions, 3; section 1",
    says="The algorithms need not know the horizon.",
    test="The same random numbers with two horizons, 500 and 2000: are the first 500 choices the same? For "
    f"{SEEDS} seeds. (Whether they were the first is not tested.)",
)
def no_horizon(study: Study) -> Finding:
    """Bit by bit."""
    same = {name: runs_without_horizon(EASY.published(name)) for name in (*OURS, "Private-UCB")}
    endless = published_interval(1.0).guarantee()
    is_true = all(same[name] == SEEDS for name in OURS)
    return Finding(
        Verdict.HOLDS if is_true else Verdict.FAILS,
        "their choices do not depend on it." if is_true else "their choices depend on it.",
        (
            *(
                Measure.exact(f"runs with the same choices, of {SEEDS}: {name}", runs, "runs")
                for name, runs in same.items()
            ),
            Measure.exact("privacy of DP-UCB-Int for ever at δ = e⁻¹⁰", endless.epsilon, "epsilon"),
        ),
    )


def runs_without_horizon(policy: Policy) -> int:
    """Return how many of the runs have the same regrets up to 500 whichever of two horizons the policy is told."""
    chunks = [Chunk(1, np.random.SeedSequence(seed)) for seed in range(SEEDS)]
    jobs = (Job(policy, TWO_ARMS.environment, t, np.arange(1, 501), blocks=False) for t in (500, 2000))
    short, long = ([played.regrets for played in Driver(1).results(job.play, chunks)] for job in jobs)
    return sum(map(np.array_equal, short, long))


@claim(
    "any-time",
    where="Contributions, 3",
    says="The regret analysis holds at every time step.",
    test="Two arms, ε = 1: is the mean significantly above its theorem's published bound at any time up to ten times "
    "the horizon (DP-UCB-Int, drawn once) or up to the horizon (the others)?",
    cause=Cause.STUCK,
)
def any_time(study: Study) -> Finding:
    """One of three theorems is exceeded from some time on."""
    gaps = TWO_ARMS.gaps
    first = first_interval(published_interval(1.0))
    bounds: dict[str, tuple[RegretSummary, Callable[[float], float]]] = {
        "DP-UCB-Bound": (
            of_panel(study, EASY, "DP-UCB-Bound"),
            lambda t: upper_bounds.dp_ucb_bound(gaps, t, 1.0, form="published"),
        ),
        "DP-UCB": (of_panel(study, EASY, "DP-UCB"), lambda t: upper_bounds.dp_ucb(gaps, t, 1.0)),
        "DP-UCB-Int": (long_interval_runs(study), lambda t: upper_bounds.dp_ucb_int(gaps, t, first)),
    }
    measures, broken = [], []
    for algorithm, (summary, bound) in bounds.items():
        times = summary.checkpoints.tolist()
        above = [t for t in times if mean_at(summary, t).low > bound(float(t)) * (1 + 1e-9)]
        broken += [algorithm] if above else []
        name = f"times significantly above its bound, of {len(times)}: {algorithm}"
        measures.append(Measure.observed(name, len(above), "times"))
    # Runs end somewhere and the claim does not: they can refute it and not confirm it.
    return Finding(
        Verdict.FAILS if broken else Verdict.UNDECIDED, f"above its bound: {', '.join(broken)}.", tuple(measures)
    )
