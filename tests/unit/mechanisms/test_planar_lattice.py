"""Planar Laplace on a lattice: exact weights, a certificate that a brute force cannot beat, replayable draws."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_UP, Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest

from trasgo_lib.amounts import Epsilon, Geo
from trasgo_lib.budget.events import GeoEvent
from trasgo_lib.data import BoxDomain, NumberDomain
from trasgo_lib.errors import ConfigError, InputContractError, Reason, VerificationError
from trasgo_lib.mechanisms import build_channel, rebuild_channel
from trasgo_lib.mechanisms.geo_claim import GeoClaim
from trasgo_lib.mechanisms.planar import build_planar, build_planar_laplace, rebuild_planar, rebuild_planar_laplace
from trasgo_lib.mechanisms.planar_channel import PlanarChannel
from trasgo_lib.mechanisms.planar_window import (
    UNIFORM_BITS,
    WINDOW_SHARE,
    WINDOW_TOTAL,
    PlanarWindow,
    needed_radius,
)
from trasgo_lib.noise import Keystream

CHICAGO = BoxDomain(["41.6", "-87.95", "42.1", "-87.5"], "EPSG:3435", "100")
TOTAL = 2**128


@dataclass(frozen=True)
class Grid:
    """A lattice without a map."""

    columns: int
    rows: int
    step_m: str = "100"

    def lattice_distance(self, ground_m: Decimal) -> Decimal:
        return ground_m


def test_window_weights_are_the_ideal_rounded_down_in_any_decimal_context() -> None:
    # the certificate compares weights with exponentials of its own, so both must be exact, not merely alike
    with localcontext(Context(prec=4, rounding=ROUND_UP)):
        window = PlanarWindow(Decimal("0.0693"), 60)
        weights, certified = window.weights, window.certified_decay(1000)
    assert (weights, certified) == (PlanarWindow(window.decay, 60).weights, window.certified_decay(1000))
    with mpmath.workdps(70):
        ideal = [mpmath.exp(-mpmath.mpf("0.0693") * mpmath.sqrt(norm)) for norm in window.norms.tolist()]
        constant = WINDOW_TOTAL / mpmath.fdot(ideal, window.multiplicity.tolist())
        assert list(weights[1:]) == [int(mpmath.floor(constant * share)) for share in ideal[1:]]


def _channel(columns: int, rows: int, epsilon: str = "1", radius: str = "200") -> PlanarChannel:
    return build_planar(Grid(columns, rows), GeoClaim.parse(epsilon, radius))


def _largest_log_ratio_per_metre(channel: PlanarChannel, columns: int, step: int) -> mpmath.mpf:
    """Over all pairs of cells and every output, from the integers, with 60 digits."""
    rows = [channel.weights(code) for code in range(channel.inputs)]
    with mpmath.workdps(60):
        logs = [[mpmath.log(weight) for weight in row] for row in rows]
        worst = mpmath.mpf(0)
        for i, j in product(range(channel.inputs), repeat=2):
            if i != j:
                apart = mpmath.sqrt((i % columns - j % columns) ** 2 + (i // columns - j // columns) ** 2) * step
                worst = max(worst, max(a - b for a, b in zip(logs[i], logs[j], strict=True)) / apart)
        return worst


@pytest.mark.parametrize(("columns", "rows"), [(2, 1), (1, 5), (3, 3), (5, 4), (7, 3)])
@pytest.mark.parametrize("epsilon", ["0.5", "1", "8"])
def test_no_pair_of_cells_and_no_output_beats_the_certificate(columns: int, rows: int, epsilon: str) -> None:
    channel = _channel(columns, rows, epsilon)
    worst = _largest_log_ratio_per_metre(channel, columns, 100)
    certified = mpmath.mpf(str(channel.certified_geo))
    assert worst <= certified
    # in a strip of one row, lumping across it protects more than the claim; elsewhere the bound is met
    assert min(columns, rows) == 1 or worst >= certified * mpmath.mpf("0.999")
    assert certified * 200 <= mpmath.mpf(epsilon)


@pytest.mark.parametrize(("columns", "rows"), [(40, 1), (22, 3)])
def test_outputs_beyond_the_window_stay_within_the_certificate(columns: int, rows: int) -> None:
    channel = _channel(columns, rows, "8")
    assert channel._window.radius < columns - 4
    assert channel.weights(0)[columns - 1] - WINDOW_TOTAL // channel.inputs in (0, 1)  # the uniform part alone
    assert _largest_log_ratio_per_metre(channel, columns, 100) <= mpmath.mpf(str(channel.certified_geo))


def test_the_brute_force_would_see_a_certificate_that_is_too_low() -> None:
    channel = _channel(3, 3, "1")
    worst = _largest_log_ratio_per_metre(channel, 3, 100)
    assert worst > mpmath.mpf(str(channel.certified_geo)) * (1 - mpmath.mpf("1e-4"))


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4", "8"])
def test_certificate_is_below_the_claim_and_close_to_it(epsilon: str) -> None:
    channel = build_channel("planar_laplace", CHICAGO, epsilon, radius_m="200")
    claim = Decimal(epsilon)
    assert claim * Decimal("0.999") <= channel.certified_epsilon <= claim
    assert channel.certified_delta == 0
    assert channel.event == GeoEvent(Geo.ceil(Fraction(epsilon) * 5))


@pytest.mark.parametrize("code", [0, 4, 5, 12, 19])
def test_weights_are_the_clamped_window_and_the_uniform_floor(code: int) -> None:
    columns, rows = 5, 4
    channel = _channel(columns, rows, "1")
    window = channel._window
    by_norm = dict(zip(window.norms.tolist(), window.weights, strict=True))
    row, column = divmod(code, columns)
    expected = [0] * (columns * rows)
    for y in range(-window.radius, window.radius + 1):
        for x in range(-window.radius, window.radius + 1):
            weight = by_norm.get(x * x + y * y, 0)
            place = min(max(row + y, 0), rows - 1) * columns + min(max(column + x, 0), columns - 1)
            expected[place] += WINDOW_SHARE * weight
    weights = channel.weights(code)
    floor = [weight - part for weight, part in zip(weights, expected, strict=True)]
    assert sum(floor) == WINDOW_TOTAL
    assert {value - WINDOW_TOTAL // 20 for value in floor} <= {0, 1}
    assert sum(weights) == TOTAL
    assert min(weights) >= 1


def test_window_is_exact_and_symmetric() -> None:
    window = PlanarWindow(Decimal("0.6"), 60)
    x, y, weights = window.offsets(10**6, 10**6)
    assert sum(weights) == WINDOW_TOTAL
    assert len(weights) == int(window.multiplicity.sum())
    assert (x.astype(np.int64) ** 2 + y.astype(np.int64) ** 2).max() == 3600
    table = dict(zip(zip(x.tolist(), y.tolist(), strict=True), weights, strict=True))
    for a, b in [(3, 1), (17, 40), (60, 0), (5, 5)]:
        signs = [(a * first, b * second) for first, second in product((1, -1), repeat=2)]
        assert len({table[pair] for pair in signs} | {table[pair[::-1]] for pair in signs}) == 1
    with mpmath.workdps(60):
        ratio = mpmath.mpf(table[(30, 40)]) / mpmath.mpf(table[(3, 4)])
        assert abs(ratio / mpmath.exp(mpmath.mpf("-0.6") * 45) - 1) < mpmath.mpf("1e-15")


def test_weights_never_change() -> None:
    """Known answer: a change of any weight is a new version of the mechanism."""
    channel = build_channel("planar_laplace", CHICAGO, "1.386", radius_m="200")
    assert channel.digest == "318e9de8809ccc7b6a2de2d05b9914782286896ad501729620f269bde828028a"
    assert channel.parameters == {
        "epsilon": "1.386",
        "radius_m": "200",
        "decay_per_cell": "0.6929999995",
        "window_cells": 79,
        "uniform_bits": 20,
        "step_m": "100",
        "columns": 381,
        "rows": 561,
        "codes": 213741,
    }


@pytest.mark.parametrize("theta", ["0.2", "0.7", "3", "8"])
def test_tail_bound_is_an_upper_bound_and_not_far_off(theta: str) -> None:
    radius = 12
    window = PlanarWindow(Decimal(theta), radius)
    axis = np.arange(-400, 401, dtype=np.float64)
    length = np.sqrt(axis[:, None] ** 2 + axis[None, :] ** 2)
    outside = float(np.exp(-float(theta) * length[length > radius]).sum())
    assert outside <= float(window.tail)
    assert float(window.tail) <= outside * 2 * np.exp(2 * 0.7072 * float(theta)) * max(1.0, 1 / float(theta))


def test_certificate_grows_when_a_weight_is_wrong() -> None:
    right = PlanarWindow(Decimal("0.7"), 80)
    wrong = PlanarWindow(Decimal("0.7"), 80)
    shifted = list(right.weights)
    shifted[5] += WINDOW_TOTAL // 10**9
    vars(wrong)["weights"] = tuple(shifted)
    assert right.certified_decay(100) - Decimal("0.7") < Decimal("1e-9")
    assert wrong.certified_decay(100) > right.certified_decay(100) + Decimal("1e-6")
    vars(wrong)["weights"] = (WINDOW_TOTAL, *[0] * (len(shifted) - 1))
    assert wrong.certified_decay(100) == 89


def test_a_window_that_is_too_small_is_not_certified() -> None:
    channel = _channel(40, 40, "1")
    small = {**channel.parameters, "window_cells": 20}
    with pytest.raises(VerificationError) as caught:
        rebuild_planar(Grid(40, 40), small)
    assert caught.value.reason is Reason.CLAIM_NOT_CERTIFIED
    larger = {**channel.parameters, "decay_per_cell": "0.51"}
    with pytest.raises(VerificationError):
        rebuild_planar(Grid(40, 40), larger)


@pytest.mark.parametrize(
    "change",
    [
        {"columns": 41},
        {"rows": 41},
        {"step_m": "50"},
        {"uniform_bits": 19},
        {"window_cells": 0},
        {"window_cells": 578},
        {"window_cells": True},
        {"decay_per_cell": "9"},
        {"decay_per_cell": "x"},
        {"decay_per_cell": 0},
        {"epsilon": "0"},
        {"epsilon": None},
        {"radius_m": "-200"},
        {"codes": 7},
        {"more": 1},
    ],
)
def test_damaged_parameters_are_refused(change: dict[str, object]) -> None:
    parameters = {**_channel(40, 40, "1").parameters, **change}
    with pytest.raises(ConfigError):
        rebuild_planar(Grid(40, 40), parameters)  # type: ignore[arg-type]


def test_rebuilding_gives_the_same_channel() -> None:
    channel = build_channel("planar_laplace", CHICAGO, "2", radius_m="200")
    again = rebuild_channel("planar_laplace", CHICAGO, channel.parameters)
    assert again.digest == channel.digest
    assert again.weights(77) == channel.weights(77)
    assert again.certified_epsilon == channel.certified_epsilon
    assert channel.digest != build_channel("planar_laplace", CHICAGO, "2.000001", radius_m="200").digest


def test_draws_do_not_depend_on_batches() -> None:
    channel = build_channel("planar_laplace", CHICAGO, "1", radius_m="200")
    stream = Keystream(bytes(range(32)), "batches")
    codes = (np.arange(70_000, dtype=np.int64) * 7919 % CHICAGO.size).astype(np.int32)
    whole = channel.sample(codes, stream)
    assert whole.dtype == np.int32
    cuts = [0, 1, 999, 32_768, 65_537, 70_000]
    parts = [channel.sample(codes[a:b], stream, first_row=a) for a, b in pairwise(cuts)]
    assert np.array_equal(np.concatenate(parts), whole)
    assert not np.array_equal(channel.sample(codes, stream, first_row=1), whole)
    assert len(channel.sample(codes[:0], stream)) == 0


class _Words:
    """A keystream that plays chosen words."""

    def __init__(self, *words: int) -> None:
        self._words = np.array(words, dtype=np.uint64)

    def words(self, first: int, count: int) -> np.ndarray:
        return self._words[first : first + count]


def test_one_draw_in_a_million_is_uniform_over_the_box() -> None:
    channel = _channel(5, 4, "8")
    cells = channel.inputs
    for cell in range(cells):
        least = -(-cell * WINDOW_TOTAL // cells) << UNIFORM_BITS  # first of the draws that give this cell
        for value, expected in ((least, cell), (least - (1 << UNIFORM_BITS), cell - 1)):
            if value >= 0:
                stream = _Words(value >> 64, value % 2**64)
                assert channel.sample(np.array([7], dtype=np.int32), stream).tolist() == [expected]  # type: ignore[arg-type]


def test_offsets_do_not_depend_on_the_last_bits() -> None:
    channel = _channel(9, 9, "1")
    upper = Keystream(bytes(32), "upper").words(0, 4000)
    base = (upper[1::2] >> np.uint64(UNIFORM_BITS)) << np.uint64(UNIFORM_BITS)
    codes = np.full(2000, 40, dtype=np.int32)
    outputs = []
    for last in (1, 2, 2**19, 2**20 - 1):
        words = upper.copy()
        words[1::2] = base + np.uint64(last)
        outputs.append(channel.sample(codes, _Words(*words.tolist())))  # type: ignore[arg-type]
    assert all(np.array_equal(outputs[0], other) for other in outputs[1:])
    assert len(np.unique(outputs[0])) > 20


def test_alias_table_realises_the_offset_weights() -> None:
    channel = _channel(6, 6, "2")
    _, _, weights = channel._offsets
    assert channel._alias.weights() == tuple(weight << UNIFORM_BITS for weight in weights)


@pytest.mark.parametrize("codes", [[-1], [25], [0, 3, 99]])
def test_codes_outside_draw_nothing(codes: list[int]) -> None:
    with pytest.raises(InputContractError) as caught:
        _channel(5, 5).sample(np.array(codes, dtype=np.int32), Keystream(bytes(32), "x"))
    assert caught.value.faults[0].rows == 1


def test_points_have_no_scores_and_large_boxes_no_dense_solve() -> None:
    channel = build_channel("planar_laplace", CHICAGO, "1", radius_m="200")
    assert channel.scores is None
    assert channel.moments is None
    assert channel.coarsen(Decimal("0.5")) is None
    assert channel.support == range(CHICAGO.size)
    assert (channel.words_per_row, channel.total) == (2, TOTAL)
    with pytest.raises(ConfigError):
        channel.invert(np.zeros(CHICAGO.size))


def test_inversion_undoes_the_channel_on_a_small_box() -> None:
    channel = _channel(5, 4, "4")
    truth = np.arange(20, dtype=np.float64)
    expected = sum(truth[i] * np.array(channel.weights(i), dtype=np.float64) / TOTAL for i in range(20))
    assert np.allclose(channel.invert(np.asarray(expected)), truth, atol=1e-9)
    assert np.allclose(channel.expectation(np.ones(20)), 1.0)


def test_unit_is_explicit_and_scale_the_right_way_up() -> None:  # B52
    fine = BoxDomain(["41.7", "-87.8", "42.0", "-87.55"], "EPSG:3435", "25")
    channel = build_planar_laplace(fine, "2", radius_m="200")  # 0.01 per metre, 10 per km
    assert channel.event == GeoEvent(Geo.parse("10"))
    assert isinstance(channel, PlanarChannel)
    assert channel.mean_displacement_m == pytest.approx(200, rel=0.005)
    assert build_planar_laplace(fine, Epsilon.parse("10"), radius_m="1000").event == channel.event


def test_raw_points_pay_for_scale_and_cell_size() -> None:
    channel = build_planar_laplace(CHICAGO, "1.386", radius_m="200")
    assert isinstance(channel, PlanarChannel)
    assert channel.raw_point_epsilon(Decimal(200)) == Decimal("2.366287")
    assert channel.raw_point_epsilon(Decimal(0)) > 0


@pytest.mark.parametrize(
    ("step", "radius", "epsilon"),
    [("13", "200", "1.386"), ("2000", "200", "1.386"), ("30", "5000", "1"), ("500", "1", "0.1")],
)
def test_steps_that_do_not_suit_the_noise_name_one_that_does(step: str, radius: str, epsilon: str) -> None:
    claim = GeoClaim.parse(epsilon, radius)
    side = 20_000.0
    with pytest.raises(ConfigError) as caught:
        build_planar(Grid(int(side / float(step)), int(side / float(step)), step), claim)
    fault = caught.value.faults[0]
    assert fault.where == "domain.step_m"
    found = re.search(r"[0-9.]+(?= m)", fault.required)
    assert found is not None
    named = found.group()
    cells = max(2, int(side / float(named)))
    decay = claim.build_per_metre * Fraction(named)
    assert decay <= 8
    assert needed_radius(float(decay), cells * cells, 2e-10 * float(named) / float(radius)) <= 577


@pytest.mark.parametrize("radius", ["0", "-1", "x", "NaN", "1e9", 200.0, None, True])
def test_bad_radius(radius: object) -> None:
    with pytest.raises(ConfigError) as caught:
        build_planar_laplace(CHICAGO, "1", radius_m=radius)
    assert caught.value.reason is Reason.BAD_PARAMETER


@pytest.mark.parametrize("epsilon", ["0", "-1", 1.0, "NaN", True, None])
def test_bad_epsilon(epsilon: object) -> None:
    with pytest.raises(ConfigError):
        build_planar_laplace(CHICAGO, epsilon, radius_m="200")


def test_claims_are_read_exactly() -> None:
    assert GeoClaim.parse("1", "200.50").radius_m == "200.5"
    assert GeoClaim.parse("1", 200).radius_m == "200"
    assert GeoClaim.parse("1", "2E+2").radius_m == "200"


def test_a_certificate_above_the_claim_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        GeoClaim.parse("1", "200").refuse_above(Decimal("1.0000001"))
    assert caught.value.reason is Reason.CLAIM_NOT_CERTIFIED


def test_other_domains_are_refused() -> None:
    with pytest.raises(ConfigError):
        build_planar_laplace(NumberDomain("0", "9"), "1")
    with pytest.raises(ConfigError):
        rebuild_planar_laplace(NumberDomain("0", "9"), {})
