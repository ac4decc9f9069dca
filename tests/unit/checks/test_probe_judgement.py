"""The probe passes the sampler of every mechanism and fails a sampler without noise, or with another law."""

from __future__ import annotations

import numpy as np
import pytest

from trasgo_lib.checks import FALSE_ALARM, LEAST_ROWS, CheckReport, judge_probe, probe_rows
from trasgo_lib.data import BoxDomain, CategoryDomain, Domain, NumberDomain
from trasgo_lib.errors import CheckFailedError, Reason
from trasgo_lib.mechanisms import Channel, build_channel, probe_codes
from trasgo_lib.noise import Keystream

ROOT = bytes(range(32))
LABELS = CategoryDomain(["a", "b", "c", "d"])
NUMBERS = NumberDomain("0", "100")

BOX = BoxDomain(["41.8", "-87.7", "41.9", "-87.6"], "EPSG:3435", "500")

CASES: list[tuple[str, Domain, str]] = [
    ("planar_laplace", BOX, "1.386"),
    ("laplace", NUMBERS, "0.5"),
    ("laplace", NUMBERS, "8"),
    ("gaussian", NUMBERS, "1"),
    ("exponential", LABELS, "2"),
    ("kary_randomized_response", LABELS, "1"),
    ("kary_randomized_response", LABELS, "8"),
    ("randomized_response", CategoryDomain(["y", "n"]), "8"),
]


def drawn(channel: Channel, label: str) -> tuple[np.ndarray, np.ndarray]:
    inputs = probe_codes(channel, probe_rows(channel))
    return inputs, channel.sample(inputs, Keystream(ROOT, "probe", label))


@pytest.mark.parametrize(("name", "domain", "epsilon"), CASES)
def test_the_right_law_passes_and_no_noise_fails(name: str, domain: Domain, epsilon: str) -> None:
    # at 1e-9 a channel, a correct sampler fails one of these 8 cases in less than 1e-8 of all keys; the key is fixed
    channel = build_channel(name, domain, epsilon=epsilon)
    inputs, outputs = drawn(channel, name)
    assert len(inputs) >= LEAST_ROWS
    assert judge_probe("x", channel, inputs, outputs).passed
    off = judge_probe("x", channel, inputs, inputs)
    assert not off.passed
    assert off.observed.endswith(" 0 of them changed")


@pytest.mark.parametrize("parameters", [{"missing": True}, {"delta": "0.000001"}])
def test_missing_codes_and_delta_are_probed_alike(parameters: dict[str, object]) -> None:
    channel = build_channel("gaussian", NUMBERS, epsilon="1", **parameters)
    inputs, outputs = drawn(channel, "parameters")
    assert judge_probe("x", channel, inputs, outputs).passed
    assert not judge_probe("x", channel, inputs, inputs).passed


@pytest.mark.parametrize("factor", ["0.8", "1.25"])
@pytest.mark.parametrize(("name", "domain"), [("laplace", NUMBERS), ("kary_randomized_response", LABELS)])
def test_another_epsilon_fails(name: str, domain: Domain, factor: str) -> None:
    published = build_channel(name, domain, epsilon="1")
    inputs, outputs = drawn(build_channel(name, domain, epsilon=factor), name)
    assert not judge_probe("x", published, inputs, outputs).passed


def test_a_few_rows_without_noise_fail() -> None:
    channel = build_channel("kary_randomized_response", LABELS, epsilon="1")
    inputs, outputs = drawn(channel, "part")
    leaky = outputs.copy()
    leaky[::20] = inputs[::20]
    assert not judge_probe("x", channel, inputs, leaky).passed


def test_too_few_rows_prove_nothing() -> None:
    channel = build_channel("kary_randomized_response", LABELS, epsilon="1")
    inputs, outputs = drawn(channel, "few")
    result = judge_probe("x", channel, inputs[:1000], outputs[:1000])
    assert not result.passed
    assert result.observed == "only 1000 probe rows"
    assert not judge_probe("x", channel, inputs, outputs[:-1]).passed


def test_an_impossible_output_fails() -> None:
    channel = build_channel("kary_randomized_response", LABELS, epsilon="1")
    inputs, outputs = drawn(channel, "impossible")
    outputs = outputs.copy()
    outputs[17] = channel.outputs
    result = judge_probe("x", channel, inputs, outputs)
    assert not result.passed
    assert "cannot produce" in result.observed


def test_rare_changes_need_more_rows() -> None:
    usual = build_channel("kary_randomized_response", LABELS, epsilon="1")
    rare = build_channel("kary_randomized_response", LABELS, epsilon="10")
    assert probe_rows(usual) == LEAST_ROWS
    assert LEAST_ROWS < probe_rows(rare) <= 1 << 22
    inputs, _ = drawn(rare, "rare")
    assert not judge_probe("x", rare, inputs, inputs).passed


def test_a_failed_probe_has_its_own_reason() -> None:
    channel = build_channel("kary_randomized_response", LABELS, epsilon="1")
    inputs, _ = drawn(channel, "reason")
    with pytest.raises(CheckFailedError) as caught:
        CheckReport((judge_probe("region", channel, inputs, inputs),)).require()
    assert caught.value.reason is Reason.PROBE_FAILED
    assert caught.value.faults[0].where == "probe of region"
    assert f"{FALSE_ALARM:g}" in caught.value.faults[0].required
