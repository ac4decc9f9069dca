"""What a file makes: a release, answers or a model; what a version, its account and its places need of any of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trasgo_lib.config import LoadedConfig, holds_model
from trasgo_lib.plan import ReleasePlan
from trasgo_lib.statistics import StatisticsPlan, read_either
from trasgo_lib.training.compile import read_training
from trasgo_lib.training.model import TrainingPlan


@dataclass(frozen=True, slots=True)
class Product:
    """A compiled file.

    Args:
        loaded: the file, as far as the rules of release files go.
        base: source, columns, privacy and places; the whole plan of a release.
        statistics: queries of a statistics file, else None.
        training: model of a training file, else None.
    """

    loaded: LoadedConfig
    base: ReleasePlan
    statistics: StatisticsPlan | None = None
    training: TrainingPlan | None = None

    @property
    def verb(self) -> str:
        """The command that makes it."""
        return verb_of(self.statistics, self.training)


def verb_of(statistics: StatisticsPlan | None, training: TrainingPlan | None) -> str:
    """The command that makes what a file declares.

    Args:
        statistics: queries of a statistics file, else None.
        training: model of a training file, else None.
    """
    if training is not None:
        return "train"
    return "run" if statistics is None else "query"


def read_product(path: Path) -> Product:
    """Read and compile a release file, a statistics file or a training file; opens no data.

    Raises:
        ConfigError: all faults at once.
    """
    if holds_model(path):
        loaded, plan = read_training(path)
        return Product(loaded.loaded, plan.base, training=plan)
    release, base, statistics = read_either(path)
    return Product(release, base, statistics=statistics)
