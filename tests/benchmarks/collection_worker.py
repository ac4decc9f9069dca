"""One peer of the collection benchmark, in an environment of its own.

    PYTHON collection_worker.py PEER D SECONDS

For ``PEER`` (``pure-ldp``, ``multi-freq-ldpy`` or ``ldp-toolbox``) and ``D`` slots at epsilon 2: reports a second of
processor time, by client and by server (counts and estimates of all slots), for randomised response and the optimised
unary code, as one JSON object. Each figure comes from as many reports as fit ``SECONDS``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

EPSILON = 2.0
Client = Callable[[Any], Any]
Server = Callable[[Any], Any]


def _pure_ldp(d: int) -> dict[str, tuple[Client, Server]]:
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    def index(value: int) -> int:
        return value

    def server(made: Any) -> Server:
        def count(reports: Any) -> Any:
            made.reset()
            for report in reports:
                made.aggregate(report)
            return made.estimate_all(range(d))

        return count

    de, ue = DEClient(EPSILON, d, index), UEClient(EPSILON, d, use_oue=True, index_mapper=index)
    return {
        "grr": (lambda data: [de.privatise(x) for x in data], server(DEServer(EPSILON, d, index))),
        "oue": (
            lambda data: [ue.privatise(x) for x in data],
            server(UEServer(EPSILON, d, use_oue=True, index_mapper=index)),
        ),
    }


def _multi_freq(d: int) -> dict[str, tuple[Client, Server]]:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    return {
        "grr": (
            lambda data: np.array([GRR_Client(x, d, EPSILON) for x in data]),
            lambda reports: GRR_Aggregator_MI(reports, d, EPSILON),
        ),
        "oue": (
            lambda data: [UE_Client(x, d, EPSILON, True) for x in data],
            lambda reports: UE_Aggregator_MI(reports, EPSILON, True),
        ),
    }


def _toolbox(d: int) -> dict[str, tuple[Client, Server]]:
    from ldp_toolbox.protocols.frequency.grr import GeneralizedRandomizedResponse
    from ldp_toolbox.protocols.frequency.ue import UnaryEncoding

    grr, ue = GeneralizedRandomizedResponse(d, EPSILON), UnaryEncoding(d, EPSILON, True)
    return {
        "grr": (lambda data: np.array([grr.obfuscate(x) for x in data]), grr.estimate),
        "oue": (lambda data: [ue.obfuscate(x) for x in data], ue.estimate),
    }


PEERS = {"pure-ldp": _pure_ldp, "multi-freq-ldpy": _multi_freq, "ldp-toolbox": _toolbox}


def _rate(work: Callable[[], Any], items: int) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return items / max(1e-9, time.process_time() - start), found


def measure(peer: str, d: int, seconds: float) -> dict[str, float]:
    """Reports a second of processor time."""
    found = {}
    for name, (client, server) in PEERS[peer](d).items():
        data = np.random.default_rng(1).integers(0, d, 4_000_000).tolist()
        client(data[:20])  # compiles
        rate, _ = _rate(lambda client=client, data=data: client(data[:200]), 200)  # type: ignore[misc]
        items = int(min(len(data), max(200, rate * seconds), 2e9 / (d if name == "oue" else 8) / 8))
        found[f"{name} client"], reports = _rate(lambda c=client, n=items, x=data: c(x[:n]), items)  # type: ignore[misc]
        server(reports[:100])
        found[f"{name} server"], _ = _rate(lambda s=server, r=reports: s(r), items)  # type: ignore[misc]
    return found


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))))
