"""A record of processing activities, drafted from the plan (GDPR, article 30, paragraph 1). Restricted.

Only what the release file and the plan know is stated; everything else is named and left to the controller.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trasgo_lib.reporting.markdown import bullets, cell, section, table
from trasgo_lib.reporting.metadata import controller
from trasgo_lib.reporting.metadata.controller import TO_FILL

if TYPE_CHECKING:
    from trasgo_lib.plan import ReleasePlan

PROCESSING_RECORD = "processing_record.md"


def processing_record(plan: ReleasePlan) -> bytes:
    """The draft as markdown.

    Args:
        plan: the compiled plan.
    """
    name = f"{plan.dataset} {plan.version}"
    lines = [f"# Record of processing activities: {cell(name)}", "", *controller.rehearsal_words(plan)]
    lines += [
        "Draft under article 30(1) of Regulation (EU) 2016/679, written from the release plan. It is no record before"
        " the controller has filled in what is left open and confirmed the rest.",
        "",
    ]
    lines += table(("article 30(1)", "content"), _fields(plan))
    lines += section("Categories of personal data (c)", "Every column of the source, and what becomes of it.")
    lines += table(("column", "label", "processing"), controller.columns(plan))
    lines += [
        f"Which of these are special categories (article 9) or about offences (article 10): {TO_FILL.lower()}",
        "",
    ]
    lines += section("Measures of security (g)")
    lines += bullets(controller.measures(plan))
    return ("\n".join(lines).rstrip() + "\n").encode()


def _fields(plan: ReleasePlan) -> Iterator[tuple[str, str]]:
    info = plan.config.release
    yield "(a) controller", controller.controller(plan)
    yield "(a) contact", controller.contact(plan)
    yield "(a) joint controllers, representative, data protection officer", TO_FILL
    yield (
        "(b) purposes",
        f'Statistical purposes: publication of noised microdata, "{info.title}". Legal basis and purpose in law:'
        f" {TO_FILL.lower()}",
    )
    yield "(b) safeguards for statistical purposes (article 89(1))", controller.safeguards(plan)
    yield "(c) categories of data subjects", info.universe or TO_FILL
    yield "(c) categories of personal data", "See the table of columns."
    yield (
        "(d) recipients",
        "The published files: everyone who can read the public root. The restricted root: " + TO_FILL.lower(),
    )
    yield (
        "(e) transfers to third countries",
        "What is public can be read from anywhere. Transfers of the source or of restricted files, with their"
        " safeguards (articles 46 and 49): " + TO_FILL.lower(),
    )
    yield (
        "(f) time limits for erasure",
        "Source file, restricted evidence, sealed root (`trasgo key destroy`) and backups: "
        + TO_FILL.lower()
        + " Published versions and ledger entries are kept.",
    )
    yield "(g) measures", "See below."
