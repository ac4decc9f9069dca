"""The tables as queries see them; ``migrations`` creates them, and a test compares the two."""

from __future__ import annotations

import sqlalchemy as sa

_WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

METADATA = sa.MetaData()

ACCOUNTS = sa.Table(
    "accounts",
    METADATA,
    sa.Column("name", _TEXT, primary_key=True),
    sa.Column("population", _TEXT, nullable=False),
    sa.Column("unit", _TEXT, nullable=False),
    sa.Column("max_rows", _WHOLE, nullable=False),
    sa.Column("composition", _TEXT, nullable=False),
    sa.Column("cap_epsilon", _WHOLE, nullable=False),
    sa.Column("cap_delta", _WHOLE, nullable=False),
    sa.Column("cap_geo", _WHOLE, nullable=False),
    sa.Column("wrapped_digest_key", sa.LargeBinary, nullable=False),
    sa.Column("seq", _WHOLE, nullable=False),
    sa.Column("head", _TEXT, nullable=False),
    sa.Column("spent_epsilon", _WHOLE, nullable=False),
    sa.Column("spent_delta", _WHOLE, nullable=False),
    sa.Column("spent_geo", _WHOLE, nullable=False),
    sa.Column("cap_rho", _WHOLE, nullable=False, server_default="0"),
    sa.Column("spent_rho", _WHOLE, nullable=False, server_default="0"),
    sa.Column("partitions", _TEXT, nullable=False, server_default=""),
)

ENTRIES = sa.Table(
    "entries",
    METADATA,
    sa.Column("account", _TEXT, sa.ForeignKey("accounts.name"), primary_key=True),
    sa.Column("seq", _WHOLE, primary_key=True, autoincrement=False),
    sa.Column("kind", _TEXT, nullable=False),
    sa.Column("dataset", sa.Text),
    sa.Column("version", sa.Text),
    sa.Column("identity", _TEXT, unique=True),
    sa.Column("epsilon", _WHOLE, nullable=False),
    sa.Column("delta", _WHOLE, nullable=False),
    sa.Column("geo", _WHOLE, nullable=False),
    sa.Column("prev", _TEXT, nullable=False),
    sa.Column("hash", _TEXT, nullable=False, unique=True),
    sa.Column("document", _TEXT, nullable=False),
    sa.Column("rho", _WHOLE, nullable=False, server_default="0"),
    sa.Index("entries_by_version", "dataset", "version"),
)

VERSIONS = sa.Table(
    "versions",
    METADATA,
    sa.Column("dataset", _TEXT, primary_key=True),
    sa.Column("version", _TEXT, primary_key=True),
    sa.Column("account", _TEXT, sa.ForeignKey("accounts.name"), nullable=False),
    sa.Column("commitment", _TEXT, nullable=False, unique=True),
    sa.Column("wrapped_root", sa.LargeBinary, nullable=False),
    sa.Column("seq", _WHOLE, nullable=False),
    sa.Column("head", _TEXT, nullable=False),
)

EVENTS = sa.Table(
    "events",
    METADATA,
    sa.Column("dataset", _TEXT, primary_key=True),
    sa.Column("version", _TEXT, primary_key=True),
    sa.Column("seq", _WHOLE, primary_key=True, autoincrement=False),
    sa.Column("kind", _TEXT, nullable=False),
    sa.Column("state", _TEXT, nullable=False),
    sa.Column("prev", _TEXT, nullable=False),
    sa.Column("hash", _TEXT, nullable=False, unique=True),
    sa.Column("document", _TEXT, nullable=False),
    sa.ForeignKeyConstraint(["dataset", "version"], ["versions.dataset", "versions.version"]),
)

LEASES = sa.Table(
    "leases",
    METADATA,
    sa.Column("dataset", _TEXT, primary_key=True),
    sa.Column("version", _TEXT, primary_key=True),
    sa.Column("holder", _TEXT, nullable=False),
    sa.Column("taken_at", _TEXT, nullable=False),
    sa.Column("expires_at", _TEXT, nullable=False),
)

RELOCATION = sa.Table(
    "relocation",
    METADATA,
    sa.Column("only_row", _WHOLE, primary_key=True, autoincrement=False),
    sa.Column("state", _TEXT, nullable=False),
    sa.Column("peer", _TEXT, nullable=False),
    sa.Column("actor", _TEXT, nullable=False),
    sa.Column("at", _TEXT, nullable=False),
)
