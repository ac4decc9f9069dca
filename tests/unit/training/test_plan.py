"""Training files: what is refused before data is opened, what noise is planned, what people are told."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from trained import plan_of, training_file

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.budget import Composition, Partition, Tally, cost
from trasgo_lib.errors import BudgetError, ConfigError
from trasgo_lib.training import TrainingPlan, explain_training, pld_epsilon, read_product, render_training
from trasgo_lib.training.calibration import _text, least_noise
from trasgo_lib.training.compile import rate_text


def _changed(path: str, value: Any) -> dict[str, Any]:
    document = training_file()
    *above, last = path.split(".")
    place: Any = document
    for key in above:
        place = place[int(key)] if isinstance(place, list) else place[key]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        ("rows", None, "rows"),
        ("rows", 10**6, "model.delta"),
        ("model.delta", "0", "model.delta"),
        ("model.delta", "0.001", "model.delta"),
        ("model.epsilon", 2.0, "model.epsilon"),
        ("model.epsilon", "5", "model.epsilon"),
        ("model.epsilon", "0.0001", "model.epsilon"),
        ("model.target", "age", "model.target"),
        ("model.target", "sxe", "model.target"),
        ("model.features", ["age", "sex"], "model.features[#2]"),
        ("model.features", ["age", "age"], "model.features[#2]"),
        ("model.features", ["income"], "model.features[#1]"),
        ("model.features", [], "model.features"),
        ("model.expected_batch", 1201, "model.expected_batch"),
        ("model.sampling_rate", "0.1", "model"),
        ("model.hidden", [4], "model.hidden"),
        ("model.steps", 0, "model.steps"),
        ("model.clip_norm", "0", "model.clip_norm"),
        ("evaluation.share", "1", "evaluation.share"),
        ("evaluation.public_file", "rows.csv", "evaluation"),
        ("privacy.epsilon_total", "2.4", "privacy.epsilon_total"),
        ("privacy.delta_total", "0", "privacy.delta_total"),
        ("privacy.unit", {"column": "person", "max_rows": 2}, "privacy.unit.max_rows"),
        ("columns.0.mechanism", "laplace", "columns[age].mechanism"),
        ("columns.1.missing", "code", "model.target"),
    ],
)
def test_what_is_wrong_is_refused_at_its_key(path: str, value: Any, where: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        plan_of(tmp_path, _changed(path, value))
    assert where in {fault.where for fault in refused.value.faults}, refused.value
    assert all(fault.line for fault in refused.value.faults)


def test_a_sample_that_cannot_be_drawn_is_told_with_its_limit(tmp_path: Path) -> None:
    for value, came in ((1201, "1201, a sample of more"), (10**6, "1000000, a sample of more")):
        with pytest.raises(ConfigError) as refused:
            plan_of(tmp_path, _changed("model.expected_batch", value))
        fault = next(one for one in refused.value.faults if one.where == "model.expected_batch")
        assert fault.came == came
        assert "at most the 900 that training may draw from" in fault.required


def test_widths_belong_to_networks(tmp_path: Path) -> None:
    assert plan_of(tmp_path, training_file(type="network", hidden=[8, 4])).descent.shapes == ((6, 8), (9, 4), (5, 1))
    for hidden in ([], [1, 2, 3], [0], [300]):
        with pytest.raises(ConfigError):
            plan_of(tmp_path, training_file(type="network", hidden=hidden))


def test_a_public_file_is_no_copy_of_the_source(tmp_path: Path) -> None:
    document = training_file() | {"evaluation": {"public_file": "public.csv"}}
    with pytest.raises(ConfigError, match="a file"):
        plan_of(tmp_path, document)
    (tmp_path / "people.csv").write_text("age\n1\n")
    (tmp_path / "public.csv").write_text("age\n1\n")
    with pytest.raises(ConfigError, match="public"):
        plan_of(tmp_path, document)
    (tmp_path / "public.csv").write_text("age\n2\n")
    plan = plan_of(tmp_path, document)
    assert [name for name, _ in plan.charges] == ["model", "noise table"]
    assert plan.descent.expected_rows == pytest.approx(100, rel=1e-6)


def test_the_plan_keeps_its_epsilon_and_wastes_little(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    charged = {name: cost(event) for name, event in plan.charges}
    assert charged["model"].epsilon <= Epsilon.parse("2") and charged["model"].epsilon.units > 1_998_000
    assert charged["model"].delta + charged["noise table"].delta == Delta.parse("1e-5")
    assert plan.cost == charged["model"] + charged["noise table"] + charged["accuracy"]
    law, moves = plan.descent, plan.sensitivity
    assert law.variance == (Fraction(plan.event.noise_multiplier) * (2**law.grid_bits + 3)) ** 2
    assert (moves.clipped, moves.rounding, law.parameters) == (2**law.grid_bits, 3, 6)
    assert Fraction(plan.event.rate) * 2**32 == law.rate_units
    assert law.expected_rows == pytest.approx(100, rel=1e-6)


def test_an_account_in_rho_refuses_a_training_and_parts_compose_in_parallel(tmp_path: Path) -> None:
    """The delta of the noise's table has no concentrated or Renyi loss, so no such account takes a training."""
    plan, delta = plan_of(tmp_path), Delta.parse("1e-5")
    for composition in (Composition("zcdp", delta), Composition("renyi", delta, 8)):
        with pytest.raises(BudgetError):
            _tally(plan, Tally(composition, 1, ()), None)
    years = Partition("year", ("2024", "2025"))
    one = _tally(plan, Tally(Composition("basic"), 1, (years,)), ("year", "2024"))
    assert one.total == plan.cost == _tally(plan, one, ("year", "2025")).total
    assert _tally(plan, one, ("year", "2024")).total == plan.cost + plan.cost == _tally(plan, one, None).total
    with pytest.raises(BudgetError):
        _tally(plan, one, ("year", "2026"))


def _tally(plan: TrainingPlan, tally: Tally, part: tuple[str, str] | None) -> Tally:
    for _, event in plan.charges:
        tally = tally.after(event, part)
    return tally


def test_less_noise_than_the_least_costs_more() -> None:
    found = least_noise(Epsilon.parse("1"), Delta.parse("1e-6"), rate_text(2**28), 100)
    less = found.__class__(found.rate, _text(int(Fraction(found.noise_multiplier) * 1000) - 1), 100, found.delta)
    assert cost(found).epsilon <= Epsilon.parse("1") < cost(less).epsilon


def test_people_and_machines_are_told_the_same(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    told, text = explain_training(plan), render_training(plan)
    assert told["cost"] == plan.cost.to_json() and told["training"]["noise"]["multiplier"] in text
    assert told["pld_epsilon"] is None
    for words in ("sensitivity", "expected rows", "Renyi", "--confirm", "replaced"):
        assert words in text
    confirmed, charged = pld_epsilon(plan), float(cost(plan.event).epsilon.decimal)
    assert 0 < confirmed <= charged and explain_training(plan, confirmed)["pld_epsilon"] == confirmed
    assert f"Privacy loss distributions confirm it: {confirmed:.4f}" in render_training(plan, confirmed)
    assert "confirm it" not in render_training(plan, charged + 0.01)


def test_a_file_is_known_by_what_it_holds(tmp_path: Path) -> None:
    plan_of(tmp_path)
    product = read_product(tmp_path / "training.yaml")
    assert product.training is not None and product.statistics is None and product.base.dataset == "people"
    demo = Path(__file__).resolve().parents[3] / "configs" / "demo"
    assert read_product(demo / "cps1988-statistics.yaml").statistics is not None
    assert read_product(demo / "cps1988-training.yaml").training is not None


def test_the_digest_covers_what_fixes_the_model(tmp_path: Path) -> None:
    first = plan_of(tmp_path).base.digest
    assert plan_of(tmp_path).base.digest == first
    for change in ({"steps": 21}, {"learning_rate": "2"}, {"clip_norm": "2"}, {"features": ["age"]}):
        assert plan_of(tmp_path, training_file(**change)).base.digest != first
    assert plan_of(tmp_path, training_file() | {"rows": 1201}).base.digest != first
