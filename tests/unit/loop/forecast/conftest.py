"""A demonstration plan and its prior, read once."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from trasgo_lib.config import LoadedConfig
from trasgo_lib.loop.forecast import Population, PublicKnowledge
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import ReleasePlan, read_plan
from trasgo_lib.utility import loss_columns

DEMO = Path(__file__).resolve().parents[4] / "configs" / "demo" / "cps1988.yaml"


def stream(*label):
    return Keystream(bytes(32), *label)


@dataclass(frozen=True)
class Demo:
    loaded: LoadedConfig
    plan: ReleasePlan
    known: PublicKnowledge
    population: Population


@pytest.fixture(scope="session")
def demo() -> Demo:
    loaded, plan = read_plan(DEMO)
    columns = loss_columns(plan)
    known = PublicKnowledge.of(plan.prior, columns, {column.name: column.size for column in columns})
    return Demo(loaded, plan, known, Population.of(known))
