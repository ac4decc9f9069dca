"""An office that has published version 1: a test that only goes on from there takes a copy and runs nothing once more.

Versions that wait cannot be copied so: their terms of publication, with the place of the public root, are on record.
"""

from __future__ import annotations

import shutil
from functools import cached_property
from pathlib import Path

import pytest
from fixed_secrets import fix_secrets
from office import Office

from tasks.session import open_session


class FirstRun:
    """Publishes version 1 once in this process of the tests, and brings other offices to that state.

    Args:
        folder: where the original lies, in which no test works.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def bring(self, office: Office) -> Office:
        """Put an office in which nothing was done yet to where version 1 is published; the same office is returned."""
        shutil.copytree(self._original, office.folder, symlinks=True, dirs_exist_ok=True)
        office.ran_in = self._original
        return office

    @cached_property
    def _original(self) -> Path:
        office = Office(self._folder)
        with pytest.MonkeyPatch.context() as patch:
            # not the running test's secrets: which test asks first depends on how files are shared out
            fix_secrets(patch.setattr, "first run")
            office.open()
            answer = office.run("--quiet")
        assert answer.exit_code == 0, answer.text
        open_session.cache_clear()  # nothing holds its database any more
        return self._folder
