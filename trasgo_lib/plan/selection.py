"""How ``auto`` came to a mechanism, kept for people: nothing that is drawn depends on it but through that mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from trasgo_lib.mechanisms import Prospect

_MOST_NAMED = 5
"""Candidates named with their loss; the rest are counted."""

_DIGEST_SHOWN = 12
"""Hexadecimal digits that tell priors apart for people; the statement has all."""


@dataclass(frozen=True, slots=True)
class MechanismSelection:
    """How a mechanism was chosen. Public.

    Args:
        column: whose.
        loss: what candidates were compared by.
        source: where the public knowledge is found, in words; empty where there was but one candidate.
        digest: SHA-256 of the prior, hex; empty likewise.
        prospects: every candidate, the chosen one first, those that could not be chosen last; never empty.
    """

    column: str
    loss: str
    source: str
    digest: str
    prospects: tuple[Prospect, ...]

    @property
    def in_words(self) -> str:
        """What was chosen, against what, by which loss and from which source."""
        chosen = self.prospects[0]
        if not self.digest:
            return f"auto: {chosen.candidate}, the only candidate"
        open_ones = [prospect for prospect in self.prospects if not prospect.excluded]
        named = ", ".join(map(self._with_loss, open_ones[:_MOST_NAMED]))
        more = f", and {len(open_ones) - _MOST_NAMED} with more" if len(open_ones) > _MOST_NAMED else ""
        compared = f"{named}{more}" if named else f"it misses the target least ({self._with_loss(chosen)})"
        return (
            f"auto: {chosen.candidate}, decided from public knowledge ({self.source}; prior"
            f" {self.digest[:_DIGEST_SHOWN]}) by the {self.loss} expected of {self.column} alone: {compared}"
            f"{self._left_out()}"
        )

    def _with_loss(self, prospect: Prospect) -> str:
        loss = "" if prospect.loss is None else f" {prospect.loss:.3g}"
        percent = " %" if loss and self.loss == "correlation_loss" else ""
        return f"{prospect.candidate}{loss}{percent} at epsilon {prospect.level.text}"

    def _left_out(self) -> str:
        barred = sorted((one for one in self.prospects if one.excluded), key=lambda one: one.excluded)
        parts = [
            f"{', '.join(str(one.candidate) for one in those)} ({reason})"
            for reason, those in groupby(barred, key=lambda one: one.excluded)
        ]
        return f". Left out: {'; '.join(parts)}" if parts else ""
