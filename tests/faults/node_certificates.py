"""An authority for one test, and one certificate under it for every node of a cluster, as an office would make them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

SETTINGS = {"ca-file": "ca.pem", "client.cert": "node.pem", "client.key": "node.key"}
"""Dask's settings below ``distributed.comm.tls``, and the file of each."""


def write_certificates(folder: Path) -> None:
    """Write ``ca.pem``, ``node.pem`` and ``node.key``.

    Args:
        folder: it exists.
    """
    authority_key, node_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = _certificate("the office", authority_key, "the office", authority_key, is_authority=True)
    node = _certificate("a node", node_key, "the office", authority_key, is_authority=False)
    pem = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(authority.public_bytes(pem))
    (folder / "node.pem").write_bytes(node.public_bytes(pem))
    (folder / "node.key").write_bytes(
        node_key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


def _certificate(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    *,
    is_authority: bool,
) -> x509.Certificate:
    now = datetime.now(UTC)
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in (subject, issuer)]
    builder = x509.CertificateBuilder(names[1], names[0], key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(hours=5))
    constraints = x509.BasicConstraints(ca=is_authority, path_length=None)
    return builder.add_extension(constraints, critical=True).sign(issuer_key, hashes.SHA256())
