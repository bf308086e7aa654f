"""A leaderboard says what the runs say: against `simulate`, by hand, and when it is stopped in the middle."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.comparison import Case, Contender, Leaderboard, Score, cases, compare
from dpbandits.comparison.comparison_figures import leaderboard_figure
from dpbandits.comparison.leaderboard import is_worse
from dpbandits.environments import Beta
from dpbandits.policies import Policy
from dpbandits.simulation.runner import played_chunks
from dpbandits.theory.lower_bounds import asymptotic_constant
from explore_then_commit import ExploreThenCommit

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("plain_loop")]
SOME = cases(["paper"], [0.5, 2.0])
CONTENDERS: dict[str, Contender] = {
    "aware": lambda epsilon: dpb.recommended(epsilon=epsilon),
    "dp-imed": lambda epsilon: dpb.DPIMED(epsilon=epsilon),
    "ucb": lambda epsilon: dpb.UCB(),
}


def score(policy: str = "it", case: str = "case", **changed: float) -> Score:
    values = {
        **{"arms": 2, "epsilon": 1.0, "horizon": 1000, "runs": 100, "mean": 10.0, "standard_error": 1.0},
        **{"median": 9.0, "percentile_99": 18.0, "worst": 20.0, "yardstick": 8.0, "linear": 0, "counted": 100},
        **{"proved": 1.0, "proved_delta": 0.0, "is_ours": True, "is_bernoulli": True},
    }
    return Score(policy, case, **{**values, **changed})  # type: ignore[arg-type]


def test_scores_are_those_of_the_same_simulation() -> None:
    board = compare(CONTENDERS, SOME, horizon=300, runs=70, seed=3)
    assert board.policies == list(CONTENDERS)
    for case in SOME:
        for name, make in CONTENDERS.items():
            policy: Policy = make(case.epsilon)
            runs = played_chunks(policy, case.environment, np.array([300]), runs=70, seed=3, shuffled=True)
            regrets = np.concatenate([chunk.regrets[:, -1] for chunk in runs])
            (found,) = (s for s in board.of(name) if s.case == case.name)
            assert found.mean == pytest.approx(regrets.mean())
            assert found.standard_error == pytest.approx(regrets.std(ddof=1) / math.sqrt(70))
            assert found.median == pytest.approx(np.median(regrets))
            assert found.percentile_99 == pytest.approx(np.quantile(regrets, 0.99))
            assert found.worst == regrets.max()
            bound = asymptotic_constant(case.environment.means, case.epsilon) * math.log(300)
            assert found.yardstick == pytest.approx(bound)
            smallest = min(gap for gap in case.environment.gaps if gap > 0)
            assert found.counted == (70 if 300 * smallest > 10 * bound else 0)
            if found.counted:
                assert found.linear == (regrets > 300 * smallest / 2).sum()


def test_some_runs_that_never_settle_are_counted() -> None:
    """Published DP-IMED with ε = 0.1 loses for ever in some per cent of its runs."""
    board = compare({"dp-imed": CONTENDERS["dp-imed"]}, cases(["paper"], [0.1])[:1], horizon=20_000, runs=2000, seed=1)
    (found,) = board.scores
    assert found.counted == 2000
    assert 10 <= found.linear <= 100
    assert found.worst == pytest.approx(20_000 * 0.3, rel=0.1)


def test_standings_by_hand() -> None:
    board = Leaderboard(
        (
            *(score("a", "x", mean=8.0), score("a", "y", mean=16.0, percentile_99=90.0, linear=3)),
            *(score("b", "x", mean=12.0), score("b", "y", mean=10.0, counted=0)),
        )
    )
    second, first = board.standings()  # the smallest ratio comes first
    assert (first.policy, second.policy) == ("a", "b")
    assert first.ratio == pytest.approx(math.sqrt(1.0 * 2.0))
    assert second.ratio == pytest.approx(math.sqrt(1.5 * 1.25))
    assert first.ratio_90 == pytest.approx(2.0)
    assert (first.spread, first.spread_95) == (2.0, 10.0)
    assert (first.linear, second.linear) == (3 / 200, 0.0)
    assert (first.beaten, second.beaten) == (0.5, 0.5)  # each is clearly worse once
    assert len((board + board).scores) == 8
    assert list(board.to_pandas().columns) == list(Score._fields)
    with pytest.raises(dpb.InvalidInput, match="Expected policy='c' to be one of a, b"):
        board.of("c")


def test_only_policies_that_keep_epsilon_compete() -> None:
    """A policy that proves less than was asked for stands below the others and beats nobody."""
    board = Leaderboard(
        (score("a", mean=50.0), score("b", mean=10.0, proved=math.inf), score("c", mean=9.0, proved=2.0))
    )
    first, second, third = board.standings()
    assert [standing.policy for standing in (first, second, third)] == ["a", "c", "b"]
    assert [standing.privacy for standing in (first, second, third)] == [1.0, 2.0, math.inf]
    assert first.beaten == 0.0
    published = {"published": lambda epsilon: dpb.DPUCB(epsilon=epsilon, variant="published")}
    found = compare({"ucb": CONTENDERS["ucb"], **published}, SOME[:1], horizon=100, runs=2, seed=0)
    assert [s.proved for s in found.scores] == [math.inf, 1.0]  # twice the 0.5 that was asked for


def test_what_is_no_policy_is_refused() -> None:
    for wrong in ("ucb", lambda epsilon: "ucb"):
        with pytest.raises(dpb.WrongKind, match="Expected 'it' to be a policy or a function of epsilon that returns"):
            compare({"it": wrong}, SOME, horizon=100, runs=2)  # type: ignore[arg-type]
    with pytest.raises(dpb.WrongKind, match="Expected 'ucb' to be a policy, such as"):
        compare(["ucb"], SOME, horizon=100, runs=2)  # type: ignore[list-item]
    with pytest.raises(
        dpb.InvalidInput, match=r"Expected epsilons, such as \[0.1, 1\], for 'aware', which is a function"
    ):
        compare(CONTENDERS, dpb.Bernoulli([0.9, 0.6]), horizon=100, runs=2)


def test_plain_policies_are_played_on_every_case_as_they_are() -> None:
    """Their epsilon is their own, and what is proved for them is compared with that of the case."""
    own = dpb.DPIMED(epsilon=1.0)
    board = compare([own, dpb.UCB()], SOME, horizon=500, runs=4)
    assert board.policies == ["dp-imed", "ucb"]
    assert [(s.epsilon, s.proved, s.is_private) for s in board.of("dp-imed")] == [
        *((0.5, 1.0, False), (2.0, 1.0, True), (0.5, 1.0, False), (2.0, 1.0, True)),
    ]
    mixed: dict[str, Policy | Contender] = {"dp-imed": lambda epsilon: own, "ucb": dpb.UCB()}
    assert compare(mixed, SOME, horizon=500, runs=4) == board
    assert {standing.policy: standing.privacy for standing in board.standings()} == {"dp-imed": 2.0, "ucb": math.inf}


def test_any_environment_without_a_level() -> None:
    """Then nobody is asked to keep one, and C is that without privacy."""
    arms = Beta([3.0, 2.0], [2.0, 3.0])
    board = compare({"it": dpb.DPIMED(epsilon=1.0), "ucb": dpb.UCB()}, arms, horizon=500, runs=20)
    first, second = board.standings()
    assert math.isnan(first.privacy)
    assert math.isnan(second.privacy)
    assert math.isnan(first.spread)  # what one run in a hundred exceeds is not seen in twenty
    assert board.scores[0].yardstick == pytest.approx(asymptotic_constant([0.6, 0.4]) * math.log(500))
    assert board.yardstick == "that of Bernoulli arms with the same means"
    assert "that of Bernoulli arms with the same means" in leaderboard_figure(board).axes[0].get_xlabel()
    assert compare(dpb.UCB(), SOME, horizon=10, runs=2).yardstick == "the asymptotic lower bound"
    runs = played_chunks(dpb.UCB(), arms, np.array([500]), runs=20, seed=0, shuffled=True)
    assert board.of("ucb")[0].mean == pytest.approx(np.concatenate([chunk.regrets for chunk in runs]).mean())


def test_a_delta_is_told() -> None:
    policies = {"adac": lambda epsilon: dpb.AdaCUCB(epsilon=epsilon, delta=0.1), "it": CONTENDERS["dp-imed"]}
    board = compare(policies, SOME, horizon=100, runs=2)
    assert {standing.policy: standing.delta for standing in board.standings()} == {"adac": 0.1, "it": 0.0}


def test_arms_that_are_all_alike_are_refused() -> None:
    for means in ([0.5], [0.5, 0.5]):
        with pytest.raises(dpb.InvalidInput, match=r"Expected the means of Bernoulli.* to differ: there is nothing to"):
            compare(dpb.UCB(), dpb.Bernoulli(means), horizon=100, runs=2)


def test_a_function_without_a_name_is_refused_with_what_to_write() -> None:
    for bare in (CONTENDERS["dp-imed"], [CONTENDERS["dp-imed"]]):
        with pytest.raises(
            dpb.WrongKind, match=r"Expected <function .* in a mapping from names, such as \{'mine': fun"
        ):
            compare(bare, SOME, horizon=100, runs=2)  # type: ignore[arg-type]


def test_only_our_own_policies_count_as_proved_by_us() -> None:
    board = compare({"own": ExploreThenCommit(epsilon=1.0, plays=5), "ours": dpb.UCB()}, SOME, horizon=50, runs=2)
    assert {standing.policy: standing.is_ours for standing in board.standings()} == {"own": False, "ours": True}


def test_more_runs_begin_with_those_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = 0

    def counted(*arguments: Any, **named: Any) -> Iterator[Any]:
        nonlocal played
        for chunk in played_chunks(*arguments, **named):
            played += len(chunk.regrets)
            yield chunk

    monkeypatch.setattr("dpbandits.simulation.runner.played_chunks", counted)
    for runs, new in ((100, 100), (200, 200 - 64), (100, 0), (130, 130 - 64), (50, 50)):
        played = 0
        board = compare(CONTENDERS, SOME[:1], horizon=60, runs=runs, folder=tmp_path)
        assert played == 3 * new
        assert board == compare(CONTENDERS, SOME[:1], horizon=60, runs=runs)


def test_worse_means_clearly_worse() -> None:
    mine = score(mean=10.0, standard_error=3.0)
    assert not is_worse(mine, score(mean=0.0, standard_error=4.0))  # 10 / 5 = 2.0 standard errors
    rival = score(mean=-2.0, standard_error=4.0)
    assert is_worse(mine, rival)  # 2.4
    assert not is_worse(rival, mine)
    assert not is_worse(mine, rival, rivals=3)  # 99% for all three together
    assert not is_worse(mine._replace(runs=4), rival._replace(runs=4))  # few runs know less of their own error
    parked = score(mean=9.0, standard_error=0.0)
    assert is_worse(parked, score(mean=8.0, standard_error=0.0))
    for few in (2, 19):  # that agree, of either
        assert not is_worse(parked._replace(runs=few), score(mean=8.0, standard_error=0.0))
        assert not is_worse(parked, score(mean=8.0, standard_error=0.0, runs=few))
    assert not is_worse(parked, score(mean=9.0, standard_error=0.0))


def test_worse_has_the_confidence_it_names() -> None:
    """Equal policies, 5 runs of one and 8 of the other: one comparison in a hundred goes wrong (within 3 s.e.)."""
    dice = np.random.default_rng(1)
    wrong = 0
    for _ in range(20_000):
        scores = []
        for runs in (5, 8):
            drawn = dice.normal(size=runs)
            error = float(drawn.std(ddof=1) / math.sqrt(runs))
            scores.append(score(runs=runs, mean=float(drawn.mean()), standard_error=error))
        first, second = scores
        wrong += is_worse(first, second)
    assert wrong / 20_000 < 0.01 + 3 * math.sqrt(0.01 / 20_000)
    assert wrong / 20_000 > 0.005  # and not never


def test_scores_of_other_horizons_are_not_compared() -> None:
    board = Leaderboard((score("a", mean=10.0), score("b", mean=100.0, horizon=10**6)))
    assert [standing.beaten for standing in board.standings()] == [0.0, 0.0]


class Stop(Exception):
    pass


def test_stopped_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = compare(CONTENDERS, SOME, horizon=60, runs=70, seed=3)
    made: list[Policy] = []

    def breaking(epsilon: float) -> Policy:
        if len(made) == 3:
            raise Stop
        made.append(dpb.DPIMED(epsilon=epsilon))
        return made[-1]

    contenders = {**CONTENDERS, "dp-imed": breaking}
    with pytest.raises(Stop):
        compare(contenders, SOME, horizon=60, runs=70, seed=3, folder=tmp_path)
    kept = set(tmp_path.iterdir())
    assert len(kept) == 2 * (len(SOME) + 3)  # of 70 runs, and of the 64 that more runs begin with
    assert compare(CONTENDERS, SOME, horizon=60, runs=70, seed=3, folder=tmp_path) == whole
    assert kept < set(tmp_path.iterdir())
    # Nothing is played again.
    monkeypatch.setattr("dpbandits.simulation.parts.summarise", None)
    assert compare(CONTENDERS, SOME, horizon=60, runs=70, seed=3, folder=tmp_path) == whole


def test_many_arms_that_look_alike_are_told_apart(tmp_path: Path) -> None:
    """The text of more than 100 arms leaves them out; their parts must not be mixed up."""
    means = [0.5] * 150
    first = Case("first", dpb.Bernoulli([*means, 0.9]), 1.0)
    second = Case("second", dpb.Bernoulli([*means, 0.6]), 1.0)
    for folder in (tmp_path, None):
        board = compare({"ucb": CONTENDERS["ucb"]}, [first, second], horizon=200, runs=4, seed=0, folder=folder)
        assert board.scores[0].mean > 2 * board.scores[1].mean


def test_an_arm_that_always_succeeds_has_no_bound() -> None:
    """C is 0 there: no ratio is made up, and figures are drawn all the same."""
    board = compare(CONTENDERS, [Case("sure", dpb.Bernoulli([1.0, 0.5]), 1.0)], horizon=1000, runs=10, seed=0)
    assert all(s.yardstick == 0.0 for s in board.scores)
    assert all(standing.ratio == math.inf for standing in board.standings())
    leaderboard_figure(board)


def test_the_figure_has_a_dot_per_case() -> None:
    board = compare(CONTENDERS, SOME, horizon=300, runs=10, seed=0)
    left, right = leaderboard_figure(board).axes
    for axes in (left, right):
        assert [len(dots.get_offsets()) for dots in axes.collections] == [len(SOME)] * 3  # type: ignore[arg-type]
    names = [label.get_text() for label in left.get_yticklabels()]
    assert names == [standing.policy for standing in board.standings()]


@pytest.mark.parametrize(
    ("contenders", "chosen", "runs", "message"),
    [
        ({}, SOME, 10, "Expected at least one policy."),
        (CONTENDERS, [], 10, "Expected at least one case"),
        (CONTENDERS, SOME, 1, r"Expected runs=1 in \[2, 1000000000\]"),
    ],
)
def test_nothing_to_compare_is_refused(
    contenders: dict[str, object], chosen: list[Case], runs: int, message: str
) -> None:
    with pytest.raises(dpb.InvalidInput, match=message):
        compare(contenders, chosen, horizon=100, runs=runs, seed=0)  # type: ignore[arg-type]
