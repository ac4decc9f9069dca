"""``trasgo collect``: what a collection of noised device reports needs and would show, before anyone is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from flows.cli.collect_tables import print_plan, print_points, print_sizes, print_windows, row_of_points
from flows.cli.console import guarded, out, say_json
from trasgo_lib.errors import ConfigError, Reason

if TYPE_CHECKING:
    from trasgo_lib.collection import PointSizing, Sizing, Version

app = typer.Typer(help="Collect noised H3 cells of devices.", no_args_is_help=True)

_CONFIG = typer.Argument(help="The collection file (YAML).")
_JSON = typer.Option(False, "--json", help="One JSON object on standard output.")
_REPORTS = typer.Option("10000,100000,1000000", "--reports", help="Numbers of reports of a window, with commas.")
_SHARE = typer.Option("0.01", "--share", help="A share of devices in one cell, to ask how many reports show it.")
_DEVICES = typer.Option(100_000, "--devices", min=100, max=10_000_000, help="Made-up devices.")
_WINDOWS = typer.Option(2, "--windows", min=1, max=365, help="Windows in which they answer.")
_KEY = typer.Option("1", "--key", help="Any text; another one makes other devices and other noise.")
_OUT = typer.Option(None, "--out", help="Write the alphabet file here; default standard output.")
_REFINE = typer.Option(None, "--refine", help="The alphabet file of a published collection, to refine.")
_CELLS = typer.Option(None, "--cells", help="A published file with a column `cell` of the cells it shows (CSV).")
_RESOLUTION = typer.Option(None, "--resolution", min=0, max=15, help="Resolution of the children.")


@app.command("size")
def size(config: Path = _CONFIG, reports: str = _REPORTS, share: str = _SHARE, as_json: bool = _JSON) -> None:
    """Which cells can be told from empty ones, and how many reports that takes; opens no report."""
    with guarded(as_json):
        from trasgo_lib.collection import read_collection, reports_needed, size_points
        from trasgo_lib.collection import size as sized

        counts, wanted = _counts(reports), _share(share)
        _, plan = read_collection(config)
        level = float(plan.config.show.level) / plan.maps
        of_points = [] if plan.point is None else size_points(plan.point.lattice, counts, level)
        rows = [(version, sized(version.channel, count, level)) for version in plan.current for count in counts]
        needed = {version.tag: reports_needed(version.channel, wanted, level) for version in plan.current}
        if as_json:
            document = {
                "levels": [
                    _level_json(version)
                    | {
                        "sizes": [_fields(found) for of, found in rows if of is version],
                        "share": wanted,
                        "reports_needed": needed[version.tag],
                    }
                    for version in plan.current
                ],
                "points": [_fields(found) for found in of_points],
            }
            say_json(document)
            return
        print_plan(plan)
        if rows:
            print_sizes(rows)
        for version in plan.current:
            out.print(
                f"\nA cell with {100 * wanted:.4g} % of all devices is shown nine times in ten from "
                f"{needed[version.tag]:,} reports on, at resolution {version.alphabet.resolution}."
            )
        if len(plan.current) > 1:
            out.print(f"Devices are split over {len(plan.current)} levels: these are reports of one level.")
        if of_points:
            print_points(of_points)


@app.command("simulate")
def simulate(
    config: Path = _CONFIG,
    devices: int = _DEVICES,
    windows: int = _WINDOWS,
    key: str = _KEY,
    as_json: bool = _JSON,
) -> None:
    """Made-up devices with homes and work places answer through the real channels; estimates are held against them."""
    with guarded(as_json):
        import hashlib

        from trasgo_lib.collection import check_health, make_world, read_collection, simulate_points
        from trasgo_lib.collection import simulate as simulated

        _, plan = read_collection(config)
        root = hashlib.sha256(key.encode("utf-8")).digest()
        world = make_world(plan, devices, root)
        level = float(plan.config.show.level) / plan.maps
        rows: list[dict[str, object]] = []
        for number, window in enumerate(simulated(plan, world, windows, root)):
            shown = window.found.shown(level)
            checks = check_health(window.version.channel, window.counted, window.version.alphabet)
            largest = set(window.truth[: len(window.version.alphabet.cells)].argsort()[-10:].tolist())
            rows.append(
                {
                    "window": number // len(plan.current) + 1,
                    "resolution": window.version.alphabet.resolution,
                    "reports": window.counted.reports,
                    "mean_error": window.mean_error,
                    "expected_error": window.expected_error,
                    "covered": window.covered,
                    "shown": int(shown.sum()),
                    "shown_but_empty": int((shown & (window.truth == 0)).sum()),
                    "ten_largest_shown": sum(bool(shown[slot]) for slot in largest),
                    "healthy": all(check.is_passed for check in checks),
                }
            )
        of_points = [] if plan.point is None else simulate_points(plan, plan.point, world, windows, root)
        points = [row_of_points(number, window) for number, window in enumerate(of_points, 1)]
        if as_json:
            say_json({"devices": devices, "windows": rows, "points": points})
            return
        print_plan(plan)
        if rows:
            print_windows(rows)
        if points:
            out.print("\nPoints:" if rows else "Points:")
            print_windows(points)


@app.command("alphabet")
def alphabet(
    config: Path = _CONFIG,
    target: Path | None = _OUT,
    refine: Path | None = _REFINE,
    cells: Path | None = _CELLS,
    resolution: int | None = _RESOLUTION,
) -> None:
    """Write the alphabet file of a collection, or the children of cells that an earlier one published."""
    with guarded():
        import json

        from trasgo_lib.collection import Alphabet, read_collection

        if refine is None:
            if cells is not None or resolution is not None:
                raise _refused("--refine", "the alphabet file that --cells is of", "none", "Add it.")
            _, plan = read_collection(config)
            found = plan.finest
        else:
            if cells is None or resolution is None:
                raise _refused("--refine", "--cells and --resolution beside it", "one alone", "Add them.")
            earlier = Alphabet.from_json(_document(refine))
            found = Alphabet.refine(earlier, _published(cells, earlier.resolution), resolution)
        text = json.dumps(found.to_json(), indent=1) + "\n"
        if target is None:
            typer.echo(text, nl=False)
        else:
            target.write_text(text, encoding="utf-8")
            out.print(f"{target}: {len(found.cells):,} cells of resolution {found.resolution}, {found.version}")


def _level_json(version: Version) -> dict[str, object]:
    return {
        "resolution": version.alphabet.resolution,
        "slots": version.alphabet.slots,
        "mechanism": version.channel.claim.mechanism,
        "choice": version.choice,
    }


def _fields(found: Sizing | PointSizing) -> dict[str, object]:
    return {name: getattr(found, name) for name in found.__slots__}


def _counts(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and 0 < int(part) < 2**50 for part in parts):
        raise _refused("--reports", "whole numbers with commas", text, "Write it as in 10000,100000.")
    return tuple(sorted({int(part) for part in parts}))


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise _refused("--share", "a share above 0 and at most 1", text, "Write it as in 0.01.")
    return share


def _document(path: Path) -> dict[str, object]:
    import json

    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise _refused("--refine", "a readable alphabet file", str(path), "Correct the path.") from None
    return found if isinstance(found, dict) else {}


def _published(path: Path, resolution: int) -> list[int]:
    """The cells of a resolution in a published CSV file: its column ``cell``, where ``shown``, if there, is true."""
    import csv

    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        own = [row for row in rows if row.get("resolution", str(resolution)) == str(resolution)]
        shown = [row["cell"] for row in own if row.get("shown", "true") == "true"]
        cells = [int(cell, 16) for cell in shown if cell not in ("other", "nobody")]
    except (OSError, ValueError, KeyError, TypeError, csv.Error):
        raise _refused("--cells", "a CSV file with a column `cell`", str(path), "Name a published file.") from None
    if rows and not own:
        came = "resolution " + ", ".join(sorted({str(row["resolution"]) for row in rows}))
        fix = "Name the alphabet of that resolution in --refine: it lies in alphabets/ of the same release."
        raise _refused("--cells", f"cells of resolution {resolution}, that of --refine", came, fix)
    return cells


def _refused(where: str, required: str, came: str, fix: str) -> ConfigError:
    return ConfigError.of(Reason.BAD_PARAMETER, where, required=required, came=repr(came), fix=fix)
