"""The objects that a ClientSession gets when a connection begins."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bifrost.authentication.accounts import Account
from bifrost.authentication.sasl_server import SaslSettings
from bifrost.config.fields.verifiers import Mechanism
from bifrost.filters.api_versions import OfferedVersions
from bifrost.filters.plan import Plans
from bifrost.forwarding.lanes import Lanes
from bifrost.forwarding.quotas.quotas import Quotas
from bifrost.forwarding.turns import Turns
from bifrost.journal.journal import Journal
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.session.virtual_clusters import VirtualCluster, VirtualClusters
from bifrost.tenancy.brokers import BrokerAddresses
from bifrost.tenancy.quotas.quota_tables import QuotaTables

if TYPE_CHECKING:
    from bifrost.state.state_table import StateTable
    from bifrost.tenancy.users.stored_users import StoredUsers


@dataclass(slots=True)
class SharedState:
    """What all sessions of a gateway share. A reload replaces the fields that it changes, also for open sessions."""

    plans: Plans
    lanes: Lanes
    sasl: SaslSettings
    virtual_clusters: VirtualClusters
    max_in_flight_requests: int
    journal: Journal | None = None
    """Takes usage and events; None: there is no journal."""
    state: "StateTable | None" = None
    """What all gateways share; None: the configuration has no `proxy.state`. The same table as long as the gateway
    runs."""
    users: "StoredUsers | None" = None
    """The users that tenants have made; None: the configuration has no `proxy.state`."""
    quota_tables: QuotaTables = field(default_factory=QuotaTables)
    """What the operator and the tenants have set as quotas."""
    turns: Turns | None = None
    """Divides large work into slices; None: each session works until it is done."""
    quotas: Quotas = field(default_factory=Quotas)
    """What clients are charged to."""

    def __post_init__(self) -> None:
        """Let clients be charged by the quotas that tenants set."""
        self.quotas.use(self.quota_tables)

    def lost_place(self, account: Account, cluster: VirtualCluster) -> tuple[CloseReason, str] | None:
        """Return why a client that was let in as `account`, into `cluster`, must leave; None: it may stay."""
        is_there = self.virtual_clusters.of_tenant(account.tenant) is not None
        if not is_there or (account.is_listed and not self.sasl.accounts.still_has(account)):
            detail = f"User:{account.username} is not in the configuration any more"
            return CloseReason.CREDENTIAL_REMOVED, detail
        if not self.virtual_clusters.has_namespace(account):
            return (
                CloseReason.NAMESPACE_DELETED,
                f"namespace {cluster.namespace.path} does not exist any more",
            )
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
    """The listener that a connection came to, before its tenant is known."""

    routes: Mapping[str, Route]
    """The brokers that this listener stands for, by the name of the physical cluster; some clusters may have none."""
    offered: OfferedVersions
    """Versions offered before authentication: those that every one of `routes` has."""
    addresses: BrokerAddresses
    mechanisms: tuple[Mechanism, ...]
    """How its clients may authenticate."""

    account: Account | None = None
    """The client's account where SASL is not used (PLAINTEXT, SSL): SASL requests are out of order then."""
    tenant: str | None = None
    """The only tenant whose clients may connect here; None: any tenant's."""
    is_single_address: bool = False
    """Whether the connection stands for all brokers, and a router takes its requests to them."""
    allows_repeated_scram_nonce: bool = False
    """Whether SCRAM clients may repeat their own nonce, as librdkafka before 2.6.1 does."""

    def settings(self, shared: SaslSettings) -> SaslSettings:
        """Return `shared`, restricted to what this listener allows."""
        if self.account is not None:
            return replace(shared, max_reauth_ms=0)  # The authentication never expires.
        if self.allows_repeated_scram_nonce:
            shared = replace(shared, allows_repeated_scram_nonce=True)
        if self.tenant is not None:
            tokens = None if shared.tokens is None else shared.tokens.only_of(self.tenant)
            return replace(shared, accounts=shared.accounts.only_of(self.tenant), tokens=tokens)
        return shared

    def route_to(self, upstream: str) -> Route:
        """Return the broker of a physical cluster that the connection stands for.

        Raises:
            SessionEnded: the cluster has no such broker, or none of its brokers is known.
        """
        route = self.routes.get(upstream)
        if route is None:
            detail = f"upstream {upstream} has no broker for this port, or none that is known"
            raise SessionEnded(CloseReason.BROKER_UNREACHABLE, detail)
        return route
