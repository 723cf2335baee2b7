import pytest

from bifrost.config.fields.verifiers import Mechanism, ScramVerifier
from bifrost.state.state_change import Change
from bifrost.state.state_key import StateKey
from bifrost.state.state_table import StateTable
from bifrost.tenancy.acls.stored_acls import creation_of, key_of
from bifrost.tenancy.namespaces.namespace_path import read_path
from bifrost.tenancy.namespaces.namespace_records import deletions, quota_deletions
from bifrost.tenancy.quotas.quota_entity import QuotaEntity
from bifrost.tenancy.quotas.quota_record import quota_key
from bifrost.tenancy.users.stored_user import user_body, user_key
from support import state_log
from support.stage.guards import allow

VALUES = {"values": {"producer_byte_rate": 1.0}}
BOB = QuotaEntity("bob")


def table_of(*changes: Change) -> StateTable:
    table = state_log.table()
    if changes:
        state_log.change(table, *changes)
    return table


def deleted(table: StateTable, *paths: str, is_dotted: bool = False) -> set[StateKey]:
    changes = list(deletions(table, [read_path(one) for one in paths], is_dotted=is_dotted))
    assert all(one.body is None and one.expected == 1 for one in changes)
    return {one.key for one in changes}


def test_quotas_of_these_namespaces_go_and_no_others() -> None:
    paths = ("acme", "acme:eu", "acme:eu:west", "acme:eus", "globex:eu")
    table = table_of(*(Change(quota_key(one, BOB), 0, VALUES) for one in paths))

    assert deleted(table, "acme:eu", "acme:eu:west") == {
        quota_key("acme:eu", BOB),
        quota_key("acme:eu:west", BOB),
    }
    assert deleted(table, "acme:eus") == {quota_key("acme:eus", BOB)}
    assert [one.key for one in quota_deletions(table, [read_path("globex:eu")])] == [
        quota_key("globex:eu", BOB)
    ]


@pytest.mark.parametrize("name", ["eu:orders", "eu:", "eu:o", "eu:west:clicks"])
def test_an_acl_that_is_about_a_name_of_the_namespace_goes(name: str) -> None:
    binding = allow("READ", name)
    table = table_of(creation_of("acme", binding), creation_of("globex", binding))

    assert deleted(table, "acme:eu", "acme:eu:west") == {key_of("acme", binding)}


@pytest.mark.parametrize("name", ["orders", "eu", "eu.orders", "e", "*", "eus:orders", "us:eu:orders"])
def test_an_acl_that_is_about_other_names_too_stays(name: str) -> None:
    table = table_of(creation_of("acme", allow("READ", name)))

    assert deleted(table, "acme:eu") == set()


def test_acls_of_a_tenant_with_dotted_tiers_have_dots() -> None:
    dotted, other = allow("READ", "eu.orders"), allow("READ", "eu:orders")
    table = table_of(creation_of("acme", dotted), creation_of("acme", other))

    assert deleted(table, "acme:eu", is_dotted=True) == {key_of("acme", dotted)}


def test_a_record_that_is_no_acl_stays() -> None:
    table = table_of(Change(StateKey("acl", "acme:0123"), 0, {"name": "eu:orders"}))

    assert deleted(table, "acme:eu") == set()


def test_users_of_these_namespaces_go_and_no_others() -> None:
    mechanism = Mechanism.SCRAM_SHA_512
    verifiers = {mechanism: ScramVerifier.derive(mechanism, b"password", b"a salt of 16 byt", 4096)}
    bound = {"a": (), "b": ("eu",), "c": ("eu", "west"), "d": ("eus",)}
    table = table_of(
        *(Change(user_key("acme", name), 0, user_body(tiers, verifiers)) for name, tiers in bound.items()),
        Change(user_key("globex", "b"), 0, user_body(("eu",), verifiers)),
        Change(user_key("acme", "e"), 0, {"what": "a future version writes"}),
    )

    assert deleted(table, "acme:eu", "acme:eu:west") == {user_key("acme", "b"), user_key("acme", "c")}
