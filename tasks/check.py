"""Check: stage the data files, read them back, and probe every channel; no raw value is compared."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from prefect import task

from tasks.draw import Draw
from tasks.policies import PURE, at_boundary
from tasks.session import RunRef, open_session
from trasgo_lib.checks import DATA_DOCS, CheckReport, check_batches, data_docs, expected_table, judge_probe, probe_rows
from trasgo_lib.data import PrivateCodes, ReleasedCodes, ReleasedTable, codes_digest, read_codes, write_batch
from trasgo_lib.mechanisms import probe_codes
from trasgo_lib.release import (
    StagedFile,
    compare_staged,
    public_types,
    read_parquet_batches,
    stage_data,
    stage_page,
)

_LOGGER = logging.getLogger("trasgo")


@dataclass(frozen=True, slots=True)
class Checked:
    """What will be published and what the checks say of it; public facts, but for the digests.

    Args:
        files: the staged data files.
        report: every check, probes included.
        codes: keyed digest of each unit's released codes, in plan order; private.
        docs: the staged Data Docs, for the restricted root.
    """

    files: tuple[StagedFile, ...]
    report: CheckReport
    codes: tuple[tuple[str, str], ...] = field(repr=False)
    docs: StagedFile


@task(name="prepare probe", **PURE)
@at_boundary
def prepare_probe(ref: RunRef, draw: Draw) -> PrivateCodes:
    """Public synthetic codes for one unit, stored as if they were private, so that they take the same road."""
    session = open_session(ref)
    channel = session.plan.unit(draw.unit).channel(draw.level)
    codes = probe_codes(channel, probe_rows(channel))
    key = session.digest_key()
    batch = write_batch(session.work / "probe" / "inputs", draw.unit, 0, codes, key)
    return PrivateCodes(draw.unit, (batch,), codes_digest([codes], key))


@task(name="check", **PURE)
@at_boundary
def check_release(
    ref: RunRef,
    released: ReleasedTable,
    draws: Sequence[Draw],
    probed: Sequence[tuple[PrivateCodes, ReleasedCodes]],
) -> Checked:
    """Stage the data files and check the very bytes that will be published.

    Args:
        ref: the run.
        released: the table to publish.
        draws: the published draw of each unit, in plan order.
        probed: probe codes and what the draw task made of them, in the same order.
    """
    session = open_session(ref)
    plan = session.plan
    files = stage_data(released, plan, session.work / "staged")
    parquet = next(file for file in files if file.path.suffix == ".parquet")
    expected = expected_table(plan, released.rows, public_types(released))
    report = check_batches(expected, read_parquet_batches(parquet.path))
    report = report.with_results(compare_staged(files))
    report = report.with_results(
        judge_probe(draw.unit, plan.unit(draw.unit).channel(draw.level), read_codes(inputs), read_codes(outputs))
        for draw, (inputs, outputs) in zip(draws, probed, strict=True)
    )
    _LOGGER.info("check: %d checks, %d failed", len(report.results), len(report.failures))
    page = data_docs(expected, report, f"{plan.dataset}, version {plan.version}")
    docs = stage_page(DATA_DOCS, page.encode(), session.work)
    return Checked(files, report, tuple((codes.unit, codes.digest) for codes in released.units), docs)
