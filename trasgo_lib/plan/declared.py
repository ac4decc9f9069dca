"""The columns of a release file without its mechanisms: what a prior is written for, how a public file is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from trasgo_lib.config import LoadedConfig, PlainColumn, PointColumn, load_config
from trasgo_lib.data.reading import ColumnReading, Kind, SourceReading
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.plan.compile_prior import restricted_folder
from trasgo_lib.plan.faults import FaultCollector
from trasgo_lib.plan.model import PartPlan
from trasgo_lib.plan.parts import compile_part, sources_of
from trasgo_lib.plan.public_file import why_not_public
from trasgo_lib.plan.reading import csv_reading


def declared_columns(path: Path) -> tuple[LoadedConfig, dict[str, PartPlan]]:
    """Every noised number, date and category of a release file by name; its mechanisms and levels are not looked at.

    Args:
        path: a release file; public.

    Raises:
        ConfigError: faults of shape, or of a domain or missing policy.
    """
    loaded = load_config(path)
    faults = FaultCollector(loaded)
    parts = {
        column.name: compile_part(column, ("columns", position), loaded.config, faults)
        for position, column in enumerate(loaded.config.columns)
        if not isinstance(column, (PlainColumn, PointColumn))
    }
    faults.raise_all()
    return loaded, {name: part for name, part in parts.items() if part is not None}


def public_reading(loaded: LoadedConfig, parts: Mapping[str, PartPlan], path: Path) -> SourceReading:
    """How a public file with the release's columns is read; columns without a prior are not.

    Args:
        loaded: the release file.
        parts: from ``declared_columns``.
        path: the file, said to be public.

    Raises:
        ConfigError: the file of the raw rows, a copy of it, or one in the restricted root.
    """
    config = loaded.config
    restricted = restricted_folder(config, FaultCollector(loaded))
    came = why_not_public(path, loaded.resolve(config.source.path), restricted)
    if came is not None:
        raise ConfigError.of(
            Reason.BAD_PARAMETER,
            "--from-file",
            required="a file that everyone may read",
            came=came,
            fix="Take another survey's public microdata; the rows themselves decide nothing.",
        )
    columns = []
    for column in config.columns:
        part = parts.get(column.name)
        here = ColumnReading(name=column.name, sources=sources_of(column), kind="text", role="drop")
        if part is not None:
            here = replace(
                here,
                kind=cast(Kind, part.type),
                domain=part.domain,
                role="noised",
                outside=part.outside,
                missing=part.missing,
                fill=part.fill,
                missing_codes=part.missing_codes,
                date_format=part.date_format,
                members=part.members,
            )
        columns.append(here)
    return SourceReading(
        path=path,
        format=config.source.format,
        columns=tuple(columns),
        csv=csv_reading(config.source.csv),
        privacy_unit=None,
        max_rows=1,
        row_order="source",
        groups=(),
    )
