"""A proxy before an S3 server that loses replies, refuses, hangs, or forgets conditions, as a test plans it."""

from __future__ import annotations

import contextlib
import http.client
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit

from s3_server import S3Server


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes = field(repr=False)


Action = str | tuple[int, str]
"""``pass``, ``lose`` (do it, say nothing), ``drop`` (do not even do it), ``hang``, ``overwrite`` (do it without its
condition), or a status and an error code to answer with."""

Plan = Callable[[Asked], Action]


@dataclass
class FaultyS3:
    """The proxy.

    Args:
        endpoint: its address.
        plan: decides about each request; may be set anew at any time.
        asked: every request so far.
        released: lets hanging requests go.
    """

    endpoint: str
    plan: Plan = lambda asked: "pass"
    asked: list[Asked] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def fail_first(self, count: int, action: Action, *, method: str = "PUT", ends: str = "") -> None:
        """Do this to the first requests of a kind, and pass all others."""
        left = [count]

        def plan(asked: Asked) -> Action:
            if left[0] and asked.method == method and asked.path.endswith(ends) and ".trasgo" not in asked.path:
                left[0] -= 1
                return action
            return "pass"

        self.plan = plan

    def of(self, method: str, ends: str) -> list[Asked]:
        """The requests of a method whose path ends so."""
        return [asked for asked in self.asked if asked.method == method and asked.path.endswith(ends)]


@contextlib.contextmanager
def faulty_s3(server: S3Server) -> Iterator[FaultyS3]:
    """Run a proxy before a server on a free port of loopback."""
    state = FaultyS3("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: object) -> None:
            pass

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            query = dict(parse_qsl(parts.query, keep_blank_values=True))
            asked = Asked(self.command, unquote(parts.path), query, headers, body)
            state.asked.append(asked)
            self._act(state.plan(asked), asked)

        def _act(self, action: Action, asked: Asked) -> None:
            if isinstance(action, tuple):
                status, code = action
                body = b"" if self.command == "HEAD" else f"<Error><Code>{code}</Code></Error>".encode()
                self._answer(status, {"content-type": "application/xml"}, body)
            elif action == "overwrite":
                status, answer = server.request(self.command, asked.path, asked.query, asked.body)
                self._answer(status, {"etag": '"overwritten"'}, answer)
            elif action == "pass":
                self._answer(*self._forward(asked))
            else:
                if action == "lose":
                    self._forward(asked)
                if action == "hang":
                    state.released.wait(60)
                self.close_connection = True

        def _forward(self, asked: Asked) -> tuple[int, dict[str, str], bytes]:
            connection = http.client.HTTPConnection(urlsplit(server.endpoint).netloc, timeout=120)
            with contextlib.closing(connection):
                connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    connection.putheader(name, value)
                connection.endheaders(asked.body or None)
                answer = connection.getresponse()
                return answer.status, dict(answer.getheaders()), answer.read()

        def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            length = {name.lower(): value for name, value in headers.items()}.get("content-length", str(len(body)))
            self.send_response_only(status)
            for name, value in headers.items():
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", length if self.command == "HEAD" else str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _serve  # noqa: N815 names of the base class

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as proxy:
        proxy.daemon_threads = True
        state.endpoint = f"http://127.0.0.1:{proxy.server_address[1]}"
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        try:
            yield state
        finally:
            state.released.set()
            proxy.shutdown()
            thread.join()
