from dataclasses import replace
from pathlib import Path

from bifrost.config.records.record_filter import RecordFilter
from bifrost.filters.records.record_topics import RecordTopics, _sealed_last
from bifrost.forwarding.lane_names import lane_names
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import Body, StateRecord
from bifrost.tenancy.namespaces.alias_table import KIND
from bifrost.transforms.quarantine import Quarantine, QuarantinePlace
from bifrost.transforms.record_transform import Direction
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from support.encryption.key_files import encryption
from support.physical_names import physical_name
from support.stage.filtered import filtered, headers, policy, topics_of
from support.stage.guards import allow, guard_of
from support.stage.stage import PORTS, Stage, account

PRODUCE, FETCH = Direction.PRODUCE, Direction.FETCH
ON_ORDERS = ({"topics": ["orders"], "direction": "produce"}, {"topics": ["orders"], "direction": "fetch"})
ID, OTHER_ID = bytes(15) + b"\7", bytes(15) + b"\x08"


def physical(topic: str) -> bytes:
    return physical_name("initech", topic).encode()


def found(topics: RecordTopics, api_key: int, slot: int, value: bytes) -> bytes | None:
    """Look a name up as the engine does."""
    names = lane_names(topics.namespace, PORTS, None, topics).of_api(api_key)
    one = names.to_physical if api_key == ApiKey.PRODUCE else names.to_virtual
    table = one.tables[slot]
    known = None if table is None else table.get(value)
    return one.missing(slot, value) if known is None else known


def test_the_engine_has_all_topics_but_those_that_filters_are_for(stage: Stage) -> None:
    topics = topics_of(stage, headers(*ON_ORDERS, remove=["x"]))

    for _ in range(2):
        assert found(topics, ApiKey.PRODUCE, Entity.TOPIC_NAME, b"orders") is None
        assert found(topics, ApiKey.PRODUCE, Entity.TOPIC_NAME, b"users") == physical("users")
        assert found(topics, ApiKey.FETCH, Entity.TOPIC_NAME, physical("orders")) is None
        assert found(topics, ApiKey.FETCH, Entity.TOPIC_NAME, physical("users")) == b"users"


def test_topics_are_known_by_their_ids_too(stage: Stage) -> None:
    topics = topics_of(stage, headers(*ON_ORDERS, remove=["x"]))
    stage.topic_ids.learn(ID, physical("orders"))
    stage.topic_ids.learn(OTHER_ID, physical("users"))

    for api_key in (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.SHARE_FETCH):
        assert found(topics, api_key, Entity.TOPIC_ID, ID) is None
        assert found(topics, api_key, Entity.TOPIC_ID, OTHER_ID) == OTHER_ID


def test_other_apis_keep_the_names_of_the_namespace(stage: Stage) -> None:
    topics = topics_of(stage, headers(*ON_ORDERS, remove=["x"]))
    names = lane_names(topics.namespace, PORTS, None, topics)

    assert names.of_api(ApiKey.METADATA) == names
    assert names.of_api(ApiKey.PRODUCE).to_virtual is names.to_virtual
    assert names.of_api(ApiKey.FETCH).to_physical is names.to_physical


def test_each_way_has_its_own_rules(stage: Stage) -> None:
    topics = topics_of(stage, policy(require_key=True), headers({"direction": "fetch"}, remove=["x"]))

    produce, fetch = topics.chain("orders", PRODUCE), topics.chain("orders", FETCH)

    assert produce is not None
    assert fetch is not None
    assert [one.name for one in produce.transforms] == ["policy"]
    assert [one.name for one in fetch.transforms] == ["headers"]


def test_a_chain_has_what_acks_are_refused(stage: Stage) -> None:
    topics = topics_of(
        stage,
        policy(label="one", acks=["all", "1"]),
        policy(label="two", acks=["all"]),
        headers(remove=["x"]),
    )
    chain = topics.chain("orders", PRODUCE)

    assert chain is not None
    assert chain.refused_acks == {0: "one", 1: "two"}


def test_names_are_asked_about_anew_when_they_mean_something_else(stage: Stage) -> None:
    topics = topics_of(stage, headers(*ON_ORDERS, remove=["x"]))
    found(topics, ApiKey.PRODUCE, Entity.TOPIC_NAME, b"users")
    table = topics.to_physical(ApiKey.PRODUCE, topics.namespace.to_physical).tables[Entity.TOPIC_NAME]
    assert table == {b"users": physical("users")}

    topics.namespace.forget_names()

    assert table == {}


def test_what_rights_permit_is_asked_about_anew(stage: Stage) -> None:
    records = filtered(stage, headers(*ON_ORDERS, remove=["x"]))
    guard = guard_of(stage, allow("WRITE", "users"))
    topics = records.topics(guard.namespace, "alice", guard)
    assert topics is not None
    names = topics.to_physical(ApiKey.PRODUCE, guard.to_physical(ApiKey.PRODUCE))
    assert names.missing(Entity.TOPIC_NAME, b"users") is not None
    assert names.missing(Entity.TOPIC_NAME, b"other") is None

    guard.renew()

    assert names.tables[Entity.TOPIC_NAME] == {}


def chain_of(topics: RecordTopics | None, topic: str) -> list[str]:
    chain = None if topics is None else topics.chain(topic, PRODUCE)
    return [] if chain is None else [one.name for one in chain.transforms]


def test_a_moved_topic_is_under_the_rules_of_its_home_and_owner_in_the_tenant_too(stage: Stage) -> None:
    of_home, of_owner = {"topics": ["eu:orders"]}, {"namespace": "billing"}
    own = headers(of_home, label="home", remove=["x"]), headers(of_owner, label="owner", remove=["x"])
    stage.existing.configure({"acme": [("eu",), ("billing",), ("us",)]})
    records, foreign = filtered(stage, *own), filtered(stage, *own, tenant="globex")
    key = StateKey(KIND, "acme:eu/orders")
    shares = {"acme:us/p": "read-write", "globex/q": "read-write"}
    body: Body = {"owner": "acme:billing/o", "shares": shares}

    stage.aliases.apply(key, StateRecord(key, 1, 0, "c", "w", None, body))
    clusters = stage.shared.virtual_clusters
    us = clusters.of(replace(account("acme"), namespace=("us",)))
    billing = clusters.of(replace(account("acme"), namespace=("billing",)))
    in_us = records.topics(us.namespace, "alice", None)
    assert in_us is not None

    assert chain_of(in_us, "p") == ["home", "owner"]
    assert found(in_us, ApiKey.PRODUCE, Entity.TOPIC_NAME, b"p") is None
    assert chain_of(records.topics(billing.namespace, "alice", None), "o") == ["home", "owner"]
    whole = records.topics(clusters.of(account("acme")).namespace, "alice", None)
    assert chain_of(whole, "billing:o") == ["home", "owner"]
    assert chain_of(foreign.topics(stage.namespaces["globex"], "alice", None), "q") == []

    stage.aliases.apply(key, StateRecord(key, 2, 0, "c", "w", None, body | {"owner": "initech/o"}))
    assert chain_of(in_us, "p") == ["home"]
    stage.aliases.apply(key, None)
    assert chain_of(in_us, "p") == []


def test_a_produce_is_decoded_however_large_it_is(stage: Stage) -> None:
    topics = topics_of(stage, headers(*ON_ORDERS, remove=["x"]))
    plan = stage.shared.plans.plan_for(ApiKey.PRODUCE, 12)
    metadata = stage.shared.plans.plan_for(ApiKey.METADATA, 12)
    assert plan is not None
    assert metadata is not None

    assert topics.plan(plan).carries_records
    assert len(topics.plan(plan).filters) == len(plan.filters) + 1
    assert topics.plan(metadata) is metadata


def test_the_filter_that_seals_is_next_to_the_broker_and_alone(stage: Stage) -> None:
    """A topic with several names may be under rules that the configuration could not compare."""
    first, second = (
        RecordFilter.model_validate(encryption(Path("keks"), "orders", label=label))
        for label in ("one", "two")
    )
    other = headers(*ON_ORDERS, remove=["x"])

    assert _sealed_last([first, other, second], PRODUCE) == [other, first]
    assert _sealed_last([second, other, first], FETCH) == [first, other]
    assert _sealed_last([other], FETCH) == [other]


def test_offsets_by_time_are_seen_of_topics_whose_batches_are_opened(stage: Stage) -> None:
    rules = {"batches": {}, "values": {"mode": "values"}}
    filters = [
        RecordFilter.model_validate(encryption(Path("keks"), topic, label=topic, **config))
        for topic, config in rules.items()
    ]
    sealed_only = encryption(Path("keks"), "written", label="written")
    sealed_only["rules"][0]["direction"] = "produce"
    topics = topics_of(stage, *filters, RecordFilter.model_validate(sealed_only))
    topics.namespace.physical_cluster_id = lambda: "cluster"
    plan = stage.shared.plans.plan_for(ApiKey.LIST_OFFSETS, 7)

    hidden = topics.hidden_times("batches")
    assert hidden is not None
    assert hidden.physical == physical("batches")
    assert [topics.hidden_times(one) for one in ("values", "written", "other")] == [None] * 3
    names = topics.to_physical(ApiKey.LIST_OFFSETS, topics.namespace.to_physical)
    assert names.missing(Entity.TOPIC_NAME, b"batches") is None
    assert names.missing(Entity.TOPIC_NAME, b"values") == physical("values")
    assert plan is not None
    assert not topics.plan(plan).carries_records
    assert len(topics.plan(plan).filters) == len(plan.filters) + 1


def put_aside(topics: RecordTopics, topic: str) -> QuarantinePlace:
    chain = topics.chain(topic, PRODUCE)
    assert chain is not None
    (transform,) = [one for one in chain.transforms if isinstance(one, Quarantine)]
    return transform._place


def checked(topic: str = "*", label: str = "checks") -> RecordFilter:
    config = {"registry_url": "http://registry", "quarantine_topic": "bad"}
    return RecordFilter.model_validate(
        {"name": "SchemaValidator", "label": label, "config": config, "rules": [{"topics": [topic]}]}
    )


def test_bad_records_are_put_aside_in_the_namespace_of_their_client(stage: Stage) -> None:
    stage.existing.configure({"initech": [("eu",)]})
    records, clusters = filtered(stage, checked(), tenant="initech"), stage.shared.virtual_clusters
    in_eu = records.topics(
        clusters.of(replace(account("initech"), namespace=("eu",))).namespace, "alice", None
    )
    whole = records.topics(clusters.of(account("initech")).namespace, "alice", None)
    assert in_eu is not None
    assert whole is not None

    assert put_aside(in_eu, "orders") == QuarantinePlace(
        "initech", "eu:orders", "eu:bad", physical("--eu.bad")
    )
    assert put_aside(whole, "orders") == QuarantinePlace("initech", "orders", "bad", physical("bad"))
    assert in_eu.chain("orders", FETCH) is None


def test_nothing_is_put_aside_in_a_topic_of_another_owner(stage: Stage) -> None:
    records, clusters = filtered(stage, checked(), tenant="initech"), stage.shared.virtual_clusters
    whole = records.topics(clusters.of(account("initech")).namespace, "alice", None)
    assert whole is not None
    assert put_aside(whole, "orders").unusable is None
    key = StateKey(KIND, "globex/bad")
    body: Body = {"owner": "globex/bad", "shares": {"initech/bad": "read-write"}}

    stage.aliases.apply(key, StateRecord(key, 1, 0, "c", "w", None, body))
    shared = put_aside(whole, "orders")

    assert shared.unusable == "the topic of quarantine is not one of the namespace's own"


def test_records_that_are_sealed_under_another_name_are_not_put_aside(stage: Stage) -> None:
    """The configuration could not compare the names of a topic that was moved."""
    stage.existing.configure({"initech": [("eu",), ("us",)]})
    sealed = RecordFilter.model_validate(encryption(Path("keks"), "eu:orders", label="sealed"))
    records = filtered(stage, checked("us:*"), sealed, tenant="initech")
    us = stage.shared.virtual_clusters.of(replace(account("initech"), namespace=("us",)))
    topics = records.topics(us.namespace, "alice", None)
    assert topics is not None
    key = StateKey(KIND, "initech:eu/orders")
    body: Body = {"owner": "initech:us/o", "shares": {}}

    stage.aliases.apply(key, StateRecord(key, 1, 0, "c", "w", None, body))

    assert put_aside(topics, "o").unusable == "records that are encrypted are not put aside in plaintext"
    assert put_aside(topics, "other").unusable is None


def test_names_that_no_topic_has_are_not_remembered(stage: Stage) -> None:
    """4,096 of 32 KiB would take more than the gateway may, in each of several tables."""
    topics = topics_of(stage, headers({"topics": ["n*"]}, remove=["x"]))
    names = lane_names(topics.namespace, PORTS, None, topics).of_api(ApiKey.PRODUCE).to_physical
    long = "m" * 30_000

    assert names.missing(Entity.TOPIC_NAME, long.encode()) == physical(long)
    assert topics.chain("n" * 30_000, PRODUCE) is not None
    assert topics.chain(long, PRODUCE) is None
    assert topics.hidden_times(long) is None

    assert not names.tables[Entity.TOPIC_NAME]
    assert not topics._chains
    assert not topics._hidden
