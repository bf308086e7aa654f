"""A headline test: four headlines, clicks that come late or not at all, visitors who come again.

Whether one visitor clicked stays private, though the page learns from all of them.
"""

import random
from collections import Counter, deque

import dpbandits as dpb

VISITS = 20_000
CLICK_RATES = {"plain": 0.04, "question": 0.10, "number": 0.25, "pun": 0.02}  # nobody knows them


def main() -> None:
    policy = dpb.DPUCBInt(epsilon=2.0, delta=1e-6, horizon=VISITS)
    test = dpb.Bandit(policy, list(CLICK_RATES))  # no answer counts as 0, no click
    print(f"Promised to every visitor: {test.guarantee}.")
    shown: Counter[str | int] = Counter()
    undecided: deque[str] = deque()  # visits whose hour is not over, oldest first
    for _ in range(VISITS):
        visitor = f"visitor {random.randrange(VISITS)}"  # noqa: S311
        visit = test.assign(unit=visitor)  # somebody who comes again sees the same headline, which counts once
        shown[visit.arm] += 1
        if random.random() < CLICK_RATES[str(visit.arm)]:  # noqa: S311
            test.close(visit, 1.0)
        else:
            undecided.append(visit.id)
        if len(undecided) > 100:  # an hour has passed without a click
            test.close(undecided.popleft())
    for headline, estimate in test.estimates().items():
        print(f"{estimate}; shown {shown[headline]} times")
    print(test.compare("plain", "number"))
    print(f"{test.spent()}.")


if __name__ == "__main__":
    main()
