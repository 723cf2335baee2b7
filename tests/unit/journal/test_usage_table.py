from dataclasses import replace

import pytest

from bifrost.journal.identity import ANY_PRINCIPAL, Identity
from bifrost.journal.topic_names import AccessKey, TopicKey, TopicNames
from bifrost.journal.usage_table import MAX_FOLDED, MAX_NAME_BYTES, UsageTable
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from support.gateways.journalling import StillClock
from support.physical_names import physical_name
from support.stage.stage import Stage

ALICE = Identity("initech", "upstream", "initech", "User:alice", b"shop")
Denial = tuple[Identity, tuple[int, int], str, TopicKey]


@pytest.fixture
def topics(stage: Stage) -> TopicNames:
    return TopicNames(stage.namespaces["initech"])


def table_of(rows: int = 100, rows_per_tenant: int = 100, denials: list[Denial] | None = None) -> UsageTable:
    heard: list[Denial] = [] if denials is None else denials
    return UsageTable(rows, rows_per_tenant, StillClock(), lambda *denial: heard.append(denial))


def client_id(number: int) -> Identity:
    return replace(ALICE, client_id=f"shop-{number}".encode())


def test_an_identity_has_one_client_and_an_api_s_version_one_usage(topics: TopicNames) -> None:
    table = table_of()

    client = table.client(ALICE, topics)

    assert table.client(replace(ALICE), topics) is client
    assert client.usage(0, 9) is client.usage(0, 9)
    assert client.usage(0, 9) is not client.usage(0, 8)
    assert client.usage(0, 9).client_id == b"shop"
    assert len(table) == 3


def test_beyond_a_tenant_s_rows_clients_are_folded_and_other_tenants_are_not(topics: TopicNames) -> None:
    table = table_of(rows_per_tenant=5)

    identities = [table.client(client_id(number), topics).identity for number in range(20)]
    other = table.client(replace(ALICE, tenant="globex"), topics)

    assert [one.is_folded for one in identities] == [False] * 5 + [True] * 15
    assert set(identities[5:]) == {ALICE.folded}
    assert table.folded == {"initech": 15}
    assert not other.identity.is_folded


def test_beyond_all_rows_every_tenant_s_clients_are_folded(topics: TopicNames) -> None:
    table = table_of(rows=5)
    for number in range(5):
        table.client(client_id(number), topics)

    assert table.client(replace(ALICE, tenant="globex"), topics).identity.is_folded


def test_even_principals_are_bounded(topics: TopicNames) -> None:
    table = table_of(rows_per_tenant=1)

    found = [
        table.client(replace(ALICE, principal=f"User:{number}"), topics).identity
        for number in range(MAX_FOLDED + 50)
    ]

    assert len(set(found)) == MAX_FOLDED + 2
    assert found[-1] == replace(ALICE.folded_whole)
    assert found[-1].principal == ANY_PRINCIPAL


def test_a_client_id_that_is_too_long_has_no_row(topics: TopicNames) -> None:
    table = table_of()

    long = replace(ALICE, client_id=b"x" * (MAX_NAME_BYTES + 1))

    assert table.client(long, topics).identity == ALICE.folded


def test_a_folded_client_counts_whatever_client_id_comes(topics: TopicNames) -> None:
    table = table_of(rows_per_tenant=1)
    table.client(ALICE, topics)

    usage = table.client(client_id(1), topics).usage(ApiKey.HEARTBEAT, 4)

    assert usage.client_id is None


def test_beyond_the_rows_topics_are_folded_in_their_client(topics: TopicNames) -> None:
    table = table_of(rows_per_tenant=4)
    usage = table.client(ALICE, topics).usage(ApiKey.PRODUCE, 9)

    found = [
        usage.resolve(usage, Entity.TOPIC_NAME, f"topic-{number}".encode(), False) for number in range(10)
    ]

    assert [one.is_folded for one in found] == [False] * 2 + [True] * 8
    assert {one.key for one in found[2:]} == {TopicKey()}
    assert len(usage.topics) == 3


@pytest.mark.parametrize("entity", [Entity.GROUP_ID, Entity.TRANSACTIONAL_ID])
def test_beyond_the_rows_groups_and_transactional_ids_are_folded_by_their_kind(
    topics: TopicNames, entity: Entity
) -> None:
    table = table_of(rows_per_tenant=4)
    usage = table.client(ALICE, topics).usage(ApiKey.ADD_OFFSETS_TO_TXN, 3)

    found = [usage.resolve(usage, entity, f"name-{number}".encode(), False) for number in range(10)]
    topic = usage.resolve(usage, Entity.TOPIC_NAME, b"orders", False)

    assert [one.is_folded for one in found] == [False] * 2 + [True] * 8
    assert {one.key for one in found[2:]} == {AccessKey(entity)}
    assert topic.key == TopicKey()
    assert table.folded == {"initech": 9}
    assert len(usage.topics) == 4


def test_a_group_whose_name_is_too_long_has_no_row(topics: TopicNames) -> None:
    usage = table_of().client(ALICE, topics).usage(ApiKey.HEARTBEAT, 4)

    longest = usage.resolve(usage, Entity.GROUP_ID, b"g" * MAX_NAME_BYTES, False)
    longer = usage.resolve(usage, Entity.GROUP_ID, b"g" * (MAX_NAME_BYTES + 1), False)

    assert (longest.is_folded, longer.is_folded) == (False, True)


def test_a_client_that_names_what_it_may_not_is_told_of(stage: Stage) -> None:
    denials: list[Denial] = []
    table = table_of(denials=denials)
    acme = replace(ALICE, tenant="acme")
    usage = table.client(acme, TopicNames(stage.namespaces["acme"])).usage(ApiKey.METADATA, 9)

    topic = usage.resolve(usage, Entity.TOPIC_NAME, b"secret", False)
    assert topic is usage.resolve(usage, Entity.TOPIC_NAME, physical_name("acme", "/secret").encode(), True)

    assert denials == []
    usage.count_request(b"\x02" + b"\x07secret" + b"\0" + b"\0\0\0\0", 0)
    assert denials == [
        (acme, (ApiKey.METADATA, 9), "allowed_topics", TopicKey("secret", physical_name("acme", "/secret")))
    ]


def test_connections_and_their_time_are_counted(topics: TopicNames) -> None:
    clock = StillClock(0)
    table = UsageTable(100, 100, clock, lambda *_: None)
    client = table.client(ALICE, topics)

    client.enter(is_new=True, before_ms=50)
    clock.now_ms = 100
    client.enter(is_new=False)
    clock.now_ms = 300
    client.leave(has_ended=True)

    assert client.take_connections() == (1, 1, 1, 50 + 300 + 200)
    clock.now_ms = 1000
    assert client.take_connections() == (0, 0, 1, 700)


def test_who_is_gone_is_forgotten_with_all_rows(topics: TopicNames) -> None:
    table = table_of()
    client = table.client(ALICE, topics)
    client.usage(ApiKey.HEARTBEAT, 4)
    client.enter(is_new=True)
    assert not client.is_idle
    client.leave(has_ended=True)

    assert client.is_idle
    table.forget(client)

    assert len(table) == 0
    assert list(table) == []
