"""TLS towards the brokers, with the gateway as the client: makes an SSLContext of the section `upstream.tls`.

The files are checked before each connection and read again when one of them has changed, so that certificates can be
renewed while the gateway runs. An error is then logged once, and connections go on with the previous files' content.

Source: Kafka's SslConfigs, DefaultSslEngineFactory; RFC 6125 for the host name.
"""

import asyncio
import os
import ssl
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import structlog

from bifrost.config.fields.client_tls import ClientTls, TlsVersion
from bifrost.gateway.errors import StartError
from bifrost.gateway.loop.shared_run import SharedRun

log = structlog.get_logger()

_VERSIONS = {TlsVersion.TLS_1_2: ssl.TLSVersion.TLSv1_2, TlsVersion.TLS_1_3: ssl.TLSVersion.TLSv1_3}

T = TypeVar("T")


class FileWatch(Generic[T]):
    """An object that is made of files, and made again, in a thread, when they change."""

    def __init__(self, what: str, files: Sequence[str | None], make: Callable[[], T]) -> None:
        """Make the object. May run in any thread.

        Args:
            what: the setting, for errors.
            files: paths of the files; None is skipped.
            make: reads the files; raises OSError or ValueError when they cannot be used.
        Raises:
            StartError: the files cannot be used.
        """
        self._what = what
        self._files = [one for one in files if one is not None]
        self._make = make
        self._seen = self._look()
        try:
            self._made = make()
        except (OSError, ValueError) as error:
            raise StartError(f"{what}: {tls_failure(error)}") from None
        self._is_of_the_files = True
        """Whether the object was made of the files as they were when last seen."""
        self._refreshed = SharedRun(self._refresh)

    @property
    def is_up_to_date(self) -> bool:
        """Whether the object is what the files, as they are now, would make."""
        return self._is_of_the_files and self._look() == self._seen

    async def current(self) -> T:
        """Return the object made of the files as they are now, or the last one if they cannot be used."""
        while self._refreshed.is_running or self._look() != self._seen:
            await self._refreshed.wait()
        return self._made

    async def _refresh(self) -> None:
        self._seen, self._is_of_the_files = self._look(), False
        try:
            self._made = await asyncio.to_thread(self._make)
            self._is_of_the_files = True
        except (OSError, ValueError) as error:
            log.warning("files_not_usable", setting=self._what, error=tls_failure(error))
        else:
            log.info("files_read_again", setting=self._what)

    def _look(self) -> list[tuple[int, int, int] | None]:
        """Return what changes when the content of the files does; a link may also point to another file."""
        found: list[tuple[int, int, int] | None] = []
        for file in self._files:
            try:
                status = os.stat(file)
            except OSError:
                found.append(None)
            else:
                found.append((status.st_ino, status.st_mtime_ns, status.st_size))
        return found


def watch_context(what: str, tls: ClientTls) -> FileWatch[ssl.SSLContext]:
    """Return the context of a section, renewed when its files change.

    Raises:
        StartError: its files or ciphers cannot be used.
    """
    return FileWatch(what, [tls.ca_file, tls.certificate_file, tls.key_file], lambda: new_context(tls))


def new_context(tls: ClientTls) -> ssl.SSLContext:
    """Read the files of a section.

    Raises:
        OSError, ValueError: they cannot be used; `tls_failure` explains why.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = tls.verify_hostname
    context.minimum_version = _VERSIONS[tls.min_version]
    if tls.ciphers is not None:
        try:
            context.set_ciphers(tls.ciphers)
        except ssl.SSLError:
            raise ValueError("OpenSSL knows no cipher suite of those in ciphers") from None
    if tls.ca_file is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    else:
        context.load_verify_locations(tls.ca_file)
        # As in Java, every certificate in the file is trusted, also an intermediate or a broker's own certificate.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if tls.certificate_file is not None:
        _show_certificate(context, tls.certificate_file, tls)
    return context


def _show_certificate(context: ssl.SSLContext, certificate_file: str, tls: ClientTls) -> None:
    password = b"" if tls.key_password is None else tls.key_password.reveal()
    try:
        # Without a callback OpenSSL would ask on the terminal.
        context.load_cert_chain(certificate_file, tls.key_file, lambda: password)
    except ssl.SSLError as error:
        if error.reason is not None:
            raise
        what = (
            "key_file cannot be read" if tls.key_password is None else "key_password_file is not for key_file"
        )
        raise ValueError(f"{what}, or certificate_file cannot be") from None


def tls_failure(error: Exception) -> str:
    """Return what is wrong with a certificate or a connection, as a text for the operator."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not trusted: {error.verify_message.rstrip('.')}"
    if isinstance(error, ssl.SSLError):
        reason = error.reason.replace("_", " ").lower() if error.reason else str(error)
        return f"{_HINTS.get(error.reason or '', 'TLS failed')} ({reason})"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


_HINTS = {
    "KEY_VALUES_MISMATCH": "key_file is not the key of certificate_file",
    "NO_CERTIFICATE_OR_CRL_FOUND": "ca_file holds no certificate",
    "WRONG_VERSION_NUMBER": "the other side does not speak TLS on this port: mend the port or security_protocol",
    "RECORD_LAYER_FAILURE": "the other side does not speak TLS on this port: mend the port or security_protocol",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "the broker wants a certificate: add certificate_file and key_file",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "the other side accepts none of the ciphers or versions, or wants a certificate",
    "SSLV3_ALERT_BAD_CERTIFICATE": "the broker wants a certificate that it trusts: mend certificate_file",
    "TLSV1_ALERT_UNKNOWN_CA": "the broker does not know who signed the certificate in certificate_file",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the broker wants a certificate that it trusts: mend certificate_file",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the certificate in certificate_file has expired",
    "TLSV1_ALERT_PROTOCOL_VERSION": "the two sides have no version of TLS in common",
}
