"""A collection in a folder, its service as a process of its own, and clients that send until they are answered."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from office import Answer
from ruamel.yaml import YAML
from typer.testing import CliRunner

from flows.cli import app
from tasks.collection_session import CollectionSession, collection_of, open_collection
from trasgo_lib.collection import Version
from trasgo_lib.noise import Keystream

ROOT = Path(__file__).resolve().parents[2]

COLLECTION: dict[str, Any] = {
    "format": 1,
    "release": {"dataset": "heat", "version": "1", "title": "Made-up devices"},
    "area": {"box": ["41.64", "-87.94", "42.02", "-87.52"]},
    "resolutions": [5],
    "channel": {"mechanism": "auto", "epsilon": "2"},
    "window": {"first_day": "2026-01-05", "days": 7, "late_days": 3},
    "device": {"daily_epsilon": "2", "lifetime_epsilon": "52"},
    "collector": {"batches_per_second": 100000, "burst": 100000},
    "publish": {"store": "store"},
}


class Collection:
    """One collection; every call of the command is like a new process to our own code."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        self.folder, self.home, self.config = folder, folder / "home", folder / "collection.yaml"
        self.actor = "ana"
        self.file: dict[str, Any] = json.loads(json.dumps(COLLECTION)) | changes
        self.write()

    def write(self) -> None:
        """Write the collection file."""
        with self.config.open("w", encoding="utf-8") as stream:
            YAML(typ="safe").dump(self.file, stream)

    @property
    def session(self) -> CollectionSession:
        """The collection, opened."""
        return open_collection(self.config, self.home)[1]

    @property
    def version(self) -> Version:
        """How devices report, at the finest resolution."""
        return self.session.plan.current[-1]

    def public(self, window: str) -> Path:
        """Folder of a window's public files."""
        return self.folder / "store" / "public" / "heat" / f"{window}.1"

    def restricted(self, window: str) -> Path:
        """Folder of a window's restricted files."""
        return self.folder / "store" / "restricted" / "heat" / f"{window}.1"

    def trasgo(self, *arguments: str) -> Answer:
        """Run the command."""
        collection_of.cache_clear()
        result = CliRunner(env={"TRASGO_HOME": str(self.home), "TRASGO_ACTOR": self.actor}).invoke(app, list(arguments))
        return Answer(result.exit_code, result.stdout, result.stderr)

    def prepare(self) -> str:
        """Make every key, and the token of one client group; returns the token."""
        for arguments in (("key", "init", "--if-absent"), ("collect", "key")):
            made = self.trasgo(*arguments)
            assert made.exit_code == 0, made.text
        made = self.trasgo("collect", "token", "android")
        assert made.exit_code == 0, made.text
        return made.out.strip()


def this_window() -> tuple[str, dict[str, Any]]:
    """A window that takes reports today, and how a collection file declares it."""
    first = (datetime.now(UTC).date() - timedelta(days=1)).isoformat()
    return first, {"first_day": first, "days": 30, "late_days": 3}


def pseudonym(device: int) -> str:
    """A made-up device's name in a window."""
    return hashlib.sha256(f"device {device}".encode()).hexdigest()[:32]


def batch(version: Version, window: str, name: str, devices: range, slots: np.ndarray | None = None) -> bytes:
    """A batch of reports of these devices, noised under a fixed key.

    Args:
        version: how they report.
        window: its first day.
        name: of the batch.
        devices: their numbers.
        slots: where they are; spread evenly when None.
    """
    where = np.array([device % len(version.alphabet.cells) for device in devices]) if slots is None else slots
    drawn = version.channel.draw(
        where.astype(np.int32), Keystream(b"made-up devices of a test, fixed", window), devices.start
    )
    answers = [row.tobytes().hex() for row in drawn] if version.channel.kind == "bits" else drawn.tolist()
    document = {
        "format": 1,
        "batch": name,
        "alphabet_version": version.tag.alphabet,
        "channel_version": version.tag.channel,
        "window": window,
        "pseudonyms": [pseudonym(device) for device in devices],
        "bits" if version.channel.kind == "bits" else "slots": answers,
    }
    return json.dumps(document).encode()


@dataclass
class Service:
    """``trasgo collect serve`` as a process."""

    process: subprocess.Popen[str]
    port: int

    @classmethod
    def start(cls, collection: Collection, port: int = 0) -> Service:
        """Start it and wait until it takes batches."""
        command = [sys.executable, "-c", "from flows.cli import main; main()", "collect", "serve"]
        environment = {**os.environ, "TRASGO_HOME": str(collection.home), "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            [*command, str(collection.config), "--port", str(port)],
            stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        assert found is not None, line + process.stderr.read()
        return cls(process, int(found[1]))

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def stop(self) -> tuple[int, str]:
        """End it as a scheduler does; its exit code and what it said."""
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said


def send(port: int, body: bytes, token: str, headers: dict[str, str] | None = None) -> tuple[int, dict[str, Any]]:
    """One request.

    Raises:
        OSError: the service is not there, or went away before it answered.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        own = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request("POST", "/v1/batches", body, own | (headers or {}))
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    except http.client.HTTPException as error:
        raise ConnectionError(type(error).__name__) from None
    finally:
        connection.close()


def send_until_answered(port: int, body: bytes, token: str, seconds: float = 240) -> dict[str, Any]:
    """Send a batch again and again until it is acknowledged, as clients do."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            status, reply = send(port, body, token)
        except OSError:
            time.sleep(0.05)
            continue
        if status == 200:
            return reply
        assert status in (429, 503), (status, reply)
        time.sleep(0.05)
    raise AssertionError("never acknowledged")


def day_of(window: str) -> date:
    """A window's first day."""
    return date.fromisoformat(window)
