"""What a failed request means, in words: whether another attempt can cure it, and what the operator is to do.

Of a client's message only the HTTP status and the store's own error code are read. The rest is never shown: it can hold
addresses, signatures and names.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from obstore.exceptions import InvalidPathError, NotSupportedError, PermissionDeniedError, UnauthenticatedError

from trasgo_lib.errors import Reason, StoreError
from trasgo_lib.storage.folders import link_below

_STATUS = re.compile(r"status code: (\d{3})\b")
_CODE = re.compile(r"<Code>([A-Za-z0-9]{1,64})</Code>")

_TRANSIENT_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_FINAL_CODES = frozenset({"NotImplemented", "InvalidBucketState"})

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FINAL_ERRNO = _FULL | {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG}

_CREDENTIALS = (
    "credentials that the store does not accept",
    "Correct this root's credentials (configs/README.md says where they come from), then run again.",
)
_FORBIDDEN = (
    "a refusal: these credentials may not do this, or are not accepted",
    "Allow s3:PutObject, s3:GetObject and s3:ListBucket below this prefix, or correct the credentials; then run again.",
)
_NO_BUCKET = ("no such bucket", "Make the bucket, or correct its name, the endpoint or the region; then run again.")
_REGION = ("a bucket of another region", "Correct the region, then run again.")
_CLOCK = (
    "a clock that is more than 15 minutes off: the store refuses what is signed with it",
    "Set this machine's clock (its UTC time counts, so look at its time zone too), then run again.",
)
_STORE_FULL = ("a store that is full", "Make room in the store, then run again; no draw is paid twice.")

_REFUSALS: dict[str, tuple[str, str]] = {
    "InvalidAccessKeyId": _CREDENTIALS,
    "SignatureDoesNotMatch": _CREDENTIALS,
    "ExpiredToken": _CREDENTIALS,
    "InvalidToken": _CREDENTIALS,
    "AccessDenied": _FORBIDDEN,
    "AllAccessDisabled": _FORBIDDEN,
    "NoSuchBucket": _NO_BUCKET,
    "InvalidBucketName": _NO_BUCKET,
    "PermanentRedirect": _REGION,
    "AuthorizationHeaderMalformed": _REGION,
    "RequestTimeTooSkewed": _CLOCK,
    "RequestExpired": _CLOCK,
}
"""What stores say when another attempt cannot help, in S3's own codes."""

_REQUIRED = {
    Reason.STORE_UNREACHABLE: "a store that answers",
    Reason.STORE_REFUSED: "a store that takes this request",
    Reason.STORE_FULL: "room in the store",
}

_FULL_CODES = frozenset({"XMinioStorageFull", "InsufficientStorage", "QuotaExceeded", "InsufficientCapacity"})


@dataclass(frozen=True, slots=True)
class Trouble:
    """One failed operation, read.

    Args:
        came: what happened, in words.
        fix: what to do.
        reason: the reason code.
        may_pass: whether another attempt can cure it.
    """

    came: str
    fix: str
    reason: Reason = Reason.STORE_UNREACHABLE
    may_pass: bool = False

    def error(self, where: str, attempts: int) -> StoreError:
        """The error to raise after so many attempts."""
        came = f"{self.came} after {attempts} attempt(s)" if self.may_pass else self.came
        return StoreError.of(self.reason, where, required=_REQUIRED[self.reason], came=came, fix=self.fix)


class TakenAndGoneError(OSError):
    """A key was taken a moment ago and holds nothing now: another writer gave up, or wrote at the same instant."""


def is_absent(error: Exception) -> bool:
    """Whether an error says that there is no such object; a missing bucket is another matter."""
    return isinstance(error, FileNotFoundError) and _code(error) in ("", "NoSuchKey", "NoSuchVersion")


def read_trouble(error: Exception, root: Path | None, size: int | None) -> Trouble:
    """What an error of the client or of the system means.

    Args:
        error: what was raised.
        root: the store's folder, or None when it has none.
        size: how many bytes were to be written, or None.
    """
    if isinstance(error, OSError) and error.errno is not None:
        return _of_system(error, root, size)
    code, status = _code(error), _status(error)
    label = " ".join(part for part in (str(status or ""), code) if part)
    if code in _FULL_CODES or status == 507:
        came, fix = _STORE_FULL
        needed = "" if size is None else f"; {size} bytes were needed, what is left it does not say"
        return Trouble(f"{came} ({label}){needed}", fix, Reason.STORE_FULL)
    if code in _REFUSALS:
        came, fix = _REFUSALS[code]
        return Trouble(f"{came} ({code})", fix, Reason.STORE_REFUSED)
    if status in (401, 403) or isinstance(error, (PermissionDeniedError, UnauthenticatedError)):
        came, fix = _FORBIDDEN
        return Trouble(f"{came} ({label or type(error).__name__})", fix, Reason.STORE_REFUSED)
    final = isinstance(error, (InvalidPathError, NotSupportedError)) or code in _FINAL_CODES
    if final or (status is not None and status not in _TRANSIENT_STATUS):
        fix = "The store does not serve this request: check that it is an S3 store, and its endpoint."
        return Trouble(f"a refusal ({label or type(error).__name__})", fix, Reason.STORE_REFUSED)
    return _of_network(error, label)


def _of_network(error: Exception, label: str) -> Trouble:
    text = str(error)
    if "redirect without LOCATION" in text:  # how the client tells a status that S3 gives for another region
        came, fix = _REGION
        return Trouble(came, fix, Reason.STORE_REFUSED)
    if isinstance(error, TakenAndGoneError):
        came = "a key that another writer holds"
    elif label:
        came = f"a store that is out of order ({label})"
    elif "kind: Timeout" in text:
        came = "no answer in time"
    elif "kind: Connect" in text:
        came = "no connection"
    else:
        came = type(error).__name__
    fix = "Check the store, its endpoint and the network (or the disk), then run again; no draw is paid twice."
    return Trouble(came, fix, may_pass=True)


def _of_system(error: OSError, root: Path | None, size: int | None) -> Trouble:
    number = error.errno or 0
    words = os.strerror(number)
    if number in _FULL:
        needed = "" if size is None else f"; {size} bytes were needed"
        return Trouble(
            f"{words}{needed}{_left(root)}", "Make room, then run again; no draw is paid twice.", Reason.STORE_FULL
        )
    if number in _FINAL_ERRNO:
        return Trouble(words, "Correct the folder or its permissions, then run again.", Reason.STORE_REFUSED)
    return Trouble(words, "Check the disk, then run again; no draw is paid twice.", may_pass=True)


def _left(root: Path | None) -> str:
    try:
        return "" if root is None else f", {shutil.disk_usage(root).free} bytes are free"
    except OSError:
        return ""


def _code(error: Exception) -> str:
    found = _CODE.search(str(error))
    return found.group(1) if found else ""


def _status(error: Exception) -> int | None:
    found = _STATUS.search(str(error))
    return int(found.group(1)) if found else None


def require_no_link(root: Path | None, path: str) -> None:
    """Stop before a write or a removal that a symbolic link below the root would lead elsewhere.

    Args:
        root: the store's folder, which may be a link itself; None where there is none.
        path: the object's key.

    Raises:
        StoreError: there is a link on the way (``STORE_UNSAFE``).
    """
    link = None if root is None else link_below(root, path)
    if link is not None:
        raise StoreError.of(
            Reason.STORE_UNSAFE,
            str(link),
            required="folders and files of the store itself",
            came="a symbolic link, which leads elsewhere",
            fix="Nothing was written or removed there. Find out who made it; the root alone may be a link.",
        )
