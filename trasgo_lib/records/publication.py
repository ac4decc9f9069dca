"""What has to happen before a version may be published, and how much of it has: approvals and embargo.

Pure functions over a version's events. The same rules stand as triggers in the database.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trasgo_lib.records.model import Event, State
from trasgo_lib.records.people import person

_RAN = frozenset({State.PLANNED, State.VALIDATED, State.DRAWN, State.CHECKED})
"""Whoever moved a version to one of these, or fixed its plan, ran it and cannot approve it."""


@dataclass(frozen=True, slots=True)
class PublicationTerms:
    """What was fixed with a plan about its publication.

    Args:
        approvals: how many people have to approve, 0 to 2.
        embargo: the instant before which nothing is published, UTC, ISO 8601; None without one.
        embargo_words: the same as its release file says it, with its zone.
        service_accounts: actors that cannot approve, sorted.
        public: where it will be published; only with approvals or an embargo.
    """

    approvals: int = 0
    embargo: str | None = None
    embargo_words: str = ""
    service_accounts: tuple[str, ...] = ()
    public: str = ""

    @property
    def ask_nothing(self) -> bool:
        """Whether a checked version is published at once."""
        return self.approvals == 0 and self.embargo is None

    def evidence(self) -> dict[str, str]:
        """As evidence of the event that fixes a plan; empty when nothing is asked."""
        if self.ask_nothing:
            return {}
        found = {"approvals": str(self.approvals), "public": self.public}
        if self.service_accounts:
            found["service_accounts"] = json.dumps(sorted(self.service_accounts), ensure_ascii=False)
        if self.embargo is not None:
            found |= {"embargo": self.embargo, "embargo_words": self.embargo_words}
        return found

    @classmethod
    def of(cls, evidence: Mapping[str, str]) -> PublicationTerms:
        """The terms that an event fixed.

        Raises:
            ValueError: the evidence is not what this library writes.
        """
        accounts = json.loads(evidence.get("service_accounts", "[]"))
        if not isinstance(accounts, list):
            raise ValueError("service accounts are a list")
        return cls(
            approvals=int(evidence.get("approvals", "0")),
            embargo=evidence.get("embargo"),
            embargo_words=evidence.get("embargo_words", ""),
            service_accounts=tuple(str(name) for name in accounts),
            public=evidence.get("public", ""),
        )


NO_TERMS = PublicationTerms()
"""Nothing is asked: a checked version is published at once."""


@dataclass(frozen=True, slots=True)
class Publication:
    """How far a version is on its way to the public.

    Args:
        terms: what was fixed.
        package: salted digest of the packaged files that wait in the restricted root; None when none do.
        approvals: the approvals that count: of this package, after the terms were last fixed, one a person.
        runners: who ran the version.
        missed: whether its embargo ended without the approvals; it then needs a new embargo.
        plan_digest: digest of the frozen plan.
    """

    terms: PublicationTerms
    package: str | None
    approvals: tuple[Event, ...] = field(default=())
    runners: frozenset[str] = frozenset()
    missed: bool = False
    plan_digest: str = ""

    @property
    def missing(self) -> int:
        """How many approvals are still missing."""
        return max(0, self.terms.approvals - len(self.approvals))

    def ran(self, actor: str) -> bool:
        """Whether this person ran the version, however the name is spelled."""
        return person(actor) in {person(name) for name in self.runners}

    def is_early(self, now: str) -> bool:
        """Whether its embargo has not ended; ``now`` is UTC in the database's form."""
        return self.terms.embargo is not None and now < _comparable(self.terms.embargo)


def publication_of(life: Sequence[Event]) -> Publication:
    """How far a version is, from its events.

    Raises:
        ValueError: an event fixes terms that cannot be read.
    """
    frozen = next((event for event in reversed(life) if event.kind == "freeze"), None)
    terms = PublicationTerms() if frozen is None else PublicationTerms.of(frozen.evidence)
    since = 0 if frozen is None else frozen.seq
    package = next((event.evidence.get("package") for event in life if event.kind == "package"), None)
    runners = frozenset(e.actor for e in life if e.kind == "freeze" or (e.kind == "state" and e.state in _RAN))
    plan_digest = "" if frozen is None else frozen.evidence.get("plan_digest", "")
    counted: dict[str, Event] = {}
    barred = {person(name) for name in (*runners, *terms.service_accounts)}
    for event in life:
        said = (event.evidence.get("package"), event.evidence.get("plan_digest"))
        who = person(event.actor)
        if event.kind == "approval" and event.seq > since and said == (package, plan_digest) and who not in barred:
            counted.setdefault(who, event)
    missed = package is not None and any(
        event.kind == "state" and event.state is State.HELD and event.seq > since for event in life
    )
    return Publication(terms, package, tuple(counted.values()), runners, missed, plan_digest)


def package_digest(salt: str, manifest_digest: str) -> str:
    """What the record says of files that are not public yet: HMAC-SHA256 under a salt that lies beside them.

    A plain digest of unpublished draws would let someone who knows all rows but one test the last.

    Args:
        salt: 64 hex digits, kept in the restricted root until the publication states it.
        manifest_digest: SHA-256 of the manifest, hex.
    """
    return hmac.new(bytes.fromhex(salt), manifest_digest.encode("ascii"), hashlib.sha256).hexdigest()


def _comparable(instant: str) -> str:
    """An instant of whole seconds in the form of the database's time, so that texts compare as times do."""
    return instant.replace("+00:00", ".000000+00:00")
