"""How ``auto`` came to a mechanism, kept for people: nothing that is drawn depends on it but through that mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trasgo_lib.mechanisms import Candidate, Prospect

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
        excluded = left_out(self.prospects)
        words = f". Left out: {excluded}" if excluded else ""
        return (
            f"auto: {chosen.candidate}, decided from public knowledge ({self.source}; prior"
            f" {self.digest[:_DIGEST_SHOWN]}) by the {self.loss} expected of {self.column} alone: {compared}"
            f"{words}"
        )

    def _with_loss(self, prospect: Prospect) -> str:
        loss = "" if prospect.loss is None else f" {prospect.loss:.3g}"
        percent = " %" if loss and self.loss == "correlation_loss" else ""
        return f"{prospect.candidate}{loss}{percent} at epsilon {prospect.level.text}"


def left_out(prospects: Sequence[Prospect]) -> str:
    """The candidates that could not be chosen, by reason; empty where all could be.

    Args:
        prospects: of one column.
    """
    by_reason: dict[str, list[Candidate]] = {}
    for prospect in prospects:
        if prospect.excluded:
            by_reason.setdefault(prospect.excluded, []).append(prospect.candidate)
    return "; ".join(f"{_listed(candidates)} ({reason})" for reason, candidates in by_reason.items())


def _listed(candidates: Sequence[Candidate]) -> str:
    """Candidates, each mechanism named once: ``binned_randomized_response bins 2/3, gaussian``."""
    named: dict[str, list[str]] = {}
    for candidate in candidates:
        head = " ".join((candidate.mechanism, *(name for name, _ in candidate.parameters)))
        named.setdefault(head, []).extend(str(value) for _, value in candidate.parameters)
    return ", ".join(f"{head} {'/'.join(values)}" if values else head for head, values in named.items())
