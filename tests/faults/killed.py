"""A process of the ``trasgo`` command that kills itself at one point of a run.

The product knows nothing of this: one function is wrapped before the command starts. Roots and clock are fixed as well,
so that a run that was killed and resumed can be held against one that was not, byte for byte.
"""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable
from typing import Any

SECRET = bytes(range(32))
MOMENT = "2030-01-31T12:00:00+00:00"

Patch = Callable[[object, str, object], None]
Wrapped = Callable[..., Any]


def fix_keys_and_clock(patch: Patch) -> None:
    """Give every version the same root and every account the same digest key, at one instant.

    Args:
        patch: ``setattr``, or that of a test's monkeypatch.
    """
    import tasks.session
    import tasks.version_life
    import trasgo_lib.keys

    patch(trasgo_lib.keys, "new_secret", lambda random: SECRET)
    patch(tasks.version_life, "new_secret", lambda random: SECRET)
    for module in (tasks.session, tasks.version_life):
        patch(module, "now", lambda: MOMENT)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _after(body: Wrapped, wanted: Callable[..., bool]) -> Wrapped:
    @functools.wraps(body)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        answer = body(*args, **kwargs)
        if wanted(*args, **kwargs):
            _die()
        return answer

    return wrapped


def _before(body: Wrapped, wanted: Callable[..., bool]) -> Wrapped:
    @functools.wraps(body)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if wanted(*args, **kwargs):
            _die()
        return body(*args, **kwargs)

    return wrapped


def _public(store: Any, key: str, ends: str) -> bool:
    return key.endswith(ends) and "closed" not in store.uri(key)


def _wrap(module: str, name: str, how: Callable[[Wrapped, Callable[..., bool]], Wrapped], wanted: Any) -> None:
    """Wrap a function of a module, or a method where the name is ``Class.method``."""
    holder: Any = __import__(module, fromlist=["_"])
    *classes, last = name.split(".")
    for part in classes:
        holder = getattr(holder, part)
    setattr(holder, last, how(getattr(holder, last), wanted))


def _after_reserve() -> None:
    """The first round is charged, nothing of it is drawn."""
    _wrap("trasgo_lib.records", "Records.reserve_all", _after, lambda *_: True)


def _in_a_draw() -> None:
    """Released codes are in memory and in no file."""
    _wrap("trasgo_lib.data.store_codes", "write_batch", _before, lambda directory, *_: "draw" in directory.parts)


def _before_a_commit() -> None:
    """Every level is drawn and written; that it is stands in the database in a transaction that never ends."""
    wanted = lambda connection, dataset, version, state, *_: str(state) == "drawn"  # noqa: E731
    _wrap("trasgo_lib.records.lifecycle", "transition", _after, wanted)


def _between_two_uploads() -> None:
    """The first of the public files lies there."""
    _wrap("trasgo_lib.storage", "ObjectStore.put_once", _after, lambda store, key, *_: _public(store, key, ".parquet"))


def _before_the_manifest() -> None:
    """Every public file but the manifest lies there."""
    wanted = lambda store, key, *_: _public(store, key, "/manifest.json")  # noqa: E731
    _wrap("trasgo_lib.storage", "ObjectStore.put_once", _before, wanted)


def _after_the_manifest() -> None:
    """The release is public and the database does not know."""
    wanted = lambda store, key, *_: _public(store, key, "/manifest.json")  # noqa: E731
    _wrap("trasgo_lib.storage", "ObjectStore.put_once", _after, wanted)


POINTS: dict[str, Callable[[], None]] = {
    "after reserve": _after_reserve,
    "in a draw": _in_a_draw,
    "before a commit": _before_a_commit,
    "between two uploads": _between_two_uploads,
    "before the manifest": _before_the_manifest,
    "after the manifest": _after_the_manifest,
}


def _answer(key: str, name: str) -> bool:
    return key.endswith(f"/answers/{name}.json")


def _before_the_store() -> None:
    """Every query is charged; the first answer is drawn and lies in memory only."""
    wanted = lambda store, key, *_: _answer(key, "by_sex")  # noqa: E731
    _wrap("trasgo_lib.storage", "ObjectStore.put_once", _before, wanted)


def _between_answers() -> None:
    """One answer in the middle of several is stored."""
    wanted = lambda store, key, *_: _answer(key, "mean_age")  # noqa: E731
    _wrap("trasgo_lib.storage", "ObjectStore.put_once", _after, wanted)


def _between_two_answer_files() -> None:
    """The first of the public files lies there."""
    wanted = lambda store, key, *_: _public(store, key, "answers.json")  # noqa: E731
    _wrap("trasgo_lib.storage", "ObjectStore.put_once", _after, wanted)


QUERY_POINTS: dict[str, Callable[[], None]] = {
    "after reserve": _after_reserve,
    "between reserve and store": _before_the_store,
    "in the middle of several": _between_answers,
    "between store and commit": _before_a_commit,
    "between two uploads": _between_two_answer_files,
    "after the manifest": _after_the_manifest,
    "never": lambda: None,
}
"""The same for ``trasgo query``, whose noise is not keyed: what was drawn and not stored was seen by nobody."""


def _in_a_training() -> None:
    """Everything is charged, and half of the steps are made: weights lie in memory only."""
    _wrap("tasks.train", "_tell", _after, lambda steps, step: step == steps // 2)


def _before_the_model() -> None:
    """The last step is made and the accuracy drawn; nothing of it is stored."""
    _wrap("trasgo_lib.storage", "ObjectStore.put_once", _before, lambda store, key, *_: key.endswith("/1/model.json"))


def _after_the_model() -> None:
    """The model is stored, and the record does not say so yet."""
    _wrap("trasgo_lib.storage", "ObjectStore.put_once", _after, lambda store, key, *_: key.endswith("/1/model.json"))


def _between_two_model_files() -> None:
    """The weights lie at the public root, and no other file."""
    wanted = lambda store, key, *_: _public(store, key, "data/model.json")  # noqa: E731
    _wrap("trasgo_lib.storage", "ObjectStore.put_once", _after, wanted)


TRAINING_POINTS: dict[str, Callable[[], None]] = {
    "after reserve": _after_reserve,
    "in the middle of the steps": _in_a_training,
    "between training and store": _before_the_model,
    "between store and record": _after_the_model,
    "between two uploads": _between_two_model_files,
    "after the manifest": _after_the_manifest,
    "never": lambda: None,
}
"""The same for ``trasgo train``, whose steps are keyed and whose accuracy is not."""


def arm(point: str, verb: str) -> None:
    """Let this process end at a point, under fixed keys and a fixed clock.

    Args:
        point: one of ``POINTS``, or of those of the command where it is ``query`` or ``train``.
        verb: the command.
    """
    fix_keys_and_clock(setattr)
    {"query": QUERY_POINTS, "train": TRAINING_POINTS}.get(verb, POINTS)[point]()
