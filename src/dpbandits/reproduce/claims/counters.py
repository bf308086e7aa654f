"""Claims about the hybrid counter and the two algorithms that are built on it."""

import math

import numpy as np

from dpbandits.mechanisms import Hybrid
from dpbandits.reproduce.claims import bound_counterexample
from dpbandits.reproduce.claims.claim import Cause, Finding, Verdict, claim, judged
from dpbandits.reproduce.claims.shared_runs import CHANGED, QUIET, TELLING, telling_ratio
from dpbandits.reproduce.confidence import Interval, share
from dpbandits.reproduce.measures import Measure
from dpbandits.reproduce.paper_experiments import HORIZON
from dpbandits.reproduce.study import Study


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
    cause=Cause.COUNTERS,
)
def hybrid_private(study: Study) -> Finding:
    """Items between two powers of two are in a tree and in the next total."""
    unsplit = Hybrid(epsilon=1.0, split=False)
    loss, split = unsplit.item_loss(4096), Hybrid(epsilon=1.0).item_loss(4096)
    first = next(n for n in range(1, 4097) if unsplit.item_loss(n) > loss - 1e-9)
    return Finding(
        Verdict.FAILS,
        "an item between two powers of two is in a tree that costs ε and again in the next total that costs ε. The "
        "authors overlook that the same item is used twice, at different times. With ε/2 for each part it is ε-DP.",
        (
            Measure.exact("worst loss of 4,096 items at ε = 1: as published", loss, "epsilon"),
            Measure.exact("worst loss of 4,096 items at ε = 1: with the budget split", split, "epsilon"),
            Measure.exact("items until the published loss is reached", first, "items"),
        ),
    )


@claim(
    "hybrid-error",
    where="Section 2.3, about earlier work",
    says="With probability 1 - γ the error of the hybrid sum of n items is at most (1/ε) log(1/γ) log^1.5 n.",
    test="The exact tail of the noise in the sum of n items, n = 1 to 64, for γ = 5% and 0.1%; without a split as "
    "here, and with one as in the earlier work.",
)
def hybrid_error(study: Study) -> Finding:
    """An order of magnitude, not an inequality."""
    measures = []
    for split, name in ((False, "without a split"), (True, "with a split")):
        exceeded = _counts_beyond_the_bound(Hybrid(epsilon=1.0, split=split))
        measures += [
            Measure.exact(f"n with a larger error than stated, more often than γ, {name}: how many", len(exceeded)),
            Measure.exact(f"n with a larger error than stated, more often than γ, {name}: the largest", max(exceeded)),
        ]
    at_two = tail(dict(Hybrid(epsilon=1.0, split=False).noise_scales(2)), math.log(20))
    return Finding(
        Verdict.ONLY_IF,
        "it is read as an order of magnitude, up to a constant factor, and n > 1. (At n = 1 the bound is 0.)",
        (*measures, Measure.exact("chance of a larger error at n = 2, γ = 5%, without a split", at_two, "share")),
    )


def _counts_beyond_the_bound(counter: Hybrid) -> list[int]:
    """Return the n at which the stated bound fails more often than γ, one for each set of noises in a sum."""
    # The same noises are in many sums; the bound is smallest for the first of them.
    first = {tuple(counter.noise_scales(n).items()): n for n in range(64, 0, -1)}
    return [
        n
        for noises, n in first.items()
        if any(tail(dict(noises), math.log(1 / gamma) * math.log2(n) ** 1.5) > gamma + 1e-4 for gamma in (0.05, 0.001))
    ]


@claim(
    "tighter-error",
    where="Section 2.3, equation (2)",
    says="The paper's own bound on that error, √8/ε log(4/γ) (log n + 1), is tighter.",
    test=f"Both formulas at γ = t^-4, t = {HORIZON:,}, for every n up to t.",
)
def tighter_error(study: Study) -> Finding:
    """For long streams."""
    t = HORIZON
    n = np.arange(2, t + 1, dtype=np.float64)
    ours = math.sqrt(8) * (math.log(4) + 4 * math.log(t)) * (np.log2(n) + 1)
    earlier = 4 * math.log(t) * np.log2(n) ** 1.5
    ratio = earlier / ours
    first = int(n[np.argmax(ratio > 1)])
    return Finding(
        Verdict.ONLY_IF,
        f"the stream has at least {first:,} items (and the earlier bound is read with constant 1).",
        (
            Measure.exact("the paper's bound is smaller from then on", first, "items"),
            Measure.exact("earlier bound over the paper's: n = 10", float(ratio[8]), "factor"),
            Measure.exact(f"earlier bound over the paper's: n = {t:,}", float(ratio[-1]), "factor"),
        ),
    )


def error_ratios() -> list[float]:
    """Return the bound of Lemma B.2 at γ = t^-4 over a proved one, for every set of noises that a sum can have."""
    counter = Hybrid(epsilon=1.0, split=False)
    gamma = HORIZON**-4.0
    shapes = {(n.bit_length(), n.bit_count()): n for n in range(HORIZON - 1, 0, -1)}  # one n for each set of noises
    return [counter.paper_error_bound(n, gamma) / counter.error_bound(n, gamma) for n in shapes.values()]


def _over_a_proved_bound(ratios: list[float]) -> tuple[Measure, Measure]:
    return (
        Measure.exact("the paper's bound over a proved one: at least", min(ratios), "factor"),
        Measure.exact("the paper's bound over a proved one: at most", max(ratios), "factor"),
    )


@claim(
    "tight-error",
    where="Section 3.1",
    says="What DP-UCB-Bound adds to its index is a tight upper bound on the noise.",
    test=f"The paper's bound at γ = t^-4, t = {HORIZON:,}, over the Chernoff bound of the same noise, which is "
    "proved, for every n < t.",
)
def tight_error(study: Study) -> Finding:
    """Valid, but not tight."""
    ratios = error_ratios()
    return Finding(
        Verdict.FAILS,
        "it is an upper bound, but a smaller one is proved for every n.",
        _over_a_proved_bound(ratios),
    )


@claim(
    "lemma-b2",
    where="Lemma B.2",
    says="For any γ ≤ n^-b with any b > 0 the hybrid mechanism is ε-DP and its error is at most √8/ε log(4/γ)(log n "
    "+ 1) with probability 1 - γ.",
    test="Privacy: exact loss. Error at γ = t^-4: a Chernoff bound of the true noise below the formula for every n < "
    "t proves it. Small b: the exact tail of the noise at n = 2^k - 1.",
    cause=Cause.COUNTERS,
)
def lemma_b2(study: Study) -> Finding:
    """The privacy part fails, the error part needs b of about 1.44."""
    loss = Hybrid(epsilon=1.0, split=False).item_loss(4096)
    k, b = 400, 0.01
    gamma = 2.0 ** (-b * k)
    chance = tail(noises_before(k), math.sqrt(8) * math.log(4 / gamma) * (k + 1))
    large = f"b = {b:g}, n = 2^{k} - 1"
    return Finding(
        Verdict.FAILS,
        "the privacy part is wrong by a factor of 2; the error part holds as it is used (γ = t^-4, n < t), and not for "
        "every b > 0.",
        (
            Measure.exact("worst loss of 4,096 items at ε = 1", loss, "epsilon"),
            *_over_a_proved_bound(error_ratios()),
            Measure.exact(f"{large}: γ", gamma, "share"),
            Measure.exact(f"{large}: chance of an error above the bound", chance, "share"),
        ),
    )


@claim(
    "theorem-3.1",
    where="Theorem 3.1",
    says="DP-UCB-Bound is ε-DP after any number of plays.",
    test=f"ε = 1, two arms, {len(bound_counterexample.ARMS)} steps, all rewards 0 but the fifth, 0 or 1: the "
    f"probability that the published algorithm plays {', '.join(map(str, bound_counterexample.ARMS))}, two noises "
    "integrated out exactly.",
    cause=Cause.COUNTERS,
)
def theorem_3_1(study: Study) -> Finding:
    """What it plays can reveal as much as the sums do."""
    ratio, chance = study.kept(
        "bound counterexample",
        lambda: bound_counterexample.log_ratio(
            1.0, draws=study.scaled(400_000, least=100_000), seed=study.settings.seed
        ),
    )
    revealed = Interval(*ratio)
    published, split = (Hybrid(epsilon=1.0, split=each).item_loss(4096) for each in (False, True))
    return Finding(
        Verdict.FAILS if revealed.low > 1 else Verdict.ONLY_IF,
        "the choices together can reveal 2ε; the whole sequence counts, as row definition says. With the budget split "
        "between the two parts of every counter ε-DP is proved."
        if revealed.low > 1
        else "the budget is split between the two parts of every counter. Without that the sums lose 2ε, though these "
        "draws do not show it.",
        (
            Measure.estimated("choices, of which ε = 1 allows a log ratio of 1: log ratio", revealed, "log ratio"),
            # Pure differential privacy is about every event, however rare.
            Measure.observed("choices, of which ε = 1 allows a log ratio of 1: their probability", chance, "share"),
            Measure.exact("worst loss of the sums: as published", published, "epsilon"),
            Measure.exact("worst loss of the sums: with the split", split, "epsilon"),
        ),
    )


@claim(
    "dp-ucb-private",
    where="Section 3.2 (implied)",
    says="DP-UCB is ε-DP as well.",
    test=f"ε = 1, two arms, six steps, rewards {''.join(map(str, QUIET))} against {''.join(map(str, CHANGED))}: how "
    f"often the published algorithm plays {', '.join(map(str, TELLING))}.",
    cause=Cause.COUNTERS,
)
def dp_ucb_private(study: Study) -> Finding:
    """Refuted by what it plays."""
    published, one, other, trials = telling_ratio(study, "published")
    split, *_ = telling_ratio(study, "proved")
    verdict = judged(holds=published.high < 1, fails=published.low > 1)
    reasons = {
        Verdict.FAILS: "six choices alone reveal more than ε. With the budget split ε-DP is proved, and inserting "
        "zeros costs nothing.",
        Verdict.HOLDS: "this event does not refute it.",
    }
    return Finding(
        verdict,
        reasons.get(verdict, ""),
        (
            Measure.estimated("as published: log ratio (ε = 1 allows 1)", published, "log ratio"),
            Measure.estimated(f"as published: chance after {_joined(QUIET)}", share(one, trials), "share"),
            Measure.estimated(f"as published: chance after {_joined(CHANGED)}", share(other, trials), "share"),
            Measure.estimated("with the split: log ratio", split, "log ratio"),
        ),
    )


def _joined(rewards: tuple[int, ...]) -> str:
    return "".join(map(str, rewards))


@claim(
    "equal-noise",
    where="Section 3.2",
    says="Inserting zeros makes the noise of all arms equally large, so that nothing has to be added to the index.",
    test="Standard deviation of the noise in the sums and in the means of an often and a rarely played arm.",
)
def equal_noise(study: Study) -> Finding:
    """Equal in the sums; the index uses means."""
    t, rare = HORIZON, 100
    deviation = math.sqrt(Hybrid(epsilon=1.0, split=False).variance(t))
    often = t - rare
    subject = f"standard deviation of the noise at t = {t:,}, ε = 1"
    return Finding(
        Verdict.ONLY_IF,
        "sums are meant. The index divides them by the number of plays, and the noise of a rarely played arm is "
        "larger by just that.",
        (
            Measure.exact(f"{subject}: in the sum of every arm", deviation),
            Measure.exact(f"{subject}: in the mean of {rare} plays", deviation / rare),
            Measure.exact(f"{subject}: in the mean of {often:,} plays", deviation / often),
            Measure.exact(f"UCB's own term after {rare} plays", math.sqrt(2 * math.log(t) / rare)),
        ),
    )
