"""The collector's process: the server around the app, quiet, until it is told to stop."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvicorn

from flows.collector.desk import Desk

_MOST_CONNECTIONS = 512
_BACKLOG = 2048
_KEEP_ALIVE_SECONDS = 15
_STOP_SECONDS = 30
_HEADER_BYTES = 16 * 1024
_SILENT = logging.CRITICAL + 1
"""The server's own log lines would hold addresses and, of errors, texts."""


def listen(host: str, port: int) -> socket.socket:
    """A socket to serve on; port 0 is any free one.

    Raises:
        OSError: the place is taken or not allowed.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((host, port))
    made.listen(_BACKLOG)  # from now on clients wait instead of being refused
    return made


def serve(app: Any, desk: Desk, at: socket.socket, ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; batches that were taken over are finished first.

    Args:
        app: the service.
        desk: started here, and stopped.
        at: where to listen.
        ready: called with the address before the first request.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level=_SILENT,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        http="h11",
        ws="none",
        h11_max_incomplete_event_size=_HEADER_BYTES,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    desk.start()
    host, port = at.getsockname()[:2]
    ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")
    try:
        # the server hands the signal that stopped it on; being stopped is how a service ends
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[at])
    finally:
        desk.stop()
