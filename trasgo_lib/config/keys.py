"""Every key a release file may hold: one walk over the models serves messages, documentation and their tests."""

from __future__ import annotations

import types
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Tag
from pydantic.fields import FieldInfo

from trasgo_lib.config.collection import CollectionConfig
from trasgo_lib.config.release import ReleaseConfig
from trasgo_lib.config.statistics import StatisticsConfig

Pattern = tuple[str, ...]
"""A path with ``[]`` for list positions and ``?tag`` for the chosen form of a value that has several."""


STATISTICS: Pattern = ("?statistics",)
"""What the patterns of statistics files begin with; those of release files begin with nothing."""

COLLECTION: Pattern = ("?collection",)
"""What the patterns of collection files begin with."""


@cache
def models_by_pattern() -> dict[Pattern, type[BaseModel]]:
    """The model that stands at each pattern of a release file."""
    return dict(_walk(ReleaseConfig, ()))


@cache
def statistics_models() -> dict[Pattern, type[BaseModel]]:
    """The model that stands at each pattern of a statistics file."""
    return dict(_walk(StatisticsConfig, STATISTICS))


@cache
def collection_models() -> dict[Pattern, type[BaseModel]]:
    """The model that stands at each pattern of a collection file."""
    return dict(_walk(CollectionConfig, COLLECTION))


@cache
def documented_keys() -> frozenset[str]:
    """Every key as ``configs/README.md`` writes it, such as ``columns[].domain.step``."""
    return _written_keys(models_by_pattern())


@cache
def documented_query_keys() -> frozenset[str]:
    """Every key of a statistics file that no release file has, such as ``queries[].epsilon``."""
    return _written_keys(statistics_models()) - documented_keys()


@cache
def documented_collection_keys() -> frozenset[str]:
    """Every key of a collection file that no release file has, such as ``channel.epsilon_permanent``."""
    return _written_keys(collection_models()) - documented_keys()


def _written_keys(models: dict[Pattern, type[BaseModel]]) -> frozenset[str]:
    return frozenset(_written((*pattern, name)) for pattern, model in models.items() for name in model.model_fields)


def fields_at(pattern: Pattern) -> dict[str, FieldInfo]:
    """The keys that may stand in the mapping at a pattern, with their descriptions and examples."""
    models = _MODELS.get(pattern[:1], models_by_pattern)()
    model = models.get(pattern)
    return {} if model is None else model.model_fields


_MODELS = {STATISTICS: statistics_models, COLLECTION: collection_models}


def _written(pattern: Pattern) -> str:
    parts = [part for part in pattern if not part.startswith("?")]
    return "".join(part if part == "[]" else f".{part}" for part in parts).lstrip(".")


def _walk(annotation: Any, pattern: Pattern) -> Iterator[tuple[Pattern, type[BaseModel]]]:
    origin = get_origin(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield pattern, annotation
        for name, field in annotation.model_fields.items():
            tags = tuple(item.tag for item in field.metadata if isinstance(item, Tag))
            yield from _walk(field.annotation, (*pattern, name, *tags))
    elif origin is Annotated:
        inner, *metadata = get_args(annotation)
        tags = tuple(item.tag for item in metadata if isinstance(item, Tag))
        yield from _walk(inner, (*pattern, *tags))
    elif origin in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _walk(member, pattern)
    elif origin is tuple:
        yield from _walk(get_args(annotation)[0], (*pattern, "[]"))
