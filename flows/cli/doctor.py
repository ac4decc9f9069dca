"""``trasgo doctor``: what is missing, wrong or unwise before a run, in plain words and with its line."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.padding import Padding
from rich.text import Text

from flows.cli.console import guarded, home, out, say_json
from trasgo_lib.errors import ConfigError

if TYPE_CHECKING:
    from trasgo_lib.drafting.findings import Finding, Weight

_CONFIG = typer.Argument(help="The release file or statistics file (YAML); it may be a draft.")
_JSON = typer.Option(False, "--json", help="One JSON object on standard output.")

_STYLES = {"must be fixed": "bold red", "worth a look": "bold yellow", "fine": "bold green"}


def doctor(config: Path = _CONFIG, as_json: bool = _JSON) -> None:
    """List what must be fixed, what is worth a look and what is fine; opens no row, charges and changes nothing."""
    with guarded(as_json):
        from trasgo_lib.drafting.findings import Weight

        findings = list(_examined(config))
        found = {weight: [finding for finding in findings if finding.weight is weight] for weight in Weight}
        if as_json:
            say_json({"config": str(config), "ok": not found[Weight.FIX], **_rows(found)})
        else:
            _print(config, found)
        if found[Weight.FIX]:
            raise typer.Exit(ConfigError.exit_code)


def _examined(config: Path) -> Iterator[Finding]:
    from tasks.examination import examine_surroundings
    from tasks.places import require_release
    from trasgo_lib.config import read_document, read_text
    from trasgo_lib.drafting.examination import examine_circumstances, examine_plan
    from trasgo_lib.drafting.findings import Finding, Weight, must
    from trasgo_lib.drafting.outlook import examine_targets
    from trasgo_lib.drafting.source_names import examine_source
    from trasgo_lib.drafting.visibility import examine_visibility
    from trasgo_lib.statistics.examination import examine_queries
    from trasgo_lib.training import read_product

    try:
        document = read_document(read_text(config))
    except ConfigError as error:
        yield from must(error.faults)
        return
    product = None
    try:
        product = read_product(config)
        require_release(product.base)
    except ConfigError as error:
        yield from must(error.faults)
    yield from examine_source(document, config.absolute().parent)
    if product is None:
        words = "key, account, places and targets were not looked at: that takes a file without faults"
        yield Finding(Weight.LOOK, words)
        return
    loaded, plan, declared = product.loaded, product.base, product.statistics or product.training
    if declared is None:
        yield Finding(Weight.FINE, "release file: no fault")
        yield from examine_plan(loaded, plan, datetime.now(UTC))
        yield from examine_visibility(loaded, plan)
        yield from examine_targets(loaded, plan)
    else:
        yield from examine_circumstances(loaded, plan, datetime.now(UTC))
    if product.statistics is not None:
        yield Finding(Weight.FINE, f"statistics file: no fault, {len(product.statistics.queries)} queries")
        yield from examine_queries(loaded, product.statistics)
    elif product.training is not None:
        yield Finding(Weight.FINE, f"training file: no fault, {product.training.descent.parameters} weights")
    yield from examine_surroundings(plan, home(), config, None if declared is None else declared.cost)


def _rows(found: dict[Weight, list[Finding]]) -> dict[str, object]:
    return {weight.name.lower(): [finding.to_json() for finding in findings] for weight, findings in found.items()}


def _print(config: Path, found: dict[Weight, list[Finding]]) -> None:
    for weight, findings in found.items():
        if not findings:
            continue
        out.print(Text(f"{weight.value.capitalize()} ({len(findings)})", style=_STYLES[weight.value]))
        for finding in sorted(findings, key=lambda one: (one.line or 0, one.column or 0)):
            place = config.name if finding.line is None else f"{config.name}:{finding.line}"
            head = f"{place}: {finding.words}" if finding.line is not None else finding.words
            _say(Text(head), 2)
            if finding.fix:
                _say(Text(finding.fix, style="dim"), 6)
        out.print()
    out.print(_verdict(found))


def _say(text: Text, indent: int) -> None:
    """One paragraph, indented; wrapped on a terminal, and one line where a program reads."""
    if out.is_terminal:
        out.print(Padding(text, (0, 0, 0, indent)), soft_wrap=False)
    else:
        out.print(Text(" " * indent) + text)


def _verdict(found: dict[Weight, list[Finding]]) -> str:
    from trasgo_lib.drafting.findings import UNDECIDED_IN, Weight

    count = len(found[Weight.FIX])
    if not count:
        return "Nothing must be fixed."
    is_draft = any(finding.words.startswith(UNDECIDED_IN) for finding in found[Weight.FIX])
    hint = " What each key asks for: the comments of the draft, and configs/README.md." if is_draft else ""
    return ("One thing must be fixed." if count == 1 else f"{count} things must be fixed.") + hint
