"""What ``trasgo collect size`` and ``simulate`` show people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from flows.cli.console import out

if TYPE_CHECKING:
    from trasgo_lib.collection import CollectionPlan, PointPlan, PointSizing, PointWindow, Sizing, Version


def print_plan(plan: CollectionPlan) -> None:
    """How devices answer, and what they spend.

    Args:
        plan: the compiled collection.
    """
    for version in plan.current:
        claim, cells = version.channel.claim, len(version.alphabet.cells)
        extra = "" if claim.permanent is None else f"; all reports of one cell {claim.permanent.text}"
        out.print(
            f"Resolution {version.alphabet.resolution}: {cells:,} cells, {version.alphabet.slots:,} slots, "
            f"{version.channel.report_bytes:,} bytes a report"
        )
        out.print(f"  {claim.mechanism}, epsilon {claim.epsilon.text} a report{extra}")
        if version.choice:
            out.print(f"  chosen because {version.choice}")
    if (caps := plan.caps) is not None:
        out.print(f"A device spends at most {caps.daily.text} a day and {caps.lifetime.text} ever.\n")
    if (point := plan.point) is not None:
        _print_point_plan(point)


def _print_point_plan(point: PointPlan) -> None:
    from trasgo_lib.collection.statement import point_losses

    domain, cells = point.domain, point.lattice.alphabet
    out.print(
        f"Points: a lattice of {domain.columns:,} x {domain.rows:,} cells of {domain.step_m} m, "
        f"{point.lattice.shape.report_bytes} bytes a point"
    )
    losses = point_losses(point.channel, point.caps)
    out.print(
        f"  planar_laplace, epsilon {point.epsilon.text} a point for lattice cells {point.radius_m} m apart, "
        f"{losses['epsilon_of_raw_places']} for places of the box that far apart"
    )
    out.print(f"  a map of {len(cells.cells):,} cells of resolution {cells.resolution}")
    if point.cells_cut:
        out.print(
            f"  {point.cells_cut:,} cells of the area are left out: they do not lie whole within point.box, two steps "
            "from its edge"
        )
    out.print(
        f"A device spends at most {point.daily.text} a day and {point.lifetime.text} ever on points, for such cells; "
        f"{losses['lifetime_epsilon_of_raw_places']} ever for such places.\n"
    )


def row_of_points(number: int, window: PointWindow) -> dict[str, object]:
    """A window of simulated points, under the names that those of cells have.

    Args:
        number: of the window, from 1.
        window: the points.
    """
    table = window.found.table
    largest = set(window.truth[: len(table.alphabet.cells)].argsort()[-10:].tolist())
    return {
        "window": number,
        "resolution": table.alphabet.resolution,
        "reports": table.reports,
        "mean_error": window.mean_error,
        "expected_error": window.expected_error,
        "covered": window.covered,
        "shown": int(table.shown.sum()),
        "shown_but_empty": int((table.shown & (window.truth == 0)).sum()),
        "ten_largest_shown": sum(bool(table.shown[slot]) for slot in largest),
        "healthy": window.found.health.is_passed,
    }


def print_points(sizes: list[PointSizing]) -> None:
    """What numbers of points can tell.

    Args:
        sizes: one or more.
    """
    table = Table("points", "a cell's share", "error", "shown from", "shown", box=None)
    for one in sizes:
        row = (f"{one.share:.2%}", f"{one.standard_error:.3%}", _percent(one.floor), "yes" if one.is_told else "no")
        table.add_row(f"{one.points:,}", *row)
    out.print("\nPoints, of a cell in the middle, if devices were spread evenly over the box:")
    out.print(table)
    out.print(
        f"\nThe noise makes the variance of a share {sizes[-1].times_counting:,.1f} times that of counting devices; a "
        "coarser step_m lowers it."
    )


def print_sizes(rows: list[tuple[Version, Sizing]]) -> None:
    """What numbers of reports can tell.

    Args:
        rows: each with the version that it is of.
    """
    table = Table("res", "reports", "a cell", "error", "shown from", "told from", "devices", box=None)
    for version, found in rows:
        table.add_row(
            str(version.alphabet.resolution),
            f"{found.reports:,}",
            f"{found.reports_per_slot:,.0f} ({found.rule})",
            f"{found.standard_error:.2%}",
            _percent(found.floor),
            _percent(found.told),
            f"{found.told_reports:,}" if found.told < 1 else "-",
        )
    out.print(table)
    out.print(
        "\nerror: standard error of an empty cell's share. shown from: least estimate that is shown. "
        "told from: least true share that is shown nine times in ten, and its devices."
    )


def print_windows(rows: list[dict[str, object]]) -> None:
    """How estimates of made-up devices fared.

    Args:
        rows: one a window and resolution.
    """
    titles = ("window", "res", "reports", "error", "expected", "covered", "shown", "empty", "of ten", "sound")
    table = Table(*titles, box=None)
    for row in rows:
        table.add_row(
            str(row["window"]),
            str(row["resolution"]),
            f"{row['reports']:,}",
            f"{row['mean_error']:.3%}",
            f"{row['expected_error']:.3%}",
            f"{row['covered']:.1%}",
            str(row["shown"]),
            str(row["shown_but_empty"]),
            str(row["ten_largest_shown"]),
            "yes" if row["healthy"] else "no",
        )
    out.print(table)
    out.print(
        "\nerror: mean absolute error of all shares, and what their standard errors expect. covered: slots whose "
        "interval holds the truth. empty: shown although nobody was there. of ten: shown of the ten largest cells."
    )


def _percent(share: float) -> str:
    return f"{share:.2%}" if share < 1 else "never"
