"""One connection of an executor, or of a job's driver, to a broker: blocking, one request at a time."""

import secrets
import socket
import ssl
from typing import Any, Self

from bifrost.authentication.sasl_client import LoginFailed, PlainClient, SaslClient
from bifrost.authentication.scram_client import SaltedPasswords, ScramClient
from bifrost.config.fields.upstream_sasl import UpstreamMechanism
from bifrost.config.kept_secret import KeptSecret
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.client_settings import ClientSettings
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.errors import WireError
from bifrost.wire.message import Message
from bifrost.wire.messages import SaslAuthenticateRequest, SaslHandshakeRequest
from bifrost.wire.own.own_request import decode_response, encode_request

TIMEOUT_S = 30.0
"""For a connection and for each answer: as long as the request timeout of Kafka's clients."""
MAX_ANSWER_BYTES = 256 << 20
"""Most bytes of an answer. A broker sends a first batch whole, however much was asked for: more than any
`max.message.bytes` that is in use."""
MAX_ROUNDS = 4
"""Tokens in one login: SCRAM takes two."""
_HANDSHAKE, _AUTHENTICATE = 1, 1


class BrokerLost(Exception):
    """The connection cannot be made or has failed; whether the broker has done what was asked is not known."""


class BrokerConnection:
    """A connection that is logged in."""

    def __init__(self, host: str, port: int, settings: ClientSettings) -> None:
        """Connect and log in.

        Raises:
            BrokerLost: the broker cannot be reached.
            PipelineError: it does not accept the account, or its certificate is not trusted.
        """
        self._address = f"{host}:{port}"
        self._correlation_id = 0
        try:
            self._socket = socket.create_connection((host, port), TIMEOUT_S)
        except OSError as error:
            raise BrokerLost(f"{self._address}: {error.strerror or error}") from None
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if settings.is_tls:
                self._socket = _context(settings).wrap_socket(self._socket, server_hostname=host)
            if settings.mechanism is not None:
                self._log_in(settings.mechanism, settings)
        except ssl.SSLError as error:
            self.close()
            raise PipelineError(f"{self._address}: TLS failed: {error.reason or error}") from None
        except LoginFailed as error:
            self.close()
            raise PipelineError(f"{self._address}: {error}") from None
        except OSError as error:
            self.close()
            raise BrokerLost(f"{self._address}: {error.strerror or error}") from None
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def request(self, message: Message, version: int) -> Any:
        """Send a request and return its response.

        Raises:
            BrokerLost: the connection failed; whether the broker did what was asked is not known.
        """
        assert message.SCHEMA.api_key is not None
        self._correlation_id += 1
        try:
            self._socket.sendall(encode_request(message, version, self._correlation_id))
            size = int.from_bytes(self._receive(4), "big")
            if size > MAX_ANSWER_BYTES:
                raise BrokerLost(f"{self._address}: an answer of {size} bytes")
            frame = bytes(self._receive(size))
            return decode_response(message.SCHEMA.api_key, version, self._correlation_id, frame)
        except (OSError, EOFError, WireError) as error:
            raise BrokerLost(f"{self._address}: {error or type(error).__name__}") from None

    def _receive(self, size: int) -> bytearray:
        data = bytearray(size)
        view, at = memoryview(data), 0
        while at < size:
            received = self._socket.recv_into(view[at:])
            if not received:
                raise EOFError("the broker closed the connection")
            at += received
        return data

    def _log_in(self, mechanism: UpstreamMechanism, settings: ClientSettings) -> None:
        answer = self.request(SaslHandshakeRequest(mechanism=str(mechanism)), _HANDSHAKE)
        if answer.error_code != ErrorCode.NONE:
            raise LoginFailed(f"the broker does not offer {mechanism}")
        client = _sasl_client(mechanism, settings)
        token: bytes | None = client.first()
        for _ in range(MAX_ROUNDS):
            assert token is not None
            answer = self.request(SaslAuthenticateRequest(auth_bytes=token), _AUTHENTICATE)
            if answer.error_code != ErrorCode.NONE:
                raise LoginFailed("the broker refused the login: check sasl.jaas.config in --kafka-config")
            token = client.respond(answer.auth_bytes)
            if token is None:
                return
        raise LoginFailed(f"not logged in after {MAX_ROUNDS} tokens")


def _sasl_client(mechanism: UpstreamMechanism, settings: ClientSettings) -> SaslClient:
    password = KeptSecret(settings.password.encode())
    if mechanism is UpstreamMechanism.PLAIN:
        return PlainClient(settings.username, password)
    passwords = SaltedPasswords(mechanism, password)
    return ScramClient(settings.username, passwords, secrets.token_urlsafe(24))


def _context(settings: ClientSettings) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.checks_hostname
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if settings.ca_certificates:
        context.load_verify_locations(cadata=settings.ca_certificates)
        # As in Java, every certificate in the file is trusted, also an intermediate or a broker's own certificate.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    else:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    if settings.certificate_file:
        try:
            # Without a callback OpenSSL would ask on the terminal.
            context.load_cert_chain(settings.certificate_file, None, lambda: settings.key_password)
        except OSError as error:
            reason = error.strerror or "cannot be read, or ssl.key.password is not its password"
            raise PipelineError(f"ssl.keystore.location: {settings.certificate_file}: {reason}") from None
    return context
