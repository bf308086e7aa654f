"""Claims of the experiments section: what the four panels show."""

import numpy as np

from dpbandits.environments import Bernoulli
from dpbandits.policies import PrivateUCB
from dpbandits.reproduce.claims.base import Finding, Verdict, claim
from dpbandits.reproduce.claims.evidence import (
    EASY,
    OURS,
    PRIVATE,
    long_interval_runs,
    long_ucb_runs,
    many_interval_runs,
    of_panel,
    printed_runs,
)
from dpbandits.reproduce.experiments import PANELS, TWO_ARMS, Panel, published_interval
from dpbandits.reproduce.statistics import Interval, difference, mean_at, number, share
from dpbandits.reproduce.study import Study

SPREAD = 664.5  # the paper's largest difference between the best and the worst of 100 runs, two arms


def _best_other(study: Study, panel: Panel) -> tuple[str, Interval]:
    others = {name: mean_at(of_panel(study, panel, name)) for name in PRIVATE if name != "DP-UCB-Int"}
    best = min(others, key=lambda name: others[name].value)
    return best, others[best]


@claim(
    "int-best",
    where="Experiments",
    says="DP-UCB-Int is significantly better than all other private algorithms.",
    test="Mean regret at the horizon in all four panels, with many runs of DP-UCB-Int because a few of them decide "
    "its mean; then the other readings of Algorithm 3.",
)
def int_best(study: Study) -> Finding:
    """In one reading, and not in every panel's mean."""
    rows, wins = [], []
    for panel in PANELS:
        many = many_interval_runs(study, panel)
        ours, (name, other) = mean_at(many), _best_other(study, panel)
        wins.append(ours.high < other.low)
        rows.append(
            f"{panel.name}: {ours} (median {number(float(many.quantile(0.5)[-1]))}, {many.runs:,} runs), "
            f"best other is {name} with {other}"
        )
    readings = {
        "x-series": [study.summary(published_interval(p.epsilon, "x"), p.scenario.environment) for p in PANELS],
        "constant interval": [
            study.summary(published_interval(p.epsilon, "constant"), p.scenario.environment) for p in PANELS
        ],
        "as printed": [printed_runs(study, panel) for panel in PANELS],
    }
    for reading, summaries in readings.items():
        lost = sum(
            mean_at(summary).low > _best_other(study, panel)[1].high
            for panel, summary in zip(PANELS, summaries, strict=True)
        )
        shown = ", ".join(number(mean_at(summary).value) for summary in summaries)
        rows.append(f"{reading}: {shown}; beaten by another in {lost} of 4 panels")
    where = ", ".join(panel.name for panel, won in zip(PANELS, wins, strict=True) if not won)
    return Finding(
        Verdict.HOLDS if all(wins) else Verdict.ONLY_IF if any(wins) else Verdict.FAILS,
        "noise is drawn once and the y-series is used"
        + (
            f", and with 99% confidence not in the mean at: {where}, where a few runs keep the worse arm."
            if where
            else "."
        ),
        tuple(rows),
    )


@claim(
    "gap-constant",
    where="Experiments",
    says="The gap between DP-UCB-Int and UCB does not grow with time.",
    test="Two arms, ε = 1: difference of the means at a tenth of the horizon, at the horizon and at ten times it; "
    "difference of the medians.",
)
def gap_constant(study: Study) -> Finding:
    """Not in the mean."""
    t = study.settings.horizon
    ours, ucb = long_interval_runs(study), long_ucb_runs(study)
    times = [t // 10, t, 10 * t]
    gaps = [difference(mean_at(ours, time), mean_at(ucb, time)) for time in times]
    growth = difference(gaps[2], gaps[1])
    medians = [float(ours.quantile(0.5)[ours.at(time)] - ucb.quantile(0.5)[ucb.at(time)]) for time in times]
    stuck = share(ours.runs_above(ours.horizon * 0.3 / 2), ours.runs)
    return Finding(
        Verdict.FAILS if growth.low > 0 else Verdict.UNDECIDED,
        "in some runs the first release of the best arm is so low that it is never played again. One hundred runs "
        "often show none.",
        (
            "gap of the means: " + ", ".join(f"{gap} (t = {time:,})" for gap, time in zip(gaps, times, strict=True)),
            "gap of the medians: " + ", ".join(map(number, medians)),
            f"runs that keep the worse arm for more than half the time: {100 * stuck.value:.2f}% "
            f"({100 * stuck.low:.2f}% to {100 * stuck.high:.2f}%)",
        ),
    )


@claim(
    "early-late",
    where="Experiments",
    says="DP-UCB is better than DP-UCB-Bound in the beginning; later DP-UCB-Bound catches up and outperforms it.",
    test="Both means over time in all four panels.",
)
def early_late(study: Study) -> Finding:
    """The beginning is as said, the end not everywhere."""
    rows, early, late = [], [], []
    for panel in PANELS:
        plain, bound = of_panel(study, panel, "DP-UCB"), of_panel(study, panel, "DP-UCB-Bound")
        apart = np.abs(plain.mean - bound.mean) > 0.02 * bound.mean
        first = int(np.argmax(apart & (plain.checkpoints > panel.scenario.environment.arms)))
        early.append(bool(plain.mean[first] < bound.mean[first]))
        ends = mean_at(plain), mean_at(bound)
        gap = difference(*ends)
        late.append(gap.low > 0)
        ahead = np.flatnonzero(plain.mean < bound.mean)
        until = f"t = {plain.checkpoints[ahead[-1]]:,}" if len(ahead) else "the start"
        leader = "DP-UCB-Bound" if gap.low > 0 else "DP-UCB" if gap.high < 0 else "neither"
        rows.append(f"{panel.name}: DP-UCB ahead until {until}; at the end {ends[0]} against {ends[1]}, {leader} ahead")
    overtaken = ", ".join(panel.name for panel, is_late in zip(PANELS, late, strict=True) if is_late) or "no panel"
    verdict = Verdict.HOLDS if all(early) and all(late) else Verdict.ONLY_IF if any(late) else Verdict.FAILS
    return Finding(
        verdict,
        f"the horizon is long enough for the panel: by the end DP-UCB-Bound is significantly ahead in {overtaken}."
        if verdict is not Verdict.FAILS
        else "DP-UCB-Bound is significantly ahead in no panel by the end.",
        tuple(rows),
    )


@claim(
    "early-late-reason",
    where="Experiments",
    says="The reason: the additional regret of the one depends on the gaps and that of the other does not (the "
    "sentence names DP-UCB for both), so DP-UCB needs less time with close arms.",
    test="Regret beyond UCB's at ε = 1 with the better arm at 0.9 and gaps of 0.3, 0.1 and 0.05.",
)
def early_late_reason(study: Study) -> Finding:
    """Measured where only the gap changes."""
    gaps = (0.3, 0.1, 0.05)
    extra: dict[str, list[Interval]] = {"DP-UCB": [], "DP-UCB-Bound": []}
    for gap in gaps:
        environment = Bernoulli([0.9, 0.9 - gap])
        ucb = mean_at(study.summary(EASY.published("UCB"), environment))
        for algorithm, found in extra.items():
            found.append(difference(mean_at(study.summary(EASY.published(algorithm), environment)), ucb))
    plain, bound = extra["DP-UCB"], extra["DP-UCB-Bound"]
    falls = difference(plain[0], plain[-1]).low > 0
    falls_more = plain[-1].value / plain[0].value < bound[-1].value / bound[0].value
    return Finding(
        Verdict.ONLY_IF if falls and falls_more else Verdict.UNDECIDED,
        "the second “DP-UCB” is read as DP-UCB-Bound: then the additional regret of DP-UCB falls with the gap, that "
        "of DP-UCB-Bound hardly.",
        tuple(
            f"{algorithm}: " + ", ".join(f"{value} (gap {gap:g})" for gap, value in zip(gaps, found, strict=True))
            for algorithm, found in extra.items()
        ),
    )


@claim(
    "private-ucb-worst",
    where="Experiments",
    says="Private-UCB performs worse than all other algorithms.",
    test="Mean regret at the horizon in all four panels.",
)
def private_ucb_worst(study: Study) -> Finding:
    """Everywhere, by far."""
    rows, is_worst = [], True
    for panel in PANELS:
        worst = mean_at(of_panel(study, panel, "Private-UCB"))
        others = {name: mean_at(of_panel(study, panel, name)) for name in OURS}
        second = max(others, key=lambda name: others[name].value)
        is_worst &= worst.low > others[second].high
        rows.append(f"{panel.name}: {worst}, next is {second} with {others[second]}")
    return Finding(Verdict.HOLDS if is_worst else Verdict.UNDECIDED, "in all four panels, significantly.", tuple(rows))


@claim(
    "spread",
    where="Experiments",
    says=f"The difference between the best and the worst of 100 runs is consistent for the paper's algorithms and "
    f"UCB: under {SPREAD} with two arms.",
    test="That difference in both panels with two arms; for DP-UCB-Int also the probability that none of 100 runs is "
    "further off, from many runs.",
)
def spread(study: Study) -> Finding:
    """DP-UCB-Int has runs that are far off."""
    rows, wide = [], []
    for panel in PANELS:
        if panel.scenario is not TWO_ARMS:
            continue
        found = {}
        for algorithm in ("UCB", *OURS):
            summary = of_panel(study, panel, algorithm)
            found[algorithm] = float(summary.largest[-1] - summary.least[-1])
        rows.append(f"{panel.name}: " + ", ".join(f"{name} {number(width)}" for name, width in found.items()))
        many = many_interval_runs(study, panel)
        far = share(many.runs_above(float(many.least[-1]) + SPREAD), many.runs)
        within = (1 - far.value) ** 100
        rows.append(
            f"{panel.name}: a run of DP-UCB-Int is further off with probability {100 * far.value:.2f}% ± "
            f"{50 * (far.high - far.low):.2f}%; 100 runs within {SPREAD} of each other: {100 * within:.0f}%"
        )
        found["DP-UCB-Int"] = max(found["DP-UCB-Int"], SPREAD) if within < 0.5 else found["DP-UCB-Int"]
        wide += [f"{name} at ε = {panel.epsilon:g}" for name, width in found.items() if width >= SPREAD]
    return Finding(
        Verdict.ONLY_IF if wide else Verdict.HOLDS,
        f"one is lucky with {' and '.join(wide)}." if wide else "in these runs.",
        tuple(rows),
    )


@claim(
    "spread-private-ucb",
    where="Experiments",
    says="For Private-UCB that difference reaches 30,000.",
    test="Private-UCB with two arms, with its relaxation term and without.",
)
def spread_private_ucb(study: Study) -> Finding:
    """Only an algorithm that does not explore can lose everything or nothing."""
    t = study.settings.horizon
    widths: dict[str, list[float]] = {"published": [], "none": []}
    for relaxation, found in widths.items():
        for epsilon in (1.0, 0.1):
            policy = PrivateUCB(epsilon=epsilon, relaxation=relaxation)
            summary = study.summary(policy, TWO_ARMS.environment)
            found.append(float(summary.largest[-1] - summary.least[-1]))
    largest = 0.3 * t
    is_as_said = max(widths["none"]) > 0.99 * largest and max(widths["published"]) < 0.1 * largest
    return Finding(
        Verdict.ONLY_IF if is_as_said else Verdict.UNDECIDED,
        f"it runs without the term that makes it explore; then a run loses nothing or everything, 0.3 t = "
        f"{number(largest)}.",
        (
            "with its relaxation term: " + " and ".join(map(number, widths["published"])) + " (ε = 1 and 0.1)",
            "without: " + " and ".join(map(number, widths["none"])),
        ),
    )


@claim(
    "trade-off",
    where="Experiments",
    says="So the paper's algorithms trade off exploration and exploitation correctly, and Private-UCB does not.",
    test="Runs with more than half of the largest possible regret, with two arms.",
)
def trade_off(study: Study) -> Finding:
    """DP-UCB-Int is the one that gets stuck."""
    t = study.settings.horizon
    rows, stuck_low = [], 0.0
    for panel in PANELS:
        if panel.scenario is not TWO_ARMS:
            continue
        for algorithm in (*OURS, "Private-UCB"):
            is_interval = algorithm == "DP-UCB-Int"
            summary = many_interval_runs(study, panel) if is_interval else of_panel(study, panel, algorithm)
            lost = share(summary.runs_above(0.15 * t), summary.runs)
            stuck_low = max(stuck_low, lost.low) if is_interval else stuck_low
            rows.append(f"{panel.name}, {algorithm}: {100 * lost.value:.2f}% of {summary.runs:,} runs")
    return Finding(
        Verdict.ONLY_IF if stuck_low > 0 else Verdict.UNDECIDED,
        "DP-UCB and DP-UCB-Bound are meant. DP-UCB-Int has runs that stop exploring; Private-UCB explores too much.",
        tuple(rows),
    )
