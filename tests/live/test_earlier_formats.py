"""Files of the versions before: they open, go on, and what was shown keeps its bytes."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

import dpbandits as dpb
from doubling_phases import Phases
from dpbandits.live import persistence
from dpbandits.live.blocks import live_scale
from dpbandits.live.journal import Journal
from dpbandits.live.learner import Answer, Learner
from dpbandits.live.live_noise import ReleasedValue
from dpbandits.live.schedule_cost import least_scale
from dpbandits.mechanisms import SecureNoise
from dpbandits.policies import Policy, dp_ucb_int
from explore_then_commit import ExploreThenCommit
from journal_lines import records_in
from learners import handed_out, learner_for
from plain_scale import PlainScale
from servable_policies import SERVABLE
from shared_noise import SharedNoise
from tampering import chained

pytestmark = pytest.mark.slow

BEFORE = Path(__file__).with_name("before")
Case = tuple[Policy, dict[str, Any]]
NOISE_AWARE: Case = (
    dpb.NoiseAwareIMED(epsilon=1.5, first_phase=6),
    {"reward_bounds": (1, 5), "default_reward": 3},
)
DP_UCB_INT: dict[str, Case] = {
    "dp-ucb-int": (dpb.DPUCBInt(epsilon=2.0, delta=0.0, horizon=400), {}),
    "dp-ucb-int-for-ever": (
        dpb.DPUCBInt(epsilon=9.0, delta=1e-6, accounting="corollary", series="constant", v=1.3),
        {"accept_delta": True, "contributions": 2},
    ),
    "dp-ucb-int-delta": (
        dpb.DPUCBInt(epsilon=3.0, delta=1e-6, bonus="frozen", series="x", horizon=400),
        {"accept_delta": True},
    ),
}
OWN: dict[str, Case] = {
    "explore-then-commit": (ExploreThenCommit(epsilon=1.0, plays=5), {}),
    "phases": (Phases(epsilon=0.7), {"grid_bits": 20}),
}
# By the folder of their format, the last one that has it, and by the names that the files have there.
FORMATS: dict[str, dict[str, Case]] = {
    "format_1": {
        **DP_UCB_INT,
        "dp-imed": NOISE_AWARE,
        "ada-p-ucb": (dpb.AdaPUCB(epsilon=0.7), {}),
        **OWN,
        "plain-scale": (PlainScale(epsilon=0.09, plays=60), {}),  # whose cost is above its promise by a rounding error
    },
    "format_2": {
        **DP_UCB_INT,
        "dp-ucb-int-no-horizon": (dpb.DPUCBInt(epsilon=3.0, delta=1e-6), {"accept_delta": True}),
        "dp-imed": (dpb.DPIMED(epsilon=0.7), {}),
        "dp-imed-tuned": (dpb.DPIMED(epsilon=0.7, growth=1.5, first_phase=2, caution=0.5), {}),
        "dp-imed-noise-aware": (dpb.recommended(epsilon=2.0), {"contributions": 3}),
        "dp-imed-noise-aware-tuned": NOISE_AWARE,
        "dp-klucb": (dpb.DPKLUCB(epsilon=0.7, first_phase=3), {}),
        "dp-klucb-noise-aware": (dpb.NoiseAwareKLUCB(epsilon=1.5, growth=1.2), {}),
        "ada-p-ucb": (dpb.AdaPUCB(epsilon=0.7), {}),
        "ada-p-klucb": (dpb.AdaPKLUCB(epsilon=7.0, alpha=0.5), {}),
        "block-ucb": (dpb.BlockUCB(epsilon=0.7, confidence=1.0), {}),
        "anytime-lazy-ucb": (dpb.AnytimeLazyUCB(epsilon=0.7), {}),
        **OWN,
    },
    "format_3": {
        **DP_UCB_INT,
        "dp-ucb-int-no-horizon": (dpb.DPUCBInt(epsilon=3.0, delta=1e-6), {"accept_delta": True}),
        "dp-imed": (dpb.DPIMED(epsilon=0.7, growth=1.5, first_phase=2, caution=0.5), {}),
        "noise-aware-imed": (dpb.recommended(epsilon=2.0), {"contributions": 3}),
        "noise-aware-imed-fresh": (NOISE_AWARE[0], {**NOISE_AWARE[1], "contributions": 2, "sticky": False}),
        "dp-klucb": (dpb.DPKLUCB(epsilon=0.7, first_phase=3), {}),
        "noise-aware-klucb": (dpb.NoiseAwareKLUCB(epsilon=1.5, growth=1.2), {}),
        "ada-p-ucb": (dpb.AdaPUCB(epsilon=0.7), {}),
        "ada-p-klucb": (dpb.AdaPKLUCB(epsilon=7.0, alpha=0.5), {}),
        "block-ucb": (dpb.BlockUCB(epsilon=0.7, confidence=1.0), {}),
        "anytime-lazy-ucb": (dpb.AnytimeLazyUCB(epsilon=0.7), {}),
        **OWN,
    },
}
CASES = {f"{folder}/{name}": case for folder, cases in FORMATS.items() for name, case in cases.items()}
ABOVE = {"format_1/plain-scale"}  # whose ledger did not hold in the version before either
every_case = pytest.mark.parametrize("case", CASES)


def noiseless(grid_bits: int) -> SharedNoise:
    noise = SharedNoise(1, grid_bits)
    noise.draw = lambda scale, mechanism: 0  # type: ignore[method-assign]
    return noise


def from_journal(case: str, folder: Path, noise: SecureNoise | None = None) -> dpb.Bandit:
    policy, options = CASES[case]
    path = folder / f"{case}.journal"
    if not path.exists():
        path.parent.mkdir()
        for ending in (".journal", ".journal.mark"):
            shutil.copy(BEFORE / f"{case}{ending}", folder / f"{case}{ending}")
    options = {"grid_bits": 12, **options}
    noise = noise or SecureNoise(options["grid_bits"])
    options.pop("grid_bits")
    return dpb.Bandit(policy, ["A", "B"], journal=path, noise=noise, **options)


def from_text(case: str, noise: SecureNoise) -> dpb.Bandit:
    policy, _ = CASES[case]
    text = (BEFORE / f"{case}.json").read_text(encoding="ascii")
    return dpb.Bandit.from_json(text, policy=policy, noise=noise)


def learner_of_text(case: str, noise: SecureNoise) -> Learner:
    policy, _ = CASES[case]
    return persistence.from_text((BEFORE / f"{case}.json").read_text(encoding="ascii"), policy, noise)


def grid_bits_of(case: str) -> int:
    return int(CASES[case][1].get("grid_bits", 12))


def go_on(bandit: dpb.Bandit, first: int = 1000) -> None:
    """Answer everything that is open, and more people."""
    high = bandit.ledger[0].content["reward_bounds"][1]
    for a in bandit.open_assignments():
        bandit.close(a, high)
    for person in range(first, first + 100):
        bandit.close(bandit.assign(unit=person), high)


def test_every_file_is_used() -> None:
    names = {f"{case}{ending}" for case in CASES for ending in (".journal", ".journal.mark", ".json", ".ledger")}
    assert {path.relative_to(BEFORE).as_posix() for path in BEFORE.rglob("*.*")} == names


def test_every_policy_that_can_run_live_has_files_of_the_version_before() -> None:
    kinds = {type(policy) for policy, _ in FORMATS["format_3"].values()}
    assert kinds == {type(policy) for policy in SERVABLE}


@every_case
def test_a_journal_of_the_version_before_goes_on(case: str, tmp_path: Path) -> None:
    content = (BEFORE / f"{case}.journal").read_bytes()
    shown = (BEFORE / f"{case}.ledger").read_text(encoding="ascii")
    bandit = from_journal(case, tmp_path)
    assert bandit.ledger.to_jsonl() == shown
    assert bandit.ledger[0].content["format"] == int(case[len("format_")])
    go_on(bandit)
    ledger = bandit.ledger
    assert ledger.to_jsonl().startswith(shown)
    if not case.endswith("explore-then-commit"):  # all of which was released before
        assert len(ledger) > shown.count("\n")
    found = dpb.check_ledger(ledger.to_jsonl(), head=ledger.head, policy=type(bandit.policy))
    assert found.holds is (case not in ABOVE)
    bandit.detach()
    assert (tmp_path / f"{case}.journal").read_bytes().startswith(content)
    again = from_journal(case, tmp_path)
    assert again.ledger.to_jsonl() == ledger.to_jsonl()


@every_case
def test_a_text_of_the_version_before_goes_on(case: str) -> None:
    shown = json.loads((BEFORE / f"{case}.json").read_text(encoding="ascii"))["learner"]["ledger"]
    bandit = from_text(case, SecureNoise(grid_bits_of(case)))
    assert bandit.ledger.to_jsonl() == shown
    go_on(bandit)
    ledger = bandit.ledger
    assert ledger.to_jsonl().startswith(shown)
    found = dpb.check_ledger(ledger.to_jsonl(), head=ledger.head, policy=type(bandit.policy))
    assert found.holds is (case not in ABOVE)
    again = dpb.Bandit.from_json(bandit.to_json(), policy=bandit.policy, noise=SecureNoise(grid_bits_of(case)))
    assert again.ledger.to_jsonl() == ledger.to_jsonl()


@every_case
def test_a_ledger_of_the_version_before_holds(case: str) -> None:
    text = (BEFORE / f"{case}.ledger").read_text(encoding="ascii")
    found = dpb.check_ledger(text, head=dpb.Ledger.from_jsonl(text).head, policy=type(CASES[case][0]))
    assert found.holds is (case not in ABOVE)


def steps_in(journal: Path) -> list[dict[str, Any]]:
    """Return the steps of a journal, those that were taken together one by one."""
    records = records_in(journal)[1:]
    return [step for record in records for step in record.get("batch", [record])]


def has_sums_of_all(policy: Policy) -> bool:
    """Tell whether a release is of all rewards so far."""
    return isinstance(policy, dpb.DPUCBInt)


@every_case
def test_sums_of_a_journal_go_on_where_they_were(case: str, tmp_path: Path) -> None:
    """Without noise a release is the exact sum."""
    bits = grid_bits_of(case)
    bandit = from_journal(case, tmp_path, noiseless(bits))
    rows = len(bandit.ledger)
    go_on(bandit)
    records = steps_in(tmp_path / f"{case}.journal")
    arms = [record["assign"] for record in records if "assign" in record]
    blocks = [record["block"] for record in records if "assign" in record]
    rewards = {record["close"]: record["reward"] for record in records if "close" in record}
    for row in (row.content for row in list(bandit.ledger)[rows:]):
        is_mine = [arm == row["arm"] and block is not None for arm, block in zip(arms, blocks, strict=True)]
        numbers = [number for number, mine in enumerate(is_mine, start=1) if mine]
        first = 0 if has_sums_of_all(bandit.policy) else numbers.index(row["first"])
        assert row["value"] * 2**bits == sum(rewards[number] for number in numbers[first : first + row["count"]])


@every_case
def test_sums_of_a_text_go_on_where_they_were(case: str) -> None:
    """An earlier version kept them in the state of the policy. There is nothing secret any more."""
    old = json.loads((BEFORE / f"{case}.json").read_text(encoding="ascii"))["learner"]
    bandit = from_text(case, noiseless(grid_bits_of(case)))
    in_state = old["state"]["sums"] if has_sums_of_all(bandit.policy) else [0, 0]
    expected = old["places"].get("landed", in_state)
    new = json.loads(bandit.to_json())
    assert [piece["released_sums"] for piece in new["pieces"] if "released_sums" in piece] == [expected]
    assert not any(str(total) in json.dumps(new["learner"]["state"]) for total in expected if total)
    bandit = from_text(case, noiseless(grid_bits_of(case)))
    flights = {(arm, block): total for arm, block, *_, total in old["places"]["flights"]}
    rows = len(bandit.ledger)
    go_on(bandit)
    first: dict[int, float] = {}
    for row in (row.content for row in list(bandit.ledger)[rows:]):
        first.setdefault(row["arm"], row["value"] * 2 ** grid_bits_of(case))
    for arm, value in first.items():
        # Whatever was in flight, and all answers that came later were 1.
        in_flight = flights.get((arm, old["places"]["released"][arm]), 0)
        answered_later = value - expected[arm] - in_flight
        assert answered_later >= 0
        assert answered_later % 2 ** grid_bits_of(case) == 0


def test_a_promise_that_was_kept_but_for_a_rounding_error_goes_on(tmp_path: Path) -> None:
    policy = PlainScale(epsilon=0.09, plays=60)
    from_journal("format_1/plain-scale", tmp_path).assign()
    begun_before = learner_of_text("format_1/plain-scale", SecureNoise())
    assert begun_before.schedule.least_scale <= 1 / 0.09 < least_scale(0.09)
    assert learner_for(policy).schedule.least_scale == least_scale(0.09)  # which is rounded up now


@pytest.mark.parametrize("case", [case for case in CASES if "/dp-ucb-int" in case])
def test_what_was_calibrated_once_is_never_calibrated_again(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version may find another parameter. What began goes on with the one that was written down."""

    def refuse(*args: object, **named: object) -> float:
        raise AssertionError("calibrated again")

    def as_written_down(policy: dpb.DPUCBInt) -> float:
        return refuse() if policy.density is None else policy.density

    for calibrating in ("calibrate_interval", "interval_epsilon"):
        monkeypatch.setattr(dp_ucb_int, calibrating, refuse)
    monkeypatch.setattr(dpb.DPUCBInt, "interval_epsilon", property(as_written_down))  # which remembers earlier ones
    with pytest.raises(AssertionError, match="calibrated again"):
        CASES[case][0].live(1, 12)
    bandit = from_journal(case, tmp_path)
    density = bandit.ledger[0].content["live_policy"]["density"]
    live = learner_of_text(case, SecureNoise(grid_bits_of(case))).terms.policy
    assert live.interval_epsilon == density  # type: ignore[attr-defined]
    go_on(bandit)
    text = bandit.ledger.to_jsonl()
    assert dpb.check_ledger(text, head=bandit.ledger.head).holds
    moved = from_text(case, SecureNoise(grid_bits_of(case)))
    go_on(moved)
    bandit.detach()
    assert from_journal(case, tmp_path).ledger.to_jsonl() == text


# ---- scales, from now on


def test_scales_are_rounded_up_and_stored(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    bandit = dpb.Bandit(dpb.DPUCBInt(epsilon=2.0, delta=0.0, horizon=400), 2, journal=path)
    go_on(bandit)
    assert (bandit.ledger[0].content["format"], bandit.ledger[0].content["scale_bits"]) == (4, 24)
    stored = [scale for step in steps_in(path) for _, _, scale in step.get("release", [])]
    assert stored == [row.content["scale"] for row in bandit.ledger if row.number]
    assert len(stored) > 3
    assert all(math.frexp(scale)[0] * 2**24 % 1 == 0 for scale in stored)
    for scale in (1.0, 1 / 3, 2**0.55, 0.7, 1e-9, 1e12):
        rounded = live_scale(scale, 24)
        assert scale <= rounded <= scale * (1 + 2**-23)
        assert live_scale(rounded, 24) == rounded
    assert live_scale(0.7, None) == 0.7


@pytest.mark.parametrize("ulps", [-1, 1])
def test_another_machine_that_rounds_powers_differently_opens_a_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ulps: int
) -> None:
    """One unit in the last place of every scale, as another library of mathematical functions may have it."""
    path = tmp_path / "journal"
    policy = dpb.DPUCBInt(epsilon=9.0, delta=0.0, horizon=400)
    bandit = dpb.Bandit(policy, 2, journal=path)
    go_on(bandit)
    ledger = bandit.ledger.to_jsonl()
    bandit.detach()

    def elsewhere(scale: float, scale_bits: int | None) -> float:
        return live_scale(math.nextafter(scale, ulps * math.inf), scale_bits)

    monkeypatch.setattr("dpbandits.live.blocks.live_scale", elsewhere)
    monkeypatch.setattr("dpbandits.live.live_noise.live_scale", elsewhere)
    monkeypatch.setattr("dpbandits.live.rehearsal.live_scale", elsewhere)
    again = dpb.Bandit(policy, 2, journal=path)
    assert again.ledger.to_jsonl() == ledger
    go_on(again, first=2000)
    assert dpb.check_ledger(again.ledger.to_jsonl(), head=again.ledger.head).holds


def test_what_is_stored_is_what_is_opened(tmp_path: Path) -> None:
    """The noise source is not asked again for the scale that it used: another version may step it up further."""

    class Stepped(SecureNoise):
        def _laplace(self, scale: float) -> Any:
            return super()._laplace(math.nextafter(scale, math.inf))

    path = tmp_path / "journal"
    policy = dpb.DPIMED(epsilon=1.0)
    bandit = dpb.Bandit(policy, 2, journal=path)
    go_on(bandit)
    ledger = bandit.ledger.to_jsonl()
    bandit.detach()
    again = dpb.Bandit(policy, 2, journal=path, noise=Stepped())
    assert again.ledger.to_jsonl() == ledger


def test_a_scale_that_is_not_the_schedules_is_not_followed(tmp_path: Path) -> None:
    """A stored scale may differ in its last digits, not more."""
    path = tmp_path / "journal"
    policy = ExploreThenCommit(epsilon=1.0, plays=2)
    bandit = dpb.Bandit(policy, 2, journal=path)
    waiting = [bandit.assign() for _ in range(4)]
    bandit.close(waiting[0], 1.0)
    bandit.detach()
    journal = Journal(path)
    assert len(list(journal.records())) == 6
    journal.force()
    journal.go_on()
    learner = learner_for(policy)
    for _ in range(4):
        handed_out(learner)
    ready = learner.ready_blocks()
    learner.answer([Answer(1, 4096, None), Answer(3, 4096, None)], ready)
    other = 4096.0 * (1 + 1e-5)
    with pytest.raises(dpb.StepError, match="was stored with another scale"):
        learner.release(ready, None, [ReleasedValue(2.0, other)])
    journal.append({"batch": [{"close": 3, "reward": 4096}, {"release": [[0, 2.0, other]], "head": "0" * 64}]})
    journal.close()
    with pytest.raises(dpb.JournalError, match="cannot be followed from record 6 on"):
        dpb.Bandit(policy, 2, journal=path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row: row["live_policy"].update(index="published"), "settings in live_policy"),
        (lambda row: row["policy"].update(index="published"), "live_policy"),
        (lambda row: row.update(format=3), ""),  # which has no index, and has sticky
        (lambda row: row.update(format=3, sticky=False), "settings in"),
        (lambda row: row.update(sticky=True), "column 'sticky', which is not known"),
        (lambda row: row.update(sticky=False), "column 'sticky', which is not known"),
        (lambda row: row["policy"].update(name="noise-aware-imed"), "settings in"),
        (lambda row: row["guarantee"].update(proved=row["guarantee"].pop("certified")), "is not a guarantee"),
    ],
)
def test_names_of_one_format_are_not_those_of_another(change: Any, message: str) -> None:
    text = (BEFORE / "format_2" / "dp-imed-noise-aware.ledger").read_text(encoding="ascii")
    contents = [row.content for row in dpb.Ledger.from_jsonl(text)]
    assert dpb.check_ledger(chained(contents)).holds
    change(contents[0])
    found = dpb.check_ledger(chained(contents))
    assert found.verdict == "does not hold"
    assert message in found.reasons[0]
