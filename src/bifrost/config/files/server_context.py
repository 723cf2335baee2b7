"""Builds the SSL context that the section `tls` of a listener set describes, or says why its files do not allow that.

It is in this package so that the same code checks the files and uses them: the loader builds a context to see whether
the files are valid, the gateway builds one to serve, and again whenever the files change. Building a context does no
I/O except reading the files.
"""

import ssl
from datetime import datetime
from pathlib import Path

from bifrost.config.fields.server_tls import ClientAuth, ServerTls, TlsVersion
from bifrost.config.files.reading import UnreadableError, read_regular_file
from bifrost.config.files.revocation import MAX_CRL_BYTES, UnusableCrl, missing_issuers, read_expiry

MAX_PEM_BYTES = 1 << 20
"""Largest file of certificates or of a key, in bytes: some 500 CAs."""

MAX_KEY_PASSWORD_BYTES = 1024
"""Longest password of a key, OpenSSL's own limit."""

FILE_KEYS = ("certificate_file", "key_file", "key_password_file", "client_ca_file", "client_crl_file")
"""The keys of the section that name files."""

_VERIFY = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.REQUESTED: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}
_VERSIONS = {TlsVersion.V1_2: ssl.TLSVersion.TLSv1_2, TlsVersion.V1_3: ssl.TLSVersion.TLSv1_3}


class ServerContextError(Exception):
    """A file of the section is unusable; the message is for the operator."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(text)
        self.key = key
        """The key of the section that the operator has to correct."""


def build_server_context(tls: ServerTls) -> ssl.SSLContext:
    """Return a server's SSL context as the section describes it.

    A connection is never resumed from a session ticket: the client would not show its certificate, which may have
    expired since, and a leak of the tickets' key, kept in memory, would decrypt recorded traffic.

    Raises:
        ServerContextError: a file is missing, unreadable, not what it should be, or does not fit the others.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[tls.min_version]
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    if tls.ciphers is not None:
        try:
            context.set_ciphers(tls.ciphers)
        except ssl.SSLError:
            raise ServerContextError(
                "ciphers", "OpenSSL knows none of them: write its names, e.g. ECDHE+AESGCM"
            ) from None
    _load_certificate(context, tls)
    context.verify_mode = _VERIFY[tls.client_auth]
    if tls.client_ca_file is not None:
        _read_pem("client_ca_file", tls.client_ca_file, b"CERTIFICATE", "a CA certificate")
        _load_certificates(context, "client_ca_file", tls.client_ca_file)
        if tls.client_crl_file is None:
            # As in a truststore of Java: every certificate in it is trusted, also an intermediate CA without its root.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        else:
            _load_crls(context, tls.client_crl_file)
    return context


def crl_expiry(tls: ServerTls) -> datetime | None:
    """Return the time from which `client_crl_file` is out of date; None without that file.

    Raises:
        ServerContextError: the file cannot be read, or has no lists.
    """
    return None if tls.client_crl_file is None else _read_expiry(tls.client_crl_file)


def _read_expiry(path: str) -> datetime:
    try:
        return read_expiry(read_regular_file(Path(path), MAX_CRL_BYTES))
    except (UnreadableError, UnusableCrl) as error:
        raise ServerContextError("client_crl_file", f"file {path}: {error}") from None


def _load_crls(context: ssl.SSLContext, path: str) -> None:
    """Check every certificate of a client's chain against the lists, up to a root, whose own issuer is itself."""
    alone = missing_issuers(context.get_ca_certs())
    if alone:
        text = (
            f"has {alone[0]} without the CA that issued it: with client_crl_file every chain is checked up to its "
            "root, so add that"
        )
        raise ServerContextError("client_ca_file", text)
    _read_expiry(path)
    trusted = context.cert_store_stats()["x509_ca"]
    _load_certificates(context, "client_crl_file", path, "CRLs")
    if (
        context.cert_store_stats()["x509_ca"] != trusted
    ):  # The file changed between the two times that it was read.
        raise ServerContextError("client_crl_file", f"file {path}: has certificates, which would be trusted")
    context.verify_flags |= ssl.VERIFY_CRL_CHECK_CHAIN


def _load_certificate(context: ssl.SSLContext, tls: ServerTls) -> None:
    _read_pem("certificate_file", tls.certificate_file, b"CERTIFICATE", "a certificate")
    _load_certificates(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), "certificate_file", tls.certificate_file)
    _read_pem("key_file", tls.key_file, b"PRIVATE KEY", "a private key")
    password = _read_password(tls.key_password_file)
    was_asked = False

    def tell_password() -> bytes:
        # Always pass a password: without one OpenSSL asks on the terminal.
        nonlocal was_asked
        was_asked = True
        return password or b""

    try:
        context.load_cert_chain(tls.certificate_file, tls.key_file, tell_password)
    except ssl.SSLError as error:
        raise _key_error(error, tls, was_asked) from None
    except OSError as error:
        raise ServerContextError("key_file", f"cannot be read ({error.strerror})") from None
    if password is not None and not was_asked:
        text = f"the key {tls.key_file} is not encrypted: remove this line"
        raise ServerContextError("key_password_file", text)


def _key_error(error: ssl.SSLError, tls: ServerTls, was_asked: bool) -> ServerContextError:
    if error.reason == "KEY_VALUES_MISMATCH":
        text = (
            f"the key {tls.key_file} is not that of the first certificate in {tls.certificate_file}: the gateway's own "
            "stands first there, before those of CAs"
        )
        return ServerContextError("key_file", text)
    if was_asked and tls.key_password_file is None:
        text = f"the key {tls.key_file} is encrypted: name the file of its password with key_password_file"
        return ServerContextError("key_file", text)
    if was_asked:
        text = f"password file {tls.key_password_file}: does not open the key {tls.key_file}"
        return ServerContextError("key_password_file", text)
    if error.reason in ("EE_KEY_TOO_SMALL", "CA_MD_TOO_WEAK", "CA_KEY_TOO_SMALL"):
        text = f"certificate {tls.certificate_file}: OpenSSL refuses it as too weak ({_reason(error)})"
        return ServerContextError("certificate_file", text)
    text = f"key {tls.key_file}: cannot be read as a private key in PEM ({_reason(error)})"
    return ServerContextError("key_file", text)


def _load_certificates(context: ssl.SSLContext, key: str, path: str, what: str = "certificates") -> None:
    try:
        context.load_verify_locations(path)
    except ssl.SSLError as error:
        raise ServerContextError(
            key, f"file {path}: cannot be read as {what} in PEM ({_reason(error)})"
        ) from None
    except OSError as error:
        raise ServerContextError(key, f"file {path}: cannot be read ({error.strerror})") from None


def _read_pem(key: str, path: str, label: bytes, what: str) -> None:
    """Check that a file can be read and has a block of this kind, before OpenSSL, whose errors say less, opens it."""
    try:
        content = read_regular_file(Path(path), MAX_PEM_BYTES)
    except UnreadableError as error:
        raise ServerContextError(key, f"file {path}: {error}") from None
    if b"-----BEGIN " not in content:
        hint = "convert it, e.g. by openssl x509 or openssl pkcs12"
        raise ServerContextError(key, f"file {path}: not PEM (no line -----BEGIN ...): {hint}")
    if label + b"-----" not in content:
        raise ServerContextError(key, f"file {path}: has no {label.decode()} block: name the file of {what}")


def _read_password(path: str | None) -> bytes | None:
    if path is None:
        return None
    try:
        content = read_regular_file(Path(path), MAX_KEY_PASSWORD_BYTES)
    except UnreadableError as error:
        raise ServerContextError("key_password_file", f"password file {path}: {error}") from None
    password = content.removesuffix(b"\n").removesuffix(b"\r")
    if not password:
        raise ServerContextError(
            "key_password_file", f"password file {path}: empty: write the password into it"
        )
    return password


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or "not well-formed").replace("_", " ").lower()
