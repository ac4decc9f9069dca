"""Raw correlation kept with a clean partner, ours against the peer's clipped Laplace; rewrites its part of RESULTS.md.

    python tests/benchmarks/correlation_kept.py [--peer PYTHON] [--rows 100000] [--draws 5] [--dry]

Three shapes of a number over 0 to 100, each with a partner that is not noised. Kept is the correlation after noise in
terms of that before. Nothing is undone: this is what a user gets who ignores the channel. Medians over draws.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import numpy as np
from candidates import best, build, plain, words
from numpy.typing import NDArray
from peer import Job, add_peer, run_peer
from results import machine, table, write_section
from scipy.special import betaincinv, ndtri

from trasgo_lib.data import NumberDomain
from trasgo_lib.mechanisms import Candidate
from trasgo_lib.noise import Keystream

LEVELS = ("1", "2", "4")
GOALS = {"1": 2.5, "2": 2.2, "4": 1.7}
"""On the bell-shaped column; elsewhere never below ``LEAST``."""

LEAST = 0.95
DOMAIN = NumberDomain("0", "100", "1")


def _uniform(key: str, rows: int) -> NDArray[np.float64]:
    words = Keystream(bytes(range(32)), "shapes", key).words(0, rows)
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53


SHAPES = {
    "bell": "normal, mean 50, deviation 15",
    "skewed": "beta(1.5, 8), mean 16, deviation 11",
    "uniform": "uniform over 0 to 100",
}


def shape(name: str, rows: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Codes of a shape, and a partner that is 0.6 correlated with its normal scores."""
    share = _uniform("column", rows)
    values = {
        "bell": 50 + 15 * ndtri(share),
        "skewed": 100 * betaincinv(1.5, 8.0, share),
        "uniform": 100 * share,
    }[name]
    partner = 0.6 * ndtri(share) + 0.8 * ndtri(_uniform("partner", rows))
    return DOMAIN.encode(np.rint(values), outside="clip"), partner


def _kept(released: NDArray, codes: NDArray, partner: NDArray) -> float:
    return float(np.corrcoef(released, partner)[0, 1] / np.corrcoef(codes, partner)[0, 1])


def _ours(candidate: Candidate, level: str, codes: NDArray, partner: NDArray, draws: int) -> float:
    channel = build(candidate, DOMAIN, level)
    drawn = (
        channel.sample(codes, Keystream(bytes(range(32)), "kept", words(candidate), level, at)) for at in range(draws)
    )
    return float(np.median([_kept(released, codes, partner) for released in drawn]))


def _peers(asked: argparse.Namespace) -> tuple[Mapping[tuple[str, str], float], str] | None:
    jobs, keys = [], []
    for name in SHAPES:
        values = shape(name, asked.rows)[0].astype(np.int64)
        for level in LEVELS:
            keys += [(name, level)] * asked.draws
            jobs += [Job("laplace", values, float(level), at, 0.0, 100.0) for at in range(asked.draws)]
    found = run_peer(asked.peer, jobs)
    if found is None:
        return None
    kept: dict[tuple[str, str], list[float]] = {}
    for (name, level), drawn in zip(keys, found[0], strict=True):
        codes, partner = shape(name, asked.rows)
        kept.setdefault((name, level), []).append(_kept(drawn, codes, partner))
    return {key: float(np.median(values)) for key, values in kept.items()}, found[1]


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_peer(parser)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--dry", action="store_true", help="print only")
    asked = parser.parse_args()
    peers = _peers(asked)
    rows = []
    for name in SHAPES:
        codes, partner = shape(name, asked.rows)
        prior = np.bincount(codes, minlength=DOMAIN.size) / len(codes)
        for level in LEVELS:
            chosen = best(prior, DOMAIN, level)
            ours = {
                words(each): _ours(each, level, codes, partner, asked.draws)
                for each in [chosen, *map(plain, ("laplace", "gaussian", "staircase"))]
            }
            theirs = None if peers is None else peers[0][name, level]
            ratios = [_ratio(ours[each], theirs) for each in (words(chosen), "laplace")]
            goal = GOALS[level] if name == "bell" else LEAST
            reached = "-" if theirs is None else "yes" if ours[words(chosen)] >= goal * theirs else "**no**"
            figures = [f"{ours[each]:.3f}" for each in (words(chosen), "laplace", "gaussian", "staircase")]
            shown = "-" if theirs is None else f"{theirs:.3f}"
            rows.append([name, level, shown, words(chosen), *figures, *ratios, f"{goal}x", reached])
            print(*rows[-1], flush=True)
    if not asked.dry:
        write_section("correlation-kept", _text(asked, rows, peers))


def _ratio(ours: float, theirs: float | None) -> str:
    return "-" if theirs is None else f"{ours / theirs:.2f}x"


def _text(asked: argparse.Namespace, rows: list[list[object]], peers: tuple[object, str] | None) -> list[str]:
    head = ["shape", "epsilon", "peer, clipped Laplace", "`auto` takes", "`auto`", "`laplace`", "`gaussian`"]
    head += ["`staircase`", "`auto` to peer", "`laplace` to peer", "goal", "reached"]
    return [
        f"{machine('scipy')} Peer: {'none' if peers is None else peers[1]}.",
        f"{asked.rows:,} rows over 0 to 100, medians of {asked.draws} draws. "
        + "; ".join(f"{name}: {law}" for name, law in SHAPES.items())
        + ".",
        "",
        *table(head, rows),
    ]


if __name__ == "__main__":
    main()
