"""Certificates for the tests, made while they run: CAs, servers, clients, in PEM files.

The keys are of elliptic curves, which are made in a millisecond.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)


def common_name(text: str) -> x509.Name:
    """Return a distinguished name of nothing but a common name."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


@dataclass(frozen=True)
class Identity:
    """A certificate with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    issuers: tuple[x509.Certificate, ...] = ()
    """Those between it and the root, which a peer has to be shown."""

    @property
    def certificate_pem(self) -> bytes:
        return b"".join(
            one.public_bytes(serialization.Encoding.PEM) for one in (self.certificate, *self.issuers)
        )

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)

    def key_pem(self, password: str | None = None) -> bytes:
        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password is not None:
            encryption = serialization.BestAvailableEncryption(password.encode())
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
        )

    def write(self, directory: Path, name: str, *, password: str | None = None) -> Files:
        """Write `<name>.pem` and `<name>.key`."""
        directory.mkdir(parents=True, exist_ok=True)
        files = Files(directory / f"{name}.pem", directory / f"{name}.key")
        files.certificate.write_bytes(self.certificate_pem)
        files.key.write_bytes(self.key_pem(password))
        return files


@dataclass(frozen=True)
class Files:
    """Where a certificate and its key stand."""

    certificate: Path
    key: Path

    def write_store(self, password: str) -> Path:
        """Write both as Java's older clients take them (kafka-clients 2.8 refuses these in PEM)."""
        key = serialization.load_pem_private_key(self.key.read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        first, *issuers = x509.load_pem_x509_certificates(self.certificate.read_bytes())
        encryption = serialization.BestAvailableEncryption(password.encode())
        store = self.key.with_suffix(".p12")
        store.write_bytes(pkcs12.serialize_key_and_certificates(b"me", key, first, issuers, encryption))
        return store


class Authority:
    """A CA, root or intermediate."""

    def __init__(self, name: str, parent: Authority | None = None) -> None:
        self._parent = parent
        self._key = ec.generate_private_key(ec.SECP256R1())
        subject = common_name(name)
        issuer = self if parent is None else parent
        self.certificate = _signed(
            _builder(subject, subject if parent is None else parent.certificate.subject, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True),
            issuer._key,
        )

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.pem)
        return path

    def revocations(
        self,
        *revoked: Identity | Authority,
        until: datetime.datetime | None = None,
        extra: int = 0,
    ) -> bytes:
        """Return this CA's list of revoked certificates (CRL) in PEM.

        Args:
            revoked: whose certificates are on it.
            until: time of the next update; a day from now by default.
            extra: how many certificates of others are on it as well.
        """
        now = datetime.datetime.now(datetime.UTC)
        until = until or now + DAY
        builder = x509.CertificateRevocationListBuilder().issuer_name(self.certificate.subject)
        builder = builder.last_update(min(now, until) - DAY).next_update(until)
        serials = [one.certificate.serial_number for one in revoked] + [10**40 + one for one in range(extra)]
        entries = [
            x509.RevokedCertificateBuilder().serial_number(one).revocation_date(now - DAY).build()
            for one in serials
        ]
        for entry in entries:
            builder = builder.add_revoked_certificate(entry)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def server(self, *hosts: str) -> Identity:
        """Return a server's certificate for host names and IP addresses."""
        names = [_host_name(host) for host in hosts]
        return self._issue(common_name(hosts[0]), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, subject: str | x509.Name, *, lasts: datetime.timedelta = 30 * DAY) -> Identity:
        """Return a client's certificate that holds for so long from now on; a text is its common name."""
        name = common_name(subject) if isinstance(subject, str) else subject
        return self._issue(name, ExtendedKeyUsageOID.CLIENT_AUTH, (), lasts=lasts)

    def _issue(
        self,
        subject: x509.Name,
        usage: x509.ObjectIdentifier,
        hosts: Sequence[x509.GeneralName],
        *,
        lasts: datetime.timedelta = 30 * DAY,
    ) -> Identity:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(subject, self.certificate.subject, key, lasts=lasts)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        issuers = () if self._parent is None else (self.certificate,)
        return Identity(_signed(builder, self._key), key, issuers)

    @classmethod
    def below(cls, parent: Self, name: str) -> Self:
        """Return an intermediate CA."""
        return cls(name, parent)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    *,
    lasts: datetime.timedelta = 30 * DAY,
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 2 * DAY)
        .not_valid_after(now + lasts)
    )


def _signed(builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    return builder.sign(key, hashes.SHA256())


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _host_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
