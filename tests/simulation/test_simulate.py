"""simulate: the same numbers whatever the machine does, exact checkpoints, clear errors."""

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits import kernel
from dpbandits.engine.driver import Chunk
from dpbandits.environments import Replay, Uniform
from dpbandits.mechanisms import public
from dpbandits.policies import Setup, select
from dpbandits.simulation.job import Job
from dpbandits.simulation.names import unique_names
from dpbandits.simulation.runner import log_spaced
from explore_then_commit import ExploreThenCommit
from written_kernels import wrong

pytestmark = pytest.mark.slow

TWO = dpb.Bernoulli([0.9, 0.6])
INTERVAL = dpb.DPUCBInt(epsilon=1.0, delta=1e-6)
POLICIES = [dpb.UCB(), INTERVAL, dpb.DPUCB(epsilon=1.0)]


def regrets(**options: Any) -> dict[str, list[list[float]]]:
    defaults: dict[str, Any] = {"policies": POLICIES, "environment": TWO, "horizon": 3000, "runs": 150, "seed": 7}
    result = dpb.simulate(**(defaults | options))
    return {name: result.regret(name).tolist() for name in result.names}


def test_the_same_command_gives_the_same_numbers_on_any_number_of_cores() -> None:
    first = regrets(workers=1)
    assert regrets(workers=1) == first
    assert regrets(workers=2) == first
    assert regrets(workers=5) == first
    assert regrets(seed=8) != first


def test_runs_do_not_depend_on_each_other() -> None:
    """Another policy in the list, or more runs, changes nothing for the rest."""
    first = regrets()
    assert regrets(policies=[INTERVAL])["dp-ucb-int"] == first["dp-ucb-int"]
    assert regrets(policies=POLICIES[::-1]) == first
    assert {name: rows[:40] for name, rows in first.items()} == regrets(runs=40)
    twice = regrets(policies=[INTERVAL, INTERVAL], runs=3)
    assert twice["dp-ucb-int"] != twice["dp-ucb-int #2"]
    all_runs = first["dp-ucb"]
    assert len({tuple(run) for run in all_runs}) == len(all_runs)


def test_kept_runs_are_not_played_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after some of its runs, it goes on there; more runs begin with them; the same policy twice is two."""
    twice = [INTERVAL, dpb.UCB(), INTERVAL]
    whole = regrets(policies=twice)
    few = regrets(policies=twice, runs=100)
    monkeypatch.setattr("dpbandits.simulation.parts._SECONDS_BETWEEN_SAVES", -1.0)  # save after every chunk
    played = 0

    class Killed(BaseException):
        pass

    def counted(self: Job, chunk: Chunk, stopped: Any) -> Any:
        nonlocal played
        played += chunk.runs
        if played == stop:
            raise Killed
        return play(self, chunk, stopped)

    play, stop = Job.play, 100
    monkeypatch.setattr(Job, "play", counted)
    with pytest.raises(Killed):
        regrets(policies=twice, runs=100, folder=tmp_path, workers=1)
    assert len(list(tmp_path.iterdir())) == 1
    expected = {100: 3 * 100 - 64, 150: 3 * (150 - 64), 40: 0}
    for runs, number in expected.items():
        played, stop = 0, -1
        found = regrets(policies=twice, runs=runs, folder=tmp_path)
        assert played == number
        assert found == {name: rows[:runs] for name, rows in whole.items()}
    assert few == {name: rows[:100] for name, rows in whole.items()}


def test_checkpoints_inside_blocks_are_exact() -> None:
    """Explore-then-commit has three blocks: 50 plays of each arm, then the best for ever."""
    policy = ExploreThenCommit(epsilon=100.0, plays=50)
    result = dpb.simulate([policy], dpb.Bernoulli([0.1, 0.9]), horizon=10**12, runs=3, seed=1)
    expected = [0.8 * min(t, 50) for t in result.checkpoints]
    for run in result.regret("explore-then-commit"):
        assert run == pytest.approx(expected, rel=1e-12)
    assert result.switches("explore-then-commit").tolist() == [1, 1, 1]


def test_log_spaced_times() -> None:
    assert log_spaced(1, 200).tolist() == [1]
    assert log_spaced(5, 200).tolist() == [1, 2, 3, 4, 5]
    for horizon in (10**5, 10**18):
        times = log_spaced(horizon, 200)
        assert (times[0], times[-1]) == (1, horizon)
        assert len(times) <= 201
        assert (np.diff(times) > 0).all()


def test_short_horizons_and_single_arms() -> None:
    for policy in (*POLICIES, dpb.PrivateUCB(epsilon=1.0), dpb.DPUCBBound(epsilon=1.0), dpb.HybridDMAB(epsilon=1.0)):
        for environment in (TWO, dpb.Bernoulli([0.5])):
            for horizon in (1, 2, 3):
                result = dpb.simulate([policy], environment, horizon=horizon, runs=2, seed=1)
                final = result.final_regret(policy.name)
                assert ((final >= 0) & (final <= 0.3 * horizon)).all()


def test_many_arms_and_a_schedule_that_never_releases() -> None:
    arms = dpb.Bernoulli(np.linspace(0, 1, 300))
    result = dpb.simulate([dpb.UCB(), INTERVAL], arms, horizon=1000, runs=2, seed=1)
    # 1000 plays are not enough for a first release of 300 arms: they take turns.
    assert result.final_regret("dp-ucb-int") == pytest.approx(float(arms.gaps[np.arange(1000) % 300].sum()))
    endless = dpb.DPUCBInt(epsilon=1e-4, delta=1e-6, accounting="corollary")
    assert dpb.simulate([endless], TWO, horizon=100, runs=1, seed=1).regret("dp-ucb-int accounting=corollary")[
        :, -1
    ] == pytest.approx(15.0)


def test_a_replayed_table_in_its_order_needs_no_luck() -> None:
    table = np.array([[1, 0], [1, 0], [0, 1]])
    result = dpb.simulate([dpb.UCB()], Replay(table, order="given"), horizon=300, runs=2, seed=1)
    first, second = result.regret("ucb")
    assert first.tolist() == second.tolist()


def test_names_are_short_and_unique() -> None:
    interval: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
    names = list(
        unique_names(
            [
                *(dpb.UCB(), dpb.DPUCBInt(**interval), dpb.DPUCBInt(**interval, series="x")),
                *(dpb.DPUCBInt(**interval, series="x"), dpb.DPUCB(epsilon=0.1)),
            ]
        )
    )
    assert names == ["ucb", "dp-ucb-int series=y", "dp-ucb-int series=x", "dp-ucb-int series=x #2", "dp-ucb"]
    assert list(unique_names({"mine": dpb.UCB()})) == ["mine"]
    assert list(unique_names(dpb.UCB())) == ["ucb"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policies": []}, "Expected at least one policy."),
        ({"horizon": 0}, "Expected horizon=0 in"),
        ({"horizon": 1.5}, "Expected horizon=1.5 to be a whole number"),
        ({"runs": 0}, "Expected runs=0 in"),
        ({"seed": -1}, "Expected seed=-1 in"),
        ({"seed": None}, "Expected seed=None to be a whole number"),
        ({"workers": 0}, "Expected workers=0 in"),
        ({"policies": [dpb.DPUCBInt(epsilon=1, delta=1e-6, horizon=100)], "horizon": 101}, "declared for"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(dpb.InvalidInput, match=message):
        regrets(**options)


def test_nothing_is_written_for_a_wrong_number_of_workers(tmp_path: Path) -> None:
    with pytest.raises(dpb.InvalidInput, match=r"Expected workers=0 in \[1, 1024\]"):
        dpb.simulate(dpb.UCB(), TWO, horizon=10, runs=1, workers=0, folder=tmp_path / "new")
    assert not list(tmp_path.iterdir())


def test_what_is_no_environment_is_refused() -> None:
    with pytest.raises(dpb.WrongKind, match=r"Expected environment=\[0.9, 0.6\] to be an Environment, such as"):
        regrets(environment=[0.9, 0.6])


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        ("ucb", "Expected policies='ucb' to be policies"),
        ([dpb.UCB], "to be a policy, such as"),
        (3, "Expected policies=3 to be policies"),
    ],
)
def test_what_is_no_policy_is_refused(policies: object, message: str) -> None:
    with pytest.raises(dpb.WrongKind, match=message):
        regrets(policies=policies)


@pytest.mark.parametrize(
    ("kernels", "error", "message"),
    [
        ({"select": "5"}, dpb.InvalidInput, r"Expected `select` of policy=wrong to return an arm in \[0, 1\]."),
        ({"select": "-1"}, dpb.InvalidInput, r"Expected `select` of policy=wrong to return an arm in \[0, 1\]."),
        ({"select": "7 if t == 9 else 0"}, dpb.InvalidInput, "Expected `select` of policy=wrong"),
        ({"hold": "0"}, dpb.InvalidInput, "Expected `hold` of policy=wrong to return at least 1."),
        ({"hold": "t - 5"}, dpb.InvalidInput, "Expected `hold` of policy=wrong to return at least 1."),
        ({"select": "state.meens[0]"}, AttributeError, "meens"),
        ({"select": "len(np.zeros(1))"}, dpb.InvalidInput, "a kernel may not allocate"),
        ({"select": "int(str(t % 2))"}, dpb.InvalidInput, "Expected the kernels of wrong to compile"),
    ],
)
def test_mistakes_in_kernels_are_told(kernels: dict[str, str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        dpb.simulate(wrong(**kernels), TWO, horizon=50, runs=2, seed=1)


def test_kernels_that_are_missing_are_told() -> None:
    policy = wrong()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(policy), "setup", lambda self, arms, horizon: Setup(Orphan(1), Orphan))
        with pytest.raises(dpb.InvalidInput, match=r"Expected unused of Orphan as Annotated"):
            dpb.simulate(policy, TWO, horizon=50, runs=2, seed=1)
        patch.setattr(type(policy), "setup", lambda self, arms, horizon: Setup(Orphan(1), Seasonal))
        with pytest.raises(dpb.InvalidInput, match=r"Expected the axis 'seasons' of counts to be one of one, arms\."):
            dpb.simulate(policy, TWO, horizon=50, runs=2, seed=1)
        patch.setattr(type(policy), "setup", lambda self, arms, horizon: Setup(Orphan(1), Kept))
        with pytest.raises(TypeError, match="belongs to no policy: nothing is registered with `select`"):
            dpb.simulate(policy, TWO, horizon=50, runs=2, seed=1)


class Orphan(NamedTuple):
    unused: int


class Seasonal(NamedTuple):
    counts: Annotated[Any, public("arms", "seasons")]


class Kept(NamedTuple):
    counts: Annotated[Any, public("arms")]


def test_new_kernels_for_old_params_are_refused() -> None:
    policy = wrong()
    assert dpb.simulate(policy, TWO, horizon=10, runs=1, seed=1).final_regret("wrong") == 0
    params_class = type(policy.configure(2, 10).params)
    before = select.dispatch(params_class)

    @select.register(params_class)
    @kernel
    def _select(params: Any, state: Any, t: int) -> int:
        return 1

    for environment in (TWO, Uniform([0.1, 0.2], [0.3, 0.4])):  # numba would reuse the old code in both
        with pytest.raises(dpb.InvalidInput, match="define the class again"):
            dpb.simulate(policy, environment, horizon=10, runs=1, seed=1)
    select.register(params_class)(before)
    assert dpb.simulate(policy, TWO, horizon=10, runs=1, seed=1).final_regret("wrong") == 0


def test_a_running_simulation_can_be_stopped() -> None:
    """As Ctrl-C does: a run that would take hours ends at once."""
    job = Job(dpb.UCB(), TWO, 10**13, np.array([10**13]))
    chunk, stop = Chunk(3, np.random.SeedSequence(1)), np.zeros(1, dtype=np.int64)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(job.play, chunk, stop)
        assert not running.done()
        stop[0] = 1
        running.result()
    # A block that is drawn reward by reward ends as well.
    job = Job(ExploreThenCommit(epsilon=1.0, plays=1), Uniform([0.1, 0.2], [0.3, 0.4]), 10**13, np.array([10**13]))
    stop[0] = 0
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(job.play, chunk, stop)
        stop[0] = 1
        running.result()


def test_policies_are_dataclasses_with_text_for_names() -> None:
    class Bare(dpb.policies.Policy):
        name = "bare"
        source = "a test"

        def setup(self, arms: int, horizon: int) -> Setup:
            return Setup(None, None)

        def guarantee(self, horizon: float = math.inf) -> None:
            return None

    with pytest.raises(dpb.InvalidInput, match="Expected Bare to be a frozen dataclass with a repr"):
        unique_names([Bare()])
    with pytest.raises(dpb.InvalidInput, match="Expected the name 1 of a policy to be text"):
        unique_names({1: dpb.UCB()})  # type: ignore[arg-type]


# ---- results


@pytest.fixture(scope="module")
def result() -> dpb.SimulationResult:
    return dpb.simulate(POLICIES, TWO, horizon=2000, runs=50, seed=3)


def test_summary_and_tidy_table(result: dpb.SimulationResult) -> None:
    summary = result.summary()
    final = result.final_regret("ucb")
    assert list(summary.index) == result.names == ["ucb", "dp-ucb-int", "dp-ucb"]
    row = summary.loc["ucb"]
    assert row["mean"] == pytest.approx(final.mean())
    assert row["standard error"] == pytest.approx(final.std(ddof=1) / math.sqrt(50))
    assert row["worst"] == final.max()
    tidy = result.to_pandas()
    assert list(tidy.columns) == ["policy", "run", "t", "regret"]
    assert len(tidy) == 3 * 50 * len(result.checkpoints)
    last = tidy[(tidy.policy == "ucb") & (tidy.t == 2000)].sort_values("run")
    assert last.regret.tolist() == final.tolist()
    assert (result.runs, result.horizon) == (50, 2000)
    assert repr(result).startswith("<50 runs of ucb, dp-ucb-int, dp-ucb for 2,000 steps in Bernoulli(")
    with pytest.raises(dpb.InvalidInput, match=r"Expected name='imed' to be one of ucb, dp-ucb-int, dp-ucb\."):
        result.final_regret("imed")


def test_results_are_saved_and_loaded(result: dpb.SimulationResult, tmp_path: Any) -> None:
    path = tmp_path / "result.dpb"
    result.save(path)
    loaded = dpb.SimulationResult.load(path)
    assert loaded.names == result.names
    assert (loaded.environment, loaded.seed, loaded.policies) == (result.environment, result.seed, result.policies)
    assert loaded.means.tolist() == [0.9, 0.6]
    assert loaded.switches("dp-ucb").tolist() == result.switches("dp-ucb").tolist()
    assert loaded.to_pandas().equals(result.to_pandas())
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", whole[:200] + b"x" + whole[201:]):
        path.write_bytes(damaged)
        with pytest.raises(dpb.InvalidInput, match="to be a saved simulation"):
            dpb.SimulationResult.load(path)
    path.write_text("nonsense")
    with pytest.raises(dpb.InvalidInput, match="to be a saved simulation"):
        dpb.SimulationResult.load(path)
    np.savez(tmp_path / "other.npz", x=3)
    with pytest.raises(dpb.InvalidInput, match="to be a saved simulation"):
        dpb.SimulationResult.load(tmp_path / "other.npz")
    with pytest.raises(FileNotFoundError):
        dpb.SimulationResult.load(tmp_path / "missing")


def test_the_plot_is_labelled(result: dpb.SimulationResult) -> None:
    axes = result.plot()
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale()) == ("step t", "regret", "log")
    legend = axes.get_legend()
    assert legend is not None
    assert {text.get_text().split(":")[0] for text in legend.get_texts()} == set(result.names)
    assert "50 runs" in axes.get_title(loc="left")
    assert result.plot(axes) is axes


def test_plays_of_every_arm_are_kept_if_asked_for(tmp_path: Path) -> None:
    """They are those of the same runs: regret follows from them, and two best arms count as one."""
    environment = dpb.Bernoulli([0.5, 0.8, 0.3, 0.8])
    asked: dict[str, Any] = {"horizon": 300, "runs": 70, "seed": 2}
    result = dpb.simulate(dpb.UCB(), environment, plays=True, **asked)
    without = dpb.simulate(dpb.UCB(), environment, **asked)
    assert result.regret("ucb").tolist() == without.regret("ucb").tolist()
    plays, times = result.plays("ucb"), result.checkpoints
    assert plays.shape == (70, len(times), 4)
    assert (plays.sum(axis=2) == times).all()
    assert plays @ environment.gaps == pytest.approx(result.regret("ucb"))
    assert result.best_share("ucb") == pytest.approx(plays[:, :, [1, 3]].sum(axis=2).mean(axis=0) / times)
    at_once = np.flatnonzero(np.diff(times, prepend=0) == 1)  # what was played at these times is what was added
    added = np.diff(plays, axis=1, prepend=0)[:, at_once]
    assert len(at_once) > 20
    assert result.best_probability("ucb")[at_once] == pytest.approx(added[:, :, [1, 3]].sum(axis=2).mean(axis=0))
    result.save(tmp_path / "result")
    loaded = dpb.SimulationResult.load(tmp_path / "result")
    assert loaded.plays("ucb").tolist() == plays.tolist()
    assert loaded.best_probability("ucb").tolist() == result.best_probability("ucb").tolist()
    with pytest.raises(dpb.InvalidInput, match=r"kept the plays of every arm: simulate\(\.\.\., plays=True\)"):
        without.best_share("ucb")
    with pytest.raises(dpb.InvalidInput, match="Expected plays='yes' to be True or False"):
        dpb.simulate(dpb.UCB(), environment, plays="yes", **asked)  # type: ignore[arg-type]
