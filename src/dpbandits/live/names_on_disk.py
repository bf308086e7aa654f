"""Names on disk: those by which journals, texts and ledgers know a policy and what a guarantee says.

They are part of a file's format. What has been renamed keeps its old name in files of an earlier format, so that
whatever was shown keeps its bytes, and a policy can be found by that name.
"""

from dataclasses import asdict
from typing import Any, NamedTuple

from dpbandits._validate import value_text
from dpbandits.errors import InvalidInput
from dpbandits.policies import POLICIES, Policy, is_ours
from dpbandits.privacy import Guarantee
from dpbandits.privacy.ledger import canonical_json

Settings = dict[str, Any]


class Rename(NamedTuple):
    """A policy that had another name, together with some settings, up to a format."""

    last_format: int
    earlier: str
    marks: Settings  # the settings that told it from others of that name, and are gone
    name: str


RENAMES = (
    Rename(2, "dp-imed", {"index": "published"}, "dp-imed"),
    Rename(2, "dp-imed", {"index": "noise-aware"}, "noise-aware-imed"),
    Rename(2, "dp-klucb", {"index": "published"}, "dp-klucb"),
    Rename(2, "dp-klucb", {"index": "noise-aware"}, "noise-aware-klucb"),
)


# What a guarantee says that is proved, and what it said up to a format.
_PROVED, _EARLIER_PROVED, _LAST_EARLIER = "proved", "certified", 3


def settings_of(policy: Policy) -> Settings:
    """Return the settings of a policy, which must be plain to be written down."""
    settings: Settings = asdict(policy)  # type: ignore[call-overload]
    try:
        canonical_json(settings)
    except InvalidInput as problem:
        raise InvalidInput(
            f"Expected the settings of policy={policy.name} to be plain, to be written down. {problem}"
        ) from None
    return settings


def written_form(policy: Policy, file_format: int) -> tuple[str, Settings]:
    """Return the name and the settings of a policy in a file of this format."""
    settings = settings_of(policy)
    for rename in RENAMES if is_ours(policy) else ():
        if rename.name == policy.name and file_format <= rename.last_format:
            return rename.earlier, {**settings, **rename.marks}
    return policy.name, settings


def current_form(name: str, settings: Settings, file_format: int) -> tuple[str, Settings]:
    """Return the current name and settings of what a file of this format has, whether or not the policy is ours."""
    for rename in RENAMES:
        is_it = name == rename.earlier and rename.marks.items() <= settings.items()
        if is_it and file_format <= rename.last_format:
            return rename.name, {key: value for key, value in settings.items() if key not in rename.marks}
    return name, settings


def current_live_settings(policy: Policy, settings: Settings, file_format: int) -> Settings:
    """Return the current form of the settings with which a policy runs; other settings stay as they are."""
    if not is_ours(policy):
        return settings
    name, current = current_form(written_form(policy, file_format)[0], settings, file_format)
    return current if name == policy.name else settings


def policy_from(plain: Settings, file_format: int) -> Policy:
    """Return the policy of ours that was written down as a name and its settings."""
    settings = {key: value for key, value in plain.items() if key != "name"}
    name, settings = current_form(plain["name"], settings, file_format)
    if name not in POLICIES:
        raise InvalidInput(f"Expected policy={value_text(name)} to be one of ours, or to be passed as well.")
    return POLICIES[name](**settings)


def policy_of(kind: type[Policy], plain: Settings) -> Policy:
    """Return the policy of a class that is not one of ours, with the settings that were written down."""
    if plain["name"] != kind.name:
        raise InvalidInput(f"Expected policy={kind.__name__} to be the one that was written down, {plain['name']}.")
    try:
        return kind(**{key: value for key, value in plain.items() if key != "name"})
    except TypeError:
        raise InvalidInput(f"Expected policy={kind.__name__} to take the settings that were written down.") from None


def written_guarantee(guarantee: Guarantee, file_format: int) -> Settings:
    """Return a guarantee as a file of this format has it."""
    names = {_PROVED: _EARLIER_PROVED} if file_format <= _LAST_EARLIER else {}
    return {names.get(name, name): value for name, value in guarantee.to_dict().items()}


def guarantee_from(plain: Settings, file_format: int) -> Guarantee:
    """Return the guarantee that a file of this format has."""
    names = {_EARLIER_PROVED: _PROVED} if file_format <= _LAST_EARLIER else {}
    return Guarantee.from_dict({names.get(name, name): value for name, value in plain.items()})
