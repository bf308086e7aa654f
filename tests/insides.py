"""The inside of a bandit, for the few tests that no public way can make.

To see that a refused step has changed nothing, a test compares all that would be written to disk. To see that a step
may fail anywhere, it breaks a part in the middle of one, where nothing from outside can reach. Everything else that
tests want to know is in what a bandit shows, in its journal, or in a part that they make themselves.
"""

from typing import Any

import dpbandits as dpb
from dpbandits.live.journal import Journal
from dpbandits.live.learner import Learner
from learners import all_of


def state_of(bandit: dpb.Bandit) -> dict[str, Any]:
    """Return all that `to_json` would write of a bandit, which goes on and may have a journal."""
    return all_of(learner_of(bandit))


def learner_of(bandit: dpb.Bandit) -> Learner:
    """Return the learner of a bandit, to break one of its parts or to print it."""
    return bandit._learner


def journal_of(bandit: dpb.Bandit) -> Journal:
    """Return the open journal of a bandit, to break it, or to close it where a bandit was interrupted as it did."""
    assert bandit._journal is not None
    return bandit._journal
