"""An annex to a data protection impact assessment, drafted from the plan (GDPR, article 35, paragraph 7). Restricted.

It describes what was planned and what the noise bounds. Whether the result is personal data is not for software to say,
and the draft says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trasgo_lib.reporting import wording
from trasgo_lib.reporting.markdown import bullets, cell, section, table
from trasgo_lib.reporting.metadata import controller
from trasgo_lib.reporting.metadata.controller import TO_FILL

if TYPE_CHECKING:
    from trasgo_lib.plan import ReleasePlan

IMPACT_ASSESSMENT = "impact_assessment.md"


def impact_assessment(plan: ReleasePlan) -> bytes:
    """The draft as markdown.

    Args:
        plan: the compiled plan.
    """
    name, info = f"{plan.dataset} {plan.version}", plan.config.release
    lines = [f"# Annex to the impact assessment: {cell(name)}", "", *controller.rehearsal_words(plan)]
    lines += [
        "Draft under article 35(7) of Regulation (EU) 2016/679, written from the release plan. Whether an assessment is"
        " required, and its conclusions, are the controller's. In particular the draft does not say whether the"
        " published rows are personal data: that depends on who else holds what. Noise bounds what is learned; it does"
        " not end it.",
        "",
    ]
    lines += section("(a) What is done", cell(info.description or info.title))
    lines += table(("", ""), _description(plan))
    lines += table(("column", "label", "processing"), controller.columns(plan))
    lines += section("(b) Necessity and proportionality")
    lines += table(("question", "answer"), _necessity(plan))
    lines += section("(c) Risks to the people in the file", cell(controller.strength(plan)))
    lines += table(("risk", "what bounds it", "judgement"), _risks(plan))
    lines += ["Most that all draws of each noise unit can cost one privacy unit, by the end of its ladder:", ""]
    lines += table(("noise unit", "columns", "at most", "an even guess can become"), _levels(plan))
    lines += section("Not covered by the noise")
    lines += bullets(wording.not_covered(plan))
    lines += section("(d) Measures")
    lines += bullets(controller.measures(plan))
    lines += section("Advice and consultation")
    lines += table(("", ""), _advice())
    return ("\n".join(lines).rstrip() + "\n").encode()


def _description(plan: ReleasePlan) -> Iterator[tuple[str, str]]:
    info = plan.config.release
    yield "controller", controller.controller(plan)
    yield "purposes", "Statistical purposes: publication of noised microdata. Purpose in law: " + TO_FILL.lower()
    yield "data subjects", info.universe or TO_FILL
    yield "privacy unit", wording.privacy_unit(plan)
    yield "source", info.source_note or TO_FILL
    yield (
        "result",
        f"Noised microdata of version {plan.version}, published as files. {wording.TRUST_MODEL.capitalize()}.",
    )
    yield "legal basis, legitimate interest", TO_FILL
    yield "storage periods, recipients, processors", TO_FILL


def _necessity(plan: ReleasePlan) -> Iterator[tuple[str, str]]:
    dropped = [column.name for column in plan.columns if column.role in ("drop", "unit")]
    public = [column.name for column in plan.columns if column.role == "public"]
    yield "Why microdata, and not tables", TO_FILL
    yield "Safeguards for statistical purposes (article 89(1))", controller.safeguards(plan)
    yield "Columns that are not published", ", ".join(dropped) or "none"
    yield (
        "Columns published without noise, and why they need none",
        f"{', '.join(public)}: {TO_FILL.lower()}" if public else "none",
    )
    yield "Why this epsilon", f"{controller.amounts(plan)}. Reason: {TO_FILL.lower()}"
    yield "Information and rights of data subjects", TO_FILL


def _risks(plan: ReleasePlan) -> Iterator[tuple[str, str, str]]:
    order = wording.row_order(plan)
    covers = wording.covers_selection(plan)
    by_draws, beside = ("", "") if covers else (" by the random draws", " No number bounds what other choices tell.")
    yield (
        "Singling out: a row is found that belongs to one person",
        f"Rows stand one to one for rows of the source, and each published value is a random replacement. {order}",
        TO_FILL,
    )
    yield (
        "Linkability: rows are joined with another file by values they share",
        "Values to join by are noised, so a match can be chance; what a match proves is bounded by the odds above."
        " Columns published without noise can be joined by exactly.",
        TO_FILL,
    )
    yield (
        "Inference: a value of one person is learned",
        f"The odds on any two records of one privacy unit change{by_draws} by the stated factor at most, whatever else"
        f" is known.{beside} What holds of everyone can still be learned.",
        TO_FILL,
    )
    yield (
        "Several releases about the same people",
        wording.account_words(plan),
        TO_FILL,
    )
    yield (
        "Loss of the key or of the source",
        "Who holds the sealed key learns from published rows what the noise hides; who holds the source knows all.",
        TO_FILL,
    )


def _levels(plan: ReleasePlan) -> Iterator[tuple[str, str, str, str]]:
    # late, so that what only reads a package does not load the compiler of plans
    from trasgo_lib.plan.words import even_guess

    for unit in plan.units:
        columns = ", ".join(unit.columns)
        if unit.geo.units:
            geo = unit.geo.times(plan.max_rows)
            yield unit.name, columns, f"geo epsilon {geo.text} per km", "depends on the distance"
        else:
            most = controller.most_of(plan, unit)
            yield unit.name, columns, f"epsilon {most.text}", even_guess(most)


def _advice() -> Iterator[tuple[str, str]]:
    yield "advice of the data protection officer (article 35(2))", TO_FILL
    yield "approved codes of conduct that apply (article 35(8))", TO_FILL
    yield "views of data subjects or their representatives (article 35(9))", TO_FILL
    yield "prior consultation of the supervisory authority (article 36)", TO_FILL
    yield "review when the risk changes (article 35(11))", TO_FILL
