"""The River adapter, held to River's own checks and evaluations."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from river import bandit as river_bandit
from river.checks import common

import dpbandits as dpb
from dpbandits.adapters.gymnasium import BanditEnv
from dpbandits.adapters.river import RiverPolicy
from shared_noise import SharedNoise

POLICY = dpb.DPUCBInt(epsilon=30.0, delta=0.0, horizon=5000)
# River's general checks, which need no dataset. `check_tags` is for estimators, which River's policies are not.
CHECKS = [
    common.check_repr,
    common.check_str,
    common.check_clone_same_class,
    common.check_clone_is_idempotent,
    common.check_init_has_default_params_for_tests,
    common.check_init_default_params_are_not_mutable,
    common.check_doc,
    common.check_clone_changes_memory_addresses,
    common.check_mutate_can_be_idempotent,
    common.check_pickling_supports_roundtrip,
    common.check_repr_roundtrips_clone,
    common.check_clone_with_new_params_applies,
    common.check_get_params_matches_signature,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_rivers_own_checks_accept_it(check: Any) -> None:
    check(RiverPolicy(POLICY))


@pytest.fixture
def same_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every bandit draw the noise of one seed, so that what is learnt is no matter of luck."""
    monkeypatch.setattr("dpbandits.live.bandit.live_source", lambda noise: SharedNoise(1))


@pytest.mark.usefixtures("same_noise")
def test_river_can_evaluate_it_against_its_own_policies() -> None:
    """Two episodes of a thousand steps beside a random policy: the private one earns more, in every episode."""
    env = BanditEnv(dpb.Bernoulli([0.1, 0.9, 0.2]), horizon=1000)
    policies = [RiverPolicy(POLICY), river_bandit.RandomPolicy(seed=1)]
    totals: dict[tuple[int, int], float] = {}
    for step in river_bandit.evaluate(policies, env, n_episodes=2, seed=3):
        totals[step["episode"], step["policy_idx"]] = step["reward_stat"]
    assert len(totals) == 4
    for episode in range(2):
        assert totals[episode, 0] > 1.3 * totals[episode, 1]


def test_river_can_replay_a_log() -> None:
    """Where the log has another arm, River updates nothing: the choice stands until its reward comes."""
    dice = random.Random(1)  # noqa: S311
    log = [(["A", "B"], None, dice.choice("AB"), dice.random() < 0.5) for _ in range(400)]
    policy = RiverPolicy(POLICY)
    reward, used = river_bandit.evaluate_offline(policy, log)
    assert 100 < used < 300
    counts = json.loads(policy.bandit.to_json())["learner"]["counts"]
    assert counts["assigned"] == counts["entered"] in (used, used + 1)
    assert 0 < reward.get() < used


def test_river_can_replay_its_own_example_and_its_own_data(tmp_path: Path) -> None:
    """The example of evaluate_offline, and NewsArticles, which cannot be fetched here, with lines of the same form."""
    dice = random.Random(42)  # noqa: S311
    arms = ["A", "B", "C"]
    clicks = [(arms, None, dice.choice(arms), dice.random() > 0.5) for _ in range(1000)]
    total, used = river_bandit.evaluate_offline(policy=RiverPolicy(POLICY), history=clicks)
    assert 250 < used < 420
    assert 0 < total.get() < used
    lines = [" ".join([str(dice.randint(1, 10)), str(dice.randint(0, 1)), *["0"] * 100]) for _ in range(500)]
    (tmp_path / "dataset.txt").write_text("\n".join(lines) + "\n")

    class News(river_bandit.datasets.NewsArticles):  # type: ignore[misc]
        path = tmp_path / "dataset.txt"
        is_downloaded = True

    assert type(next(iter(News()))[2]) is bool
    total, used = river_bandit.evaluate_offline(policy=RiverPolicy(POLICY), history=News())
    assert 20 < used < 100
    assert 0 < total.get() < used


@pytest.mark.usefixtures("same_noise")
def test_it_shows_released_means_and_no_others() -> None:
    """River's own policies show raw means: here the same releases give the same picture, whatever the rewards were."""
    shown = []
    for reward in (0.0, 1.0):
        policy = RiverPolicy(POLICY)
        policy.pull(["A", "B"])
        policy.update("A", reward)
        shown.append((repr(policy), policy.ranking))
    assert shown[0] == shown[1]
    assert river_bandit.base.Policy.ranking.fget(policy) == []  # by raw means, of which it keeps none
    for _ in range(300):
        arm = policy.pull(["A", "B"])
        policy.update(arm, arm == "B")
    assert policy.ranking == ["B", "A"]
    assert "Released mean" in repr(policy)
    assert f"{policy.bandit.estimates()['B'].mean:.4f}" in repr(policy)


def shares(policy: RiverPolicy) -> list[str]:
    """Return the shares of the updates that it shows of its arms."""
    return re.findall(r"[0-9.]+%", repr(policy))


def test_a_clone_starts_anew() -> None:
    policy = RiverPolicy(POLICY, reward_bounds=(0, 5))
    policy.update(policy.pull([0, 1]), 5.0)
    clone = policy.clone()
    assert clone.policy == POLICY
    assert clone.reward_bounds == (0, 5)
    with pytest.raises(dpb.InvalidInput, match="Expected a pull first"):
        _ = clone.bandit
    assert "100.00%" in repr(policy)
    clone.pull([0, 1])
    assert shares(clone) == ["0.00%"] * 2


def test_bad_input_is_refused() -> None:
    policy = RiverPolicy(POLICY)
    with pytest.raises(dpb.InvalidInput, match="Expected a pull first"):
        policy.update("A", 1.0)
    policy.pull(["A", "B"])
    with pytest.raises(dpb.InvalidInput, match="Expected the same arms at every pull: A, B"):
        policy.pull(["A", "B", "C"])
    with pytest.raises(dpb.InvalidInput, match="Expected reward=2"):
        policy.update("A", 2)
    assert shares(policy) == ["0.00%"] * 2
    with pytest.raises(dpb.InvalidInput, match="Expected policy=ucb to be one that can run live"):
        RiverPolicy(dpb.UCB()).pull([0, 1])
