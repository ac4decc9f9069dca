"""The records database: accounts, their append-only ledger, versions and their lifecycle."""

from trasgo_lib.records.approving import waiting_of
from trasgo_lib.records.database import Database
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
from trasgo_lib.records.moving import Contents, Transfer, plan_transfer, transfer
from trasgo_lib.records.publication import Publication, PublicationTerms, package_digest
from trasgo_lib.records.records import LEASE_TTL, Records
from trasgo_lib.records.relocation import Relocation

__all__ = [
    "LEASE_TTL",
    "Account",
    "AccountTerms",
    "ChainReport",
    "Contents",
    "Database",
    "Entry",
    "Event",
    "Head",
    "Lease",
    "Publication",
    "PublicationTerms",
    "Records",
    "Relocation",
    "Reservation",
    "State",
    "Transfer",
    "VersionRecord",
    "package_digest",
    "plan_transfer",
    "transfer",
    "waiting_of",
]
