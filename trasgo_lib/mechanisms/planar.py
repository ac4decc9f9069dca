"""Building planar Laplace channels: over the lattice of a box, or over declared H3 cells."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from trasgo_lib.data import BoxDomain, CellsDomain, Domain
from trasgo_lib.errors import ConfigError
from trasgo_lib.mechanisms.calibration import require_certified
from trasgo_lib.mechanisms.cells_channel import CellsChannel, build_cells, rebuild_cells
from trasgo_lib.mechanisms.channel import Json
from trasgo_lib.mechanisms.geo_claim import DOWN, UP, GeoClaim, as_decimal
from trasgo_lib.mechanisms.parameters import StoredParameters, refused
from trasgo_lib.mechanisms.planar_channel import NAME, Lattice, PlanarChannel
from trasgo_lib.mechanisms.planar_window import LARGEST_RADIUS, UNIFORM_BITS, PlanarWindow, needed_radius

_STEEPEST = 8
"""Largest decay per cell: beyond it fewer than 1 point in 700 leaves its cell, and what protects is not the noise."""

_TAIL_SHARE = 2e-10
"""Share of the gap of 1e-9 that the cut-off tail may take, as delta: 2 * rho costs 4e-10, roundings far less."""

_SMALLEST_STEP_FACTOR = 1.01


def build_planar_laplace(domain: Domain, epsilon: object, *, radius_m: object = "200") -> PlanarChannel | CellsChannel:
    """Planar Laplace noise over a box or over declared cells.

    Args:
        domain: a ``BoxDomain`` or a ``CellsDomain``; public.
        epsilon: for two places ``radius_m`` apart; decimal text or an ``Epsilon``; public.
        radius_m: metres, decimal text; public.

    Raises:
        ConfigError: another kind of domain, a malformed amount, or a lattice that does not suit the amount.
    """
    claim = GeoClaim.parse(epsilon, radius_m)
    if isinstance(domain, BoxDomain):
        return build_planar(domain, claim)
    if isinstance(domain, CellsDomain):
        return build_cells(domain, claim)
    raise _bad_domain(domain)


def rebuild_planar_laplace(domain: Domain, parameters: Mapping[str, Json]) -> PlanarChannel | CellsChannel:
    """The channel that published these parameters, without any search.

    Args:
        domain: a ``BoxDomain`` or a ``CellsDomain``; public.
        parameters: as in ``channel.json``.

    Raises:
        ConfigError: another kind of domain, or parameters that are damaged or belong to another domain.
        VerificationError: the weights prove less than the claim.
    """
    if isinstance(domain, BoxDomain):
        return rebuild_planar(domain, parameters)
    if isinstance(domain, CellsDomain):
        return rebuild_cells(domain, parameters)
    raise _bad_domain(domain)


def build_planar(lattice: Lattice, claim: GeoClaim) -> PlanarChannel:
    """The channel for a claim, built 1e-9 below it.

    Args:
        lattice: the box domain; public.
        claim: epsilon at a radius; public.

    Raises:
        ConfigError: a step too fine for the window of 2**20 offsets, or too coarse for the noise; names one that works.
    """
    step = Fraction(str(lattice.step_m))
    decay = as_decimal(claim.build_per_metre * step, DOWN)
    if decay > _STEEPEST:
        largest = as_decimal(_STEEPEST / claim.per_metre, DOWN)
        raise _bad_step(lattice, f"at most {_three_digits(largest, ROUND_FLOOR)} m, so that points leave their cells")
    radius = needed_radius(float(decay), lattice.columns * lattice.rows, _allowed(claim, float(step)))
    if radius > LARGEST_RADIUS:
        finest = _finest_step(lattice, claim)
        raise _bad_step(lattice, f"about {finest} m or more, so that 2**20 offsets hold the noise")
    window = _window(decay, radius)
    certified = _certified_geo(lattice, window)
    claim.refuse_above(claim.at_radius(certified))
    return PlanarChannel(lattice, claim, window, certified)


def rebuild_planar(lattice: Lattice, parameters: Mapping[str, Json]) -> PlanarChannel:
    """The channel that published these parameters, without any search.

    Args:
        lattice: the box domain; public.
        parameters: as in ``channel.json``.

    Raises:
        ConfigError: parameters that are damaged or belong to another lattice.
        VerificationError: the weights prove less than the claim.
    """
    stored = StoredParameters(NAME, parameters)
    claim = GeoClaim.parse(stored.text("epsilon"), stored.text("radius_m"))
    decay, radius = stored.decimal("decay_per_cell"), stored.integer("window_cells", below=LARGEST_RADIUS + 1)
    bits, step = stored.integer("uniform_bits", below=64), stored.text("step_m")
    shape = stored.integer("columns", below=2**31), stored.integer("rows", below=2**31)
    stored.require_size(lattice.columns * lattice.rows)
    stored.finish()
    if (bits, step, shape) != (UNIFORM_BITS, str(lattice.step_m), (lattice.columns, lattice.rows)):
        raise refused(f"{NAME} parameters", "the lattice of the domain", "another lattice", "Use its own domain.")
    if decay > _STEEPEST or radius < 1:
        raise refused(f"{NAME} parameters", "a decay up to 8 and a window", "others", "The channel file is damaged.")
    window = _window(decay, radius)
    certified = _certified_geo(lattice, window)
    require_certified(claim.at_radius(certified), claim.epsilon, NAME)
    return PlanarChannel(lattice, claim, window, certified)


def _certified_geo(lattice: Lattice, window: PlanarWindow) -> Decimal:
    """Epsilon per metre that the weights prove, rounded up."""
    return UP.divide(window.certified_decay(lattice.columns * lattice.rows), Decimal(lattice.step_m))


@lru_cache(maxsize=8)
def _window(decay: Decimal, radius: int) -> PlanarWindow:
    """Windows are pure functions of two numbers and take seconds at full size."""
    return PlanarWindow(decay, radius)


def _allowed(claim: GeoClaim, step_m: float) -> float:
    return _TAIL_SHARE * step_m / float(claim.radius_m)


def _finest_step(lattice: Lattice, claim: GeoClaim) -> str:
    """The finest step, to three digits, whose window fits; the box then has fewer cells, in proportion."""
    start = step = float(lattice.step_m)
    while True:
        step *= _SMALLEST_STEP_FACTOR
        cells = max(2.0, lattice.columns * lattice.rows * (start / step) ** 2)
        if needed_radius(float(claim.build_per_metre) * step, cells, _allowed(claim, step)) <= LARGEST_RADIUS:
            return _three_digits(Decimal(step), ROUND_CEILING)


def _three_digits(number: Decimal, rounding: str) -> str:
    return format(Context(prec=3, rounding=rounding).create_decimal(number), "f")


def _bad_step(lattice: Lattice, required: str) -> ConfigError:
    fix = "Change the step, or the epsilon and radius of the point."
    return refused("domain.step_m", required, f"{lattice.step_m} m", fix)


def _bad_domain(domain: Domain) -> ConfigError:
    fix = "Declare the column as type: point, or choose another mechanism."
    return refused(f"{NAME} domain", "a box or a list of cells", domain.kind, fix)
