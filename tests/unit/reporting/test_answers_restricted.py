"""The restricted report of answers: what an account deducted, in the amounts it counts in."""

from __future__ import annotations

import pytest

from trasgo_lib.reporting.answers_restricted import restricted_answers_report


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        ({"epsilon": "0", "delta": "0", "geo": "0", "rho": "0.125"}, ["rho", "0.125"]),
        ({"epsilon": "0.5", "delta": "0", "geo": "0"}, ["epsilon", "0.5"]),
        ({"epsilon": "0.5", "delta": "0.000001", "geo": "0"}, ["epsilon", "delta", "0.5", "0.000001"]),
    ],
)
def test_charges_are_told_as_the_account_deducts_them(cost: dict[str, str], told: list[str]) -> None:
    entries = [{"seq": 2, "at": "2030-01-01T00:00:00+00:00", "unit": "partition side", "cost": cost}]
    lines = restricted_answers_report("People", {"rows": 6}, entries, {}).splitlines()
    table = " ".join(line for line in lines if line.startswith("|"))
    cells = [text.strip() for text in table.split("|")]
    assert [cell for cell in cells if cell in {"epsilon", "delta", "rho", *cost.values()}] == told
