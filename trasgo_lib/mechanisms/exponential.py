"""``exponential``: the exponential mechanism for any declared utility, its factor solved on the certificate.

Row ``i`` has shares proportional to ``exp(factor * u(i, j))``. The textbook factor, epsilon / (2 * sensitivity), is a
bound that wastes up to half of epsilon where normalisers agree (0/1 utility) and some of it everywhere else; here the
largest factor is taken whose integers still prove the claim. Source: McSherry and Talwar 2007, with exact calibration.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import Domain
from trasgo_lib.mechanisms.base import ChannelFacts
from trasgo_lib.mechanisms.calibration import (
    ScaleSearch,
    build_levels,
    is_beyond_words,
    loss_event,
    meets,
    refuse_claim,
    require_certified,
)
from trasgo_lib.mechanisms.certificate import dense_extremes, pure_epsilon
from trasgo_lib.mechanisms.channel import Channel, Json
from trasgo_lib.mechanisms.dense import MAX_DENSE_CODES, DenseChannel
from trasgo_lib.mechanisms.fixed_point import CONTEXT, exponentials, normalised_rows
from trasgo_lib.mechanisms.krr import is_numeric
from trasgo_lib.mechanisms.parameters import StoredParameters, read_epsilon, refused
from trasgo_lib.mechanisms.utility import Utility, read_utility

NAME = "exponential"
VERSION = 1


def _matrix(utility: Utility, factor: Decimal) -> NDArray[np.uint64]:
    """Weights for a factor: uint64[codes, codes]."""
    table = exponentials(CONTEXT.multiply(factor, utility.unit), utility.distinct)
    return normalised_rows(table[utility.places])


def _certificate(matrix: NDArray[np.uint64]) -> Decimal:
    return pure_epsilon(*dense_extremes(matrix))


def _assemble(
    domain: Domain, utility: Utility, claim: Epsilon, factor: Decimal, matrix: NDArray[np.uint64]
) -> DenseChannel:
    codes = len(matrix)
    facts = ChannelFacts(
        name=NAME,
        version=VERSION,
        inputs=codes,
        outputs=codes,
        certified_epsilon=require_certified(_certificate(matrix), claim, NAME),
        certified_delta=Decimal(0),
        event=loss_event(claim),
        parameters={"epsilon": claim.text, "codes": codes, "utility": utility.declared, "factor": f"{factor:f}"},
    )
    return DenseChannel(facts, matrix, domain.size if is_numeric(domain) else 0)


def _factor_for(utility: Utility, claim: Epsilon) -> Decimal | None:
    """The largest factor that is certified for the claim; None where none comes close to it."""
    if is_beyond_words(claim):
        return None
    for level in build_levels(claim):
        start = float(level) / float(utility.spread)
        search = ScaleSearch(lambda factor: _certificate(_matrix(utility, factor)), level, start, rising=True)
        factor = search.find()
        if factor is not None and meets(_certificate(_matrix(utility, factor)), claim):
            return factor
    return None


def build_exponential(
    domain: Domain, epsilon: object, *, utility: object = "zero_one", missing: bool = False
) -> Channel:
    """The exponential mechanism over the domain's codes.

    Args:
        domain: declared domain of at most 4096 codes.
        epsilon: decimal text.
        utility: ``zero_one``, ``ordinal`` (minus the distance of codes) or a square matrix of decimal text, a row an
            input.
        missing: whether a missing value is one more code; a declared matrix then has a last row and column for it,
            and under ``ordinal`` it is two thirds of the range away from every code.

    Raises:
        ConfigError: too many codes, a utility that is not such a matrix or tells no codes apart, or an epsilon that
            cannot be realised.
    """
    codes = _checked_size(domain, missing)
    claim, declared = read_epsilon(NAME, epsilon), read_utility(utility, domain.size, codes)
    factor = _factor_for(declared, claim)
    if factor is None:
        refuse_claim(NAME, codes, claim, lambda trial: _factor_for(declared, trial) is not None)
    return _assemble(domain, declared, claim, factor, _matrix(declared, factor))


def rebuild_exponential(domain: Domain, parameters: Mapping[str, Json]) -> Channel:
    """The channel of stored parameters, without a search.

    Raises:
        ConfigError: damaged parameters.
        VerificationError: the weights prove less than the claim.
    """
    stored = StoredParameters(NAME, parameters)
    codes = stored.integer("codes", below=2**31)
    if codes not in (_checked_size(domain, False), domain.size + 1):
        raise refused(f"{NAME} parameters.codes", f"{domain.size}, or one more", str(codes), "Use its own domain.")
    claim, factor = read_epsilon(NAME, stored.text("epsilon")), stored.decimal("factor")
    utility = read_utility(stored.raw("utility"), domain.size, codes)
    stored.finish()
    return _assemble(domain, utility, claim, factor, _matrix(utility, factor))


def _checked_size(domain: Domain, missing: bool) -> int:
    codes = domain.size + missing
    if codes > MAX_DENSE_CODES:
        raise refused(
            f"{NAME} domain",
            f"at most {MAX_DENSE_CODES} codes",
            f"{codes} codes",
            "Use a coarser domain, or laplace for numbers.",
        )
    return codes
