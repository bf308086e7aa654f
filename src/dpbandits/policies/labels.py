"""Labels: what a policy is called where people read it."""

from collections.abc import Collection
from dataclasses import MISSING, Field, fields
from typing import Any

from dpbandits.policies.policy import Policy


def label(policy: Policy, besides: Collection[str] = ()) -> str:
    """Return the name, every setting that is not the usual one, and those that are asked for besides.

    >>> from dpbandits import DPUCB, NoiseAwareIMED
    >>> label(NoiseAwareIMED(epsilon=1.0)), label(NoiseAwareIMED(epsilon=1.0, growth=2))
    ('noise-aware-imed', 'noise-aware-imed growth=2.0')
    >>> label(DPUCB(epsilon=0.1), besides=["epsilon"])
    'dp-ucb epsilon=0.1'
    """
    settings = [
        f"{setting.name}={getattr(policy, setting.name)}"
        for setting in fields(policy)  # type: ignore[arg-type]
        if setting.name in besides or _is_unusual(policy, setting)
    ]
    return " ".join([policy.name, *settings])


def _is_unusual(policy: Policy, setting: Field[Any]) -> bool:
    """Tell whether a setting has another value than by default; for one without a default nothing is usual."""
    if setting.default is not MISSING:
        usual = setting.default
    elif setting.default_factory is not MISSING:
        usual = setting.default_factory()
    else:
        return False
    return repr(getattr(policy, setting.name)) != repr(usual)
