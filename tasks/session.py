"""What a task opens from a reference: plan, records, stores and keys of one run.

Between tasks travels a :class:`RunRef` of public text; each process opens the rest for itself and keeps it, so keys
never travel and a worker on another machine compiles the plan once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from tasks.affordable import part_of, require_first_round, require_same_terms
from tasks.places import open_records, work_folder, wrapping_key
from tasks.stores import open_root, remove_below
from tasks.version_life import VersionLife, now
from trasgo_lib.budget import Cost
from trasgo_lib.data import source_digest, stage_prefix
from trasgo_lib.errors import ConflictError, Reason, StoreError
from trasgo_lib.keys import commitment, root_context
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import ReleasePlan
from trasgo_lib.records import Reservation, VersionRecord
from trasgo_lib.statistics import StatisticsPlan
from trasgo_lib.training import TrainingPlan, read_product, verb_of

_LOGGER = logging.getLogger("trasgo")


@dataclass(frozen=True, slots=True)
class RunRef:
    """The public facts from which every task opens the run.

    Args:
        config: absolute path of the release file.
        config_digest: SHA-256 of its text, hex; another text under the same path is refused.
        home: the state folder.
        actor: who runs it, for the ledger.
    """

    config: str
    config_digest: str
    home: str
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(VersionLife[ReleasePlan]):
    """One run, opened in this process.

    Args:
        ref: what it was opened from.
        statistics: the queries of a statistics file, whose source and places are ``plan``; None for other files.
        training: the model of a training file, likewise; None for other files.
    """

    ref: RunRef
    statistics: StatisticsPlan | None = None
    training: TrainingPlan | None = None

    def streams(self, purpose: str) -> Callable[..., Keystream]:
        """Gives the keystreams of one purpose of this version, after one look at the ledger; secret.

        Args:
            purpose: ``draw``, ``permute``, ``probe``, ``stage``, ``risk``, ``audit`` or ``train``.

        Returns:
            A function of chain digest, level, attempt and keyed input digest, as the purpose needs. It holds the root:
            it is for one draw, so that a root that was destroyed ends the draws.

        Raises:
            ConflictError: the version's root is gone or is not the one that was charged for.
        """
        root = self._root(self.begin())
        return partial(Keystream, root, self.plan.dataset, self.plan.version, purpose)

    def stream(self, purpose: str, *parts: str | int) -> Keystream:
        """One keystream; as ``streams``."""
        return self.streams(purpose)(*parts)

    def require_same_plan(self) -> None:
        """Stop before data is opened when the version was charged for another plan.

        Raises:
            ConflictError: exit 4; nothing was read or drawn.
        """
        record = self.version()
        if record is None or record.plan_digest in (None, self.plan.digest) or self.spent().is_zero:
            return
        raise ConflictError.of(
            Reason.PLAN_CHANGED,
            f"version {record.dataset}/{record.version}",
            required="the plan this version was charged for",
            came="another plan: mechanism, domain, ladder, target, policy or total differ",
            fix="Restore the release file, or publish a new version, charged in full.",
        )

    def require_account(self) -> None:
        """Stop before data is opened when the account is absent, counts other units, or cannot pay for a first round.

        Raises:
            BudgetError: no such account, too little is left, or a draw that it does not take.
            ConflictError: it was opened for another unit, or without the part that the file names.
        """
        account = self.records.account(self.plan.account)
        require_same_terms(account, self.plan)
        # a version that was charged before has paid for its first round already; ``reserve`` judges the rest
        if self.spent().is_zero:
            require_first_round(self.records, account, self.plan, self.statistics or self.training)

    @property
    def verb(self) -> str:
        """The command that makes this version."""
        return verb_of(self.statistics, self.training)

    @property
    def part(self) -> tuple[str, str] | None:
        """The declared partition and part that this version's data are of; None when they are of all units."""
        return part_of(self.plan)

    def account_to_date(self) -> Cost:
        """The account up to this version's last charge: later charges of other versions must not change its files.

        Parts of the account are parallel where this version's statement says that units keep them, and only there.
        """
        plan = self.plan
        own = self.records.charges_of(plan.dataset, plan.version)
        asked = () if self.statistics is None else self.statistics.charges
        kept = [charge.membership.name for charge in asked if charge.membership is not None]
        kept += [self.part[0]] if self.part is not None else []
        return self.records.to_date(plan.account, own[-1].seq, kept)

    def source_digest(self) -> str:
        """Keyed digest of the source file as it is now, hex; private.

        Raises:
            InputContractError: the file cannot be read.
        """
        return source_digest(self.plan.source_path, self.digest_key())

    def reserve(self, reservations: Sequence[Reservation]) -> None:
        """Charge draws, all of them or none.

        Raises:
            BudgetError: a cap would be passed.
            ConflictError: the version was charged otherwise.
        """
        self.records.reserve_all(reservations, now())

    @property
    def stage_prefix(self) -> str:
        """Where stage objects of this version stand below the restricted root; public."""
        return stage_prefix(self.plan.dataset, self.plan.version)

    def remove_work(self) -> None:
        """Delete every work file, and what workers without a shared disk were given."""
        VersionLife.remove_work(self)
        if self.restricted.root is None:
            try:
                remove_below(self.restricted, self.stage_prefix)
            except StoreError:
                # what is left is sealed; the version is as far as it goes, and must not fail for it
                _LOGGER.warning("stage objects below %s could not be removed", self.restricted.uri(self.stage_prefix))

    def _root(self, record: VersionRecord) -> bytes:
        where = f"root of {record.dataset}/{record.version}"
        if not record.wrapped_root:
            raise self._destroyed(where)
        try:
            root = self.wrapping_key.unwrap(record.wrapped_root, root_context(record.dataset, record.version))
        except ConflictError:
            root = None
        if root is None or commitment(root) != record.commitment:
            raise ConflictError.of(
                Reason.ROOT_LOST,
                where,
                required="the root that this version was charged for",
                came="none that the wrapping key opens",
                fix="Restore the wrapping key, or publish a new version, charged in full. A root is never made anew.",
            )
        return root

    def _destroyed(self, where: str) -> ConflictError:
        life = self.records.events(self.plan.dataset, self.plan.version)
        event = next(event for event in reversed(life) if event.kind == "destroy")
        return ConflictError.of(
            Reason.ROOT_LOST,
            where,
            required="the root that this version was charged for",
            came=f"one that {event.actor} destroyed on {event.at[:10]}",
            fix="Nothing of this version can be drawn again. Publish a new version, charged in full.",
        )

    def __repr__(self) -> str:
        return f"Session({self.plan.dataset}/{self.plan.version})"


@lru_cache(maxsize=4)
def open_session(ref: RunRef) -> Session:
    """Open a run from its reference; kept for the life of the process.

    Raises:
        ConfigError: the release file or the key is wrong.
        ConflictError: the release file is no longer the one the run began with.
        StoreError: a root or the database cannot be reached.
    """
    product = read_product(Path(ref.config))
    plan = product.base
    if product.loaded.text_digest != ref.config_digest:
        required, fix = "the text this run began with", "Start the run again."
        raise ConflictError.of(Reason.PLAN_CHANGED, "release file", required=required, came="another text", fix=fix)
    return Session(
        ref=ref,
        plan=plan,
        records=open_records(plan),
        public=open_root(plan.public_root, plan.config.publish.public_s3),
        restricted=open_root(plan.restricted_root, plan.config.publish.restricted_s3, private=True),
        work=work_folder(plan, Path(ref.home)),
        home=Path(ref.home),
        actor=ref.actor,
        wrapping_key=wrapping_key(plan, Path(ref.home)),
        statistics=product.statistics,
        training=product.training,
    )
