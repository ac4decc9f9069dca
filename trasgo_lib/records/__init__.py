"""The records database: accounts, their append-only ledger, versions and their lifecycle."""

from trasgo_lib.records.database import sqlite_path
from trasgo_lib.records.lease import Lease
from trasgo_lib.records.model import (
    Account,
    AccountTerms,
    ChainReport,
    Entry,
    Event,
    Head,
    Reservation,
    State,
    VersionRecord,
)
from trasgo_lib.records.records import LEASE_TTL, Records

__all__ = [
    "LEASE_TTL",
    "Account",
    "AccountTerms",
    "ChainReport",
    "Entry",
    "Event",
    "Head",
    "Lease",
    "Records",
    "Reservation",
    "State",
    "VersionRecord",
    "sqlite_path",
]
