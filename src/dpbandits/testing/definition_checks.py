"""Checks that a policy is the same however it is run: in Python or compiled, in blocks or steps, stored, reordered."""

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import ks_2samp

from dpbandits.engine.driver import Chunk
from dpbandits.engine.game import Game
from dpbandits.engine.loop import NO_MISTAKE, Task, play_runs, rules_of
from dpbandits.environments.bernoulli import Bernoulli
from dpbandits.environments.beta import Beta
from dpbandits.environments.environment import Environment
from dpbandits.mechanisms import SeededNoise
from dpbandits.mechanisms.state import restore, to_plain
from dpbandits.policies.policy import FOREVER, hold, select, update
from dpbandits.simulation.job import Job
from dpbandits.simulation.plays import room_for_plays
from dpbandits.testing.subject import Subject

FALSE_ALARMS = 1e-4  # of a check of distributions
_RUNS = 3000
_FEW = 3
_OPENINGS = 4  # how much longer than its opening a policy must be played before arms can be compared
_LONGEST = 4000
_DISTURBANCE = 20  # steps of another game in between


def check_plays_in_python(subject: Subject) -> str:
    """Play it in plain Python, where an index that is out of range is an error, beyond its horizon.

    Once on arms that are close, and with the first or the last arm clearly the best, so that its plays come as near to
    the horizon as they can.
    """
    for favourite in (None, 0, subject.arms - 1):
        rewards = subject.rewards() if favourite is None else _rewards_of(favourite)
        subject.game().play(rewards, subject.beyond)
    return f"{subject.beyond} steps, also with one arm clearly the best"


def _rewards_of(favourite: int) -> Callable[[int, int], float]:
    return lambda t, arm: float(arm == favourite)


def check_hold_is_a_promise(subject: Subject) -> str:
    """Ask `select` at every step within a block: it says the same, though nobody else asks it there."""
    game, rewards, longest = subject.game(), subject.rewards(), 0
    while game.t <= subject.horizon:
        t = game.t
        arm = int(select(game.params, game.state, t))
        plays = min(int(hold(game.params, game.state, arm, t)), subject.horizon - t + 1)
        subject.expect(plays >= 1, f"`hold` says {plays} at t = {t}, and must say 1 or more")
        for later in range(t, t + plays):
            choice = int(select(game.params, game.state, later))
            promise = f"`hold` promises {plays} plays of arm {arm} from t = {t} on"
            subject.expect(choice == arm, f"{promise}, and at {later} `select` says {choice}")
        game.t, longest = t + plays, max(longest, plays)
        total = sum(rewards(later, arm) for later in range(t, t + plays))
        update(game.params, game.state, arm, plays, total, game.t, game.noise)
    return f"the longest block has {longest} plays"


def check_json(subject: Subject) -> str:
    """Write the state down in the middle and before the last block, and go on from the text. Constants stay so."""
    rewards, horizon = subject.rewards(), subject.horizon
    whole = subject.game()
    constants = copy.deepcopy(whole.params)
    whole.play(rewards, horizon, "blocks")
    subject.expect(_is_equal(whole.params, constants), "it writes into its Params, which are constants")
    length = 0
    for place in sorted({len(whole.blocks) // 2, len(whole.blocks) - 1}):
        until = whole.blocks[place][0] - 1
        half = subject.game().play(rewards, until, "blocks")
        text = json.dumps(to_plain(half.state), allow_nan=False)
        subject.game().play(_rewards_of(0), min(horizon, _DISTURBANCE))  # whatever is kept outside belongs to this one
        resumed_game = Game(subject.policy, subject.arms, horizon, half.noise)  # the generator goes on where it was
        restore(resumed_game.state, json.loads(text))
        resumed_game.t = half.t
        resumed_game.play(rewards, horizon, "blocks")
        actions = half.actions + resumed_game.actions
        is_same = actions == whole.actions and to_plain(resumed_game.state) == to_plain(whole.state)
        subject.expect(is_same, f"with its state through JSON at t = {until} it plays on in another way")
        length = max(length, len(text))
    return f"a state of {length} characters"


def _is_equal(one: Any, other: Any) -> bool:
    if isinstance(one, tuple):
        return all(map(_is_equal, one, other))
    return np.array_equal(one, other, equal_nan=True) if isinstance(one, np.ndarray) else bool(one == other)


def check_compiled_twin(subject: Subject) -> str:
    """Play the same random numbers in plain Python and compiled: the arms are the same, bit for bit."""
    environment, horizon = Bernoulli(subject.means), subject.horizon
    every_step, kinds = np.arange(1, horizon + 1), np.arange(subject.arms)
    seeds = np.random.SeedSequence(subject.seed)
    for blocks in (True, False):
        compiled = Job(subject.policy, environment, horizon, every_step, blocks=blocks).play(Chunk(_FEW, seeds))
        game = Game(subject.policy, subject.arms, horizon, SeededNoise(seeds))
        plain = room_for_plays(environment.gaps, every_step, kinds, _FEW)
        rules = rules_of(subject.arms, horizon, longest_block=FOREVER if blocks else 1)
        mistake = play_runs(Task(environment.configure(), plain, rules), game.params, game.state, game.noise, _FEW)
        subject.expect(mistake == NO_MISTAKE, "in plain Python it makes a mistake that it does not make compiled")
        is_same = np.array_equal(compiled.regrets, plain.regrets)  # no two arms have the same gap
        way = "blocks" if blocks else "steps"
        subject.expect(is_same, f"its compiled kernels play other arms than plain Python does, in {way}")
    return f"{_FEW} runs of {horizon} steps, in blocks and in steps"


def check_blocks_are_steps(subject: Subject) -> str:
    """Compare regrets of runs in blocks with those of runs in steps, which have the same distribution."""
    at = np.array(sorted({max(subject.horizon // 5, 1), subject.horizon}))
    in_blocks, in_steps = (
        Job(subject.policy, Bernoulli(subject.means), subject.horizon, at, blocks=blocks)
        .play(Chunk(_RUNS, np.random.SeedSequence((subject.seed, number))))
        .regrets
        for number, blocks in enumerate((True, False))
    )
    for column, t in enumerate(at):
        subject.expect(
            same_distribution(in_blocks[:, column], in_steps[:, column], FALSE_ALARMS / len(at)),
            f"regret at t = {t} has another distribution in blocks than in steps",
        )
    return f"{_RUNS} runs of each"


def check_arms_are_alike(subject: Subject) -> str:
    """Compare regrets with those of the same arms in another order, which have the same distribution.

    The first plays may go by place, so the runs are long enough that these matter little; else nothing is told. Ties
    may be broken by place too: what differs with rewards of 0 and 1 must differ also where means are hardly ever equal.
    """
    opening = _opening(subject)
    longest = _LONGEST if subject.policy.horizon is None else min(subject.policy.horizon, _LONGEST)
    if opening is None or longest < _OPENINGS * opening:
        return f"cannot be told: arms take turns for too much of {longest:,} steps"
    horizon = max(min(subject.horizon, longest), _OPENINGS * opening)
    environments: tuple[Callable[[list[float]], Environment], ...] = (Bernoulli, _spread_rewards)
    for environment in environments:
        first, second = (
            Job(subject.policy, environment(means), horizon, np.array([horizon]))
            .play(Chunk(_RUNS, np.random.SeedSequence((subject.seed, 2 + number))))
            .regrets[:, 0]
            for number, means in enumerate((subject.means, subject.means[1:] + subject.means[:1]))
        )
        is_constant = all(np.ptp(np.round(sample, 6)) == 0 for sample in (first, second))
        if is_constant and abs(first[0] - second[0]) <= sum(max(subject.means) - mean for mean in subject.means):
            return f"cannot be told: arms take turns for all of {horizon:,} steps"
        if same_distribution(first, second, FALSE_ALARMS):
            return f"{_RUNS} runs of each of two orders, {horizon:,} steps"
    raise subject.broken(f"regret after {horizon} steps depends on the order of the arms")


def _opening(subject: Subject) -> int | None:
    """Return after how many steps every arm has been played in a block that is over; None if that takes too long."""
    horizon = subject.horizon
    longest = _LONGEST if subject.policy.horizon is None else subject.policy.horizon
    while True:
        tried = subject._replace(horizon=min(horizon, longest))
        seen: set[int] = set()
        for t, arm, plays in tried.game().play(tried.rewards(), tried.horizon, "blocks").blocks[:-1]:
            seen.add(arm)
            if len(seen) == subject.arms:
                return t + plays - 1
        if horizon >= longest:
            return None
        horizon *= 4


def _spread_rewards(means: list[float]) -> Environment:
    return Beta([4 * mean for mean in means], [4 * (1 - mean) for mean in means])


def same_distribution(first: object, second: object, false_alarms: float) -> bool:
    """Tell whether two samples may come from one distribution (Kolmogorov-Smirnov; rounding errors apart)."""
    test = ks_2samp(np.round(first, 6), np.round(second, 6), method="asymp")  # type: ignore[call-overload]
    return bool(test.pvalue > false_alarms)
