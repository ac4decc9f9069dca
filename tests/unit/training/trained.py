"""A small training file and made-up rows for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ruamel.yaml import YAML

from trasgo_lib.noise import Keystream
from trasgo_lib.training import TrainingPlan, read_training

KEY = bytes(range(32))


def training_file(**model: Any) -> dict[str, Any]:
    """A training file as values; keyword arguments change its model."""
    return {
        "format": 1,
        "release": {"dataset": "people", "version": "1", "title": "Made-up people, a model"},
        "source": {"path": "people.csv", "format": "csv"},
        "privacy": {"epsilon_total": "3", "delta_total": "1e-5", "account": "people"},
        "columns": [
            {"name": "age", "type": "number", "domain": {"lower": "18", "upper": "78", "step": "1"}, "outside": "clip"},
            {"name": "sex", "type": "category", "domain": {"codes": ["f", "m"]}},
            {"name": "region", "type": "category", "domain": {"codes": ["north", "east", "south", "west"]}},
        ],
        "rows": 1200,
        "model": {
            "type": "logistic_regression",
            "target": "sex",
            "features": ["age", "region"],
            "epsilon": "2",
            "delta": "1e-5",
            "expected_batch": 100,
            "steps": 20,
            **model,
        },
        "evaluation": {"epsilon": "0.5", "share": "0.25"},
        "publish": {"store": "store"},
    }


def plan_of(folder: Path, document: Mapping[str, Any] | None = None) -> TrainingPlan:
    """Compile a training file."""
    path = folder / "training.yaml"
    with path.open("w", encoding="utf-8") as stream:
        YAML(typ="safe").dump(dict(document or training_file()), stream)
    return read_training(path)[1]


@dataclass(frozen=True)
class Rows:
    """Rows of codes in memory."""

    codes: Mapping[str, np.ndarray]

    @property
    def rows(self) -> int:
        return len(next(iter(self.codes.values())))

    def batches(self, names: Sequence[str]) -> Iterator[Mapping[str, np.ndarray]]:
        for start in range(0, self.rows, 500):
            yield {name: self.codes[name][start : start + 500] for name in names}


def people(rows: int = 1200) -> Rows:
    """Made-up people whose sex follows their age."""
    places = np.arange(rows)
    age = (places * 37 + places // 7) % 61
    sex = ((age > 30) ^ (places % 11 == 0)).astype(np.int32)
    return Rows({"age": age.astype(np.int32), "sex": sex, "region": (places % 4).astype(np.int32)})


def streams(what: str) -> Keystream:
    """Fixed keystreams."""
    return Keystream(KEY, "training", what)
