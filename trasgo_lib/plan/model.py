"""The plan: a release file whose every name, channel, rung and worst-case cost is resolved, before data is opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trasgo_lib.amounts import Delta, Epsilon, Geo
from trasgo_lib.budget import LossEvent, RevealEvent
from trasgo_lib.config import LossName, ReleaseConfig, dask_of
from trasgo_lib.data import Domain
from trasgo_lib.mechanisms import Chain, Channel
from trasgo_lib.plan.channels import Parameter, chain_of, channel_of
from trasgo_lib.plan.prior import PublicPrior
from trasgo_lib.plan.selection import MechanismSelection

Role = Literal["noised", "public", "drop", "unit"]
PartType = Literal["number", "category", "date"]
UnitType = PartType | Literal["point", "group"]
Members = tuple[tuple[str, tuple[str, ...]], ...]
"""Coarse codes, each with the codes of the file that it holds."""
MissingPolicy = Literal["error", "code", "replace"]
Outside = Literal["clip", "reject"]


@dataclass(frozen=True, slots=True)
class Target:
    """A loss and its ceiling, both public; ``ceiling`` is exact decimal text (percent for correlation_loss)."""

    loss: LossName
    ceiling: str


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """How one source column is read and what becomes of it.

    Args:
        name: name in the release.
        role: what becomes of it.
        sources: its columns in the file: one, or latitude and longitude for a point.
        unit: name of the noise unit it belongs to, or None when it is not noised.
        released: names of the released columns it gives: none, one, or two for a point.
    """

    name: str
    role: Role
    sources: tuple[str, ...]
    unit: str | None
    released: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartPlan:
    """One column of a group: how it is read and measured. All public.

    Args:
        name: name of the column, in the release too.
        type: declared type.
        domain: its own declared domain.
        noise_bins: equal bins that the group works on, or None where every value counts.
        missing: as in ``UnitPlan``; under ``code`` the missing code is part of the group's domain.
        fill: the code that replaces a missing value under ``replace``, else None.
        missing_codes: texts that mean missing in this column, beside those of the file.
        date_format: how days are written in the file, or None.
        outside: what happens to values outside the domain.
        bins: bins of the divergences, for numbers and dates; None for labels.
        members: the codes of the file by coarse code, or empty where the file holds the domain's own codes.
    """

    name: str
    type: PartType
    domain: Domain
    noise_bins: int | None
    missing: MissingPolicy
    fill: int | None
    missing_codes: tuple[str, ...]
    date_format: str | None
    outside: Outside
    bins: int | None
    members: Members


@dataclass(frozen=True, slots=True)
class UnitPlan:
    """One noise unit: its columns, domain, mechanism, rungs and target. All public.

    Args:
        name: column or group name.
        type: declared type.
        columns: names of the released columns (one; a group has several; a point has latitude and longitude).
        domain: the declared domain.
        mechanism: registry name.
        parameters: what the mechanism takes beside domain and level, as decimal text, sorted by name.
        missing: ``error``, ``code`` (a missing value is one more code) or ``replace`` (``fill`` is its code).
        fill: the code that replaces a missing value under ``replace``, else None.
        missing_codes: texts that mean missing in this column, beside those of the file.
        date_format: how days are written in the file, or None.
        outside: what happens to values outside the domain.
        rungs: levels the loop may draw, rising; one entry for a unit without target; ``(Epsilon(0),)`` for points.
        delta: delta of each draw; 0 for pure channels.
        geo: geo epsilon of each draw; 0 for all but points.
        target: ceiling of a loss, or None.
        bins: bins of the divergences, for numbers and dates; None for labels and points.
        draws_at_most: most draws the loop can make within the total, at least 1.
        is_chained: whether the levels are one chain of coupled draws, revealed upwards; else every draw is fresh.
        chain_digest: SHA-256 over everything that fixes the unit's draws: mechanism and version, parameters, domain,
            missing policy, outside policy, columns, rungs, deltas.
        members: the codes of the file by coarse code, or empty where the file holds the domain's own codes.
        parts: the columns of a group, in its order; empty for every other unit. What a group says itself of missing
            values, dates and bounds is void: each part has its own.
        selection: how ``auto`` came to the mechanism, or None where the release file names it.
    """

    name: str
    type: UnitType
    columns: tuple[str, ...]
    domain: Domain
    mechanism: str
    parameters: tuple[tuple[str, Parameter], ...]
    missing: MissingPolicy
    fill: int | None
    missing_codes: tuple[str, ...]
    date_format: str | None
    outside: Outside
    rungs: tuple[Epsilon, ...]
    delta: Delta
    geo: Geo
    target: Target | None
    bins: int | None
    draws_at_most: int
    is_chained: bool
    chain_digest: str
    members: Members = ()
    parts: tuple[PartPlan, ...] = ()
    selection: MechanismSelection | None = None

    def part(self, name: str) -> PartPlan:
        """The part of a group that gives a column.

        Raises:
            KeyError: no such part.
        """
        for part in self.parts:
            if part.name == name:
                return part
        raise KeyError(name)

    def channel(self, level: Epsilon) -> Channel:
        """The channel of one rung; built once per process and kept.

        Args:
            level: one of ``rungs``.

        Raises:
            ValueError: a level that is not a rung: drawing there was never planned.
        """
        if level not in self.rungs:
            raise ValueError(f"{level} is not a rung of {self.name}")
        if self.is_chained:
            return self.chain.channel(level)
        return channel_of(self.mechanism, self.domain, level, self.parameters)

    @property
    def chain(self) -> Chain:
        """The coupled channels of all rungs; built once per process and kept.

        Raises:
            ValueError: the unit is not chained.
        """
        if not self.is_chained:
            raise ValueError(f"the draws of {self.name} are not coupled")
        return chain_of(self.mechanism, self.domain, self.rungs, self.parameters)

    def event(self, level: Epsilon, before: Epsilon) -> LossEvent:
        """The loss event of looking at a level.

        Args:
            level: one of ``rungs``.
            before: the highest level of this unit looked at so far, 0 when there is none; only a chain cares.
        """
        if self.is_chained:
            return RevealEvent(level, before, self.delta)
        return self.channel(level).event


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """A whole release, resolved. All public.

    Args:
        config: the release file's models.
        config_path: the release file.
        source_path: the file of raw rows.
        dataset: name of the data set.
        version: version of the release.
        account: the account that pays.
        privacy_unit: ``row``, or the name of the column that says whose row it is.
        max_rows: most rows of one privacy unit; 1 for ``row``.
        row_order: ``shuffle`` or ``source``.
        epsilon_total: most epsilon per privacy unit.
        delta_total: most delta per privacy unit.
        geo_total: most geo epsilon per privacy unit, per km; 0 without points.
        columns: in release order.
        units: in release order.
        loss_from: what steers the loop.
        composition: how levels add up.
        on_unmet: what happens when a target cannot be met.
        max_rounds: most rounds.
        correlation: the correlation behind correlation_loss.
        digest: SHA-256 over everything privacy relevant, hex; frozen with the version at the first reserve. A prior is
            in it through what it decides, and not otherwise.
        prior: public knowledge of the values, or None.
    """

    config: ReleaseConfig
    config_path: Path
    source_path: Path
    dataset: str
    version: str
    account: str
    privacy_unit: str
    max_rows: int
    row_order: Literal["shuffle", "source"]
    epsilon_total: Epsilon
    delta_total: Delta
    geo_total: Geo
    columns: tuple[ColumnPlan, ...]
    units: tuple[UnitPlan, ...]
    loss_from: Literal["released", "original"]
    composition: Literal["chain", "sequential"]
    on_unmet: Literal["hold", "publish"]
    max_rounds: int
    correlation: Literal["pearson", "spearman", "kendall"]
    digest: str
    prior: PublicPrior | None = None

    @property
    def is_rehearsal(self) -> bool:
        """Whether its rows are made up; whatever comes of it says so and is never a release."""
        return self.config.rehearsal

    @property
    def rows_per_batch(self) -> int:
        """Rows of a stage file and of a Parquet row group; it changes the bytes of files and no draw."""
        return self.config.publish.rows_per_batch

    @property
    def shares_disk(self) -> bool:
        """Whether what draws sees the folders of this machine; in no digest, since no bit depends on it."""
        dask = dask_of(self.config.runner)
        return dask is None or dask.shared_disk is not False

    def unit(self, name: str) -> UnitPlan:
        """The noise unit of that name.

        Raises:
            KeyError: no such unit.
        """
        for unit in self.units:
            if unit.name == name:
                return unit
        raise KeyError(name)

    @property
    def public_root(self) -> str:
        """Folder or URI of the public root; folders are absolute."""
        publish = self.config.publish
        return self._root(publish.public) if publish.public else f"{self._root(publish.store or '')}/public"

    @property
    def restricted_root(self) -> str:
        """Folder or URI of the restricted root; folders are absolute."""
        publish = self.config.publish
        return self._root(publish.restricted) if publish.restricted else f"{self._root(publish.store or '')}/restricted"

    def _root(self, text: str) -> str:
        if "://" in text:
            return text.rstrip("/")
        return (self.config_path.parent / text).resolve().as_posix()
