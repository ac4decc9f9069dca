"""The restricted package: evidence that is computed from raw data and never goes to the public root."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trasgo_lib.checks import CheckReport
from trasgo_lib.release import documents
from trasgo_lib.release.data_files import create_staged
from trasgo_lib.release.manifest import StagedFile, staged_file
from trasgo_lib.release.package import REPORT, REPORT_PAGE, StagedPackage
from trasgo_lib.reporting import RestrictedFacts, render_restricted_report

_FOLDER = "restricted"


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
    head = {"format": 1, "dataset": facts.plan.dataset, "version": facts.plan.version}
    return {name: {**head, **body} for name, body in bodies.items()}


def stage_restricted(evidence: Evidence, work: Path) -> StagedPackage:
    """Write the restricted files into the work folder.

    Args:
        evidence: what the restricted root keeps of a run; private.
        work: restricted work folder; files are 0600.

    Raises:
        ValueError: for NaN or infinity in a document.
        VerificationError: for a document that does not satisfy its schema.
    """
    # imported late: a verification loads this module and renders nothing
    from trasgo_lib.reporting.restricted_page import render_restricted_page

    folder = work / _FOLDER
    staged = []
    for name, document in restricted_documents(evidence).items():
        key = f"{name}.json"
        with create_staged(folder / key) as stream:
            stream.write(documents.dump(document, name))
        staged.append(staged_file(key, folder / key))
    pages = {
        REPORT: render_restricted_report(evidence.facts),
        REPORT_PAGE: render_restricted_page(evidence.facts, evidence.checks),
    }
    staged += [stage_text(key, page, work) for key, page in pages.items()]
    return StagedPackage((*staged, *evidence.pages))


def stage_text(key: str, content: str, work: Path) -> StagedFile:
    """Write one restricted page into the work folder, mode 0600.

    Args:
        key: its path below the version's restricted folder.
        content: private.
        work: restricted work folder.
    """
    path = work / _FOLDER / key
    with create_staged(path) as stream:
        stream.write(content.encode())
    return staged_file(key, path)
