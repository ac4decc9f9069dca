"""A worker that outlives runs: what it kept of one is held against the ledger before it draws."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from office import Office
from test_draws import ref_of

import tasks.kept_session
from tasks.draw import Draw, draw_unit
from tasks.ingest import ingest
from tasks.session import RunRef, Session, open_session
from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import PrivateCodes, read_codes
from trasgo_lib.errors import ConflictError, Reason


@pytest.fixture
def begun(office: Office) -> tuple[Office, RunRef, Session, PrivateCodes]:
    """A run that has read its source, and the session that this process keeps of it."""
    office.open()
    ref = ref_of(office)
    table = ingest.fn(ref)
    return office, ref, open_session(ref), table.unit("sex")


DRAW = Draw("sex", Epsilon.parse("1"), 1, Epsilon(0))


def _bits(ref: RunRef, codes: PrivateCodes) -> str:
    return hashlib.sha256(read_codes(draw_unit.fn(ref, codes, DRAW)).tobytes()).hexdigest()


class _Opener:
    """What a process kept, and what it opens once that is forgotten."""

    def __init__(self, kept: Session, anew: Session) -> None:
        self._session, self._anew = kept, anew

    def __call__(self, ref: RunRef) -> Session:
        return self._session

    def cache_clear(self) -> None:
        self._session = self._anew


def test_a_rotated_key_is_read_again(
    begun: tuple[Office, RunRef, Session, PrivateCodes], monkeypatch: pytest.MonkeyPatch
) -> None:
    office, ref, kept, codes = begun
    before = _bits(ref, codes)
    answer = office.trasgo("key", "rotate", str(office.config))
    assert answer.exit_code == 0, answer.text
    with pytest.raises(ConflictError) as caught:
        kept.stream("draw")
    assert caught.value.reason is Reason.ROOT_LOST, "the key that was kept opens nothing any more"
    monkeypatch.setattr(tasks.kept_session, "open_session", _Opener(kept, open_session(ref)))
    assert _bits(ref, codes) == before


def test_a_destroyed_root_ends_the_draws(
    begun: tuple[Office, RunRef, Session, PrivateCodes], monkeypatch: pytest.MonkeyPatch
) -> None:
    office, ref, kept, codes = begun
    _bits(ref, codes)
    config = str(office.config)
    arguments = ("key", "destroy", "people/1", "--config", config, "--reason", "a trial", "--yes", "--force-unfinished")
    answer = office.trasgo(*arguments)
    assert answer.exit_code == 0, answer.text
    monkeypatch.setattr(tasks.kept_session, "open_session", _Opener(kept, kept))
    kept.digest_key()  # kept, and of no use without the root
    with pytest.raises(ConflictError) as caught:
        draw_unit.fn(ref, codes, DRAW)
    assert caught.value.reason is Reason.ROOT_LOST


def test_a_plan_that_was_kept_from_other_files_is_compiled_anew(
    begun: tuple[Office, RunRef, Session, PrivateCodes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a worker would charge and draw a channel that the release does not publish."""
    _, ref, kept, codes = begun
    stale = replace(kept, plan=replace(kept.plan, digest="0" * 64))
    monkeypatch.setattr(tasks.kept_session, "open_session", _Opener(stale, kept))
    assert tasks.kept_session.session_for_draw(ref) is kept
    monkeypatch.setattr(tasks.kept_session, "open_session", _Opener(stale, stale))
    with pytest.raises(ConflictError) as caught:
        draw_unit.fn(ref, codes, DRAW)
    assert caught.value.reason is Reason.PLAN_CHANGED
    assert kept.spent().is_zero and not Path(kept.work / "draw").exists()
