"""The tables as queries see them; ``migrations`` creates them, and a test compares the two."""

from __future__ import annotations

import sqlalchemy as sa

_WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

METADATA = sa.MetaData()

ACCOUNTS = sa.Table(
    "accounts",
    METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("population", sa.Text, nullable=False),
    sa.Column("unit", sa.Text, nullable=False),
    sa.Column("max_rows", _WHOLE, nullable=False),
    sa.Column("composition", sa.Text, nullable=False),
    sa.Column("cap_epsilon", _WHOLE, nullable=False),
    sa.Column("cap_delta", _WHOLE, nullable=False),
    sa.Column("cap_geo", _WHOLE, nullable=False),
    sa.Column("wrapped_digest_key", sa.LargeBinary, nullable=False),
    sa.Column("seq", _WHOLE, nullable=False),
    sa.Column("head", sa.Text, nullable=False),
    sa.Column("spent_epsilon", _WHOLE, nullable=False),
    sa.Column("spent_delta", _WHOLE, nullable=False),
    sa.Column("spent_geo", _WHOLE, nullable=False),
)

ENTRIES = sa.Table(
    "entries",
    METADATA,
    sa.Column("account", sa.Text, sa.ForeignKey("accounts.name"), primary_key=True),
    sa.Column("seq", _WHOLE, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("dataset", sa.Text),
    sa.Column("version", sa.Text),
    sa.Column("identity", sa.Text, unique=True),
    sa.Column("epsilon", _WHOLE, nullable=False),
    sa.Column("delta", _WHOLE, nullable=False),
    sa.Column("geo", _WHOLE, nullable=False),
    sa.Column("prev", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
    sa.Column("document", sa.Text, nullable=False),
    sa.Index("entries_by_version", "dataset", "version"),
)

VERSIONS = sa.Table(
    "versions",
    METADATA,
    sa.Column("dataset", sa.Text, primary_key=True),
    sa.Column("version", sa.Text, primary_key=True),
    sa.Column("account", sa.Text, sa.ForeignKey("accounts.name"), nullable=False),
    sa.Column("commitment", sa.Text, nullable=False, unique=True),
    sa.Column("wrapped_root", sa.LargeBinary, nullable=False),
    sa.Column("seq", _WHOLE, nullable=False),
    sa.Column("head", sa.Text, nullable=False),
)

EVENTS = sa.Table(
    "events",
    METADATA,
    sa.Column("dataset", sa.Text, primary_key=True),
    sa.Column("version", sa.Text, primary_key=True),
    sa.Column("seq", _WHOLE, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("prev", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
    sa.Column("document", sa.Text, nullable=False),
    sa.ForeignKeyConstraint(["dataset", "version"], ["versions.dataset", "versions.version"]),
)

LEASES = sa.Table(
    "leases",
    METADATA,
    sa.Column("dataset", sa.Text, primary_key=True),
    sa.Column("version", sa.Text, primary_key=True),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("taken_at", sa.Text, nullable=False),
    sa.Column("expires_at", sa.Text, nullable=False),
)
