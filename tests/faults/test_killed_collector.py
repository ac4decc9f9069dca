"""The collector is killed while it works: every report that was acknowledged is counted once, and no other."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from collector import Collection, Service, batch, send_until_answered, this_window

_CLIENTS = 16
_REPORTS = 5


@pytest.mark.parametrize("batches", [120, pytest.param(2000, marks=pytest.mark.long)])
def test_every_acknowledged_report_is_counted_once(tmp_path: Path, batches: int) -> None:
    """Killed twice, after a third and two thirds of the acknowledgements; clients send until they are answered."""
    window, declared = this_window()
    collection = Collection(tmp_path, window=declared)
    token, version = collection.prepare(), collection.version
    service = Service.start(collection)
    acknowledged: list[int] = []
    replayed: list[int] = []
    passed = {share: threading.Event() for share in (batches // 3, 2 * batches // 3)}

    def client(number: int) -> None:
        devices = range(number * _REPORTS, (number + 1) * _REPORTS)
        body = batch(version, window, f"batch-{number:016d}", devices)
        reply = send_until_answered(service.port, body, token)
        assert reply["accepted"] == _REPORTS and not reply["refused"]
        acknowledged.append(number)
        replayed.extend([number] if reply["replayed"] else [])
        for share, event in passed.items():
            if len(acknowledged) >= share:
                event.set()

    with ThreadPoolExecutor(_CLIENTS) as clients:
        sent = [clients.submit(client, number) for number in range(batches)]
        for event in passed.values():
            assert event.wait(240)
            service.kill()
            service = Service.start(collection, service.port)
        for one in sent:
            one.result()
    # a batch whose acknowledgement was lost, sent again to a service that was started since
    again = send_until_answered(service.port, batch(version, window, f"batch-{0:016d}", range(_REPORTS)), token)
    assert again == {"accepted": _REPORTS, "refused": {}, "replayed": True}
    code, said = service.stop()
    assert code == 0 and "Stopped" in said, said
    log = collection.session.journal().read(window)
    assert sorted(acknowledged) == list(range(batches))
    assert log.accepted == batches * _REPORTS == len(log.devices)
    assert len(log.batches) == batches and not log.refused
