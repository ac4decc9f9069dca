"""Corrections of windows: which version of a window another one takes the place of, as the records tell."""

from __future__ import annotations

from tasks.places import VersionPlan
from tasks.version_life import VersionLife
from trasgo_lib.collection import CollectionPlan
from trasgo_lib.collection.corrections import WindowHistory, corrected_files, corrected_version
from trasgo_lib.collection.statement import release_version
from trasgo_lib.config import Supersedes
from trasgo_lib.errors import ConflictError, Reason
from trasgo_lib.records import Event, Records, State

CORRECTS = "supersedes"
"""Evidence of the checked state: the version that this one takes the place of, or nothing."""

FILE_CORRECTS = "file_supersedes"
"""Evidence of the checked state: the version of the collection file that this one's corrects, or nothing."""


def corrected(plan: CollectionPlan, window: str, records: Records) -> Supersedes | None:
    """Which version of a window this one takes the place of.

    A file corrects another one as a whole: of a window the newest version that was published along the chain of files,
    and a window in which none of them was published is published as a new one. What was decided when a window was
    checked stays.

    Args:
        plan: the compiled collection.
        window: its first day.
        records: ledger and lifecycle.

    Raises:
        ConflictError: the records do not tell which one.
    """
    declared = plan.config.release.supersedes
    if declared is None:
        return None
    checked = _checked(records, plan.config.release.dataset, release_version(plan, window))
    if checked is None or CORRECTS not in checked.evidence:
        return _decided(plan, window, records, declared)
    version = checked.evidence[CORRECTS]
    return declared.model_copy(update={"version": version}) if version else None


def require_place(plan: CollectionPlan, life: VersionLife[VersionPlan], window: str) -> None:
    """Stop before a window would stand beside another version of it of which one corrects the other.

    Asked before anything is counted, and again before anything is public: another version may have been published
    meanwhile. A window that was published already has its place.

    Args:
        plan: the compiled collection.
        life: the window.
        window: its first day.

    Raises:
        ConflictError: a file that corrects this one published the window, or what this one corrects has changed.
    """
    life.require_superseded()
    record = life.version()
    if record is not None and record.manifest_digest is not None:
        return
    _require_not_replaced(life, window)
    declared = plan.config.release.supersedes
    # what a named one has become is asked of it above
    is_new = declared is not None and life.plan.config.release.supersedes is None
    if declared is None or not is_new or _decided(plan, window, life.records, declared) is None:
        return
    raise ConflictError.of(
        Reason.STATE_CONFLICT,
        f"version {life.plan.dataset}/{life.plan.version}",
        required="the window as it was when this version was checked",
        came="one in which another version was published since, which this one is to correct, too",
        fix="Raise release.version and run it again: the same reports are published again, free.",
    )


def _decided(plan: CollectionPlan, window: str, records: Records, declared: Supersedes) -> Supersedes | None:
    dataset, own = plan.config.release.dataset, release_version(plan, window)
    directly = records.version(dataset, f"{window}.{declared.version}")
    if directly is not None and directly.manifest_digest is not None:
        found: str | None = declared.version
    else:
        history = _history(records, dataset, window, own)
        found = corrected_version(declared.version, history, f"version {dataset}/{own}")
    return None if found is None else declared.model_copy(update={"version": f"{window}.{found}"})


def _history(records: Records, dataset: str, window: str, own: str) -> WindowHistory:
    """What the records say of a window; its own version is left out."""
    others = [one for one in records.versions() if one.dataset == dataset and one.version != own]
    here = [one for one in others if _window_of(one.version) == window and one.manifest_digest is not None]
    return WindowHistory(
        published=frozenset(_file_of(one.version) for one in here),
        standing=frozenset(_file_of(one.version) for one in here if one.state is State.PUBLISHED),
        corrects=_links(records, dataset, [one.version for one in others]),
    )


def _links(records: Records, dataset: str, versions: list[str]) -> dict[str, frozenset[str]]:
    """By version of the collection file, what it was declared to correct in the windows that were checked."""
    found: dict[str, frozenset[str]] = {}
    for version in versions:
        checked = _checked(records, dataset, version)
        if checked is not None and FILE_CORRECTS in checked.evidence:
            name = _file_of(version)
            found[name] = found.get(name, frozenset()) | {checked.evidence[FILE_CORRECTS]}
    return found


def _require_not_replaced(life: VersionLife[VersionPlan], window: str) -> None:
    """A window is not published by a file after one that corrects it: both would stand side by side."""
    plan = life.plan
    known = [one for one in life.records.versions() if one.dataset == plan.dataset and one.version != plan.version]
    # one that ended before it was published takes nobody's place
    here = [
        one.version
        for one in known
        if _window_of(one.version) == window and not (one.state is State.WITHDRAWN and one.manifest_digest is None)
    ]
    if not here:
        return
    links = _links(life.records, plan.dataset, [one.version for one in known])
    for other in here:
        checked = _checked(life.records, plan.dataset, other)
        told = "" if checked is None else checked.evidence.get(FILE_CORRECTS, "")
        if told and _file_of(plan.version) in {told} | corrected_files(told, links):
            raise ConflictError.of(
                Reason.STATE_CONFLICT,
                f"version {plan.dataset}/{plan.version}",
                required="a collection file that no other one has taken the place of in this window",
                came=f"one that was replaced: the window is {other}",
                fix="Run it with the file that corrects this one.",
            )


def _checked(records: Records, dataset: str, version: str) -> Event | None:
    """The event by which a version was checked, or None."""
    life = records.events(dataset, version)
    return next((event for event in life if event.kind == "state" and event.state is State.CHECKED), None)


def _window_of(version: str) -> str:
    return version.partition(".")[0]


def _file_of(version: str) -> str:
    """The version of the collection file in that of a window."""
    return version.partition(".")[2]
