"""Roots and their commitments."""

from __future__ import annotations

import os

import pytest

from trasgo_lib.keys import SECRET_BYTES, commitment, new_secret
from trasgo_lib.noise.keystream import derive

ROOT = bytes(range(32))


def test_commitment_is_the_keystreams_subkey_of_its_own_label() -> None:
    assert commitment(ROOT) == derive(ROOT, "commit").hex()


def test_commitment_known_answer() -> None:
    assert commitment(ROOT) == "bcaf9e275ebbbfdd3c3bf7ff0e365c03153d3e14e84b6286922cf0f5920eda02"


def test_commitments_of_two_roots_differ_and_do_not_contain_the_root() -> None:
    assert commitment(ROOT) != commitment(bytes(reversed(ROOT)))
    assert ROOT.hex() not in commitment(ROOT)


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_root_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        commitment(bytes(size))


def test_a_secret_is_what_the_source_returns() -> None:
    assert new_secret(lambda count: ROOT[:count]) == ROOT
    assert len(new_secret(os.urandom)) == SECRET_BYTES


@pytest.mark.parametrize(
    "source", [lambda count: b"", lambda count: ROOT[: count - 1], bytes], ids=["nothing", "one byte short", "zeros"]
)
def test_a_source_that_is_short_or_constant_is_refused(source: object) -> None:
    with pytest.raises(ValueError, match="random"):
        new_secret(source)  # type: ignore[arg-type]
