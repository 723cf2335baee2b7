"""The stage for the Playbook: tenants on one physical cluster, as a gateway shares them, without any I/O.

acme and globex have allow-lists and both call a topic `orders`; initech has a dynamic namespace. The clock stands still
until a test moves it.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

from bifrost.authentication.accounts import Account, Accounts
from bifrost.authentication.sasl_server import SaslSettings
from bifrost.config.fields.verifiers import SCRAM_HASHES, Mechanism, ScramVerifier
from bifrost.config.secrets import Secret
from bifrost.filters.api_versions import OfferedVersions, offered_versions
from bifrost.filters.build import build_plans
from bifrost.filters.filter import Exchange, Scope
from bifrost.forwarding.in_flight_limits import InFlightLimits
from bifrost.forwarding.lanes import Lanes
from bifrost.session.client_session import ClientSession
from bifrost.session.fetch_sessions import FetchSessions
from bifrost.session.shared_state import Entry, Route, SharedState
from bifrost.session.virtual_clusters import Models, VirtualCluster, VirtualClusters
from bifrost.tenancy.acls.authority import Authority
from bifrost.tenancy.broker_state.broker_state import BrokerState, StateLimits
from bifrost.tenancy.brokers import BrokerPorts
from bifrost.tenancy.names import TenantNames
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.namespaces.existing_namespaces import ExistingNamespaces
from bifrost.tenancy.namespaces.topic_aliases import TenantPlace, TopicAliases
from bifrost.tenancy.policy import DEFAULT_POLICY, ResourcePolicy
from bifrost.tenancy.topic_bounds import TopicBounds
from bifrost.tenancy.topic_ids import TopicIds
from bifrost.wire.message import Message
from bifrost.wire.schema import all_schemas
from support.physical_names import physical_name
from support.stage import messages
from support.stage.playbook import Playbook, client_sends, to_client

PORTS = BrokerPorts(advertised_host="proxy.example.com", start=9093, end=9095, broker_id_base=1)
UPSTREAM = "upstream"
PHYSICAL_CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
PASSWORD_MECHANISMS = (Mechanism.PLAIN, Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512)
"""Those that the users of a stage can use."""
PLANS = build_plans()
"""Shared by all tests: what plans remember depends on nothing but the schemas."""


@dataclass(frozen=True)
class Tenant:
    """The settings of one tenant."""

    allowed_topics: tuple[str, ...] | None = None
    allow_topic_deletion: bool = False
    policy: ResourcePolicy = DEFAULT_POLICY
    max_topics: int | None = None
    """None: any number."""
    max_partitions: int = 100
    state_limits: StateLimits | None = None
    """Of what brokers keep; None: any number."""


TENANTS: Mapping[str, Tenant] = {
    "acme": Tenant(("orders", "billing", "events", "audit.log")),
    "globex": Tenant(("orders", "users")),
    "initech": Tenant(),
}


def broker_versions(**ranges: tuple[int, int]) -> Any:
    """Give what a broker answers to ApiVersions: all that the schema table knows, save for `ranges` by API."""
    keys = []
    for schema in all_schemas():
        if schema.kind != "request":
            continue
        low, high = ranges.get(
            schema.name.removesuffix("Request"), (schema.versions.low, schema.versions.high)
        )
        keys.append({"api_key": schema.api_key, "min_version": low, "max_version": high})
    feature = {"name": "transaction.version", "max_version_level": 2, "min_version_level": 1}
    return messages.build(
        "ApiVersionsResponse",
        {
            "api_keys": keys,
            "supported_features": [{"name": "transaction.version", "min_version": 1, "max_version": 2}],
            "finalized_features_epoch": 7,
            "finalized_features": [feature],
        },
    )


WITHOUT_TOPIC_PAGES = offered_versions(broker_versions(DescribeTopicPartitions=(9, 9)))
"""Of a broker that does not list topics by pages, and is asked for all of them."""


class Stage:
    """What the sessions of one gateway share, and what a test may turn."""

    def __init__(
        self,
        tenants: Mapping[str, Tenant] = TENANTS,
        *,
        max_in_flight_requests: int = 100,
        max_names: int = 10_000,
        versions: OfferedVersions | None = None,
        mechanisms: tuple[Mechanism, ...] = (Mechanism.PLAIN,),
        max_reauth_ms: int = 0,
        tokens: Any = None,
        namespaces_client_ids: bool = True,
    ) -> None:
        """Set the stage; every tenant has a user of its own name with the password `<tenant>-password`."""
        self.now_ms = 1_000_000
        self.topic_ids = TopicIds()
        self.fetch_sessions = FetchSessions()
        self._masks = (b"mask" + number.to_bytes(12, "big") for number in count(1))
        self._max_names = max_names
        self.hits: Counter[tuple[str, str]] = Counter()
        """What was refused for a limit."""
        self.existing = ExistingNamespaces()
        self.tenants = tenants
        self.aliases = TopicAliases()
        self.aliases.configure({name: TenantPlace(UPSTREAM, physical_name(name, "")) for name in tenants})
        self.namespaces = {
            name: self._namespace(
                TenantNames(
                    name,
                    tenant.allowed_topics,
                    namespaces=self.existing.of(name),
                    namespaces_client_ids=namespaces_client_ids,
                    aliases=self.aliases.parts,
                ),
                tenant,
            )
            for name, tenant in tenants.items()
        }
        self.versions = offered_versions(broker_versions()) if versions is None else versions
        self.mechanisms = mechanisms
        nonces = count(1)
        self.turns: list[Callable[[], None]] = []
        """What is to be called a little later, for those who wait for room."""
        self.shared = SharedState(
            plans=PLANS,
            lanes=Lanes(PLANS, InFlightLimits(self.turns.append)),
            sasl=SaslSettings(
                accounts=Accounts([account(name) for name in tenants], key=b"a secret"),
                new_nonce=lambda: f"server-nonce-{next(nonces)}",
                now_ms=lambda: self.now_ms,
                max_reauth_ms=max_reauth_ms,
                tokens=tokens,
            ),
            virtual_clusters=VirtualClusters(
                {
                    name: VirtualCluster(one, UPSTREAM, self.fetch_sessions)
                    for name, one in self.namespaces.items()
                },
                self._new,
                Models(self.existing, aliases=self.aliases),
            ),
            max_in_flight_requests=max_in_flight_requests,
        )

    def session(self, node_id: int = 1) -> ClientSession:
        """Open a connection to a broker's port, not authenticated yet."""
        return ClientSession(self.shared, self.entry(node_id))

    def entry(self, node_id: int = 1) -> Entry:
        """What a listener says of a connection to a broker's port."""
        return Entry({UPSTREAM: Route(node_id, self.versions)}, self.versions, PORTS, self.mechanisms)

    def _namespace(self, names: TenantNames, tenant: Tenant) -> Namespace:
        namespace = Namespace(
            names,
            self.topic_ids,
            allow_topic_deletion=tenant.allow_topic_deletion,
            max_names=self._max_names,
            now_ms=lambda: self.now_ms,
            new_id=lambda: next(self._masks),
            policy=tenant.policy,
            bounds=self._bounds(names.tenant, tenant),
            cluster_id=lambda: PHYSICAL_CLUSTER_ID,
        )
        if tenant.state_limits is not None:
            state = BrokerState(lambda: self.now_ms, self.hits, names.tenant)
            state.limit(tenant.state_limits)
            namespace.kept = state.of(namespace.path)
        return namespace

    def _bounds(self, name: str, tenant: Tenant) -> TopicBounds | None:
        if tenant.max_topics is None:
            return None
        bounds = TopicBounds(lambda: self.now_ms, self.hits, name)
        bounds.limit(tenant.max_topics, tenant.max_partitions)
        return bounds

    def _new(self, tenant: str, tiers: tuple[str, ...], authority: Authority | None) -> VirtualCluster:
        names = TenantNames(
            tenant,
            None if tiers else self.tenants[tenant].allowed_topics,
            tiers=tiers,
            namespaces=self.existing.of(tenant),
            aliases=self.aliases.parts,
            sees_shared=authority is not None,
        )
        namespace = self._namespace(names, Tenant())
        if not tiers:
            self.namespaces[tenant] = namespace
        return VirtualCluster(namespace, UPSTREAM, self.fetch_sessions, authority)

    def play(self, tenant: str | None = "acme", node_id: int = 1) -> Playbook:
        """Open a connection and authenticate it; not, if there is no tenant."""
        book = Playbook(self.session(node_id), self.topic_ids)
        return book if tenant is None else authenticated(book, tenant)

    def exchange(self, api_version: int, tenant: str = "acme", api_key: int = 0) -> Exchange:
        """Give what a filter is given with a message."""
        return Exchange(api_key, api_version, Scope(self.namespaces[tenant], PORTS))

    def masked(self, topic_id: bytes, tenant: str = "acme") -> bytes:
        """Give what stands, on the broker side, for an ID that the tenant may not use."""
        return self.namespaces[tenant].masked_ids.mask(topic_id)

    def topic(self, physical: str) -> bytes:
        """Let the cluster have a topic whose ID every tenant has asked for already; return the ID."""
        topic_id = messages.topic_id(physical)
        self.topic_ids.learn(topic_id, physical.encode())
        for namespace in self.namespaces.values():
            namespace.looked_up([topic_id])
        return topic_id


@cache
def account(tenant: str) -> Account:
    """Give the account of a tenant, once: its verifiers take a few milliseconds."""
    password, salt = f"{tenant}-password".encode(), f"salt of {tenant:10}".encode()
    verifiers = {one: ScramVerifier.derive(one, password, salt, 4096) for one in SCRAM_HASHES}
    return Account(tenant, tenant, Secret(password), verifiers)


def plain_token(user: str, password: str | None = None, authorization_id: str = "") -> bytes:
    """Give a SASL/PLAIN token; the password is the user's unless another is given."""
    return f"{authorization_id}\0{user}\0{password or user + '-password'}".encode()


def handshake(mechanism: str = "PLAIN") -> Message:
    """Ask for a SASL mechanism."""
    return messages.build("SaslHandshakeRequest", {"mechanism": mechanism})


def authenticate(token: bytes) -> Message:
    """Hand over a SASL token."""
    return messages.build("SaslAuthenticateRequest", {"auth_bytes": token})


def authenticated(book: Playbook, tenant: str) -> Playbook:
    """Authenticate as the user of a tenant, as clients do today."""
    return (
        book
        >> client_sends(handshake(), 1)
        << to_client(messages.build("SaslHandshakeResponse", {"mechanisms": ["PLAIN"]}))
        >> client_sends(authenticate(plain_token(tenant)), 2)
        << to_client(messages.build("SaslAuthenticateResponse", {}))
    )
