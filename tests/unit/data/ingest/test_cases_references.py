"""Reported fault B80: frames kept in memory between steps. Here, what steps hand on does not grow with the rows."""

from __future__ import annotations

import pickle

from trasgo_lib.data import CategoryDomain, NumberDomain


def test_b80_what_ingest_hands_on_is_paths_and_digests(ingest, column, public):
    def handed_on(rows: int) -> int:
        content = "x,sex,n\n" + "12,M,some text\n" * rows
        columns = (
            column("x", "number", NumberDomain("0", "60")),
            column("sex", "category", CategoryDomain(["F", "M"])),
        )
        found = ingest(content, *columns, public("n"), rows_per_batch=1 << 18)
        assert found.table.rows == rows
        return len(pickle.dumps(found.table))

    few, many = handed_on(10), handed_on(50_000)
    assert many - few < 200, "row numbers take a few more bytes, and nothing else does"
