"""The server side of GSSAPI (RFC 4752): the client has a ticket to the gateway's own Kerberos principal.

    client  an initial token                 server  the answer to it, until the context is there
    client  an empty token                   server  wrapped: one byte of security layers, three of a size
    client  wrapped: the layer it chose, a size, an authorization ID

The only security layer offered is "none": Kafka's protocol has no place for another, and TLS does that work. The
authorization ID is ignored, as by a broker, which takes the principal of the ticket (kafka-python sends the service's
name in it).

The context handles tickets, keys and their cryptography; the gateway makes it (gateway/issuers/kerberos.py). Nothing
here does I/O.

Source: RFC 4752, section 3; GssKrb5Server; SaslServerCallbackHandler.handleAuthorizeCallback.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from bifrost.authentication.accounts import Account, Accounts, AuthenticationFailed, invalid_credentials
from bifrost.config.fields.verifiers import Mechanism
from bifrost.config.principals.kerberos_rules import LocalNames, NoLocalName

MAX_TOKEN_BYTES = 128 * 1024
"""Largest token read: tickets of Active Directory, which lists a user's groups in them, have up to 64 KiB."""

MAX_STEPS = 4
"""Most tokens until the context is complete: Kerberos needs one, or two where the client asks for it."""

NO_LAYER = 1
"""The bit of "no security layer", authentication alone (RFC 4752, section 3.3)."""

_OFFER = bytes((NO_LAYER, 0, 0, 0))
"""The gateway's offer; the size is 0 where there is no layer (section 3.2)."""


class ContextFailed(Exception):
    """A security context refuses what the client sent. The text is for the log.

    `is_passing`: another try may succeed, for instance after a replay or with a ticket that is not valid yet.
    """

    def __init__(self, text: str, *, is_passing: bool = False) -> None:
        super().__init__(text)
        self.is_passing = is_passing


class SecurityContext(Protocol):
    """The server's side of a GSS-API context; every method raises ContextFailed."""

    @property
    def is_complete(self) -> bool:
        """Whether the client has proved who it is."""

    def step(self, token: bytes) -> bytes:
        """Take the client's token and return the answer, empty if there is none."""

    def initiator(self) -> str:
        """Return the client's principal, once the context is complete."""

    def wrap(self, message: bytes) -> bytes:
        """Return a message protected by the context, not encrypted."""

    def unwrap(self, message: bytes) -> bytes:
        """Return what the client protected."""


@dataclass(frozen=True, slots=True)
class KerberosSettings:
    """What the exchanges of a gateway have in common."""

    new_context: Callable[[], SecurityContext]
    names: LocalNames


class _Stage(Enum):
    CONTEXT = auto()
    OFFER = auto()
    CHOICE = auto()
    OVER = auto()


class GssapiServer:
    """One exchange with a client; it fails when a token is out of order or one too many."""

    lifetime_ms: int | None = None
    max_token_bytes = MAX_TOKEN_BYTES

    def __init__(self, kerberos: KerberosSettings, accounts: Accounts, *, is_again: bool = False) -> None:
        """Wait for the client's first token.

        Args:
            kerberos: what makes contexts and names.
            accounts: the principals and their tenants.
            is_again: whether the client authenticates again; the text of a failure says so.
        """
        self._names = kerberos.names
        self._accounts = accounts
        self._text = invalid_credentials(Mechanism.GSSAPI, is_again=is_again)
        self._context = kerberos.new_context()
        self._stage = _Stage.CONTEXT
        self._steps = 0
        self.account: Account | None = None

    def respond(self, token: bytes) -> bytes:
        """Answer the client's next token.

        Raises:
            AuthenticationFailed: the exchange is over.
        """
        stage, self._stage = self._stage, _Stage.OVER
        if len(token) > MAX_TOKEN_BYTES:
            raise self._failed(f"a GSSAPI token of {len(token)} bytes, at most {MAX_TOKEN_BYTES} are read")
        try:
            match stage:
                case _Stage.CONTEXT:
                    return self._step(token)
                case _Stage.OFFER if not token:
                    return self._offer()
                case _Stage.CHOICE:
                    return self._choice(token)
        except ContextFailed as failure:
            raise AuthenticationFailed(self._text, str(failure), is_told=not failure.is_passing) from None
        raise self._failed("a GSSAPI token out of order")

    def _step(self, token: bytes) -> bytes:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise self._failed(f"no GSSAPI context after {MAX_STEPS} tokens")
        answer = self._context.step(token)
        if not self._context.is_complete:
            self._stage = _Stage.CONTEXT
            return answer
        if not answer:
            # The client did not ask the gateway to prove its identity, so it awaits the offer at once.
            return self._offer()
        self._stage = _Stage.OFFER
        return answer

    def _offer(self) -> bytes:
        self._stage = _Stage.CHOICE
        return self._context.wrap(_OFFER)

    def _choice(self, token: bytes) -> bytes:
        choice = self._context.unwrap(token)
        if len(choice) < 4 or choice[0] != NO_LAYER:
            raise self._failed("the client wants a security layer, which is not offered")
        principal = self._context.initiator()
        try:
            name = self._names.of(principal)
        except NoLocalName as failure:
            raise self._failed(f"{principal!r}: {failure}") from None
        account = self._accounts.of_principal(name)
        if account is None:
            raise self._failed(f"the principal {principal!r} is {name!r} here, which belongs to no tenant")
        self.account = account
        return b""

    def _failed(self, detail: str) -> AuthenticationFailed:
        return AuthenticationFailed(self._text, detail)
