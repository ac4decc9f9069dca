"""``trasgo approve``: a second person looks at what waits and approves exactly that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from flows.cli.console import UNNAMED, actor, guarded, out, say_json

if TYPE_CHECKING:
    from tasks.review import Dossier, Review
    from trasgo_lib.plan import ReleasePlan

_WINDOW = typer.Option(None, "--window", help="Of a collection: first day of the window; default: the last one over.")
_CONFIG = typer.Argument(help="The release file (YAML).")
_REASON = typer.Option("looked at plan, spend, checks and digests", "--reason", help="Why, in words; recorded.")
_YES = typer.Option(False, "--yes", help="Do not ask; for those who looked before.")
_JSON = typer.Option(False, "--json", help="One JSON object on standard output; needs --yes.")


def approve(
    config: Path = _CONFIG,
    window: str | None = _WINDOW,
    reason: str = _REASON,
    yes: bool = _YES,
    as_json: bool = _JSON,
) -> None:
    """Show what waits for publication, ask, and record your approval of exactly these files."""
    with guarded(as_json):
        from tasks.review import open_dossier, open_review
        from tasks.version_life import now
        from trasgo_lib.errors import ConfigError, Reason, StoreError, WaitingError

        if actor() == UNNAMED:
            raise ConfigError.of(
                Reason.BAD_PARAMETER,
                "TRASGO_ACTOR",
                required="the name of the person who approves",
                came="none, and no login name",
                fix="Set TRASGO_ACTOR to your name.",
            )
        review = open_review(config, window)
        report = review.records.check_chain()
        if not report.ok:
            raise StoreError(*report.faults)
        dossier = open_dossier(review)
        if not as_json:
            _show(review, dossier)
        if not yes:
            typer.confirm(f"Approve as {actor()}?", abort=True)
        plan = review.plan
        try:
            found = review.records.approve(
                plan.dataset, plan.version, dossier.waiting.digest, actor(), reason, dossier.evidence(), now()
            )
        except WaitingError:
            review.records.hold_when_missed(plan.dataset, plan.version, actor(), now())
            raise
        if as_json:
            say_json(open_review(config, window).to_json())
        elif found.missing:
            out.print(f"Approved by {actor()}; {found.missing} more needed.", markup=False)
        else:
            out.print(
                f"Approved by {actor()}; all approvals are there. Publish it: trasgo {review.verb} "
                f"{config}{review.options}",
                markup=False,
            )


def _show(review: Review, dossier: Dossier) -> None:
    plan, terms = review.plan, review.publication.terms
    manifest = dossier.waiting.manifest
    what, promise, told = _PRODUCTS[review.verb]
    lines = [
        f"{plan.dataset}/{plan.version}: {plan.config.release.title}",
        f"  plan      {plan.digest}",
        f"  manifest  sha256 {dossier.waiting.manifest_digest}",
        f"  package   {dossier.waiting.digest}",
        f"  rows      {manifest['rows']}; {what}: {', '.join(manifest['columns'])}",
        f"  promise   {dossier.statement[promise]}",
        *told(review, dossier),
    ]
    lines += [f"  file      {entry['path']}, {entry['bytes']} bytes, {entry['sha256']}" for entry in manifest["files"]]
    superseded = plan.config.release.supersedes
    if superseded is not None:
        lines.append(f"  corrects  version {superseded.version} ({superseded.reason}): {superseded.note}")
    lines.append(f"  goes to   {terms.public}" + (f", not before {terms.embargo_words}" if terms.embargo else ""))
    given = ", ".join(event.actor for event in review.publication.approvals) or "nobody yet"
    lines.append(f"  approved  {len(review.publication.approvals)} of {terms.approvals}: {given}")
    for line in lines:
        out.print(line, markup=False)


def _spent(review: Review) -> Iterator[str]:
    """What the version was charged, and what its account has left."""
    plan = review.plan
    yield f"  spent     {review.records.spent_by(plan.dataset, plan.version)}"
    yield f"  account   {plan.account}: {review.records.account(plan.account).left} left"


def _estimates(review: Review, dossier: Dossier) -> Iterator[str]:
    """What devices paid, whether they answered as declared, and where the estimates can be read."""
    from trasgo_lib.release.collection_file import point_estimates

    place = review.restricted.uri(dossier.waiting.prefix).removeprefix("file://")
    statement = dossier.statement
    window, device, point = statement["window"], statement["device"], statement.get("point")
    yield f"  window    {window['first_day']}, {window['days']} days"
    for one in statement["versions"]:
        yield (
            f"  devices   {one['mechanism']} at resolution {one['resolution']}: epsilon {one['epsilon_per_report']} a "
            f"report, {one['reports']} reports"
        )
        yield f"  clients   {_health_words(one['health'])}"
    found = point_estimates(statement)
    if point is not None:
        cost = f"epsilon {point['certified_epsilon']} a point at {point['radius_m']} m"
        told = "too few of them, not published" if found is None else f"{found['reports']} points"
        yield f"  points    {point['mechanism']}: {cost}, {told}"
        if found is not None:
            yield f"  clients   {_health_words(found['health'])}"
    if device is not None:
        yield f"  cap       epsilon {device['lifetime_epsilon']} of a device for ever; no account is charged"
    if point is not None:
        yield f"  cap       epsilon {point['lifetime_epsilon']} at {point['radius_m']} m of its points for ever"
    for level in statement["linkage"]["levels"]:
        yield f"  shown     {_linkage_words(level)}"
    if found is not None:
        yield f"  shown     of points, {_linkage_words(found['linkage'])}"
    pages = [entry["path"] for entry in dossier.waiting.manifest["files"] if entry["path"].endswith(".html")]
    yield f"  estimates to be read in {' and '.join(f'{place}/{name}' for name in [*pages, 'report.md'])}"


def _health_words(checks: list[dict[str, Any]]) -> str:
    failed = [check["name"] for check in checks if not check["passed"]]
    return f"FAILED: {', '.join(failed)}" if failed else "answer as declared"


def _linkage_words(level: dict[str, Any]) -> str:
    small = f"; {level['small']} of them could be tied to few devices" if level["small"] else ""
    return f"{level['shown']} cells of resolution {level['resolution']}{small}"


def _questions(review: Review, dossier: Dossier) -> Iterator[str]:
    """The questions as asked, and where their answers can be read; they are not public yet."""
    yield from _spent(review)
    place = review.restricted.uri(dossier.waiting.prefix).removeprefix("file://")
    for query in dossier.statement["queries"]:
        cost = f"epsilon {query['cost']['epsilon']}"
        yield f"  question  {query['name']}: {query['in_words']}; {cost}; {query['half_width']}"
    yield f"  answers   {dossier.evidence()['answers']}, to be read in {place}/report.html"


def _model(review: Review, dossier: Dossier) -> Iterator[str]:
    """What is predicted from what, each charge, and where the accuracy can be read; it is not public yet."""
    yield from _spent(review)
    place = review.restricted.uri(dossier.waiting.prefix).removeprefix("file://")
    training = dossier.statement["training"]
    features = ", ".join(feature["name"] for feature in training["features"])
    yield f"  model     {training['type']} of {training['target']} from {features}; {training['steps']} steps"
    for charge in dossier.statement["charges"]:
        yield f"  charged   {charge['name']}: epsilon {charge['cost']['epsilon']}, delta {charge['cost']['delta']}"
    yield f"  holds     {dossier.evidence()['model']}, to be read in {place}/model_card.md"


def _outcome(review: Review, dossier: Dossier) -> Iterator[str]:
    yield from _spent(review)
    yield f"  checks    {dossier.evidence()['checks']}"
    yield f"  loop      ended with: {dossier.losses.get('reason', '')}"
    last = {entry["unit"]: entry for entry in dossier.losses.get("rounds", [])}
    for unit in cast("ReleasePlan", review.plan).units:
        if unit.target is not None and unit.name in last:
            met = "met" if last[unit.name]["met"] else "NOT met"
            yield f"  target    {unit.name}: {unit.target.loss} <= {unit.target.ceiling}, {met}"


_PRODUCTS: dict[str, tuple[str, str, Callable[[Review, Dossier], Iterator[str]]]] = {
    "run": ("columns", "in_words", _outcome),
    "query": ("questions", "guarantee", _questions),
    "train": ("target", "guarantee", _model),
    "collect run": ("columns", "guarantee", _estimates),
}
"""By the command that made it: what the manifest's columns are, where the promise stands, and what else is shown."""
