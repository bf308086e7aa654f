"""Claims about the hybrid counter and the two algorithms that are built on it."""

import math

import numpy as np

from dpbandits.mechanisms import Hybrid
from dpbandits.reproduce.claims.base import Finding, Verdict, claim
from dpbandits.reproduce.claims.evidence import CHANGED, QUIET, TELLING, telling_ratio
from dpbandits.reproduce.statistics import number
from dpbandits.reproduce.study import Study


def paper_bound(n: float, log_term: float) -> float:
    """Return √8/ε ln(4/γ) (log2 n + 1) at ε = 1, the bound of Lemma B.2."""
    return math.sqrt(8) * log_term * (math.log2(n) + 1)


def tail(scales: dict[float, int], x: float) -> float:
    """Return Pr[|Σ Lap(b_i)| > x], from the characteristic function Π 1/(1 + b_i² u²); good to about 1e-5."""
    smallest = min(scales)
    steps = np.linspace(0.0, 1.0, 200_001)[1:]
    u = 300 / smallest * steps**3  # fine where the product of the largest scales lives
    log_product = sum(count * np.log1p((scale * u) ** 2) for scale, count in scales.items())
    integrand = np.sin(u * x) / u * np.exp(-log_product)
    whole = np.trapezoid(np.append(x, integrand), np.append(0.0, u))
    return float(1 - 2 / math.pi * whole)


def noises_before(power: int) -> dict[float, int]:
    """Return the noises in the unsplit hybrid sum of 2^power - 1 items at ε = 1: the most that a sum can have."""
    return {1.0: power, float(power - 1): power - 1}


@claim(
    "hybrid-private",
    where="Section 2.3",
    says="The hybrid mechanism with noise 1/ε at powers of two and (log t)/ε in the trees between is ε-DP for any "
    "number of items.",
    test="Exact loss of every item: the noises of all sums that contain it, added up by enumeration.",
)
def hybrid_private(study: Study) -> Finding:
    """Every item is in a tree and in the next total."""
    unsplit, split = Hybrid(epsilon=1.0, split=False), Hybrid(epsilon=1.0)
    first = next(n for n in range(1, 64) if unsplit.item_loss(n) > 1.5)
    loss = unsplit.item_loss(4096)
    return Finding(
        Verdict.FAILS if loss > 1.0001 else Verdict.HOLDS,
        "an item is in a tree that costs ε and again in the next total that costs ε. The authors overlook that the "
        "same item is used twice, at different times. With ε/2 for each part it is ε-DP.",
        (
            f"as published: {number(loss)} ε (4,096 items); already {number(unsplit.item_loss(first))} ε with "
            f"{first} items",
            f"with the budget split: {number(split.item_loss(4096))} ε",
        ),
    )


@claim(
    "hybrid-error",
    where="Section 2.3, about earlier work",
    says="With probability 1 - γ the error of the hybrid sum of n items is at most (1/ε) log(1/γ) log^1.5 n.",
    test="The exact tail of the noise in the sum of n items, n = 1 to 64, for γ = 5% and 0.1%.",
)
def hybrid_error(study: Study) -> Finding:
    """An order of magnitude, not an inequality."""
    # The same noises are in many sums; the bound is smallest for the first of them.
    counter = Hybrid(epsilon=1.0, split=False)
    first = {tuple(counter.noise_scales(n).items()): n for n in range(64, 0, -1)}
    broken = sorted(
        n
        for noises, n in first.items()
        if any(tail(dict(noises), math.log(1 / gamma) * math.log2(n) ** 1.5) > gamma + 1e-4 for gamma in (0.05, 0.001))
    )
    at_two = tail(dict(counter.noise_scales(2)), math.log(20))
    return Finding(
        Verdict.ONLY_IF if broken else Verdict.HOLDS,
        "it is read as an order of magnitude, up to a constant factor, and n > 1.",
        (
            f"larger error than stated, more often than γ, at n = {', '.join(map(str, broken[:6]))}"
            + (" …" if len(broken) > 6 else ""),
            f"n = 2, γ = 5%: the error is above the bound with probability {100 * at_two:.1f}%; n = 1: the bound is 0",
        ),
    )


@claim(
    "tighter-error",
    where="Section 2.3, equation (2)",
    says="The paper's own bound on that error, √8/ε log(4/γ) (log n + 1), is tighter.",
    test="Both formulas at γ = t^-4, for every n up to t.",
)
def tighter_error(study: Study) -> Finding:
    """For long streams."""
    t = study.settings.horizon
    n = np.arange(2, t + 1, dtype=np.float64)
    ours = math.sqrt(8) * (math.log(4) + 4 * math.log(t)) * (np.log2(n) + 1)
    earlier = 4 * math.log(t) * np.log2(n) ** 1.5
    tighter = ours < earlier
    if not tighter.any():
        return Finding(Verdict.FAILS, f"up to n = {t:,} it is never smaller.", ())
    first = int(n[np.argmax(tighter)])
    return Finding(
        Verdict.HOLDS if tighter.all() else Verdict.ONLY_IF,
        f"the stream has at least {first:,} items (and the earlier bound is read with constant 1).",
        (
            f"smaller from n = {first:,} on; at n = {t:,} by a factor {number(float(earlier[-1] / ours[-1]))}",
            f"at n = 10 larger by a factor {number(float(ours[8] / earlier[8]))}",
        ),
    )


@claim(
    "lemma-b2",
    where="Lemma B.2",
    says="For any γ ≤ n^-b with any b > 0 the hybrid mechanism is ε-DP and its error is at most √8/ε log(4/γ)(log n "
    "+ 1) with probability 1 - γ.",
    test="Privacy: exact loss. Error at γ = t^-4: a Chernoff bound of the true noise below the formula for every n < "
    "t proves it. Small b: the exact tail of the noise at n = 2^k - 1.",
)
def lemma_b2(study: Study) -> Finding:
    """The privacy part fails, the error part needs b of about 1.44."""
    t = study.settings.horizon
    counter = Hybrid(epsilon=1.0, split=False)
    log_term = math.log(4) + 4 * math.log(t)
    shapes = {(n.bit_length(), n.bit_count()): n for n in range(t - 1, 0, -1)}  # one n for each set of noises
    ratios = [
        (math.sqrt(8) * log_term if n & (n - 1) == 0 else paper_bound(n, log_term)) / counter.error_bound(n, t**-4.0)
        for n in shapes.values()
    ]
    k, b = 400, 0.01
    gamma = 2.0 ** (-b * k)
    chance = tail(noises_before(k), math.sqrt(8) * math.log(4 / gamma) * (k + 1))
    loss = counter.item_loss(4096)
    return Finding(
        Verdict.FAILS if loss > 1.0001 else Verdict.HOLDS,
        "the privacy part is wrong by a factor of two; the error part holds as it is used (γ = t^-4, n < t) and not "
        "for every b > 0.",
        (
            f"loss {number(loss)} ε",
            f"γ = t^-4, all n < {t:,}: the formula is {number(min(ratios))} to {number(max(ratios))} times a proved "
            "bound",
            f"b = {b:g}, n = 2^{k} - 1: γ = {number(gamma)}, but the error is above the bound with probability "
            f"{number(chance)}",
        ),
    )


@claim(
    "theorem-3.1",
    where="Theorem 3.1",
    says="DP-UCB-Bound is ε-DP after any number of plays.",
    test="A reward enters the counter of one arm; exact loss of that counter by enumeration.",
)
def theorem_3_1(study: Study) -> Finding:
    """Its proof uses the hybrid's false ε."""
    published, split = (Hybrid(epsilon=1.0, split=each).item_loss(4096) for each in (False, True))
    return Finding(
        Verdict.ONLY_IF if split <= 1 < published else Verdict.HOLDS,
        "the budget is split between the two parts of every counter. As published 2ε is proved and ε is not; whether "
        "the choices alone reveal more than ε is not known.",
        (f"the sums lose {number(published)} ε as published, {number(split)} ε with the split",),
    )


@claim(
    "dp-ucb-private",
    where="Section 3.2 (implied)",
    says="DP-UCB is ε-DP as well.",
    test=f"ε = 1, two arms, six steps, rewards {''.join(map(str, QUIET))} against {''.join(map(str, CHANGED))}: how "
    f"often the published algorithm plays {', '.join(map(str, TELLING))}.",
)
def dp_ucb_private(study: Study) -> Finding:
    """Refuted by what it plays."""
    published, one, other, trials = telling_ratio(study, "published")
    split, *_ = telling_ratio(study, "proved")
    verdict = Verdict.FAILS if published.low > 1 else Verdict.HOLDS if published.high < 1 else Verdict.UNDECIDED
    return Finding(
        verdict,
        "six choices alone reveal more than ε. With the budget split ε-DP is proved, and inserting zeros costs "
        "nothing.",
        (
            f"as published: {one:,} against {other:,} of {trials:,} runs each, log ratio {published} (ε = 1 allows 1)",
            f"with the split: log ratio {split}",
        ),
    )


@claim(
    "equal-noise",
    where="Section 3.2",
    says="Inserting zeros makes the noise of all arms equally large, so that nothing has to be added to the index.",
    test="Standard deviation of the noise in the sums and in the means of an often and a rarely played arm.",
)
def equal_noise(study: Study) -> Finding:
    """Equal in the sums; the index uses means."""
    t = study.settings.horizon
    deviation = math.sqrt(Hybrid(epsilon=1.0, split=False).variance(t))
    rare = 100
    return Finding(
        Verdict.ONLY_IF,
        "sums are meant. The index divides them by the number of plays, and the noise of a rarely played arm is "
        "larger by just that.",
        (
            f"sums at t = {t:,}, ε = 1: {number(deviation)} for every arm",
            f"means: {number(deviation / rare)} after {rare} plays, {number(deviation / (t - rare))} after "
            f"{t - rare:,}; UCB's own term after {rare} plays is {number(math.sqrt(2 * math.log(t) / rare))}",
        ),
    )
