"""Every error that the library raises on purpose.

DPBanditsError
├── BrokenContract a policy or a book that is not what every one must be (also an AssertionError)
├── ClockWarning   a clock that was put far back (a warning, so also a RuntimeWarning)
├── DatabaseError  a database that cannot be opened, trusted or gone on with
├── InvalidInput   a value outside its allowed range; nothing has changed (also a ValueError)
│   ├── AlreadyClosed   an assignment that has had its reward
│   ├── NotFound        an experiment or an assignment that does not exist
│   ├── NotRunning      an experiment whose state does not allow this
│   └── WindowClosed    an assignment whose reward comes too late
├── JournalError   a journal that cannot be opened or written: damaged, an old copy, or in use
├── LedgerError    a ledger whose rows do not belong together (also a ValueError)
├── MissingExtra   a package that this needs and that is not installed (also an ImportError)
├── QueueFull      too many steps are waiting; nothing has changed
├── StepError      a step that failed, or a bandit or counter that takes no more (also a RuntimeError)
└── WrongKind      a thing of another kind than is needed; nothing has changed (also a TypeError)

What has a range (a number, a word, a name) is InvalidInput when it is outside, also if it is no number or no word at
all: the message names the range. What has none (a policy, an environment, a noise source, a budget, a function) is
WrongKind when it is something else. Python's own protocols, such as copying, keep its plain TypeError.
"""


class DPBanditsError(Exception):
    """Base class of what the library raises on purpose."""


class InvalidInput(DPBanditsError, ValueError):
    """A value outside its allowed range. The message names the value and the range; no state has changed."""


class WrongKind(DPBanditsError, TypeError):
    """A thing of another kind than is needed, such as a number for a policy. No state has changed."""


class AlreadyClosed(InvalidInput):
    """An assignment that was closed before, with a reward or without; nothing has changed.

    What the reward was makes no difference: otherwise closing again would be a way to find out.
    """


class WindowClosed(InvalidInput):
    """An assignment whose window is over, whether it was closed in time or not; nothing has changed."""


class DatabaseError(DPBanditsError):
    """A database that cannot be opened, trusted or gone on with. The message says why; nothing has changed."""


class NotFound(InvalidInput):
    """An experiment or an assignment that does not exist; nothing has changed."""


class NotRunning(InvalidInput):
    """An experiment whose state does not allow a step; nothing has changed."""


class QueueFull(DPBanditsError):
    """Too many steps are waiting to be written. This one was not taken; ask again."""


class JournalError(DPBanditsError):
    """A journal that cannot be opened or gone on with. The message says why; the file is as it was."""


class StepError(DPBanditsError, RuntimeError):
    """A step that failed, or that a bandit or a counter does not take. Nothing of a reward is in it."""


class LedgerError(DPBanditsError, ValueError):
    """A ledger that fails verification. The message names the first row that does not fit."""


class ClockWarning(DPBanditsError, RuntimeWarning):
    """A clock that was put far back. It is a warning; where warnings are errors, nothing has changed."""


class BrokenContract(DPBanditsError, AssertionError):
    """A policy that is not what every policy must be. The message says which promise it breaks, and how."""


class MissingExtra(DPBanditsError, ImportError):
    """A package of an extra that is not installed. The message says which, and the command that installs it."""
