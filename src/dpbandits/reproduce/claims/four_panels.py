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
from dpbandits.reproduce.confidence import Interval, difference, mean_at, median_at, range_within, share
from dpbandits.reproduce.measures import Measure
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
    measures = []
    usual = "drawn once, y-series"
    won: dict[str, list[Panel]] = {usual: [], "x-series": [], "constant interval": [], "as printed": []}
    lost: dict[str, list[Panel]] = {reading: [] for reading in won}
    for panel in PANELS:
        means = means_of_panel(study, panel)
        readings = {
            usual: means.pop("DP-UCB-Int"),
            "x-series": mean_at(reading_runs(study, panel, "x")),
            "constant interval": mean_at(reading_runs(study, panel, "constant")),
            "as printed": mean_at(printed_runs(study, panel)),
        }
        best = min(means.values(), key=lambda mean: mean.value)
        for reading, mean in readings.items():
            won[reading] += [panel] if mean.high < best.low else []
            lost[reading] += [panel] if mean.low > best.high else []
            measures.append(Measure.estimated(f"DP-UCB-Int, {panel.name}: {reading}", mean, "regret"))
        median = median_at(of_panel(study, panel, "DP-UCB-Int"))
        measures.append(Measure.estimated(f"DP-UCB-Int, {panel.name}: median", median, "regret"))
        measures += [Measure.estimated(f"others, {panel.name}: {name}", mean, "regret") for name, mean in means.items()]
    measures += [
        Measure.observed(f"panels in which another is significantly better: {reading}", len(panels), "panels")
        for reading, panels in lost.items()
    ]
    ours = won[usual]
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
    return Finding(verdict, reasons.get(verdict, ""), tuple(measures))


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
            *(
                Measure.estimated(f"gap of the means: t = {time:,}", gap, "regret")
                for time, gap in zip(times, gaps, strict=True)
            ),
            *(
                Measure.observed(f"gap of the medians: t = {time:,}", median, "regret")
                for time, median in zip(times, medians, strict=True)
            ),
            Measure.estimated("runs with more than half of the largest regret", stuck, "share"),
            Measure.estimated("chance of none among 100 runs", _chance_of_none(stuck, 100), "share"),
        ),
    )


def _chance_of_none(part: Interval, runs: int) -> Interval:
    value, most, least = ((1 - each) ** runs for each in part)
    return Interval(value, least, most)


def growth_finding(here: Interval, later: Interval, measures: tuple[Measure, ...]) -> Finding:
    """Judge whether something grows from the horizon to ten times it: by a factor of 3 or more, or hardly."""
    verdict = judged(holds=later.high <= max(here.low, 0.0) * 1.5, fails=later.low > 3 * max(here.high, 0.0))
    reasons = {
        Verdict.FAILS: "by ten times the horizon it has more than tripled.",
        Verdict.HOLDS: "by ten times the horizon it has hardly grown.",
    }
    return Finding(verdict, reasons.get(verdict, ""), measures)


def stuck_share(summary: RegretSummary) -> Interval:
    """Return the share of runs with more than half of the largest regret, on two arms: they keep the worse one."""
    return share(summary.runs_above(summary.horizon * GAP / 2), summary.runs)


@claim(
    "early-late",
    where="Experiments",
    says="DP-UCB is better than DP-UCB-Bound in the beginning; later DP-UCB-Bound catches up and outperforms it.",
    test="Both means in all four panels: at how many times of the first tenth either is significantly ahead, and who "
    "is at the end.",
)
def early_late(study: Study) -> Finding:
    """A beginning and an end, in each panel."""
    measures, as_claimed, otherwise = [], [], []
    for panel in PANELS:
        plain, bound = of_panel(study, panel, "DP-UCB"), of_panel(study, panel, "DP-UCB-Bound")
        gaps = {int(t): difference(mean_at(plain, int(t)), mean_at(bound, int(t))) for t in plain.checkpoints}
        early = [gap for t, gap in gaps.items() if t <= plain.horizon / 10]
        plain_ahead, bound_ahead = sum(gap.high < 0 for gap in early), sum(gap.low > 0 for gap in early)
        end = gaps[plain.horizon]
        as_claimed += [panel] if plain_ahead > bound_ahead and end.low > 0 else []
        otherwise += [panel] if plain_ahead < bound_ahead or end.high < 0 else []
        beginning = f"{panel.name}, times ahead, of {len(early)} in the first tenth"
        measures += [
            Measure.observed(f"{beginning}: DP-UCB", plain_ahead, "times"),
            Measure.observed(f"{beginning}: DP-UCB-Bound", bound_ahead, "times"),
            Measure.estimated(f"{panel.name}, at the end: DP-UCB", mean_at(plain), "regret"),
            Measure.estimated(f"{panel.name}, at the end: DP-UCB-Bound", mean_at(bound), "regret"),
        ]
    verdict = judged(holds=len(as_claimed) == len(PANELS), fails=len(otherwise) == len(PANELS))
    verdict = Verdict.ONLY_IF if verdict is Verdict.UNDECIDED and as_claimed else verdict
    reasons = {
        Verdict.HOLDS: "in all four panels.",
        Verdict.ONLY_IF: f"one looks at {_names(as_claimed)}; beginning or end is otherwise at {_names(otherwise)}."
        if otherwise
        else f"one looks at {_names(as_claimed)}; elsewhere these runs do not tell.",
        Verdict.FAILS: f"beginning or end is otherwise in every panel, up to t = {study.settings.horizon:,}.",
    }
    return Finding(verdict, reasons.get(verdict, ""), tuple(measures))


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
        for algorithm, by_gap in extra.items():
            by_gap.append(difference(mean_at(study.summary(EASY.published(algorithm), environment)), ucb))
    fall = {algorithm: difference(by_gap[0], by_gap[-1]) for algorithm, by_gap in extra.items()}
    falls = fall["DP-UCB"].low > 0
    other_falls_less = difference(fall["DP-UCB"], fall["DP-UCB-Bound"]).low > 0
    verdict = Verdict.ONLY_IF if falls and other_falls_less else Verdict.UNDECIDED
    verdict = Verdict.FAILS if fall["DP-UCB"].high < 0 else verdict
    reasons = {
        Verdict.ONLY_IF: "the second “DP-UCB” is read as DP-UCB-Bound: the additional regret of DP-UCB falls with the "
        "gap, more than that of DP-UCB-Bound.",
        Verdict.FAILS: "the additional regret of DP-UCB does not fall with the gap.",
    }
    measures = []
    for algorithm, by_gap in extra.items():
        measures += [
            Measure.estimated(f"{algorithm} beyond UCB: gap {gap:g}", value, "regret")
            for gap, value in zip(gaps, by_gap, strict=True)
        ]
        measures.append(Measure.estimated(f"{algorithm} beyond UCB: fall", fall[algorithm], "regret"))
    return Finding(verdict, reasons.get(verdict, ""), tuple(measures))


@claim(
    "private-ucb-worst",
    where="Experiments",
    says="Private-UCB performs worse than all other algorithms.",
    test="Mean regret at the horizon in all four panels.",
)
def private_ucb_worst(study: Study) -> Finding:
    """Everywhere, by far."""
    measures, worst, not_worst = [], [], []
    for panel in PANELS:
        means = means_of_panel(study, panel)
        measures += [Measure.estimated(f"{panel.name}: {name}", mean, "regret") for name, mean in means.items()]
        private = means.pop("Private-UCB")
        second = max(means.values(), key=lambda mean: mean.value)
        worst += [panel] if private.low > second.high else []
        not_worst += [panel] if private.high < second.low else []
    verdict = judged(holds=len(worst) == len(PANELS), fails=bool(not_worst))
    reasons = {
        Verdict.HOLDS: "in all four panels, significantly.",
        Verdict.FAILS: f"another is significantly worse at {_names(not_worst)}.",
    }
    return Finding(verdict, reasons.get(verdict, ""), tuple(measures))


@claim(
    "spread",
    where="Experiments",
    says="The difference between the best and the worst of 100 runs is consistent for the paper's algorithms and "
    f"UCB: under {SPREAD} with two arms.",
    test="The probability that 100 runs stay that close together, from the distribution of all runs that were made, "
    "both panels.",
)
def spread(study: Study) -> Finding:
    """Two of the algorithms have runs that are far off."""
    largest = GAP * study.settings.horizon
    if largest <= SPREAD:
        return Finding(Verdict.UNDECIDED, "", (Measure.exact("no run can lose more than", largest, "regret"),))
    measures, wide, together = [], [], 1.0
    for panel in TWO_ARM_PANELS:
        for algorithm in ("UCB", *OURS):
            runs = None if algorithm == "DP-UCB-Int" else max(study.settings.runs, study.scaled(400, least=100))
            summary = (
                of_panel(study, panel, algorithm)
                if runs is None
                else study.summary(panel.published(algorithm), TWO_ARMS.environment, runs=runs)
            )
            chance = range_within(summary, SPREAD, RUNS)
            together *= chance
            wide += [f"{algorithm} at ε = {panel.epsilon:g}"] if chance < 0.5 else []
            subject = f"{panel.name}, {algorithm}"
            measures += [
                Measure.observed(f"{subject}: chance that {RUNS} runs stay within it", chance, "share"),
                Measure.observed(f"{subject}: range of all runs", summary.largest[-1] - summary.least[-1], "regret"),
            ]
    measures.append(Measure.observed("chance that all of them stay within it", together, "share"))
    verdict = Verdict.HOLDS if together > 0.5 else Verdict.ONLY_IF if together > 0.05 else Verdict.FAILS
    reasons = {
        Verdict.HOLDS: "more often than not all of them stay within it.",
        Verdict.ONLY_IF: "the runs are lucky: less often than not all of them stay within it.",
        Verdict.FAILS: "it is very unlikely that all of them stay within it"
        + (f"; more often than not beyond it: {', '.join(wide)}." if wide else "."),
    }
    return Finding(verdict, reasons[verdict], tuple(measures))


@claim(
    "spread-private-ucb",
    where="Experiments",
    says="For Private-UCB that difference reaches 30,000.",
    test="Private-UCB with two arms, with its relaxation term Γ, which makes it explore, and without.",
)
def spread_private_ucb(study: Study) -> Finding:
    """Only an algorithm that does not explore can lose everything or nothing."""
    largest = GAP * study.settings.horizon
    names: dict[Relaxation, str] = {"published": "with Γ", "none": "without Γ"}
    measures = [Measure.exact("largest possible", largest, "regret")]
    widths: dict[Relaxation, float] = {}
    for relaxation, name in names.items():
        for epsilon in (1.0, 0.1):
            summary = study.summary(PrivateUCB(epsilon=epsilon, relaxation=relaxation), TWO_ARMS.environment)
            width = float(summary.largest[-1] - summary.least[-1])
            widths[relaxation] = max(width, widths.get(relaxation, 0.0))
            measures.append(Measure.observed(f"difference, {name}: ε = {epsilon:g}", width, "regret"))
    verdict = Verdict.HOLDS if widths["published"] > 0.99 * largest else Verdict.UNDECIDED
    is_without = widths["published"] < 0.5 * largest and widths["none"] > 0.99 * largest
    verdict = Verdict.ONLY_IF if is_without else verdict
    reasons = {
        Verdict.HOLDS: "it reaches the largest possible.",
        Verdict.ONLY_IF: "it runs without Γ; then a run loses nothing or everything, 0.3 t.",
    }
    return Finding(verdict, reasons.get(verdict, ""), tuple(measures))


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
    measures, stuck, other_stuck, worse_steps = [], [], 0, {"Private-UCB": 1.0, "ours": 0.0}
    for panel in TWO_ARM_PANELS:
        for algorithm in (*OURS, "Private-UCB"):
            summary = of_panel(study, panel, algorithm)
            worse = Interval(*(each / (summary.horizon * GAP) for each in mean_at(summary)))
            part = stuck_share(summary)
            if algorithm == "DP-UCB-Int":
                stuck.append(part)
            elif algorithm == "Private-UCB":
                worse_steps["Private-UCB"] = min(worse_steps["Private-UCB"], worse.value)
            else:
                other_stuck += part.value > 0
                worse_steps["ours"] = max(worse_steps["ours"], worse.value)
            subject = f"{panel.name}, {algorithm}"
            measures += [
                Measure.estimated(f"{subject}: of the steps", worse, "share"),
                Measure.estimated(f"{subject}: of the runs", part, "share"),
            ]
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
    return Finding(verdict, reasons.get(verdict, ""), tuple(measures))
