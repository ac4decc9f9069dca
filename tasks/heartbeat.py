"""Keeping a lease alive while its run works, and telling the run when another has taken it over.

A lease is short, so that a dead worker is noticed soon; a thread of the living one renews it.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from trasgo_lib.errors import ConflictError, StoreError
from trasgo_lib.records import Lease

RENEW_SECONDS = 20.0
"""Five renewals fit into a lease, so that a busy machine or a server that restarts does not lose it."""


class HeldLease:
    """A lease that a thread renews; made by :func:`kept_alive`."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._lost: ConflictError | None = None

    def require(self) -> None:
        """Stop when another run has taken the lease over.

        Raises:
            ConflictError: it has (``LOCKED``); draws are the same whoever makes them, so nothing is spoilt.
        """
        if self._lost is not None:
            raise self._lost.without_counts()

    def renew(self) -> bool:
        """Renew once; says whether it is worth trying again."""
        try:
            self._lease.renew()
        except ConflictError as error:
            self._lost = error
            return False
        except StoreError:
            # the next attempt may reach the database; if none does, the lease ends and the run is told when it charges
            logging.getLogger("trasgo").warning("the lease could not be renewed; the database does not answer")
        return True


@contextmanager
def kept_alive(leased: AbstractContextManager[Lease], renew_seconds: float = RENEW_SECONDS) -> Iterator[HeldLease]:
    """Hold a lease and renew it until the block ends.

    Args:
        leased: the lease, not yet taken.
        renew_seconds: time between renewals, in seconds.
    """
    with leased as lease:
        held, over = HeldLease(lease), threading.Event()

        def beat() -> None:
            while not over.wait(renew_seconds) and held.renew():
                continue

        # a daemon: a run that ends without leaving the block must not be kept alive by its own heartbeat
        thread = threading.Thread(target=beat, name="trasgo-lease", daemon=True)
        thread.start()
        try:
            yield held
        finally:
            over.set()
            thread.join()


def may_be_alive(holder: str) -> bool:
    """Whether the process that a lease names can still be running; only this host's processes can be judged."""
    host, pid, *_ = holder.split(" ")
    if host != socket.gethostname():
        return True
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return True
