"""Checks that a policy is the same however it is run: in Python or compiled, in blocks or steps, stored, reordered."""

import json

import numpy as np
from scipy.stats import ks_2samp

from dpbandits.engine.driver import Chunk
from dpbandits.engine.game import Game
from dpbandits.engine.loop import NO_MISTAKE, Task, play_runs, rules_of
from dpbandits.environments.bernoulli import Bernoulli
from dpbandits.mechanisms import SeededNoise
from dpbandits.mechanisms.state import restore, to_plain
from dpbandits.policies.policy import FOREVER, hold, select, update
from dpbandits.simulation.job import Job
from dpbandits.simulation.plays import room_for_plays
from dpbandits.testing.subject import Subject

FALSE_ALARMS = 1e-4  # of a test of two distributions
_RUNS = 3000
_FEW = 3


def check_plays_in_python(subject: Subject) -> str:
    """Play it in plain Python, where an index that is out of range is an error, beyond its horizon."""
    game = subject.game().play(subject.rewards(), subject.beyond)
    return f"{len(game.actions)} steps"


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
    """Write the state down in the middle of a run, and go on from the text."""
    rewards, horizon = subject.rewards(), subject.horizon
    whole = subject.game().play(rewards, horizon, "blocks")
    middle = whole.blocks[len(whole.blocks) // 2][0] - 1
    half = subject.game().play(rewards, middle, "blocks")
    text = json.dumps(to_plain(half.state), allow_nan=False)
    resumed_game = Game(subject.policy, subject.arms, horizon, half.noise)  # the generator goes on where it was
    restore(resumed_game.state, json.loads(text))
    resumed_game.t = half.t
    resumed_game.play(rewards, horizon, "blocks")
    is_same = half.actions + resumed_game.actions == whole.actions and to_plain(resumed_game.state) == to_plain(
        whole.state
    )
    subject.expect(is_same, f"with its state through JSON at t = {middle} it plays on in another way")
    return f"a state of {len(text)} characters"


def check_compiled_twin(subject: Subject) -> str:
    """Play the same random numbers in plain Python and compiled: the arms are the same, bit for bit."""
    environment, horizon = Bernoulli(subject.means), subject.horizon
    every_step, kinds = np.arange(1, horizon + 1), np.arange(subject.arms)
    seeds = np.random.SeedSequence(subject.seed)
    for blocks in (True, False):
        job = Job(subject.policy, environment, horizon, every_step, kinds=kinds, blocks=blocks)
        compiled = job.play(Chunk(_FEW, seeds))
        game = Game(subject.policy, subject.arms, horizon, SeededNoise(seeds))
        plain = room_for_plays(environment.gaps, every_step, kinds, _FEW)
        rules = rules_of(subject.arms, horizon, longest_block=FOREVER if blocks else 1)
        mistake = play_runs(Task(environment.configure(), plain, rules), game.params, game.state, game.noise, _FEW)
        subject.expect(mistake == NO_MISTAKE, "in plain Python it makes a mistake that it does not make compiled")
        is_same = np.array_equal(compiled.chosen, plain.chosen)  # type: ignore[union-attr]
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
            same_distribution(in_blocks[:, column], in_steps[:, column]),
            f"regret at t = {t} has another distribution in blocks than in steps",
        )
    return f"{_RUNS} runs of each"


def check_arms_are_alike(subject: Subject) -> str:
    """Compare regrets with those of the same arms in another order, which have the same distribution, ties apart."""
    samples = [
        Job(subject.policy, Bernoulli(means), subject.horizon, np.array([subject.horizon]))
        .play(Chunk(_RUNS, np.random.SeedSequence((subject.seed, 2 + number))))
        .regrets[:, 0]
        for number, means in enumerate((subject.means, subject.means[1:] + subject.means[:1]))
    ]
    subject.expect(same_distribution(*samples), "regret depends on the order of the arms")
    return f"{_RUNS} runs of each of two orders"


def same_distribution(first: object, second: object) -> bool:
    """Tell whether two samples may come from one distribution (Kolmogorov-Smirnov; rounding errors apart)."""
    test = ks_2samp(np.round(first, 6), np.round(second, 6), method="asymp")  # type: ignore[call-overload]
    return bool(test.pvalue > FALSE_ALARMS)
