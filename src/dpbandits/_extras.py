"""Extras: packages that only parts of the library need, and the error if one of them is not installed."""

from importlib.util import find_spec

from dpbandits.errors import MissingExtra

EXTRA_OF = {
    "numba": "simulate",
    "pandas": "simulate",
    "matplotlib": "plots",
    "pyarrow": "parquet",
    "numba_cuda": "gpu",
    "sqlalchemy": "service",
    "alembic": "service",
    "psycopg": "service",
    "river": "river",
    "gymnasium": "gymnasium",
}


def require_extras(*packages: str) -> None:
    """Raise MissingExtra if one of these packages is not installed. Nothing is imported, so the check costs little."""
    absent = [package for package in packages if find_spec(package) is None]
    if absent:
        names = [package.replace("_", "-") for package in absent]
        listing = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
        verb = "is" if len(absent) == 1 else "are"
        extras = ",".join(dict.fromkeys(EXTRA_OF[package] for package in absent))
        raise MissingExtra(
            f"{listing} {verb} needed for this and {verb} not installed: pip install 'dpbandits[{extras}]'",
            name=absent[0],
        )
