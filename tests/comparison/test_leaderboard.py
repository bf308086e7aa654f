"""A leaderboard says what the runs say: against `simulate`, by hand, and when it is stopped in the middle."""

import math
from pathlib import Path

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.comparison import Case, Contender, Leaderboard, Score, cases, compare
from dpbandits.comparison.figures import leaderboard_figure
from dpbandits.comparison.leaderboard import is_worse
from dpbandits.policies import Policy
from dpbandits.simulation.runner import play_runs
from dpbandits.theory.lower_bounds import asymptotic_constant

SOME = cases(["paper"], [0.5, 2.0])
CONTENDERS: dict[str, Contender] = {
    "aware": lambda epsilon: dpb.recommended(epsilon=epsilon),
    "dp-imed": lambda epsilon: dpb.DPIMED(epsilon=epsilon),
    "ucb": lambda epsilon: dpb.UCB(),
}


def score(policy: str = "it", case: str = "case", **changed: float) -> Score:
    values = {
        **{"arms": 2, "epsilon": 1.0, "horizon": 1000, "runs": 100, "mean": 10.0, "standard_error": 1.0},
        **{"median": 9.0, "percentile_99": 18.0, "worst": 20.0, "lower_bound": 8.0, "linear": 0, "counted": 100},
        **{"proved": 1.0},
    }
    return Score(policy, case, **{**values, **changed})  # type: ignore[arg-type]


def test_scores_are_those_of_the_same_simulation() -> None:
    board = compare(CONTENDERS, SOME, horizon=2000, runs=150, seed=3)
    assert board.policies == list(CONTENDERS)
    for case in SOME:
        for name, make in CONTENDERS.items():
            policy: Policy = make(case.epsilon)
            runs = play_runs(policy, case.environment, np.array([2000]), runs=150, seed=3, shuffled=True)
            regrets = np.concatenate([chunk.regrets[:, -1] for chunk in runs])
            (found,) = (s for s in board.of(name) if s.case == case.name)
            assert found.mean == pytest.approx(regrets.mean())
            assert found.standard_error == pytest.approx(regrets.std(ddof=1) / math.sqrt(150))
            assert found.median == pytest.approx(np.median(regrets))
            assert found.percentile_99 == pytest.approx(np.quantile(regrets, 0.99))
            assert found.worst == regrets.max()
            bound = asymptotic_constant(case.means, case.epsilon) * math.log(2000)
            assert found.lower_bound == pytest.approx(bound)
            smallest = min(max(case.means) - mean for mean in case.means if mean < max(case.means))
            assert found.counted == (150 if 2000 * smallest > 10 * bound else 0)
            if found.counted:
                assert found.linear == (regrets > 2000 * smallest / 2).sum()


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


def test_a_contender_is_a_function_of_epsilon() -> None:
    for wrong in (dpb.UCB(), lambda epsilon: "ucb"):
        with pytest.raises(dpb.InvalidInput, match="Expected 'it' to be a function of epsilon that returns a policy"):
            compare({"it": wrong}, SOME, horizon=100, runs=2, seed=0)  # type: ignore[dict-item]


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
    whole = compare(CONTENDERS, SOME, horizon=2000, runs=100, seed=3)
    made: list[Policy] = []

    def breaking(epsilon: float) -> Policy:
        if len(made) == 3:
            raise Stop
        made.append(dpb.DPIMED(epsilon=epsilon))
        return made[-1]

    contenders = {**CONTENDERS, "dp-imed": breaking}
    with pytest.raises(Stop):
        compare(contenders, SOME, horizon=2000, runs=100, seed=3, folder=tmp_path)
    kept = set(tmp_path.iterdir())
    assert len(kept) == len(SOME) + 3
    assert compare(CONTENDERS, SOME, horizon=2000, runs=100, seed=3, folder=tmp_path) == whole
    assert kept < set(tmp_path.iterdir())
    # Nothing is played again.
    monkeypatch.setattr("dpbandits.simulation.parts.summarise", None)
    assert compare(CONTENDERS, SOME, horizon=2000, runs=100, seed=3, folder=tmp_path) == whole


def test_many_arms_that_look_alike_are_told_apart(tmp_path: Path) -> None:
    """The text of more than 100 arms leaves them out; their parts must not be mixed up."""
    means = [0.5] * 150
    first = Case("first", tuple([*means, 0.9]), 1.0)
    second = Case("second", tuple([*means, 0.6]), 1.0)
    for folder in (tmp_path, None):
        board = compare({"ucb": CONTENDERS["ucb"]}, [first, second], horizon=200, runs=4, seed=0, folder=folder)
        assert board.scores[0].mean > 2 * board.scores[1].mean


def test_an_arm_that_always_succeeds_has_no_bound() -> None:
    """C is 0 there: no ratio is made up, and figures are drawn all the same."""
    board = compare(CONTENDERS, [Case("sure", (1.0, 0.5), 1.0)], horizon=1000, runs=10, seed=0)
    assert all(s.lower_bound == 0.0 for s in board.scores)
    assert all(standing.ratio == math.inf for standing in board.standings())
    leaderboard_figure(board)


def test_the_figure_has_a_dot_per_case() -> None:
    board = compare(CONTENDERS, SOME, horizon=2000, runs=20, seed=0)
    left, right = leaderboard_figure(board).axes
    for axes in (left, right):
        assert [len(dots.get_offsets()) for dots in axes.collections] == [len(SOME)] * 3  # type: ignore[arg-type]
    names = [label.get_text() for label in left.get_yticklabels()]
    assert names == [standing.policy for standing in board.standings()]


@pytest.mark.parametrize(
    ("contenders", "chosen", "runs", "message"),
    [
        ({}, SOME, 10, "Expected at least one policy and one case"),
        (CONTENDERS, [], 10, "Expected at least one policy and one case"),
        (CONTENDERS, SOME, 1, r"Expected runs=1 in \[2, 1000000000\]"),
    ],
)
def test_nothing_to_compare_is_refused(
    contenders: dict[str, object], chosen: list[Case], runs: int, message: str
) -> None:
    with pytest.raises(dpb.InvalidInput, match=message):
        compare(contenders, chosen, horizon=100, runs=runs, seed=0)  # type: ignore[arg-type]
