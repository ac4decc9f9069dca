"""The error tree: every failure says where, what was required, what came and what to do.

An error is a tuple of :class:`Fault` values and a class that fixes the exit code of the command. No field of a fault
may hold a private cell value. Row counts sit in their own field, so that :meth:`TrasgoError.without_counts` can drop
them before an error crosses into the orchestrator, which stores what it sees.
"""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Self

_DISK_TROUBLE = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EFBIG, errno.EMFILE}
)
"""System errors that the operator can mend and that say nothing about the data."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Reason(StrEnum):
    """Machine-readable reason codes; they appear in reports and in ``--json``, so their text never changes."""

    # amounts and the release file
    BAD_AMOUNT = "bad_amount"
    BAD_YAML = "bad_yaml"
    BAD_SHAPE = "bad_shape"
    DUPLICATE_KEY = "duplicate_key"
    UNKNOWN_KEY = "unknown_key"
    BAD_DOMAIN = "bad_domain"
    BAD_PARAMETER = "bad_parameter"
    UNKNOWN_NAME = "unknown_name"
    NOT_BUILT_YET = "not_built_yet"
    OVER_TOTAL = "over_total"
    UNDECIDED = "undecided"
    # the input contract
    FILE_UNREADABLE = "file_unreadable"
    BAD_ENCODING = "bad_encoding"
    NO_HEADER = "no_header"
    NO_ROWS = "no_rows"
    MISSING_COLUMN = "missing_column"
    EXTRA_COLUMN = "extra_column"
    DUPLICATE_COLUMN = "duplicate_column"
    RAGGED_ROW = "ragged_row"
    WRONG_TYPE = "wrong_type"
    OUT_OF_DOMAIN = "out_of_domain"
    NULL_VALUE = "null_value"
    NO_VALUES = "no_values"
    NON_FINITE = "non_finite"
    ROW_MISMATCH = "row_mismatch"
    TOO_MANY_ROWS_PER_UNIT = "too_many_rows_per_unit"
    INPUT_CHANGED = "input_changed"
    # what a version already is
    PLAN_CHANGED = "plan_changed"
    STATE_CONFLICT = "state_conflict"
    ROOT_LOST = "root_lost"
    ALREADY_EXISTS = "already_exists"
    NOTHING_TO_RESUME = "nothing_to_resume"
    # what has to happen before it is public
    APPROVAL_MISSING = "approval_missing"
    EMBARGO = "embargo"
    # budget
    OVER_CAP = "over_cap"
    NO_ACCOUNT = "no_account"
    ACCOUNT_MISMATCH = "account_mismatch"
    # targets, checks, verification
    TARGET_NOT_MET = "target_not_met"
    CHECK_FAILED = "check_failed"
    PROBE_FAILED = "probe_failed"
    DIGEST_MISMATCH = "digest_mismatch"
    MISSING_FILE = "missing_file"
    EXTRA_FILE = "extra_file"
    SCHEMA_VIOLATION = "schema_violation"
    WITHDRAWN = "withdrawn"
    CLAIM_NOT_CERTIFIED = "claim_not_certified"
    SIGNATURE_WRONG = "signature_wrong"
    REDRAW_DIFFERS = "redraw_differs"
    REHEARSAL = "rehearsal"
    # machinery
    KEY_UNUSABLE = "key_unusable"
    STORE_UNREACHABLE = "store_unreachable"
    STORE_REFUSED = "store_refused"
    STORE_FULL = "store_full"
    STORE_UNSAFE = "store_unsafe"
    DATABASE_UNREACHABLE = "database_unreachable"
    CHAIN_BROKEN = "chain_broken"
    LEDGER_MOVED = "ledger_moved"
    WORKERS_LOST = "workers_lost"
    LOCKED = "locked"
    INTERRUPTED = "interrupted"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong.

    Args:
        reason: the machine-readable code.
        where: key path, column, file or record, in the user's own names.
        required: what would have been right.
        came: what was found; public text only, never a cell value.
        fix: what the user can do.
        rows: how many rows are concerned, private; shown on the runner's terminal and in restricted reports only.
        line: 1-based line in the release file, when the fault stands in one.
        column: 1-based character column in the release file.
    """

    reason: Reason
    where: str
    required: str
    came: str
    fix: str
    rows: int | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = "" if self.line is None else f"line {self.line}" + ("" if self.column is None else f":{self.column}")
        count = "" if self.rows is None else f" ({self.rows} rows)"
        head = f"{place}, {self.where}" if place else self.where
        return f"{head}: required {self.required}; came {self.came}{count} [{self.reason}]. {self.fix}"


class TrasgoError(Exception):
    """Base of every error this product raises on purpose."""

    exit_code: ClassVar[int] = 1

    def __init__(self, *faults: Fault) -> None:
        super().__init__(*faults)

    @classmethod
    def of(cls, reason: Reason, where: str, *, required: str, came: str, fix: str, rows: int | None = None) -> Self:
        """An error with a single fault."""
        return cls(Fault(reason=reason, where=where, required=required, came=came, fix=fix, rows=rows))

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults, in the order in which they were found."""
        return tuple(self.args)

    @property
    def reason(self) -> Reason:
        """The reason code of the first fault."""
        return self.faults[0].reason if self.args else Reason.INTERNAL

    def without_counts(self) -> Self:
        """The same error with every row count dropped, fit to be stored by an orchestrator."""
        return type(self)(*(replace(fault, rows=None) for fault in self.faults))

    def __str__(self) -> str:
        return "\n".join(str(fault) for fault in self.faults)


class ConfigError(TrasgoError):
    """The release file is wrong; nothing was opened."""

    exit_code = 2


class AmountError(ConfigError):
    """A privacy amount is not exact, not finite, or outside its range."""


class InputContractError(TrasgoError):
    """The source data breaks its contract; nothing was drawn."""

    exit_code = 3


class ConflictError(TrasgoError):
    """The request conflicts with what this version already is; nothing was drawn."""

    exit_code = 4


class BudgetError(TrasgoError):
    """The account refuses the charge; nothing was drawn."""

    exit_code = 5


class TargetsNotMetError(TrasgoError):
    """Some loss target is not met within the total; the version is held."""

    exit_code = 6


class CheckFailedError(TrasgoError):
    """An output check failed; nothing was published."""

    exit_code = 7


class VerificationError(TrasgoError):
    """A published release does not verify."""

    exit_code = 8


class WaitingError(TrasgoError):
    """The release waits for an approval or for its embargo."""

    exit_code = 9


class StoreError(TrasgoError):
    """The object store or the database cannot be reached or refuses."""

    exit_code = 10

    @classmethod
    def of_disk(cls, error: OSError, folder: Path | None = None, needed: int | None = None) -> Self | None:
        """The error for a disk that is full, read-only, forbidden or broken; None for any other trouble.

        Only the number of the system's error is read: its text could name a private file.

        Args:
            error: what the system said.
            folder: a folder on that disk, or None where it is not known.
            needed: bytes that were to be written, or None.
        """
        if error.errno not in _DISK_TROUBLE:
            return None
        is_full = error.errno in _FULL
        came = os.strerror(error.errno)
        if is_full and folder is not None and needed is not None:
            came += f": {needed} bytes were needed, {_free(folder)} are free"
        return cls.of(
            Reason.STORE_FULL if is_full else Reason.STORE_UNREACHABLE,
            "a disk this run writes to",
            required="room and leave to write",
            came=came,
            fix="Make room or correct the permissions, then run again; no draw is paid twice.",
        )

    @classmethod
    def of_room(cls, folder: Path, needed: int) -> Self | None:
        """The error for a disk that has not the room for what is about to be written; None where it has.

        Args:
            folder: a folder on that disk.
            needed: bytes that will be written at least.
        """
        free = _free(folder)
        if free >= needed:
            return None
        return cls.of(
            Reason.STORE_FULL,
            "the disk of the work folder",
            required=f"at least {needed} bytes for stage files",
            came=f"{free} bytes that are free",
            fix="Make room, then run again; no draw is paid twice.",
        )


def _free(folder: Path) -> int:
    """Bytes that are free on the disk of a folder, or of the nearest one above it that exists."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    return shutil.disk_usage(there).free


class InterruptedRunError(TrasgoError):
    """The run stopped half-way and can be resumed."""

    exit_code = 11
