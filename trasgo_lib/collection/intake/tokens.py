"""Who may send: one token a client group, of which only a digest is stored; and how often a group may send."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from trasgo_lib.errors import ConfigError, Reason

_GROUP = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TOKEN_BYTES = 32


@dataclass(frozen=True, slots=True)
class ClientGroups:
    """The groups that may send.

    Args:
        digests: SHA-256 of each group's token, by group. A token has 256 random bits, so its digest tells nothing.
    """

    digests: dict[str, bytes] = field(repr=False)

    @classmethod
    def parse(cls, text: bytes, where: str) -> ClientGroups:
        """Read the token file.

        Args:
            text: strict JSON: ``{"format": 1, "groups": {"NAME": "SHA-256 of its token, hex"}}``.
            where: how an error names the file.

        Raises:
            ConfigError: anything else, or no group.
        """
        try:
            document = json.loads(text)
            groups = dict(document["groups"]) if document["format"] == 1 else {}
            sound = all(_GROUP.fullmatch(name) and _SHA256.fullmatch(digest) for name, digest in groups.items())
        except (ValueError, KeyError, TypeError):
            groups, sound = {}, False
        if not groups or not sound:
            raise ConfigError.of(
                Reason.KEY_UNUSABLE,
                where,
                required="what `trasgo collect token` writes",
                came="something else",
                fix="Make a token for each client group: trasgo collect token GROUP.",
            )
        return cls({name: bytes.fromhex(digest) for name, digest in groups.items()})

    def group_of(self, token: str) -> str | None:
        """The group of a token, or None; takes the same time whichever it is.

        Args:
            token: secret, as it came.
        """
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        found = None
        for name, known in self.digests.items():
            if hmac.compare_digest(digest, known):
                found = name
        return found

    def with_token(self, group: str, random: Callable[[int], bytes]) -> tuple[ClientGroups, str]:
        """The same groups and a new token for one of them, which replaces the one it had.

        Args:
            group: its name.
            random: returns that many random bytes.

        Returns:
            The groups, and the token; secret, to be shown once.

        Raises:
            ConfigError: a name that is none.
        """
        if not _GROUP.fullmatch(group):
            required = "1 to 63 of a-z, 0-9, _ and -, beginning with a letter or digit"
            raise ConfigError.of(
                Reason.BAD_SHAPE, "client group", required=required, came=repr(group), fix="Rename it."
            )
        token = random(_TOKEN_BYTES).hex()
        return ClientGroups(self.digests | {group: hashlib.sha256(token.encode()).digest()}), token

    def to_bytes(self) -> bytes:
        """The token file."""
        groups = {name: digest.hex() for name, digest in sorted(self.digests.items())}
        return (json.dumps({"format": 1, "groups": groups}, indent=2) + "\n").encode()


@dataclass(slots=True)
class TokenBucket:
    """How often a group may send: so many batches a second on average, with bursts.

    Args:
        per_second: refilled each second.
        burst: most at once.
        level: what is left.
        at: when that was, in seconds of the caller's clock.
    """

    per_second: float
    burst: float
    level: float
    at: float

    def take(self, now: float) -> float:
        """Take one; returns 0.0, or the seconds to wait when there is none.

        Args:
            now: seconds of the caller's clock.
        """
        self.level = min(self.burst, self.level + max(0.0, now - self.at) * self.per_second)
        self.at = now
        if self.level >= 1:
            self.level -= 1
            return 0.0
        return (1 - self.level) / self.per_second
