"""Kerberos towards a broker: SASL/GSSAPI by the system's library. It asks a KDC, so it runs in a thread.

    client  AP-REQ                      the ticket for kafka/<host>
    server  AP-REP                      the broker proves itself
    client  (empty)
    server  wrap(layers, largest size)  which security layers it offers
    client  wrap(1, 0)                  none: what protects the connection is TLS

Source: RFC 4752, section 3.1; GssKrb5Server of the JDK, which Kafka's brokers use.
"""

import asyncio
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from bifrost.authentication.sasl_client import LoginFailed
from bifrost.config.fields.upstream_sasl import UpstreamSasl
from bifrost.gateway.errors import StartError

DEFAULT_SERVICE_NAME = "kafka"
_NO_LAYER = 1
_ANSWER = bytes([_NO_LAYER, 0, 0, 0])
"""No security layer, so no size of wrapped messages; no authorization ID, so that the principal is used."""

MAX_THREADS = 4
"""Threads of each account: a KDC that does not answer blocks one of its account while the library waits."""

_numbers = itertools.count(1)
R = TypeVar("R")


class GssapiAccount:
    """The Kerberos account whose tickets are used."""

    def __init__(self, sasl: UpstreamSasl) -> None:
        """Ask no KDC yet.

        Raises:
            StartError: the library is not installed.
        """
        try:
            import gssapi
        except ImportError as error:
            text = (
                "GSSAPI needs the library gssapi with the system's Kerberos: "
                "pip install '.[gssapi]' in a clone of Bifrost"
            )
            raise StartError(f"{text} ({error})") from None
        self._gssapi: Any = gssapi
        self._service = sasl.service_name or DEFAULT_SERVICE_NAME
        self._principal = sasl.principal
        self._threads = ThreadPoolExecutor(MAX_THREADS, "kerberos")
        self._store: dict[str, str] | None = None
        if sasl.keytab_file is not None:
            # Tickets are in this process's memory; the library gets new ones with the keytab when they expire.
            self._store = {
                "client_keytab": f"FILE:{sasl.keytab_file}",
                "ccache": f"MEMORY:bifrost-{next(_numbers)}",
            }

    async def in_thread(self, step: Callable[..., R], *arguments: object) -> R:
        """Run a step that may ask a KDC in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(step, *arguments))

    def new_client(self, host: str) -> "GssapiClient":
        """Begin an exchange with the broker on `host`, with valid tickets. May ask a KDC.

        Raises:
            LoginFailed: there is no ticket, and the KDC gave none.
        """
        gssapi = self._gssapi
        try:
            name = (
                gssapi.Name(self._principal, gssapi.NameType.kerberos_principal) if self._principal else None
            )
            credentials = gssapi.Credentials(usage="initiate", name=name, store=self._store)
            target = gssapi.Name(f"{self._service}@{host}", gssapi.NameType.hostbased_service)
            flags = gssapi.RequirementFlag
            context = gssapi.SecurityContext(
                name=target,
                creds=credentials,
                usage="initiate",
                mech=gssapi.MechType.kerberos,
                flags=flags.mutual_authentication | flags.integrity | flags.out_of_sequence_detection,
            )
        except gssapi.exceptions.GSSError as error:
            raise LoginFailed(_words(error)) from None
        return GssapiClient(context, gssapi.exceptions.GSSError)


class GssapiClient:
    """One exchange with a broker. Each step may ask a KDC."""

    def __init__(self, context: Any, error: type[Exception]) -> None:
        """Begin with a security context of the library, and the error that it raises."""
        self._context = context
        self._error = error
        self._is_answered = False

    def first(self) -> bytes:
        """Return the first token.

        Raises:
            LoginFailed: there is no ticket for the broker.
        """
        return self._step(None)

    def respond(self, challenge: bytes) -> bytes | None:
        """Return the next token, None after the broker has accepted the last.

        Raises:
            LoginFailed: the broker has not proved itself, or wants a security layer.
        """
        if self._is_answered:
            if challenge:
                raise LoginFailed("the broker goes on after the end of the GSSAPI exchange")
            return None
        if not self._context.complete:
            return self._step(challenge)
        try:
            offer = self._context.unwrap(challenge).message
            if len(offer) != 4 or not offer[0] & _NO_LAYER:
                raise LoginFailed("the broker wants GSSAPI to protect the connection; here only TLS does")
            self._is_answered = True
            return bytes(self._context.wrap(_ANSWER, False).message)
        except self._error as error:
            raise LoginFailed(_words(error)) from None

    def _step(self, token: bytes | None) -> bytes:
        try:
            return self._context.step(token) or b""
        except self._error as error:
            raise LoginFailed(_words(error)) from None


def _words(error: Exception) -> str:
    """Return the library's message, which names principals and KDCs but no key."""
    text = " ".join(str(error).split())
    return f"Kerberos: {text[:400]}"
