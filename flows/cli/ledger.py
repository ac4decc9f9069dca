"""``trasgo ledger``: accounts, what was charged to them, and whether the record is whole."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Table

from flows.cli.console import actor, err, guarded, home, out, say_json
from trasgo_lib.errors import ConfigError, Reason, StoreError

if TYPE_CHECKING:
    from tasks.places import VersionPlan
    from trasgo_lib.records import Account, Entry, Records, Transfer

app = typer.Typer(help="Accounts and their charges.", no_args_is_help=True)

_CONFIG = typer.Argument(help="A release file; it names the account and where the ledger is.")
_JSON = typer.Option(False, "--json", help="One JSON object on standard output.")
_EPSILON = typer.Option("0", "--epsilon", help="Cap for epsilon per privacy unit, decimal text: basic composition.")
_DELTA = typer.Option("0", "--delta", help="Cap for delta per privacy unit; beside --rho: where it is read as epsilon.")
_RHO = typer.Option("", "--rho", help="Cap for rho per privacy unit instead of epsilon: zCDP, or Renyi with an order.")
_ORDER = typer.Option(0, "--renyi-order", help="Renyi order that governs the account; --rho then caps its divergence.")
_PARTITION = typer.Option([], "--partition", help="Disjoint parts of the units: NAME=part,part,... Can be repeated.")
_PARTS = typer.Option(1, "--parts-per-unit", help="Most parts of a partition in which one unit has rows; asserted.")
_AT_DELTA = typer.Option(
    "0.000001", "--at-delta", help="Delta at which compositions of an account in epsilon are told."
)
_GEO = typer.Option("0", "--geo-per-km", help="Cap for geo epsilon per kilometre and privacy unit.")
_POPULATION = typer.Option(..., "--population", help="Whose records the account protects, in words; recorded for good.")
_IF_ABSENT = typer.Option(False, "--if-absent", help="Do nothing when the account is open on these terms.")
_TO = typer.Option(..., "--to", help="URL of the new database, without a password: postgresql+psycopg://...")
_PASSWORD_ENV = typer.Option("", "--password-env", help="Variable that holds its password, instead of PGPASSWORD.")
_DRY_RUN = typer.Option(False, "--dry-run", help="Only say what would be moved.")


@app.command("open")
def open_account(
    config: Path = _CONFIG,
    epsilon: str = _EPSILON,
    delta: str = _DELTA,
    geo_per_km: str = _GEO,
    rho: str = _RHO,
    renyi_order: int = _ORDER,
    partition: list[str] = _PARTITION,
    parts_per_unit: int = _PARTS,
    population: str = _POPULATION,
    if_absent: bool = _IF_ABSENT,
) -> None:
    """Open the account a release file names: caps, composition, population, unit and parts are fixed for good."""
    with guarded():
        from flows.cli.ledger_account import cap_in_epsilon, composition_of, partitions_of
        from tasks.places import open_records, wrapping_key
        from tasks.rotation import require_key_of
        from tasks.version_life import now
        from trasgo_lib.budget import Cost
        from trasgo_lib.config import holds_area
        from trasgo_lib.keys import digest_key_context, new_secret
        from trasgo_lib.records import AccountTerms
        from trasgo_lib.training import read_product

        composition = composition_of(epsilon, delta, rho, renyi_order)
        partitions = partitions_of(partition, parts_per_unit)
        if holds_area(config):
            _open_devices(config, population, asks_cap=any((epsilon != "0", delta != "0", rho, partitions)))
            return
        plan = read_product(config).base
        records = open_records(plan, create=True)
        records.require_open()
        terms = AccountTerms(
            name=plan.account,
            population=population,
            unit=plan.privacy_unit,
            max_rows=plan.max_rows,
            composition=composition.text,
            cap=Cost.of("0", "0", geo_per_km, rho) if rho else Cost.of(epsilon, delta, geo_per_km),
            partitions=partitions,
        )
        existing = next((account for account in records.accounts() if account.terms.name == plan.account), None)
        if existing is not None and if_absent and existing.terms == terms:
            out.print(f"Account {plan.account}: open, {terms.in_words(existing.left)} left", markup=False)
            return
        key = wrapping_key(plan, home())
        require_key_of(records, key)
        wrapped = key.wrap(new_secret(os.urandom), digest_key_context(plan.account), os.urandom)
        account = records.open_account(terms, wrapped, actor(), now())
        cap, meant = terms.in_words(terms.cap), cap_in_epsilon(account)
        means = "" if meant is None else f"; epsilon {meant} at delta {composition.delta.text}"
        out.print(f"Account {plan.account}: opened, cap {cap}{means}", markup=False)


@app.command("show")
def show(config: Path = _CONFIG, at_delta: str = _AT_DELTA, as_json: bool = _JSON) -> None:
    """What the account of a release file allows, has spent, on what, and what every composition makes of it."""
    with guarded(as_json):
        from flows.cli.ledger_account import cap_in_epsilon, figures, figures_table
        from trasgo_lib.amounts import Delta

        plan, records = _open(config, create=False)
        account = records.account(plan.account)
        governing = account.terms.governing
        entries = [entry for entry in records.entries(plan.account) if entry.reservation is not None]
        delta = governing.delta if governing.delta.units else Delta.parse(at_delta, where="--at-delta")
        found = figures(account, entries, delta)
        if as_json:
            say_json(
                {
                    "account": plan.account,
                    "population": account.terms.population,
                    "unit": account.terms.unit,
                    "max_rows": account.terms.max_rows,
                    "composition": account.terms.composition,
                    "partitions": [
                        {"name": one.name, "parts": list(one.parts), "parts_per_unit": one.parts_per_unit}
                        for one in account.terms.partitions
                    ],
                    "cap_in_epsilon": cap_in_epsilon(account),
                    "compositions": None if found is None else found.to_json() | {"governs": governing.rule},
                    "cap": account.terms.cap.to_json(),
                    "spent": account.spent.to_json(),
                    "left": account.left.to_json(),
                    "head": account.head,
                    "entries": [
                        {
                            "seq": entry.seq,
                            "at": entry.at,
                            "release": f"{entry.reservation.dataset}/{entry.reservation.version}",
                            "unit": entry.reservation.unit,
                            "attempt": entry.reservation.attempt,
                            "level": entry.reservation.level,
                            "part": None if entry.reservation.part is None else list(entry.reservation.part),
                            "cost": entry.cost.to_json(),
                            "hash": entry.hash,
                        }
                        for entry in entries
                        if entry.reservation is not None
                    ],
                }
            )
            return
        _print_account(account, cap_in_epsilon(account))
        out.print(_entry_table(entries))
        if found is not None:
            parts = ", parts one after another" if account.terms.partitions else ""
            out.print(f"\nAll draws so far{parts}, at delta {delta.text}:", markup=False)
            out.print(figures_table(found, governing))


@app.command("check")
def check(config: Path = _CONFIG, as_json: bool = _JSON) -> None:
    """Recompute every hash, total and cap of the whole ledger."""
    with guarded(as_json):
        _, records = _open(config, create=False)
        report, moved = records.check_chain(), records.relocation()
        if as_json:
            say_json(
                {
                    "moved_to": moved.peer if moved is not None and moved.state == "moved" else None,
                    "ok": report.ok,
                    "entries": report.entries,
                    "events": report.events,
                    "heads": [{"chain": head.chain, "seq": head.seq, "hash": head.hash} for head in report.heads],
                    "faults": [str(fault) for fault in report.faults],
                }
            )
        else:
            out.print(f"{report.entries} ledger entries, {report.events} lifecycle events: " + _verdict(report.ok))
            for head in report.heads:
                out.print(f"  {head.chain}: {head.seq} records, head {head.hash}", markup=False)
            if moved is not None:
                word = "moved to" if moved.state == "moved" else "is arriving from"
                out.print(f"  this ledger {word} {moved.peer} ({moved.at[:10]}); it takes no record", markup=False)
            for fault in report.faults:
                err.print(str(fault), markup=False)
        if not report.ok:
            raise typer.Exit(StoreError.exit_code)


@app.command("migrate")
def migrate(
    config: Path = _CONFIG,
    to: str = _TO,
    password_env: str = _PASSWORD_ENV,
    dry_run: bool = _DRY_RUN,
    as_json: bool = _JSON,
) -> None:
    """Move the ledger from its SQLite file to a PostgreSQL server, and close the old one for good."""
    with guarded(as_json):
        from tasks.places import password_from
        from tasks.version_life import now
        from trasgo_lib.config import ledger_address
        from trasgo_lib.records import Database, plan_transfer, transfer

        _, records = _open(config, create=False)
        password = password_from(password_env) if password_env else None
        target = Database.unprepared(ledger_address(to), password=password)
        done = plan_transfer(records, target) if dry_run else transfer(records, target, actor(), now())
        url = target.address.url
        if as_json:
            say_json(_transfer_document(done, url, moved=not dry_run))
            return
        _print_transfer(done)
        if dry_run:
            out.print("Dry run: nothing was changed.", markup=False)
        elif done.finished:
            out.print(f"Moved before, to {url}. Nothing was changed.", markup=False)
        else:
            out.print("Moved: counts, heads and totals are the same. The old file takes no record any more.")
        if not dry_run:
            out.print(f'Now write in every release file of this ledger:\n  ledger: {{url: "{url}"}}', markup=False)


def _transfer_document(done: Transfer, url: str, *, moved: bool) -> dict[str, object]:
    contents = done.contents
    return {
        "to": url,
        "moved": moved,
        "moved_before": done.finished,
        "counts": dict(contents.counts),
        "present": dict(done.present),
        "heads": [{"chain": head.chain, "seq": head.seq, "hash": head.hash} for head in contents.heads],
        "spent": {name: spent.to_json() for name, spent in contents.spent.items()},
    }


def _print_transfer(done: Transfer) -> None:
    for name, count in done.contents.counts.items():
        out.print(f"{name:9} {count} rows, {done.present[name]} of them there already", markup=False)
    for head in done.contents.heads:
        out.print(f"  {head.chain}: {head.seq} records, head {head.hash}", markup=False)
    for name, spent in done.contents.spent.items():
        out.print(f"  account {name}: spent {spent}", markup=False)


def _entry_table(entries: Sequence[Entry]) -> Table:
    names = ("epsilon", "delta", "geo per km", "rho")
    used = [place for place in range(4) if any(entry.cost.components[place].units for entry in entries)]
    shown = (names[place] for place in used)
    table = Table("seq", "day", "release", "noise unit", "draw", "level", *shown, box=None, pad_edge=False)
    for entry in entries:
        drawn = entry.reservation
        if drawn is not None:
            amounts = (entry.cost.components[place].text for place in used)
            release = f"{drawn.dataset}/{drawn.version}"
            table.add_row(str(entry.seq), entry.at[:10], release, drawn.unit, str(drawn.attempt), drawn.level, *amounts)
    return table


def _verdict(ok: bool) -> str:
    return "every hash, total and cap holds" if ok else "BROKEN"


def _print_account(account: Account, meant: str | None) -> None:
    terms = account.terms
    unit = "each row" if terms.unit == "row" else f"each {terms.unit} (at most {terms.max_rows} rows)"
    out.print(f"Account {terms.name}: {terms.population}", markup=False)
    out.print(f"  protects {unit}; composition: {terms.composition}", markup=False)
    for one in terms.partitions:
        out.print(f"  {one.name}: {', '.join(one.parts)}; a unit in at most {one.parts_per_unit} of them", markup=False)
    for word, amounts in (("cap", terms.cap), ("spent", account.spent), ("left", account.left)):
        means = f"; epsilon {meant} at delta {terms.governing.delta.text}" if meant and word == "cap" else ""
        out.print(f"  {word:5} {terms.in_words(amounts)}{means}", markup=False)


def _open_devices(config: Path, population: str, *, asks_cap: bool) -> None:
    """The account of a collection's devices: its cap is theirs, and stands in the collection file."""
    from tasks.collection_life import any_window, open_account
    from tasks.places import open_records, wrapping_key

    if asks_cap:
        raise ConfigError.of(
            Reason.BAD_PARAMETER,
            "cap",
            required="none: that of a collection's devices is device.lifetime_epsilon",
            came="one",
            fix="Leave it out.",
        )
    plan = any_window(config)
    records = open_records(plan, create=True)
    records.require_open()
    open_account(records, plan, wrapping_key(plan, home()), actor(), population)
    account = records.account(plan.account)
    out.print(f"Account {plan.account}: open, cap {account.terms.in_words(account.terms.cap)}", markup=False)


def _open(config: Path, *, create: bool) -> tuple[VersionPlan, Records]:
    from tasks.places import open_records
    from tasks.products import plan_of

    plan = plan_of(config)
    return plan, open_records(plan, create=create)
