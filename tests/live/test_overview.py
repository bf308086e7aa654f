"""What an experiment shows its owner is made of releases, counts of assignments and the configuration alone."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from command_output import command_output
from doubling_phases import Phases
from dpbandits.live.acknowledged_records import AcknowledgedRecords
from dpbandits.live.experiment_overview import Overview
from dpbandits.live.learner import Learner
from dpbandits.live.persistence import journal_overview
from dpbandits.mechanisms.linear import Leak
from dpbandits.policies import Policy, is_ours
from explore_then_commit import ExploreThenCommit
from servable_policies import SERVABLE, shown
from shared_noise import SharedNoise
from shown_to_owner import everything_reported, page_of
from tainted_noise import TaintedNoise
from ways_of_answering import WAYS, Rewards

pytestmark = pytest.mark.slow

FILES = {
    ExploreThenCommit.name: Path(__file__).parents[2] / "examples/explore_then_commit.py:ExploreThenCommit",
    "phases": Path(__file__).parents[1] / "doubling_phases.py:Phases",
}
every_servable_policy = pytest.mark.parametrize("policy", SERVABLE, ids=shown)


def paired(*ways: str, of_each: int) -> pytest.MarkDecorator:
    """Pair every policy with so many ways, and every way with as many policies as any other."""
    pairs = [
        (policy, ways[(i + j * len(ways) // of_each) % len(ways)])
        for i, policy in enumerate(SERVABLE)
        for j in range(of_each)
    ]
    return pytest.mark.parametrize(("policy", "way"), pairs, ids=[f"{shown(policy)}-{way}" for policy, way in pairs])


def bandit_of(policy: Policy, noise: Any, **options: Any) -> dpb.Bandit:
    return dpb.Bandit(policy, 3, noise=noise, accept_delta=True, **options)


def rewards(person: int, arm: int) -> float | None:
    return None if person % 11 == 0 else float(person * (arm + 2) % 5 < 2 + arm)


def test_an_overview_has_nothing_that_may_not_be_shown() -> None:
    assert {field.name for field in fields(Overview)} == {
        *("configuration", "terms", "ledger", "assigned", "assigned_to", "exhausted"),
        *("blocks", "values", "steps", "rounding", "is_restored"),
    }


@paired(*WAYS, of_each=2)
def test_nothing_that_is_reported_opens_a_secret(policy: Policy, way: str, tmp_path: Path) -> None:
    bandit = bandit_of(policy, TaintedNoise(3))
    WAYS[way](bandit, rewards, 150)
    bandit.assign_many([None] * 5)
    bandit.close_many([(assignment, 1.0) for assignment in bandit.open_assignments()[:2]])
    assert len(bandit.ledger) > 2
    everything_reported(bandit, tmp_path)


def test_a_secret_that_is_reported_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above has power: a sum in flight, put where a released one belongs, cannot be read."""
    noise = TaintedNoise(3)
    bandit = bandit_of(SERVABLE[0], noise)
    WAYS["step"](bandit, rewards, 100)
    everything_reported(bandit, tmp_path)
    real, flight = Overview.of, noise.encode(1.0) + noise.encode(0.0)

    def spoilt(learner: Learner) -> Overview:
        overview = real(learner)
        (*values, _), *others = overview.values
        return replace(overview, values=((*values, flight), *others))

    monkeypatch.setattr(Overview, "of", spoilt)
    with pytest.raises(Leak):
        everything_reported(bandit, tmp_path)


def in_releases(bandit: dpb.Bandit, arms: list[Any]) -> set[int]:
    """The numbers of the assignments whose rewards are in a release."""
    return {
        number
        for row in list(bandit.ledger)[1:]
        for number in range(row.content["first"], row.content["last"] + 1)
        if arms[number - 1] == row.content["arm"]
    }


def played(bandit: dpb.Bandit, way: str, answers: Rewards) -> list[Any]:
    """Play so that blocks are left that are answered in part, and return the arms."""
    arms = WAYS[way](bandit, answers, 150)
    more = bandit.assign_many([None] * 20)
    bandit.close_many([(each, answers(151 + place, each.arm)) for place, each in enumerate(more[:-1])])
    return [*arms, *(each.arm for each in more)]


def changed_outside(released: set[int]) -> Rewards:
    def answer(person: int, arm: int) -> float | None:
        reward = rewards(person, arm)
        return reward if person in released else 1.0 - (reward or 0.0)

    return answer


@paired("step", "shuffled", of_each=1)
def test_rewards_in_no_release_change_nothing(policy: Policy, way: str, tmp_path: Path) -> None:
    first = bandit_of(policy, SharedNoise(11))
    arms = played(first, way, rewards)
    released = in_releases(first, arms)
    assert 0 < len(released) < 169
    second = bandit_of(policy, SharedNoise(11))
    assert played(second, way, changed_outside(released)) == arms
    assert everything_reported(first, tmp_path) == everything_reported(second, tmp_path)


@every_servable_policy
def test_nor_what_the_command_shows(policy: Policy, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    own = [] if is_ours(policy) else ["--policy", FILES[policy.name]]
    outputs: list[list[Any]] = []
    released: set[int] | None = None
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        bandit = bandit_of(policy, SharedNoise(11), journal="trial.journal")
        answers = rewards if released is None else changed_outside(released)
        arms = played(bandit, "many", answers)
        released = in_releases(bandit, arms)
        words = ["show", "trial.journal", *own]
        outputs.append([command_output(monkeypatch, capsys, *words, "--report", "page.html")])
        outputs[-1] += [command_output(monkeypatch, capsys, *words, "--json"), Path("page.html").read_bytes()]
        assert outputs[-1][-1] == everything_reported(bandit, tmp_path)[0].encode()  # the same page as the bandit's own
        assert outputs[-1][0][0] == 0
    assert outputs[0] == outputs[1]


def test_one_more_answer_changes_nothing_until_the_next_release(tmp_path: Path) -> None:
    bandit = bandit_of(dpb.NoiseAwareIMED(epsilon=1.5, first_phase=6), SharedNoise(2))
    WAYS["step"](bandit, rewards, 40)
    waiting = bandit.assign_many([None] * 15)
    before, rows, answered = everything_reported(bandit, tmp_path), len(bandit.ledger), 0
    for assignment in reversed(waiting):
        bandit.close(assignment, 1.0)
        if len(bandit.ledger) > rows:
            break
        answered += 1
        assert everything_reported(bandit, tmp_path) == before
    assert answered > 2
    assert everything_reported(bandit, tmp_path) != before


def test_estimates_and_costs_follow_from_an_overview_at_its_own_moment(tmp_path: Path) -> None:
    path = tmp_path / "trial.journal"
    bandit = bandit_of(SERVABLE[2], SharedNoise(2), journal=path)
    WAYS["step"](bandit, rewards, 60)
    overview = journal_overview(AcknowledgedRecords(path), None)
    estimates, spent = bandit.estimates(), bandit.spent()
    WAYS["step"](bandit, rewards, 200)
    assert (overview.estimates(0.95), overview.spent()) == (estimates, spent)
    assert (bandit.estimates(), bandit.spent()) != (estimates, spent)
    assert overview.estimate(0, 0.95, releases=0).mean is None


def test_an_exhausted_bandit_is_shown_alike_whatever_awaits_an_answer(tmp_path: Path) -> None:
    bandit = bandit_of(Phases(epsilon=1.0), None, horizon=24)
    while not bandit.exhausted:
        bandit.close(bandit.assign(), 1.0)
    late = bandit.assign_many([None] * 3)
    pages = {page_of(bandit, tmp_path)}
    for assignment in late:
        bandit.close(assignment, 0.0)
        pages.add(page_of(bandit, tmp_path))
    assert len(pages) == 1


def test_assignments_of_every_arm_move_with_a_bandit() -> None:
    bandit = dpb.Bandit(Phases(epsilon=1.0), 2, horizon=16)
    bandit.assign_many([None] * 21)  # five of them enter nothing
    counts = bandit.to_pandas()["assigned"].tolist()
    assert sum(counts) == 21
    again = dpb.Bandit.from_json(bandit.to_json(), policy=Phases(epsilon=1.0))
    assert again.to_pandas()["assigned"].tolist() == counts


def test_what_an_early_text_does_not_know_is_said(tmp_path: Path) -> None:
    path = Path(__file__).parent / "before" / "format_2" / "dp-imed-noise-aware.json"
    bandit = dpb.Bandit.from_json(path.read_text(encoding="ascii"))
    assert "110 assignments" in repr(bandit)
    assert bandit.to_pandas()["assigned"].sum() == 108
    assert "Of 2 assignments, made by an early version, the arm is not known." in page_of(bandit, tmp_path)


@pytest.mark.parametrize("name", ["trial.journal", "trial.html", "link.html", "x.txt", "", 5])
def test_a_page_overwrites_no_journal(tmp_path: Path, name: Any) -> None:
    path, mark = tmp_path / "trial.journal", tmp_path / "trial.html"
    bandit = dpb.Bandit(dpb.recommended(epsilon=1.0), 2, journal=path, mark=mark)
    (tmp_path / "link.html").symlink_to(path)
    before = path.read_bytes(), mark.read_bytes()
    with pytest.raises(dpb.InvalidInput, match="Expected path="):
        bandit.report(tmp_path / name if isinstance(name, str) and name else name)
    assert (path.read_bytes(), mark.read_bytes()) == before
    with pytest.raises(dpb.InvalidInput, match=r"to be one that can be written: No such file or directory\."):
        bandit.report(tmp_path / "nowhere" / "trial.html")
    bandit.report(tmp_path / "page.html")


def test_a_page_beside_a_journal_that_was_named_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "one")
    bandit = dpb.Bandit(dpb.recommended(epsilon=1.0), 2, journal="trial.html")
    monkeypatch.chdir(tmp_path / "other")
    for name in ("trial.html", "trial.html.mark"):
        Path(name).write_text("another file")
    with pytest.raises(dpb.InvalidInput, match="to be neither the journal nor its mark"):
        bandit.report(tmp_path / "one" / "trial.html")
    for _ in range(2):
        bandit.report("trial.html")
    with pytest.raises(dpb.InvalidInput, match="Expected path="):
        bandit.report("a\0.html")
    bandit.assign()
