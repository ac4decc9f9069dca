"""The restricted report of answers or of a model: what went in, what was charged, what ran; no exact figure.

True values beside noisy ones would invite asking again until the noise is small, or publishing by how near they are;
both would be looks at the data that nobody paid for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trasgo_lib.reporting.markdown import cell, section, table

_LEAD = (
    "For the people who run this version, and not to be passed on: counts of the raw file stand below. What was"
    " published, or waits to be, is described in the public files. The exact figures are not in here on purpose: to"
    " publish, to withhold or to ask again by how near an answer or an accuracy came would be a look at the data that"
    " is not paid for."
)


def restricted_answers_report(
    title: str,
    input_report: Mapping[str, Any],
    ledger: Sequence[Mapping[str, Any]],
    provenance: Mapping[str, Any],
) -> str:
    """The report as Markdown; private.

    Args:
        title: of the release.
        input_report: the ingest report as strict JSON; counts, private.
        ledger: the ledger's entries for this version, as strict JSON.
        provenance: what ran, on what; private.
    """
    lines = [f"# Restricted: {cell(title)}", "", _LEAD, ""]
    lines += section("Input", f"{input_report.get('rows', 0):,} rows.")
    lines += table(("column", "role", "missing", "moved to the nearest declared value"), _columns(input_report))
    unit = input_report.get("unit")
    if unit:
        lines += [f"{unit['units']:,} privacy units, the largest with {unit['most_rows']} rows.", ""]
    lines += section("Charges")
    # an account that rho governs deducts no epsilon
    amounts = [
        name for name in ("epsilon", "delta", "rho") if any(entry["cost"].get(name, "0") != "0" for entry in ledger)
    ]
    lines += table(("entry", "at", "charged for", *amounts), _charges(ledger, amounts))
    lines += section("What ran")
    lines += table(("what", "which"), _flat(provenance))
    return "\n".join(lines).rstrip() + "\n"


def _columns(report: Mapping[str, Any]) -> Iterator[tuple[object, ...]]:
    for column in report.get("columns", ()):
        yield column["name"], column["role"], f"{column['missing']:,}", f"{column['clipped']:,}"


def _charges(ledger: Sequence[Mapping[str, Any]], amounts: Sequence[str]) -> Iterator[tuple[object, ...]]:
    for entry in ledger:
        yield entry["seq"], entry["at"], entry["unit"], *(entry["cost"].get(name, "0") for name in amounts)


def _flat(document: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, object]]:
    for name, value in document.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{name} ")
        else:
            yield f"{path}{name}", value
