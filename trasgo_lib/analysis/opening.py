"""Opening a release: verified first, read lazily afterwards."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import MappingProxyType

from trasgo_lib.analysis.columns import read_columns
from trasgo_lib.analysis.counting import PublishedRows
from trasgo_lib.analysis.lookup import refused
from trasgo_lib.analysis.release import Release
from trasgo_lib.keys import read_public_keys
from trasgo_lib.release import CHANNEL, MANIFEST, STATEMENT, verify_release
from trasgo_lib.release.documents import parse
from trasgo_lib.release.package import data_key
from trasgo_lib.release.stored import open_stored
from trasgo_lib.storage import ObjectStore, open_store


def open_release(
    location: str | Path | ObjectStore, prefix: str = "", *, verify: bool = True, key: Path | str | None = None
) -> Release:
    """Open a published release for analysis.

    Nothing but its public files is needed: no database, no secret, no server.

    Args:
        location: folder or URI of the release, or of a root that holds it, or an open store.
        prefix: where the release stands below that location; empty when the location is the release.
        verify: whether every file, certificate and claim is checked first, as ``trasgo verify`` does. Without it a
            changed copy gives wrong answers.
        key: PEM file of the publisher's public keys; without it nothing shows who published.

    Returns:
        The release; its rows are read when a question needs them, a batch at a time.

    Raises:
        VerificationError: a check failed, or a document is not what this version reads.
        OSError: the key file cannot be read.
        StoreError: the location does not exist or does not answer.
        ConfigError: the location is of a kind that cannot be opened, or a channel cannot be rebuilt.
        InputContractError: the location is no text, path or store.
    """
    _require_place(location)
    store = location if isinstance(location, ObjectStore) else open_store(location, create=False)
    inside = prefix.strip("/")
    if verify:
        keys = () if key is None else read_public_keys(Path(key).read_bytes(), where=f"public key file {key}")
        verify_release(store, inside, keys).require()
    manifest, channel_file, statement = (
        parse(store.get(_key(inside, path)), schema)
        for path, schema in ((MANIFEST, "manifest"), (CHANNEL, "channel"), (STATEMENT, "statement"))
    )
    columns = {column.name: column for column in read_columns(channel_file)}
    return Release(
        location=store.uri(inside),
        dataset=manifest["dataset"],
        version=manifest["version"],
        rows=manifest["rows"],
        noised=MappingProxyType(columns),
        public=tuple(statement["public_columns"]),
        data=PublishedRows(partial(open_stored, store, _key(inside, data_key(manifest["dataset"], "parquet")))),
    )


def _require_place(location: object) -> None:
    if not isinstance(location, str | Path | ObjectStore):
        came = type(location).__name__
        raise refused("location", "a folder or URI, as text or path", came, "Name the folder of the release.")


def _key(prefix: str, path: str) -> str:
    return f"{prefix}/{path}" if prefix else path
