"""The regret of the paper's policies at T = 1e5 on its two scenarios, with many runs: the numbers that others refer to.

Run with `make bench`; the table goes to benchmarks/regret.md.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

import dpbandits as dpb
from dpbandits.policies import Policy
from dpbandits.reproduce.paper_experiments import DELTA, HORIZON, TEN_ARMS, TWO_ARMS, published_interval

RESULTS = Path(__file__).with_name("regret.md")
SCENARIOS = {"{0.9, 0.6}": TWO_ARMS, "10 arms": TEN_ARMS}
EPSILONS = (0.1, 1.0)


def private_policies(epsilon: float) -> dict[str, tuple[Policy, int]]:
    """Return policies and numbers of runs: many where few runs decide the mean."""
    interval: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA}
    return {
        "private-ucb": (dpb.PrivateUCB(epsilon=epsilon), 1000),
        "private-ucb, epsilon per arm": (dpb.PrivateUCB(epsilon=epsilon, split_over_arms=False), 1000),
        "private-ucb, no relaxation": (dpb.PrivateUCB(epsilon=epsilon, relaxation="none"), 1000),
        "dp-ucb, published": (dpb.DPUCB(epsilon=epsilon, variant="published"), 1000),
        "dp-ucb": (dpb.DPUCB(epsilon=epsilon), 1000),
        "dp-ucb, weighted": (dpb.DPUCB(epsilon=epsilon, counter="weighted"), 200),
        "dp-ucb-bound, published": (dpb.DPUCBBound(epsilon=epsilon, variant="published"), 1000),
        "dp-ucb-bound": (dpb.DPUCBBound(epsilon=epsilon), 1000),
        "dp-ucb-bound, weighted": (dpb.DPUCBBound(epsilon=epsilon, counter="weighted"), 200),
        "hybrid-dmab": (dpb.HybridDMAB(epsilon=epsilon), 200),
        "dp-ucb-int, published": (published_interval(epsilon), 400_000),
        "dp-ucb-int, published, live bonus": (dpb.DPUCBInt(**interval, accounting="corollary"), 100_000),
        "dp-ucb-int": (dpb.DPUCBInt(**interval), 100_000),
        "dp-ucb-int, horizon declared": (dpb.DPUCBInt(**interval, horizon=HORIZON), 100_000),
    }


def row(scenario: str, epsilon: str, name: str, policy: Policy, runs: int) -> str:
    environment = SCENARIOS[scenario].environment
    result = dpb.simulate({name: policy}, environment, horizon=HORIZON, runs=runs, seed=2016)
    final = result.final_regret(name)
    error = final.std(ddof=1) / math.sqrt(runs)
    usual = np.mean(np.abs(final - np.median(final)) < 1e-6)
    cells = [
        *(scenario, epsilon, name, str(runs), f"{final.mean():.2f} ± {error:.2f}", f"{final.std(ddof=1):.1f}"),
        *(f"{np.median(final):.1f}", f"{np.quantile(final, 0.99):.1f}", f"{final.max():.1f}"),
        *(f"{np.mean(final > 3000):.2%}", f"{usual:.1%}"),
    ]
    print(*cells, sep=" | ", flush=True)
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    header = [
        *("arms", "epsilon", "policy", "runs", "mean ± standard error", "standard deviation", "median"),
        *("99th percentile", "worst", "above 3000", "runs at the median"),
    ]
    rows = []
    for scenario in SCENARIOS:
        rows.append(row(scenario, "", "ucb", dpb.UCB(), 20_000))
        for epsilon in EPSILONS:
            for name, (policy, runs) in private_policies(epsilon).items():
                rows.append(row(scenario, f"{epsilon:g}", name, policy, runs))
    RESULTS.write_text(
        "# Regret\n\n"
        f"Pseudo-regret at T = {HORIZON:,}, Bernoulli arms: {{0.9, 0.6}}, or ten arms, eight at 0.1, one at 0.2, one "
        "at 0.55. delta = e^-10 for DP-UCB-Int, seed 2016. Written by `make bench` (benchmarks/regret.py). Published "
        "is what the paper describes; without a word, a policy has its default settings.\n\n"
        + "\n".join(["| " + " | ".join(header) + " |", "|" + " --- |" * len(header), *rows])
        + "\n"
    )


if __name__ == "__main__":
    main()
