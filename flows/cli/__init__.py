"""The ``trasgo`` command, one file a noun. Heavy packages are imported inside the commands that need them."""

from __future__ import annotations

import os

import typer

import trasgo_lib
from flows.cli import (
    approve,
    audit,
    collect,
    collect_serve,
    doctor,
    forecast,
    init,
    key,
    key_changes,
    ledger,
    plan,
    prior,
    query,
    run,
    status,
    train,
    verify,
    withdraw,
)

_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""One thread for matrix products, set before numpy is imported: the loop's are small, and threads that wait for each
other on a busy machine made a forecast with correlation targets six times slower (Adult, 30,000 rows: 89 s, not 15)."""

app = typer.Typer(
    name="trasgo",
    help="Release tabular microdata under local differential privacy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("init")(init.init)
app.command("doctor")(doctor.doctor)
app.command("plan")(plan.plan)
app.command("forecast")(forecast.forecast)
app.command("prior")(prior.prior)
app.command("run")(run.run)
app.command("resume")(run.resume)
app.command("query")(query.query)
app.command("train")(train.train)
app.command("verify")(verify.verify)
app.command("audit")(audit.audit)
app.command("status")(status.status)
app.command("approve")(approve.approve)
app.command("withdraw")(withdraw.withdraw)
key.app.command("rotate")(key_changes.rotate)
key.app.command("destroy")(key_changes.destroy)
app.add_typer(ledger.app, name="ledger")
app.add_typer(key.app, name="key")
collect_serve.add_to(collect.app)
app.add_typer(collect.app, name="collect")


def _version(value: bool) -> None:
    if value:
        typer.echo(trasgo_lib.__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Release tabular microdata under local differential privacy.

    Exit codes: 0 done, 1 anything else, 2 config, 3 input contract, 4 conflict with what this version already is,
    5 budget refused, 6 targets not met (held), 7 output check failed, 8 verification failed, 9 waiting for
    approval or embargo, 10 store or database unreachable, 11 interrupted but resumable.
    """


def main() -> None:
    """Entry point of the ``trasgo`` command."""
    for variable in _BLAS_THREADS:
        os.environ.setdefault(variable, "1")
    app()


__all__ = ["app", "main"]
