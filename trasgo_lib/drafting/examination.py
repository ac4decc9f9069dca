"""What is unwise in a release file that is right: told from the file, public arithmetic and the hour alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from fractions import Fraction

from trasgo_lib.config import LoadedConfig, parse_embargo
from trasgo_lib.config.document import KeyPath
from trasgo_lib.data import CategoryDomain
from trasgo_lib.drafting.findings import Finding, Weight
from trasgo_lib.plan import ReleasePlan, RungExplanation, UnitExplanation, explain

_LOUD_NOISE = 0.5
"""Standard deviation of one value's noise, as a share of the declared range; above it a value says next to nothing."""

_FORMULA = re.compile(r"[=@]|[+-](?!\d+([.,]\d+)?$)")
"""How a cell begins that spreadsheets take for a formula; signed numbers are read as the numbers they are."""

_SELDOM_KEPT = 0.2
_FEW_VALUES = 4
_WELL_BELOW = 10
"""A delta should be below one in the number of rows by at least this factor."""


def examine_plan(loaded: LoadedConfig, plan: ReleasePlan, now: datetime) -> Iterator[Finding]:
    """Everything that is allowed, and that a careful colleague would ask about.

    Args:
        loaded: the release file.
        plan: its plan.
        now: the present instant, with a time zone.
    """
    yield from examine_circumstances(loaded, plan, now)
    yield from _budget(loaded, plan)
    yield from _formulas(loaded, plan)
    explanation = explain(plan)
    for unit in explanation.units:
        yield from _domain(loaded, plan, unit)
    for words in explanation.warnings:
        yield _warning(loaded, words)


def examine_circumstances(loaded: LoadedConfig, plan: ReleasePlan, now: datetime) -> Iterator[Finding]:
    """What concerns names, places and people, whatever is published.

    Args:
        loaded: the release file or the statistics file.
        plan: its plan, or the source and places of it.
        now: the present instant, with a time zone.
    """
    yield from _names(loaded)
    yield from _places(loaded, plan)
    yield from _people(loaded, now)


def _warning(loaded: LoadedConfig, words: str) -> Finding:
    """What the plan warns of, at the column it begins with, if any."""
    for place, column in enumerate(loaded.config.columns):
        if words.startswith(f"{column.name}: "):
            return _at(loaded, ("columns", place), words, "")
    return Finding(Weight.LOOK, words)


def _at(loaded: LoadedConfig, path: KeyPath, words: str, fix: str, weight: Weight = Weight.LOOK) -> Finding:
    mark = loaded.document.mark(path)
    return Finding(weight, words, fix, mark.line, mark.column)


def _names(loaded: LoadedConfig) -> Iterator[Finding]:
    release = loaded.config.release
    if not release.licence.strip():
        fix = 'Write release.licence, such as "CC-BY-4.0".'
        yield _at(loaded, ("release", "licence"), "no licence: nobody knows what they may do with the files", fix)
    if not release.source_note.strip():
        fix = "Write release.source_note: who asked whom, and when."
        yield _at(loaded, ("release", "source_note"), "nothing says where the rows come from", fix)
    if release.title.strip().lower() in (release.dataset, "title", "draft"):
        fix = "Write release.title as a person would search for it."
        yield _at(loaded, ("release", "title"), "the title says no more than the name of the data set", fix)


def _formulas(loaded: LoadedConfig, plan: ReleasePlan) -> Iterator[Finding]:
    """Codes and names that a spreadsheet takes for formulas when the CSV file is opened in it."""
    if "csv" not in loaded.config.publish.formats:
        return
    for place, column in enumerate(loaded.config.columns):
        if column.role in ("drop", "unit"):
            continue
        labels = [label for label in _labels(plan, column.name) if _FORMULA.match(label)]
        if labels:
            words = f"{column.name}: spreadsheets read {', '.join(map(repr, labels[:3]))} in the CSV file as a formula"
            words += f", and {len(labels) - 3} codes more" if len(labels) > 3 else ""
            fix = "Use codes that begin with a letter or digit, or leave csv out of publish.formats."
            yield _at(loaded, ("columns", place, "domain", "codes"), words, fix)
        if _FORMULA.match(column.name):
            words = f"{column.name}: spreadsheets read this name in the CSV file as a formula"
            yield _at(loaded, ("columns", place, "name"), words, "Name it otherwise, with source for the file's name.")


def _labels(plan: ReleasePlan, column: str) -> tuple[str, ...]:
    """The labels a noised category can be released with; none for other columns."""
    for unit in plan.units:
        for part in unit.parts or (unit,):
            if part.name == column and isinstance(part.domain, CategoryDomain):
                return tuple(part.domain.codes)
    return ()


def _places(loaded: LoadedConfig, plan: ReleasePlan) -> Iterator[Finding]:
    publish = loaded.config.publish
    if publish.store is not None:
        fix = "In production write publish.public and publish.restricted, each with rights of its own."
        words = "public and restricted root lie in one place: whoever may reach that place reaches both"
        yield _at(loaded, ("publish", "store"), words, fix)
    if plan.public_root.startswith("s3://") and plan.restricted_root.startswith("s3://"):
        ours = publish.public_s3.credentials if publish.public_s3 else "AWS"
        theirs = publish.restricted_s3.credentials if publish.restricted_s3 else "AWS"
        if ours == theirs:
            fix = "Give each root credentials of its own: publish.public_s3 and publish.restricted_s3."
            yield _at(loaded, ("publish",), "one set of credentials reaches both roots", fix)
    if publish.sign == "none":
        fix = "Write sign: required, and make a key with trasgo key init."
        yield _at(loaded, ("publish", "sign"), "not signed: readers cannot tell who published it", fix)


def _people(loaded: LoadedConfig, now: datetime) -> Iterator[Finding]:
    publish = loaded.config.publish
    if publish.embargo is not None and datetime.fromisoformat(parse_embargo(publish.embargo).utc) <= now:
        words = "the embargo has ended: nothing is held back by it"
        yield _at(loaded, ("publish", "embargo"), words, "Correct publish.embargo, or remove it.")
    if not publish.approvals:
        words = "no approval is asked for: whoever runs it publishes it"
        fix = "Write publish.approvals: 1 or 2, for other people to look first."
        yield _at(loaded, ("publish", "approvals"), words, fix)
    elif not publish.service_accounts:
        words = "approvals are asked for, and no service account is named: one that runs releases could approve others'"
        yield _at(
            loaded, ("publish", "approvals"), words, "Name schedulers in publish.service_accounts, if there are any."
        )
    if publish.service_accounts and not publish.approvals:
        words = "service accounts are barred from approving, but no approval is asked for"
        yield _at(loaded, ("publish", "service_accounts"), words, "Write publish.approvals: 1 or 2.")


def _budget(loaded: LoadedConfig, plan: ReleasePlan) -> Iterator[Finding]:
    if plan.loss_from == "original":
        words = "the raw data steer the loop, so the published epsilon covers the draws and not the choice of levels"
        if not any(unit.target for unit in plan.units):
            words = "losses are computed on the raw data before publication, so epsilon covers the draws only"
        yield _at(loaded, ("loop", "loss_from"), words, "Write loss_from: released.")
    if not plan.delta_total.units:
        return
    delta, rows = plan.delta_total, None if plan.prior is None else plan.prior.rows
    path: KeyPath = ("privacy", "delta_total")
    if rows is None:
        most = int(1 / (delta.fraction * _WELL_BELOW))
        words = f"delta {delta.text} is far below one in the number of rows only with fewer than {most:,} rows"
        yield _at(loaded, path, words, "Lower privacy.delta_total, or say prior.rows.")
    elif delta.fraction >= Fraction(1, rows * _WELL_BELOW):
        is_open = delta.fraction * rows >= 1
        words = f"delta {delta.text} is not far below one in {rows:,} rows: some row may be published as it is"
        yield _at(loaded, path, words, "Lower privacy.delta_total.", Weight.FIX if is_open else Weight.LOOK)


def _domain(loaded: LoadedConfig, plan: ReleasePlan, unit: UnitExplanation) -> Iterator[Finding]:
    names = [column.name for column in loaded.config.columns]
    if unit.name not in names:
        return
    path: KeyPath = ("columns", names.index(unit.name), "domain")
    top = unit.rungs[-1]
    if top.noise_of_range is not None and top.noise_of_range > _LOUD_NOISE:
        words = (
            f"{unit.name}: {_at_level(top)} the noise of one value is {top.noise_of_range:.1f} times its whole range"
        )
        fix = "Declare no wider a range than can occur, or plan with a higher level or another mechanism."
        yield _at(loaded, path, words, fix)
    if unit.type == "category" and (top.keep_probability or 1) < _SELDOM_KEPT:
        kept = 100 * (top.keep_probability or 0)
        words = f"{unit.name}: {_at_level(top)} {kept:.0f} in 100 rows keep their code"
        fix = "Release coarser codes (domain.hierarchy), or plan with a higher level."
        yield _at(loaded, path, words, fix)
    if unit.type == "number" and plan.unit(unit.name).domain.size < _FEW_VALUES:
        words = f"{unit.name}: a number with {plan.unit(unit.name).domain.size} values"
        fix = "Is the range right? So few values are better noised as a category."
        yield _at(loaded, path, words, fix)


def _at_level(rung: RungExplanation) -> str:
    return f"at epsilon {rung.level}, the most it can come to,"
