"""A login at a broker, over an existing connection.

    (ApiVersions v0)  ──▶  SaslHandshake v1  ──▶  SaslAuthenticate v0 to v2  ──▶ … ──▶ session_lifetime_ms
                                 └──another mechanism is offered──▶ OtherMechanism: once more on a new connection

The same exchange, on a connection where no request awaits an answer, renews a login (KIP-368). Brokers from 1.0 on have
these requests; older ones expect tokens without a header, which is not implemented here.

Source: KIP-43, KIP-152, KIP-255, KIP-368; SaslClientAuthenticator.
"""

import asyncio
import itertools
import random
import secrets
import ssl
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from bifrost.authentication.mechanism_choice import MechanismChoice
from bifrost.authentication.sasl_client import BearerClient, LoginFailed, PlainClient, SaslClient
from bifrost.authentication.scram_client import SaltedPasswords, ScramClient
from bifrost.config.fields.client_tls import ClientTls
from bifrost.config.fields.upstream_sasl import UpstreamMechanism, UpstreamSasl
from bifrost.config.kept_secret import KeptSecret
from bifrost.gateway.brokers.broker_tls import tls_failure
from bifrost.gateway.brokers.gssapi_client import GssapiAccount
from bifrost.gateway.brokers.login_pace import LoginPace
from bifrost.gateway.errors import BrokerError, LoginError, OtherMechanism
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import ApiVersionsRequest, SaslAuthenticateRequest, SaslHandshakeRequest
from bifrost.wire.own.own_request import decode_response, encode_request

if TYPE_CHECKING:
    from bifrost.gateway.brokers.oauth_token import TokenSource

Ask = Callable[[bytes], Awaitable[bytes]]
"""Sends a request with its length, and returns the frame of the response without its length."""

MAX_ROUNDS = 10
"""Tokens in one login: GSSAPI, the longest, takes three or four."""

MAX_LOGIN_FRAME_BYTES = 1024 * 1024
"""Largest answer during a login: a GSSAPI token with a user's groups has some 64 KiB."""

MAX_WORDS = 300
"""Characters of a broker's message that are repeated in a log."""

RENEW_FROM, RENEW_JITTER = 0.85, 0.10
"""When a login is renewed, as a part of its lifetime, as in Kafka's clients (SaslClientAuthenticator.ReauthInfo)."""

MIN_RENEW_MS, MAX_RENEW_MS = 1_050, 86_400_000
"""A broker accepts no two in a second (KafkaChannel.MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS); one a day is no burden."""

_SCRAM = (UpstreamMechanism.SCRAM_SHA_256, UpstreamMechanism.SCRAM_SHA_512)
_NEWEST_AUTHENTICATE = 2

R = TypeVar("R")


class Login:
    """One account at the brokers of a cluster, and how often the gateway may try it."""

    def __init__(
        self,
        sasl: UpstreamSasl,
        *,
        tls: ClientTls | None,
        timeout_ms: int,
        now_ms: Callable[[], int],
        workers: int = 1,
    ) -> None:
        """Prepare logins; send no request yet.

        Args:
            sasl: the account, whose secrets the loader has read.
            tls: bounds of the TLS version and ciphers, for a token endpoint as well.
            timeout_ms: time limit of a request to a token endpoint.
            now_ms: a monotonic clock.
            workers: processes of the gateway that use the account.
        Raises:
            StartError: the account cannot be used on this machine.
        """
        self._sasl = sasl
        self.pace = LoginPace(now_ms, workers)
        self._secrets = [one.reveal() for one in (sasl.password, sasl.client_secret) if one is not None]
        self._choice = MechanismChoice(sasl, tls)
        self._passwords: dict[UpstreamMechanism, SaltedPasswords] = {
            one: SaltedPasswords(one, _given(sasl.password)) for one in self._choice.allowed if one in _SCRAM
        }
        self._tokens: TokenSource | None = None
        self._kerberos: GssapiAccount | None = None
        if UpstreamMechanism.OAUTHBEARER in self._choice.allowed:
            # 0.5 MiB with its HTTP client, only for accounts of OAuth.
            from bifrost.gateway.brokers.oauth_token import token_source

            self._tokens = token_source(sasl, tls, timeout_ms=timeout_ms, now_ms=now_ms)
        elif UpstreamMechanism.GSSAPI in self._choice.allowed:
            self._kerberos = GssapiAccount(sasl)

    async def log_in(
        self, ask: Ask, host: str, address: str, deadline: float, api_versions: Any = None
    ) -> int | None:
        """Log in, or renew a login.

        Args:
            ask: sends requests on a connection where no other request awaits an answer.
            host: the broker's advertised host: Kerberos knows the broker by it.
            address: the broker's address, for errors.
            deadline: time by which the login must be done, by the event loop's clock.
            api_versions: what the broker offers; None to ask it.
        Returns:
            Milliseconds after which the login must be renewed, None if it never expires.
        Raises:
            OtherMechanism: the broker offers another mechanism, which a login on a new connection uses.
            LoginError: the broker did not accept the account, or the exchange could not be made.
            BrokerError, OSError, WireError: the connection failed.
        """
        try:
            async with asyncio.timeout_at(deadline):
                mechanism = self._choice.at(address)
                client = await self._new_client(mechanism, host)
                exchange = _Exchange(ask)
                if api_versions is None:
                    api_versions = await exchange.call(ApiVersionsRequest(), 0)
                version = _authenticate_version(api_versions)
                await self._handshake(exchange, mechanism, address)
                lifetime_ms = await self._authenticate(exchange, client, version)
        except LoginFailed as error:
            raise LoginError(f"{address}: {error}") from None
        except TimeoutError:
            raise LoginError(f"{address}: the login was not done in time") from None
        except EOFError as error:
            raise LoginError(f"{address}: the broker closed the connection during the login") from error
        if lifetime_ms <= 0:
            return None
        part = RENEW_FROM + RENEW_JITTER * random.random()
        return max(MIN_RENEW_MS, min(int(lifetime_ms * part), MAX_RENEW_MS))

    async def _new_client(self, mechanism: UpstreamMechanism, host: str) -> SaslClient:
        sasl = self._sasl
        if self._tokens is not None:
            return BearerClient(await self._tokens.token())
        if self._kerberos is not None:
            return await self._kerberos.in_thread(self._kerberos.new_client, host)
        assert sasl.username is not None
        if mechanism in self._passwords:
            return ScramClient(sasl.username, self._passwords[mechanism], secrets.token_urlsafe(24))
        return PlainClient(sasl.username, _given(sasl.password))

    async def _handshake(self, exchange: "_Exchange", mechanism: UpstreamMechanism, address: str) -> None:
        response = await exchange.call(SaslHandshakeRequest(mechanism=str(mechanism)), 1)
        if response.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            other = self._choice.choose(address, mechanism, response.mechanisms)
            raise OtherMechanism(f"{address}: the broker does not offer {mechanism}, but {other}")
        if response.error_code == ErrorCode.ILLEGAL_SASL_STATE:
            raise LoginFailed("the broker's listener does not authenticate by SASL: mend security_protocol")
        if response.error_code != ErrorCode.NONE:
            raise LoginFailed(f"SaslHandshake failed with {_name(response.error_code)}")

    async def _authenticate(self, exchange: "_Exchange", client: SaslClient, version: int) -> int:
        """Exchange tokens until both sides are done; return the session's lifetime in milliseconds, 0 if unlimited."""
        token = await self._aside(client, client.first)
        for _ in range(MAX_ROUNDS):
            response = await exchange.call(SaslAuthenticateRequest(auth_bytes=token), version)
            if response.error_code != ErrorCode.NONE:
                raise LoginFailed(self._refusal(response, client))
            answer = await self._aside(client, client.respond, response.auth_bytes)
            if answer is None:
                return int(response.session_lifetime_ms)
            token = answer
        raise LoginFailed(f"not logged in after {MAX_ROUNDS} tokens")

    async def _aside(self, client: SaslClient, step: Callable[..., R], *arguments: object) -> R:
        """Run a step of an exchange; in a thread if it derives keys or asks a KDC, which would block the event loop."""
        if self._kerberos is not None:
            return await self._kerberos.in_thread(step, *arguments)
        if isinstance(client, ScramClient):
            return await asyncio.to_thread(step, *arguments)
        return step(*arguments)

    def _refusal(self, response: Any, client: SaslClient) -> str:
        words = self._words(response.error_message or "") or _name(response.error_code)
        if isinstance(client, BearerClient) and client.refusal is not None:
            return f"the broker refused the token ({client.refusal}): {words}"
        return f"the broker refused the login: {words}"

    def _words(self, text: str) -> str:
        """Return a broker's message in a form that may be logged."""
        if any(secret in text.encode("utf-8", "replace") for secret in self._secrets):
            return "(its words hold the secret)"
        return "".join(char for char in text[:MAX_WORDS] if char.isprintable())


class _Exchange:
    """Sends the requests of one login and numbers them."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._correlation_ids = itertools.count(1)

    async def call(self, request: Message, version: int) -> Any:
        number = next(self._correlation_ids)
        frame = await self._ask(encode_request(request, version, number))
        assert request.SCHEMA.api_key is not None
        return decode_response(request.SCHEMA.api_key, version, number, frame)


def _authenticate_version(api_versions: Any) -> int:
    """Return the newest version of SaslAuthenticate that the broker and the gateway know."""
    offered = {api.api_key: api for api in api_versions.api_keys}
    handshake, authenticate = (offered.get(key) for key in (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE))
    if handshake is None or authenticate is None or handshake.max_version < 1:
        raise LoginFailed("the broker has no SaslAuthenticate: it is older than Kafka 1.0")
    return int(min(authenticate.max_version, _NEWEST_AUTHENTICATE))


def _given(secret: KeptSecret | None) -> KeptSecret:
    assert secret is not None, "the loader has checked that there is one"
    return secret


def _name(error_code: int) -> str:
    try:
        return ErrorCode(error_code).name
    except ValueError:
        return f"error {error_code}"


def connect_failure(error: Exception, address: str, timeout_ms: int) -> BrokerError:
    """Return the error to raise when a connection, or an attempt to connect, failed with `error`."""
    if isinstance(error, TimeoutError) and not str(error):
        return BrokerError(f"{address}: no answer within {timeout_ms} ms")
    if isinstance(error, EOFError | ConnectionResetError):
        hint = "does security_protocol suit its listener?"
        return BrokerError(f"{address}: the broker closed the connection; {hint}")
    words = tls_failure(error) if isinstance(error, ssl.SSLError) else str(error)
    return BrokerError(f"{address}: {words or type(error).__name__}")
