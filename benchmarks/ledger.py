"""Ledgers tampered with at random, their chains rebuilt: what `check_ledger` accepts, and what the changes really cost.

Every change is checked with the promise of the untouched ledger as the claim, and judged a second time the slow way
(benchmarks/ledger_costs.py). Run with `make bench`; a number of changes per ledger may be given.
"""

import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import dpbandits as dpb
from dpbandits.live import check_ledger
from ledger_costs import Setting, lowers_privacy, setting
from report import table, write_section
from tampering import chained, tampered

PATH = Path(__file__).with_name("ledger.md")
HEAD = "# Ledgers\n\nWhat `dpbandits ledger verify` accepts and refuses.\n"
CHANGES = 2000

# Why a change of this kind may be accepted. Kinds are found by how they begin.
HARMLESS = {
    "value": "what was released says nothing of how well it hides a reward; only that it is on the grid can be checked",
    "first": "which assignment was a block's first or last: accepted while the blocks still hold different assignments",
    "last": "as `first`",
    "arm": "the last row of an arm, as the next one of another whose schedule it fits",
    "scale": "the last digit, as machines differ; its epsilon still fits, and all together stay within the promise",
    "epsilon": "the same number",
    "row 0: arms": "names, also of arms that have no release yet",
    "row 0: reward_bounds": "the user's own units; noise is added after scaling to [0, 1]",
    "row 0: default_reward": "as `reward_bounds`",
    "row 0: out_of_bounds": "as `reward_bounds`",
    "row 0: accept_delta": "whether a large delta was agreed to; false is refused where delta is large",
    "row 0: guarantee.theorem": "words",
    "row 0: reward_guarantee.theorem": "words",
    "row 0: guarantee": "a weaker promise within the policy's budget, or the same to six digits: costs are recomputed",
    "row 0: reward_guarantee": "the same to six digits: it must be worth the promise for a person",
    "row 0: policy.epsilon": "a larger budget than was used",
    "row 0: policy.delta": "a larger budget than was used",
    "row 0: policy.": "a setting that was written down as it runs (live_policy), here left to its default",
    "row 0: live_policy.epsilon": "of dp-ucb-int: its schedule follows from the density, and costs what it costs",
    "row 0: live_policy.delta": "as it is compared with the promise: the schedule costs no more at this delta",
    "row 0: live_policy.": "how arms are chosen from releases, or the last digits of a setting",
    "row 0: horizon": "the end of the experiment, where no cost depends on it",
    "row 0: sticky": "whether people who come again keep their arm; the guarantee is the same",
    "row 0: window": "until when rewards were let in, and when blocks were due; a ledger has no times",
    "row 0: timing": "as `window`",
    "row 0: shares": "how arms are chosen from counts",
    "rows: cut off": "rows missing at the end: that takes the head",
    "rows: removed": "as cut off: the last row of an arm",
    "rows: invented": "rows added at the end, as the schedule has them: that takes the head",
    "rows: moved": "the order of releases of different arms",
    "rows: swapped": "as moved",
    "together: two arms swapped": "names",
    "together: all assignment numbers": "assignments that entered nothing may come before",
    "together: contributions and unit": "a promise for fewer rewards of one person",
    "together: horizons": "the end of the experiment, with a promise that holds there",
    "together: deltas of row 0": "a weaker promise within the claim, or a larger budget than was used",
    "together: epsilon of": "a weaker promise within the claim, or the same to six digits",
    "together: the grid, with scales": "the same noise, written on another grid",
    "together: a row removed, releases renumbered": "as cut off: the last row of an arm",
    "together: scale and epsilon": "the last digit, as machines differ, and within the promise",
    "together: policy.": "how arms are chosen from releases, or the last digits of a setting",
}


class Outcome(NamedTuple):
    """What became of the changes of one ledger."""

    name: str
    tried: Counter[str]
    accepted: Counter[str]
    lowering: int  # they cost more than is promised or claimed
    unreadable: int  # no cost can be computed from them
    wrongly_accepted: list[str]
    slowest: float


def reason_of(kind: str) -> str:
    """Return why a change of this kind may be accepted; an unexplained kind is an error."""
    fitting = [begin for begin in HARMLESS if kind.startswith(begin)]
    if not fitting:
        raise RuntimeError(f"Changes of {kind!r} are accepted, and nobody says why.")
    return max(fitting, key=len)


def tried_out(made: Setting, others: Setting, changes: int, seed: int) -> Outcome:
    """Tamper with a ledger so many times."""
    dice = random.Random(seed)  # noqa: S311
    outcome = Outcome(made.name, Counter(), Counter(), 0, 0, [], 0.0)
    lowering = unreadable = 0
    slowest = 0.0
    while outcome.tried.total() < changes:
        kind, rows = tampered(made.contents, others.contents, dice)
        if rows == made.contents:
            continue
        outcome.tried[kind] += 1
        text = chained(rows)
        start = time.perf_counter()
        holds = check_ledger(text, claim=made.claim).holds
        slowest = max(slowest, time.perf_counter() - start)
        try:
            lowers = lowers_privacy(rows, made)
        except (AssertionError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            lowers, unreadable = True, unreadable + 1  # nothing that could be read as a ledger
        else:
            lowering += lowers
        outcome.accepted[kind] += holds
        if holds and lowers:
            outcome.wrongly_accepted.append(kind)
    return outcome._replace(lowering=lowering, unreadable=unreadable, slowest=slowest)


def main() -> None:
    changes = int(sys.argv[1]) if len(sys.argv) > 1 else CHANGES
    settings = [
        setting("dp-imed, epsilon 1", dpb.DPIMED(epsilon=1.0)),
        setting("noise-aware-imed, epsilon 9, 3 rewards a person", dpb.recommended(epsilon=9.0), contributions=3),
        setting("adap-klucb, epsilon 0.7", dpb.AdaPKLUCB(epsilon=0.7)),
        setting("block-ucb, epsilon 0.5, horizon 500", dpb.BlockUCB(epsilon=0.5), horizon=500),
        setting("dp-ucb-int, epsilon 2, horizon 400", dpb.DPUCBInt(epsilon=2.0, delta=0.0, horizon=400)),
        setting("dp-ucb-int, (3, 1e-6), horizon 400", dpb.DPUCBInt(epsilon=3.0, delta=1e-6, horizon=400)),
        setting("dp-ucb-int, (3, 1e-6), for ever", dpb.DPUCBInt(epsilon=3.0, delta=1e-6)),
    ]
    outcomes = []
    for number, made in enumerate(settings):
        assert check_ledger(chained(made.contents), claim=made.claim).holds
        assert not lowers_privacy(made.contents, made)
        outcomes.append(tried_out(made, settings[number - 1], changes, seed=number))
        print(made.name, outcomes[-1].accepted.total(), outcomes[-1].wrongly_accepted, file=sys.stderr)
    total = sum(outcome.tried.total() for outcome in outcomes)
    wrong = [kind for outcome in outcomes for kind in outcome.wrongly_accepted]
    tried, accepted = Counter[str](), Counter[str]()
    for outcome in outcomes:
        for kind, times in outcome.accepted.items():
            if times:
                accepted[reason_of(kind)] += times
        for kind, times in outcome.tried.items():
            if any(kind.startswith(begin) for begin in HARMLESS):
                tried[reason_of(kind)] += times
    rows = [
        [
            outcome.name,
            f"{outcome.tried.total():,}",
            f"{outcome.lowering:,}",
            f"{outcome.unreadable:,}",
            f"{outcome.accepted.total():,}",
            f"{len(outcome.wrongly_accepted)}",
            f"{outcome.slowest:.2f}",
        ]
        for outcome in outcomes
    ]
    header = [
        "ledger",
        "changes",
        "less privacy",
        "unreadable",
        "accepted",
        "of these with less privacy",
        "slowest check, s",
    ]
    harmless = [[f"`{kind}`", f"{accepted[kind]:,} of {tried[kind]:,}", HARMLESS[kind]] for kind in sorted(accepted)]
    text = (
        f"{total:,} random changes of single fields, rows, their order, and of several fields that belong together, "
        "each with its chain rebuilt and checked without the head, against the promise of the untouched ledger. *Less "
        "privacy*: by an independent computation the rows, or the schedule of row 0, cost more than is promised or "
        f"claimed. **{len(wrong)} of these were accepted**. *Unreadable*: no cost follows from them.\n\n"
        "The independent computation is exact for delta = 0, but for powers (1e-12). With delta > 0 it is a lower "
        "bound, at most 0.1% too small, and of a schedule without an end it adds up the first 400 plays of an arm: a "
        "change that lowers privacy by less than that is not counted.\n\n"
        + table(header, rows)
        + "\nWhat was accepted, and why it does not matter for privacy:\n\n"
        + table(["change", "accepted", "why"], harmless)
    )
    write_section("Changes at random", "ledger.py", text, path=PATH, head=HEAD)
    if wrong:
        raise SystemExit(f"Accepted, with less privacy than promised: {', '.join(wrong)}.")


if __name__ == "__main__":
    main()
