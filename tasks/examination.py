"""What surrounds a release file: key, ledger, account, roots. Looked at and left as it is; nothing is charged."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

from tasks.places import key_file, ledger_place, open_records, signing_key_file, wrapping_key
from tasks.stores import needs_orchestrator, open_root
from trasgo_lib.budget import Cost
from trasgo_lib.config import S3Spec, SqliteFile
from trasgo_lib.drafting.findings import Finding, Weight, must
from trasgo_lib.errors import Fault, Reason, TrasgoError
from trasgo_lib.keys import SigningKeys, WrappingKey
from trasgo_lib.plan import ReleasePlan
from trasgo_lib.records import Account, Records
from trasgo_lib.release import MANIFEST, release_prefix
from trasgo_lib.storage import local_root


def examine_surroundings(plan: ReleasePlan, home: Path, config: Path, needed: Cost | None = None) -> Iterator[Finding]:
    """Everything a run would need beside its source.

    Args:
        plan: the compiled plan.
        home: the state folder.
        config: the release file as the person named it.
        needed: what the version costs, where that is known; None for the totals of the plan.
    """
    if needs_orchestrator(plan):
        words = "key, ledger or roots are reached with a secret of the orchestrator, which is not asked here"
        yield Finding(Weight.LOOK, words, "The run asks it before it opens data.")
    else:
        key = yield from _key(plan, home)
        yield from _signing(plan, home, key)
        total = needed or Cost(plan.epsilon_total, plan.delta_total, plan.geo_total)
        yield from _ledger(plan, total, _open_it(plan, config))
        publish = plan.config.publish
        yield from _root("public", plan.public_root, publish.public_s3, plan)
        yield from _root("restricted", plan.restricted_root, publish.restricted_s3, plan)
    yield from _in_version_control(plan, home)


def _refused(look: Callable[[], object]) -> tuple[Fault, ...]:
    """The faults of something that does not work; none when it does."""
    try:
        look()
    except TrasgoError as error:
        return error.faults
    return ()


def _key(plan: ReleasePlan, home: Path) -> Generator[Finding, None, WrappingKey | None]:
    """The wrapping key, and whether only its owner can read it; gives it back when it can be used."""
    try:
        key = wrapping_key(plan, home)
    except TrasgoError as error:
        yield from must(error.faults)
        return None
    file = key_file(plan, home)
    yield Finding(Weight.FINE, f"wrapping key: {file or 'from the environment'}")
    return key


def _signing(plan: ReleasePlan, home: Path, key: WrappingKey | None) -> Iterator[Finding]:
    if plan.config.publish.sign == "none" or key is None:
        return
    file = signing_key_file(home, plan)
    faults = _refused(lambda: SigningKeys.from_file(file).key(key))
    yield from must(faults)
    if not faults:
        yield Finding(Weight.FINE, f"signing key: {file}")


def _ledger(plan: ReleasePlan, total: Cost, open_it: str) -> Iterator[Finding]:
    place = ledger_place(plan)
    if isinstance(place, SqliteFile) and not place.path.exists():
        yield Finding(Weight.FIX, f"account {plan.account}: not open, and no ledger is there yet", open_it)
        return
    try:
        records = open_records(plan, create=False)
        records.require_open()
        account = records.account(plan.account)
    except TrasgoError as error:
        is_closed = error.reason is Reason.NO_ACCOUNT
        yield from (
            [Finding(Weight.FIX, f"account {plan.account}: not open", open_it)] if is_closed else must(error.faults)
        )
        return
    yield from _account(plan, total, account)
    yield from _version(plan, records)


def _open_it(plan: ReleasePlan, config: Path) -> str:
    geo = f" --geo-per-km {plan.geo_total.text}" if plan.geo_total.units else ""
    delta = f" --delta {plan.delta_total.text}" if plan.delta_total.units else ""
    return f'Agree on a cap, then: trasgo ledger open {config} --epsilon CAP{delta}{geo} --population "WHOSE"'


def _account(plan: ReleasePlan, total: Cost, account: Account) -> Iterator[Finding]:
    terms = account.terms
    if (terms.unit, terms.max_rows) != (plan.privacy_unit, plan.max_rows):
        words = f"account {plan.account}: opened for unit {terms.unit} with at most {terms.max_rows} rows"
        yield Finding(Weight.FIX, words, "Correct privacy.unit, or open an account for this unit.")
    if terms.governing.rule != "basic":
        words = f"account {plan.account}: open, {terms.in_words(account.left)} left; {terms.composition} governs it"
        yield Finding(Weight.FINE, words)
    elif not total.fits(terms.cap):
        words = f"account {plan.account}: its cap ({terms.cap}) is below what this version may spend ({total})"
        yield Finding(Weight.FIX, words, "Lower the totals under `privacy`, or agree on an account with a larger cap.")
    elif not total.fits(account.left):
        words = f"account {plan.account}: {account.left} left, less than this version may spend ({total})"
        yield Finding(Weight.LOOK, words, "Lower the totals, unless earlier runs of this very version spent it.")
    else:
        yield Finding(Weight.FINE, f"account {plan.account}: open, {account.left} left")


def _version(plan: ReleasePlan, records: Records) -> Iterator[Finding]:
    record = records.version(plan.dataset, plan.version)
    if record is None:
        return
    name = f"version {plan.dataset}/{plan.version}"
    spent = records.spent_by(plan.dataset, plan.version)
    if record.plan_digest not in (None, plan.digest) and not spent.is_zero:
        words = f"{name}: was charged for another plan than this file's"
        yield Finding(Weight.FIX, words, "Restore the release file, or write a new version.")
    else:
        yield Finding(Weight.FINE, f"{name}: {record.state.value}")


def _root(name: str, root: str, spec: S3Spec | None, plan: ReleasePlan) -> Iterator[Finding]:
    folder = local_root(root)
    if folder is not None:
        there = next(place for place in (folder, *folder.parents) if place.exists())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            yield Finding(Weight.FIX, f"{name} root: {there} cannot be written to", "Correct its rights, or the place.")
        else:
            yield Finding(Weight.FINE, f"{name} root: {folder}" + ("" if folder.exists() else ", which will be made"))
        return
    key = f"{release_prefix(plan.dataset, plan.version)}/{MANIFEST}"
    faults = _refused(lambda: open_root(root, spec, create=False).exists(key))
    yield from must(faults, f"{name} root")
    if not faults:
        yield Finding(Weight.FINE, f"{name} root: {root} answers; whether it may be written to, the run asks first")


def _in_version_control(plan: ReleasePlan, home: Path) -> Iterator[Finding]:
    """Private places in a checkout: one careless `git add` makes them everyone's."""
    ledger = ledger_place(plan)
    places = {
        "the source": plan.source_path,
        "the restricted root": local_root(plan.restricted_root),
        "the ledger": ledger.path if isinstance(ledger, SqliteFile) else None,
        "the wrapping key": None if needs_orchestrator(plan) else key_file(plan, home),
    }
    inside = [name for name, place in places.items() if place is not None and _checkout(place)]
    if inside:
        words = f"{', '.join(inside)} in a git checkout"
        yield Finding(Weight.LOOK, words, "Keep them elsewhere, or make sure that .gitignore names them.")


def _checkout(place: Path) -> bool:
    return any((above / ".git").exists() for above in place.absolute().parents)
