"""The certificate that everything with TLS shows in a run: the broker, HAProxy and the gateway the same one.

Made anew each time, self-signed, of an elliptic curve (P-256), as most certificates of servers are today.
"""

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "127.0.0.1"
_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class Certificate:
    """Where the certificate stands, with its key."""

    certificate_file: Path
    key_file: Path
    both_file: Path
    """Key and certificate in one: Kafka's key stores in PEM hold the key first (KIP-651), HAProxy takes any order."""

    def client_context(self) -> ssl.SSLContext:
        """Return what a client needs who checks it."""
        return client_context(self.certificate_file)


def client_context(ca_file: Path) -> ssl.SSLContext:
    """Return what a client needs that trusts the certificates in `ca_file`."""
    return ssl.create_default_context(cafile=str(ca_file))


def make_certificate(directory: Path) -> Certificate:
    """Write a certificate for 127.0.0.1 into `directory`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bench")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + 30 * _DAY)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    key_pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    files = Certificate(directory / "bench.pem", directory / "bench.key", directory / "bench.both.pem")
    files.certificate_file.write_bytes(pem)
    files.key_file.write_bytes(key_pem)
    files.both_file.write_bytes(key_pem + pem)
    return files
