"""Entities of quotas and how they are written in the state."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.tenancy.quotas.quota_entity import DEFAULT, NAMESPACE, EntityName, QuotaEntity, levels


@pytest.mark.parametrize(
    ("entity", "text"),
    [
        (QuotaEntity("alice"), "users/alice"),
        (QuotaEntity(DEFAULT), "users/<default>"),
        (QuotaEntity("<default>"), "users/%3Cdefault>"),
        (QuotaEntity(None, "a/b%"), "clients/a%2Fb%25"),
        (QuotaEntity("alice", DEFAULT), "users/alice/clients/<default>"),
    ],
)
def test_an_entity_is_written_as_kafka_named_it_in_zookeeper(entity: QuotaEntity, text: str) -> None:
    assert str(entity) == text
    assert QuotaEntity.from_text(text) == entity


@pytest.mark.parametrize(
    "text", ["", "users", "alice", "users/a/b", "clients/a/users/b", "users/<x>", "namespace/a"]
)
def test_a_text_that_is_no_entity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="entity"):
        QuotaEntity.from_text(text)


NAMES: st.SearchStrategy[EntityName] = st.none() | st.just(DEFAULT) | st.text("a/%<25FC3", min_size=1)


@given(NAMES, NAMES)
def test_every_entity_is_read_as_it_was_written(user: EntityName, client_id: EntityName) -> None:
    entity = QuotaEntity(user, client_id)

    assert QuotaEntity.from_text(str(entity)) == entity


def test_eight_levels_are_asked_and_only_operators_have_the_whole_namespace() -> None:
    found = levels("alice", "app")

    assert len(set(found)) == 8
    assert NAMESPACE not in found
