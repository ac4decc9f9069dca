"""Verification passes on a sound release and names every kind of tampering, also behind corrected digests."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from trasgo_lib.errors import Reason, StoreError, VerificationError
from trasgo_lib.release import VerificationReport, publish_package, verify_release, withdrawal_bytes
from trasgo_lib.release.verify_claims import verify_channels
from trasgo_lib.storage import ObjectStore, open_store

Json = dict[str, Any]


@pytest.fixture(scope="module")
def published(made: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("public")
    publish_package(made.package, open_store(root), "demo/1")
    return root / "demo" / "1"


@pytest.fixture
def release(published: Path, tmp_path: Path) -> Path:
    """A copy of the release that a test may spoil."""
    return Path(shutil.copytree(published, tmp_path / "copy"))


def edit(path: Path, change: Callable[[Json], object]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document, indent=2) + "\n")


def reseal(release: Path) -> None:
    """Correct every digest, as a forger would: what is left to find is then the content."""
    manifest = json.loads((release / "manifest.json").read_text())
    by_path = {entry["path"]: entry for entry in manifest["files"]}
    lists = ("ro-crate-metadata.json", "SHA256SUMS")
    for path in [path for path in by_path if path.startswith("data/")]:
        before = dict(by_path[path])
        _describe(by_path[path], release)
        _describe_elsewhere(before, by_path[path], release)
    for path in [path for path in by_path if path not in lists]:
        _describe(by_path[path], release)
    crate = json.loads((release / lists[0]).read_text())
    for entity in crate["@graph"]:
        if "sha256" in entity and entity["@id"] in by_path:
            entity["sha256"] = by_path[entity["@id"]]["sha256"]
    (release / lists[0]).write_text(json.dumps(crate, ensure_ascii=False, indent=2) + "\n")
    _describe(by_path[lists[0]], release)
    sums = [f"{entry['sha256']}  {path}\n" for path, entry in sorted(by_path.items()) if path != lists[1]]
    (release / lists[1]).write_text("".join(sums))
    _describe(by_path[lists[1]], release)
    (release / "manifest.json").write_text(json.dumps(manifest, ensure_ascii=False, indent=2) + "\n")


def _describe(entry: Json, release: Path) -> None:
    content = (release / entry["path"]).read_bytes()
    entry.update(sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))


def _describe_elsewhere(before: Json, after: Json, release: Path) -> None:
    """Digest and size of a data file, in the files that describe it."""
    for name in ("csvw.json", "datapackage.json", "dcat.jsonld", "ddi.xml"):
        if not (release / name).exists():
            continue  # without a CSV file there is none about it
        text = (release / name).read_text().replace(before["sha256"], after["sha256"])
        for spelling in ('"bytes": {},', '"@value": "{}"', '"schema:contentSize": "{}"', '<notes type="bytes">{}<'):
            text = text.replace(spelling.format(before["bytes"]), spelling.format(after["bytes"]))
        (release / name).write_text(text)


def failures(report: VerificationReport) -> set[tuple[str, str]]:
    return {(result.name, result.subject) for result in report.failures}


def test_a_sound_release_passes(published: Path) -> None:
    report = verify_release(published)
    assert report.failures == ()
    report.require()
    document = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert document["passed"] is True
    names = {result.name for result in report.results}
    assert {
        "digest",
        "sums",
        "schema",
        "certificate",
        "claim",
        "charged",
        "total",
        "types",
        "values in domain",
    } <= names
    assert "CSV equals Parquet" in names


def test_every_place_is_verified_alike(published: Path, made: Any) -> None:
    memory = open_store("memory:")
    publish_package(made.package, memory, "demo/1")
    root = published.parents[1]
    for location, prefix in (
        (str(published), ""),
        (published.as_uri(), ""),
        (root, "demo/1"),
        (root, "/demo/1/"),
        (memory, "demo/1"),
    ):
        report = verify_release(location, prefix)
        assert report.passed
        assert len(report.results) == len(verify_release(published).results)


def test_resealing_a_sound_release_changes_nothing(release: Path) -> None:
    """Control for the tests below: the forger's helper alone is not what verification finds."""
    reseal(release)
    assert verify_release(release).passed


def test_a_folder_without_manifest_is_not_a_release(release: Path) -> None:
    (release / "manifest.json").unlink()
    report = verify_release(release)
    assert failures(report) == {("manifest", "manifest.json")}
    assert len(report.results) == 1
    with pytest.raises(VerificationError) as caught:
        report.require()
    assert caught.value.exit_code == 8
    assert caught.value.reason is Reason.MISSING_FILE


def test_a_place_that_does_not_exist_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        verify_release(tmp_path / "absent")
    assert not verify_release(tmp_path).passed


@pytest.mark.parametrize(
    "path", ["data/demo.parquet", "data/demo.csv", "channel.json", "statement.json", "report.md", "SHA256SUMS"]
)
def test_one_altered_byte_is_named(release: Path, path: str) -> None:
    content = bytearray((release / path).read_bytes())
    content[len(content) // 2] ^= 1
    (release / path).write_bytes(bytes(content))
    report = verify_release(release)
    assert ("digest", path) in failures(report)
    assert {result.reason for result in report.failures if result.name == "digest"} == {Reason.DIGEST_MISMATCH}


@pytest.mark.parametrize("path", ["data/demo.parquet", "channel.json", "report.md", "SHA256SUMS"])
def test_a_lost_file_is_named(release: Path, path: str) -> None:
    (release / path).unlink()
    assert ("complete", path) in failures(verify_release(release))


def test_a_longer_file_is_named(release: Path) -> None:
    with (release / "report.md").open("a") as stream:
        stream.write("more")
    (failure,) = verify_release(release).failures
    assert failure.came.endswith("bytes")


def test_one_more_file_is_named(release: Path) -> None:
    (release / "data" / "raw.csv").write_text("x")
    report = verify_release(release)
    assert failures(report) == {("no other files", "data/raw.csv")}
    assert report.failures[0].reason is Reason.EXTRA_FILE


def test_a_file_dropped_from_the_manifest_is_named(release: Path) -> None:
    edit(release / "manifest.json", lambda m: m["files"].pop())
    assert {("complete", "statement.json"), ("no other files", "statement.json")} <= failures(verify_release(release))


@pytest.mark.parametrize("path", ["../escape", "/etc/passwd", "a/../b", "data/./x"])
def test_paths_that_leave_the_release_are_refused(release: Path, path: str) -> None:
    edit(release / "manifest.json", lambda m: m["files"][0].update(path=path))
    assert failures(verify_release(release)) == {("schema", "manifest.json")}


BAD_JSON = ["", "{", "[]", '{"format": NaN}', '{"format": 1, "format": 1}', "\udcff"]


@pytest.mark.parametrize(
    ("path", "text"),
    [("manifest.json", text) for text in BAD_JSON] + [("channel.json", BAD_JSON[3]), ("statement.json", BAD_JSON[5])],
)
def test_json_that_is_not_strict_is_named(release: Path, path: str, text: str) -> None:
    (release / path).write_bytes(text.encode("utf-8", "surrogateescape"))
    if path != "manifest.json":
        reseal(release)
    assert ("schema", path) in failures(verify_release(release))


def test_a_file_that_cannot_be_read_is_a_finding(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = ObjectStore.digest

    def digest(store: ObjectStore, key: str) -> str:
        if key.endswith("report.md"):
            raise StoreError.of(Reason.STORE_UNREACHABLE, key, required="a store", came="none", fix="Run again.")
        return honest(store, key)

    monkeypatch.setattr(ObjectStore, "digest", digest)
    assert failures(verify_release(release)) == {("digest", "report.md")}


def test_a_document_that_cannot_be_read_is_a_finding(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (release / "statement.json").unlink()
    assert {("schema", "statement.json"), ("complete", "statement.json")} <= failures(verify_release(release))


def forged(release: Path, path: str, change: Callable[[Json], object]) -> set[tuple[str, str]]:
    edit(release / path, change)
    reseal(release)
    return failures(verify_release(release))


def unit(document: Json, name: str) -> Json:
    return next(one for one in document["units"] if one["name"] == name)  # type: ignore[no-any-return]


CHANNEL_FORGERIES: list[tuple[Callable[[Json], object], tuple[str, str]]] = [
    (lambda c: unit(c, "wage")["draw"].update(epsilon_draws_only="0.5"), ("claim", "wage")),
    (lambda c: unit(c, "wage")["draw"].update(epsilon_draws_only="0.5"), ("certificate", "wage")),
    (lambda c: unit(c, "wage").update(certified_epsilon_draws_only="0.5"), ("stated certificate", "wage")),
    (lambda c: unit(c, "wage").update(channel_digest="0" * 64), ("channel digest", "wage")),
    (lambda c: unit(c, "wage").update(mechanism_version=2), ("mechanism version", "wage")),
    (lambda c: unit(c, "wage").update(inputs=202), ("codes", "wage")),
    (lambda c: unit(c, "wage")["decoder"].update(first="-1"), ("decoder", "wage")),
    (lambda c: unit(c, "wage").update(decoder={"kind": "identity"}), ("decoder", "wage")),
    (lambda c: unit(c, "day").update(decoder={"kind": "identity"}), ("decoder", "day")),
    (lambda c: unit(c, "wage")["noise_variance"].update(middle="1"), ("noise variance", "wage")),
    (lambda c: unit(c, "wage").update(noise_variance=None), ("noise variance", "wage")),
    (lambda c: unit(c, "region")["parameters"].update(other="1"), ("channel", "region")),
    (lambda c: unit(c, "region").update(mechanism="unknown"), ("channel", "region")),
    (lambda c: unit(c, "size")["domain"].update(size=4), ("channel", "size")),
    (lambda c: unit(c, "rate")["missing"].update(policy="error"), ("values in domain", "rate")),
    (lambda c: c["units"].reverse(), ("units", "statement.json")),
    (lambda c: c["units"].pop(), ("units", "statement.json")),
    (lambda c: c.update(version="2"), ("same release", "channel.json")),
    (lambda c: unit(c, "wage").update(epsilon="1"), ("schema", "channel.json")),
]


@pytest.mark.parametrize(("change", "finding"), CHANNEL_FORGERIES)
def test_a_forged_channel_file_is_found(
    release: Path, change: Callable[[Json], object], finding: tuple[str, str]
) -> None:
    assert finding in forged(release, "channel.json", change)


STATEMENT_FORGERIES: list[tuple[Callable[[Json], object], tuple[str, str]]] = [
    (lambda s: s.update(epsilon_realised_draws_only="7"), ("total", "sum of all units")),
    (lambda s: s.update(delta_realised_draws_only="0.5"), ("total", "sum of all units")),
    (lambda s: s.update(geo_per_km_realised_draws_only="1"), ("total", "sum of all units")),
    (lambda s: s.update(epsilon_guarantee_draws_only="7"), ("cap of the run", "spent by this version")),
    (lambda s: s["account_to_date"].update(epsilon_draws_only="7"), ("account to date", "spent by this version")),
    (lambda s: s["account_to_date"].update(geo_per_km_draws_only="1"), ("account to date", "spent by this version")),
    (lambda s: unit(s, "wage").update(epsilon_charged_draws_only="1"), ("charged", "wage")),
    (lambda s: unit(s, "wage")["draws"].pop(0), ("charged", "wage")),
    (lambda s: unit(s, "wage")["draws"].pop(1), ("published draw", "wage")),
    (lambda s: unit(s, "place").update(geo_per_km_charged_draws_only="0"), ("charged", "place")),
    (lambda s: unit(s, "wage").update(mechanism="gaussian"), ("mechanism", "wage")),
    (lambda s: s["privacy_unit"].update(max_rows=2), ("charged", "wage")),
    (lambda s: s["public_columns"].clear(), ("every column declared", "data")),
    (lambda s: s.update(commit="other"), ("same commit", "statement.json")),
    (lambda s: s.update(trust_model="local"), ("schema", "statement.json")),
    (lambda s: s.update(guarantee_covers_selection=True), ("schema", "statement.json")),
    (lambda s: s.update(epsilon_realised_draws_only=7.25), ("schema", "statement.json")),
    (lambda s: s.update(epsilon_realised_draws_only="7.0000001"), ("total", "statement.json")),
]


@pytest.mark.parametrize(("change", "finding"), STATEMENT_FORGERIES)
def test_a_forged_statement_is_found(release: Path, change: Callable[[Json], object], finding: tuple[str, str]) -> None:
    assert finding in forged(release, "statement.json", change)


def rewrite(release: Path, change: Callable[[pa.Table], pa.Table], csv_too: bool = True) -> set[tuple[str, str]]:
    table = change(pq.read_table(release / "data" / "demo.parquet"))
    pq.write_table(table, release / "data" / "demo.parquet")
    if csv_too:
        pacsv.write_csv(table, release / "data" / "demo.csv")
    reseal(release)
    return failures(verify_release(release))


def set_first(table: pa.Table, name: str, value: object) -> pa.Table:
    place = table.schema.get_field_index(name)
    values = [value, *table.column(name).to_pylist()[1:]]
    return table.set_column(place, table.schema.field(name), pa.array(values, table.schema.field(name).type))


def nullable(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([pa.field(field.name, field.type) for field in table.schema]))


def test_rewriting_alone_changes_nothing(release: Path) -> None:
    assert rewrite(release, lambda table: table) == set()


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda t: set_first(t, "wage", 2010), ("values in domain", "wage")),
        (lambda t: set_first(t, "wage", 5), ("values in domain", "wage")),
        (lambda t: set_first(t, "rate", 0.35), ("values in domain", "rate")),
        (lambda t: set_first(t, "region", "elsewhere"), ("values in domain", "region")),
        (lambda t: set_first(t, "size", 4), ("values in domain", "size")),
        (lambda t: set_first(t, "place_latitude", 41.85), ("values in domain", "place")),
        (lambda t: set_first(nullable(t), "wage", None), ("values in domain", "wage")),
        (lambda t: t.slice(1), ("rows", "data/demo.parquet")),
        (lambda t: t.select(t.schema.names[::-1]), ("columns", "data")),
        (lambda t: t.append_column("radius_m", pa.array([1.0] * t.num_rows)), ("every column declared", "data")),
        (lambda t: t.drop_columns(["wage"]), ("data", "data/demo.parquet")),
        (lambda t: t.set_column(0, "wage", t.column(0).cast(pa.int32())), ("types", "wage")),
        (lambda t: t.replace_schema_metadata({"pandas": "{}"}), ("no further metadata", "data")),
    ],
)
def test_forged_data_is_found(release: Path, change: Callable[[pa.Table], pa.Table], finding: tuple[str, str]) -> None:
    assert finding in rewrite(release, change)


def test_a_csv_that_differs_is_found(release: Path) -> None:
    found = rewrite(release, lambda table: set_first(table, "wage", 0), csv_too=False)
    assert found == {("CSV equals Parquet", "data/demo.csv")}


def test_a_data_file_that_is_no_parquet_is_found(release: Path) -> None:
    (release / "data" / "demo.parquet").write_bytes(b"PAR1")
    reseal(release)
    assert ("data", "data/demo.parquet") in failures(verify_release(release))


def test_sums_that_differ_from_the_manifest_are_found(release: Path) -> None:
    sums = release / "SHA256SUMS"
    for text in (sums.read_text().replace("report.md", "other.md"), "no sums\n"):
        sums.write_text(text)
        content = sums.read_bytes()
        digest = hashlib.sha256(content).hexdigest()

        def correct(manifest: Json, digest: str = digest, size: int = len(content)) -> None:
            own = next(entry for entry in manifest["files"] if entry["path"] == "SHA256SUMS")
            own.update(sha256=digest, bytes=size)

        edit(release / "manifest.json", correct)
        assert failures(verify_release(release)) == {("sums", "SHA256SUMS")}


def test_a_path_listed_twice_is_found(release: Path) -> None:
    edit(release / "manifest.json", lambda m: m["files"].append(dict(m["files"][0])))
    assert failures(verify_release(release)) == {("paths listed once", "manifest.json")}


def test_what_a_check_cannot_read_is_a_finding_and_not_a_crash(published: Path) -> None:
    channel = json.loads((published / "channel.json").read_text())
    for spoiled in ({"kind": "number", "size": 2}, {"kind": "box", "size": 2, "box": [1], "crs": 3, "step_m": []}):
        channel["units"][0]["domain"] = spoiled
        results = list(verify_channels(channel, "_draws_only"))
        assert not results[0].passed
        assert "while rebuilding" in results[0].came


APPROXIMATE = """
format: 1
release: {dataset: demo, version: "1", title: Delta}
source: {path: x.csv, format: csv}
privacy: {epsilon_total: "9", delta_total: "0.001", account: a, unit: {column: person, max_rows: 3}}
columns:
  - {name: person, role: unit}
  - {name: wage, type: number, domain: {lower: "0", upper: "100", step: "10"}, mechanism: gaussian, epsilon: "1",
     delta: "0.000001"}
loop: {loss_from: original, composition: sequential}
publish: {store: releases, formats: [parquet]}
"""


def test_delta_and_several_rows_of_a_unit_are_verified(kit: Any, tmp_path: Path) -> None:
    made = kit.make(tmp_path, APPROXIMATE)
    publish_package(made.package, open_store(tmp_path / "public"), "demo/1")
    release = tmp_path / "public" / "demo" / "1"
    assert verify_release(release).failures == ()
    found = forged(release, "channel.json", lambda c: c["units"][0]["draw"].update(delta_draws_only="0.0000001"))
    assert {("claim", "wage"), ("certificate", "wage"), ("published draw", "wage")} <= found


_OFFLINE = """
import socket, sys
def refuse(*args, **options):
    raise SystemExit("network touched")
socket.socket.connect = refuse
socket.getaddrinfo = refuse
sys.modules["pandas"] = None
from trasgo_lib.release import verify_release
report = verify_release(sys.argv[1])
assert report.passed, report.failures
loaded = {"prefect", "great_expectations", "sqlalchemy", "pydantic_settings"} & set(sys.modules)
assert not loaded, loaded
print(len(report.results))
"""


def test_verification_needs_neither_network_nor_pandas_nor_prefect_nor_great_expectations(published: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _OFFLINE, str(published)], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(verify_release(published).results)


def withdraw(release: Path, **changes: object) -> None:
    """Take the data back as the command does."""
    digest = hashlib.sha256((release / "manifest.json").read_bytes()).hexdigest()
    manifest = json.loads((release / "manifest.json").read_text())
    data = [entry["path"] for entry in manifest["files"] if entry["path"].startswith("data/")]
    at = "2030-01-31T12:00:00+00:00"
    notice = withdrawal_bytes(manifest["dataset"], manifest["version"], digest, at, "by mistake", data)
    (release / "withdrawn.json").write_text(json.dumps(json.loads(notice) | changes))
    for path in data:
        (release / path).unlink()


def test_a_withdrawn_release_is_said_to_be_and_nothing_else_is_wrong(release: Path) -> None:
    withdraw(release)
    (failure,) = verify_release(release).failures
    assert (failure.name, failure.reason) == ("withdrawn", Reason.WITHDRAWN)
    assert failure.came == "withdrawn on 2030-01-31: by mistake"


def test_a_withdrawn_release_is_still_checked(release: Path) -> None:
    withdraw(release)
    (release / "report.md").write_text("other")
    (release / "more.txt").write_text("more")
    found = {(failure.name, failure.subject) for failure in verify_release(release).failures}
    assert {("digest", "report.md"), ("no other files", "more.txt")} < found and len(found) == 3


@pytest.mark.parametrize("changes", [{"version": "9"}, {"format": 2}, {"withdrawn": "yesterday"}])
def test_a_notice_that_is_not_of_this_release_is_named(release: Path, changes: dict[str, object]) -> None:
    withdraw(release, **changes)
    assert any(failure.subject == "withdrawn.json" for failure in verify_release(release).failures)


def test_a_manifest_and_a_statement_that_name_different_corrections_are_found(release: Path) -> None:
    edit(release / "manifest.json", lambda document: document.update(supersedes="0"))
    found = {failure.name for failure in verify_release(release).failures}
    assert "same superseded version" in found
