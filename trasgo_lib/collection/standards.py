"""A window described in the forms that archives, catalogues and tools read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from trasgo_lib.collection.statement import CollectionFacts
from trasgo_lib.config import Period
from trasgo_lib.release import REPORT, StagedFile, documents, write_staged
from trasgo_lib.release.collection_file import CHANNELS, COUNTS, MAP_PAGE, POINT_MAP_PAGE
from trasgo_lib.release.crate import CrateFacts
from trasgo_lib.reporting import metadata


def standards_of(
    facts: CollectionFacts, data: Sequence[StagedFile], statement: dict[str, Any], work: Path
) -> Iterator[StagedFile]:
    """The metadata that fit a table of cells; a codebook of microdata (DDI) does not.

    Args:
        facts: what the window came to.
        data: the staged data files.
        statement: the content of ``statement.json``.
        work: restricted work folder.
    """
    period = period_of(facts.window, facts.plan.windows.days)
    description = metadata.CellsDescription(
        info=facts.info.model_copy(update={"temporal": period}),
        dataset=facts.dataset,
        version=facts.version,
        created=facts.created,
        rows=facts.answers,
        data=data,
        privacy_in_words=claim_in_words(statement),
        pages=("codebook.md", REPORT, *pages_of(statement)),
    )
    yield write_staged(metadata.CODEBOOK, metadata.cells_codebook(description, statement), work)
    yield write_staged(metadata.CSVW, documents.dump(metadata.cells_csvw(description), "csvw"), work)
    package = metadata.cells_data_package(description)
    yield write_staged(metadata.DATA_PACKAGE, documents.dump(package, "datapackage"), work)
    yield write_staged(metadata.DCAT, documents.dump(metadata.dcat_document(description), "dcat"), work)


def claim_in_words(statement: Mapping[str, Any]) -> str:
    """What metadata say of the loss of a device.

    Args:
        statement: the content of ``statement.json``.
    """
    rows, device, point = [], statement["device"], statement.get("point")
    if device is not None:
        at = f" at delta {device['delta']}" if device["accounting"] == "zcdp" else ""
        rows.append(f"A device spends at most epsilon {device['lifetime_epsilon']}{at} on all its reports.")
    if point is not None:
        cap, radius = point["lifetime_epsilon"], point["radius_m"]
        rows.append(
            f"A device spends at most epsilon {cap} on all its points, for two lattice cells {radius} m apart; between "
            f"two places of the box that far apart, {point['lifetime_epsilon_of_raw_places']}."
        )
    return " ".join([*rows, statement["guarantee"]])


def pages_of(statement: Mapping[str, Any]) -> tuple[str, ...]:
    """The interactive maps of a window.

    Args:
        statement: the content of ``statement.json``.
    """
    of_points = (statement.get("point") or {}).get("estimates") is not None
    return (*([MAP_PAGE] if statement["versions"] else []), *([POINT_MAP_PAGE] if of_points else []))


def period_of(window: str, days: int) -> Period:
    """First and last day of a window.

    Args:
        window: its first day.
        days: how many it has.
    """
    return Period(start=window, end=(date.fromisoformat(window) + timedelta(days=days - 1)).isoformat())


def crate_facts(facts: CollectionFacts, statement: dict[str, Any]) -> CrateFacts:
    """What research metadata say of a window."""
    return CrateFacts(
        info=facts.info,
        dataset=facts.dataset,
        version=facts.version,
        created=facts.created,
        library_version=facts.library_version,
        commit=facts.commit,
        made="estimates from reports that devices had noised, counted at the office",
        conditions=claim_in_words(statement),
        claims=claims_of(statement),
        names=_NAMES,
    )


def claims_of(statement: Mapping[str, Any]) -> dict[str, str]:
    """Caps of a device that research metadata repeat, under the names that they have in the statement.

    Args:
        statement: the content of ``statement.json``.
    """
    device, point = statement["device"], statement.get("point")
    claims = (
        {} if device is None else {name: str(device[name]) for name in ("daily_epsilon", "lifetime_epsilon", "delta")}
    )
    if point is not None:
        claims |= {f"point_{name}": str(point[name]) for name in _OF_POINTS}
    return claims


_OF_POINTS = ("daily_epsilon", "lifetime_epsilon", "lifetime_epsilon_of_raw_places", "radius_m")

_NAMES = {
    ".parquet": "estimated shares of cells, Parquet",
    ".csv": "estimated shares of cells, CSV",
    ".geojson": "cells of one resolution with their outlines",
    ".svg": "map of one resolution",
    ".json": "alphabet: the cells that devices answered over",
    COUNTS: "counts of noised reports, from which every estimate follows",
    CHANNELS: "channels that reports went through",
    MAP_PAGE: "interactive map, without network",
    POINT_MAP_PAGE: "interactive map of noised points, without network",
}
"""What files are, where it is something else than in a release of rows."""
