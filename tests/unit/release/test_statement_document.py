"""What a release claims: both numbers, no unqualified epsilon where selection is not covered, nothing private."""

from __future__ import annotations

import dataclasses
import getpass
import json
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trasgo_lib.amounts import Delta, Epsilon, Geo
from trasgo_lib.budget import ApproximateEvent, Cost, GeoEvent, PureEvent
from trasgo_lib.errors import AmountError, BudgetError, VerificationError
from trasgo_lib.release import channel_document, statement_document
from trasgo_lib.release.channel_file import decoder
from trasgo_lib.release.documents import check_schema
from trasgo_lib.release.statement import amounts, draw_document, read_amounts, read_draw
from trasgo_lib.reporting import ReleaseFacts


def keys_of(document: Any) -> set[str]:
    if isinstance(document, dict):
        return set(document) | {key for value in document.values() for key in keys_of(value)}
    if isinstance(document, list):
        return {key for value in document for key in keys_of(value)}
    return set()


def released(facts: ReleaseFacts) -> ReleaseFacts:
    return dataclasses.replace(facts, plan=dataclasses.replace(facts.plan, loss_from="released"))


@pytest.fixture
def statement(made: Any) -> dict[str, Any]:
    return json.loads((made.work / "statement.json").read_text())  # type: ignore[no-any-return]


def test_both_numbers_and_the_account(statement: dict[str, Any]) -> None:
    assert statement["epsilon_guarantee_draws_only"] == "40"
    assert statement["epsilon_realised_draws_only"] == "7.25"
    assert statement["geo_per_km_realised_draws_only"] == "6.93"
    assert statement["account_to_date"]["epsilon_draws_only"] == "7.25"
    assert "this account only" in statement["account_to_date"]["in_words"]


def test_attempts_add_up_and_the_last_is_published(statement: dict[str, Any]) -> None:
    # B67: per unit and in total, so that nobody reads one for the other
    charged = {unit["name"]: unit["epsilon_charged_draws_only"] for unit in statement["units"]}
    assert charged == {"wage": "2.25", "rate": "2", "region": "1", "size": "1", "day": "1", "place": "0"}
    assert [draw["epsilon_draws_only"] for draw in statement["units"][0]["draws"]] == ["1", "1.25"]


def test_no_unqualified_epsilon_where_selection_is_not_covered(made: Any, statement: dict[str, Any]) -> None:
    assert statement["guarantee_covers_selection"] is False
    channel = json.loads((made.work / "channel.json").read_text())
    for unit in channel["units"]:
        del unit["parameters"]  # the mechanism's own arguments, from which it is rebuilt
    for key in keys_of(statement) | keys_of(channel):
        if any(word in key for word in ("epsilon", "delta", "geo_per_km")):
            assert key.endswith("_draws_only"), key
    assert "chosen by looking at losses computed on the raw data" in statement["in_words"]
    assert "chosen by looking at losses computed on the raw data" in statement["selection"]
    assert all(unit["loss"] is None for unit in statement["units"])


def test_with_released_losses_the_names_are_plain(made: Any) -> None:
    document = statement_document(released(made.facts))
    check_schema(document, "statement")
    check_schema(channel_document(released(made.facts)), "channel")
    assert document["guarantee_covers_selection"] is True
    assert document["epsilon_guarantee"] == "40"
    assert document["epsilon_realised"] == "7.25"
    assert "raw" not in document["selection"]
    assert not any(key.endswith("_draws_only") for key in keys_of(document))


def test_the_schema_ties_names_to_coverage(statement: dict[str, Any]) -> None:
    for change in ({"guarantee_covers_selection": True}, {"loss_from": "released"}, {"epsilon_realised": "1"}):
        with pytest.raises(VerificationError):
            check_schema(statement | change, "statement")


def test_words_of_trust_unit_neighbours_and_exclusions(statement: dict[str, Any]) -> None:
    assert statement["trust_model"] == "central trust, row-level randomisation"
    assert "same number of rows" in statement["neighbours"]
    assert "same public columns" in statement["neighbours"]
    excluded = " ".join(statement["not_covered"])
    for words in ("number of rows", "public columns", "note", "input passed its contract", "swap", "key", "raw losses"):
        assert words in excluded
    assert "HKDF" in statement["computational_assumption"]
    assert "AES-256-CTR" in statement["computational_assumption"]
    assert "kilometres" in statement["geo"]
    assert statement["row_order"]["policy"] == "shuffle"


def test_source_order_and_units_of_several_rows_are_said(made: Any) -> None:
    plan = dataclasses.replace(made.plan, row_order="source", privacy_unit="person", max_rows=3)
    document = statement_document(dataclasses.replace(made.facts, plan=plan))
    check_schema(document, "statement")
    assert "asserts" in document["row_order"]["in_words"]
    assert any("order of the rows" in entry for entry in document["not_covered"])
    assert "same rows per person" in document["neighbours"]
    assert document["privacy_unit"]["max_rows"] == 3
    assert document["epsilon_realised_draws_only"] == "21.75"


def test_public_files_name_no_place_person_or_private_digest(made: Any) -> None:
    digests = {codes.digest for codes in made.table.units}
    digests |= {ref.digest for codes in made.table.units for ref in codes.batches}
    for file in made.package.files:
        text = file.path.read_bytes().decode("latin-1")
        forbidden = {str(made.work), str(Path.home()), "private-source", socket.gethostname(), *digests}
        forbidden |= {getpass.getuser()} if len(getpass.getuser()) > 4 else set()
        for word in forbidden:
            assert word not in text, (file.key, word)


def test_a_decoder_that_moves_nothing_is_the_identity() -> None:
    for scores in (np.arange(5.0), np.array([0.0, 1.0, 2.0, np.nan])):
        assert decoder(SimpleNamespace(scores=scores)) == {"kind": "identity"}  # type: ignore[arg-type]


def test_amounts_read_back() -> None:
    cost = Cost.of("1.25", "0.000000000000001", "6.93")
    for suffix in ("", "_draws_only"):
        assert read_amounts(amounts(cost, "_charged", suffix), "_charged", suffix) == cost
    with pytest.raises(KeyError):
        read_amounts(amounts(cost, "_charged", ""), "_charged", "_draws_only")
    with pytest.raises(AmountError):
        read_amounts({**amounts(cost, "", ""), "epsilon": 1.25}, "", "")


@pytest.mark.parametrize(
    "event",
    [
        PureEvent(Epsilon.parse("0.25")),
        ApproximateEvent(Epsilon.parse("1"), Delta.parse("1e-9")),
        GeoEvent(Geo.parse("6.93")),
    ],
)
def test_draws_read_back_under_their_own_suffix_only(event: PureEvent | ApproximateEvent | GeoEvent) -> None:
    for suffix in ("", "_draws_only"):
        assert read_draw(draw_document(event, suffix), suffix) == event
    with pytest.raises(BudgetError):
        read_draw(draw_document(event, "_draws_only"), "")
    with pytest.raises(BudgetError):
        read_draw(draw_document(event, ""), "_draws_only")


def test_an_approximate_draw_shows_its_delta(kit: Any, tmp_path: Path) -> None:
    text = """
format: 1
release: {dataset: demo, version: "1", title: Delta}
source: {path: x.csv, format: csv}
privacy: {epsilon_total: "2", delta_total: "0.000001", account: a}
columns:
  - {name: wage, type: number, domain: {lower: "0", upper: "100", step: "10"}, mechanism: gaussian, epsilon: "1",
     delta: "0.000001"}
loop: {loss_from: original, composition: sequential}
publish: {store: releases, formats: [parquet]}
"""
    made = kit.make(tmp_path, text)
    document = statement_document(made.facts)
    assert document["delta_realised_draws_only"] == "0.000001"
    assert document["units"][0]["draws"][0]["type"] == "approximate"
    assert "except with probability 0.000001" in document["in_words"]
    assert made.package.files[0].key == "data/demo.parquet"
