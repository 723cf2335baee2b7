from bifrost.config.name_template import NamePrefixes
from bifrost.journal.topic_names import (
    FOREIGN_ID,
    NOT_ALLOWED,
    RESERVED,
    AccessKey,
    TopicKey,
    TopicNames,
    folded_key,
    topic_id_text,
)
from bifrost.tenancy.names import TenantNames
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.topic_ids import TopicIds
from bifrost.wire.entity import Entity
from support.physical_names import physical_name
from support.stage.stage import Stage

OWN, FOREIGN, UNKNOWN = bytes([1] * 16), bytes([2] * 16), bytes([3] * 16)


def names(stage: Stage, tenant: str = "acme") -> TopicNames:
    stage.topic_ids.learn(OWN, physical_name("acme", "orders").encode())
    stage.topic_ids.learn(FOREIGN, physical_name("globex", "orders").encode())
    return TopicNames(stage.namespaces[tenant])


def test_a_topic_has_the_same_key_on_both_sides_and_by_its_id(stage: Stage) -> None:
    key = TopicKey("orders", physical_name("acme", "orders"))
    of = names(stage).resolve

    assert of(Entity.TOPIC_NAME, b"orders", is_physical=False) == (key, None)
    assert of(Entity.TOPIC_NAME, physical_name("acme", "orders").encode(), is_physical=True) == (key, None)
    assert of(Entity.TOPIC_ID, OWN, is_physical=False) == (key, None)
    assert of(Entity.TOPIC_ID, OWN, is_physical=True) == (key, None)


def test_what_a_tenant_may_not_name_breaks_a_rule(stage: Stage) -> None:
    of = names(stage).resolve

    assert of(Entity.TOPIC_NAME, b"secret", is_physical=False) == (
        TopicKey("secret", physical_name("acme", "/secret")),
        NOT_ALLOWED,
    )
    assert of(Entity.TOPIC_ID, FOREIGN, is_physical=False) == (
        TopicKey(None, physical_name("globex", "orders"), topic_id_text(FOREIGN)),
        FOREIGN_ID,
    )


def test_a_reserved_topic_is_of_no_tenant_whatever_it_is_called() -> None:
    literal = TenantNames("sly", prefixes=NamePrefixes("__bifrost_", "g-", "t-"))
    namespace = Namespace(
        literal,
        TopicIds(),
        allow_topic_deletion=True,
        max_names=100,
        now_ms=lambda: 0,
        new_id=lambda: b"i" * 16,
    )

    key, rule = TopicNames(namespace).resolve(Entity.TOPIC_NAME, b"journal", is_physical=False)

    assert (key, rule) == (TopicKey("journal", "__bifrost_/journal"), RESERVED)


def test_an_answer_about_it_breaks_none(stage: Stage) -> None:
    of = names(stage).resolve
    mask = stage.namespaces["acme"].masked_ids.mask(FOREIGN)

    assert of(Entity.TOPIC_NAME, physical_name("acme", "/secret").encode(), is_physical=True) == (
        TopicKey("secret", physical_name("acme", "/secret")),
        None,
    )
    assert of(Entity.TOPIC_ID, mask, is_physical=True)[0].physical == physical_name("globex", "orders")


def test_an_id_that_no_topic_has_is_known_as_itself(stage: Stage) -> None:
    assert names(stage).resolve(Entity.TOPIC_ID, UNKNOWN, is_physical=False) == (
        TopicKey(topic_id=topic_id_text(UNKNOWN)),
        None,
    )


def test_names_that_are_no_utf_8_stay_different(stage: Stage) -> None:
    of = names(stage, "initech").resolve

    one, _ = of(Entity.TOPIC_NAME, b"\xff", is_physical=False)
    other, _ = of(Entity.TOPIC_NAME, b"\xfe", is_physical=False)

    assert one != other


def test_a_group_and_a_transactional_id_have_the_names_that_the_engine_gives_them(stage: Stage) -> None:
    namespace = stage.namespaces["acme"]
    of = names(stage).access
    physical = physical_name("acme", "billing")

    for entity in (Entity.GROUP_ID, Entity.TRANSACTIONAL_ID):
        assert of(entity, b"billing") == AccessKey(entity, "billing", physical)
    assert of(Entity.GROUP_ID, b"") == AccessKey(Entity.GROUP_ID, "", physical_name("acme", ""))
    # What the table has is what the engine puts into requests, right or wrong.
    table = namespace.to_physical.tables[Entity.GROUP_ID]
    assert table is not None
    table[b"billing"] = physical_name("globex", "billing").encode()
    assert of(Entity.GROUP_ID, b"billing").physical == physical_name("globex", "billing")


def test_what_is_folded_is_of_its_kind() -> None:
    assert folded_key(Entity.TOPIC_NAME) == folded_key(Entity.TOPIC_ID) == TopicKey()
    assert folded_key(Entity.GROUP_ID) == AccessKey(Entity.GROUP_ID)
    assert folded_key(Entity.TRANSACTIONAL_ID) != folded_key(Entity.GROUP_ID)
