"""check_policy: all that must hold for every policy. docs/adding_a_policy.md ends with it."""

from collections.abc import Callable, Collection

from dpbandits import _validate
from dpbandits._extras import require_extras
from dpbandits._progress import Progress
from dpbandits._validate import check_kind
from dpbandits.errors import BrokenContract, InvalidInput
from dpbandits.policies.policy import Policy
from dpbandits.testing.definition_checks import (
    check_arms_are_alike,
    check_blocks_are_steps,
    check_compiled_twin,
    check_hold_is_a_promise,
    check_json,
    check_plays_in_python,
)
from dpbandits.testing.privacy_checks import check_ledger_rows, check_live_ledger, check_losses
from dpbandits.testing.subject import Subject

# In this order: what runs in plain Python names a mistake best, and compiled code does not check its indices.
CHECKS: dict[str, Callable[[Subject], str]] = {
    "plain Python": check_plays_in_python,
    "taint": check_losses,
    "hold": check_hold_is_a_promise,
    "JSON": check_json,
    "ledger": check_ledger_rows,
    "live": check_live_ledger,
    "compiled twin": check_compiled_twin,
    "blocks and steps": check_blocks_are_steps,
    "symmetry": check_arms_are_alike,
}


def check_policy(
    policy: Policy,
    *,
    arms: int = 3,
    horizon: int = 260,
    seed: int = 0,
    skip: Collection[str] = (),
    progress: bool | None = None,
) -> dict[str, str]:
    """Check what must hold for every policy, and return what each check has seen.

    Args:
        policy: what is checked; each interesting setting of a class is worth a check of its own.
        arms: how many it is played with, 2 or more.
        horizon: how long it is played; long enough that it releases several times.
        seed: which random numbers.
        skip: names of checks to leave out. Say beside it why they do not fit the policy.
        progress: show a bar when it takes longer than a second; by default if standard error is a terminal.

    Returns:
        A sentence for each check, by its name: plain Python, taint, hold, JSON, ledger, live, compiled twin, blocks and
        steps, symmetry. The last two are tests of distributions: a right policy fails either once in 10,000 seeds, if
        its arms are not equally good in its own eyes for so long that their order decides.

    Raises:
        BrokenContract: if one fails; the message says which, and how. What the policy itself raised is its cause.

    >>> from dpbandits import DPIMED
    >>> seen = check_policy(DPIMED(epsilon=0.7))
    >>> seen["taint"]
    'no reward loses more than 0.7, which is the guarantee'
    """
    check_kind(Policy, "a policy, such as UCB()", policy=policy)
    require_extras("numba", "pandas")
    subject = Subject(
        policy,
        _validate.integer("[2, 1000]", arms=arms),
        _validate.integer("[1, 1000000]", horizon=horizon),
        _validate.integer("[0, inf)", seed=seed),
    )
    if unknown := [name for name in skip if name not in CHECKS]:
        raise InvalidInput(f"Expected skip={unknown[0]!r} to be one of {', '.join(CHECKS)}.")
    observations = {}
    with Progress(len(CHECKS), "checks", progress) as bar:
        for name, check in CHECKS.items():
            bar.describe(name)
            if name not in skip:
                observations[name] = _observation(name, check, subject)
            bar.advance(1)
    return observations


def _observation(name: str, check: Callable[[Subject], str], subject: Subject) -> str:
    try:
        return check(subject)
    except BrokenContract as problem:
        raise BrokenContract(f"{problem} (check: {name})") from problem.__cause__
    except Exception as problem:  # whatever a stranger's kernels raise
        raise BrokenContract(
            f"{subject.policy.name} with {subject.arms} arms and horizon {subject.horizon} raises "
            f"{type(problem).__name__}: {problem} (check: {name})"
        ) from problem
