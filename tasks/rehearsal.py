"""A throw-away office for a rehearsal: folder, key and ledger of its own, gone when it ends."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.version_life import now
from trasgo_lib.budget import Cost
from trasgo_lib.config import LoadedConfig
from trasgo_lib.drafting.made_up_rows import MadeUpRows, write_rows
from trasgo_lib.drafting.rehearsal_file import KEY_FILE, ROWS_FILE, rehearsal_text
from trasgo_lib.keys import WrappingKey, digest_key_context, new_secret
from trasgo_lib.plan import ReleasePlan, read_plan
from trasgo_lib.records import AccountTerms, Records
from trasgo_lib.release import release_prefix

CONFIG = "release.yaml"
PACKAGE, EVIDENCE = "package", "evidence"
"""What is kept: the files as a release would publish them, and those that would stay restricted."""

_PRIVATE = 0o700


@contextmanager
def throw_away_folder(rehearsals: Path) -> Iterator[Path]:
    """A private folder among the rehearsals; removed at the end, whatever happens.

    Args:
        rehearsals: the folder that holds all rehearsals; made when absent.
    """
    rehearsals.mkdir(parents=True, exist_ok=True, mode=_PRIVATE)
    folder = Path(tempfile.mkdtemp(prefix=".at-work-", dir=rehearsals))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def set_up(folder: Path, loaded: LoadedConfig, plan: ReleasePlan, rows: MadeUpRows, actor: str) -> Path:
    """Write rows and derived release file, make a key, open an account that can pay for everything.

    Args:
        folder: the throw-away folder.
        loaded: the real release file.
        plan: its plan.
        rows: the made-up rows.
        actor: who rehearses.

    Returns:
        The derived release file.
    """
    write_rows(folder / ROWS_FILE, plan, rows)
    config = folder / CONFIG
    config.write_text(rehearsal_text(loaded), encoding="utf-8")
    _, derived = read_plan(config)
    key = WrappingKey.generate(os.urandom)
    (folder / KEY_FILE).parent.mkdir(mode=_PRIVATE)
    key.write_file(folder / KEY_FILE)
    records = Records.open(Path(derived.restricted_root) / ".trasgo" / "ledger.db")
    cap = Cost(derived.epsilon_total, derived.delta_total, derived.geo_total)
    terms = AccountTerms(derived.account, "made-up rows", derived.privacy_unit, derived.max_rows, "basic", cap)
    secret = key.wrap(new_secret(os.urandom), digest_key_context(derived.account), os.urandom)
    records.open_account(terms, secret, actor, now())
    return config


def keep(folder: Path, rehearsals: Path, plan: ReleasePlan) -> Path:
    """Move what the run made to its place, over an earlier rehearsal of the same version.

    Args:
        folder: the throw-away folder, after the run.
        rehearsals: the folder that holds all rehearsals.
        plan: the plan.

    Returns:
        The folder of this rehearsal.
    """
    prefix = release_prefix(plan.dataset, plan.version)
    kept = folder / "kept"
    kept.mkdir(mode=_PRIVATE)
    for root, name in (("public", PACKAGE), ("restricted", EVIDENCE)):
        (folder / root / prefix).rename(kept / name)
    place = rehearsals / prefix
    place.parent.mkdir(exist_ok=True, mode=_PRIVATE)
    if place.exists():
        place.rename(folder / "before")
    kept.rename(place)
    return place
