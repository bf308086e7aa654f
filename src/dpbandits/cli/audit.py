"""`dpbandits audit`: its options, the attacks and the account that they ask for, and what it prints."""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from dpbandits import _validate
from dpbandits._extras import require_extras
from dpbandits._writing import write_file
from dpbandits.auditing import Audit, ExactAudit, audit, exact_audit
from dpbandits.auditing.audit_report import write_report
from dpbandits.auditing.broken import BROKEN
from dpbandits.auditing.sentences import rewards_text, sentence, settings
from dpbandits.auditing.views import VIEWS
from dpbandits.cli.app import app
from dpbandits.cli.options import AsJson
from dpbandits.cli.output import print_json
from dpbandits.cli.parsing import USUAL_DELTA, check_delta, check_ending, console, parse_policy, whole
from dpbandits.errors import InvalidInput
from dpbandits.policies.labels import label
from dpbandits.policies.policy import Policy
from dpbandits.privacy import Budget

_BROKEN = "broken/"
_ARMS = 2


@app.command("audit")
def audit_command(
    policy: Annotated[
        str,
        typer.Argument(
            help="A policy, with settings after colons, as in `simulate`; mine.py:Name is a class of your own. "
            "`broken` lists policies that are broken on purpose; broken/NAME is one of them."
        ),
    ],
    epsilon: Annotated[
        float, typer.Option(help="The budget that the policy is made for; for a policy without privacy, the claim.")
    ] = 1.0,
    delta: Annotated[
        float | None, typer.Option(help="The delta of the budget, for policies that use one. Default: 1e-6.")
    ] = None,
    variant: Annotated[str | None, typer.Option(help="The policy's variant, such as published.")] = None,
    view: Annotated[
        str | None,
        typer.Option(
            help="Only attack, and only from this view: actions (the arms alone) or releases (every value as well). "
            "Default: both attacks, then the exact account, until the claim is refuted.",
            show_default=False,
        ),
    ] = None,
    arms: Annotated[
        int | None,
        typer.Option(help="Number of arms. Default: 2; the exact account also plays 3.", show_default=False),
    ] = None,
    horizon: Annotated[
        str | None, typer.Option(help="Steps per run. Default: just enough for the policy's choices to differ.")
    ] = None,
    trials: Annotated[
        str, typer.Option(help="The largest number of runs per attack, search and test together, such as 1e7.")
    ] = "1e7",
    confidence: Annotated[
        float, typer.Option(help="With which confidence all lower bounds on epsilon hold together.")
    ] = 0.95,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Only the exact account: the loss of every reward through all releases."),
    ] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same audit.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Cores to use. Default: all.")] = None,
    gpu: Annotated[
        bool | None, typer.Option("--gpu/--no-gpu", help="Play on a GPU. Default: where there is one.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with figures to this file (.html).")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the results to this file (.json).")] = None,
    as_json: AsJson = False,
) -> None:
    """Try to break a privacy claim.

    An attack searches for two reward sequences that differ in one reward, and for an event that is much likelier with
    one than with the other. If it is likelier than the claim allows, the claim is refuted. The exact account then adds
    up what every reward loses, from the policy's own code. The exit status is 1 if the claim is refuted or exceeded; 0
    if it is not, which is no proof; 3 if neither can be said, because the account does not know a loss or the releases
    cannot be scored; 2 for wrong input and 70 for a crash. --json prints what --out writes: a list with one item for
    each attack and one for the account. Examples:

    \b
    dpbandits audit dp-ucb --variant published --epsilon 1

    \b
    dpbandits audit dp-imed --epsilon 0.5 --view releases --trials 1e7 --report audit.html

    \b
    dpbandits audit dp-ucb-int --exact

    \b
    dpbandits audit mine.py:ExploreThenCommit:plays=20 --epsilon 0.5 --view releases
    """
    if exact and view is not None:
        raise InvalidInput(f"Expected view={view!r} without --exact: either attacks, or the exact account.")
    check_ending(report=report, allowed=(".html",))
    check_ending(out=out, allowed=(".json",))
    if policy == "broken":
        if as_json:
            print_json([{"name": _BROKEN + name, "wrong": broken.wrong} for name, broken in BROKEN.items()])
        else:
            console().print(_broken_table())
        return
    needs = {"numba": not exact, "numba_cuda": gpu and not exact, "matplotlib": report is not None}
    require_extras(*(package for package, is_needed in needs.items() if is_needed))
    say = _nothing if as_json else print
    target = _policy(policy if variant is None else f"{policy}:variant={variant}", epsilon, delta)
    claim = None
    if target.claim() is None and target.guarantee() is None:
        claim = Budget(epsilon, delta or 0.0)
    else:
        check_delta(delta, target)
    steps = None if horizon is None else whole("horizon", horizon)
    views = [] if exact else list(VIEWS) if view is None else [_validate.one_of(VIEWS, view=view)]
    parts: list[Audit | ExactAudit] = []
    try:
        for view_name in views:
            if not _is_refuted(parts):
                parts.append(
                    audit(
                        target,
                        view=view_name,
                        arms=_ARMS if arms is None else arms,
                        horizon=steps,
                        trials=whole("trials", trials),
                        # One chance of a wrong accusation for all attacks together.
                        confidence=1 - (1 - _validate.real("(0, 1)", confidence=confidence)) / len(views),
                        claim=claim,
                        seed=seed,
                        workers=workers,
                        gpu=gpu,
                    )
                )
                _show(parts[-1], say)
                if len(views) > len(parts) == 1:
                    say(f"(Both attacks together have a confidence of {confidence * 100:.10g}%.)")
        if exact or report is not None or (view is None and not _is_refuted(parts)):
            parts.append(exact_audit(target, arms=arms, horizon=steps, claim=claim, seed=seed))
            _show(parts[-1], say)
    except KeyboardInterrupt:
        print("Stopped. Nothing was decided.", file=sys.stderr)
        raise SystemExit(130) from None
    options: dict[str, Any] = {"--delta": delta, "--variant": variant, "--arms": arms, "--horizon": steps}
    options["--view"] = view
    if not exact:
        options |= {"--trials": whole("trials", trials), "--confidence": confidence}
    command = _command(policy, epsilon, {**options, "--seed": seed, "--report": report}, parts)
    say(f"Again: {command}")
    if report is not None:
        write_report(report, parts, command)
        say(f"Report: {report}")
    document = [part.to_dict() for part in parts]
    if out is not None:
        write_file(out, (json.dumps(document, indent=2, allow_nan=False) + "\n").encode())
        say(f"Data: {out}")
    if as_json:
        print_json(document)
    if _is_refuted(parts):
        raise typer.Exit(1)
    if parts[-1].unknown is not None:  # the exact account, where it was kept: it sees more than attacks do
        raise typer.Exit(3)


def _is_refuted(parts: list[Audit | ExactAudit]) -> bool:
    return any(part.refuted for part in parts)


def _policy(text: str, epsilon: float, delta: float | None) -> Policy:
    delta = USUAL_DELTA if delta is None else delta
    if not text.startswith(_BROKEN):
        return parse_policy(text, epsilon, delta)
    name = text.removeprefix(_BROKEN)
    if name not in BROKEN:
        raise InvalidInput(f"Expected policy {text!r} to be one of {', '.join(_BROKEN + each for each in BROKEN)}.")
    return BROKEN[name].make(epsilon, delta)


def _nothing(text: object) -> None:
    """Leave out what is for a person."""


def _show(result: Audit | ExactAudit, say: Callable[[Any], None]) -> None:
    table = Table(title=f"Audit of {label(result.policy)}", show_header=False)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for row in settings(result):
        table.add_row(*row)
    if say is print:
        console().print(table)
    if isinstance(result, Audit):
        for tested in result.tested:
            say(
                f"Event: {tested.event}\n"
                f"  rewards    {rewards_text(tested.rewards)}: {tested.hits:,} of {tested.trials:,}\n"
                f"  neighbours {rewards_text(tested.neighbours)}: {tested.neighbour_hits:,} of {tested.trials:,} "
                f"(they differ at {tested.position})\n"
                f"  ln of the ratio {tested.ratio(result.claim.delta):.4f}, epsilon is at least {tested.bound:.4f}"
            )
    say(sentence(result))


def _command(policy: str, epsilon: float, options: dict[str, Any], parts: list[Audit | ExactAudit]) -> str:
    """Return the command that gives the same once more."""
    arguments = ["dpbandits", "audit", policy, "--epsilon", f"{epsilon!r}"]
    for option, value in options.items():
        arguments += [option, str(value)] if value is not None else []
    attacks = [part for part in parts if isinstance(part, Audit)]
    arguments += ["--exact"] if not attacks else ["--gpu"] if attacks[0].on_gpu else ["--no-gpu"]
    return shlex.join(arguments)


def _broken_table() -> Table:
    table = Table(title="Policies that are broken on purpose: the audit should refute every one of them")
    table.add_column("name")
    table.add_column("what is wrong", overflow="fold")
    for name, broken in BROKEN.items():
        table.add_row(_BROKEN + name, broken.wrong)
    return table
