"""Reported faults of parameters, through the command: exit 2 with line, column and key, before any data is opened.

There is no source file and no key in this office, so nothing could be opened or drawn.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from desk import Desk, category, date, number, point, public

Change = Callable[[dict[str, Any]], object]
GOOD = [
    number("age", "0", "120"),
    category("sex", ["M", "F"]),
    date("day"),
    point("home"),
    number("pay", "0", "1000", "10", mechanism="gaussian"),
    public("wave"),
]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    desk = Desk(tmp_path_factory.mktemp("parameters"))
    desk.declare("people", GOOD)
    yield desk
    shutil.rmtree(desk.folder, ignore_errors=True)


def _age(key: str, value: Any) -> Change:
    return lambda release: release["columns"][0].update({key: value})


def _bounds(lower: Any, upper: Any, step: Any = "1") -> Change:
    return lambda release: release["columns"][0]["domain"].update(lower=lower, upper=upper, step=step)


def _sex(key: str, value: Any) -> Change:
    return lambda release: release["columns"][1].update({key: value})


def _pay(**keys: Any) -> Change:
    return lambda release: release["columns"][4].update(keys)


def _total(**keys: Any) -> Change:
    return lambda release: release["privacy"].update(keys)


CASES: dict[str, tuple[Change, str]] = {
    "B11 a date without a format": (lambda release: release["columns"][2].pop("format"), "columns[day].format"),
    "B13 a missing code among the codes": (_sex("missing_codes", ["F"]), "columns[sex].domain.codes[#2]"),
    "B31 infinite bound": (_bounds("0", "inf"), "columns[age].domain.upper"),
    "B31 infinite YAML bound": (_bounds("0", float("inf")), "columns[age].domain.upper"),
    "B31 NaN bound": (_bounds("NaN", "5"), "columns[age].domain.lower"),
    "B31 bounds the wrong way round": (_bounds("10", "0"), "columns[age].domain.upper"),
    "B31 B41 bounds that are equal": (_bounds("5", "5"), "columns[age].domain.upper"),
    "B31 a step that does not divide": (_bounds("0", "120", "7"), "columns[age].domain.step"),
    "B31 a step of zero": (_bounds("0", "120", "0"), "columns[age].domain.step"),
    "B33 epsilon NaN": (_age("epsilon", "NaN"), "columns[age].epsilon"),
    "B33 epsilon YAML NaN": (_age("epsilon", float("nan")), "columns[age].epsilon"),
    "B33 epsilon infinite": (_age("epsilon", "inf"), "columns[age].epsilon"),
    "B33 epsilon zero": (_age("epsilon", "0"), "columns[age].epsilon"),
    "B33 epsilon negative": (_age("epsilon", "-1"), "columns[age].epsilon"),
    "B33 epsilon Boolean": (_age("epsilon", True), "columns[age].epsilon"),
    "B33 epsilon a bare float": (_age("epsilon", 0.5), "columns[age].epsilon"),
    "B33 epsilon words": (_age("epsilon", "one"), "columns[age].epsilon"),
    "B33 epsilon of a label NaN": (_sex("epsilon", "NaN"), "columns[sex].epsilon"),
    "B33 epsilon huge": (_sex("epsilon", "150"), "columns[sex].epsilon"),
    "B33 total NaN": (_total(epsilon_total="NaN"), "privacy.epsilon_total"),
    "B33 geo epsilon zero": (
        lambda release: release["columns"][3].update(geo={"epsilon": "0", "radius_m": "100"}),
        "columns[home].geo.epsilon",
    ),
    "B35 epsilon that no Gaussian certifies": (_pay(epsilon="150"), "columns[pay].epsilon"),
    "B36 delta one": (_pay(delta="1"), "columns[pay].delta"),
    "B36 delta near one": (_pay(delta="0.99"), "columns[pay].delta"),
    "B36 delta NaN": (_pay(delta="NaN"), "columns[pay].delta"),
    "B36 delta Boolean": (_pay(delta=True), "columns[pay].delta"),
    "B36 delta negative": (_pay(delta="-0.1"), "columns[pay].delta"),
    "B36 delta over its total": (_pay(delta="0.001"), "privacy.delta_total"),
    "B37 a category without a list": (lambda release: release["columns"][1].pop("domain"), "columns[sex].domain"),
    "B37 bounds left out": (lambda release: release["columns"][0].pop("domain"), "columns[age].domain"),
    "B41 a domain of one value": (
        lambda release: release["columns"][1].update(domain={"codes": ["a"]}),
        "columns[sex].domain.codes",
    ),
    "B42 a seed": (_age("seed", 42), "columns[age].seed"),
    "B42 a seed of the release": (lambda release: release.update(seed=42), "seed"),
    "B44 a column without a mechanism": (
        lambda release: release["columns"][0].pop("mechanism"),
        "columns[age].mechanism",
    ),
    "B52 a geo epsilon without its distance": (
        lambda release: release["columns"][3].update(geo={"epsilon": "0.01"}),
        "columns[home].geo.radius_m",
    ),
    "B68 a share of nothing": (_total(epsilon_total="0.5"), "privacy.epsilon_total"),
    "B68 shares of more than all": (_age("epsilon", "199"), "privacy.epsilon_total"),
    "B70 one unit over the total": (_total(epsilon_total="3.999998"), "privacy.epsilon_total"),
    "B71 a spend too small to count": (_age("epsilon", "5e-324"), "columns[age].epsilon"),
    "B87 codes written as numbers": (
        lambda release: release["columns"][1].update(domain={"codes": [1, 2]}),
        "columns[sex].domain.codes[#1]",
    ),
    "T03 a name that the point already has": (
        lambda release: release["columns"][5].update(name="home_latitude"),
        "columns[home_latitude].name",
    ),
    "T11 an unknown unit column": (
        _total(unit={"column": "nobody", "max_rows": 2}),
        "privacy.unit.column",
    ),
    "T11 an unknown mechanism": (_age("mechanism", "laplce"), "columns[age].mechanism"),
}


@pytest.mark.parametrize("verb", ["plan", "run"])
@pytest.mark.parametrize("name", CASES)
def test_a_faulty_parameter_is_refused_before_data_is_opened(name: str, verb: str, desk: Desk) -> None:
    change, key = CASES[name]
    good = json.dumps(desk.release)
    change(desk.release)
    desk.write()
    desk.release = json.loads(good)
    answer = desk.trasgo(verb, str(desk.config))
    assert answer.exit_code == 2, answer.text
    place = re.search(rf"line (\d+)(:\d+)?, {re.escape(key)}: required ", answer.err)
    assert place is not None, answer.err
    assert "; came " in answer.err and "Traceback" not in answer.text
    assert "{column}" not in answer.text and "{name}" not in answer.text
    assert [path.name for path in desk.folder.iterdir() if path.suffix != ".csv"] == ["release.yaml"]


def test_the_file_that_the_cases_change_is_sound(desk: Desk) -> None:
    """Negative control, and B35, B47, B70: a Gaussian above epsilon 1, negative bounds, a total met exactly."""
    good = json.dumps(desk.release)
    desk.release["privacy"]["epsilon_total"] = "4.500001"
    desk.release["columns"][4]["epsilon"] = "1.500001"
    desk.release["columns"][0]["domain"] = {"lower": "-10000", "upper": "100000", "step": "100"}
    desk.write()
    desk.release = json.loads(good)
    answer = desk.trasgo("plan", str(desk.config))
    assert answer.exit_code == 0, answer.text
    assert "110000" in answer.out.replace(",", "").replace(" ", ""), answer.out


def test_t11_messages_have_the_real_name(desk: Desk) -> None:
    good = json.dumps(desk.release)
    desk.release["privacy"]["unit"] = {"column": "nobody", "max_rows": 2}
    desk.write()
    desk.release = json.loads(good)
    assert "nobody" in desk.trasgo("plan", str(desk.config)).err


@pytest.mark.parametrize("cap", ["NaN", "inf", "-1", "5e-324", "one", ""])
def test_b71_a_cap_that_is_no_amount_opens_no_account(cap: str, desk: Desk) -> None:
    desk.write()
    answer = desk.trasgo("ledger", "open", str(desk.config), f"--epsilon={cap}", "--population", "made-up")
    assert answer.exit_code == 2, answer.text
    assert "epsilon" in answer.err and "Traceback" not in answer.text
