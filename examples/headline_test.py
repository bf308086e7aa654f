"""A headline test: four headlines, an hour to click, few clicks, visitors who come again.

Neither whether nor when one visitor clicked can be told from what the page shows, though it learns from all of them.
"""

import random
from collections import Counter
from contextlib import suppress
from heapq import heappop, heappush

import dpbandits as dpb

VISITS = 20_000
SECONDS = 36.0  # between two visits
HOUR = 3600.0
CLICK_RATES = {"plain": 0.04, "question": 0.10, "number": 0.25, "pun": 0.02}  # nobody knows them


def main() -> None:
    now = 0.0
    policy = dpb.recommended(epsilon=2.0)
    # A block of visits is released when the hour of its last one is over, whatever was clicked by then. Leave the clock
    # to the machine: this one is that of a simulation.
    test = dpb.Bandit(policy, list(CLICK_RATES), window=HOUR, timing="sealed", clock=lambda: now)
    print(f"Promised to every visitor: {test.guarantee}.")
    shown: Counter[str | int] = Counter()
    clicks: list[tuple[float, str]] = []  # when they come, and for which visit
    for _ in range(VISITS):
        now += SECONDS
        while clicks and clicks[0][0] <= now:
            with suppress(dpb.WindowClosed):  # after an hour: it counts as no click
                test.close(heappop(clicks)[1], True)
        visit = test.assign(unit=f"visitor {random.randrange(VISITS)}")  # noqa: S311
        shown[visit.arm] += 1
        # Somebody who comes again has the same assignment, which counts once. Who does not click need not be closed.
        if visit.is_new and random.random() < CLICK_RATES[str(visit.arm)]:  # noqa: S311
            heappush(clicks, (now + random.expovariate(3 / HOUR), visit.id))
    for headline, estimate in test.estimates().items():
        print(f"{estimate}; shown {shown[headline]} times")
    print(test.compare("plain", "number"))
    print(f"{test.spent()}.")


if __name__ == "__main__":
    main()
