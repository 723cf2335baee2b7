import pytest

from bifrost.tenancy.acls.acl_binding import Operation, PatternType, ResourceType
from bifrost.tenancy.acls.guard import Guard
from bifrost.tenancy.answer_names import answer_names
from bifrost.tenancy.names import TenantNames
from bifrost.tenancy.namespace import Namespace
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.fields.entities import SLOT_NEW_TOPIC
from support.physical_names import physical_name
from support.stage.guards import allow, authority_of, guard_of
from support.stage.stage import PORTS, Stage, Tenant

TOPIC = ResourceType.TOPIC


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def namespace(stage: Stage) -> Namespace:
    return stage.namespaces["initech"]


def test_a_permitted_name_is_remembered_and_a_denied_one_is_not(stage: Stage) -> None:
    names = guard_of(stage, allow("WRITE", "orders")).to_physical(ApiKey.PRODUCE)
    physical = physical_name("initech", "orders").encode()

    assert names.missing(Entity.TOPIC_NAME, b"orders") == physical
    assert names.missing(Entity.TOPIC_NAME, b"secret") is None
    assert names.tables[Entity.TOPIC_NAME] == {b"orders": physical}


def test_each_api_has_names_of_its_own(stage: Stage) -> None:
    guard = guard_of(stage, allow("WRITE", "orders"))

    assert guard.to_physical(ApiKey.FETCH).missing(Entity.TOPIC_NAME, b"orders") is None
    assert guard.to_physical(ApiKey.LIST_OFFSETS).missing(Entity.TOPIC_NAME, b"orders") is not None
    assert guard.to_physical(ApiKey.FETCH) is guard.to_physical(ApiKey.FETCH)


def test_an_id_is_permitted_as_its_topic_is(stage: Stage) -> None:
    orders, secret = (stage.topic(physical_name("initech", one)) for one in ("orders", "secret"))
    foreign = stage.topic(physical_name("acme", "orders"))
    names = guard_of(stage, allow("READ", "orders")).to_physical(ApiKey.FETCH)

    assert names.missing(Entity.TOPIC_ID, orders) == orders
    assert names.missing(Entity.TOPIC_ID, secret) is None
    masked = names.missing(Entity.TOPIC_ID, foreign)
    assert masked not in (None, foreign)
    assert names.tables[Entity.TOPIC_ID] == {orders: orders}


def test_what_an_api_has_no_operation_for_is_decided_by_filters(stage: Stage) -> None:
    names = guard_of(stage, allow("ALL", "*")).to_physical(ApiKey.PRODUCE)

    assert names.missing(Entity.GROUP_ID, b"readers") is None
    assert names.missing(Entity.TOPIC_REGEX, b".*") is None
    assert names.missing(Entity.MEMBER_ID, b"member") == b"member"


def test_a_name_that_is_no_text_is_decided_by_filters(stage: Stage) -> None:
    names = guard_of(stage, allow("ALL", "*")).to_physical(ApiKey.PRODUCE)

    assert names.missing(Entity.TOPIC_NAME, b"\xff") is None


def test_metadata_of_a_topic_that_may_have_to_be_created_is_decided_by_filters(
    stage: Stage, namespace: Namespace
) -> None:
    names = guard_of(stage, allow("DESCRIBE", "orders")).to_physical(ApiKey.METADATA)

    assert names.tables[SLOT_NEW_TOPIC] is None
    assert names.missing(SLOT_NEW_TOPIC, b"secret") is None


def test_an_answer_with_a_topic_that_may_not_be_read_is_decided_by_filters(
    stage: Stage, namespace: Namespace
) -> None:
    guard, base = guard_of(stage, allow("READ", "orders")), answer_names(namespace, PORTS)
    names = guard.to_virtual(ApiKey.FETCH, base)

    assert names.missing(Entity.TOPIC_NAME, physical_name("initech", "orders").encode()) == b"orders"
    assert names.missing(Entity.TOPIC_NAME, physical_name("initech", "secret").encode()) is None
    assert guard.to_virtual(ApiKey.PRODUCE, base) is base


def test_a_change_empties_the_tables_and_tells_the_sessions(stage: Stage, namespace: Namespace) -> None:
    class Session:
        times = 0

        def rights_changed(self) -> None:
            self.times += 1

    authority, session = authority_of(allow("READ", "orders")), Session()
    guard = authority.guard(namespace, "alice", "192.0.2.1")
    guard.sessions.add(session)
    names = guard.to_physical(ApiKey.FETCH)
    names.missing(Entity.TOPIC_NAME, b"orders")

    authority.change([], (), allow_everyone_if_no_acl_found=False)

    assert names.tables[Entity.TOPIC_NAME] == {}
    assert names.missing(Entity.TOPIC_NAME, b"orders") is None
    assert session.times == 1


def test_names_that_get_another_meaning_are_forgotten(stage: Stage, namespace: Namespace) -> None:
    names = guard_of(stage, allow("READ", "orders")).to_physical(ApiKey.FETCH)
    names.missing(Entity.TOPIC_NAME, b"orders")

    namespace.change(["orders"], (), allow_topic_deletion=False, max_names=10)

    assert names.tables[Entity.TOPIC_NAME] == {}


def test_rights_of_all_and_of_some_resources(stage: Stage) -> None:
    guard = guard_of(
        stage,
        allow("WRITE", "out-", pattern_type=PatternType.PREFIXED),
        allow("DESCRIBE", "*"),
        allow("CREATE", "kafka-cluster", ResourceType.CLUSTER),
    )

    assert guard.may_some(Operation.WRITE, TOPIC)
    assert not guard.may_some(Operation.READ, TOPIC)
    assert guard.may_all(Operation.DESCRIBE, TOPIC)
    assert guard.may_cluster(Operation.CREATE)
    assert not guard.may_cluster(Operation.ALTER)


def test_a_client_of_a_namespace_is_judged_by_full_names(stage: Stage) -> None:
    existing = {("eu",), ("eu", "de")}
    views = {
        tiers: guard_of_names(stage, TenantNames("initech", tiers=tiers, namespaces=existing))
        for tiers in ((), ("eu",), ("eu", "de"))
    }

    may = {tiers: guard.may(Operation.READ, TOPIC, name) for tiers, (guard, name) in views.items()}
    denied = [
        guard.may(Operation.READ, TOPIC, "orders")
        for tiers, (guard, _) in views.items()
        if tiers != ("eu", "de")
    ]

    assert may == dict.fromkeys(views, True)
    assert denied == [False, False]


def guard_of_names(stage: Stage, names: TenantNames) -> tuple[Guard, str]:
    namespace = stage._namespace(names, Tenant())
    guard = authority_of(allow("READ", "eu:de:orders")).guard(namespace, "alice", "192.0.2.1")
    return guard, ":".join([*("eu", "de")[len(names.tiers) :], "orders"])


def test_permission_on_the_namespace_comes_before_what_is_in_it(stage: Stage) -> None:
    stage.existing.configure({"initech": [("eu", "de")]})
    rights = allow("ALL", "*"), allow("READ", "*", ResourceType.GROUP), allow("READ", "eu:")
    guard = guard_of(stage, *rights)
    stranger = guard_of(stage, *(allow("ALL", "*", principal="User:bob"), *rights), user="bob")

    for name in ("eu:orders", "eu:de:orders"):
        assert guard.may(Operation.READ, TOPIC, name)
        assert not guard.may(Operation.WRITE, TOPIC, name)
        assert not stranger.may(Operation.DESCRIBE, TOPIC, name)
    assert guard.may(Operation.READ, ResourceType.GROUP, "eu:readers")
    assert guard.may(Operation.WRITE, TOPIC, "orders")
    assert stranger.may(Operation.WRITE, TOPIC, "us:orders")


def test_a_right_on_the_cluster_ends_before_a_namespace(stage: Stage) -> None:
    stage.existing.configure({"initech": [("eu",)]})
    cluster = allow("CREATE", "kafka-cluster", ResourceType.CLUSTER)
    guard = guard_of(stage, cluster, allow("ALL", "eu:", principal="User:bob"))

    assert guard.may_by_cluster(Operation.CREATE, "orders")
    assert not guard.may_by_cluster(Operation.CREATE, "eu:orders")
