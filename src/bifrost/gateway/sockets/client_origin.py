"""A client as it comes to its listener set, before its first frame is heard."""

from dataclasses import dataclass

from bifrost.authentication.accounts import Account


@dataclass(frozen=True, slots=True)
class ClientOrigin:
    """What is known of a client by the way it came."""

    security_protocol: str = "SASL_PLAINTEXT"
    """That of the listener set."""

    account: Account | None = None
    """Who it is, where it is not asked; None: it has to authenticate."""

    tenant: str | None = None
    """The only tenant whose clients may come this way; None: any."""

    address: tuple[str, int] | None = None
    """Where it is, in the words of a load balancer; None: where the connection comes from."""

    server_name: str | None = None
    """The host it wanted to reach, as it said in its TLS hello (SNI); None: it did not say."""

    waited_ms: int | None = None
    """Time that it has already taken of that in which it has to authenticate. With it the delay after failed
    authentications is behind it; None: it has just come."""


DIRECT = ClientOrigin()
"""The way of SASL_PLAINTEXT, with nobody between."""
