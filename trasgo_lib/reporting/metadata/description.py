"""What every standard is written from: the run, its columns and its data files; and the words they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from trasgo_lib.reporting import wording
from trasgo_lib.reporting.facts import ReleaseFacts
from trasgo_lib.reporting.metadata.variables import Variable, variables

if TYPE_CHECKING:
    from trasgo_lib.config import ReleaseInfo

ERRATA = "../_ERRATA/"
"""Where corrections of this data set are announced, seen from a release. Known before there is any."""

STATEMENT, CHANNEL, REPORT, HOWTO = "statement.json", "channel.json", "report.html", "HOWTO_ANALYSE.md"

_LICENCES = {
    "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC-BY-SA-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "CC-BY-NC-4.0": "https://creativecommons.org/licenses/by-nc/4.0/",
    "CC-PDM-1.0": "https://creativecommons.org/publicdomain/mark/1.0/",
    "PDDL-1.0": "https://opendatacommons.org/licenses/pddl/1-0/",
    "ODC-By-1.0": "https://opendatacommons.org/licenses/by/1-0/",
    "ODbL-1.0": "https://opendatacommons.org/licenses/odbl/1-0/",
    "OGL-UK-3.0": "https://www.nationalarchives.gov.uk/doc/open-government-licence/version/3/",
    "etalab-2.0": "https://spdx.org/licenses/etalab-2.0.html",
    "DL-DE-BY-2.0": "https://www.govdata.de/dl-de/by-2-0",
    "DL-DE-ZERO-2.0": "https://www.govdata.de/dl-de/zero-2-0",
}
"""Address of the licences that statistical offices use, by SPDX name; another one is declared by its address."""


class PublishedFile(Protocol):
    """A staged file of the package."""

    @property
    def key(self) -> str:
        """Its path inside the release."""

    @property
    def sha256(self) -> str:
        """Digest of its bytes, hex."""

    @property
    def bytes(self) -> int:
        """Its length."""


class Described(Protocol):
    """A published package, of rows or of answers, as catalogues and codebooks see it. All public."""

    @property
    def info(self) -> ReleaseInfo:
        """What the release file says of the release."""

    @property
    def dataset(self) -> str:
        """Name of the data set."""

    @property
    def version(self) -> str:
        """Version of the release."""

    @property
    def created(self) -> str:
        """When it was made, ISO 8601 with a time zone."""

    @property
    def rows(self) -> int:
        """Number of rows of the source."""

    @property
    def data(self) -> Sequence[PublishedFile]:
        """The staged data files."""

    @property
    def content_words(self) -> str:
        """What the data files hold, to begin a title with."""

    @property
    def kind_words(self) -> str:
        """What kind of publication it is, for a citation."""

    @property
    def privacy_in_words(self) -> str:
        """The paragraph of the privacy statement."""

    @property
    def licence_address(self) -> str | None:
        """Address of the licence, where it is known."""

    @property
    def summary(self) -> str:
        """The description of the release, never empty."""

    @property
    def erratum(self) -> str | None:
        """Where it is said why this version takes the place of another one; None when it takes none's."""

    @property
    def supersedes_in_words(self) -> str | None:
        """Which version this one takes the place of and why; None when it takes none's."""

    @property
    def citation(self) -> str:
        """How the release is cited."""

    @property
    def pages(self) -> tuple[str, ...]:
        """Files of the package that are for people."""


class SharedWords:
    """What follows, for every kind of package, from what its file says."""

    @property
    def pages(self) -> tuple[str, ...]:
        """Files of the package that are for people."""
        return ("codebook.md", REPORT, HOWTO)

    @property
    def licence_address(self: Described) -> str | None:
        """Address of the licence, where the release file gives a name or an address that is known."""
        licence = self.info.licence
        return licence if licence.startswith(("https://", "http://")) else _LICENCES.get(licence)

    @property
    def summary(self: Described) -> str:
        """The description of the release, never empty."""
        return self.info.description or self.info.title

    @property
    def erratum(self: Described) -> str | None:
        """Where it is said why this version takes the place of another one; None when it takes none's."""
        return None if self.info.supersedes is None else f"{ERRATA}{self.version}.json"

    @property
    def supersedes_in_words(self: Described) -> str | None:
        """Which version this one takes the place of and why; None when it takes none's."""
        declared = self.info.supersedes
        if declared is None:
            return None
        how = {"error": "Corrects an error in", "revision": "Is the planned revision of"}[declared.reason]
        stop = "" if declared.note.rstrip().endswith((".", "!", "?")) else "."
        return f"{how} version {declared.version} and takes its place: {declared.note.rstrip()}{stop}"

    @property
    def citation(self: Described) -> str:
        """How the release is cited. The year is that of its making: when it was published is not known to it."""
        publisher = "" if self.info.publisher is None else f"{self.info.publisher.name}: "
        year = self.created[:4]
        return f"{publisher}{self.info.title}. {self.kind_words}, {self.dataset} version {self.version}, {year}."


@dataclass(frozen=True)
class Description(SharedWords):
    """One release of rows, as its metadata see it. All public.

    Args:
        facts: what the run states about itself.
        data: the staged data files.
        schema: Arrow schema of the staged Parquet file.
    """

    facts: ReleaseFacts
    data: Sequence[PublishedFile]
    schema: pa.Schema
    content_words: str = "Released rows"
    kind_words: str = "Noised microdata"

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The published columns, in order."""
        return variables(self.facts, self.schema)

    @property
    def info(self) -> ReleaseInfo:
        """What the release file says of the release."""
        return self.facts.plan.config.release

    @property
    def dataset(self) -> str:
        """Name of the data set."""
        return self.facts.plan.dataset

    @property
    def version(self) -> str:
        """Version of the release."""
        return self.facts.plan.version

    @property
    def created(self) -> str:
        """When it was made, ISO 8601 with a time zone."""
        return self.facts.created

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.facts.rows

    @property
    def csv(self) -> PublishedFile | None:
        """The CSV file, where it is published."""
        return next((file for file in self.data if file.key.endswith(".csv")), None)

    @property
    def privacy_in_words(self) -> str:
        """The paragraph of the privacy statement."""
        return wording.in_plain_words(self.facts)


CSV_NULLS = (
    "In the CSV file a null is an empty field without quotation marks, and an empty text is two quotation marks;"
    " readers that do not tell them apart take both for a null. The Parquet file keeps them apart."
)
"""What a reader of a text column of the CSV file has to know."""


def noise_in_words(variable: Variable) -> str:
    """What was done to a column, in one paragraph."""
    noise = variable.noise
    if noise is None:
        return "Published as it is in the source, without noise."
    words = f"Noised by {noise.mechanism} ({noise.in_words})."
    if noise.bins is not None:
        words += f" Published values are the middle values of {noise.bins} equal bins."
    words += f" Missing values: {noise.missing}. Values outside the declared ones: {noise.outside}."
    return words + f" Its law, and the decoder that undoes its bias, stand in {CHANNEL} under {noise.unit}."
