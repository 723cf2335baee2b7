import gc

from bifrost.authentication.accounts import Account
from bifrost.session.fetch_ownership import FetchOwnership
from bifrost.session.fetch_sessions import FetchSessions
from bifrost.session.virtual_clusters import Models, VirtualCluster, VirtualClusters
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.acls.authority import Authority
from bifrost.tenancy.names import VirtualTopic
from bifrost.tenancy.namespaces.namespace_tree import KIND
from bifrost.wire.entity import Entity
from support.physical_names import physical_name
from support.stage.stage import UPSTREAM, Stage, Tenant


def account(*tiers: str, name: str = "reader") -> Account:
    return Account(name, "acme", namespace=tiers)


KEY = StateKey(KIND, "globex:eu")


def test_accounts_without_tiers_share_their_tenant_s() -> None:
    clusters = Stage().shared.virtual_clusters

    assert clusters.of(account()) is clusters.of(account(name="other")) is clusters.of_tenant("acme")


def test_one_below_is_shared_while_a_client_uses_it_and_then_forgotten() -> None:
    made = []

    def new(_tenant: str, tiers: tuple[str, ...], _authority: Authority | None) -> VirtualCluster:
        made.append(tiers)
        return VirtualCluster(Stage().namespaces["acme"], UPSTREAM, FetchSessions())

    clusters = VirtualClusters({"acme": new("acme", (), None)}, new)
    made.clear()
    held = clusters.of(account("eu"))
    assert clusters.of(account("eu", name="other")) is held
    assert clusters.of(account("us")) is not held
    assert made == [("eu",), ("us",)]

    del held
    gc.collect()
    clusters.of(account("eu"))
    assert made == [("eu",), ("us",), ("eu",)]


def test_a_fetch_session_belongs_to_a_namespace_not_to_its_tenant() -> None:
    clusters = Stage().shared.virtual_clusters
    whole, below = (
        FetchOwnership(one.fetch_sessions, 1, one.namespace.path)
        for one in (clusters.of(account()), clusters.of(account("eu")))
    )
    below.claim(77)

    assert below.owns(77)
    assert not whole.owns(77)
    assert whole.owns(0)


def test_names_in_use_are_forgotten_when_namespaces_change() -> None:
    clusters = Stage({"globex": Tenant(), "acme": Tenant()}).shared.virtual_clusters
    bound = Account("reader", "globex", namespace=("eu",))
    whole, held = clusters.of(Account("reader", "globex")).namespace, clusters.of(bound)
    topic = VirtualTopic(b"eu:orders")
    assert whole.physical_topic(topic) == physical_name("globex", "eu:orders").encode()
    held.namespace.physical_topic(topic)
    assert not clusters.has_namespace(bound)

    clusters.namespaces.apply(KEY, StateRecord(KEY, 1, 0, "c", "w", None, {}))

    assert whole.physical_topic(topic) == physical_name("globex", "--eu.orders").encode()
    assert not held.namespace.to_physical.tables[Entity.TOPIC_NAME]
    assert clusters.has_namespace(bound)
    assert not clusters.has_namespace(account("eu"))
    assert not clusters.has_namespace(Account("x", "unknown"))


def test_each_physical_cluster_has_an_index_of_its_own_if_there_is_one() -> None:
    models = Models(indexes={})

    assert models.index_of("main") is models.index_of("main") is not models.index_of("other")
    assert Models().index_of("main") is None
