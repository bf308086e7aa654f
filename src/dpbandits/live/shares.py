"""Shares: some arms get at least a share of all decisions. Which of them is next follows from counts alone."""

from collections.abc import Mapping, Sequence

from dpbandits import _validate
from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput
from dpbandits.live.counts import Counts


def validated_shares(shares: Mapping[str | int, float] | None, arms: Sequence[str | int]) -> tuple[float, ...] | None:
    """Return for every arm which share of all decisions it gets at least; None if no arm has one."""
    if not shares:
        return None
    if not isinstance(shares, Mapping):
        raise InvalidInput(f"Expected shares={value_text(shares)} to be a mapping of arms to numbers, or None.")
    unknown = [arm for arm in shares if arm not in arms]
    if unknown:
        raise InvalidInput(f"Expected shares of arms, and {value_text(unknown[0])} is none.")
    return checked_shares([shares.get(arm, 0.0) for arm in arms], len(arms))


def checked_shares(shares: Sequence[float], arms: int) -> tuple[float, ...]:
    """Return shares, one for every arm, if together they leave something to the policy."""
    if len(shares) != arms:
        raise InvalidInput(f"Expected a share for each of {arms} arms, not {len(shares)}.")
    plain = tuple(_validate.real("[0, 1)", **{f"share of arm {arm}": share}) for arm, share in enumerate(shares))
    if not sum(plain) < 1:
        raise InvalidInput(
            f"Expected shares={value_text(list(shares))} to be less than 1 together: the rest is chosen."
        )
    if not any(plain):
        raise InvalidInput("Expected at least one share above 0.")
    return plain


def neediest_arm(shares: Sequence[float], counts: Counts) -> int | None:
    """Return the arm that lacks most of its share of all decisions; None if none does that has a free place."""
    missing = {
        arm: share * counts.decisions - counts.decided[arm]
        for arm, share in enumerate(shares)
        if share and counts.free_block(arm) is not None
    }
    arm = max(missing, key=lambda arm: missing[arm], default=None)
    return arm if arm is not None and missing[arm] > 0 else None
