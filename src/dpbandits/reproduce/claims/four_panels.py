"""Claims of the experiments section: what the four panels show."""

from dpbandits.environments import Bernoulli
from dpbandits.policies import PrivateUCB, Relaxation
from dpbandits.reproduce.claims.claim import Cause, Finding, Verdict, claim, judged
from dpbandits.reproduce.claims.shared_runs import (
    EASY,
    GAP,
    OURS,
    long_interval_runs,
    long_ucb_runs,
    means_of_panel,
    of_panel,
    printed_runs,
    reading_runs,
)
from dpbandits.reproduce.confidence import Interval, difference, mean_at, number, range_within, share
from dpbandits.reproduce.paper_experiments import PANELS, RUNS, TWO_ARMS, Panel
from dpbandits.reproduce.study import Study
from dpbandits.simulation import RegretSummary

SPREAD = 664.5  # the paper's largest difference between the best and the worst of 100 runs, two arms
TWO_ARM_PANELS = tuple(panel for panel in PANELS if panel.scenario is TWO_ARMS)


def _names(panels: list[Panel]) -> str:
    return ", ".join(panel.name for panel in panels)


@claim(
    "int-best",
    where="Experiments",
    says="DP-UCB-Int is significantly better than all other private algorithms.",
    test="Mean regret at the horizon in all four panels, with many runs of DP-UCB-Int because a few of them decide "
    "its mean; then the other readings of Algorithm 3 in the same way.",
)
def int_best(study: Study) -> Finding:
    """In one reading, and not in every panel's mean."""
    rows = []
    usual = "drawn once, y-series"
    won: dict[str, list[Panel]] = {usual: [], "x-series": [], "constant interval": [], "as printed": []}
    lost: dict[str, list[Panel]] = {reading: [] for reading in won}
    for panel in PANELS:
        means = means_of_panel(study, panel)
        best = min((name for name in means if name != "DP-UCB-Int"), key=lambda name: means[name].value)
        published = of_panel(study, panel, "DP-UCB-Int")
        readings = {
            usual: means["DP-UCB-Int"],
            "x-series": mean_at(reading_runs(study, panel, "x")),
            "constant interval": mean_at(reading_runs(study, panel, "constant")),
            "as printed": mean_at(printed_runs(study, panel)),
        }
        for reading, mean in readings.items():
            won[reading] += [panel] if mean.high < means[best].low else []
            lost[reading] += [panel] if mean.low > means[best].high else []
        others = ", ".join(f"{reading} {mean}" for reading, mean in readings.items() if reading != usual)
        rows.append(
            f"{panel.name}: {readings[usual]} (median "
            f"{number(float(published.quantile(0.5)[-1]))}), best other is {best} with {means[best]}; {others}"
        )
    ours = won[usual]
    rows.append("significantly beaten by another, of 4 panels: " + ", ".join(f"{r} {len(p)}" for r, p in lost.items()))
    all_win = all(len(panels) == len(PANELS) for panels in won.values())
    verdict = Verdict.HOLDS if all_win else Verdict.ONLY_IF if ours else Verdict.UNDECIDED
    verdict = Verdict.FAILS if lost[usual] else verdict
    missing = [panel for panel in PANELS if panel not in ours]
    losing = [f"{reading} at {_names(panels)}" for reading, panels in lost.items() if panels]
    reasons = {
        Verdict.HOLDS: "in every panel and every reading.",
        Verdict.FAILS: f"another is significantly better at {_names(lost[usual])}.",
        Verdict.ONLY_IF: "noise is drawn once and the y-series is used"
        + (f" (others lose: {'; '.join(losing)})" if losing else "")
        + (f". Even then it is not significantly better in the mean at {_names(missing)}." if missing else "."),
    }
    return Finding(verdict, reasons.get(verdict, ""), tuple(rows))


@claim(
    "gap-constant",
    where="Experiments",
    says="The gap between DP-UCB-Int and UCB does not grow with time.",
    test="Two arms, ε = 1: difference of the means at a tenth of the horizon, at the horizon and at ten times it; "
    "difference of the medians. It fails if the gap more than triples from the horizon on, at 99%.",
    cause=Cause.STUCK,
)
def gap_constant(study: Study) -> Finding:
    """Not in the mean."""
    t = study.settings.horizon
    ours, ucb = long_interval_runs(study), long_ucb_runs(study)
    times = [t // 10, t, 10 * t]
    gaps = [difference(mean_at(ours, time), mean_at(ucb, time)) for time in times]
    medians = [float(ours.quantile(0.5)[ours.at(time)] - ucb.quantile(0.5)[ucb.at(time)]) for time in times]
    stuck = stuck_share(ours)
    return growth_finding(
        gaps[1],
        gaps[2],
        (
            "gap of the means: " + ", ".join(f"{gap} (t = {time:,})" for gap, time in zip(gaps, times, strict=True)),
            "gap of the medians: " + ", ".join(map(number, medians)),
            f"runs with more than half of the largest regret: {percent(stuck)}; none among 100 runs with probability "
            f"{100 * (1 - stuck.value) ** 100:.0f}%",
        ),
    )


def growth_finding(here: Interval, later: Interval, numbers: tuple[str, ...]) -> Finding:
    """Judge whether something grows from the horizon to ten times it: by a factor of 3 or more, or hardly."""
    verdict = judged(holds=later.high <= max(here.low, 0.0) * 1.5, fails=later.low > 3 * max(here.high, 0.0))
    reasons = {
        Verdict.FAILS: f"from the horizon to ten times it, it grows from {here} to {later}.",
        Verdict.HOLDS: "from the horizon to ten times it, it hardly grows.",
    }
    return Finding(verdict, reasons.get(verdict, ""), numbers)


def stuck_share(summary: RegretSummary) -> Interval:
    """Return the share of runs with more than half of the largest regret, on two arms: they keep the worse one."""
    return share(summary.runs_above(summary.horizon * GAP / 2), summary.runs)


def percent(part: Interval) -> str:
    """Return a share with its interval."""
    return f"{100 * part.value:.2f}% ({100 * part.low:.2f}% to {100 * part.high:.2f}%)"


@claim(
    "early-late",
    where="Experiments",
    says="DP-UCB is better than DP-UCB-Bound in the beginning; later DP-UCB-Bound catches up and outperforms it.",
    test="Both means in all four panels: at how many times of the first tenth either is significantly ahead, and who "
    "is at the end.",
)
def early_late(study: Study) -> Finding:
    """A beginning and an end, in each panel."""
    rows, as_said, not_so = [], [], []
    for panel in PANELS:
        plain, bound = of_panel(study, panel, "DP-UCB"), of_panel(study, panel, "DP-UCB-Bound")
        gaps = {int(t): difference(mean_at(plain, int(t)), mean_at(bound, int(t))) for t in plain.checkpoints}
        begun = [gap for t, gap in gaps.items() if t <= plain.horizon / 10]
        plain_ahead, bound_ahead = sum(gap.high < 0 for gap in begun), sum(gap.low > 0 for gap in begun)
        end = gaps[plain.horizon]
        leader = "DP-UCB-Bound" if end.low > 0 else "DP-UCB" if end.high < 0 else "neither"
        as_said += [panel] if plain_ahead > bound_ahead and leader == "DP-UCB-Bound" else []
        not_so += [panel] if plain_ahead < bound_ahead or leader == "DP-UCB" else []
        rows.append(
            f"{panel.name}: of {len(begun)} times in the first tenth DP-UCB is ahead at {plain_ahead}, DP-UCB-Bound at "
            f"{bound_ahead}; at the end {mean_at(plain)} against {mean_at(bound)}, {leader} ahead"
        )
    verdict = judged(holds=len(as_said) == len(PANELS), fails=len(not_so) == len(PANELS))
    verdict = Verdict.ONLY_IF if verdict is Verdict.UNDECIDED and as_said else verdict
    reasons = {
        Verdict.HOLDS: "in all four panels.",
        Verdict.ONLY_IF: f"one looks at {_names(as_said)}; beginning or end is otherwise at "
        f"{_names(not_so) or 'none'}.",
        Verdict.FAILS: f"beginning or end is otherwise in every panel, up to t = {study.settings.horizon:,}.",
    }
    return Finding(verdict, reasons.get(verdict, ""), tuple(rows))


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
    fall = {algorithm: difference(found[0], found[-1]) for algorithm, found in extra.items()}
    falls = fall["DP-UCB"].low > 0
    other_falls_less = difference(fall["DP-UCB"], fall["DP-UCB-Bound"]).low > 0
    verdict = Verdict.ONLY_IF if falls and other_falls_less else Verdict.UNDECIDED
    verdict = Verdict.FAILS if fall["DP-UCB"].high < 0 else verdict
    reasons = {
        Verdict.ONLY_IF: "the second “DP-UCB” is read as DP-UCB-Bound: the additional regret of DP-UCB falls with the "
        "gap, more than that of DP-UCB-Bound.",
        Verdict.FAILS: "the additional regret of DP-UCB does not fall with the gap.",
    }
    return Finding(
        verdict,
        reasons.get(verdict, ""),
        tuple(
            f"{algorithm}: "
            + ", ".join(f"{value} (gap {gap:g})" for gap, value in zip(gaps, found, strict=True))
            + f"; fall {fall[algorithm]}"
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
    rows, worst, not_worst = [], [], []
    for panel in PANELS:
        means = means_of_panel(study, panel)
        private = means.pop("Private-UCB")
        second = max(means, key=lambda name: means[name].value)
        worst += [panel] if private.low > means[second].high else []
        not_worst += [panel] if private.high < means[second].low else []
        rows.append(f"{panel.name}: {private}, next is {second} with {means[second]}")
    verdict = judged(holds=len(worst) == len(PANELS), fails=bool(not_worst))
    reasons = {
        Verdict.HOLDS: "in all four panels, significantly.",
        Verdict.FAILS: f"another is significantly worse at {_names(not_worst)}.",
    }
    return Finding(verdict, reasons.get(verdict, ""), tuple(rows))


@claim(
    "spread",
    where="Experiments",
    says="The difference between the best and the worst of 100 runs is consistent for the paper's algorithms and "
    f"UCB: under {SPREAD} with two arms.",
    test="The probability that 100 runs stay that close together, from the distribution of 400 runs or more, both "
    "panels.",
)
def spread(study: Study) -> Finding:
    """Two of the algorithms have runs that are far off."""
    if GAP * study.settings.horizon <= SPREAD:
        return Finding(Verdict.UNDECIDED, "", (f"no run can lose more than {number(GAP * study.settings.horizon)}",))
    rows, wide, together = [], [], 1.0
    for panel in TWO_ARM_PANELS:
        chances, widths = {}, {}
        for algorithm in ("UCB", *OURS):
            runs = None if algorithm == "DP-UCB-Int" else max(study.settings.runs, study.scaled(400, least=100))
            summary = (
                of_panel(study, panel, algorithm)
                if runs is None
                else study.summary(panel.published(algorithm), TWO_ARMS.environment, runs=runs)
            )
            chances[algorithm] = range_within(summary, SPREAD, RUNS)
            widths[algorithm] = float(summary.largest[-1] - summary.least[-1])
            together *= chances[algorithm]
            wide += [f"{algorithm} at ε = {panel.epsilon:g}"] if chances[algorithm] < 0.5 else []
        shown = (f"{name} {100 * chance:.0f}% (all runs: {number(widths[name])})" for name, chance in chances.items())
        rows.append(f"{panel.name}: " + ", ".join(shown))
    verdict = Verdict.HOLDS if together > 0.5 else Verdict.ONLY_IF if together > 0.05 else Verdict.FAILS
    reasons = {
        Verdict.HOLDS: f"all of them stay within it with probability {100 * together:.0f}%.",
        Verdict.ONLY_IF: f"the runs are lucky: all of them stay within it with probability {100 * together:.0f}%.",
        Verdict.FAILS: f"all of them stay within it with probability {100 * together:.1f}% only; mostly not: "
        f"{', '.join(wide)}.",
    }
    return Finding(verdict, reasons[verdict], tuple(rows))


@claim(
    "spread-private-ucb",
    where="Experiments",
    says="For Private-UCB that difference reaches 30,000.",
    test="Private-UCB with two arms, with its relaxation term Γ, which makes it explore, and without.",
)
def spread_private_ucb(study: Study) -> Finding:
    """Only an algorithm that does not explore can lose everything or nothing."""
    largest = GAP * study.settings.horizon
    widths: dict[Relaxation, list[float]] = {"published": [], "none": []}
    for relaxation, found in widths.items():
        for epsilon in (1.0, 0.1):
            summary = study.summary(PrivateUCB(epsilon=epsilon, relaxation=relaxation), TWO_ARMS.environment)
            found.append(float(summary.largest[-1] - summary.least[-1]))
    with_term, without = max(widths["published"]), max(widths["none"])
    verdict = Verdict.HOLDS if with_term > 0.99 * largest else Verdict.UNDECIDED
    verdict = Verdict.ONLY_IF if with_term < 0.5 * largest and without > 0.99 * largest else verdict
    reasons = {
        Verdict.HOLDS: "it reaches the largest possible.",
        Verdict.ONLY_IF: "it runs without Γ; then a run loses nothing or everything, 0.3 t.",
    }
    return Finding(
        verdict,
        reasons.get(verdict, ""),
        (
            f"largest possible: {number(largest)}",
            "with Γ: " + " and ".join(map(number, widths["published"])) + " (ε = 1 and 0.1)",
            "without: " + " and ".join(map(number, widths["none"])),
        ),
    )


@claim(
    "trade-off",
    where="Experiments",
    says="So the paper's algorithms trade off exploration and exploitation correctly, and Private-UCB does not.",
    test="Two arms: the share of steps with the worse arm, and the share of runs that keep it (more than half of the "
    "largest regret).",
    cause=Cause.STUCK,
)
def trade_off(study: Study) -> Finding:
    """DP-UCB-Int is the one that gets stuck."""
    rows, stuck, other_stuck, worse_steps = [], [], 0, {"Private-UCB": 1.0, "ours": 0.0}
    for panel in TWO_ARM_PANELS:
        parts = []
        for algorithm in (*OURS, "Private-UCB"):
            summary = of_panel(study, panel, algorithm)
            worse = float(summary.mean[-1]) / (summary.horizon * GAP)
            part = stuck_share(summary)
            if algorithm == "DP-UCB-Int":
                stuck.append(part)
            elif algorithm == "Private-UCB":
                worse_steps["Private-UCB"] = min(worse_steps["Private-UCB"], worse)
            else:
                other_stuck += part.value > 0
                worse_steps["ours"] = max(worse_steps["ours"], worse)
            parts.append(f"{algorithm} {100 * worse:.1f}% of the steps, {percent(part)} of {summary.runs:,} runs")
        rows.append(f"{panel.name}: " + "; ".join(parts))
    others_do_well = not other_stuck and worse_steps["Private-UCB"] > 2 * worse_steps["ours"]
    verdict = Verdict.UNDECIDED
    if others_do_well and all(part.high < 1e-3 for part in stuck):
        verdict = Verdict.HOLDS
    elif others_do_well and any(part.low > 0 for part in stuck):
        verdict = Verdict.ONLY_IF
    reasons = {
        Verdict.ONLY_IF: "DP-UCB-Int is left out: some of its runs keep the worse arm. Private-UCB plays it too often.",
        Verdict.HOLDS: "no run keeps the worse arm, and Private-UCB plays it too often.",
    }
    return Finding(verdict, reasons.get(verdict, ""), tuple(rows))
