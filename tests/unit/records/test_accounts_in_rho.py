"""Accounts in rho and accounts with parts, on both databases: what fits, what is refused, what the chain says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from trasgo_lib.amounts import Delta, Epsilon, Geo, Rho
from trasgo_lib.budget import (
    ApproximateEvent,
    Cost,
    FixedPartitionEvent,
    GaussianEvent,
    GeoEvent,
    LossEvent,
    NoisyMaxEvent,
    Partition,
    PureEvent,
    RevealEvent,
)
from trasgo_lib.errors import BudgetError, ConfigError, ConflictError, Reason
from trasgo_lib.records import AccountTerms, Records, migrate
from trasgo_lib.records.database import Database
from trasgo_lib.records.tables import METADATA

GOLDEN = Path(__file__).parents[2] / "golden" / "ledger_chain.json"
ZCDP, RENYI = "zcdp, delta 0.000001", "renyi of order 8, delta 0.000001"
REGION = Partition("region", ("north", "south"), 1)
YEARS = Partition("year", ("2023", "2024", "2025"), 2)


def opened(office: Any, composition: str, cap: Cost, *partitions: Partition, max_rows: int = 1) -> Any:
    """The office with one more account, of this composition, and a frozen version that it pays for."""
    terms = AccountTerms("in_rho", "US adults, March 1988", "row", max_rows, composition, cap, partitions)
    office.records.open_account(terms, b"wrapped digest key", "ana", office.at)
    return version(office, "rho")


def version(office: Any, name: str, **changes: Any) -> Any:
    """The office whose next draws are of a version of the account in rho, of data of its own unless said otherwise."""
    commitment = (name * 64)[:64]
    changes.setdefault("input_digest", commitment)
    office.new_version(name, commitment, account="in_rho", input_digest=changes["input_digest"])
    return replace(office, draw=replace(office.draw, account="in_rho", version=name, commitment=commitment, **changes))


def draw(office: Any, event: LossEvent, attempt: int = 1, **changes: Any) -> Any:
    asked = replace(office.draw, **{"event": event, "attempt": attempt, "unit": f"unit {attempt}", **changes})
    return office.records.reserve(asked, office.at)


def gaussian(rho: str) -> GaussianEvent:
    return GaussianEvent(Rho.parse(rho), Delta.parse("1e-9"))


def test_three_tenths_of_rho_fit_and_a_fourth_is_refused(office: Any) -> None:
    here = opened(office, ZCDP, Cost.of(rho="0.3"))
    for attempt in (1, 2, 3):
        entry = draw(here, gaussian("0.1"), attempt)
    assert (entry.cost, entry.spent) == (Cost.of(rho="0.1"), Cost.of(rho="0.3"))
    before = office.everything()
    for event in (gaussian("0.000000001"), PureEvent(Epsilon(1)), NoisyMaxEvent(Epsilon(1))):
        with pytest.raises(BudgetError, match="rho of at most 0") as caught:
            draw(here, event, 4)
        assert (caught.value.reason, caught.value.exit_code) == (Reason.OVER_CAP, 5)
    assert office.everything() == before
    assert draw(here, gaussian("0.1"), 3).seq == entry.seq  # asked again: charged once
    assert office.records.account("in_rho").left.is_zero
    assert office.records.check_chain().ok
    body = json.loads(entry.document)
    assert body["cost"] == {"epsilon": "0", "delta": "0", "geo": "0", "rho": "0.1"}
    terms = json.loads(office.records.entries("in_rho")[0].document)["terms"]
    assert (terms["composition"], terms["cap"]["rho"]) == (ZCDP, "0.3")


def test_epsilon_accounts_keep_their_sums(office: Any) -> None:
    for attempt, level in enumerate(("0.1", "0.1", "0.1"), 1):
        office.charge(level, attempt=attempt)
    assert office.records.account("cps").spent == Cost.of("0.3")


def test_releases_and_queries_share_an_account_in_rho(office: Any) -> None:
    here = opened(office, ZCDP, Cost.of(rho="1", geo="5"), max_rows=2)
    here = replace(here, draw=replace(here.draw, max_rows=2))
    assert draw(here, PureEvent(Epsilon.parse("0.2")), 1).cost == Cost.of(rho="0.04")
    assert draw(here, gaussian("0.01"), 2).cost == Cost.of(rho="0.01")
    assert draw(here, GeoEvent(Geo.parse("2")), 3).cost == Cost.of(geo="4")
    chain = RevealEvent(Epsilon.parse("0.2"), Epsilon(0), Delta(0))
    assert draw(here, chain, 4, unit="wage").cost == Cost.of(rho="0.04")
    further = RevealEvent(Epsilon.parse("0.3"), Epsilon.parse("0.2"), Delta(0))
    assert draw(here, further, 5, unit="wage").cost == Cost.of(rho="0.09")
    with pytest.raises(BudgetError, match="known under zcdp"):
        draw(here, ApproximateEvent(Epsilon.parse("0.1"), Delta.parse("1e-9")), 6)
    # what the version states is what its draws cost, whatever its account deducts
    spent = office.records.spent_by("cps1988", "rho")
    assert spent.epsilon == Epsilon.parse("0.4") + Epsilon.parse("0.6") + gaussian_epsilon() and spent.rho.units == 0
    to_date = office.records.to_date("in_rho", office.records.account("in_rho").seq)
    assert (to_date.epsilon, to_date.rho.text) == (spent.epsilon, "0.18")
    assert office.records.check_chain().ok


def gaussian_epsilon() -> Epsilon:
    from trasgo_lib.budget import cost

    return cost(gaussian("0.01")).epsilon


def test_a_renyi_account_counts_at_its_order(office: Any) -> None:
    here = opened(office, RENYI, Cost.of(rho="0.2"))
    assert draw(here, gaussian("0.02"), 1).cost == Cost.of(rho="0.16")
    with pytest.raises(BudgetError, match=r"rho of at most 0\.04"):
        draw(here, gaussian("0.005000001"), 2)
    draw(here, gaussian("0.005"), 3)
    assert office.records.check_chain().ok


def test_what_an_account_is_opened_on_must_fit_its_composition() -> None:
    for composition, cap in ((ZCDP, Cost.of("1")), (ZCDP, Cost.of(delta="0.1", rho="1")), ("basic", Cost.of(rho="1"))):
        with pytest.raises(ConfigError):
            AccountTerms("a", "people", "row", 1, composition, cap)
    with pytest.raises(ConfigError):
        AccountTerms("a", "people", "row", 1, "basic", Cost.of("1"), (REGION, REGION))


# --- parts: B73 ------------------------------------------------------------------------------------------------


def test_two_declared_regions_cost_one_and_undeclared_ones_two(office: Any) -> None:
    """B73: disjoint parts are not summed, and parts that nobody declared are not maxed."""
    one = PureEvent(Epsilon.parse("1"))
    north = opened(office, "basic", Cost.of("2"), REGION)
    assert draw(north, one, part=("region", "north")).cost == Cost.of("1")
    south = version(office, "s", part=("region", "south"))
    entry = draw(south, one)
    assert (entry.cost, entry.spent, entry.loss) == (Cost.zero(), Cost.of("1"), Cost.of("1"))
    assert json.loads(entry.document)["part"] == ["region", "south"]
    assert office.records.spent_by("cps1988", "s") == Cost.of("1")
    everyone = version(office, "e")
    assert draw(everyone, one).spent == Cost.of("2")
    with pytest.raises(BudgetError) as caught:  # the costliest part would rise above the cap
        draw(south, PureEvent(Epsilon(1)), 2)
    assert caught.value.reason is Reason.OVER_CAP
    assert office.records.check_chain().ok


def test_people_in_two_years_lose_both(office: Any) -> None:
    one = PureEvent(Epsilon.parse("0.5"))
    opened(office, "basic", Cost.of("2"), YEARS)
    spent = [draw(version(office, year[-1], part=("year", year)), one).spent for year in YEARS.parts]
    assert [cost.epsilon.text for cost in spent] == ["0.5", "1", "1"]


def test_what_an_account_has_lost_counts_parts_in_parallel_only_for_those_who_keep_them(office: Any) -> None:
    """A statement about all units promises nothing of parts: someone in both has lost in both."""
    one = PureEvent(Epsilon.parse("0.25"))
    opened(office, "basic", Cost.of("2"), REGION, YEARS)
    draw(version(office, "a", part=("region", "north")), one)
    draw(version(office, "b", part=("region", "south")), one)
    asked = (("north", (NoisyMaxEvent(Epsilon.parse("0.5")),)), ("south", (NoisyMaxEvent(Epsilon.parse("0.25")),)))
    seq = draw(version(office, "f"), FixedPartitionEvent("region", 1, asked)).seq
    assert office.records.account("in_rho").spent == Cost.of("0.75")
    assert office.records.to_date("in_rho", seq, ["region"]) == Cost.of("0.75")
    assert office.records.to_date("in_rho", seq, ["year"]) == Cost.of("1.25")
    assert office.records.to_date("in_rho", seq) == Cost.of("1.25")
    assert office.records.to_date("in_rho", seq - 1) == Cost.of("0.5")


def test_the_same_input_is_not_of_two_disjoint_parts(office: Any) -> None:
    """Charged as the larger of two parts, two draws of the same rows would cost one."""
    one = PureEvent(Epsilon.parse("0.5"))
    opened(office, "basic", Cost.of("2"), REGION, YEARS)
    draw(version(office, "a", part=("region", "north"), input_digest="7" * 64), one)
    again = version(office, "b", part=("region", "south"), input_digest="7" * 64)
    before = office.everything()
    with pytest.raises(ConflictError, match="cps1988/a was charged for the same input") as caught:
        draw(again, one)
    assert (caught.value.reason, caught.value.exit_code) == (Reason.ACCOUNT_MISMATCH, 4)
    assert office.everything() == before
    assert draw(again, one, part=("region", "north")).spent == Cost.of("1"), "the same part pays again"
    other = version(office, "f", part=("year", "2023"), input_digest="7" * 64)
    assert draw(other, one).spent == Cost.of("1.5"), "parts of two partitions overlap, and add up"
    whole = version(office, "g", input_digest="7" * 64)
    assert draw(whole, one).spent == Cost.of("2")


def test_a_version_stays_in_its_part_and_parts_are_declared(office: Any) -> None:
    here = opened(office, "basic", Cost.of("2"), REGION)
    one = PureEvent(Epsilon.parse("0.5"))
    draw(here, one, part=("region", "north"))
    for part in (("region", "south"), None):
        with pytest.raises(ConflictError) as moved:
            draw(here, one, 2, part=part)
        assert moved.value.reason is Reason.PLAN_CHANGED
        with pytest.raises(ConflictError):
            draw(here, one, 1, part=part)
    other = version(office, "o")
    for part in (("region", "west"), ("year", "2023")):
        with pytest.raises(BudgetError) as caught:
            draw(other, one, part=part)
        assert caught.value.reason is Reason.ACCOUNT_MISMATCH
    with pytest.raises(BudgetError):
        office.charge("0.1", part=("region", "north"))  # the other account declared none
    asked = FixedPartitionEvent("region", 1, (("north", (NoisyMaxEvent(Epsilon.parse("0.25")),)),))
    assert draw(other, asked).spent == Cost.of("0.75")
    assert office.records.quote("in_rho", [one], ("region", "south")) == Cost.zero()
    assert office.records.check_chain().ok


def test_a_charge_that_ignores_parts_breaks_the_chain(office: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: had the second region been charged nothing without being declared, the check would tell."""
    from trasgo_lib.records import ledger

    here = opened(office, "basic", Cost.of("2"))
    draw(here, PureEvent(Epsilon.parse("1")))
    monkeypatch.setattr(ledger, "_increase", lambda before, events: Cost.zero())
    draw(here, PureEvent(Epsilon.parse("1")), 2)
    report = office.records.check_chain()
    assert any("the cost of its loss event" in str(fault) for fault in report.faults)


# --- ledgers from before ------------------------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a ledger that is not there yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/old.db"
    return str(request.getfixturevalue("postgres_server").url(request.getfixturevalue("postgres_database")))


def _old_ledger(place: str, patch: pytest.MonkeyPatch) -> None:
    """The golden ledger as revision 0004 held it: only the columns that it had."""
    stored = json.loads(GOLDEN.read_text(encoding="utf-8"))
    patch.setattr(migrate, "HEAD_REVISION", "0004")
    database = Database.open(place)
    metadata = sa.MetaData()
    with database.write() as connection:
        metadata.reflect(connection)
        old = metadata.tables
        opening = json.loads(stored["entries"][0]["document"])
        cap = Cost.from_json(opening["terms"]["cap"])
        connection.execute(
            old["accounts"]
            .insert()
            .values(
                name="cps",
                **{key: opening["terms"][key] for key in ("population", "unit", "max_rows", "composition")},
                cap_epsilon=cap.epsilon.units,
                cap_delta=cap.delta.units,
                cap_geo=cap.geo.units,
                wrapped_digest_key=bytes.fromhex(stored["wrapped_digest_key"]),
                seq=0,
                head="0" * 64,
                spent_epsilon=0,
                spent_delta=0,
                spent_geo=0,
            )
        )
        commitment = json.loads(stored["events"][0]["document"])["evidence"]["commitment"]
        connection.execute(
            old["versions"]
            .insert()
            .values(
                dataset="cps1988",
                version="1",
                account="cps",
                commitment=commitment,
                wrapped_root=bytes.fromhex(stored["wrapped_root"]),
                seq=0,
                head="0" * 64,
            )
        )
        for record in stored["events"]:
            body = json.loads(record["document"])
            kept = {key: body[key] for key in ("dataset", "version", "seq", "kind", "state", "prev")}
            connection.execute(old["events"].insert().values(**kept, **record))
        from trasgo_lib.records import documents

        for record in stored["entries"]:
            entry = documents.read_entry(record["document"])
            drawn = entry.reservation
            connection.execute(
                old["entries"]
                .insert()
                .values(
                    account="cps",
                    seq=entry.seq,
                    kind=entry.kind,
                    dataset=drawn and drawn.dataset,
                    version=drawn and drawn.version,
                    identity=drawn and documents.identity(drawn),
                    epsilon=entry.cost.epsilon.units,
                    delta=entry.cost.delta.units,
                    geo=entry.cost.geo.units,
                    prev=entry.prev,
                    **record,
                )
            )
    assert "rho" not in old["entries"].columns and "cap_rho" not in old["accounts"].columns


def test_a_ledger_from_before_is_read_checked_and_charged(place: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        _old_ledger(place, patch)
    records = Records.open(place)
    account = records.account("cps")
    assert account.spent == Cost.of("1.5", "0.000000002648722", "13.86")
    assert (account.terms.composition, account.terms.partitions) == ("basic", ())
    report = records.check_chain()
    assert report.ok, report.faults
    stored = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert [entry.hash for entry in records.entries("cps")] == [entry["hash"] for entry in stored["entries"]]
    records.open_account(
        AccountTerms("new", "US adults", "row", 1, ZCDP, Cost.of(rho="1")), b"k", "ana", "2031-01-01T00:00:00+00:00"
    )
    records.create_version("cps1988", "2", "new", b"w", "e" * 64, "ana", "2031-01-01T00:00:00+00:00")
    assert records.check_chain().ok
    assert {column.name for column in METADATA.tables["entries"].columns} >= {"rho"}
