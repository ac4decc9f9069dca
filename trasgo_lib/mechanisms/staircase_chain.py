"""The chain of ``staircase``: its width is fixed for the whole ladder; lower levels draw some rows afresh."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from trasgo_lib.data import Domain
from trasgo_lib.mechanisms.base import TableChannel
from trasgo_lib.mechanisms.calibration import SLACK, meets
from trasgo_lib.mechanisms.channel import Json
from trasgo_lib.mechanisms.coarse_channel import CoarseChannel
from trasgo_lib.mechanisms.coupling import Coupling, Ladder, level_facts, unreachable_step
from trasgo_lib.mechanisms.parameters import StoredParameters, refused
from trasgo_lib.mechanisms.refresh_chain import RefreshKernel, RefreshLaw, RefreshProduct
from trasgo_lib.mechanisms.shift import ShiftChannel, ShiftNoise
from trasgo_lib.mechanisms.smooth_inverse import SmoothInverse
from trasgo_lib.mechanisms.staircase import (
    NAME,
    VERSION,
    read_width,
    require_dense,
    solved_level,
    staircase_noise,
)


def search_staircase(domain: Domain, ladder: Ladder, *, width: object = None) -> dict[str, Json]:
    """Parameters of the chain: width, exact top level, and the weight of drawing afresh at every step.

    Without a declared width the one that suits the middle rung is taken.

    Raises:
        ConfigError: too many codes, a bad width, or a claim that words cannot realise.
    """
    require_dense(domain.size)
    place = read_width(width, domain.size, ladder.claims[len(ladder.claims) // 2])
    level = solved_level(domain.size, place, ladder.top)
    product, refreshed = RefreshProduct.of(staircase_noise(domain.size, place, level)), list[Json]()
    for claim in ladder.falling:
        refresh = product.refresh_for(claim.decimal - SLACK)
        kernel = product.kernel(refresh)
        if kernel is None or not meets((product := product.times(kernel)).certificate, claim):
            raise unreachable_step(NAME, claim)
        refreshed.append(str(refresh))
    return {
        "levels": ladder.texts,
        "codes": domain.size,
        "width": place,
        "exact": f"{level:f}",
        "refreshed": refreshed,
    }


def couple_staircase(domain: Domain, parameters: Mapping[str, Json]) -> Coupling:
    """The coupled levels of stored parameters.

    Raises:
        ConfigError: damaged parameters.
        VerificationError: some level's integers prove less than its claim.
    """
    stored = StoredParameters(NAME, parameters)
    stored.require_size(domain.size)
    require_dense(domain.size)
    ladder, exact = Ladder.read(NAME, stored.texts("levels")), stored.decimal("exact")
    width = read_width(stored.integer("width", below=domain.size), domain.size, ladder.top)
    refreshed = stored.integers("refreshed", below=1 << 64, empty=True)
    stored.finish()
    if len(refreshed) != len(ladder.falling):
        raise refused(f"{NAME} parameters.refreshed", "one a step", str(len(refreshed)), "The channel file is damaged.")
    size, noise = domain.size, staircase_noise(domain.size, width, exact)
    sizes = (size, size)
    product = RefreshProduct.of(noise)
    facts = level_facts(NAME, VERSION, sizes, parameters, ladder.top, product.certificate, Decimal(0))
    table = ShiftNoise(noise)
    top = ShiftChannel(facts, table, SmoothInverse(table))
    kernels, channels = list[RefreshKernel](), list[TableChannel]([top])
    for refresh, claim in zip(refreshed, ladder.falling, strict=True):
        kernel = product.kernel(refresh)
        if kernel is None:
            raise unreachable_step(NAME, claim)
        product = product.times(kernel)
        difference = product.difference
        if difference is None:
            raise unreachable_step(NAME, claim)
        facts = level_facts(NAME, VERSION, sizes, parameters, claim, product.certificate, difference)
        channels.append(CoarseChannel(facts, RefreshLaw(top, product), SmoothInverse))
        kernels.append(kernel)
    return Coupling(top, tuple(reversed(kernels)), tuple(reversed(channels)))
