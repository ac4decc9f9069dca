"""Approvals and embargoes: what the library says and what the database refuses whatever the library says."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from trasgo_lib.errors import ConflictError, Reason, StoreError, WaitingError
from trasgo_lib.records import PublicationTerms, State, documents, package_digest, waiting_of
from trasgo_lib.records.publication import publication_of

SALT, MANIFEST = "a" * 64, "3" * 64
PACKAGE = package_digest(SALT, MANIFEST)
PROOF = {"manifest_digest": MANIFEST, "package": PACKAGE, "package_salt": SALT}
EARLY, LATE = "2020-01-01T08:30:00+00:00", "2999-01-01T08:30:00+00:00"
TERMS = PublicationTerms(2, service_accounts=("robot",), public="/srv/public")


def packaged(office: Any, terms: PublicationTerms = TERMS) -> None:
    """cps1988/1 frozen with these terms, checked by ana, and packaged."""
    office.records.freeze("cps1988", "1", "2" * 64, "1" * 64, "ana", office.at, terms)
    office.advance("validated", "drawn")
    office.charge("0.25")
    office.advance("checked")
    office.records.record_package("cps1988", "1", PACKAGE, "ana", office.at)


def approve(office: Any, actor: str, package: str = PACKAGE) -> Any:
    return office.records.approve("cps1988", "1", package, actor, "looked", {}, office.at)


def publish(office: Any, **proof: str) -> Any:
    return office.records.publish("cps1988", "1", {**PROOF, **proof}, None, "ana", office.at)


def insert(office: Any, kind: str, state: str, actor: str, **evidence: str) -> str:
    """An event as SQL, well chained and hashed, as someone who knows the format could write it."""
    record = office.records.version("cps1988", "1")
    event = documents.lifecycle_event(
        {
            "dataset": "cps1988",
            "version": "1",
            "seq": record.seq + 1,
            "prev": record.head,
            "kind": kind,
            "state": state,
            "actor": actor,
            "reason": "by hand",
            "evidence": evidence,
            "at": office.at,
        }
    )
    return (
        "INSERT INTO events (dataset, version, seq, kind, state, prev, hash, document) VALUES ('cps1988', '1', "
        f"{event.seq}, '{kind}', '{state}', '{event.prev}', '{event.hash}', '{event.document}')"
    )


def refused(office: Any, statement: str) -> str:
    """What the database itself says to a statement; its record must not have moved."""
    before = office.count("events")
    with pytest.raises(Exception) as caught:
        office.tamper(statement, guarded=True)
    assert office.count("events") == before
    return str(caught.value)


def test_two_people_make_it_approved(office: Any) -> None:
    packaged(office)
    with pytest.raises(WaitingError) as caught:
        publish(office)
    assert (caught.value.reason, caught.value.exit_code) == (Reason.APPROVAL_MISSING, 9)
    assert approve(office, "eva").missing == 1
    with pytest.raises(WaitingError):
        publish(office)
    assert approve(office, "leo").missing == 0
    assert office.records.version("cps1988", "1").state is State.APPROVED
    assert publish(office).manifest_digest == MANIFEST
    assert office.records.check_chain().ok


@pytest.mark.parametrize(
    ("actor", "package", "words"),
    [
        ("ana", PACKAGE, "one by ana, who did"),
        ("robot", PACKAGE, "a service account"),
        ("leo", "9" * 64, "other files"),
        ("eva", PACKAGE, "a second one by eva"),
    ],
)
def test_an_approval_that_does_not_count_is_refused(office: Any, actor: str, package: str, words: str) -> None:
    packaged(office)
    approve(office, "eva")
    with pytest.raises(ConflictError, match=words) as caught:
        approve(office, actor, package)
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    ("actor", "changes", "words"),
    [
        ("ana", {}, "who ran it cannot approve"),
        ("robot", {}, "a service account cannot approve"),
        ("eva", {}, "nobody approves twice"),
        ("leo", {"package": "9" * 64}, "an approval is of what was packaged"),
        ("leo", {"plan_digest": "9" * 64}, "an approval is of what was planned"),
    ],
)
def test_the_database_refuses_it_too(office: Any, actor: str, changes: dict[str, str], words: str) -> None:
    packaged(office)
    approve(office, "eva")
    evidence = {"package": PACKAGE, "plan_digest": "2" * 64, **changes}
    assert words in refused(office, insert(office, "approval", "checked", actor, **evidence))


@pytest.mark.parametrize(
    "actor",
    ["Ana", " ana", "ANA ", "a na", "an\u200ba", "\uff41na", "\u0430na", "an\u0430", "ROBOT", "Eva", "e\u00a0va", " "],
)
def test_another_spelling_is_not_another_person(office: Any, actor: str) -> None:
    packaged(office)
    approve(office, "eva")
    with pytest.raises(ConflictError) as caught:
        approve(office, actor)
    assert caught.value.reason is Reason.STATE_CONFLICT
    assert office.records.publication("cps1988", "1").missing == 1


@pytest.mark.parametrize("actor", ["Ana", "ana ", "ROBOT", "e va"])
def test_the_database_knows_other_spellings_too(office: Any, actor: str) -> None:
    packaged(office)
    approve(office, "eva")
    said = refused(office, insert(office, "approval", "checked", actor, package=PACKAGE, plan_digest="2" * 64))
    assert "cannot approve" in said or "nobody approves twice" in said


@pytest.mark.parametrize("kind", ["package", "approval", "freeze", "rewrap", "destroy", "note", "State"])
def test_no_other_kind_of_event_publishes(office: Any, kind: str) -> None:
    packaged(office)
    known = kind if kind in documents.EVENT_KINDS else "package"
    statement = insert(office, known, "published", "leo", **PROOF, plan_digest="2" * 64)
    assert refused(office, statement.replace(f'"{known}"', f'"{kind}"').replace(f"'{known}'", f"'{kind}'"))


@pytest.mark.parametrize(("kind", "state"), [("state", "published"), ("state", "checked"), ("rewrap", "validated")])
def test_the_database_lets_no_step_be_left_out(office: Any, kind: str, state: str) -> None:
    assert "a step forward" in refused(office, insert(office, kind, state, "ana", manifest_digest=MANIFEST))


def test_the_steps_of_the_database_are_those_of_the_library() -> None:
    from trasgo_lib.records.lifecycle import NEXT_STATES
    from trasgo_lib.records.migrations.versions import revision_0004

    steps = {before.value: {state.value for state in after} for before, after in NEXT_STATES.items() if after}
    assert {before: set(after) for before, after in revision_0004._STEPS.items()} == steps


@pytest.mark.parametrize("given", [0, 1])
@pytest.mark.parametrize("state", ["approved", "published"])
def test_the_database_lets_nothing_out_without_the_approvals(office: Any, state: str, given: int) -> None:
    packaged(office)
    for actor in ("eva", "leo")[:given]:
        approve(office, actor)
    for proof in (PROOF, {"manifest_digest": MANIFEST}):
        assert "approvals are missing" in refused(office, insert(office, "state", state, "ana", **proof))
    # a column that says something else than the document
    said = insert(office, "state", "published", "ana", **PROOF).replace("'state', 'published'", "'state', 'held'")
    assert "columns repeat the document" in refused(office, said)
    said = insert(office, "state", "published", "ana", **PROOF).replace("'state', 'published'", "'package', 'checked'")
    assert "columns repeat the document" in refused(office, said)


def test_the_database_keeps_the_number_that_was_charged_under(office: Any) -> None:
    packaged(office)
    kept = {"plan_digest": "2" * 64, "input_digest": "1" * 64}
    for changes in ({}, {"approvals": "1"}, {"approvals": "2"}, {"approvals": "2", "service_accounts": "[]"}):
        assert "frozen by a charge" in refused(office, insert(office, "freeze", "checked", "eva", **kept, **changes))
    with pytest.raises(ConflictError) as caught:
        office.records.freeze("cps1988", "1", "2" * 64, "1" * 64, "ana", office.at)
    assert caught.value.reason is Reason.PLAN_CHANGED and "approvals" in str(caught.value)


def test_with_both_the_database_lets_it_out(office: Any) -> None:
    """The control of the refusals above: the same statement, once it is allowed."""
    packaged(office)
    approve(office, "eva")
    approve(office, "leo")
    office.tamper(insert(office, "state", "published", "ana", **PROOF), guarded=True)
    assert office.records.version("cps1988", "1").state is State.PUBLISHED
    assert office.records.check_chain().ok


def test_approvals_of_other_files_do_not_count(office: Any) -> None:
    packaged(office)
    approve(office, "eva")
    approve(office, "leo")
    other = {"manifest_digest": "4" * 64, "package": package_digest(SALT, "4" * 64), "package_salt": SALT}
    with pytest.raises(WaitingError):
        publish(office, **other)
    assert "approvals are missing" in refused(office, insert(office, "state", "published", "ana", **other))
    # the package named, another manifest published: the record shows it
    office.tamper(insert(office, "state", "published", "ana", **{**PROOF, "manifest_digest": "4" * 64}), guarded=True)
    report = office.records.check_chain()
    assert [fault.required for fault in report.faults] == ["the manifest that was packaged and approved"]


def test_an_embargo_is_kept_by_the_database(office: Any) -> None:
    packaged(office, PublicationTerms(1, LATE, "2999-01-01T09:30+01:00 Europe/Madrid", public="/srv/public"))
    approve(office, "eva")
    with pytest.raises(WaitingError) as caught:
        office.records.require_publishable("cps1988", "1", PACKAGE)
    assert caught.value.reason is Reason.EMBARGO and "Europe/Madrid" in str(caught.value)
    with pytest.raises(StoreError):
        publish(office)
    assert "the embargo has not ended" in refused(office, insert(office, "state", "published", "ana", **PROOF))


def test_a_new_embargo_makes_approvals_void(office: Any) -> None:
    first = PublicationTerms(1, LATE, "first", public="/srv/public")
    packaged(office, first)
    approve(office, "eva")
    office.records.freeze(
        "cps1988", "1", "2" * 64, "1" * 64, "ana", office.at, PublicationTerms(1, EARLY, "second", public="/srv/public")
    )
    found = office.records.publication("cps1988", "1")
    assert (found.missing, found.approvals) == (1, ())
    assert "approvals are missing" in refused(office, insert(office, "state", "published", "ana", **PROOF))
    with pytest.raises(WaitingError, match="that time is over"):
        approve(office, "eva")


def test_a_missed_embargo_holds_once(office: Any) -> None:
    packaged(office, PublicationTerms(2, EARLY, "early", public="/srv/public"))
    found = office.records.hold_when_missed("cps1988", "1", "robot", office.at)
    assert found.missed and office.records.version("cps1988", "1").state is State.HELD
    events = office.count("events")
    assert office.records.hold_when_missed("cps1988", "1", "robot", office.at) == found
    assert office.count("events") == events
    record = office.records.version("cps1988", "1")
    assert "new publish.embargo" in str(waiting_of(record, found, office.records.now()))
    office.records.freeze(
        "cps1988", "1", "2" * 64, "1" * 64, "ana", office.at, PublicationTerms(2, LATE, "late", public="/srv/public")
    )
    approve(office, "eva")
    assert approve(office, "leo").missing == 0
    assert office.records.version("cps1988", "1").state is State.APPROVED
    assert office.records.check_chain().ok


def test_a_forged_approval_shows_even_when_the_chain_fits(office: Any) -> None:
    """Written with the guards out of force and hashed well: only what it says is wrong."""
    packaged(office)
    approve(office, "eva")
    evidence = {"package": PACKAGE, "plan_digest": "2" * 64}
    statement = insert(office, "approval", "checked", "ana", **evidence)
    record = office.records.version("cps1988", "1")
    digest = statement.split("'")[-4]
    move = f"UPDATE versions SET seq = {record.seq + 1}, head = '{digest}' WHERE version = '1'"
    office.tamper(statement, move)
    faults = "\n".join(str(fault) for fault in office.records.check_chain().faults)
    assert "an approval of what was packaged, once, by one who did not run it" in faults


@pytest.mark.parametrize(
    "terms",
    [
        {"approvals": "two"},
        {"approvals": "-1"},
        {"service_accounts": "robot"},
        {"service_accounts": '"robot"'},
        {"embargo": "tomorrow"},
        {"embargo": "2026-12-15T09:30:00+01:00"},
    ],
)
def test_terms_that_cannot_be_read_are_a_broken_record(office: Any, terms: dict[str, str]) -> None:
    statement = insert(office, "freeze", "planned", "ana", plan_digest="2" * 64, input_digest="1" * 64, **terms)
    office.tamper(statement)
    faults = "\n".join(str(fault) for fault in office.records.check_chain().faults)
    assert "terms of publication that can be read" in faults


def test_the_same_person_at_the_same_time_counts_once(office: Any) -> None:
    packaged(office)

    def attempt(_number: int) -> bool:
        try:
            approve(office, "eva")
        except (ConflictError, StoreError):
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(attempt, range(4))) == 1
    assert office.records.publication("cps1988", "1").missing == 1
    assert office.records.check_chain().ok


def test_nothing_packaged_is_not_approved_and_no_second_package_is_recorded(office: Any) -> None:
    office.records.freeze("cps1988", "1", "2" * 64, "1" * 64, "ana", office.at, TERMS)
    office.advance("validated", "drawn", "checked")
    with pytest.raises(ConflictError, match="waits for nothing"):
        approve(office, "eva")
    office.records.record_package("cps1988", "1", PACKAGE, "ana", office.at)
    events = office.count("events")
    office.records.record_package("cps1988", "1", PACKAGE, "ana", office.at)
    assert office.count("events") == events
    with pytest.raises(ConflictError):
        office.records.record_package("cps1988", "1", "9" * 64, "ana", office.at)


def test_superseding_moves_both_or_none(office: Any) -> None:
    office.advance("validated", "drawn", "checked", "published")
    office.new_version("2", "e" * 64)
    for state in ("validated", "drawn", "checked"):
        office.records.transition("cps1988", "2", state, "ana", "", {}, office.at)
    with pytest.raises(ConflictError):
        office.records.publish("cps1988", "2", {"manifest_digest": "4" * 64}, "9", "ana", office.at)
    assert office.records.version("cps1988", "2").state is State.CHECKED
    office.records.publish("cps1988", "2", {"manifest_digest": "4" * 64}, "1", "ana", office.at)
    states = {record.version: record.state for record in office.records.versions()}
    assert states == {"1": State.SUPERSEDED, "2": State.PUBLISHED}
    with pytest.raises(ConflictError, match="one that 2 has superseded"):
        office.records.require_supersedable("cps1988", "1", "3")
    assert office.records.check_chain().ok


def test_terms_survive_their_evidence() -> None:
    terms = PublicationTerms(2, LATE, "words", ("a", "ü"), "s3://open")
    assert PublicationTerms.of(terms.evidence()) == terms
    assert PublicationTerms().evidence() == {} and PublicationTerms.of({}) == PublicationTerms()
    assert publication_of(()).missing == 0


@pytest.mark.parametrize("lifted", [True, False], ids=["lifted", "set"])
def test_an_embargo_is_lifted_or_set_after_a_charge_where_nobody_approves(office: Any, lifted: bool) -> None:
    """The library allows it, so the database must be told in words that it takes for the same approvals."""
    terms = [PublicationTerms(embargo=LATE, embargo_words="later", public="/srv/public"), PublicationTerms()]
    first, then = terms if lifted else terms[::-1]
    office.records.freeze("cps1988", "1", "2" * 64, "1" * 64, "ana", office.at, first)
    office.charge("0.25")
    for wanted in (then, first, then):
        office.records.freeze("cps1988", "1", "2" * 64, "1" * 64, "ana", office.at, wanted)
        assert office.records.publication("cps1988", "1").terms == wanted
    count = office.count("events")
    office.records.freeze("cps1988", "1", "2" * 64, "1" * 64, "ana", office.at, then)
    assert office.count("events") == count and office.records.check_chain().ok
    with pytest.raises(ConflictError):
        office.records.freeze("cps1988", "1", "2" * 64, "1" * 64, "ana", office.at, PublicationTerms(1))


def test_what_was_withdrawn_never_leaves_again(office: Any) -> None:
    office.records.require_publishable("cps1988", "1", None)
    office.records.transition("cps1988", "1", "withdrawn", "ana", "a mistake", {}, office.at)
    with pytest.raises(ConflictError) as caught:
        office.records.require_publishable("cps1988", "1", None)
    assert caught.value.reason is Reason.WITHDRAWN
