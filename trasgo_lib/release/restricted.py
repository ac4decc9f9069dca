"""The restricted package: evidence that is computed from raw data and never goes to the public root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trasgo_lib.checks import CheckReport
from trasgo_lib.release import documents
from trasgo_lib.release.data_files import create_staged
from trasgo_lib.release.manifest import StagedFile, staged_file
from trasgo_lib.release.package import REPORT, REPORT_PAGE, StagedPackage, release_prefix
from trasgo_lib.reporting import RestrictedFacts, metadata, render_restricted_report, risk_section

_FOLDER = "restricted"

if TYPE_CHECKING:
    from trasgo_lib.plan import ReleasePlan
    from trasgo_lib.storage import ObjectStore


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the restricted root keeps of a run.

    Args:
        facts: what the run shows to its runner, input report and exact losses among it; private.
        checks: the output checks.
        provenance: what ran, on what, as strict JSON; private. It may name the host and hold keyed input digests.
        ledger: the ledger's entries for this version, as strict JSON.
        pages: staged pages that come from elsewhere, such as the Data Docs of the checks.
    """

    facts: RestrictedFacts
    checks: CheckReport
    provenance: Mapping[str, Any]
    ledger: Sequence[Mapping[str, Any]]
    pages: tuple[StagedFile, ...] = ()


def restricted_documents(evidence: Evidence) -> dict[str, dict[str, Any]]:
    """The restricted JSON files, by stored format.

    Args:
        evidence: what the restricted root keeps of a run; private.
    """
    facts = evidence.facts
    rounds = [
        {
            "round": entry.number,
            "unit": entry.unit,
            "level": entry.level.text,
            "loss": entry.loss,
            "met": entry.met,
            "interval": None if entry.interval is None else list(entry.interval),
        }
        for entry in facts.rounds
    ]
    bodies: dict[str, dict[str, Any]] = {
        "input_report": {"input": dict(facts.input_report)},
        "losses": {
            "loss_from": facts.plan.loss_from,
            "state": facts.state,
            "reason": facts.reason,
            "rounds": rounds,
            "shortfalls": [{"unit": unit, "missing": words} for unit, words in facts.shortfalls],
            "losses": dict(facts.losses),
            "estimates": dict(facts.estimates) or None,
        },
        "checks": {"checks": evidence.checks.to_json()},
        "provenance": {"provenance": dict(evidence.provenance)},
        "ledger": {"account": facts.plan.account, "entries": [dict(entry) for entry in evidence.ledger]},
    }
    if facts.risk:
        bodies["risk_audit"] = {"risk": dict(facts.risk)}
    return {name: _headed(facts.plan, body) for name, body in bodies.items()}


def require_risk_audit(plan: ReleasePlan, risk: Mapping[str, Any]) -> None:
    """Make sure that an audit can be stored and shown, before anything depends on it.

    Args:
        plan: the compiled plan.
        risk: the audit as strict JSON; private.

    Raises:
        ValueError: for NaN or infinity, or a table that is none.
        VerificationError: for an audit that does not satisfy its schema.
    """
    documents.dump(_headed(plan, {"risk": dict(risk)}), "risk_audit")
    risk_section(risk)


def stored_risk_audit(plan: ReleasePlan, store: ObjectStore) -> dict[str, Any] | None:
    """The audit that an earlier run of this version has put, as strict JSON, private; None where there is none.

    Args:
        plan: the compiled plan.
        store: the restricted root.

    Raises:
        StoreError: the root cannot be read.
        VerificationError: a file that is no such audit.
    """
    key = f"{release_prefix(plan.dataset, plan.version)}/risk_audit.json"
    if not store.exists(key):
        return None
    found: dict[str, Any] = documents.parse(store.get(key), "risk_audit")["risk"]
    return found


def _headed(plan: ReleasePlan, body: Mapping[str, Any]) -> dict[str, Any]:
    return {"format": 1, "dataset": plan.dataset, "version": plan.version, **body}


def stage_restricted(evidence: Evidence, work: Path) -> StagedPackage:
    """Write the restricted files into the work folder.

    They are put before a release is published, so reports that cannot be rendered must not stop it: what raw data made
    is left out of them step by step, and they say so.

    Args:
        evidence: what the restricted root keeps of a run; private.
        work: restricted work folder; files are 0600.

    Raises:
        ValueError: for NaN or infinity in a document.
        VerificationError: for a document that does not satisfy its schema.
    """
    plan = evidence.facts.plan
    written = {
        f"{name}.json": documents.dump(document, name) for name, document in restricted_documents(evidence).items()
    } | {
        **_reports(evidence),
        metadata.PROCESSING_RECORD: metadata.processing_record(plan),
        metadata.IMPACT_ASSESSMENT: metadata.impact_assessment(plan),
    }
    staged = [stage_page(key, content, work) for key, content in written.items()]
    return StagedPackage((*staged, *evidence.pages))


def _reports(evidence: Evidence) -> dict[str, bytes]:
    """Both forms of the restricted report, with as much of what raw data made as can be rendered.

    What is left out depends on the facts alone, so a run that is resumed comes to the same bytes.
    """
    # imported late: a verification loads this module and renders nothing
    from trasgo_lib.reporting.restricted_page import render_restricted_page

    kind = ""
    for facts in _ever_less(evidence.facts):
        if kind:
            facts = replace(facts, not_shown=kind)
        try:
            return {
                REPORT: render_restricted_report(facts).encode(),
                REPORT_PAGE: render_restricted_page(facts, evidence.checks).encode(),
            }
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001 whatever it is, it may have come from raw data
            kind = kind or type(error).__name__
    raise ValueError("the restricted report cannot be rendered, even without anything that raw data made")


def _ever_less(facts: RestrictedFacts) -> Iterator[RestrictedFacts]:
    """The facts, and then without pictures, and then without anything that was computed from raw data."""
    yield facts
    yield replace(facts, comparison={})
    yield replace(facts, comparison={}, losses={}, risk={}, input_report={})


def stage_page(key: str, content: bytes, work: Path) -> StagedFile:
    """Write one restricted file into the work folder, mode 0600.

    Args:
        key: its path below the version's restricted folder.
        content: private.
        work: restricted work folder.
    """
    path = work / _FOLDER / key
    with create_staged(path) as stream:
        stream.write(content)
    return staged_file(key, path)
