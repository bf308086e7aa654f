"""What came out, as tables: for the report, and as data frames."""

from typing import TYPE_CHECKING, Any

from dpbandits._extras import require_extras
from dpbandits.document import Table
from dpbandits.reproduce.claims import CLAIMS, Finding
from dpbandits.reproduce.confidence import mean_at, number
from dpbandits.reproduce.paper_experiments import FORMS, PANELS, first_interval, published_interval, stated
from dpbandits.reproduce.study import Study
from dpbandits.theory import lower_bounds, upper_bounds

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
            guarantee = line.guarantee(horizon)
            rows.append(
                (
                    f"{panel.name}: {line.algorithm}",
                    line.input_privacy().strip("()"),
                    "none" if guarantee is None else stated(guarantee.epsilon, guarantee.delta),
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
        *("policy", "input privacy", "certified", "runs", "mean regret", "median", "best run", "worst run"),
        *("runs that lose more than half", "initial phase"),
    )
    return Table(header, tuple(rows), numeric=True)


def bounds_table(study: Study) -> Table:
    """Return every bound at the horizon in every panel."""
    t = float(study.settings.horizon)
    bounds: dict[str, Any] = {
        "UCB1": lambda gaps, epsilon: upper_bounds.ucb1(gaps, t, capped=False),
        "DP-UCB-Bound, Theorem 3.2 as published": lambda gaps, epsilon: upper_bounds.dp_ucb_bound(
            gaps, t, epsilon, form="published", capped=False
        ),
        "DP-UCB-Bound, as in the paper's appendix": lambda gaps, epsilon: upper_bounds.dp_ucb_bound(
            gaps, t, epsilon, form="appendix", capped=False
        ),
        "DP-UCB-Bound, corrected, not split (2ε)": lambda gaps, epsilon: upper_bounds.dp_ucb_bound(
            gaps, t, epsilon, split=False, capped=False
        ),
        "DP-UCB-Bound, corrected, split (ε)": lambda gaps, epsilon: upper_bounds.dp_ucb_bound(
            gaps, t, epsilon, capped=False
        ),
        "DP-UCB, Theorem 3.3 (not proved)": lambda gaps, epsilon: upper_bounds.dp_ucb(gaps, t, epsilon, capped=False),
    }
    for series in ("y", "x", "constant"):
        bounds[f"DP-UCB-Int, Theorem 3.5 (false), {series}"] = lambda gaps, epsilon, series=series: (
            upper_bounds.dp_ucb_int(gaps, t, first_interval(published_interval(epsilon, series)), capped=False)
        )
    rows = [
        (name, *(_starred(bound(panel.scenario.gaps, panel.epsilon), t * max(panel.scenario.gaps)) for panel in PANELS))
        for name, bound in bounds.items()
    ]
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
    """Return every claim with its finding."""
    require_extras("pandas")
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "claim": claim.name,
                "where": claim.where,
                "says": claim.says,
                "test": claim.test,
                "verdict": str(findings[claim.name].verdict),
                "reason": findings[claim.name].reason,
                "numbers": "; ".join(findings[claim.name].numbers),
            }
            for claim in CLAIMS
        ]
    )
