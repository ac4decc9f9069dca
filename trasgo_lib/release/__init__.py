"""Release packages: writers of the public and restricted files, and the verification of what was published."""

from trasgo_lib.release import documents
from trasgo_lib.release.audit import WRITER, AuditReport, Drift, compare_codes, compare_files, drift_between
from trasgo_lib.release.channel_file import channel_document
from trasgo_lib.release.corrections import WITHDRAWN, erratum_bytes, erratum_key, withdrawal_bytes
from trasgo_lib.release.crate import CRATE, crate_document
from trasgo_lib.release.data_files import read_parquet_batches, write_csv, write_parquet
from trasgo_lib.release.decoding import public_types, released_batches, released_schema, require_released
from trasgo_lib.release.envelope import Anchors, Envelope, PublishedBefore, Signing, read_envelope
from trasgo_lib.release.manifest import ENVELOPE, MANIFEST, SIGNING_KEY, SUMS, StagedFile, manifest_document
from trasgo_lib.release.package import (
    CHANNEL,
    REPORT,
    REPORT_PAGE,
    STATEMENT,
    StagedPackage,
    compare_staged,
    publish_package,
    release_prefix,
    stage_data,
    stage_package,
    write_staged,
)
from trasgo_lib.release.restricted import (
    Evidence,
    require_risk_audit,
    restricted_documents,
    stage_page,
    stage_restricted,
    stored_risk_audit,
)
from trasgo_lib.release.statement import statement_document
from trasgo_lib.release.verification import SignatureState, VerificationReport, VerificationResult
from trasgo_lib.release.verify import verify_release

__all__ = [
    "CHANNEL",
    "CRATE",
    "ENVELOPE",
    "MANIFEST",
    "REPORT",
    "REPORT_PAGE",
    "SIGNING_KEY",
    "STATEMENT",
    "SUMS",
    "WITHDRAWN",
    "WRITER",
    "Anchors",
    "AuditReport",
    "Drift",
    "Envelope",
    "Evidence",
    "PublishedBefore",
    "SignatureState",
    "Signing",
    "StagedFile",
    "StagedPackage",
    "VerificationReport",
    "VerificationResult",
    "channel_document",
    "compare_codes",
    "compare_files",
    "compare_staged",
    "crate_document",
    "documents",
    "drift_between",
    "erratum_bytes",
    "erratum_key",
    "manifest_document",
    "public_types",
    "publish_package",
    "read_envelope",
    "read_parquet_batches",
    "release_prefix",
    "released_batches",
    "released_schema",
    "require_released",
    "require_risk_audit",
    "restricted_documents",
    "stage_data",
    "stage_package",
    "stage_page",
    "stage_restricted",
    "statement_document",
    "stored_risk_audit",
    "verify_release",
    "withdrawal_bytes",
    "write_csv",
    "write_parquet",
    "write_staged",
]
