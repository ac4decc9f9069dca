"""Loss against epsilon and against the number of rows on Adult, beside the peer; rewrites its part of RESULTS.md.

    python tests/benchmarks/paper.py [--adult PATH] [--peer PYTHON] [--draws 5] [--dry]

The peer's paper shows two such experiments; its text was not at hand, so the design is ours: eight columns, each noised
at the same epsilon, the peer by the mechanisms of its documentation at their defaults, the losses of all arms by the
same code (Pearson over all 28 pairs, labels in alphabetical order; TVD of labels over their codes, of numbers over 20
bins). Medians over draws. Undone: what an analyst gets who inverts the published channels of ``laplace`` and randomised
response, its error in the same terms as the correlation loss.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import combinations

import numpy as np
from candidates import best, build
from numpy.typing import NDArray
from peer import Job, add_peer, run_peer
from rehearsal import root
from results import machine, table, write_section
from sources import Column, add_paths, files, read

from trasgo_lib.data import NumberDomain
from trasgo_lib.estimation import powers
from trasgo_lib.mechanisms import Channel, build_channel
from trasgo_lib.noise import Keystream
from trasgo_lib.utility import LossColumn, measure

LEVELS = ("0.5", "1", "2", "4", "8")
ROWS = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000)
LEVELS_BY_ROWS = ("2", "8")
PEER_ARMS = ("randomised response", "exponential")

Codes = NDArray[np.int32]
Table = Mapping[str, Codes]
Point = tuple[str, int]
"""Epsilon of every column, and number of rows."""

Figures = tuple[float, float, float]
"""Correlation loss in percent, mean TVD of labels, mean TVD of numbers."""


class Adult:
    """The columns, and their first rows in a fixed order that has nothing to do with the file's."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self.columns = columns
        rows = len(next(iter(columns.values())).codes)
        order = np.argsort(Keystream(root(7), "order").words(0, rows), kind="stable")
        self.codes = {name: column.codes[order] for name, column in columns.items()}
        self.priors = {
            name: np.bincount(column.codes, minlength=column.domain.size) / rows for name, column in columns.items()
        }
        self.rows = rows
        self._texts: dict[tuple[str, int], NDArray] = {}

    def first(self, rows: int) -> dict[str, Codes]:
        """The codes of the first rows."""
        return {name: codes[:rows] for name, codes in self.codes.items()}

    def values(self, name: str, rows: int) -> NDArray:
        """Values as the peer takes them: whole numbers or texts."""
        if (name, rows) not in self._texts:
            column, codes = self.columns[name], self.codes[name][:rows]
            found = np.asarray(column.domain.decode(codes))
            self._texts[name, rows] = found.astype(np.int64) if column.is_number else found.astype(str)
        return self._texts[name, rows]

    def figures(self, released: Table, rows: int) -> Figures:
        """Losses of a release of the first rows."""
        columns = [
            LossColumn(name, name, *(("number", size, min(20, size)) if column.is_number else ("label", size)))
            for name, column in self.columns.items()
            for size in [column.domain.size]
        ]
        readers = [
            {name: partial(list, [part]) for name, part in parts.items()} for parts in (self.first(rows), released)
        ]
        losses = measure(*readers, columns, rows=rows).losses
        moved = {
            kind: [losses.column(name).tvd for name, each in self.columns.items() if each.is_number is kind]
            for kind in (False, True)
        }
        kept = np.nan if losses.correlation_loss is None else losses.correlation_loss
        return kept, float(np.mean(moved[False])), float(np.mean(moved[True]))


def _label(column: Column, level: str) -> Channel:
    name = "randomized_response" if column.domain.size == 2 else "kary_randomized_response"
    return build_channel(name, column.domain, level)


@lru_cache
def _channels(adult: Adult, level: str, is_auto: bool) -> dict[str, Channel]:
    found = {}
    for name, column in adult.columns.items():
        domain = column.domain
        if not isinstance(domain, NumberDomain):
            found[name] = _label(column, level)
        elif is_auto:
            found[name] = build(best(adult.priors[name], domain, level), domain, level)
        else:
            found[name] = build_channel("laplace", domain, level)
    return found


def _draw(adult: Adult, channels: Mapping[str, Channel], point: Point, draw: int) -> dict[str, Codes]:
    level, rows = point
    return {
        name: channels[name].sample(codes, Keystream(root(draw + 1), name, level, rows))
        for name, codes in adult.first(rows).items()
    }


def undone(adult: Adult, released: Table, channels: Mapping[str, Channel], rows: int) -> float:
    """Error of the decoded correlations in terms of the true ones, percent; NaN where a decoded spread is below 0."""
    decoded, spreads = {}, {}
    for name, codes in released.items():
        ways = powers(channels[name], np.arange(channels[name].inputs, dtype=np.float64))
        if isinstance(ways, str):
            return np.nan
        first, second = ways.decoded[codes, 1], ways.decoded[codes, 2]
        decoded[name] = first - first.mean()
        spreads[name] = float(second.mean() - first.mean() ** 2)
    truth, found = [], []
    raw = adult.first(rows)
    for left, right in combinations(released, 2):
        together = float(np.mean(decoded[left] * decoded[right]))
        spread = spreads[left] * spreads[right]
        if min(spreads[left], spreads[right]) <= 0:
            return np.nan
        found.append(np.clip(together / np.sqrt(spread), -1.0, 1.0))
        truth.append(np.corrcoef(raw[left], raw[right])[0, 1])
    return float(100 * np.abs(np.array(found) - truth).sum() / np.abs(truth).sum())


def _ours(adult: Adult, point: Point, draws: int) -> tuple[Figures, Figures, float]:
    """Figures of ``laplace`` and of ``auto``, and what is left when the first is undone."""
    plain, auto = (_channels(adult, point[0], is_auto) for is_auto in (False, True))
    found, chosen, left = [], [], []
    for draw in range(draws):
        released = _draw(adult, plain, point, draw)
        found.append(adult.figures(released, point[1]))
        left.append(undone(adult, released, plain, point[1]))
        chosen.append(adult.figures(_draw(adult, auto, point, draw), point[1]))
    return _median(found), _median(chosen), float(np.median(left))


def _median(figures: Sequence[Figures]) -> Figures:
    first, second, third = np.median(np.array(figures), axis=0)
    return float(first), float(second), float(third)


def _jobs(adult: Adult, points: Sequence[Point], draws: int) -> Iterator[tuple[tuple[Point, str, int, str], Job]]:
    for level, rows in points:
        for arm in PEER_ARMS:
            for draw in range(draws):
                for at, (name, column) in enumerate(adult.columns.items()):
                    values, seed = adult.values(name, rows), 1000 * draw + at
                    key = ((level, rows), arm, draw, name)
                    if isinstance(column.domain, NumberDomain):
                        low, high = float(column.domain.lower), float(column.domain.upper)
                        yield key, Job("laplace", values, float(level), seed, low, high)
                    elif arm == "exponential":
                        yield key, Job("exponential", values, float(level), seed)
                    else:
                        yield key, Job("binary" if column.domain.size == 2 else "kary", values, float(level), seed)


def _theirs(
    adult: Adult, points: Sequence[Point], asked: argparse.Namespace
) -> tuple[dict[tuple[Point, str], Figures], str] | None:
    jobs = dict(_jobs(adult, points, asked.draws)) if asked.peer else {}
    found = run_peer(asked.peer, list(jobs.values()))
    if found is None:
        return None
    tables: dict[tuple[Point, str, int], dict[str, Codes]] = {}
    for (point, arm, draw, name), drawn in zip(jobs, found[0], strict=True):
        domain = adult.columns[name].domain
        codes = domain.encode(drawn if isinstance(domain, NumberDomain) else drawn.tolist())
        tables.setdefault((point, arm, draw), {})[name] = codes
    figures: dict[tuple[Point, str], list[Figures]] = {}
    for (point, arm, _), released in tables.items():
        figures.setdefault((point, arm), []).append(adult.figures(released, point[1]))
    return {key: _median(values) for key, values in figures.items()}, found[1]


def _rows(
    adult: Adult, points: Sequence[Point], words: Callable[[Point], list[object]], asked: argparse.Namespace
) -> tuple[list[list[object]], str | None]:
    peers = _theirs(adult, points, asked)
    rows = []
    for point in points:
        plain, auto, left = _ours(adult, point, asked.draws)
        theirs = [(np.nan,) * 3 if peers is None else peers[0][point, arm] for arm in PEER_ARMS]
        arms = [*theirs, plain, auto]
        cells = [_cell(arm[0], 1) for arm in arms] + [_cell(left, 1)]
        cells += [_cell(arm[1], 3) for arm in arms[:3]] + [_cell(arm[2], 3) for arm in (theirs[0], plain, auto)]
        rows.append([*words(point), *cells])
        print(*rows[-1], flush=True)
    return rows, None if peers is None else peers[1]


def _cell(value: float, digits: int) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}f}"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_paths(parser)
    add_peer(parser)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--dry", action="store_true", help="print only")
    asked = parser.parse_args()
    paths = files(asked.adult)
    if "adult" not in paths:
        raise SystemExit("nothing to measure without Adult")
    adult = Adult(read("adult", paths["adult"]))
    by_level, versions = _rows(adult, [(level, adult.rows) for level in LEVELS], lambda point: [point[0]], asked)
    points = [(level, rows) for level in LEVELS_BY_ROWS for rows in ROWS]
    by_rows, _ = _rows(adult, points, lambda point: [point[0], f"{point[1]:,}"], asked)
    if not asked.dry:
        write_section("paper", _text(asked, versions, by_level, by_rows))


def _text(
    asked: argparse.Namespace, versions: str | None, by_level: list[list[object]], by_rows: list[list[object]]
) -> list[str]:
    head = ["loss: peer, RR", "peer, exponential", "ours, `laplace`", "ours, `auto`", "`laplace` undone"]
    head += ["TVD of labels: peer, RR", "peer, exponential", "ours", "TVD of numbers: peer", "`laplace`", "`auto`"]
    return [
        f"{machine()} Peer: {versions or 'none'}. Medians of {asked.draws} draws.",
        "Eight columns of Adult (age, education-num, hours-per-week, marital-status, relationship, race, sex,",
        "salary-class), each at the epsilon given. Loss: correlation loss over all pairs, percent. `auto` knows the",
        "distribution of each number as a public prior. Undone: what is left of the loss after inverting the channels.",
        "",
        "By epsilon, all 32,561 rows:",
        "",
        *table(["epsilon", *head], by_level),
        "",
        "By number of rows:",
        "",
        *table(["epsilon", "rows", *head], by_rows),
    ]


if __name__ == "__main__":
    main()
