"""``trasgo ledger``: accounts, what was charged to them, and whether the record is whole."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Table

from flows.cli.console import actor, err, guarded, home, out, say_json
from trasgo_lib.errors import StoreError

if TYPE_CHECKING:
    from trasgo_lib.plan import ReleasePlan
    from trasgo_lib.records import Account, Entry, Records, Transfer

app = typer.Typer(help="Accounts and their charges.", no_args_is_help=True)

_CONFIG = typer.Argument(help="A release file; it names the account and where the ledger is.")
_JSON = typer.Option(False, "--json", help="One JSON object on standard output.")
_EPSILON = typer.Option(..., "--epsilon", help="Cap for epsilon per privacy unit, decimal text.")
_DELTA = typer.Option("0", "--delta", help="Cap for delta per privacy unit.")
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
    population: str = _POPULATION,
    if_absent: bool = _IF_ABSENT,
) -> None:
    """Open the account a release file names: caps, population and unit are fixed for good."""
    with guarded():
        from tasks.places import wrapping_key
        from tasks.rotation import require_key_of
        from tasks.session import now
        from trasgo_lib.budget import Cost
        from trasgo_lib.keys import digest_key_context, new_secret
        from trasgo_lib.records import AccountTerms

        plan, records = _open(config, create=True)
        records.require_open()
        terms = AccountTerms(
            name=plan.account,
            population=population,
            unit=plan.privacy_unit,
            max_rows=plan.max_rows,
            composition="basic",
            cap=Cost.of(epsilon, delta, geo_per_km),
        )
        existing = next((account for account in records.accounts() if account.terms.name == plan.account), None)
        if existing is not None and if_absent and existing.terms == terms:
            out.print(f"Account {plan.account}: open, {existing.left} left", markup=False)
            return
        key = wrapping_key(plan, home())
        require_key_of(records, key)
        wrapped = key.wrap(new_secret(os.urandom), digest_key_context(plan.account), os.urandom)
        account = records.open_account(terms, wrapped, actor(), now())
        out.print(f"Account {plan.account}: opened, cap {account.terms.cap}", markup=False)


@app.command("show")
def show(config: Path = _CONFIG, as_json: bool = _JSON) -> None:
    """What the account of a release file allows, has spent, and on what."""
    with guarded(as_json):
        plan, records = _open(config, create=False)
        account = records.account(plan.account)
        entries = [entry for entry in records.entries(plan.account) if entry.reservation is not None]
        if as_json:
            say_json(
                {
                    "account": plan.account,
                    "population": account.terms.population,
                    "unit": account.terms.unit,
                    "max_rows": account.terms.max_rows,
                    "composition": account.terms.composition,
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
                            "cost": entry.cost.to_json(),
                            "hash": entry.hash,
                        }
                        for entry in entries
                        if entry.reservation is not None
                    ],
                }
            )
            return
        _print_account(account)
        out.print(_entry_table(entries))


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
        from tasks.session import now
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
    names = ("epsilon", "delta", "geo per km")
    used = [place for place in range(3) if any(entry.cost.components[place].units for entry in entries)]
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


def _print_account(account: Account) -> None:
    terms = account.terms
    unit = "each row" if terms.unit == "row" else f"each {terms.unit} (at most {terms.max_rows} rows)"
    out.print(f"Account {terms.name}: {terms.population}", markup=False)
    out.print(f"  protects {unit}; {terms.composition} composition", markup=False)
    for word, amounts in (("cap", terms.cap), ("spent", account.spent), ("left", account.left)):
        out.print(f"  {word:5} {amounts}", markup=False)


def _open(config: Path, *, create: bool) -> tuple[ReleasePlan, Records]:
    from tasks.places import open_records
    from trasgo_lib.training import read_product

    plan = read_product(config).base
    return plan, open_records(plan, create=create)
