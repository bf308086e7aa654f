"""Claims about what differential privacy means for a bandit, and what it needs."""

import math

from dpbandits.mechanisms import Hybrid
from dpbandits.mechanisms.response import truthful_chance
from dpbandits.policies import Variant
from dpbandits.privacy import Budget, group_guarantee, per_reward_budget
from dpbandits.privacy import Guarantee as Proved
from dpbandits.reproduce.claims.claim import Finding, Verdict, claim, judged
from dpbandits.reproduce.claims.shared_runs import telling_ratio
from dpbandits.reproduce.measures import Measure
from dpbandits.reproduce.paper_experiments import DELTA
from dpbandits.reproduce.study import Study


def odds_after(steps: int, epsilon: float) -> float:
    """Return ln of the ratio between the likelihoods of as many randomised responses to one reward."""
    truthful = truthful_chance(epsilon)
    return steps * math.log(truthful / (1 - truthful))


@claim(
    "definition",
    where="Definition 2.1",
    says="A bandit is private if each single choice, given the choices before, has nearly the same distribution under "
    "two reward sequences that differ in one step: then no person's presence affects the output much.",
    test="A policy that satisfies the definition with ε = 1: from step 2 on it answers with randomised response to the "
    "very first reward, anew at every step. Exact probabilities of its whole sequence of choices.",
)
def definition(study: Study) -> Finding:
    """One step is bounded, the sequence is not."""
    return Finding(
        Verdict.FAILS,
        "it bounds one step and not the sequence: what the choices reveal together grows with every step. All other "
        "rows use the standard notion, the whole action sequence.",
        (
            Measure.exact("log ratio of one choice", odds_after(1, 1.0), "log ratio"),
            Measure.exact("log ratio of 5 choices together", odds_after(5, 1.0), "log ratio"),
        ),
    )


@claim(
    "side-information",
    where="Introduction",
    says="An adversary, whatever else is known to him, cannot learn anything about a patient from the output.",
    test="Bayes' rule with δ = 0: for one who knows all other rewards, the odds of any statement about this one "
    "change by a factor of at most e^ε.",
)
def side_information(study: Study) -> Finding:
    """Privacy limits learning, it does not forbid it."""
    return Finding(
        Verdict.ONLY_IF,
        "δ = 0, other people's rewards tell nothing about this one, and “anything” means: more than a factor e^ε on "
        "the odds.",
        tuple(
            Measure.exact(f"a belief of 50% becomes at most: ε = {epsilon:g}", 1 / (1 + math.exp(-epsilon)), "share")
            for epsilon in (0.1, 1.0, 2.0)
        ),
    )


@claim(
    "no-assumption",
    where="Related work",
    says="Privacy needs no assumption on the rewards but that they are in [0, 1]; the others are for regret only.",
    test="Exact loss of every item of the split hybrid counter. It is the same for every stream of rewards in [0, 1].",
)
def no_assumption(study: Study) -> Finding:
    """Any rewards in [0, 1]."""
    loss = Hybrid(epsilon=1.0).item_loss(4096)
    return Finding(
        Verdict.HOLDS,
        "an implementation must enforce the range: a reward outside costs in proportion.",
        (
            Measure.exact("worst loss of 4,096 items in [0, 1], whatever their values", loss, "epsilon"),
            Measure.exact("loss of a reward of 3 in place of 0", 3 * loss, "epsilon"),
        ),
    )


@claim(
    "post-processing",
    where="Section 3, Figure 1",
    says="It is enough that the means are private: the choices are a function of them and cost nothing more.",
    test="The frequencies of a telling action sequence under two neighbouring reward sequences, against the exact loss "
    "of the sums that the choices are made from. (docs/privacy.md has the proof, also for adaptive choice.)",
)
def post_processing(study: Study) -> Finding:
    """Actions never show more than the sums do."""
    measures, ratios = [], []
    splits: dict[Variant, bool] = {"published": False, "proved": True}
    for variant, split in splits.items():
        loss = Hybrid(epsilon=1.0, split=split).item_loss(4096)
        ratio, *_ = telling_ratio(study, variant)
        ratios.append((ratio, loss))
        measures += [
            Measure.estimated(f"DP-UCB as {variant}: log ratio of the choices", ratio, "log ratio"),
            Measure.exact(f"DP-UCB as {variant}: loss of the sums", loss, "epsilon"),
        ]
    verdict = judged(
        holds=all(ratio.high <= loss for ratio, loss in ratios), fails=any(ratio.low > loss for ratio, loss in ratios)
    )
    reasons = {
        Verdict.HOLDS: "the choices show less than the sums.",
        Verdict.FAILS: "the choices show more than the sums.",
    }
    return Finding(verdict, reasons.get(verdict, ""), tuple(measures))


@claim(
    "several-rewards",
    where="Conclusion",
    says="If one person gives m rewards, dividing ε by m is enough.",
    test="Group privacy: what m rewards of one person cost when each costs (ε/m, δ), and when δ is divided too.",
)
def several_rewards(study: Study) -> Finding:
    """True for δ = 0; otherwise δ has to shrink as well."""
    m = 5
    pure = group_guarantee(_proved(1 / m, 0.0), m)
    careless = group_guarantee(_proved(1 / m, DELTA), m)
    budget = per_reward_budget(Budget(1.0, DELTA), m)
    careful = group_guarantee(_proved(budget.epsilon, budget.delta), m)
    return Finding(
        Verdict.ONLY_IF,
        "δ = 0, as for DP-UCB and DP-UCB-Bound; with δ > 0 it is to be divided by Σ e^(iε/m), i from 0 to m - 1.",
        (
            Measure.exact(f"all {m} rewards, each with ε/{m} and δ = 0", pure.epsilon, "epsilon"),
            Measure.exact(f"all {m} rewards, each with ε/{m} and δ = e⁻¹⁰", careless.delta, "delta"),
            Measure.exact(f"all {m} rewards, each with ε/{m} and δ divided as well", careful.delta, "delta"),
            Measure.exact("δ of each reward when it is divided", budget.delta, "delta"),
        ),
    )


def _proved(epsilon: float, delta: float) -> Proved:
    return Proved(epsilon, delta, theorem="group privacy", proved=True)
