"""The audit measured, into benchmarks/audit.md: power, what it refutes and what not, false alarms, the exact account.

    python benchmarks/audit.py [SECTION ...]      sections: power, broken, exact, false_alarms, family, gpu


The family is every shipped private policy with its default settings, at two budgets and from both views: 99.9%
confidence over all of them together, which every single audit's confidence is chosen for. On two cores it takes most of
an hour; on a GPU some minutes.
"""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import chi2_contingency, ks_2samp

import dpbandits as dpb
from dpbandits.auditing import ViewName, exact_audit
from dpbandits.auditing.broken import BROKEN
from dpbandits.auditing.scores import NOTE, RATIO, UNSCORED
from dpbandits.auditing.sentences import verdict
from dpbandits.auditing.trials import Trials
from dpbandits.auditing.views import VIEWS
from dpbandits.engine.gpu import has_gpu
from dpbandits.environments.given import Given
from dpbandits.policies import POLICIES, Policy

DELTA = 1e-6
EPSILONS = (0.1, 1.0)
TRIALS = 10_010_000  # a little more than is said, since parts are whole numbers
FAMILY_CONFIDENCE = 0.999
TARGET = Path(__file__).with_suffix(".md")
PARTS = Path(__file__).parent / "parts" / "audit.jsonl"
FALSE_ALARM_AUDITS = 400


def shipped_makers() -> list[tuple[str, float]]:
    yardsticks = {"ucb", "klucb", "imed", "thompson-sampling"}  # no guarantee
    return [(name, epsilon) for epsilon in EPSILONS for name in POLICIES if name not in yardsticks]


def made(name: str, epsilon: float) -> Policy:
    known = {field.name for field in fields(POLICIES[name])}  # type: ignore[arg-type]
    policy = POLICIES[name](**{k: v for k, v in {"epsilon": epsilon, "delta": DELTA}.items() if k in known})
    assert policy.guarantee(1000) is not None
    return policy


def broken() -> Iterator[str]:
    """ε = 1, 95% confidence, 1e7 trials at most: which views refute it, and how long that takes."""
    yield "| policy | actions | releases | exact |\n|---|---|---|---|"
    for name, spoiled in BROKEN.items():
        policy = spoiled.make(1.0, DELTA)
        cells = []
        for view in VIEWS:
            start = time.perf_counter()
            result = dpb.audit(policy, view=view)
            finding = f"{result.lower_bound:.3f} > {result.claim.epsilon:.3g}" if result.refuted else verdict(result)
            cells.append(f"{finding}, {time.perf_counter() - start:.0f} s")
        start = time.perf_counter()
        account = exact_audit(policy)
        where = f"{account.arms} arms, {account.horizon:,} steps"
        finding = f"{account.leak or f'{account.epsilon:.3f} > {account.claim.epsilon:.3g}'} ({where})"
        cells.append(f"{finding if account.refuted else verdict(account)}, {time.perf_counter() - start:.0f} s")
        yield f"| {name} | {' | '.join(cells)} |"


def family() -> Iterator[str]:
    """At least 1e7 trials each, 99.9% confidence over the whole table. Stopped at any time, it goes on where it was."""
    audits = [(make, view) for make in shipped_makers() for view in VIEWS]
    confidence = 1 - (1 - FAMILY_CONFIDENCE) / len(audits)
    PARTS.parent.mkdir(exist_ok=True)
    rows = [json.loads(line) for line in PARTS.read_text().splitlines()] if PARTS.exists() else []
    done = {row["audit"]: row for row in rows}
    table = []
    for (name, epsilon), view in audits:
        audit = f"{name} {epsilon} {view} {TRIALS} {confidence!r}"
        if audit not in done:
            done[audit] = {"audit": audit, **family_row(made(name, epsilon), view, confidence)}
            with PARTS.open("a") as file:
                file.write(json.dumps(done[audit]) + "\n")
            print(done[audit], file=sys.stderr, flush=True)
        table.append(done[audit])
    yield "| policy | ε | view | steps | claim | ε is at least | largest ratio | trials | on | seconds | verdict |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    yield from (row["text"] for row in table)
    refuted = sum(row["refuted"] for row in table)
    yield f"\n{len(table)} of {len(audits)} audits, each with confidence {confidence:.7f}; {refuted} refuted."


def family_row(policy: Policy, view: ViewName, confidence: float) -> dict[str, Any]:
    start = time.perf_counter()
    result = dpb.audit(policy, view=view, trials=TRIALS, confidence=confidence)
    seconds = time.perf_counter() - start
    largest = max((tested.ratio(result.claim.delta) for tested in result.tested), default=0.0)
    text = (
        f"| {policy.name} | {policy.epsilon:g} | {view} | {result.horizon:,} | {result.claim.epsilon:.4g} "  # type: ignore[attr-defined]
        f"| {result.lower_bound:.4f} | {largest:.4f} | {result.trials:,} | {'GPU' if result.on_gpu else 'CPU'} "
        f"| {seconds:.0f} | {'REFUTED' if result.refuted else verdict(result)} |"
    )
    return {"text": text, "refuted": result.refuted}


def false_alarms() -> Iterator[str]:
    """Mechanisms whose ε is exactly tight, at 95% confidence: how many of 400 audits accuse them."""
    yield "| mechanism | trials | accused | largest allowed (7%) |\n|---|---|---|---|"
    for policy in (dpb.LDPUCBLaplace(epsilon=1.0), dpb.LDPUCBBernoulli(epsilon=1.0)):
        for trials in (2000, 20_000, 200_000):
            accused = sum(
                dpb.audit(policy, view="releases", arms=1, horizon=1, trials=trials, seed=seed).refuted
                for seed in range(FALSE_ALARM_AUDITS)
            )
            yield f"| {policy.name}, one release | {trials:,} | {accused} of {FALSE_ALARM_AUDITS} | 28 |"


def power() -> Iterator[str]:
    """One Laplace release at ε = 1, and DP-UCB as published and as proved, at 95%."""
    yield "| audited | view | trials | ε is at least | claim | seconds |\n|---|---|---|---|---|---|"
    laplace = dpb.LDPUCBLaplace(epsilon=1.0)
    for seed in range(5):
        start = time.perf_counter()
        result = dpb.audit(laplace, view="releases", arms=1, horizon=1, trials=1_000_000, seed=seed)
        yield (
            f"| one Laplace release, seed {seed} | releases | {result.trials:,} | {result.lower_bound:.4f} | 1 "
            f"| {time.perf_counter() - start:.1f} |"
        )
    for variant in ("published", "proved"):
        for view in VIEWS:
            start = time.perf_counter()
            result = dpb.audit(dpb.DPUCB(epsilon=1.0, variant=variant), view=view)
            yield (
                f"| dp-ucb, {variant} | {view} | {result.trials:,} | {result.lower_bound:.4f} | 1 "
                f"| {time.perf_counter() - start:.1f} |"
            )


def exact() -> Iterator[str]:
    """The loss of the worst reward at the claim's delta, of 2 and 3 arms; arms and steps are those of the worst."""
    yield "| policy | ε | runs | longest | arms | steps | worst loss | guarantee | verdict | unreached | seconds |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    published = [kind(epsilon=1.0, variant="published") for kind in (dpb.DPUCB, dpb.DPUCBBound, dpb.HybridDMAB)]
    for policy in (*(made(name, epsilon) for name, epsilon in shipped_makers()), *published):
        start = time.perf_counter()
        result = exact_audit(policy)
        seconds = time.perf_counter() - start
        name = policy.name + (", published" if policy in published else "")
        longest = max(part.steps for part in result.parts)
        yield (
            f"| {name} | {policy.epsilon:g} | {result.runs} | {longest:,} "  # type: ignore[attr-defined]
            f"| {result.arms} | {result.horizon:,} | {result.epsilon:.6g} | {result.claim.epsilon:.6g} "
            f"| {verdict(result)} | {', '.join(result.unreached)} | {seconds:.0f} |"
        )


def gpu() -> Iterator[str]:
    """The same runs on CPU and GPU: how long 1e7 take, how far apart the frequencies of sequences are, and scores."""
    if not has_gpu():
        yield "There is no GPU here."
        return
    yield "| policy | steps | CPU, s | GPU, s | sequences | chi² / its mean | p-value |\n|---|---|---|---|---|---|---|"
    for policy, steps in ((dpb.DPUCB(epsilon=1.0), 8), (dpb.DPIMED(epsilon=1.0), 16), (dpb.LazyDPTS(epsilon=1.0), 12)):
        given, seconds, outcomes = Given([0.0] * steps, 2), {}, {}
        for on_gpu in (False, True):
            trials = Trials(policy, 2, steps, seed=1, gpu=on_gpu)
            trials.outcomes(given, 1000)  # compiles
            start = time.perf_counter()
            outcomes[on_gpu] = trials.outcomes(given, 10_000_000, 1)
            seconds[on_gpu] = time.perf_counter() - start
        codes = np.union1d(outcomes[False].codes, outcomes[True].codes)
        table = np.stack([outcomes[False].count(codes), outcomes[True].count(codes)])
        test = chi2_contingency(table[:, table.sum(axis=0) >= 50])
        yield (
            f"| {policy.name} | {steps} | {seconds[False]:.2f} | {seconds[True]:.2f} | {len(codes)} "
            f"| {test.statistic / test.dof:.2f} | {test.pvalue:.3f} |"
        )
    yield "\n| policy | scores apart (Kolmogorov & Smirnov) | p-value | unscored, CPU | GPU |\n|---|---|---|---|---|"
    weighted = dpb.DPUCB(epsilon=1.0, counter="weighted")
    shared = BROKEN["shared-noise"].make(1.0, 0.0)
    for scored in (dpb.DPUCB(epsilon=1.0), weighted, dpb.LazyDPTS(epsilon=1.0), shared):
        given, other, both = Given([0.0] * 24, 2), Given([0.0, 1.0] + [0.0] * 22, 2), {}
        for on_gpu in (False, True):
            scores = Trials(scored, 2, 24, seed=1, gpu=on_gpu).scores(given, given, other, 200_000, 1)
            both[on_gpu] = np.nan_to_num(scores[:, RATIO], posinf=99.0), scores[:, NOTE].astype(int) & UNSCORED
        apart = ks_2samp(both[False][0], both[True][0])
        shares = (f"{both[on_gpu][1].mean():.3f}" for on_gpu in (False, True))
        yield f"| {scored} | {apart.statistic:.4f} | {apart.pvalue:.3f} | {' | '.join(shares)} |"


SECTIONS = {section.__name__: section for section in (power, broken, exact, false_alarms, family, gpu)}


def main() -> None:
    asked = sys.argv[1:] or list(SECTIONS)
    written = TARGET.read_text().split("\n## ")[1:] if TARGET.exists() else []
    parts = {part.split("\n", 1)[0]: part.split("\n", 1)[1].strip() for part in written}
    for name in asked:
        lines = []
        for line in SECTIONS[name]():
            print(line, flush=True)
            lines.append(line)
        parts[name.replace("_", " ")] = f"{SECTIONS[name].__doc__}\n\n" + "\n".join(lines)
    order = [name.replace("_", " ") for name in SECTIONS]
    body = "".join(f"\n## {name}\n\n{parts[name]}\n" for name in order if name in parts)
    TARGET.write_text(f"# The audit, measured\n\nWritten by `python benchmarks/audit.py`.\n{body}")


if __name__ == "__main__":
    main()
