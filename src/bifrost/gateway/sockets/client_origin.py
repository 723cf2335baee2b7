"""What is known of a client from its connection, before its first frame."""

from dataclasses import dataclass

from bifrost.authentication.accounts import Account
from bifrost.authentication.address_costs import NO_COST, Cost


@dataclass(frozen=True, slots=True)
class ClientOrigin:
    """What the listener set, a load balancer and TLS tell of a client."""

    security_protocol: str = "SASL_PLAINTEXT"
    """Security protocol of the listener set."""

    account: Account | None = None
    """The client's account, if no SASL authentication is needed; None: the client has to authenticate."""

    tenant: str | None = None
    """The only tenant whose clients may connect here; None: any."""

    address: tuple[str, int] | None = None
    """The client's address in the PROXY header of a load balancer; None: the connection's peer is the client."""

    server_name: str | None = None
    """The host name in the client's TLS hello (SNI); None if it sent none."""

    waited_ms: int | None = None
    """Time already used of the authentication timeout; the delay after failed authentications is then over. None: the
    client has just connected."""

    cost: Cost = NO_COST
    """What its address was charged for the connection so far: taken back when the client authenticates."""


DIRECT = ClientOrigin()
"""Origin of a client that connects by SASL_PLAINTEXT without a load balancer's header."""
