"""No cell of a refused source stands in any error, report, log or file: a unique value is put where it hurts."""

from __future__ import annotations

import json
import pickle
import traceback

import pyarrow as pa
import pytest

from trasgo_lib.data import BoxDomain, CategoryDomain, ColumnReading, DateDomain, NumberDomain, refused_report

CANARY = "ZQcanary7731"
NUMBER = "773100917355"
AGE = NumberDomain("0", "120")
DAYS = DateDomain("2017-01-01", "2017-12-31")
LABELS = CategoryDomain(["a", "b"])
BOX = BoxDomain(box=["41.6", "-87.9", "42.1", "-87.5"], crs="EPSG:3435", step_m="1000")


def _column(name, kind, domain=None, **options):
    return ColumnReading(name, options.pop("sources", (name,)), kind, domain, **options)


X, P = _column("x", "number", AGE), _column("p", "text", role="public")
WHO = _column("who", "text", role="unit")
DAY = _column("d", "date", DAYS, date_format="%d/%m/%Y")

CASES = {
    "not a number": (f"x\n1\n{CANARY}\n", (X,), {}),
    "malformed thousands": (f"x\n1\n{NUMBER[:5]},{NUMBER[5:]}\n", (X,), {"thousands": ",", "delimiter": ";"}),
    "number outside": (f"x\n1\n{NUMBER}\n", (X,), {}),
    "label outside": (f"x\na\n{CANARY}\n", (_column("x", "category", LABELS),), {}),
    "not a date": (f"d\n01/01/2017\n{CANARY}\n", (DAY,), {}),
    "a date without format": (f"d\n{CANARY}\n", (_column("d", "date", DAYS),), {}),
    "point outside": (
        "lat,lon\n41.773100917355,20.0\n",
        (_column("pt", "point", BOX, sources=("lat", "lon")),),
        {},
    ),
    "point out of range": (
        f"lat,lon\n41.8,{NUMBER}\n",
        (_column("pt", "point", BOX, sources=("lat", "lon"), outside="clip"),),
        {},
    ),
    "not finite": (f"x,p\ninf,{CANARY}\n", (X, P), {}),
    "missing": (f"x,p\n,{CANARY}\n", (X, P), {}),
    "too many fields": (f"x,p\n1,2,{CANARY}\n", (X, P), {}),
    "too few fields": (f"x,p\n{CANARY}\n", (X, P), {}),
    "open quote": (f'x,p\n1,"{CANARY}\n2,b\n', (X, P), {}),
    "long record": (f'x,p\n1,"{CANARY}' + "\n" * (9 << 20) + '"\n', (X, P), {}),
    "bad byte": (f"x,p\n1,{CANARY}".encode() + b"\xff\n", (X, P), {}),
    "bad byte late": (b"x,p\n" + f"1,{CANARY}\n".encode() * 200_000 + b"\xff\n", (X, P), {}),
    "odd bytes in utf-16": (f"x,p\n1,{CANARY}\n".encode("utf-16") + b"\xff", (X, P), {"encoding": "utf-16"}),
    "no header": (f"1,{CANARY}\n2,b\n", (X, P), {}),
    "header where none is declared": (f"{CANARY},b,c\n", (X, P), {"header": False}),
    "one cell is a declared name": (f"x,{CANARY},c,d\n", (X, P), {}),
    "too many rows": (f"who,x\n{CANARY},1\n{CANARY},2\n", (WHO, X), {"privacy_unit": "who"}),
    "missing unit": (f"who,x,p\n,1,{CANARY}\n", (WHO, X, P), {"privacy_unit": "who"}),
    "duplicate name": (f"x,x\n{CANARY},1\n", (X,), {}),
    "extra column": (f"x,more\n1,{CANARY}\n", (X,), {}),
    "missing column": (f"x\n{CANARY}\n", (X, P), {}),
    "blank line in one column": (f"p\n{CANARY}\n\n", (P,), {}),
    "parquet text": (pa.table({"x": [CANARY]}), (X,), {}),
    "parquet label": (pa.table({"x": [CANARY]}), (_column("x", "category", LABELS),), {}),
    "parquet dictionary": (
        pa.table({"x": pa.array([CANARY]).dictionary_encode()}),
        (_column("x", "category", LABELS),),
        {},
    ),
    "parquet nested": (pa.table({"x": [[CANARY]]}), (_column("x", "category", LABELS),), {}),
    "parquet date": (pa.table({"d": [CANARY]}), (DAY,), {}),
    "no parquet": (CANARY.encode() * 10, (X,), {"format": "parquet"}),
}


@pytest.mark.parametrize("name", CASES)
def test_no_cell_of_a_refused_source_is_seen_anywhere(ingest, name, caplog, capfd):
    caplog.set_level(0)
    content, columns, options = CASES[name]
    error = ingest.refused(content, *columns, **options)
    chain, seen = error, []
    while chain is not None:
        seen += [str(chain), repr(chain), repr(chain.args)]
        chain = chain.__cause__ or chain.__context__
    seen += [
        "".join(traceback.format_exception(error)),
        json.dumps(refused_report(error), allow_nan=False),
        str(error.without_counts()),
        caplog.text,
        *capfd.readouterr(),
    ]
    texts = [text.encode() for text in seen] + [pickle.dumps(error)]
    for needle in (CANARY, NUMBER, NUMBER[5:], "773100917355"):
        assert not any(needle.encode() in text for text in texts)
        assert not any(needle.encode("utf-16-le") in text for text in texts)
    assert error.__cause__ is None
    assert error.__context__ is None
    assert [path.name for path in ingest.folder.iterdir()] == ["source"]
    assert pickle.loads(pickle.dumps(error)).faults == error.faults


def test_the_search_finds_a_canary_that_is_there(ingest):
    """The negative control: a name that may be shown is found by the same search."""
    error = ingest.refused(f"x,p,{CANARY}\n1,2,3\n", X, P)
    assert CANARY in str(error)
    assert CANARY.encode() in pickle.dumps(error)
