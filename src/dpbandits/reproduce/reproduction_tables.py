"""What came out, as tables: for the report, and as data frames."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from dpbandits._extras import require_extras
from dpbandits.document import Table
from dpbandits.policies import DPUCB, UCB, DPUCBBound, Policy
from dpbandits.reproduce.claims import CLAIMS, Finding
from dpbandits.reproduce.confidence import mean_at, number
from dpbandits.reproduce.paper_experiments import FORMS, PANELS, privacy_text, published_interval
from dpbandits.reproduce.regret_bounds import BoundForm, regret_bound
from dpbandits.reproduce.study import Study
from dpbandits.theory import lower_bounds

if TYPE_CHECKING:
    import pandas as pd


def regret_table(study: Study, form: str) -> Table:
    """Return a row per curve: privacy, regret at the horizon, how many runs were nearly as bad as possible."""
    horizon = study.settings.horizon
    rows = []
    for panel in PANELS:
        half = horizon * max(panel.scenario.gaps) / 2
        for line in panel.lines(form):
            summary = study.steady(line.policy, panel.scenario.environment)
            asked, guarantee = line.input_privacy(), line.guarantee(horizon)
            rows.append(
                (
                    f"{panel.name}: {line.algorithm}",
                    "not private" if asked is None else privacy_text(asked),
                    "none" if guarantee is None else privacy_text(guarantee),
                    f"{summary.runs:,}",
                    str(mean_at(summary)),
                    number(float(summary.quantile(0.5)[-1])),
                    number(float(summary.least[-1])),
                    number(float(summary.largest[-1])),
                    f"{100 * summary.runs_above(half) / summary.runs:.2f}%",
                    f"{line.opening(len(panel.scenario.means)):,}",
                )
            )
    header = (
        *("policy", "input privacy", "proved", "runs", "mean regret", "median", "best run", "worst run"),
        *("runs that lose more than half", "initial phase"),
    )
    return Table(header, tuple(rows), numeric=True)


_BOUNDS: tuple[tuple[str, BoundForm, Callable[[float], Policy]], ...] = (
    ("UCB1", "proved", lambda epsilon: UCB()),
    ("DP-UCB-Bound, Theorem 3.2 as published", "published", lambda epsilon: DPUCBBound(epsilon=epsilon)),
    ("DP-UCB-Bound, as in the paper's appendix", "appendix", lambda epsilon: DPUCBBound(epsilon=epsilon)),
    (
        "DP-UCB-Bound, as proved, not split (2ε)",
        "proved",
        lambda epsilon: DPUCBBound(epsilon=epsilon, variant="published"),
    ),
    ("DP-UCB-Bound, as proved, split (ε)", "proved", lambda epsilon: DPUCBBound(epsilon=epsilon)),
    ("DP-UCB, Theorem 3.3 (not proved)", "published", lambda epsilon: DPUCB(epsilon=epsilon)),
    ("DP-UCB-Int, Theorem 3.5 (false), y", "published", lambda epsilon: published_interval(epsilon, "y")),
    ("DP-UCB-Int, Theorem 3.5 (false), x", "published", lambda epsilon: published_interval(epsilon, "x")),
    ("DP-UCB-Int, Theorem 3.5 (false), constant", "published", lambda epsilon: published_interval(epsilon, "constant")),
)


def bounds_table(study: Study) -> Table:
    """Return every bound at the horizon in every panel."""
    t = float(study.settings.horizon)
    rows = []
    for name, form, policy_at in _BOUNDS:
        bounds = (
            regret_bound(policy_at(panel.epsilon), panel.scenario.gaps, t, form, capped=False) for panel in PANELS
        )
        largest = (t * max(panel.scenario.gaps) for panel in PANELS)
        rows.append((name, *map(_starred, bounds, largest)))
    constants = [lower_bounds.asymptotic_constant(panel.scenario.means, panel.epsilon) for panel in PANELS]
    minimax = [lower_bounds.minimax(len(panel.scenario.means), t, panel.epsilon) for panel in PANELS]
    rows += [
        ("lower bound for δ = 0, asymptotically C ln t with C =", *map(number, constants)),
        ("lower bound for δ = 0, on some instance", *map(number, minimax)),
    ]
    return Table(("bound", *(panel.name for panel in PANELS)), tuple(rows), numeric=True)


def _starred(bound: float, largest: float) -> str:
    return number(bound) + ("*" if bound >= largest else "")


def curves_frame(study: Study) -> "pd.DataFrame":
    """Return every curve, tidy: a row per form, panel, policy and time."""
    require_extras("pandas")
    import pandas as pd

    frames = []
    for form in FORMS:
        for panel in PANELS:
            for line in panel.lines(form):
                summary = study.summary(line.policy, panel.scenario.environment)
                frames.append(
                    pd.DataFrame(
                        {
                            "form": form,
                            "arms": len(panel.scenario.means),
                            "epsilon": panel.epsilon,
                            "algorithm": line.algorithm,
                            "policy": repr(line.policy),
                            "runs": summary.runs,
                            "t": summary.checkpoints,
                            "mean": summary.mean,
                            "standard_error": summary.standard_error,
                            "best": summary.least,
                            "quantile_05": summary.quantile(0.05),
                            "median": summary.quantile(0.5),
                            "quantile_95": summary.quantile(0.95),
                            "worst": summary.largest,
                        }
                    )
                )
    return pd.concat(frames, ignore_index=True)


def claims_frame(findings: dict[str, Finding]) -> "pd.DataFrame":
    """Return a row for every measure, with the claim that it tests and what came of that."""
    require_extras("pandas")
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "claim": claim.name,
                "where": claim.where,
                "verdict": str(findings[claim.name].verdict),
                "reason": findings[claim.name].reason,
                "measure": measure.name,
                "value": measure.value,
                "low": measure.low,
                "high": measure.high,
                "unit": measure.unit,
            }
            for claim in CLAIMS
            for measure in findings[claim.name].measures
        ]
    )
