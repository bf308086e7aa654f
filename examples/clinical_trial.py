"""A clinical trial: three treatments, answers after weeks, patients who never answer, and a restart in the middle.

Whatever this program prints or decides is private in every single score. A dropout counts as a score of 4, so the means
that it estimates are nine parts of the true score and one part of 4.
"""

import random
import tempfile
from pathlib import Path

import dpbandits as dpb

PATIENTS = 4000
TREATMENTS = ["control", "drug A", "drug B"]
TRUE_SCORES = {"control": 3.0, "drug A": 4.0, "drug B": 8.0}  # on a scale from 0 to 10; nobody knows them


def score_of(treatment: str | int) -> float | None:
    """Return a patient's score after some weeks; one in ten drops out."""
    if random.random() < 0.1:  # noqa: S311
        return None
    return min(10.0, max(0.0, random.gauss(TRUE_SCORES[str(treatment)], 2.0)))


def opened(journal: Path) -> dpb.Bandit:
    """Begin the trial, or go on with it: every score is on disk before the program goes on."""
    policy = dpb.recommended(epsilon=1.0)
    return dpb.Bandit(policy, TREATMENTS, reward_bounds=(0, 10), default_reward=4.0, journal=journal)


def main(journal: Path) -> None:
    trial = opened(journal)
    print(f"Promised to every patient: {trial.guarantee}.")
    for week in range(PATIENTS // 40):
        for patient in range(40):
            trial.assign(unit=f"patient {40 * week + patient}")
        if week == 50:  # the program ends and starts again
            trial.detach()
            trial = opened(journal)
        for assignment in trial.open_assignments():
            if random.random() < 0.4:  # noqa: S311, the others come in a later week
                trial.close(assignment, score_of(assignment.arm))
    for assignment in trial.open_assignments():  # the trial ends
        trial.close(assignment, score_of(assignment.arm))
    for estimate in trial.estimates(confidence=0.95).values():
        print(estimate)
    for drug in TREATMENTS[1:]:
        print(trial.compare("control", drug))
    print(f"{trial.spent()}, {len(trial.ledger) - 1} releases, ledger intact: {bool(trial.ledger.verify())}.")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder) / "trial.journal")
