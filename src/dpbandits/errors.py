"""Every error that the library raises on purpose.

DPBanditsError
├── InvalidInput   a value outside its allowed range; nothing has changed (also a ValueError)
└── LedgerError    a ledger whose rows do not belong together (also a ValueError)
"""


class DPBanditsError(Exception):
    """Base class: catch it to catch everything that the library raises on purpose."""


class InvalidInput(DPBanditsError, ValueError):
    """A value outside its allowed range. The message names the value and the range; no state has changed."""


class LedgerError(DPBanditsError, ValueError):
    """A ledger that fails verification. The message names the first row that does not fit."""
