"""A prior with the place of every key, whether it stands in the release file or in a file of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from trasgo_lib.config.document import Document, KeyPath, read_document
from trasgo_lib.config.faults import faults_of, placed_fault
from trasgo_lib.config.load import read_text
from trasgo_lib.config.prior import IN_RELEASE_FILE, PriorDocument, PriorSpec
from trasgo_lib.config.release import ReleaseConfig
from trasgo_lib.errors import ConfigError, Fault, Reason


@dataclass(frozen=True, slots=True)
class LoadedPrior:
    """A prior that has the right shape.

    Args:
        spec: its models.
        document: values and marks of the file it stands in.
        root: path to its keys in that file.
        file: name of its own file, or empty when it stands in the release file.
    """

    spec: PriorSpec
    document: Document
    root: KeyPath
    file: str

    def fault(self, reason: Reason, path: KeyPath, *, required: str, came: str, fix: str) -> Fault:
        """A fault at a key of the prior, with its line, its column and its name."""
        found = placed_fault(self.document, reason, (*self.root, *path), required=required, came=came, fix=fix)
        return _named(found, self.file)


def prior_here(config: ReleaseConfig, document: Document) -> LoadedPrior | None:
    """The prior that stands in a release file itself, or None."""
    spec = config.prior
    return LoadedPrior(spec, document, ("prior",), "") if isinstance(spec, PriorSpec) else None


def load_prior(path: Path) -> LoadedPrior:
    """Read the file of a prior.

    Args:
        path: a YAML 1.2 file in UTF-8; that it may be public is for the caller to check first.

    Raises:
        ConfigError: all faults at once, each with file, line, column, key, what was required, what came, what to do.
    """
    try:
        document = read_document(read_text(path))
        return LoadedPrior(_validated(document), document, (), path.name)
    except ConfigError as error:
        raise ConfigError(*(_named(fault, path.name) for fault in error.faults)) from None


def _validated(document: Document) -> PriorSpec:
    if not isinstance(document.value, Mapping):
        required, fix = "a mapping that holds `public: true`", "See `prior` in configs/README.md."
        came = "an empty file" if document.value is None else "something else"
        raise ConfigError(
            *document.faults, placed_fault(document, Reason.BAD_SHAPE, (), required=required, came=came, fix=fix)
        )
    try:
        spec = PriorDocument.model_validate(document.value)
    except ValidationError as error:
        raise ConfigError(*document.faults, *faults_of(error, document, IN_RELEASE_FILE)) from None
    if document.faults:
        raise ConfigError(*document.faults)
    return spec


def _named(fault: Fault, file: str) -> Fault:
    if not file or fault.where.startswith(file) or Path(fault.where).name == file:
        return fault  # a fault of the whole file names its path
    return replace(fault, where=f"{file}: {fault.where}")
