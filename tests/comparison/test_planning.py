"""A plan: its numbers against `simulate`, its words against its numbers."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpbandits as dpb
from dpbandits.comparison import Answer, Contender, Plan, Shares, plan
from dpbandits.comparison.advice import value_with_margin
from dpbandits.comparison.comparison_figures import plan_figure
from dpbandits.environments import Beta, Replay
from dpbandits.policies import Policy
from dpbandits.simulation.runner import played_chunks

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("plain_loop")]
CONTENDERS: dict[str, Contender] = {
    "aware": lambda epsilon: dpb.recommended(epsilon=epsilon),
    "local": lambda epsilon: dpb.LDPUCBBernoulli(epsilon=epsilon),
}


def shares(mean: float, error: float = 0.0005) -> Shares:
    return Shares(100, mean, error, 2 * mean, 1.5 * mean, 3 * mean)


def answer(policy: str, epsilon: float, worse: float, error: float = 0.0005) -> Answer:
    share = shares(worse, error)
    return Answer(policy, epsilon, 0.0, share, share, worse * 50, 0.1, np.array([worse, worse]))


def made(without: float, error: float = 0.0005, **worse: float) -> Plan:
    """Return a plan in which policy `a` has these shares at ε = 0.1, 0.5, ... (written e01, e05, ...)."""
    answers = tuple(answer("a", float(f"{name[1]}.{name[2:]}"), share, error) for name, share in worse.items())
    times = np.array([100, 1000])
    return Plan(dpb.Bernoulli([0.5, 0.6]), 1000, times, answer("no privacy", math.inf, without, error), answers)


def test_numbers_are_those_of_the_same_runs() -> None:
    """Unequal gaps: regret is counted in rewards, people by their arms, in the same runs. Even ones choose."""
    means = [0.8, 0.5, 0.3]
    asked = plan(CONTENDERS, means, horizon=1000, epsilons=[0.5], runs=61, seed=2)
    assert asked.lots == pytest.approx(2 / 3)
    assert asked.without.epsilon == math.inf
    for found in asked.answers:
        policy = CONTENDERS[found.policy](0.5)
        times = np.array([1000])
        kinds = np.arange(3)
        runs: list[Any] = list(
            played_chunks(policy, dpb.Bernoulli(means), times, runs=61, seed=2, kinds=kinds, shuffled=True)
        )
        regrets = np.concatenate([chunk.regrets[:, -1] for chunk in runs])
        misses = (1000 - np.concatenate([chunk.plays[:, -1, 0] for chunk in runs])) / 1000
        for half, share in ((misses[0::2], found.tried), (misses[1::2], found.worse)):
            assert share.runs == len(half)
            assert share.mean == pytest.approx(half.mean())
            assert share.error == pytest.approx(half.std(ddof=1) / math.sqrt(len(half)))
            assert share.unlucky == pytest.approx(np.quantile(half, 0.99))
            # Of 31 runs, 22% have no worse one than the best of the hundred: there is no upper end.
            assert (share.unlucky_low, share.unlucky_high) == (np.sort(half)[-3], 1.0)
            assert share.margin == pytest.approx(stats.t.ppf(0.975, len(half) - 1) * share.error)
        assert found.regret == pytest.approx(regrets[1::2].mean())
        assert found.regret_error == pytest.approx(regrets[1::2].std(ddof=1) / math.sqrt(30))
        assert found.curve[-1] == pytest.approx(found.worse.mean)
        assert 0.3 * found.worse.mean * 1000 <= found.regret <= 0.5 * found.worse.mean * 1000
        assert asked.without.worse.mean < found.worse.mean


def test_any_environment() -> None:
    """Its arms are taken as they are, and its words do not speak of successes."""
    table = Replay([[0.2, 0.9, 0.4], [0.4, 0.7, 0.0]], order="given")
    asked = plan(CONTENDERS, table, horizon=300, epsilons=[1.0], runs=20, seed=3)
    assert asked.means == pytest.approx((0.3, 0.8, 0.2))
    assert asked.title == "300 people, arms with mean rewards of 0.8, 0.3, 0.2"
    assert plan_figure(asked).get_suptitle() == asked.title
    for found in asked.answers:
        policy = CONTENDERS[found.policy](1.0)
        runs: list[Any] = list(
            played_chunks(policy, table, np.array([300]), runs=20, seed=3, kinds=np.arange(3), shuffled=True)
        )
        misses = (300 - np.concatenate([chunk.plays[:, -1, 1] for chunk in runs])) / 300
        assert found.worse.mean == pytest.approx(misses[1::2].mean())


def test_rewards_that_are_drawn_one_by_one_get_fewer_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpbandits.comparison.planning._STEPS", 4e4)
    arms = Beta([3.0, 2.0], [2.0, 3.0])
    asked = plan({"it": CONTENDERS["aware"]}, arms, horizon=1000, epsilons=[1.0], runs=60)
    assert [found.worse.runs + found.tried.runs for found in (asked.without, *asked.answers)] == [20, 40]


def test_a_plain_policy_answers_at_the_level_that_it_keeps() -> None:
    """A level that was not asked about is added; one that is the same up to rounding is the same."""
    own, rounded = dpb.DPIMED(epsilon=0.7), dpb.DPIMED(epsilon=0.5 * (1 + 1e-12))
    policies: dict[str, Policy | Contender] = {"it": CONTENDERS["aware"], "own": own, "rounded": rounded}
    asked = plan(policies, [0.6, 0.5], horizon=100, epsilons=[0.5, 1.0], runs=20)
    found = [(each.policy, each.epsilon) for each in asked.answers]
    assert found == [("it", 0.5), ("it", 1.0), ("own", 0.7), ("rounded", 0.5)]
    assert asked.epsilons == [0.5, 0.7, 1.0]
    alone = plan(own, [0.6, 0.5], horizon=100, runs=20)
    assert [(each.policy, each.epsilon) for each in alone.answers] == [("dp-imed", 0.7)]
    with pytest.raises(dpb.InvalidInput, match="Expected 'ucb' to keep an ε, but nothing is proved for it"):
        plan([own, dpb.UCB()], [0.6, 0.5], horizon=100, runs=20)


def test_the_order_of_the_question_does_not_matter() -> None:
    orders = ([0.9, 0.1, 0.2], [0.1, 0.9, 0.2], [0.1, 0.2, 0.9])
    plans = [plan(CONTENDERS, means, horizon=500, epsilons=[1.0], runs=20) for means in orders]
    first, *others = ([found[:-1] for found in each.answers] for each in plans)
    assert others == [first, first]


def test_every_run_is_played_once(monkeypatch: pytest.MonkeyPatch) -> None:
    played = []

    def counted(*arguments: Any, **named: Any) -> Iterator[Any]:
        played.append(named["runs"])
        yield from played_chunks(*arguments, **named)

    monkeypatch.setattr("dpbandits.comparison.planning.played_chunks", counted)
    plan(CONTENDERS, [0.8, 0.3, 0.5], horizon=100, epsilons=[0.5], runs=20)
    assert played == [20, 20, 20]


def test_a_policy_that_starts_with_the_best_arm_does_not_look_good() -> None:
    """With ε = 0.01 the first phase of an arm has 1600 plays, more than there are people: half of the runs lose all."""
    asked = plan({"it": CONTENDERS["aware"]}, [0.9, 0.1], horizon=100, epsilons=[0.01], runs=400)
    found = asked.best(0.01).worse
    assert found.error == pytest.approx(0.5 / math.sqrt(200), rel=0.05)
    assert abs(found.mean - 0.5) < 4 * found.error
    assert "drawing lots (50%), so this experiment is too short" in asked.sentences()[0]


def test_slow_policies_get_fewer_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpbandits.comparison.planning._STEPS", 1e5)
    asked = plan(CONTENDERS, [0.5, 0.6], horizon=1000, epsilons=[1.0], runs=60)
    runs = {found.policy: found.worse.runs + found.tried.runs for found in (asked.without, *asked.answers)}
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
    assert ("each of these levels costs more" in advice) == (worse["e05"] == 0.2)


def test_of_levels_that_cannot_be_told_apart_the_strictest_is_advised() -> None:
    """And a larger ε is advised only where none was tried and one would still protect somebody."""
    alike = made(0.02, e05=0.201, e10=0.2)
    assert alike.recommendation is not None
    assert alike.recommendation.epsilon == 0.5
    assert alike.sentences()[-1].endswith("plan for more people.")
    apart = made(0.02, e05=0.3, e10=0.2)
    assert apart.sentences()[-1].endswith("plan for more people or a larger ε.")
    weak = replace(apart, answers=(answer("a", 20.0, 0.2),))
    assert weak.sentences()[-1].endswith("plan for more people. But an ε of 10 or more protects hardly anybody.")


def test_the_tolerance_is_the_users() -> None:
    asked = made(0.02, e01=0.05, e05=0.024, e10=0.0201)
    for tolerance, epsilon in ((0.05, 0.1), (0.01, 0.5), (0.001, 1.0)):
        found = replace(asked, tolerance=tolerance)
        assert found.recommendation is not None
        assert found.recommendation.epsilon == epsilon
        assert f"costs at most {100 * tolerance:g}%" in found.sentences()[-1]


def test_nothing_is_advised_where_nothing_is_learnt() -> None:
    """Without privacy it is too short as well, so privacy costs nothing; that is no reason to run it."""
    asked = made(0.49, e01=0.5, e05=0.48)
    assert asked.recommendation is None
    assert asked.sentences()[-1] == (
        "Advice: do not run it like this. At none of these levels do clearly even 5% fewer people get a worse arm than "
        "by drawing lots. It is too short without privacy, too: plan for more people."
    )
    some = made(0.02, e01=0.5, e05=0.46).sentences()[-1]  # 8% better than lots, and enough without privacy
    assert some == "Advice: do not run it like this. Plan for more people or a larger ε."


def test_luck_does_not_make_an_experiment_long_enough() -> None:
    """0.36 is clearly less than 80% of drawing lots if the error is small, and not if it is large."""
    sure, lucky = made(0.02, e05=0.36), made(0.02, error=0.05, e05=0.36)
    assert sure.recommendation is not None
    assert lucky.recommendation is None
    assert "these runs cannot tell whether that is a fifth fewer than by drawing lots (50%)" in lucky.sentences()[0]
    unlucky = made(0.02, error=0.05, e05=0.42)  # 0.4 is within its margin
    assert "these runs cannot tell whether that is a fifth fewer" in unlucky.sentences()[0]
    assert lucky.sentences()[-1] == "Advice: play more runs. These cannot tell whether the experiment is long enough."


def test_few_runs_that_agree_by_chance_do_not_pass_for_sure() -> None:
    """Lots with two orders: in 30 plans of the fewest runs, none may call the experiment long enough (chance 6%)."""
    for seed in range(30):
        asked = plan({"it": CONTENDERS["aware"]}, [0.6, 0.5], horizon=200, epsilons=[0.05], runs=20, seed=seed)
        assert asked.recommendation is None


def test_the_policy_of_a_level_is_chosen_by_the_other_half() -> None:
    """`b` looks better where it is reported, which must not help it."""
    asked = made(0.02, e05=0.03)
    lucky = answer("b", 0.5, 0.04)._replace(worse=shares(0.01))
    assert replace(asked, answers=(*asked.answers, lucky)).best(0.5).policy == "a"


def test_of_equal_means_the_better_tail_is_taken() -> None:
    asked = made(0.02, e05=0.03)
    calm = answer("calm", 0.5, 0.0302)  # 0.3 standard errors behind
    calm = calm._replace(tried=calm.tried._replace(unlucky=0.031))
    assert replace(asked, answers=(*asked.answers, calm)).best(0.5) is calm


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (lambda epsilon: dpb.IMED(), "Expected 'it' to keep ε = 0.5, but nothing is proved for it"),
        (
            lambda epsilon: dpb.DPUCB(epsilon=epsilon, variant="published"),
            "to keep ε = 0.5, but ε = 1 is proved for it",
        ),
        (lambda epsilon: dpb.DPIMED(epsilon=3.0), "to keep ε = 0.5, but ε = 3 is proved for it"),
    ],
)
def test_a_policy_that_does_not_keep_epsilon_is_refused(policy: Contender, message: str) -> None:
    with pytest.raises(dpb.InvalidInput, match=message):
        plan({"it": policy}, [0.5, 0.6], horizon=100, epsilons=[0.5], runs=20)


def test_sentences_say_the_numbers() -> None:
    first, advice = made(0.02, e05=0.024).sentences()
    assert first == (
        "With ε = 0.5 (a), 24.0 ± 1.0 of 1,000 people would get an arm that is not the best (2.40% ± 0.10%), against "
        "20.0 ± 1.0 without privacy (2.00% ± 0.10%): privacy costs 4.0 ± 1.4 people, 0.40% ± 0.14% of all."
    )
    assert advice == (
        "Advice: ε = 0.5 and the policy 'a'. Privacy then costs 4.0 ± 1.4 people, 0.40% ± 0.14% of all; it is the "
        "strictest of these levels that costs at most 1%."
    )
    unsure = made(0.02, error=0.003, e05=0.024).sentences()[-1]  # up to 1.3%
    assert unsure.endswith("that costs at most 1%, as far as these runs can tell.")
    hopeless, _ = made(0.02, e05=0.45).sentences()
    assert hopeless.endswith("less than a fifth fewer than by drawing lots (50%), so this experiment is too short.")
    assert "no fewer than by drawing lots (50%)" in made(0.02, e05=0.7).sentences()[0]


def test_advice_says_what_the_runs_cannot_tell() -> None:
    unsure = made(0.02, error=0.003, e05=0.034).sentences()[-1]  # 1.4% more, up to 0.8% off
    assert unsure.startswith(
        "Advice: at none of these levels is it clear that privacy costs at most 1% of the people. The "
    )
    assert made(0.02, e05=0.034).sentences()[-1].startswith("Advice: each of these levels costs more than 1%")
    weak = replace(made(0.02, e05=0.024), answers=(answer("a", 1e300, 0.024),))
    assert weak.sentences()[-1].endswith("But an ε of 10 or more protects hardly anybody.")


def test_a_cost_below_zero_is_told_as_it_is() -> None:
    by_chance = made(0.02, e05=0.0197).sentences()
    assert "privacy costs -0.3 ± 1.4 people, -0.03% ± 0.14% of all." in by_chance[0]
    assert "IMED" not in "".join(by_chance)
    ahead = made(0.02, e05=0.01).sentences()
    for sentence in ahead:
        assert (
            "costs -10.0 ± 1.4 people, -1.00% ± 0.14% of all, so it is ahead of IMED, the yardstick without" in sentence
        )
        assert "which is not the best policy here" in sentence


@pytest.mark.parametrize(
    ("value", "margin", "most", "text"),
    [
        (1234.5, 67.8, 0, "1,230 ± 70"),
        (24.04, 0.4, 1, "24.0 ± 0.4"),
        (3000.0, 20_000.0, 1, "3,000 ± 20,000"),
        (0.2, 20.0, 1, "0 ± 20"),
        (0.5, 0.0, 0, "0"),
        (-0.2, 3.3, 0, "0 ± 3"),
        (99.96, 0.96, 2, "100.0 ± 1.0"),
        (1e6, 99_999.0, 0, "1,000,000 ± 100,000"),
    ],
)
def test_numbers_have_the_digits_that_their_margins_leave(value: float, margin: float, most: int, text: str) -> None:
    assert value_with_margin(value, margin, most=most) == text


def test_the_best_of_several_policies() -> None:
    asked = made(0.02, e05=0.03)
    asked = replace(asked, answers=(*asked.answers, answer("b", 0.5, 0.02)))
    assert asked.best(0.5).policy == "b"
    assert asked.cost(asked.best(0.5)).share == 0
    with pytest.raises(dpb.InvalidInput, match=r"Expected epsilon=0.7 to be one of 0.5"):
        asked.best(0.7)
    frame = asked.to_pandas()
    assert frame["policy"].tolist() == ["no privacy", "a", "b"]
    assert frame["worse"].tolist() == frame["worse_tried"].tolist() == [0.02, 0.03, 0.02]
    assert "curve" not in frame.columns


def test_the_figure_shows_every_policy_and_level() -> None:
    asked = plan(CONTENDERS, [0.5, 0.6], horizon=1000, epsilons=[0.5, 1.0], runs=20)
    left, right = plan_figure(asked).axes
    assert {text.get_text() for text in left.get_legend().get_texts()} == {  # type: ignore[union-attr]
        *("aware", "local", "no privacy", "drawing lots"),
    }
    assert len(right.get_legend().get_texts()) == 3  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"environment": [0.5, 0.5]}, r"Expected means=\[0.5, 0.5\] to differ"),
        ({"environment": [0.5, 1.5]}, r"Expected means=1.5 in \[0, 1\]"),
        ({"epsilons": []}, "Expected at least one epsilon for 'aware', which is a function of epsilon."),
        ({"epsilons": [-1.0]}, r"Expected epsilon=-1.0 in \[1e-06, inf\)"),
        ({"horizon": 1}, r"Expected horizon=1 in \[2, 100000000\]"),
        ({"horizon": 10**9}, r"Expected horizon=1000000000 in \[2, 100000000\]"),
        ({"tolerance": 2.0}, r"Expected tolerance=2.0 in \[0, 1\]"),
        ({"runs": 19}, r"Expected runs=19 in \[20, 1000000\]"),
        ({"policies": {}}, "Expected at least one policy."),
    ],
)
def test_bad_questions_are_refused(changed: dict[str, object], message: str) -> None:
    asked = {
        "policies": CONTENDERS,
        "environment": [0.5, 0.6],
        "horizon": 100,
        "epsilons": [1.0],
        "runs": 20,
        **changed,
    }
    with pytest.raises(dpb.InvalidInput, match=message):
        plan(**asked)  # type: ignore[arg-type]
