from typing import Any

import pytest

from bifrost.config.records.record_filter import FilterName
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.configured_topics import ConfiguredTenants
from bifrost.pipeline.stored.kek_texts import KmsAccess
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.alias_table import KIND
from bifrost.tenancy.namespaces.topic_aliases import TenantPlace, TopicAliases
from bifrost.transforms.record_transform import Direction
from support.physical_names import physical_name
from support.records.configured_tenants import tenant_of

PRODUCE = (Direction.PRODUCE,)
KEKS = {"kms_provider": "KeyFile", "key_id": "pay", "key_file": "keks"}


def sealing(*topics: str, label: str = "seal", **rule: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"name": "EnvelopeEncryption", "label": label, "config": KEKS}
    return found | {"rules": [{"topics": [*topics]} | rule]} if topics else found


def found(tenants: ConfiguredTenants, *topics: str, ways: Any = PRODUCE) -> list[tuple[str, str, list[str]]]:
    configured = tenants.topics(topics, FilterName.ENVELOPE_ENCRYPTION, ways)
    return [(one.tenant, one.path, [each.shown_name for each in one.filters]) for one in configured]


def test_topics_are_found_by_prefix_namespace_and_rule() -> None:
    acme = tenant_of([sealing("pay*"), sealing("bills", label="eu", namespace="eu")])
    tenants = ConfiguredTenants([acme, tenant_of([], name="globex")])

    assert found(
        tenants,
        physical_name("acme", "pay"),
        physical_name("acme", "bills"),
        physical_name("acme", "--eu.bills"),
        physical_name("acme", "--eu.--de.bills"),
        physical_name("globex", "pay"),
        "pay",
    ) == [("acme", "eu:bills", ["eu"]), ("acme", "pay", ["seal"])]


def test_tiers_may_be_dotted_and_prefixes_a_tenant_s_own() -> None:
    acme = tenant_of([sealing("bills", namespace="eu")], prefix="own-", namespace_encoding="dotted")

    assert found(
        ConfiguredTenants([acme]), "own-eu.bills", "own-bills", physical_name("acme", "eu.bills")
    ) == [("acme", "eu.bills", ["seal"])]


def test_the_way_counts_and_principals_do_not() -> None:
    checks = {"name": "SchemaValidator", "config": {"registry_url": "http://localhost:1"}}
    rule = {"topics": ["orders"], "principals": ["User:ann"]}
    acme = ConfiguredTenants([tenant_of([sealing("pay", direction="fetch"), checks | {"rules": [rule]}])])
    topics = [physical_name("acme", "pay"), physical_name("acme", "orders")]

    assert found(acme, *topics) == []
    assert found(acme, *topics, ways=tuple(Direction)) == [("acme", "pay", ["seal"])]
    (one,) = acme.topics(topics, FilterName.SCHEMA_VALIDATOR, PRODUCE)
    assert (one.path, one.physical) == ("orders", topics[1])


def test_a_moved_topic_counts_by_its_new_name_and_a_shared_one_by_each() -> None:
    acme, globex = tenant_of([sealing("pay")]), tenant_of([sealing("pay2", "guest")], name="globex")
    aliases = TopicAliases()
    aliases.configure({name: TenantPlace("main", physical_name(name, "")) for name in ("acme", "globex")})

    def put(home: str, owner: str, **shares: str) -> None:
        body = {"owner": owner, "shares": {f"globex/{name}": access for name, access in shares.items()}}
        key = StateKey(KIND, home)
        aliases.apply(key, StateRecord(key, 1, 0, "c", "w", None, body))

    put("acme/pay", "globex/pay2")
    put("acme/bills", "acme/bills", guest="read")
    tenants = ConfiguredTenants([acme, globex], aliases.parts)

    assert found(tenants, physical_name("acme", "pay"), physical_name("acme", "bills")) == [
        ("globex", "guest", ["seal"]),
        ("globex", "pay2", ["seal"]),
    ]


def test_how_a_topic_opens_is_said_by_its_filter() -> None:
    fields = sealing("pay") | {"config": KEKS | {"mode": "fields", "sealed_fields": ["a"], "cluster": "c"}}
    acme = ConfiguredTenants([tenant_of([fields, sealing("bills", label="whole")])])

    whole = acme.seals(physical_name("acme", "bills"), KmsAccess())
    by_field = acme.seals(physical_name("acme", "pay"), KmsAccess())

    assert (whole.cluster, [one.key_id for one in whole.keks], whole.sealing) == ("", ["pay"], None)
    assert by_field.sealing is not None
    assert (by_field.cluster, by_field.sealing.name) == ("c", "seal")
    assert by_field.sealing.config.sealed_fields == ("a",)
    assert acme.seals(physical_name("acme", "others"), KmsAccess()) == ("", (), None)


def test_tenants_that_seal_a_topic_in_two_ways_are_an_error() -> None:
    fields = sealing("guest") | {"config": KEKS | {"mode": "fields", "sealed_fields": ["a"]}}
    aliases = TopicAliases()
    aliases.configure({name: TenantPlace("main", physical_name(name, "")) for name in ("acme", "globex")})
    key = StateKey(KIND, "acme/pay")
    body = {"owner": "acme/pay", "shares": {"globex/guest": "read"}}
    aliases.apply(key, StateRecord(key, 1, 0, "c", "w", None, body))
    tenants = [tenant_of([sealing("pay")]), tenant_of([fields], name="globex")]

    with pytest.raises(
        PipelineError, match=r"several tenants have filters that seal .*, and not in the same way"
    ):
        ConfiguredTenants(tenants, aliases.parts).seals(physical_name("acme", "pay"), KmsAccess())
