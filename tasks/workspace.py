"""The work folder of one run: private files, mode 0600, removed after publication."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trasgo_lib.errors import Fault, InputContractError, Reason

INPUT_REPORT = "input_report.json"
INPUT_FAULTS = "input_faults.json"
LOSSES = "losses.json"
ESTIMATES = "estimates.json"
COMPARISON = "comparison.json"
RISK = "risk.json"


@dataclass(frozen=True, slots=True)
class Workspace:
    """Small restricted documents between stages; codes are stored by ``trasgo_lib.data``.

    Args:
        folder: the work folder; made with mode 0700 when absent.
    """

    folder: Path

    def write_json(self, name: str, document: Mapping[str, Any]) -> None:
        """Write a document, replacing an earlier one whole."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = self.folder / f"{name}.partial"
        partial.unlink(missing_ok=True)
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(document, stream, allow_nan=False, ensure_ascii=False, indent=2)
        partial.replace(self.folder / name)

    def read_json(self, name: str) -> dict[str, Any] | None:
        """A document written earlier, or None."""
        path = self.folder / name
        if not path.exists():
            return None
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return document

    def write_faults(self, error: InputContractError) -> None:
        """Keep what is wrong with the source, counts included, for the person who runs it."""
        self.write_json(INPUT_FAULTS, {"faults": [asdict(fault) for fault in error.faults]})

    def read_faults(self) -> InputContractError | None:
        """The faults kept by the last run that was refused, or None."""
        document = self.read_json(INPUT_FAULTS)
        if document is None:
            return None
        return InputContractError(
            *(Fault(**{**fault, "reason": Reason(fault["reason"])}) for fault in document["faults"])
        )

    def clear_faults(self) -> None:
        """Forget the faults of an earlier run."""
        (self.folder / INPUT_FAULTS).unlink(missing_ok=True)
