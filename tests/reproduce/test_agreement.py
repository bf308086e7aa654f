"""Two reproductions compared: what chance explains agrees, what it does not differs, and a program is told."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbandits import cli
from dpbandits.errors import InvalidInput
from dpbandits.reproduce import Finding, Measure, Record, Settings, Verdict, agreement
from dpbandits.reproduce.agreement import FALSE_ALARMS, widening
from dpbandits.reproduce.confidence import Interval, mean_at
from told_study import summary_of

SETTINGS = Settings()


def record(*measures: Measure, verdict: Verdict = Verdict.FAILS, settings: Settings = SETTINGS) -> Record:
    return Record.of({"some-claim": Finding(verdict, "why.", measures)}, settings)


def estimate(value: float, half: float, name: str = "mean") -> Measure:
    return Measure.estimated(name, Interval(value, value - half, value + half), "regret")


def test_what_is_identical_is_identical() -> None:
    both = record(estimate(10, 1), Measure.exact("exact", 0.1), Measure.observed("range", 5.0))
    result = agreement(both, both)
    assert (result.identical, result.agreeing, result.untold) == (3, 0, 0)
    assert not result.differs
    assert result.is_complete


@pytest.mark.parametrize(("value", "differs"), [(10.0 + 2.1, False), (10.0 + 2.3, True), (10.0 - 2.3, True)])
def test_estimates_differ_if_their_widened_intervals_do(value: float, differs: bool) -> None:
    """One pair: intervals of 1 on either side, widened by 1.09."""
    result = agreement(record(estimate(10.0, 1.0)), record(estimate(value, 1.0)))
    assert result.differs == differs
    assert result.agreeing == (not differs)


def test_each_interval_counts_on_the_side_of_the_other() -> None:
    lower = Measure.estimated("share", Interval(0.1, 0.0999, 0.3), "share")
    upper = Measure.estimated("share", Interval(0.35, 0.2, 0.3501), "share")
    assert not agreement(record(lower), record(upper)).differs
    assert not agreement(record(upper), record(lower)).differs
    turned = Measure.estimated("share", Interval(0.1, 0.0, 0.1001), "share")
    assert agreement(record(turned), record(replace(upper, low=0.3499))).differs


def test_runs_that_are_all_alike_tell_no_interval() -> None:
    """Other runs may be otherwise: a width of zero, up to rounding, is no knowledge of the truth."""
    alike, summed_otherwise = estimate(2457.6000000000313, 4e-13), estimate(2457.600000000029, 0.0)
    assert not alike.is_exact
    assert math.isnan(alike.low)
    assert agreement(record(alike), record(summed_otherwise)).agreeing == 1
    result = agreement(record(alike), record(estimate(2458.0, 3.0)))
    assert (result.one_sided, result.differs, result.is_complete) == ([("some-claim", "mean")], False, False)


def test_intervals_of_few_runs_are_not_compared() -> None:
    few, many = record(estimate(10, 1), settings=Settings(runs=49)), record(estimate(20, 1), settings=Settings(runs=50))
    assert (agreement(few, many).untold, agreement(few, many).differs) == (1, False)
    assert agreement(many, record(estimate(10, 1))).differs
    exact = record(Measure.exact("loss", 2.0), settings=Settings(runs=2))
    assert agreement(exact, record(Measure.exact("loss", 2.1))).differs


def test_what_was_computed_must_be_the_same_up_to_rounding() -> None:
    exact = record(Measure.exact("loss", 2.0, "epsilon"))
    assert not agreement(exact, record(Measure.exact("loss", 2.0 + 1e-7, "epsilon"))).differs
    result = agreement(exact, record(Measure.exact("loss", 2.0001, "epsilon")))
    assert [str(difference) for difference in result.differences] == ["loss: 2.0 here, 2.0001 there"]


@pytest.mark.parametrize(
    "other",
    [
        Measure.observed("range", 7.0),
        estimate(9.0, math.inf, "range"),
        Measure.estimated("range", Interval(math.nan, -math.inf, math.inf)),
    ],
)
def test_without_an_interval_nothing_is_told(other: Measure) -> None:
    result = agreement(record(Measure.observed("range", 5.0)), record(other))
    assert (result.untold + len(result.one_sided), result.differs) == (1, False)


def test_verdicts_contradict_each_other_where_both_are_decided() -> None:
    fails, holds, undecided = (
        record(Measure.exact("loss", 2.0), verdict=each) for each in (Verdict.FAILS, Verdict.HOLDS, Verdict.UNDECIDED)
    )
    assert agreement(fails, holds).verdicts == {"some-claim": ("fails", "holds")}
    assert agreement(fails, holds).differs
    assert agreement(fails, undecided).verdicts == {"some-claim": ("fails", "not decided")}
    assert not agreement(fails, undecided).differs


def test_a_verdict_at_a_threshold_contradicts_none_if_its_measures_agree() -> None:
    fails, holds = record(estimate(4.9, 0.5)), record(estimate(5.1, 0.5), verdict=Verdict.HOLDS)
    result = agreement(fails, holds)
    assert result.verdicts == {"some-claim": ("fails", "holds")}
    assert (result.contradictions, result.differs) == ({}, False)
    assert agreement(fails, record(estimate(51, 0.5), verdict=Verdict.HOLDS)).contradictions
    document = result.to_dict()
    assert json.dumps(document)
    assert (document["contradictions"], document["varying"]) == ({}, ["some-claim"])


def test_measures_that_one_of_them_lacks_are_named() -> None:
    result = agreement(record(estimate(1, 1, "here")), record(estimate(1, 1, "there")))
    assert (result.only_here, result.only_there) == ([("some-claim", "here")], [("some-claim", "there")])
    assert not result.is_complete
    assert not result.differs


def test_settings_that_differ_are_named() -> None:
    one = Measure.exact("loss", 2.0)
    result = agreement(record(one, settings=Settings(runs=50)), record(one, settings=Settings(seed=3)))
    assert result.settings == {"runs": (50, 100), "seed": (0, 3)}


def test_false_alarms_are_rare_and_real_differences_are_found() -> None:
    """300 comparisons of 50 means of 100 runs: at most 9 accused (chance < 0.2% at the stated rate of 1%)."""
    dice = np.random.default_rng(5)

    def means(shift: float) -> Record:
        samples = dice.gamma(2.0, 50.0, (50, 100))
        samples[0] += shift
        return record(*(Measure.estimated(f"{i}", mean_at(summary_of(runs))) for i, runs in enumerate(samples)))

    accused = sum(agreement(means(0.0), means(0.0)).differs for _ in range(300))
    assert accused <= 9
    # Nine standard errors of a difference are more than chance explains, whichever of fifty it is.
    error = math.sqrt(2 * 2 * 50.0**2 / 100)
    assert sum(agreement(means(9 * error), means(0.0)).differs for _ in range(50)) >= 48


def test_all_intervals_hold_together() -> None:
    """Each of n pairs has two intervals, that miss with FALSE_ALARMS / 2n: against the normal distribution."""
    from scipy.stats import norm

    for pairs in (1, 7, 400):
        missed = 2 * norm.sf(widening(pairs) * norm.isf(0.005))
        assert 2 * pairs * missed == pytest.approx(FALSE_ALARMS)


# ---- files and the command


def run(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["dpbandits", "reproduce", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


HEADER = "claim,where,verdict,reason,measure,value,low,high,unit\n"
ONE = "definition,Definition 2.1,fails,why,log ratio of one choice,1.0,1.0,1.0,log ratio\n"
FIVE = "definition,Definition 2.1,fails,why,log ratio of 5 choices together,{0},{0},{0},log ratio\n"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "claims.csv").write_text(HEADER + ONE + FIVE.format(5.000000000000001), "utf-8")
    (folder / "settings.json").write_text(json.dumps({"horizon": 100_000, "runs": 7, "seed": 0, "effort": 1.0}))
    return folder


def test_the_command_compares_one_claim(
    other: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--claim", "definition", "--against", str(other)]
    status, out, _ = run(words, monkeypatch, capsys)
    assert status == 0
    assert "runs 100 here, 7 there" in out
    assert "every verdict is the same" in out
    assert "0 differ" in out
    (other / "claims.csv").write_text(HEADER + ONE + FIVE.format(4.0), "utf-8")
    status, out, _ = run(words, monkeypatch, capsys)
    assert status == 1
    assert "definition: log ratio of 5 choices together: 5 here, 4 there" in out
    (other / "claims.csv").write_text(HEADER + ONE, "utf-8")
    status, out, _ = run([*words, "--json"], monkeypatch, capsys)
    document: dict[str, Any] = json.loads(out)["against"]
    assert status == 3
    assert document["only_here"] == [["definition", "log ratio of 5 choices together"]]
    assert (document["differs"], document["complete"]) == (False, False)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("claims.csv", "claim,numbers\ndefinition,text\n", "to be a folder of dpbandits reproduce"),
        ("claims.csv", HEADER + ONE.replace("1.0", "many"), "to be a folder of dpbandits reproduce"),
        ("claims.csv", HEADER + ONE.replace("log ratio\n", "parsecs\n"), "to be a folder of dpbandits reproduce"),
        ("claims.csv", HEADER + ONE.replace(",1.0,1.0,1.0,", ",1.0,2.0,0.5,"), "to be a folder of dpbandits reproduce"),
        (
            "claims.csv",
            HEADER + ONE.replace("one choice", "one \x1b[31mchoice"),
            "to be a folder of dpbandits reproduce",
        ),
        ("claims.csv", HEADER + ONE.replace("fails", "Fails"), "to be a folder of dpbandits reproduce"),
        ("claims.csv", HEADER + ONE + ONE, "to be a folder of dpbandits reproduce"),
        (
            "claims.csv",
            HEADER + ONE + FIVE.format(5.0).replace("fails", "holds"),
            "to be a folder of dpbandits reproduce",
        ),
        ("claims.csv", "", "to be a folder of dpbandits reproduce"),
        ("settings.json", "[" * 200_000, "to be a folder of dpbandits reproduce"),
        ("settings.json", "[]", "to be a folder of dpbandits reproduce"),
        ("settings.json", '{"horizon": 100000}', "to be a folder of dpbandits reproduce"),
        (
            *("settings.json", '{"horizon": 2000, "runs": 7, "seed": 0, "effort": 1}'),
            "Expected horizon=100000 to be 2000, that of",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_played(
    other: Path, name: str, text: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (other / name).write_text(text, "utf-8")
    status, out, err = run(["--against", str(other), "--out", str(other / "new")], monkeypatch, capsys)
    assert (status, out) == (2, "")
    assert message in err
    assert not (other / "new").exists()


def test_there_must_be_something_to_compare_with(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="to be a folder of dpbandits reproduce"):
        Record.read(tmp_path)
