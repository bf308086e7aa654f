"""The version, for whatever is written to files."""

__version__ = "0.2.0.dev0"
