import numpy as np
import pytest
from fixed_people import GRADES, REGIONS, YEARS

from trasgo_lib.data import NumberDomain
from trasgo_lib.estimation import decode, expectation, powers
from trasgo_lib.estimation.decoding import present_codes, transition

EXACT = [
    ("laplace", YEARS, {}),
    ("laplace", YEARS, {"missing": True}),
    ("kary_randomized_response", YEARS, {}),
    ("kary_randomized_response", GRADES, {"missing": True}),
    ("kary_randomized_response", REGIONS, {}),
    ("exponential", YEARS, {"utility": "ordinal"}),
]


@pytest.mark.parametrize("epsilon", ["0.5", "2", "8"])
@pytest.mark.parametrize(("mechanism", "domain", "extra"), EXACT)
def test_decoders_are_unbiased_by_the_integers_of_the_channel(channels, mechanism, domain, extra, epsilon):
    channel = channels(mechanism, domain, epsilon, **extra)
    rng = np.linspace(-1.0, 1.0, channel.inputs)
    functions = np.stack([rng, rng**3, np.cos(7 * rng), (np.arange(channel.inputs) == 1).astype(float)], axis=1)
    found = decode(channel, functions)
    size = max(1.0, np.abs(found.values).max())
    assert np.abs(transition(channel) @ found.values - functions).max() < 1e-12 * size
    assert found.bias.max() < 1e-12 * size
    assert np.allclose(expectation(channel, found.values), functions, atol=1e-12 * size)


def test_a_large_domain_is_decoded_in_linear_time_or_not_at_all(channels):
    wide = NumberDomain(lower="0", upper="20000", step="1")
    place = np.linspace(-1.0, 1.0, wide.size)[:, None]
    found = decode(channels("laplace", wide, "4"), place**2)
    assert found.bias.max() < 1e-6
    kept = np.append(np.ones(wide.size), 0.0)[:, None]
    assert decode(channels("laplace", wide, "4", missing=True), kept) is None
    assert powers(channels("laplace", wide, "4", missing=True)) == "the domain is too large to undo this noise"


def test_smooth_noise_states_its_bias(channels):
    channel = channels("gaussian", YEARS, "2")
    found = powers(channel)
    truth = transition(channel) @ found.decoded
    assert np.allclose(np.abs(truth - found.inputs).max(axis=0), found.bias, atol=1e-9)
    assert 0 < found.bias[1] * found.scale <= channel.score_bias * 1.0001


class Bare:
    """A channel that offers the protocol and no structured expectation."""

    def __init__(self, channel):
        self._channel = channel

    def __getattr__(self, name):
        return getattr(self._channel, name)


def test_the_protocol_alone_suffices(channels):
    channel = channels("laplace", YEARS, "2", missing=True)
    bare, full = powers(Bare(channel)), powers(channel)
    assert np.allclose(bare.decoded, full.decoded)


def test_labels_have_no_places(channels):
    assert present_codes(channels("kary_randomized_response", REGIONS, "1")) is None
    gaps = present_codes(channels("laplace", YEARS, "1", missing=True))
    assert np.isnan(gaps[19]) and gaps[18] == 18
    assert powers(channels("kary_randomized_response", REGIONS, "1")).startswith("labels")
