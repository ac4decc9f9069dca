"""A published model, opened by those who use it: numpy alone, no key, no account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data import CategoryDomain, DateDomain, Domain, NumberDomain, domain_from_description
from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.storage import ObjectStore, open_store
from trasgo_lib.training.features import EncodedRows, Feature, encoded
from trasgo_lib.training.network import WEIGHT_BITS, Matrix, activations, shares

_ROWS_AT_ONCE = 2**14


@dataclass(frozen=True, slots=True)
class Model:
    """A published model.

    Args:
        target: what it predicts.
        labels: its labels, in code order.
        features: its columns.
        domains: of each column.
        weights: of each layer: float64[inputs + 1, outputs].
        accuracy: as published, or None.
    """

    target: str
    labels: tuple[str, ...]
    features: tuple[Feature, ...]
    domains: tuple[Domain, ...]
    weights: tuple[Matrix, ...]
    accuracy: dict[str, Any] | None

    def predict(self, columns: Mapping[str, Any]) -> NDArray[np.str_]:
        """The likeliest label of each row.

        Args:
            columns: values by column, one list, array or series each; a data frame will do. Numbers and days outside
                their bounds are moved to them.

        Raises:
            InputContractError: a column is absent, or holds what its domain does not; no value is repeated.
        """
        found: NDArray[np.str_] = np.array(self.labels)[self.shares(columns).argmax(axis=1)]
        return found

    def shares(self, columns: Mapping[str, Any]) -> Matrix:
        """Probability of each label: float64[rows, labels], in the order of ``labels``; as ``predict``."""
        rows = self._encoded(columns)
        count = len(rows.codes[0])
        found = []
        for start in range(0, count, _ROWS_AT_ONCE):
            places = np.arange(start, min(start + _ROWS_AT_ONCE, count))
            found.append(shares(activations(self.weights, rows.inputs(places))[1]))
        return np.concatenate(found) if found else np.empty((0, len(self.labels)))

    def _encoded(self, columns: Mapping[str, Any]) -> EncodedRows:
        codes = {}
        for feature, domain in zip(self.features, self.domains, strict=True):
            try:
                values = columns[feature.name]
            except KeyError:
                raise _refused(feature.name, Reason.MISSING_COLUMN, "a column of this name", "none") from None
            codes[feature.name] = _codes(feature, domain, values)
        sizes = {len(found) for found in codes.values()}
        if len(sizes) > 1:
            raise _refused("columns", Reason.ROW_MISMATCH, "the same number of rows in each", "different ones")
        return encoded(self.features, codes)


def open_model(location: str | Path | ObjectStore, prefix: str = "") -> Model:
    """Open a published model; check it with ``trasgo verify`` first.

    Args:
        location: folder or URI of the package, or of a root that holds it, or an open store.
        prefix: where the package stands below that location.

    Raises:
        VerificationError: it is not a model of a form this version knows.
        StoreError: it cannot be reached.
    """
    # imported late: a plan imports this room, and reads no package
    from trasgo_lib.release import documents
    from trasgo_lib.release.model_file import MODEL

    store = location if isinstance(location, ObjectStore) else open_store(location, create=False)
    inside = prefix.strip("/")
    document = documents.parse(store.get(f"{inside}/{MODEL}" if inside else MODEL), "model")
    domains = tuple(domain_from_description(entry["domain"]) for entry in document["features"])
    features = tuple(
        Feature(entry["name"], _kind(domain), domain.size, entry["has_missing"])
        for entry, domain in zip(document["features"], domains, strict=True)
    )
    weights = tuple(np.array(layer, dtype=np.float64) / 2.0**WEIGHT_BITS for layer in document["layers"])
    target = document["target"]
    return Model(target["name"], tuple(target["labels"]), features, domains, weights, document["accuracy"])


def _kind(domain: Domain) -> Any:
    return "number" if isinstance(domain, NumberDomain | DateDomain) else "category"


def _codes(feature: Feature, domain: Domain, values: Any) -> NDArray[np.int32]:
    listed = np.asarray(values, dtype=object)
    is_missing = np.array([value is None or value != value for value in listed], dtype=np.bool_)
    if is_missing.any() and not feature.has_missing:
        raise _refused(feature.name, Reason.NULL_VALUE, "a value in every row", "missing values")
    codes = np.full(len(listed), domain.size, dtype=np.int32)
    present = listed[~is_missing].tolist()
    if present:
        outside: Any = "reject" if isinstance(domain, CategoryDomain) else "clip"
        codes[~is_missing] = domain.encode(present, outside=outside)
    return codes


def _refused(where: str, reason: Reason, required: str, came: str) -> InputContractError:
    return InputContractError.of(reason, where, required=required, came=came, fix="Correct what is to be predicted.")
