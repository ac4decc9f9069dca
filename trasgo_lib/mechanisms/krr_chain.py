"""The chain of ``randomized_response`` and ``kary_randomized_response``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import Domain
from trasgo_lib.mechanisms.base import TableChannel
from trasgo_lib.mechanisms.calibration import SLACK, meets
from trasgo_lib.mechanisms.channel import Channel, Json
from trasgo_lib.mechanisms.coupling import Coupling, Ladder, level_facts, unreachable_step
from trasgo_lib.mechanisms.krr import VERSION, RotationChannel, build_randomized_response, is_numeric, require_binary
from trasgo_lib.mechanisms.parameters import StoredParameters, refused
from trasgo_lib.mechanisms.rotation_chain import RotationKernel, RotationProduct, descend, products

_WORD = 1 << 64


def solve_rotations(name: str, codes: int, top_other: int, ladder: Ladder) -> list[Json]:
    """Weights ``q`` of the top level and of every kernel below it, as decimal text, in the order in which they run.

    Args:
        name: registry name, for the error.
        codes: number of codes.
        top_other: weight of the other codes at the top level.
        ladder: the claims.

    Raises:
        ConfigError: a level that words cannot realise.
    """
    top = RotationProduct.of(codes, (top_other,))
    others = descend(top, [claim.decimal - SLACK for claim in ladder.falling])
    found = () if others is None else products(top, others)[1:]
    for place, claim in enumerate(ladder.falling):
        if place >= len(found) or not meets(found[place].certificate, claim):
            raise unreachable_step(name, claim)
    return [str(other) for other in (top_other, *(others or ()))]


def read_rotations(stored: StoredParameters, codes: int, rungs: int) -> tuple[int, ...]:
    """The weights ``q`` of stored parameters.

    Raises:
        ConfigError: not one whole number a rung, each of which leaves something to keep.
    """
    others = stored.integers("others", below=-(-_WORD // codes))
    if len(others) != rungs or min(others) < 1:
        raise refused("parameters.others", f"{rungs} numbers from 1", str(len(others)), "The channel file is damaged.")
    return others


def assemble_rotations(
    codes: int,
    others: Sequence[int],
    ladder: Ladder,
    channel: Callable[[Epsilon, RotationProduct, Decimal], TableChannel],
) -> tuple[tuple[RotationKernel, ...], tuple[TableChannel, ...]]:
    """Kernels and channels of a chain of rotations, both from the lowest rung.

    Args:
        codes: number of codes.
        others: weights ``q``, the top level first.
        ladder: the claims.
        channel: builds a level's channel from its claim, product and difference.
    """
    ran = products(RotationProduct.of(codes, others[:1]), others[1:])[::-1]
    steps = tuple(RotationKernel(codes, other) for other in others[:0:-1])
    channels = tuple(
        channel(claim, product, product.difference) for claim, product in zip(ladder.claims, ran, strict=True)
    )
    return steps, channels


def search_randomized_response(name: str, domain: Domain, ladder: Ladder, *, missing: bool = False) -> dict[str, Json]:
    """Parameters of the chain: the weights of the top level and of every kernel.

    Raises:
        ConfigError: a claim that words cannot realise on this domain.
    """
    top: Channel = build_randomized_response(name, domain, ladder.top, missing=missing)
    other = top.weights(0)[1]
    return {
        "levels": ladder.texts,
        "codes": top.inputs,
        "others": solve_rotations(name, top.inputs, other, ladder),
    }


def couple_randomized_response(name: str, domain: Domain, parameters: Mapping[str, Json]) -> Coupling:
    """The coupled levels of stored parameters.

    Raises:
        ConfigError: damaged parameters.
        VerificationError: some level's integers prove less than its claim.
    """
    require_binary(name, domain)
    stored = StoredParameters(name, parameters)
    ladder, codes = Ladder.read(name, stored.texts("levels")), stored.integer("codes", below=2**31)
    if codes not in (domain.size, domain.size + 1):
        raise refused(f"{name} parameters.codes", f"{domain.size}, or one more", str(codes), "Use its own domain.")
    others = read_rotations(stored, codes, len(ladder.claims))
    stored.finish()

    def channel(claim: Epsilon, product: RotationProduct, difference: Decimal) -> RotationChannel:
        facts = level_facts(name, VERSION, (codes, codes), parameters, claim, product.certificate, difference)
        return RotationChannel(facts, product.nominal_other, domain.size if is_numeric(domain) else 0)

    steps, channels = assemble_rotations(codes, others, ladder, channel)
    return Coupling(RotationKernel(codes, others[0]), steps, channels)
