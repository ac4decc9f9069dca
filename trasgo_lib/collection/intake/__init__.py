"""Taking reports: parse a batch, refuse what is wrong by reason, drop repetitions, write durably, then acknowledge."""

from trasgo_lib.collection.intake.batch import Batch, Known, Refusal, RefusedError, parse_batch
from trasgo_lib.collection.intake.journal import Journal, ReportFile, WindowLog
from trasgo_lib.collection.intake.receiver import Outcome, Receiver, Submission
from trasgo_lib.collection.intake.tokens import ClientGroups, TokenBucket

__all__ = [
    "Batch",
    "ClientGroups",
    "Journal",
    "Known",
    "Outcome",
    "Receiver",
    "Refusal",
    "RefusedError",
    "ReportFile",
    "Submission",
    "TokenBucket",
    "WindowLog",
    "parse_batch",
]
