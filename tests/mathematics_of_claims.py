"""What the claims of pure mathematics come to: verdict and numbers, which no run, seed or setting changes."""

from dpbandits.reproduce import Verdict

HOLDS, ONLY_IF, FAILS = Verdict.HOLDS, Verdict.ONLY_IF, Verdict.FAILS

MATHEMATICS: dict[str, tuple[Verdict, dict[str, float]]] = {
    "better-bounds": (
        ONLY_IF,
        {
            "2 arms, ε = 1: earlier": 32183.2,
            "2 arms, ε = 1: Theorem 3.2 as proved": 10423.4,
            "2 arms, ε = 1: Theorem 3.3": 3.00196e07,
            "2 arms, ε = 0.1: earlier": 321832,
            "2 arms, ε = 0.1: Theorem 3.2 as proved": 110426,
            "2 arms, ε = 0.1: Theorem 3.3": 4.10447e09,
            "10 arms, ε = 1: earlier": 1.48664e06,
            "10 arms, ε = 1: Theorem 3.2 as proved": 89119.5,
            "10 arms, ε = 1: Theorem 3.3": 3.95257e08,
            "10 arms, ε = 0.1: earlier": 1.48664e07,
            "10 arms, ε = 0.1: Theorem 3.2 as proved": 959960,
            "10 arms, ε = 0.1: Theorem 3.3": 5.40421e10,
        },
    ),
    "side-information": (
        ONLY_IF,
        {
            "a belief of 50% becomes at most: ε = 0.1": 0.524979,
            "a belief of 50% becomes at most: ε = 1": 0.731059,
            "a belief of 50% becomes at most: ε = 2": 0.880797,
        },
    ),
    "no-assumption": (
        HOLDS,
        {
            "worst loss of 4,096 items in [0, 1], whatever their values": 1,
            "loss of a reward of 3 in place of 0": 3,
        },
    ),
    "definition": (
        FAILS,
        {
            "log ratio of one choice": 1,
            "log ratio of 5 choices together": 5,
        },
    ),
    "optimal-trade-off": (
        FAILS,
        {
            "ε′ = 1: spent by then": 0.446692,
            "ε′ = 1: spent for ever, at most": 0.734652,
            "ε′ = 0.1: spent by then": 0.309347,
            "ε′ = 0.1: spent for ever, at most": 0.63496,
        },
    ),
    "hybrid-private": (
        FAILS,
        {
            "worst loss of 4,096 items at ε = 1: as published": 2,
            "worst loss of 4,096 items at ε = 1: with the budget split": 1,
            "items until the published loss is reached": 4,
        },
    ),
    "hybrid-error": (
        ONLY_IF,
        {
            "n with a larger error than stated, more often than γ, without a split: how many": 2,
            "n with a larger error than stated, more often than γ, without a split: the largest": 2,
            "n with a larger error than stated, more often than γ, with a split: how many": 16,
            "n with a larger error than stated, more often than γ, with a split: the largest": 63,
            "chance of a larger error at n = 2, γ = 5%, without a split": 0.124893,
        },
    ),
    "tighter-error": (
        ONLY_IF,
        {
            "the paper's bound is smaller from then on": 1201,
            "earlier bound over the paper's: n = 10": 0.48082,
            "earlier bound over the paper's: n = 100,000": 1.31936,
        },
    ),
    "theorem-3.2-order": (
        ONLY_IF,
        {
            "bound over UCB1's and (1/ε) ln ln t, ε = 1: t = 10^5": 13.8366,
            "bound over UCB1's and (1/ε) ln ln t, ε = 1: t = 10^10": 11.2951,
            "bound over UCB1's and (1/ε) ln ln t, ε = 1: t = 10^20": 9.71787,
            "bound over UCB1's and (1/ε) ln ln t, ε = 1: t = 10^40": 8.64299,
            "bound over UCB1's and (1/ε) ln ln t, ε = 1: t = 10^70": 7.9952,
            "bound over UCB1's and (1/ε) ln ln t, ε = 0.01: t = 10^5": 16.6431,
            "bound over UCB1's and (1/ε) ln ln t, ε = 0.01: t = 10^10": 13.3797,
            "bound over UCB1's and (1/ε) ln ln t, ε = 0.01: t = 10^20": 11.361,
            "bound over UCB1's and (1/ε) ln ln t, ε = 0.01: t = 10^40": 9.98889,
            "bound over UCB1's and (1/ε) ln ln t, ε = 0.01: t = 10^70": 9.16364,
            "bound over UCB1's and (1/ε) ln ln t, ε = 0.0001: t = 10^5": 21.4041,
            "bound over UCB1's and (1/ε) ln ln t, ε = 0.0001: t = 10^10": 17.0284,
            "bound over UCB1's and (1/ε) ln ln t, ε = 0.0001: t = 10^20": 14.3203,
            "bound over UCB1's and (1/ε) ln ln t, ε = 0.0001: t = 10^40": 12.4787,
            "bound over UCB1's and (1/ε) ln ln t, ε = 0.0001: t = 10^70": 11.371,
        },
    ),
    "tight-error": (
        FAILS,
        {
            "the paper's bound over a proved one: at least": 1.67484,
            "the paper's bound over a proved one: at most": 6.13277,
        },
    ),
    "equal-noise": (
        ONLY_IF,
        {
            "standard deviation of the noise at t = 100,000, ε = 1: in the sum of every arm": 50.9313,
            "standard deviation of the noise at t = 100,000, ε = 1: in the mean of 100 plays": 0.509313,
            "standard deviation of the noise at t = 100,000, ε = 1: in the mean of 99,900 plays": 0.000509823,
            "UCB's own term after 100 plays": 0.479853,
        },
    ),
    "theorem-3.3": (
        FAILS,
        {
            "t = 100,000, n = 1, ε = 1: noise bound": 117.893,
            "t = 100,000, n = 1, ε = 1: needed at most": 0.309916,
            "bound over the largest possible regret: 2 arms, ε = 1": 1000.65,
            "bound over the largest possible regret: 2 arms, ε = 0.1": 136816,
            "bound over the largest possible regret: 10 arms, ε = 1": 8783.5,
            "bound over the largest possible regret: 10 arms, ε = 0.1": 1.20094e06,
            "2 arms, ε = 1: first t at which it says something": 1.70856e08,
            "2 arms, ε = 1: bound from the proof's own condition with the noise of 100,000 items": 5.38483e07,
        },
    ),
    "noise-below-bonus": (
        FAILS,
        {
            "chance of noise above the term, v = 1.1, t = 100,000: n = 46": 0.0190154,
            "chance of noise above the term, v = 1.1, t = 100,000: n = 1,000": 0.0334703,
            "chance of noise above the term, v = 1.1, t = 100,000: n = 100,000": 0.0673125,
            "chance of noise above the term, v = 1.1, t = 100,000: assumed by the proof": 3.16228e-18,
        },
    ),
    "shorter-intervals": (
        ONLY_IF,
        {
            "ε′ = 1, x-series: first release after": 124,
            "ε′ = 1, x-series: up to n = 100,000": 397,
            "ε′ = 1, y-series: first release after": 46,
            "ε′ = 1, y-series: up to n = 100,000": 400,
            "ε′ = 1, constant interval: first release after": 253,
            "ε′ = 1, constant interval: up to n = 100,000": 395,
            "ε′ = 0.1, x-series: first release after": 9834,
            "ε′ = 0.1, x-series: up to n = 100,000": 5,
            "ε′ = 0.1, y-series: first release after": 1751,
            "ε′ = 0.1, y-series: up to n = 100,000": 7,
            "ε′ = 0.1, constant interval: first release after": 21591,
            "ε′ = 0.1, constant interval: up to n = 100,000": 4,
        },
    ),
    "theorem-3.4": (
        ONLY_IF,
        {
            "ε′ = 1: C": 1.55994,
            "ε′ = 1: D": 0.802066,
            "ε′ = 1: really spent, x-series": 0.35693,
            "ε′ = 1: really spent, constant interval": 0.310527,
            "ε′ = 0.1: C": 0.0182256,
            "ε′ = 0.1: D": 0.0833269,
            "ε′ = 0.1: really spent, x-series": 0.015515,
            "ε′ = 0.1: really spent, constant interval": 0.0104136,
            "what the misprint takes from D at t = 100,000": 8.10735,
            "y-series, ε′ = 0.1: up to t = 100,000": 7,
            "y-series, ε′ = 0.1: claimed at δ = e⁻¹⁰": 0.0182256,
            "y-series, ε′ = 0.1: what they show if all noises fall on the far side": 0.0354305,
            "y-series, ε′ = 0.1: at the claimed ε, at least": 0.000133263,
        },
    ),
    "corollary-3.1": (
        ONLY_IF,
        {
            "ε′ = 1, x-series: by the branches that hold": 1,
            "ε′ = 1, x-series: really spent": 0.35693,
            "ε′ = 1, y-series: by the branches that hold": 1,
            "ε′ = 1, y-series: really spent": 0.446692,
            "ε′ = 1, constant interval: by the branches that hold": 1,
            "ε′ = 1, constant interval: really spent": 0.310527,
            "ε′ = 0.1, x-series: by the branches that hold": 0.0182468,
            "ε′ = 0.1, x-series: really spent": 0.015515,
            "ε′ = 0.1, y-series: by the branches that hold": 0.1,
            "ε′ = 0.1, y-series: really spent": 0.0309347,
            "ε′ = 0.1, constant interval: by the branches that hold": 0.0182468,
            "ε′ = 0.1, constant interval: really spent": 0.0104136,
            "y-series, ε′ = 0.1: up to t = 100,000": 7,
            "y-series, ε′ = 0.1: claimed at δ = e⁻¹⁰": 0.0182468,
            "y-series, ε′ = 0.1: what they show if all noises fall on the far side": 0.0354305,
            "y-series, ε′ = 0.1: at the claimed ε, at least": 0.000133101,
        },
    ),
    "several-rewards": (
        ONLY_IF,
        {
            "all 5 rewards, each with ε/5 and δ = 0": 1,
            "all 5 rewards, each with ε/5 and δ = e⁻¹⁰": 0.000352344,
            "all 5 rewards, each with ε/5 and δ divided as well": 4.53999e-05,
            "δ of each reward when it is divided": 5.84984e-06,
        },
    ),
    "lemma-b1": (
        ONLY_IF,
        {
            "largest ratio of the two sides, where at most 1 is right: x in C": 1,
            "largest ratio of the two sides, where at most 1 is right: x in D": 1,
            "largest ratio of the two sides, where at most 1 is right: y in C": 1.5963,
            "largest ratio of the two sides, where at most 1 is right: y in D": 1,
            "longer than ⌈1/ε⌉": 0,
        },
    ),
    "lemma-b2": (
        FAILS,
        {
            "worst loss of 4,096 items at ε = 1": 2,
            "the paper's bound over a proved one: at least": 1.67484,
            "the paper's bound over a proved one: at most": 6.13277,
            "b = 0.01, n = 2^400 - 1: γ": 0.0625,
            "b = 0.01, n = 2^400 - 1: chance of an error above the bound": 0.675314,
        },
    ),
}
