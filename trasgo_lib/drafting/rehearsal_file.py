"""The release file of a rehearsal: the real one on made-up rows, in a place, with a key and a ledger of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trasgo_lib.config import LoadedConfig, PriorFile
from trasgo_lib.drafting.made_up_rows import DAY_FORMAT
from trasgo_lib.plan import ReleasePlan
from trasgo_lib.plan.rules import REHEARSALS
from trasgo_lib.storage import local_root

TITLE = "REHEARSAL on made-up rows: "
"""Begins the title, and so whatever shows one."""

ROWS_FILE = "rows.csv"
KEY_FILE = "office/wrapping.key"
_KEPT_OF_CSV = ("missing", "trim")
_KEPT_OF_PUBLISH = ("formats", "rows_per_batch")


def rehearsals_folder(plan: ReleasePlan, here: Path) -> Path:
    """Where rehearsals are kept: in the restricted root when it is a folder, else here; never in the public root.

    Args:
        plan: the plan of the real release.
        here: the working folder.
    """
    restricted = local_root(plan.restricted_root)
    return (here if restricted is None else restricted) / REHEARSALS


def rehearsal_text(loaded: LoadedConfig) -> str:
    """The derived file, as JSON, which YAML holds. It stands in a folder of rehearsals beside its rows and its key.

    Nothing of the real office is in it: no key, no ledger, no bucket, no approval. It publishes on any losses, since
    those of made-up rows say little of real ones, and it is never signed.

    Args:
        loaded: the release file, which compiles.
    """
    config = loaded.config
    document: dict[str, Any] = config.model_dump(mode="json", exclude_unset=True)
    document["rehearsal"] = True
    document["release"] = {
        **{key: value for key, value in document["release"].items() if key != "supersedes"},
        "title": TITLE + config.release.title,
    }
    csv = document["source"].get("csv", {})
    document["source"] = {
        "path": ROWS_FILE,
        "format": "csv",
        "csv": {key: csv[key] for key in _KEPT_OF_CSV if key in csv},
    }
    for column in document["columns"]:
        if column.get("type") == "date":
            column["format"] = DAY_FORMAT
        if column.get("type") == "point":
            column["outside"] = "clip"  # the centre of a cell that the box cuts may lie outside the box
    if isinstance(config.prior, PriorFile):
        document["prior"] = {"file": str(loaded.resolve(config.prior.file))}
    document["loop"] = {**document.get("loop", {}), "on_unmet": "publish"}
    kept = {key: value for key, value in document["publish"].items() if key in _KEPT_OF_PUBLISH}
    document["publish"] = {"store": ".", "sign": "none", **kept}
    document["keys"] = {"file": KEY_FILE}
    document.pop("ledger", None)
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
