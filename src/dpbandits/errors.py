"""Every error that the library raises on purpose.

DPBanditsError
├── InvalidInput   a value outside its allowed range; nothing has changed (also a ValueError)
└── LedgerError    a ledger whose rows do not belong together (also a ValueError)
"""


class DPBanditsError(Exception):
    """Base class of what the library raises about values. A thing of the wrong kind altogether is a TypeError."""


class InvalidInput(DPBanditsError, ValueError):
    """A value outside its allowed range. The message names the value and the range; no state has changed."""


class LedgerError(DPBanditsError, ValueError):
    """A ledger that fails verification. The message names the first row that does not fit."""
