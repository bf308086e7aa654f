"""The contents of a report on a live experiment, as data: the page and `dpbandits show` have the same."""

import math
from functools import partial

from dpbandits._phrases import count_text, duration_text
from dpbandits.document import (
    Badge,
    Block,
    Bullets,
    Cell,
    Code,
    Heading,
    Inline,
    Paragraph,
    Picture,
    Pictures,
    Table,
)
from dpbandits.live.checking.verdict import cost_text
from dpbandits.live.configuration import Configuration
from dpbandits.live.estimates import rounded_texts
from dpbandits.live.reporting.findings import DECIDED, Findings, shortened_name
from dpbandits.live.reporting.svg_charts import WIDTH, bars_svg, budget_svg, intervals_svg
from dpbandits.policies import is_ours
from dpbandits.privacy import Guarantee

TITLE = "Live experiment"
_COMPARED = 8  # arms, one by one
_WEAK_FACTOR = 20.0
_LARGEST_FACTOR = 1000.0  # of odds that is worth a number

_NOT_SHOWN = (
    ("Single rewards,", "and what people answered: never. They appear only in releases, with noise."),
    (
        "Answers since the last release",
        "of an arm: they show when their block is released as a whole, and never if it is not.",
    ),
    (
        "How many answers are awaited,",
        "and which: this report says the same whether one more has come or not. The program that runs the experiment "
        "knows (open_assignments).",
    ),
    (
        "Names of people",
        "and the keys of their visits and answers: kept as hashes with the experiment, and nowhere else.",
    ),
    ("The time", "at which anything happened, this report included: no noise would hide it."),
)


def contents(findings: Findings, most_arms: int, most_releases: int) -> list[Block]:
    """Return the whole report, with at most this many arms and releases."""
    kind = "holds" if findings.state == DECIDED else "undecided"
    status = (findings.status, findings.verdict, findings.prospect)
    return [
        Heading(TITLE, 1),
        Table(("Which arm is best", "What can be said"), ((Badge(findings.state, kind), status),)),
        *_arms(findings, most_arms),
        *_comparisons(findings),
        *_promise(findings),
        *_releases(findings, most_releases),
        *_checking(findings),
        Heading("What is not shown"),
        Bullets(_NOT_SHOWN),
    ]


# ---- what is known


def _arms(findings: Findings, most: int) -> list[Block]:
    arms = range(len(findings.names)) if len(findings.names) <= most else findings.ranking[:most]
    names = [findings.names[number] for number in arms]
    estimates = [findings.estimates[number] for number in arms]
    counts = [findings.overview.assigned_to[number] for number in arms]
    shares = [count / max(findings.overview.assigned, 1) for count in counts]
    low, high = findings.overview.configuration.rewards.bounds
    value_text = partial(_value_text, bounds=(low, high))
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            f"{count:,}",
            f"{share:.1%}",
            "none yet" if estimate.mean is None else value_text(estimate.mean),
            f"{value_text(estimate.low)} to {value_text(estimate.high)}",
            f"{estimate.rewards:,}",
            findings.standing(number),
        )
        for number, name, count, share, estimate in zip(arms, names, counts, shares, estimates, strict=True)
    ]
    intervals = [(estimate.low, estimate.mean, estimate.high) for estimate in estimates]
    pictures = (
        Picture(
            "allocation.svg",
            bars_svg("Assignments", names, shares, [f"{share:.1%}" for share in shares]),
            "Share of the assignments of every arm",
            WIDTH,
        ),
        Picture(
            "estimates.svg",
            intervals_svg("Mean reward, with 95% intervals", names, intervals, (low, high)),
            "Estimate and interval of every arm",
            WIDTH,
        ),
    )
    header = ("arm", "assigned", "share", "estimate", "95% interval", "released", "standing")
    blocks: list[Block] = [
        Heading("The arms"),
        Paragraph(
            f"Estimates are mean rewards, between {low:g} and {high:g}, from releases alone; the intervals allow for "
            "their noise. With 95% confidence all of them are right, for all arms and at every look, if the rewards of "
            "an arm are independent with the same mean. A missing answer counts as "
            f'{findings.overview.configuration.rewards.default:g}. "Released" is how many rewards are in releases.'
            f"{_fixed_text(findings)}{_missing_arms_text(findings)}"
        ),
        Pictures(pictures),
        Table(header, tuple(rows), numeric=True),
    ]
    if findings.overview.configuration.contributions > 1:
        blocks.append(Paragraph("Several rewards of one person are not independent: the intervals may be too narrow."))
    if len(names) < len(findings.names):
        left = count_text(len(findings.names) - len(names), "more arm")
        blocks.append(Paragraph(f"These have the best estimates so far. There are {left}."))
    return blocks


def _value_text(value: float, bounds: tuple[float, float]) -> str:
    return rounded_texts(value, *bounds)[0]


def _comparisons(findings: Findings) -> list[Block]:
    if not findings.releases:
        return []
    others = [number for number in range(len(findings.names)) if number != findings.leader]
    others.sort(key=lambda number: -findings.estimates[number].high)
    leader = shortened_name(findings.names[findings.leader], 60)
    items: list[tuple[str, Inline]] = []
    for number in others[:_COMPARED]:
        comparison = findings.comparison(number)
        low, high = rounded_texts(comparison.low, comparison.high)
        is_better = comparison.verdict == "better"
        items.append(
            (
                f"Against {shortened_name(findings.names[number], 60)}:",
                f"better by {low} to {high}."
                if is_better
                else f"undecided, the difference is between {low} and {high}.",
            )
        )
    blocks: list[Block] = [Heading(shortened_name(f"{leader} against the others", 90)), Bullets(tuple(items))]
    rest = others[_COMPARED:]
    if rest:
        worse = sum(not findings.may_be_best(number) for number in rest)
        undecided = len(rest) - worse
        blocks.append(
            Paragraph(
                f"Of the other {count_text(len(rest), 'arm')}, {worse:,} {'is' if worse == 1 else 'are'} not the best, "
                f"with 95% confidence, and {undecided:,} may be."
            )
        )
    return blocks


def _fixed_text(findings: Findings) -> str:
    """Return what the owner has fixed at the start that shows in these numbers."""
    configuration = findings.overview.configuration
    window = "" if configuration.window is None else f" Answers are taken for {duration_text(configuration.window)}."
    if configuration.shares is None:
        return window
    least = [
        f"{name} {100 * share:.4g}%" for name, share in zip(findings.names, configuration.shares, strict=True) if share
    ]
    return f"{window} The least shares of decisions that enter, fixed at the start: {', '.join(least)}."


def _missing_arms_text(findings: Findings) -> str:
    missing = findings.overview.assigned - sum(findings.overview.assigned_to)
    return (
        f" Of {count_text(missing, 'assignment')}, made by an early version, the arm is not known." if missing else ""
    )


# ---- what is promised


def _promise(findings: Findings) -> list[Block]:
    terms, contributions = findings.overview.terms, findings.overview.configuration.contributions
    spent = findings.overview.spent()
    share = spent.epsilon / spent.budget if spent.budget else 0.0
    about = "about " if spent.delta else ""
    items: list[tuple[str, Inline]] = [
        ("In plain words:", _plain_words(terms.person, contributions)),
        ("Exactly:", f"{terms.person}."),
        ("Spent:", f"{spent}, which is {about}{share:.0%}. {_spending(findings, spent.delta)}"),
    ]
    configuration = findings.overview.configuration
    if configuration.timing == "sealed":
        items.append(("Protected as well:", _also_protected(configuration)))
    items.append(("Not protected:", _not_protected(configuration)))
    picture = Picture(
        "budget.svg",
        budget_svg("Privacy budget spent", f"{about}{share:.0%}", share),
        f"{about}{share:.0%} of the privacy budget is spent",
        WIDTH,
    )
    return [Heading("What is promised"), Bullets(tuple(items)), Pictures((picture,))]


def _plain_words(guarantee: Guarantee, contributions: int) -> str:
    whose = "one answer" if contributions == 1 else f"the answers of one person, up to {contributions} of them,"
    it, them = ("it", "that answer") if contributions == 1 else ("they", "them")
    factor = math.exp(min(guarantee.epsilon, 700.0))
    but = f" (but for a chance of {guarantee.delta:.3g})" if guarantee.delta else ""
    if factor > _LARGEST_FACTOR:
        return (
            f"the odds of anything that this experiment shows, ever, change by a factor of at most "
            f"e^{guarantee.epsilon:.3g} with {whose}{but}. That is a weak promise."
        )
    about = "" if factor > _WEAK_FACTOR else "about "
    judgement = "This is a weak promise" if factor > _WEAK_FACTOR else f"More than {_WEAK_FACTOR:g} is weak"
    return (
        f"whatever {whose} may have been, everything that this experiment shows, ever, would have been {about}as "
        f"likely had {it} been different, up to a factor of {factor:.3g}{but}. The closer this "
        f"factor is to 1, the less anyone can find out about {them}, whatever else they know; about 3 is usual. "
        f"{judgement}."
    )


def _also_protected(configuration: Configuration) -> str:
    assert configuration.window is not None, "timing is sealed"
    return (
        "whether and when somebody answered, like the answer itself: a block of assignments is released by the clock "
        f"alone, {duration_text(configuration.window)} after its last one at the earliest."
    )


def _not_protected(configuration: Configuration) -> str:
    if configuration.timing == "sealed":
        return "that somebody took part."
    sealed = 'timing="sealed"' if configuration.window is not None else 'a window and timing="sealed"'
    return (
        "that somebody took part, and when an answer comes. If bad news comes sooner than good news, the time of a "
        f"release tells something; with {sealed} it would not."
    )


def _spending(findings: Findings, delta: float) -> str:
    if findings.overview.is_restored:
        return "It was restored from an earlier copy: what was released since is not known here, and counts as well."
    if delta:
        return "This shows progress and is no guarantee of its own: the promise is for the whole experiment."
    if findings.releases and not findings.overview.is_cumulative and len(findings.overview.blocks) > 1:
        who = "an answer" if findings.overview.configuration.contributions == 1 else "a person, with all their answers,"
        return f"Every answer is in at most one release, so this is all that {who} ever loses."
    return "This is exact, for the person who has lost most."


# ---- what was released, and how to check it


def _releases(findings: Findings, most: int) -> list[Block]:
    blocks: list[Block] = [Heading("Releases")]
    if not findings.releases:
        return [*blocks, Paragraph("None yet. The ledger has its first row, what was fixed at the start.")]
    grid = 2**findings.overview.configuration.grid_bits
    rows = []
    for release in findings.overview.releases[-most:]:
        row = release.content
        rows.append(
            (
                findings.names[row["arm"]],
                f"{release.number:,}",
                f"{row['release']:,}",
                f"{row['count']:,}",
                f"{row['scale'] / grid:.5g}",
                f"{row['epsilon']:.4g}",
                f"{row['value']:.5g}",
            )
        )
    all_so_far = findings.overview.is_cumulative
    what = "of all rewards of its arm so far" if all_so_far else "of a block of rewards"
    note = "" if findings.releases <= most else f"The last {most:,} of {findings.releases:,}; the ledger has all. "
    blocks.append(
        Paragraph(
            f'{note}A release is the noisy sum {what}, each scaled to [0, 1]. The column "noise" says how large its '
            "noise typically is. Nothing else about the rewards was ever released."
        )
    )
    header = ("arm", "row", "release", "rewards", "noise", "epsilon", "value")
    return [*blocks, Table(header, tuple(rows), numeric=True)]


def _checking(findings: Findings) -> list[Block]:
    number, digest = findings.overview.ledger.head
    own = "" if is_ours(findings.overview.configuration.policy) else " --policy mine.py:Name"
    items: tuple[tuple[str, Inline], ...] = (
        ("Head of the ledger, to be kept elsewhere:", Code(f"{number}:{digest}")),
        ("Export:", Code('pathlib.Path("trial.jsonl").write_text(bandit.ledger.to_jsonl())')),
        ("Check:", Code(f"dpbandits ledger verify trial.jsonl --head {number}:{digest}{own}")),
    )
    promised = cost_text(findings.overview.terms.person)
    return [
        Heading("Check it"),
        Paragraph(
            f"Anyone can check from an export of the ledger that the releases keep the promise ({promised}), without "
            "seeing a reward."
        ),
        Bullets(items),
    ]
