"""Releases on S3 through the command: two buckets, two sets of credentials, and a run that is killed."""

from __future__ import annotations

import json
import os
import secrets
import signal
import stat
from collections.abc import Iterator
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest
from faulty_s3 import Action, Asked, FaultyS3, faulty_s3
from forked_command import started
from office import Answer, Office
from prefect.blocks.system import Secret
from s3_server import CLOSED_BUCKET, OPEN_BUCKET, Keys, S3Server, access_of

from tasks.stores import store_access
from trasgo_lib.analysis import open_release
from trasgo_lib.config import S3Spec
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.storage import Credentials, ObjectStore, S3Access, open_store

PUBLIC, RESTRICTED = "OFFICE_PUBLIC", "OFFICE_RESTRICTED"


class S3Office(Office):
    """An office whose roots are two buckets."""

    def __init__(self, folder: Path, server: S3Server) -> None:
        super().__init__(folder)
        self.server, self.name = server, secrets.token_hex(4)
        self.environment = server.publisher.environment(PUBLIC) | server.keeper.environment(RESTRICTED)
        self.release["ledger"] = {"url": "sqlite:///ledger.db"}
        self.release["publish"] = {
            "public": f"s3://{OPEN_BUCKET}/{self.name}",
            "restricted": f"s3://{CLOSED_BUCKET}/{self.name}",
            "public_s3": {"endpoint": server.endpoint, "credentials": PUBLIC},
            "restricted_s3": {"endpoint": server.endpoint, "credentials": RESTRICTED},
        }

    def through(self, proxy: FaultyS3) -> None:
        """Reach both roots by a proxy."""
        for name in ("public_s3", "restricted_s3"):
            self.release["publish"][name]["endpoint"] = proxy.endpoint
        self.write()

    def store(self, bucket: str = OPEN_BUCKET) -> ObjectStore:
        """A root as a reader of both buckets sees it."""
        return open_store(f"s3://{bucket}/{self.name}", access=access_of(self.server, self.server.reader))

    def files(self, bucket: str = OPEN_BUCKET) -> dict[str, bytes]:
        """Every object below a root."""
        store = self.store(bucket)
        return {key: store.get(key) for key in store.list()}

    @property
    def uri(self) -> str:
        """Where version 1 is."""
        return f"s3://{OPEN_BUCKET}/{self.name}/people/1"


@pytest.fixture
def office(tmp_path: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Office:
    """A fresh office with its credentials in the environment, those of its data users beside them."""
    made = S3Office(tmp_path, s3_server)
    for name, value in (made.environment | s3_server.reader.environment("AWS")).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3_server.endpoint)
    return made


@pytest.fixture
def proxy(s3_server: S3Server) -> Iterator[FaultyS3]:
    """A proxy before the server."""
    with faulty_s3(s3_server) as made:
        yield made


def _found(office: S3Office, keys: Keys, answers: list[Answer]) -> list[str]:
    """Where a secret stands: files of the office and of Prefect, both buckets, what was said."""
    folders = (office.folder, Path(os.environ["PREFECT_HOME"]))
    files = {str(path): path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}
    files |= office.files() | office.files(CLOSED_BUCKET)
    files |= {f"answer {number}": answer.text.encode() for number, answer in enumerate(answers)}
    return [name for name, body in files.items() if keys.secret.encode() in body or keys.access.encode() in body]


def test_a_whole_release_in_two_buckets_with_two_credentials(office: S3Office, proxy: FaultyS3) -> None:
    """The restricted root's credentials are a Prefect secret; each pair may write to its own bucket only."""
    keeper = office.server.keeper
    block = f"trasgo-{office.name}"
    Secret(value={"access_key_id": keeper.access, "secret_access_key": keeper.secret}).save(block)  # type: ignore[arg-type, unused-coroutine]
    office.release["publish"]["restricted_s3"]["credentials"] = f"block:{block}"
    office.through(proxy)
    office.open()
    private: set[int] = set()

    def plan(asked: Asked) -> str:
        private.update(stat.S_IMODE(file.stat().st_mode) for file in office.home.rglob("work/**/*") if file.is_file())
        return "pass"

    proxy.plan = plan
    answers = [office.run("--json")]
    assert answers[0].exit_code == 0, answers[0].text
    done = answers[0].json
    assert (done["public"], done["state"]) == (office.uri, "published")
    assert done["restricted"] == f"s3://{CLOSED_BUCKET}/{office.name}/people/1"
    assert private == {0o600} and not [file for file in office.home.rglob("work/**/*") if file.is_file()]
    assert not list(office.folder.rglob("store")), "nothing of it is a folder here"

    _require_manifest_last(office, proxy)
    assert "people/1/losses.json" in office.files(CLOSED_BUCKET)
    for bucket, keys in ((CLOSED_BUCKET, office.server.publisher), (OPEN_BUCKET, office.server.keeper)):
        assert office.server.request("GET", f"/{bucket}/{office.name}/people/1/report.md", keys=keys)[0] == 403

    answers += [office.trasgo("verify", office.uri), office.run(), office.trasgo("resume", str(office.config))]
    assert [answer.exit_code for answer in answers] == [0, 0, 0, 0], [answer.text for answer in answers]
    assert "Already published" in answers[2].text and office.uri in answers[2].text
    assert set(open_release(office.uri).share("region")) == {"north", "east", "south", "west"}
    before = office.files()
    assert office.spent() == done["spent"]["total"] and before == office.files()
    for keys in (office.server.publisher, keeper):
        assert _found(office, keys, answers) == []


def test_an_audit_over_two_buckets_redraws_names_an_edit_and_knows_when_it_knows_nothing(
    office: S3Office, proxy: FaultyS3
) -> None:
    office.through(proxy)
    office.open()
    assert office.run("--quiet").exit_code == 0
    key = office.folder / "office.pem"
    key.write_text(office.trasgo("key", "public").out)
    answer = office.trasgo("verify", office.uri, "--key", str(key), "--json")
    assert answer.exit_code == 0 and answer.json["signature"]["signer_checked"] is True, answer.text
    before, spent = office.files() | office.files(CLOSED_BUCKET), office.spent()
    read_before = len(proxy.of("GET", "people.parquet"))

    answer = office.trasgo("audit", str(office.config), "--json")
    assert answer.exit_code == 0, answer.text
    assert answer.json["redrawn"] and answer.json["bytes_compared"] and answer.json["signature"]["signer_checked"]
    assert office.files() | office.files(CLOSED_BUCKET) == before and office.spent() == spent
    assert not [file for file in office.home.rglob("audit/**/*") if file.is_file()]

    seen: list[str] = []

    def fail_late(asked: Asked) -> Action:
        seen.append(asked.path) if asked.method == "GET" and asked.path.endswith("people.parquet") else None
        return (503, "SlowDown") if len(seen) > reads and asked.path.endswith("people.parquet") else "pass"

    # all but the last, which is one of the rows that are compared
    reads = len(proxy.of("GET", "people.parquet")) - read_before - 1
    proxy.plan = fail_late
    answer = office.trasgo("audit", str(office.config), "--json")
    assert answer.exit_code == 10, answer.text
    proxy.plan = lambda asked: "pass"

    place = f"/{OPEN_BUCKET}/{office.name}/people/1/data/people.csv"
    assert office.server.request("PUT", place, body=b"age\n")[0] == 200
    answer = office.trasgo("audit", str(office.config), "--json")
    assert answer.exit_code == 8, answer.text
    failed = {(one["name"], one["subject"]) for one in answer.json["results"] if not one["passed"]}
    assert ("digest", "data/people.csv") in failed


def _require_manifest_last(office: S3Office, proxy: FaultyS3) -> None:
    """Whenever a reader looked, there was a whole release or none: the manifest is written after all it lists."""
    written = [asked.path for asked in proxy.asked if asked.method == "PUT" and f"/{OPEN_BUCKET}/" in asked.path]
    of_release = [path for path in written if "/people/1/" in path]
    assert [path for path in of_release if path.endswith("manifest.json")] == of_release[-1:]
    listed = {f["path"] for f in json.loads(office.store().get("people/1/manifest.json"))["files"]}
    assert {path.split("/people/1/")[1] for path in of_release} == listed | {"manifest.dsse.json", "manifest.json"}


def test_a_run_killed_between_two_uploads_is_resumed_with_the_same_bytes(office: S3Office, proxy: FaultyS3) -> None:
    office.through(proxy)
    office.open()
    runs: list[ForkServerProcess] = []

    def kill_at_second(asked: Asked) -> str:
        if asked.method == "PUT" and asked.path.endswith("people/1/data/people.csv") and runs:
            runs.pop().kill()
            return "drop"
        return "pass"

    proxy.plan = kill_at_second
    environment = {"TRASGO_HOME": str(office.home), "TRASGO_ACTOR": "tester"}
    run = started(["run", str(office.config), "--quiet"], environment, office.folder / "killed.log")
    runs.append(run)
    run.join(900)
    assert run.exitcode == -signal.SIGKILL, (office.folder / "killed.log").read_text()
    first = office.files()
    assert list(first) == ["people/1/data/people.parquet"], "no manifest, so no release"
    assert office.trasgo("verify", office.uri).exit_code == 8
    spent = office.spent()

    proxy.plan = lambda asked: "pass"
    answer = office.trasgo("resume", str(office.config), "--json")
    assert answer.exit_code == 0, answer.text
    after = office.files()
    assert after["people/1/data/people.parquet"] == first["people/1/data/people.parquet"]
    assert answer.json["spent"]["total"] == office.spent() == spent, "charged once"
    assert office.trasgo("verify", office.uri).exit_code == 0
    _require_manifest_last(office, proxy)


def test_a_store_that_fills_up_half_way_is_asked_once_and_resumed(office: S3Office, proxy: FaultyS3) -> None:
    office.through(proxy)
    office.open()
    proxy.plan = lambda asked: (
        (507, "InsufficientStorage") if asked.method == "PUT" and asked.path.endswith("people.csv") else "pass"
    )
    answer = office.run("--json")
    assert (answer.exit_code, answer.json["faults"][0]["reason"]) == (10, "store_full"), answer.text
    size = len(proxy.of("PUT", "people.csv")[0].body)
    assert f"{size} bytes were needed" in answer.json["faults"][0]["came"]
    assert len(proxy.of("PUT", "people.csv")) == 1, "neither the store nor the task tries again"
    assert not office.store().exists("people/1/manifest.json")
    proxy.plan = lambda asked: "pass"
    assert office.run("--quiet").exit_code == 0
    assert office.trasgo("verify", office.uri).exit_code == 0


def test_approved_and_withdrawn_in_two_buckets(office: S3Office) -> None:
    office.release["publish"]["approvals"] = 1
    office.open()
    answer = office.run("--json")
    assert (answer.exit_code, office.files()) == (9, {}), answer.text
    assert "people/1/waiting/manifest.json" in office.files(CLOSED_BUCKET)
    office.actor = "eva"
    assert office.trasgo("approve", str(office.config), "--yes").exit_code == 0
    office.actor = "tester"
    answer = office.run("--quiet")
    assert answer.exit_code == 0, answer.text
    closed = office.files(CLOSED_BUCKET)
    waiting = {key: body for key, body in closed.items() if key.startswith("people/1/waiting/")}
    assert {key.replace("/waiting/", "/"): body for key, body in waiting.items()} == office.files()
    assert office.trasgo("verify", office.uri).exit_code == 0
    before = office.files()
    answer = office.trasgo("withdraw", str(office.config), "--reason", "a wrong file", "--yes")
    assert answer.exit_code == 0, answer.text
    after = office.files()
    assert before.keys() - after.keys() == {"people/1/data/people.csv", "people/1/data/people.parquet"}
    answer = office.trasgo("verify", office.uri)
    assert answer.exit_code == 8 and "withdrawn" in answer.out


def test_a_held_version_keeps_its_evidence_in_the_restricted_bucket(office: S3Office) -> None:
    office.column("sex")["target"] = {"tvd": "0.000001"}
    office.open()
    for _ in range(2):
        answer = office.run("--json")
        assert (answer.exit_code, answer.json["state"], answer.json["public"]) == (6, "held", None), answer.text
    assert "people/1/losses.json" in office.files(CLOSED_BUCKET) and office.files() == {}


@pytest.mark.parametrize(
    ("value", "passes"),
    [
        ({"access_key_id": "a", "secret_access_key": "canary"}, True),
        ({"access_key_id": "a", "secret_access_key": "canary", "session_token": "t"}, True),
        ({"access_key_id": "a"}, False),
        ({"access_key_id": "a", "secret_access_key": "canary\n"}, False),
        ({}, False),
    ],
)
def test_the_fields_of_a_secret(value: dict[str, str], passes: bool) -> None:
    spec = S3Spec(credentials="block:open-data", endpoint="https://s3.example", region="eu-west-1")
    environ = {"AWS_ENDPOINT_URL_S3": "https://other.example", "AWS_SESSION_TOKEN": "x", "AWS_REGION": "y"}
    if passes:
        access = store_access(spec, environ, {"open-data": value}.__getitem__)
        assert access.credentials == Credentials("a", "canary", value.get("session_token"))
        assert (access.endpoint, access.region) == ("https://s3.example", "eu-west-1")
        return
    with pytest.raises(ConfigError) as caught:
        store_access(spec, environ, {"open-data": value}.__getitem__)
    assert caught.value.faults[0].where == "Prefect secret open-data" and "canary" not in str(caught.value)


def test_what_the_release_file_leaves_out_comes_from_the_environment() -> None:
    environ = Keys("a", "b").environment("AWS") | {"AWS_ENDPOINT_URL": "https://s3.example", "AWS_REGION": "r"}
    assert store_access(None, environ) == S3Access("https://s3.example", "r", Credentials("a", "b"))
    with pytest.raises(ConfigError, match="AWS_ACCESS_KEY_ID"):
        store_access(None, {})
    with pytest.raises(ConfigError, match="http to another machine"):
        store_access(None, environ | {"AWS_ENDPOINT_URL": "http://s3.example"})


def test_replies_lost_during_a_release_change_nothing(office: S3Office, proxy: FaultyS3) -> None:
    """Every object's first put is done and not answered; every first read is not even done."""
    office.through(proxy)
    office.open()
    seen: set[tuple[str, str]] = set()

    def plan(asked: Asked) -> str:
        once = (asked.method, asked.path)
        if once in seen or asked.method == "HEAD":
            return "pass"
        seen.add(once)
        return "lose" if asked.method == "PUT" else "drop"

    proxy.plan = plan
    answer = office.run("--json")
    assert answer.exit_code == 0, answer.text
    assert office.trasgo("verify", office.uri).exit_code == 0


@pytest.mark.parametrize("case", ["secret", "bucket", "endpoint", "right", "skew", "unsafe"])
def test_a_root_that_cannot_be_written_stops_a_run_before_anything_is_charged(
    office: S3Office, proxy: FaultyS3, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    publish = office.release["publish"]
    canary = Keys(office.server.keeper.access, "canary-" + secrets.token_hex(12))
    words = {
        "secret": "credentials that the store does not accept (SignatureDoesNotMatch)",
        "bucket": "no such bucket",
        "endpoint": "no connection after 6 attempt",
        "right": "may not do this",
        "skew": "clock",
        "unsafe": "wrote the same object twice",
    }[case]
    if case == "secret":
        for name, value in canary.environment(RESTRICTED).items():
            monkeypatch.setenv(name, value)
    elif case == "bucket":
        publish["public"] = f"s3://{OPEN_BUCKET}-typo/{office.name}"
        publish["public_s3"]["credentials"] = "OFFICE_WRITER"
        for name, value in office.server.writer.environment("OFFICE_WRITER").items():
            monkeypatch.setenv(name, value)
    elif case == "endpoint":
        publish["restricted_s3"]["endpoint"] = "http://127.0.0.1:9"
    elif case == "right":
        publish["restricted"] = f"s3://{OPEN_BUCKET}-2/{office.name}"
    else:
        publish["public_s3"]["endpoint"] = proxy.endpoint
        answer_of = {"skew": (403, "RequestTimeTooSkewed"), "unsafe": "overwrite"}[case]
        proxy.plan = lambda asked: answer_of if asked.method == "PUT" else "pass"
    office.open()
    answer = office.run("--json")
    assert answer.exit_code == 10, answer.text
    (fault,) = answer.json["faults"]
    assert words in fault["came"], fault
    assert fault["reason"] in (Reason.STORE_REFUSED, Reason.STORE_UNREACHABLE, Reason.STORE_UNSAFE)
    assert office.spent() == "0" and office.files() == {} and "canary" not in answer.text


def test_absent_credentials_are_named_and_nothing_begins(office: S3Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.open()
    monkeypatch.delenv(f"{PUBLIC}_SECRET_ACCESS_KEY")
    answer = office.run("--json")
    assert (answer.exit_code, answer.json["faults"][0]["where"]) == (2, f"{PUBLIC}_SECRET_ACCESS_KEY")
    monkeypatch.delenv(f"{PUBLIC}_ACCESS_KEY_ID")
    assert f"{PUBLIC}_ACCESS_KEY_ID" in office.run("--json").json["faults"][0]["where"]
    office.release["publish"]["public_s3"]["credentials"] = "block:no-such-block"
    office.write()
    assert "no-such-block" in office.run("--json").json["faults"][0]["where"]
    assert office.files() == {}


def test_a_bucket_that_holds_the_version_of_another_ledger_is_refused(office: S3Office) -> None:
    writer = open_store(f"s3://{OPEN_BUCKET}/{office.name}", access=access_of(office.server))
    writer.put_once("people/1/report.md", b"of another ledger")
    office.open()
    answer = office.run("--json")
    assert (answer.exit_code, answer.json["faults"][0]["reason"]) == (4, "already_exists")
    assert office.spent() == "0"


def test_a_public_bucket_beside_a_restricted_folder_keeps_its_ledger_there(office: S3Office) -> None:
    publish = office.release["publish"]
    publish["restricted"] = "closed"
    del publish["restricted_s3"], office.release["ledger"]
    office.open()
    answer = office.run("--json")
    assert answer.exit_code == 0, answer.text
    assert (office.folder / "closed" / ".trasgo" / "ledger.db").is_file()
    assert (office.folder / "closed" / "people" / "1" / "losses.json").is_file()
    assert office.trasgo("verify", office.uri).exit_code == 0
