"""Secrets of the offices in tests: fixed by the test that asks, so that a run that passed passes again."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable

import tasks.version_life
import trasgo_lib.keys


class FixedSecrets:
    """Stands in for ``new_secret`` at its two callers: the n-th secret of a test follows from the test's name and n.

    Args:
        name: stands for the test's name where what is made outlives the test.
    """

    def __init__(self, name: str | None = None) -> None:
        self._name = name
        self._made: Counter[str] = Counter()

    def __call__(self, random: Callable[[int], bytes]) -> bytes:
        """The next 32 bytes of the running test."""
        test = self._name or os.environ["PYTEST_CURRENT_TEST"].rpartition(" (")[0]
        self._made[test] += 1
        return hashlib.sha256(f"{test} {self._made[test]}".encode()).digest()


def fix_secrets(patch: Callable[[object, str, object], None], name: str | None = None) -> None:
    """Let version roots and digest keys made in this process be fixed ones.

    A draw under fresh keys lands outside a sharp limit once in a while; under fixed keys it does so always or never.

    Args:
        patch: ``setattr`` of a test's monkeypatch.
        name: as in :class:`FixedSecrets`.
    """
    secrets = FixedSecrets(name)
    patch(trasgo_lib.keys, "new_secret", secrets)  # the digest key of an account
    patch(tasks.version_life, "new_secret", secrets)  # the root of a version
