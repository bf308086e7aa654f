"""A program that assigns and closes through a journal until it is killed, and says what it was told, line by line.

Lines on standard output: A id arm (assigned), C id reward (closed), R number hash (a row of the ledger was seen).
"""

import random
import sys

import dpbandits as dpb

POLICY = dpb.DPUCBInt(epsilon=20.0, delta=1e-6, accounting="corollary")  # quick to set up, many releases


def opened(path: str) -> dpb.Bandit:
    return dpb.Bandit(POLICY, ["A", "B", "C"], accept_delta=True, journal=path)


def main(path: str, seed: str) -> None:
    dice = random.Random(seed)  # noqa: S311
    bandit = opened(path)
    seen = 0
    while True:
        waiting = bandit.open_assignments()
        if len(waiting) < dice.randrange(12):
            if dice.random() < 0.5:
                given = [bandit.assign(unit=dice.randrange(10**9))]
            else:
                given = bandit.assign_many(dice.randrange(10**9) for _ in range(dice.randrange(1, 6)))
            for a in given:
                print("A", a.id, a.arm, flush=True)
        elif waiting:
            answers = [(a, dice.choice([0.0, 0.25, 1.0]), f"key of {a.id}") for a in dice.sample(waiting, 1)]
            if dice.random() < 0.5:
                bandit.close(*answers[0])
            else:
                answers += [(a, 0.25, f"key of {a.id}") for a in waiting if a != answers[0][0]][: dice.randrange(4)]
                bandit.close_many(answers)
            bandit.close_many(answers)  # acknowledged again
            for a, reward, _ in answers:
                print("C", a.id, reward, flush=True)
        ledger = bandit.ledger
        for row in list(ledger)[seen:]:
            print("R", row.number, row.hash, flush=True)
        seen = len(ledger)


if __name__ == "__main__":
    main(*sys.argv[1:])
