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
            a = bandit.assign(unit=dice.randrange(10**9))
            print("A", a.id, a.arm, flush=True)
        elif waiting:
            a, reward = dice.choice(waiting), dice.choice([0.0, 0.25, 1.0])
            bandit.close(a, reward)
            print("C", a.id, reward, flush=True)
        ledger = bandit.ledger
        for row in list(ledger)[seen:]:
            print("R", row.number, row.hash, flush=True)
        seen = len(ledger)


if __name__ == "__main__":
    main(*sys.argv[1:])
