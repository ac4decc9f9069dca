"""Collecting faults while a plan is compiled, so that a user sees all of them at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trasgo_lib.config import KeyPath, LoadedCollection, LoadedConfig, in_file_order
from trasgo_lib.errors import ConfigError, Fault, Reason


@dataclass(slots=True)
class FaultCollector:
    """Faults of one file, each placed at its key.

    Args:
        loaded: the file, for lines and names.
        found: what was found so far.
    """

    loaded: LoadedConfig | LoadedCollection
    found: list[Fault] = field(default_factory=list)

    def add(self, reason: Reason, path: KeyPath, *, required: str, came: str, fix: str) -> None:
        """Note a fault at a key."""
        self.found.append(self.loaded.fault(reason, path, required=required, came=came, fix=fix))

    def take(self, error: ConfigError, path: KeyPath, keys: Mapping[str, KeyPath] | None = None) -> None:
        """Note a lower room's faults.

        Args:
            error: what it raised.
            path: where faults belong that name nothing more exact.
            keys: keys for the names that the lower room uses in ``Fault.where``.
        """
        for fault in error.faults:
            self.found.append(self.loaded.placed(fault, (keys or {}).get(fault.where, path)))

    def raise_all(self) -> None:
        """Raise what was found, in the order of the file.

        Raises:
            ConfigError: when anything was found.
        """
        if self.found:
            raise ConfigError(*in_file_order(self.found))
