"""A window of a collection as one version: recorded, approved, held back, corrected and withdrawn as a release is.

Its account is the one of its devices: each keeps a budget of its own, and the office charges nothing to it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from tasks.collection_closing import last_over
from tasks.collection_corrections import corrected
from tasks.collection_session import CollectionRef, CollectionSession, collection_of, root_of
from tasks.places import open_records, wrapping_key
from tasks.rotation import require_key_of
from tasks.signing import previous_of, signing_key
from tasks.version_life import VersionLife, now
from trasgo_lib.amounts import Epsilon, Geo
from trasgo_lib.budget import Cost
from trasgo_lib.collection import CollectionPlan, read_collection
from trasgo_lib.collection.statement import plan_digest, window_info
from trasgo_lib.config import CollectionConfig, Supersedes
from trasgo_lib.errors import ConflictError, Reason
from trasgo_lib.keys import WrappingKey, digest_key_context, new_secret
from trasgo_lib.records import Account, AccountTerms, Records
from trasgo_lib.release import Anchors, Signing

FREE = "It follows from reports whose devices had paid for them, and adds nothing to what they spent."
"""What a correction costs."""


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """One window of a collection, as far as records, places and metadata go.

    Args:
        config: the file's models, with the version of this window and the version of this window that it corrects.
        config_path: where the file is.
        digest: of what decides what is published, hex; public.
    """

    config: CollectionConfig
    config_path: Path
    digest: str

    @property
    def dataset(self) -> str:
        """Name of the collection."""
        return self.config.release.dataset

    @property
    def version(self) -> str:
        """The window, and the version of the collection file."""
        return self.config.release.version

    @property
    def account(self) -> str:
        """The account of the devices; the blank keeps it apart from every account that a file can name."""
        return f"devices of {self.dataset}"

    @property
    def public_root(self) -> str:
        """Folder or URI of the public root."""
        return root_of(self.config_path, self.config, is_public=True)

    @property
    def restricted_root(self) -> str:
        """Folder or URI of the restricted root."""
        return root_of(self.config_path, self.config, is_public=False)


def window_plan(plan: CollectionPlan, config_path: Path, window: str, corrects: Supersedes | None) -> WindowPlan:
    """A window as a version.

    Args:
        plan: the compiled collection.
        config_path: where its file is.
        window: its first day.
        corrects: the version of this window that it takes the place of, or None.
    """
    release = window_info(plan, window, corrects)
    return WindowPlan(plan.config.model_copy(update={"release": release}), config_path, plan_digest(plan))


def life_of(session: CollectionSession, window: str, actor: str) -> VersionLife[WindowPlan]:
    """The life of a window: its records, and what opens them.

    Args:
        session: the collection.
        window: its first day.
        actor: who runs it.

    Raises:
        ConfigError: there is no wrapping key, or the ledger is declared wrongly.
        StoreError: the database is out of reach.
    """
    alone = window_plan(session.plan, session.config_path, window, None)
    records = open_records(alone)
    return VersionLife(
        plan=window_plan(session.plan, session.config_path, window, corrected(session.plan, window, records)),
        records=records,
        public=session.public,
        restricted=session.restricted,
        work=session.work(window),
        home=session.home,
        actor=actor,
        wrapping_key=wrapping_key(session, session.home),
    )


def any_window(config: Path) -> WindowPlan:
    """The first window of a collection, for who asks after its ledger, its places and its keys only.

    Raises:
        ConfigError: the file is wrong.
    """
    loaded, plan = read_collection(config)
    return window_plan(plan, loaded.path, plan.windows.first_day.isoformat(), None)


def reviewed(config: Path, window: str | None) -> tuple[WindowPlan, str]:
    """A window as those see it who did not run it; no key and no root is opened.

    Args:
        config: the collection file.
        window: its first day; None for the last one that is over.

    Returns:
        The window as a version, and its first day.

    Raises:
        ConfigError: the file is wrong, or the ledger is declared wrongly.
        ConflictError: no window is over yet.
        StoreError: the database is out of reach.
    """
    loaded, plan = read_collection(config)
    name = last_over(plan) if window is None else window
    alone = window_plan(plan, loaded.path, name, None)
    return window_plan(plan, loaded.path, name, corrected(plan, name, open_records(alone, create=False))), name


def life_of_ref(ref: CollectionRef) -> VersionLife[WindowPlan]:
    """The same, from a reference."""
    return life_of(collection_of(ref), ref.window, ref.actor)


def begin(life: VersionLife[WindowPlan]) -> None:
    """Put a window on record, unless it is there; its devices' account is opened with the first one.

    Raises:
        ConflictError: published files that the records do not know, or another wrapping key than that of the records.
        StoreError: the database role may not open accounts.
    """
    open_account(life.records, life.plan, life.wrapping_key, life.actor)
    life.begin()


def open_account(records: Records, plan: WindowPlan, key: WrappingKey, actor: str, population: str = "") -> None:
    """Open the account of a collection's devices, unless it is open.

    Args:
        records: ledger and lifecycle.
        plan: any window.
        key: the wrapping key; secret.
        actor: who opens it.
        population: who the devices are, in words; recorded for good.

    Raises:
        ConflictError: the ledger's other secrets are under another key; or it is open, with lower caps than the file.
        StoreError: the database role may not open accounts.
    """
    cap = _cap_of_a_device(plan.config)
    if (account := _account(records, plan.account)) is not None:
        _require_within(account, cap)
        return
    require_key_of(records, key)
    who = population or f"devices that answer {plan.dataset}"
    terms = AccountTerms(
        name=plan.account,
        population=f"{who}; each device keeps its own budget up to this cap, and nothing is charged here",
        unit="device",
        max_rows=1,
        composition="basic",
        cap=cap,
    )
    wrapped = key.wrap(new_secret(os.urandom), digest_key_context(plan.account), os.urandom)
    try:
        records.open_account(terms, wrapped, actor, now())
    except ConflictError:
        if (account := _account(records, plan.account)) is None:
            raise
        _require_within(account, cap)


def _cap_of_a_device(config: CollectionConfig) -> Cost:
    """What a device spends at most: on reports of cells, and per kilometre on points."""
    epsilon, delta = ("0", "0") if config.device is None else (config.device.lifetime_epsilon, config.device.delta)
    if config.point is None:
        return Cost.of(epsilon, delta)
    point = config.point
    per_km = 1000 * Epsilon.parse(point.lifetime_epsilon).fraction / Fraction(str(point.geo.radius_m))
    return replace(Cost.of(epsilon, delta), geo=Geo.ceil(per_km))


def _account(records: Records, name: str) -> Account | None:
    return next((account for account in records.accounts() if account.terms.name == name), None)


def _require_within(account: Account, cap: Cost) -> None:
    """A cap is what people were told that a device spends at most; a later file may ask for less, not for more."""
    most = account.terms.cap
    if not cap.fits(most):
        raise ConflictError.of(
            Reason.OVER_CAP,
            f"account {account.terms.name}",
            required=f"what a device spends at most when it was opened: {account.terms.in_words(most)}",
            came=account.terms.in_words(cap),
            fix="Lower device.lifetime_epsilon, device.delta or point.lifetime_epsilon, or collect under another "
            "release.dataset.",
        )


def signing_of_window(life: VersionLife[WindowPlan]) -> Signing | None:
    """What the package of a checked window is signed with; None when the file asks for no signature.

    Raises:
        ConfigError: there is no signing key file, or it is none.
        ConflictError: the key is not in it, or the wrapping key does not open it.
    """
    if life.plan.config.publish.sign == "none":
        return None
    anchors = Anchors(plan_digest=life.plan.digest, account=None, sequence=0, head="", previous=previous_of(life))
    return Signing(signing_key(life), anchors)
