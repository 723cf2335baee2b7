"""What a ClientSession is given when a connection begins."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bifrost.authentication.accounts import Account
from bifrost.authentication.sasl_server import SaslSettings
from bifrost.config.fields.verifiers import Mechanism
from bifrost.filters.api_versions import OfferedVersions
from bifrost.filters.plan import Plans
from bifrost.forwarding.lanes import Lanes
from bifrost.forwarding.turns import Turns
from bifrost.journal.journal import Journal
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.session.virtual_clusters import VirtualCluster, VirtualClusters
from bifrost.tenancy.brokers import BrokerAddresses


@dataclass(slots=True)
class SharedState:
    """What all sessions of a gateway have in common. A reload replaces what it changes, for those that are open too."""

    plans: Plans
    lanes: Lanes
    sasl: SaslSettings
    virtual_clusters: VirtualClusters
    max_in_flight_requests: int
    journal: Journal | None = None
    """What is told of all that happens; None: nobody is."""
    turns: Turns | None = None
    """Who may work for how long; None: everybody, until the work is done."""

    def lost_place(self, account: Account, cluster: VirtualCluster) -> tuple[CloseReason, str] | None:
        """Return why a client that was let in as `account`, into `cluster`, would not be any more; None: it would."""
        is_there = self.virtual_clusters.of_tenant(account.tenant) is not None
        if not is_there or (account.is_listed and not self.sasl.accounts.still_has(account)):
            detail = f"User:{account.username} is not in the configuration any more"
            return CloseReason.CREDENTIAL_REMOVED, detail
        if self.virtual_clusters.of(account) is not cluster:
            return CloseReason.RECONFIGURED, f"names of tenant {account.tenant} mean something else now"
        return None


@dataclass(frozen=True, slots=True)
class Route:
    """The broker of one physical cluster that a connection stands for."""

    node_id: int
    offered: OfferedVersions


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a connection came in, before anybody knows whose it is."""

    routes: Mapping[str, Route]
    """By the name of the physical cluster; those that have no such broker are not in it."""
    offered: OfferedVersions
    """What is offered before authentication: what every one of `routes` has."""
    addresses: BrokerAddresses
    mechanisms: tuple[Mechanism, ...]
    """How its clients may authenticate."""

    account: Account | None = None
    """Who the client is, where it is not asked (PLAINTEXT, SSL): SASL is out of order then."""
    tenant: str | None = None
    """The only tenant whose clients may come in here; None: any."""

    def settings(self, shared: SaslSettings) -> SaslSettings:
        """Return what authentications here have in common, which is less than what they have everywhere."""
        if self.account is not None:
            return replace(shared, max_reauth_ms=0)  # It holds for as long as the connection.
        if self.tenant is not None:
            tokens = None if shared.tokens is None else shared.tokens.only_of(self.tenant)
            return replace(shared, accounts=shared.accounts.only_of(self.tenant), tokens=tokens)
        return shared

    def route_to(self, upstream: str) -> Route:
        """Return the broker of a physical cluster that the connection stands for.

        Raises:
            SessionEnded: the cluster has no such broker, or none of its is known.
        """
        route = self.routes.get(upstream)
        if route is None:
            detail = f"upstream {upstream} has no broker for this port, or none that is known"
            raise SessionEnded(CloseReason.BROKER_UNREACHABLE, detail)
        return route
