"""Digests that freeze what was planned: SHA-256 over canonical JSON (RFC 8785)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import rfc8785

from trasgo_lib.amounts import Delta, Epsilon, Geo
from trasgo_lib.config import ROWS_PER_BATCH, ReleaseConfig
from trasgo_lib.data import Domain
from trasgo_lib.plan.channels import Parameter
from trasgo_lib.plan.model import ColumnPlan, UnitPlan

Canonical = str | int | bool | None | Sequence["Canonical"] | Mapping[str, "Canonical"]


def canonical_digest(document: Mapping[str, Canonical]) -> str:
    """SHA-256 of a document's canonical JSON, hex."""
    return hashlib.sha256(rfc8785.dumps(_plain(document))).hexdigest()


def chain_digest(
    *,
    mechanism: str,
    version: int,
    parameters: tuple[tuple[str, Parameter], ...],
    domain: Domain,
    columns: tuple[str, ...],
    reading: Mapping[str, Canonical],
    rungs: tuple[Epsilon, ...],
    channels: tuple[str, ...],
    delta: str,
    geo: str,
) -> str:
    """What fixes a noise unit's draws.

    The way from cells to codes is part of it: two readings of one file under one key would give the same noise on
    different codes. So are the integers of every rung: the search for a scale is guided by floats, and a machine that
    found other weights must stop with another plan and never draw from them with words that were used before.

    Args:
        mechanism: registry name.
        version: version of the mechanism's definition.
        parameters: the mechanism's parameters.
        domain: the declared domain.
        columns: released columns.
        reading: source columns, file format, missing and outside policies.
        rungs: the whole ladder.
        channels: digest of each rung's channel, which covers its weights.
        delta: delta of each draw, decimal text.
        geo: geo epsilon of each draw, decimal text.
    """
    return canonical_digest(
        {
            "format": 1,
            "mechanism": mechanism,
            "mechanism_version": version,
            "parameters": dict(parameters),
            "domain": domain.describe(),
            "columns": columns,
            "reading": reading,
            "rungs": [rung.text for rung in rungs],
            "channels": channels,
            "delta": delta,
            "geo": geo,
        }
    )


def plan_digest(
    config: ReleaseConfig,
    totals: tuple[Epsilon, Delta, Geo],
    columns: tuple[ColumnPlan, ...],
    units: tuple[UnitPlan, ...],
) -> str:
    """Everything privacy relevant of a release, and the batches; titles, places, checks and formats are not.

    Rows per batch change no draw, but the bytes of files, which are put once: what was begun goes on with the same. The
    default is left out, so that digests from before there was a choice stay what they were.

    Args:
        config: the release file.
        totals: the totals per privacy unit.
        columns: every column and its role.
        units: every noise unit.
    """
    privacy, loop = config.privacy, config.loop
    unit = "row" if privacy.unit == "row" else privacy.unit.model_dump()
    supersedes = config.release.supersedes
    return canonical_digest(
        {
            "format": 1,
            # only where it is set, so that plans of versions that correct none keep their digests
            **({} if supersedes is None else {"supersedes": supersedes.model_dump()}),
            **({"rehearsal": True} if config.rehearsal else {}),
            "dataset": config.release.dataset,
            "version": config.release.version,
            "account": privacy.account,
            "unit": unit,
            "row_order": privacy.row_order,
            "totals": [total.text for total in totals],
            # start and ratio are in the rungs
            "loop": loop.model_dump(exclude={"start", "ratio"}),
            "reading": reading_of_file(config),
            "columns": [[column.name, column.role, list(column.sources), list(column.released)] for column in columns],
            "units": [[unit.name, unit.chain_digest, _target(unit), _bins(unit)] for unit in units],
            **_batches(config),
        }
    )


def _batches(config: ReleaseConfig) -> dict[str, Canonical]:
    rows = config.publish.rows_per_batch
    return {} if rows == ROWS_PER_BATCH else {"rows_per_batch": rows}


def reading_of_file(config: ReleaseConfig) -> dict[str, Canonical]:
    """How the source file is read, without its place."""
    if config.source.format == "parquet":
        return {"format": "parquet"}
    return {"format": "csv", "csv": config.source.csv.model_dump()}


def _target(unit: UnitPlan) -> list[str] | None:
    return None if unit.target is None else [unit.target.loss, unit.target.ceiling]


def _bins(unit: UnitPlan) -> int | list[int | None] | None:
    return [part.bins for part in unit.parts] if unit.parts else unit.bins


def _plain(value: Canonical) -> Canonical:
    """Tuples as lists: the canonicaliser knows no tuples."""
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(entry) for entry in value]
    return value
