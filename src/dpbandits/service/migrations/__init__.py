"""How the tables came to be what they are, one version after the other (Alembic)."""
