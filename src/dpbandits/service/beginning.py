"""Beginning: an experiment put into the database, with row 0 of its ledger and its mark."""

import json
import secrets
from collections.abc import Mapping, Sequence

from sqlalchemy import func, insert, select

from dpbandits import _validate
from dpbandits._frames import clean
from dpbandits._version import __version__
from dpbandits.errors import DatabaseError, InvalidInput
from dpbandits.live.configuration import Configuration, Terms, requested_configuration
from dpbandits.live.learner import Learner
from dpbandits.live.reward_scale import OutOfBounds
from dpbandits.live.timing import Timing
from dpbandits.mechanisms import SecureNoise
from dpbandits.policies import Policy, is_ours
from dpbandits.service.directory import validated_name
from dpbandits.service.experiment_rows import Experiment
from dpbandits.service.schema import experiments, ledger, own_marks, progress
from dpbandits.service.steps import BEGINNINGS, Beginning
from dpbandits.service.store import Store
from dpbandits.service.terms_process import computed_terms


@clean
def begin_experiment(
    store: Store,
    name: str,
    policy: Policy,
    arms: int | Sequence[str | int],
    *,
    window: float | None,
    timing: Timing = "sealed",
    horizon: int | None = None,
    reward_bounds: tuple[float, float] = (0.0, 1.0),
    out_of_bounds: OutOfBounds = "refuse",
    default_reward: float | None = None,
    contributions: int = 1,
    sticky: bool = True,
    shares: Mapping[str | int, float] | None = None,
    state: Beginning = "running",
) -> int:
    """Put an experiment into a database, and return its number there. Long schedules are calibrated first.

    Args:
        store: where it will be.
        name: what people call it, also in URLs.
        policy: what chooses, one of the built-in ones whose releases are fixed in advance. Its budget is that of one
            person.
        arms: as for a `Bandit`, like everything that follows but for the last one.
        window: for how many seconds after its assignment a reward is accepted; None for ever.
        timing: when a block of rewards is released: "sealed", when its window is over, or "open", when it is complete.
        horizon: how many assignments enter at most.
        reward_bounds: the least and the largest reward.
        out_of_bounds: "refuse" rewards outside the bounds, or "clip" them.
        default_reward: what counts for an answer that never comes; by default the lower bound.
        contributions: how many rewards of one person enter at most.
        sticky: whether a person who comes again gets the arm of their first assignment.
        shares: for some arms the least share of all decisions that they get.
        state: with which it begins, "running" or "draft".

    Raises:
        InvalidInput: the name is taken or cannot be one, a setting is outside its range, or the policy cannot run here.
            Nothing has changed.
    """
    _validate.check_kind(Store, "a Store", store=store)
    _validate.check_kind(Policy, "a policy, such as recommended(epsilon=1)", policy=policy)
    if not is_ours(policy):
        raise InvalidInput(f"Expected policy={policy.name} to be a built-in one: others run in a Bandit alone.")
    _validate.one_of(BEGINNINGS, state=state)
    validated_name(name)
    configuration = requested_configuration(
        policy,
        arms,
        horizon=horizon,
        reward_bounds=reward_bounds,
        out_of_bounds=out_of_bounds,
        default_reward=default_reward,
        contributions=contributions,
        sticky=sticky,
        accept_delta=False,
        window=window,
        timing=timing,
        shares=shares,
        grid_bits=SecureNoise().grid_bits,
    )
    return insert_experiment(store, name, configuration, computed_terms(configuration), state)


@clean
def insert_experiment(store: Store, name: str, configuration: Configuration, terms: Terms, state: Beginning) -> int:
    """Put an experiment with its terms into a database, and return its number there."""
    learner = Learner(configuration, terms, SecureNoise(configuration.grid_bits))
    row_0, identity = learner.ledger[0], secrets.token_hex(8)
    with store.database.writing() as connection:
        connection.execute(select(own_marks).with_for_update())  # one at a time, where several hosts write
        if connection.scalar(select(experiments.c.id).where(experiments.c.name == name)) is not None:
            raise InvalidInput(f"Expected name={name!r} to be a new one: there is an experiment with this name.")
        # A number is never given again, also if the database that gave it is gone: its mark is still there.
        largest = connection.scalar(select(func.max(experiments.c.id))) or 0
        number = max(largest, store.marks.slots) + 1
        connection.execute(
            insert(experiments).values(
                id=number,
                name=name,
                identity=identity,
                tag=learner.tag,
                unit_key=learner.units.key,
                state=state,
                checked_by=__version__,
            )
        )
        counts = json.dumps(learner.counts.snapshot())
        connection.execute(insert(progress).values(experiment=number, version=1, ledger_rows=1, counts=counts))
        connection.execute(
            insert(ledger).values(experiment=number, number=0, decisions=0, content=row_0.content_json, hash=row_0.hash)
        )
    mark = Experiment(number, name, identity, state, learner, version=1).mark
    try:
        store.marks.raise_to({number: mark}, durable=True)
    except OSError as problem:
        raise DatabaseError(
            f"Experiment {name!r} has begun, and its mark could not be written ({problem.strerror}): its first step "
            "will write it."
        ) from None
    return number
