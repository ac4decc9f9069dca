"""What an account is opened on, and what every composition says about its spends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from trasgo_lib.errors import ConfigError, Reason

if TYPE_CHECKING:
    from trasgo_lib.amounts import Delta
    from trasgo_lib.budget import Composition, LossEvent, Partition
    from trasgo_lib.budget.composition import Compositions
    from trasgo_lib.records import Account, Entry

_RULES = (
    ("basic", "basic", ""),
    ("advanced", "advanced", "had all been declared in advance"),
    ("zcdp", "zCDP", ""),
    ("renyi", "Renyi", "at the best order"),
    ("pld", "PLD", "had all been declared in advance"),
)


def composition_of(epsilon: str, delta: str, rho: str, order: int) -> Composition:
    """The composition that the caps of ``ledger open`` ask for.

    Raises:
        ConfigError: caps of two compositions, or a rho without its delta.
    """
    from trasgo_lib.amounts import Delta
    from trasgo_lib.budget import Composition

    if not rho:
        if order:
            raise _wrong("--rho with --renyi-order", "none", "Add --rho and --delta.")
        return Composition("basic")
    if epsilon != "0":
        raise _wrong("--epsilon, or --rho", "both", "An account counts in one of them.")
    at = Delta.parse(delta, where="--delta", zero=True)
    if not at.units:
        raise _wrong("--delta beside --rho", "none", "Add --delta, at which the cap is read as an epsilon.")
    return Composition("renyi", at, order) if order else Composition("zcdp", at)


def partitions_of(texts: Sequence[str], parts_per_unit: int) -> tuple[Partition, ...]:
    """Declared partitions, each written as ``NAME=part,part,...``.

    Raises:
        ConfigError: another form, or parts that are none.
    """
    from trasgo_lib.budget import Partition

    found = []
    for text in texts:
        name, _, parts = text.partition("=")
        found.append(Partition(name.strip(), tuple(part.strip() for part in parts.split(",")), parts_per_unit))
    return tuple(found)


def cap_in_epsilon(account: Account) -> str | None:
    """What a cap in rho means as an epsilon at the account's delta; None under basic composition or without a rho."""
    from trasgo_lib.budget import RenyiFilter, ZcdpFilter

    governing, cap = account.terms.governing, account.terms.cap.rho
    if governing.rule == "basic" or not cap.units:
        return None
    fixed = ZcdpFilter(cap) if governing.rule == "zcdp" else RenyiFilter(governing.order, cap)
    return fixed.epsilon(governing.delta).text


def figures(account: Account, entries: Sequence[Entry], delta: Delta) -> Compositions | None:
    """What every composition says about an account's charges, counted one after another; None when there are none.

    Points are left out: their loss is per kilometre and has a column of its own.
    """
    from trasgo_lib.budget import GeoEvent
    from trasgo_lib.budget.composition import compositions

    drawn = [entry.reservation for entry in entries if entry.reservation is not None]
    events = [one.event for one in drawn if not isinstance(one.event, GeoEvent)]
    return compositions(events, delta, account.terms.max_rows, _declared(entries)) if events else None


def _declared(entries: Sequence[Entry]) -> list[LossEvent]:
    """The draws as a plan in advance would hold them: a chain as one draw of the highest level that was looked at."""
    from trasgo_lib.budget import GeoEvent, PureEvent, RevealEvent

    chains: dict[tuple[str, ...], PureEvent] = {}
    others: list[LossEvent] = []
    for entry in entries:
        one = entry.reservation
        if one is None or isinstance(one.event, GeoEvent):
            continue
        if isinstance(one.event, RevealEvent) and not one.event.delta.units:
            chain = (one.dataset, one.version, one.commitment, one.unit, one.chain_digest, one.input_digest)
            seen = chains.get(chain)
            if seen is None or seen.epsilon < one.event.level:
                chains[chain] = PureEvent(one.event.level)
        else:
            others.append(one.event)
    return [*others, *chains.values()]


def figures_table(found: Compositions, governing: Composition) -> Table:
    """The figures for people; the one that governs is marked."""
    table = Table("", "composition", "epsilon", "", box=None, pad_edge=False)
    told = {"basic": f"and delta {found.basic_delta}", "zcdp": f"rho {found.rho}"}
    for name, shown, words in _RULES:
        value = found.to_json()[name]
        text = "not known" if value is None else _short(value)
        beside = words if value is None or name not in told else told[name]
        table.add_row("governs" if name == governing.rule else "", shown, text, beside)
    return table


def _short(value: object) -> str:
    return value if isinstance(value, str) else f"{value:.4f}"


def _wrong(required: str, came: str, fix: str) -> ConfigError:
    return ConfigError.of(Reason.BAD_PARAMETER, "cap", required=required, came=came, fix=fix)
