"""A program that assigns and closes through a journal until it is killed, and says what it was told, line by line.

Lines on standard output: A id arm person (assigned), B id (an answer is begun), C id (it was taken in), L id (it came
too late), R number hash (a row of the ledger was seen). Snapshots are small and many.
"""

import random
import sys

import dpbandits as dpb
from dpbandits.live import journal_snapshot, snapshot_schedule
from dpbandits.live.timing import Timing

POLICY = dpb.DPUCBInt(epsilon=20.0, delta=1e-6, accounting="corollary")  # quick to set up, many releases
WINDOW = 0.05  # seconds


def opened(path: str, timing: str) -> dpb.Bandit:
    """Return a bandit that goes on; its time is that of the machine."""
    timed: dict[str, Timing] = {"open": "open", "sealed": "sealed"}
    window = None if timing == "open" else WINDOW
    arms = ["A", "B", "C"]
    return dpb.Bandit(POLICY, arms, accept_delta=True, journal=path, window=window, timing=timed[timing])


def reward_of(name: str) -> float:
    """Return the reward of an assignment."""
    return (0.0, 0.25, 1.0)[int(name.split("-")[1]) * 7919 % 3]


def encoded_reward(name: str) -> int:
    """Return the reward of an assignment as it enters sums."""
    return round(reward_of(name) * 4096)


def main(path: str, seed: str, timing: str) -> None:
    snapshot_schedule.SHORTEST_STEPS = 1000
    snapshot_schedule.STEPS_SHARE = 10**9  # the next one begins when the last one has taken the place
    journal_snapshot.PART = 2000
    dice = random.Random(seed)  # noqa: S311
    bandit = opened(path, timing)
    seen = 0
    while True:
        waiting = bandit.open_assignments()
        if len(waiting) < dice.randrange(12):
            people = [f"{seed}/{dice.randrange(10**9)}" for _ in range(dice.choice([1, 1, 2, 5]))]
            given = [bandit.assign(unit=people[0])] if len(people) == 1 else bandit.assign_many(people)
            for a, person in zip(given, people, strict=True):
                print("A", a.id, a.arm, person, flush=True)
        elif waiting:
            chosen = dice.sample(waiting, min(len(waiting), dice.choice([1, 1, 3, 5])))
            answers = [(a, reward_of(str(a.id)), f"key of {a.id}") for a in chosen]
            for a, _, _ in answers:
                print("B", a.id, flush=True)
            try:
                if len(answers) == 1:
                    bandit.close(*answers[0])
                else:
                    bandit.close_many(answers)
                bandit.close_many(answers)  # acknowledged again
            except dpb.WindowClosed:
                result = "L"  # all of them: a batch is taken as a whole
            else:
                result = "C"
            for a, _, _ in answers:
                print(result, a.id, flush=True)
        ledger = bandit.ledger
        for row in list(ledger)[seen:]:
            print("R", row.number, row.hash, flush=True)
        seen = len(ledger)


if __name__ == "__main__":
    main(*sys.argv[1:])
