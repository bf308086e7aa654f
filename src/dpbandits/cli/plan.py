"""`dpbandits plan`: its options, the questions that they ask, and how the answers are printed."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dpbandits import _validate
from dpbandits.cli.app import app
from dpbandits.cli.files import environment_from
from dpbandits.cli.options import AsJson, OwnEnvironment
from dpbandits.cli.output import print_json, print_rows
from dpbandits.cli.parsing import (
    PLOTS,
    check_ending,
    contenders,
    number,
    parse_levels,
    parse_means,
    split_commas,
    whole,
)
from dpbandits.comparison import Answer, Plan, plan
from dpbandits.comparison.advice import share_text, value_with_margin
from dpbandits.environments import Environment
from dpbandits.errors import InvalidInput
from dpbandits.plots import write_figure

_ARMS, _GAP, _RATE = 3, "0.05", 0.5
_POLICIES = "recommended,dp-imed,adap-klucb,block-ucb,ldp-ucb-bernoulli"


@app.command("plan")
def plan_command(
    arms: Annotated[
        int | None,
        typer.Option(
            help=f"Number of arms: one is better by the gap, the others are equal. Default: {_ARMS}.",
            show_default=False,
        ),
    ] = None,
    gap: Annotated[
        str | None,
        typer.Option(
            help="By how much the best arm is better, as a difference of success rates. May be a list. "
            f"Default: {_GAP}.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(help=f"The success rate of the other arms. Default: {_RATE}.", show_default=False),
    ] = None,
    means: Annotated[
        str | None, typer.Option(help="Instead of arms, gap and rate: a success rate per arm, such as 0.12,0.1,0.07.")
    ] = None,
    environment: OwnEnvironment = None,
    horizon: Annotated[str, typer.Option(help="Number of people, such as 1e6.")] = "1e5",
    epsilon: Annotated[
        str,
        typer.Option(help="Privacy levels to compare: 0.1 is strict, 1 is usual, 10 protects hardly anybody."),
    ] = "0.1,0.5,1",
    tolerance: Annotated[
        float, typer.Option(help="What privacy may cost without discussion, as a share of the people.")
    ] = 0.01,
    delta: Annotated[
        float | None,
        typer.Option(help="The delta of the budget, for policies that use one. Default: 1e-6.", show_default=False),
    ] = None,
    policies: Annotated[
        str,
        typer.Option(
            help="Names, with settings after colons. `recommended` is one; mine.py:Name is a class of your own."
        ),
    ] = _POLICIES,
    runs: Annotated[
        str,
        typer.Option(
            help="How often to play each policy; those that decide at every step are played less often. Half of the "
            "runs choose the policy for a level, the other half are reported."
        ),
    ] = "2000",
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Draw the plan to this file (.png, .svg, .pdf).")] = None,
    as_json: AsJson = False,
) -> None:
    """Find out what privacy will cost, before an experiment begins.

    It plays the experiment many times at every privacy level, with arms as you expect them, shuffled every time, and
    says how many people get an arm that is not the best. Examples:

    \b
    dpbandits plan --arms 5 --gap 0.05 --horizon 1e6 --epsilon 0.1,0.5,1

    \b
    dpbandits plan --means 0.12,0.10,0.10 --horizon 2e5 --plot plan.png

    \b
    dpbandits plan --environment mine.py:stars --policies recommended,mine.py:Mine
    """
    check_ending(plot=plot, allowed=PLOTS)
    questions = _questions(arms, gap, rate, means, environment)
    if plot is not None and len(questions) > 1:
        raise InvalidInput(f"Expected gap={gap!r} to be one number: a plot shows one plan.")
    documents = []
    for question in questions:
        answer = plan(
            contenders(policies, delta),
            question,
            horizon=whole("horizon", horizon),
            epsilons=parse_levels(epsilon),
            runs=whole("runs", runs),
            tolerance=tolerance,
            seed=seed,
        )
        documents.append(_document(answer))
        if not as_json:
            _show(answer)
            print(*answer.sentences(), sep="\n")
    if as_json:
        print_json({"plans": documents})
    if plot is not None:
        from dpbandits.comparison.comparison_figures import plan_figure

        write_figure(plan_figure(answer), plot)
        if not as_json:
            print(f"Figure: {plot}")


def _questions(
    arms: int | None, gap: str | None, rate: float | None, means: str | None, environment: str | None
) -> list[list[float] | Environment]:
    """Return the means, or the environment, of every question."""
    alternatives: dict[str, object] = {"arms": arms, "gap": gap, "rate": rate}
    if environment is not None:
        _refuse({**alternatives, "means": means}, f"environment={environment!r}")
        return [environment_from(environment)]
    if means is not None:
        _refuse(alternatives, f"means={means!r}")
        guess = parse_means(means)
        if len(guess) < 2:
            raise InvalidInput(f"Expected means={means!r} to be at least two success rates, such as 0.12,0.1.")
        return [guess]
    arms = _validate.integer("[2, 10000]", arms=_ARMS if arms is None else arms)
    rate = _validate.real("[0, 1)", rate=_RATE if rate is None else rate)
    gap = _GAP if gap is None else gap
    gaps = [_validate.real(f"(0, {1 - rate:g}]", gap=number("gap", size)) for size in split_commas(gap)]
    if not gaps:
        raise InvalidInput(f"Expected gap={gap!r} to be a number, or several with commas.")
    return [[min(rate + size, 1.0), *[rate] * (arms - 1)] for size in gaps]


def _refuse(options: dict[str, object], replacement: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise InvalidInput(f"Expected {name}={value} without {replacement}, which replaces it.")


def _show(answer: Plan) -> None:
    rows = []
    for line in (answer.without, *answer.answers):
        worse = line.worse
        unlucky = f"{100 * worse.unlucky_low:.1f}-{worse.unlucky_high:.1%}"
        if worse.unlucky_high == 1.0:  # few runs know no upper end
            unlucky = f"from {worse.unlucky_low:.1%}"
        if worse.runs < 100:  # one run in a hundred is not seen in fewer
            unlucky = "-"
        rows.append(
            [
                *(line.policy, "none" if line is answer.without else f"{line.epsilon:g}"),
                *(share_text(worse.mean, worse.margin), unlucky),
                *(value_with_margin(line.regret, line.regret_margin, most=2), f"{worse.runs}"),
            ]
        )
    print_rows(
        answer.title,
        ["policy", "ε", "worse arm", "unlucky", "regret", "runs"],
        rows,
        "worse arm: people who get an arm other than the best, on average. unlucky: the same in the one run in a "
        "hundred that is worst, as a range with 95% confidence. The best arm has the largest mean. regret: the rewards "
        "lost. ±: about 95%, if no rare run is missing. runs: those reported; as many others chose the policy for each "
        "level. The arms are in another random order in every run. no privacy: IMED, which decides anew for every "
        "person.",
    )


def _document(answer: Plan) -> dict[str, Any]:
    """Return a plan for programs."""
    recommendation = answer.recommendation
    return {
        **{"environment": repr(answer.environment), "means": answer.means, "horizon": answer.horizon},
        **{"tolerance": answer.tolerance, "drawing_lots": answer.lots, "without": _line(answer.without)},
        "answers": [{**_line(line), "cost": answer.cost(line)} for line in answer.answers],
        "advised": None
        if recommendation is None
        else {"policy": recommendation.policy, "epsilon": recommendation.epsilon},
        "sentences": answer.sentences(),
    }


def _line(answer: Answer) -> dict[str, Any]:
    worse = {**answer.worse._asdict(), "margin": answer.worse.margin}
    plain = {"policy": answer.policy, "epsilon": answer.epsilon, "worse": worse}
    return {**plain, "regret": answer.regret, "regret_margin": answer.regret_margin}
