"""A headline test: four headlines, answers an hour late, most of them missing, visitors who come again.

Whether one visitor clicked stays private, though the page learns from all of them.
"""

import random
from collections import Counter, deque

import dpbandits as dpb

VISITS = 20_000
CLICK_RATES = {"plain": 0.04, "question": 0.10, "number": 0.25, "pun": 0.02}  # nobody knows them


def main() -> None:
    policy = dpb.recommended(epsilon=2.0)
    test = dpb.Bandit(policy, list(CLICK_RATES))
    print(f"Promised to every visitor: {test.guarantee}.")
    shown: Counter[str | int] = Counter()
    hour: deque[tuple[str, bool]] = deque()  # the visits of the last hour: id, and whether there was a click
    for _ in range(VISITS):
        visitor = f"visitor {random.randrange(VISITS)}"  # noqa: S311
        visit = test.assign(unit=visitor)
        shown[visit.arm] += 1
        if visit.is_new:  # somebody who comes again has the same assignment, which counts once
            hour.append((visit.id, random.random() < CLICK_RATES[str(visit.arm)]))  # noqa: S311
        if len(hour) > 100:  # closed after an hour, clicked or not: the time of an answer would tell which
            test.close(*hour.popleft())
    for headline, estimate in test.estimates().items():
        print(f"{estimate}; shown {shown[headline]} times")
    print(test.compare("plain", "number"))
    print(f"{test.spent()}.")


if __name__ == "__main__":
    main()
