"""Groups in the published documents: margins stated, decoded columns, verification of both."""

from __future__ import annotations

import numpy as np
import pytest

from trasgo_lib.data import CategoryDomain, NumberDomain, ProductDomain, ProductPart
from trasgo_lib.mechanisms import build_chain, build_channel, margin
from trasgo_lib.release.channel_file import margin_document
from trasgo_lib.release.verify_claims import verify_channels

DOMAIN = ProductDomain(
    [ProductPart("sex", CategoryDomain(["f", "m"])), ProductPart("age", NumberDomain("0", "9"), 5, True)]
)


@pytest.mark.parametrize("chained", [False, True])
def test_a_margin_is_what_anyone_can_compute_from_the_groups_weights(chained: bool) -> None:
    name = "kary_randomized_response"
    channel = build_chain(name, DOMAIN, ["1", "2"]).channel("1") if chained else build_channel(name, DOMAIN, "1")
    document = margin_document(channel, DOMAIN, "age")
    places, row = DOMAIN.decode(np.arange(DOMAIN.size, dtype=np.int32))[1], channel.weights(0)
    by_place = {int(place): sum(w for w, at in zip(row, places, strict=True) if at == place) for place in set(places)}
    assert document["places"] == len(by_place) == 6
    # place 0 of the first code is kept; every other place has the stated weight
    assert {str(weight) for place, weight in by_place.items() if place != places[0]} == {document["other"]}
    assert document["decoder"]["kind"] == "parameters" and document["noise_variance"] is not None
    assert margin_document(channel, DOMAIN, "sex")["decoder"] == {"kind": "none"}
    assert margin(channel, DOMAIN, "sex").outputs == 2


def test_a_unit_without_its_margins_fails() -> None:
    unit = {"name": "g", "mechanism": "kary_randomized_response", "domain": DOMAIN.describe(), "margins": []}
    channel = build_channel("kary_randomized_response", DOMAIN, "1")
    missing = {"policy": "error", "code": None, "fill_code": None}
    stated = {
        "parameters": dict(channel.parameters),
        "mechanism_version": channel.version,
        "channel_digest": channel.digest,
        "draw": {"type": "pure", "epsilon": "1"},
        "certified_epsilon": f"{channel.certified_epsilon.normalize():f}",
        "certified_delta": "0",
        "inputs": channel.inputs,
        "outputs": channel.outputs,
        "missing": missing,
        "decoder": {"kind": "none"},
        "noise_variance": None,
    }
    results = list(verify_channels({"units": [unit | stated]}, ""))
    assert [(result.name, result.subject) for result in results if not result.passed] == [("margins", "g")]
