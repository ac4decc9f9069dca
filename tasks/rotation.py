"""Changing the wrapping key of a ledger: every secret anew in one transaction, read back, and only then the key file.

A key file is changed in five steps, and the same command goes on after a crash between any two:

1. the new key is written beside the old one, as ``<file>.new``;
2. the ledger's secrets are wrapped under it, all or none;
3. each is opened with the new key and compared with its commitment;
4. the signing keys are wrapped under it;
5. the old key is kept as ``<file>.retired-<n>``, and the new one takes its place.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tasks.version_life import now
from trasgo_lib.errors import ConflictError, Reason
from trasgo_lib.keys import SigningKeys, WrappingKey, commitment, digest_key_context, root_context
from trasgo_lib.records import Account, Records, VersionRecord


@dataclass(frozen=True, slots=True)
class Rotation:
    """What a rotation did.

    Args:
        accounts: digest keys that are under the new key.
        versions: roots that are under the new key.
        done_before: whether an earlier, interrupted call had wrapped them already.
    """

    accounts: int
    versions: int
    done_before: bool


def rotate(records: Records, old: WrappingKey, new: WrappingKey, actor: str, reason: str) -> Rotation:
    """Wrap every secret of a ledger under another key, and read each back.

    Args:
        records: the ledger.
        old: the present key; secret.
        new: the key to come; secret.
        actor: who does it.
        reason: why, in words.

    Raises:
        ConflictError: a run holds a version, the keys are the same, or some secret is under neither key.
        StoreError: the ledger is out of reach, broken or closed, or the role may not change it.
    """
    records.require_open()
    accounts = records.accounts()
    if accounts and all(_opens(new, account) for account in accounts):
        if all(_opens(old, account) for account in accounts):
            raise _conflict("another key than the present one", "the same key", "Name a new key.")
        count = _read_back(records, new)
        return Rotation(len(accounts), count, done_before=True)

    def anew(wrapped: bytes, context: bytes) -> bytes:
        # what was stored while an interrupted call waited can be under either key
        try:
            secret = old.unwrap(wrapped, context)
        except ConflictError:
            secret = new.unwrap(wrapped, context)
        return new.wrap(secret, context, os.urandom)

    def root(record: VersionRecord) -> bytes:
        return anew(record.wrapped_root, root_context(record.dataset, record.version))

    def digest_key(account: Account) -> bytes:
        return anew(account.wrapped_digest_key, digest_key_context(account.terms.name))

    wrapped = records.rewrap(root, digest_key, actor, reason, now())
    _read_back(records, new)
    return Rotation(*wrapped, done_before=False)


def require_key_of(records: Records, key: WrappingKey) -> None:
    """Stop before a secret is stored under another key than those that are there: a ledger has one.

    Args:
        records: the ledger.
        key: the wrapping key; secret.

    Raises:
        ConflictError: an account's digest key does not open.
    """
    if not all(_opens(key, account) for account in records.accounts()):
        raise ConflictError.of(
            Reason.KEY_UNUSABLE,
            "wrapping key",
            required="the key under which this ledger's other accounts are stored",
            came="another one",
            fix="Use that key, or name another ledger. After an interrupted rotation: trasgo key rotate, once more.",
        )


def _opens(key: WrappingKey, account: Account) -> bool:
    try:
        key.unwrap(account.wrapped_digest_key, digest_key_context(account.terms.name))
    except ConflictError:
        return False
    return True


def _read_back(records: Records, key: WrappingKey) -> int:
    """Open every secret with the new key; a root must be the one that was charged for."""
    for account in records.accounts():
        key.unwrap(account.wrapped_digest_key, digest_key_context(account.terms.name))
    kept = [record for record in records.versions() if record.wrapped_root]
    for record in kept:
        root = key.unwrap(record.wrapped_root, root_context(record.dataset, record.version))
        if commitment(root) != record.commitment:
            raise _conflict("roots that were charged for", "another one", "Keep both keys, and restore the ledger.")
    return len(kept)


def rewrap_signing(path: Path, old: WrappingKey, new: WrappingKey) -> int:
    """Wrap the office's signing keys under the new key, unless they are under it already.

    Args:
        path: the file of the signing keys; an office that does not sign has none.
        old: the present key; secret.
        new: the key to come; secret.

    Returns:
        How many signing keys are under the new key.

    Raises:
        ConflictError: they are under neither key.
    """
    if not path.exists():
        return 0
    keys = SigningKeys.from_file(path)
    try:
        for public in keys.public:
            keys.key(new, public.key_id)
    except ConflictError:
        keys = keys.rewrapped(old, new, os.urandom)
        keys.write_file(path, replace=True)
    return len(keys.public)


def next_key(path: Path) -> WrappingKey:
    """The key that takes the place of the one in a file: made now, or by a rotation that was interrupted."""
    beside = path.with_name(f"{path.name}.new")
    if not beside.exists():
        WrappingKey.generate(os.urandom).write_file(beside)
    return WrappingKey.from_file(beside)


def take_place(path: Path) -> Path:
    """Keep the old key file under another name and put the new one in its place; says where the old one is.

    There is a key at ``path`` at every moment.
    """
    number = 1
    while (retired := path.with_name(f"{path.name}.retired-{number}")).exists():
        if retired.samefile(path):
            break
        number += 1
    if not retired.exists():
        os.link(path, retired)
    path.with_name(f"{path.name}.new").replace(path)
    handle = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    return retired


def _conflict(required: str, came: str, fix: str) -> ConflictError:
    return ConflictError.of(Reason.KEY_UNUSABLE, "rotation of the wrapping key", required=required, came=came, fix=fix)
