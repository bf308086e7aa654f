"""A plan: its numbers against `simulate`, its words against its numbers."""

import math
from dataclasses import replace

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.comparison import Answer, Contender, Plan, plan
from dpbandits.comparison.figures import plan_figure

CONTENDERS: dict[str, Contender] = {
    "aware": lambda epsilon: dpb.recommended(epsilon=epsilon),
    "local": lambda epsilon: dpb.LDPUCBBernoulli(epsilon=epsilon),
}


def answer(policy: str, epsilon: float, worse: float) -> Answer:
    return Answer(policy, epsilon, 100, worse * 50, 0.1, worse, 0.001, 2 * worse, np.array([worse, worse]))


def made(without: float, **worse: float) -> Plan:
    """Return a plan in which policy `a` has these shares at ε = 0.1, 0.5, ... (written e01, e05, ...)."""
    answers = tuple(answer("a", float(f"{name[1]}.{name[2:]}"), share) for name, share in worse.items())
    times = np.array([100, 1000])
    return Plan((0.5, 0.6), 1000, times, answer("no privacy", math.inf, without), answers)


def test_numbers_are_those_of_the_same_simulation() -> None:
    """Unequal gaps: regret is counted in rewards, people are counted by their arms."""
    means = [0.3, 0.8, 0.5]  # the best in the middle: as it is played
    asked = plan(CONTENDERS, means, horizon=3000, epsilons=[0.5], runs=60, seed=2)
    environment = dpb.Bernoulli(means)
    for found in asked.answers:
        policy = CONTENDERS[found.policy](0.5)
        result = dpb.simulate({"it": policy}, environment, horizon=3000, runs=60, seed=2)
        assert found.regret == pytest.approx(result.final_regret("it").mean())
        # Everybody with another arm loses between the smallest and the largest gap.
        assert found.regret / 0.5 <= found.worse * 3000 * (1 + 1e-9)
        assert found.worse * 3000 <= found.regret / 0.3 * (1 + 1e-9)
        assert found.curve[-1] == pytest.approx(found.worse)
    assert asked.at_random == pytest.approx(2 / 3)
    assert asked.without.epsilon == math.inf
    assert asked.without.worse < min(found.worse for found in asked.answers)


def test_equal_gaps_are_played_once_and_give_the_same() -> None:
    equal = plan({"it": CONTENDERS["aware"]}, [0.5, 0.7, 0.5], horizon=3000, epsilons=[1.0], runs=50, seed=1)
    policy = CONTENDERS["aware"](1.0)
    result = dpb.simulate({"it": policy}, dpb.Bernoulli([0.5, 0.7, 0.5]), horizon=3000, runs=50, seed=1)
    (found,) = equal.answers
    assert found.regret == pytest.approx(result.final_regret("it").mean())
    assert found.worse == pytest.approx(found.regret / 0.2 / 3000)


def test_the_place_of_the_best_arm_does_not_matter() -> None:
    orders = ([0.9, 0.1, 0.2], [0.1, 0.9, 0.2], [0.1, 0.2, 0.9])
    plans = [plan(CONTENDERS, means, horizon=500, epsilons=[1.0], runs=20) for means in orders]
    first, *others = ([found[:-1] for found in each.answers] for each in plans)
    assert others == [first, first]


def test_a_policy_that_starts_with_the_best_arm_does_not_look_good() -> None:
    """With ε = 0.01 the first phase of an arm has 1600 plays, more than there are people."""
    asked = plan({"it": CONTENDERS["aware"]}, [0.9, 0.1], horizon=1000, epsilons=[0.01], runs=10)
    assert asked.best(0.01).worse == 1.0
    assert "drawing lots" in asked.sentences()[0]


def test_slow_policies_get_fewer_runs() -> None:
    asked = plan(CONTENDERS, [0.5, 0.6], horizon=2_000_000, epsilons=[1.0], runs=60)
    runs = {found.policy: found.runs for found in (asked.without, *asked.answers)}
    assert runs == {"no privacy": 50, "aware": 60, "local": 50}


@pytest.mark.parametrize(
    ("worse", "epsilon"),
    [
        ({"e01": 0.05, "e05": 0.024, "e10": 0.021}, 0.5),  # 0.4 more than without
        ({"e01": 0.029, "e05": 0.024, "e10": 0.021}, 0.1),
        ({"e01": 0.3, "e05": 0.2, "e10": 0.25}, 0.5),  # none is below 1%: the cheapest
    ],
)
def test_advice_is_the_strictest_level_that_costs_little(worse: dict[str, float], epsilon: float) -> None:
    asked = made(0.02, **worse)
    assert asked.recommendation is not None
    assert asked.recommendation.epsilon == epsilon
    advice = asked.sentences()[-1]
    assert f"ε = {epsilon:g}" in advice
    assert ("none of these levels" in advice) == (worse["e05"] == 0.2)


def test_the_tolerance_is_the_users() -> None:
    asked = made(0.02, e01=0.05, e05=0.024, e10=0.0201)
    for tolerance, epsilon in ((0.05, 0.1), (0.01, 0.5), (0.001, 1.0)):
        found = replace(asked, tolerance=tolerance)
        assert found.recommendation is not None
        assert found.recommendation.epsilon == epsilon
        assert f"below {100 * tolerance:.2f}%" in found.sentences()[-1]


def test_nothing_is_advised_where_nothing_is_learnt() -> None:
    """Without privacy it is too short as well, so privacy costs nothing; that is no reason to run it."""
    asked = made(0.49, e01=0.5, e05=0.48)
    assert asked.recommendation is None
    assert asked.sentences()[-1] == ("Advice: do not run it like this. Plan for more people, fewer arms or a larger ε.")


def test_of_equal_means_the_better_tail_is_taken() -> None:
    asked = made(0.02, e05=0.03)
    calm = answer("calm", 0.5, 0.0302)._replace(worse_99=0.031)  # 0.2 standard errors behind
    assert replace(asked, answers=(*asked.answers, calm)).best(0.5) is calm


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (lambda epsilon: dpb.IMED(), "Expected 'it' to keep ε = 0.5, but nothing is proved of it"),
        (lambda epsilon: dpb.DPUCB(epsilon=epsilon, variant="published"), "to keep ε = 0.5, but ε = 1 is proved of it"),
        (lambda epsilon: dpb.DPIMED(epsilon=3.0), "to keep ε = 0.5, but ε = 3 is proved of it"),
    ],
)
def test_a_policy_that_does_not_keep_epsilon_is_refused(policy: Contender, message: str) -> None:
    with pytest.raises(dpb.InvalidInput, match=message):
        plan({"it": policy}, [0.5, 0.6], horizon=100, epsilons=[0.5], runs=5)


def test_sentences_say_the_numbers() -> None:
    first, advice = made(0.02, e05=0.024).sentences()
    assert first == (
        "With ε = 0.5 (a), about 24 of 1,000 people would get an arm that is not the best (2.40%), against 20 without "
        "privacy (2.00%)."
    )
    assert advice == (
        "Advice: ε = 0.5 and the policy 'a'. Privacy then costs about 4 people, 0.40% of all; it is the strictest of "
        "these levels below 1.00%."
    )
    hopeless, _ = made(0.02, e05=0.45).sentences()
    assert hopeless.endswith("hardly fewer than by drawing lots (50.00%), so this experiment is too short.")
    assert "no fewer than by drawing lots (50.00%)" in made(0.02, e05=0.7).sentences()[0]
    lucky = made(0.02, e05=0.019)  # chance: no cost is negative
    assert "Privacy then costs less than one person;" in lucky.sentences()[-1]


def test_the_best_of_several_policies() -> None:
    asked = made(0.02, e05=0.03)
    asked = replace(asked, answers=(*asked.answers, answer("b", 0.5, 0.02)))
    assert asked.best(0.5).policy == "b"
    with pytest.raises(dpb.InvalidInput, match=r"Expected epsilon=0.7 to be one of 0.5"):
        asked.best(0.7)
    frame = asked.to_pandas()
    assert frame["policy"].tolist() == ["no privacy", "a", "b"]
    assert "curve" not in frame.columns


def test_the_figure_shows_every_policy_and_level() -> None:
    asked = plan(CONTENDERS, [0.5, 0.6], horizon=1000, epsilons=[0.5, 1.0], runs=5)
    left, right = plan_figure(asked).axes
    assert {text.get_text() for text in left.get_legend().get_texts()} == {  # type: ignore[union-attr]
        *("aware", "local", "no privacy", "drawing lots"),
    }
    assert len(right.get_legend().get_texts()) == 3  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"means": [0.5, 0.5]}, r"Expected means=\[0.5, 0.5\] to differ"),
        ({"means": [0.5, 1.5]}, r"Expected means=1.5 in \[0, 1\]"),
        ({"epsilons": []}, "Expected at least one policy and one epsilon"),
        ({"epsilons": [-1.0]}, r"Expected epsilon=-1.0 in \[1e-06, inf\)"),
        ({"horizon": 1}, r"Expected horizon=1 in \[2, 100000000\]"),
        ({"horizon": 10**9}, r"Expected horizon=1000000000 in \[2, 100000000\]"),
        ({"tolerance": 2.0}, r"Expected tolerance=2.0 in \[0, 1\]"),
        ({"runs": 1}, r"Expected runs=1 in \[2, 1000000\]"),
        ({"contenders": {}}, "Expected at least one policy and one epsilon"),
    ],
)
def test_bad_questions_are_refused(changed: dict[str, object], message: str) -> None:
    asked = {"contenders": CONTENDERS, "means": [0.5, 0.6], "horizon": 100, "epsilons": [1.0], "runs": 5, **changed}
    with pytest.raises(dpb.InvalidInput, match=message):
        plan(**asked)  # type: ignore[arg-type]
