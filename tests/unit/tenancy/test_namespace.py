import re

import pytest

from bifrost.tenancy.names import PhysicalTopic, TenantNames, VirtualTopic
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.remembered_names import (
    MAX_REGEXES,
    MAX_REMEMBERED_BYTES,
    MAX_REMEMBERED_REGEX_BYTES,
)
from bifrost.tenancy.topic_ids import ABSENT_FOR_MS, FEW_IDS, LISTED_FOR_MS, TopicIds
from bifrost.wire.entity import Entity
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.fields.entities import SLOT_CLUSTER_ID

OWN, HIDDEN, FOREIGN, UNKNOWN = (
    b"own topic ID....",
    b"hidden topic ID.",
    b"foreign topic ID",
    b"unknown topic ID",
)
NAMED = (Entity.TOPIC_NAME, Entity.GROUP_ID, Entity.TRANSACTIONAL_ID)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now_ms = 0

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ids() -> TopicIds:
    ids = TopicIds()
    ids.learn(OWN, b"__vt_acme_orders")
    ids.learn(HIDDEN, b"__vt_acme_users")
    ids.learn(FOREIGN, b"__vt_globex_orders")
    return ids


def namespace_of(
    tenant: str, ids: TopicIds, clock: Clock, topics: list[str] | None = None, max_names: int = 10
) -> Namespace:
    masks = (b"mask" + number.to_bytes(12, "big") for number in range(1, 1000))
    return Namespace(
        TenantNames(tenant, topics),
        ids,
        allow_topic_deletion=False,
        max_names=max_names,
        now_ms=clock,
        new_id=lambda: next(masks),
    )


@pytest.fixture
def acme(ids: TopicIds, clock: Clock) -> Namespace:
    return namespace_of("acme", ids, clock, ["orders"])


# -- names


@pytest.mark.parametrize(
    ("entity", "virtual", "physical"),
    [
        (Entity.TOPIC_NAME, b"orders", b"__vt_acme_orders"),
        (Entity.TOPIC_NAME, b"users", b"__vt_acme_/users"),
        (Entity.TOPIC_NAME, b"", b"__vt_acme_/"),
        (Entity.GROUP_ID, b"g", b"__vt_acme_g"),
        (Entity.GROUP_ID, b"", b"__vt_acme_"),
        (Entity.TRANSACTIONAL_ID, b"t", b"__vt_acme_t"),
        (Entity.TRANSACTIONAL_ID, b"", b""),
    ],
)
def test_a_name_has_two_forms(acme: Namespace, entity: Entity, virtual: bytes, physical: bytes) -> None:
    assert acme.physical(entity, virtual) == physical
    assert acme.virtual(entity, physical) == virtual
    assert acme.physical(entity, virtual) == physical  # and from memory
    assert acme.virtual(entity, physical) == virtual


def test_a_topic_has_two_forms_that_are_remembered(acme: Namespace) -> None:
    physical = acme.physical_topic(VirtualTopic(b"orders"))

    assert physical == b"__vt_acme_orders"
    assert acme.virtual_topic(physical) == b"orders"
    assert acme.virtual_topic(PhysicalTopic(b"__vt_globex_orders")) is None
    assert acme.to_physical.tables[Entity.TOPIC_NAME] == {b"orders": physical}
    assert acme.to_virtual.tables[Entity.TOPIC_NAME] == {physical: b"orders"}


@pytest.mark.parametrize("entity", NAMED)
@pytest.mark.parametrize("physical", [b"__vt_globex_orders", b"orders", b"__vt_acme", b"__consumer_offsets"])
def test_what_is_foreign_has_no_virtual_form(acme: Namespace, entity: Entity, physical: bytes) -> None:
    assert acme.virtual(entity, physical) is None
    assert acme.virtual(entity, physical) is None


def test_what_is_foreign_is_not_remembered(acme: Namespace) -> None:
    for number in range(100):
        acme.virtual(Entity.GROUP_ID, b"__vt_globex_%d" % number)

    assert acme.to_virtual.tables[Entity.GROUP_ID] == {}


def test_an_empty_topic_in_an_answer_is_no_name(acme: Namespace) -> None:
    # Where a topic is named by its ID alone.
    assert acme.virtual(Entity.TOPIC_NAME, b"") == b""


@pytest.mark.parametrize("entity", NAMED)
def test_a_name_of_every_length_fits_or_is_malformed(acme: Namespace, entity: Entity) -> None:
    longest = 32_767 - len("__vt_acme_") - (entity == Entity.TOPIC_NAME)  # "/", for it is hidden

    assert len(acme.physical(entity, b"x" * longest)) == 32_767
    with pytest.raises(MalformedFrame, match="no room"):
        acme.physical(entity, b"x" * (longest + 1))


@pytest.mark.parametrize("entity", NAMED)
def test_the_memory_of_names_is_bounded_in_number_and_size(acme: Namespace, entity: Entity) -> None:
    for number in range(35):
        virtual = b"name-%d" % number
        acme.virtual(entity, acme.physical(entity, virtual))
        acme.physical(entity, virtual * (MAX_REMEMBERED_BYTES // 4))

    for direction in (acme.to_physical, acme.to_virtual):
        table = direction.tables[entity]
        assert 0 < len(table) <= 10
        assert all(len(key) <= MAX_REMEMBERED_BYTES >= len(name) for key, name in table.items())


def test_what_was_forgotten_is_named_the_same(ids: TopicIds, clock: Clock) -> None:
    acme = namespace_of("acme", ids, clock, max_names=2)
    names = [b"a", b"b", b"c", b"d", b"e"] * 3

    physical = [acme.physical(Entity.GROUP_ID, name) for name in names]

    assert physical == [b"__vt_acme_" + name for name in names]


# -- topic IDs


def test_many_unknown_ids_are_absent_right_after_a_listing(acme: Namespace, clock: Clock) -> None:
    def name_unknown(count: int) -> bool:
        for number in range(count):
            acme.physical(Entity.TOPIC_ID, (number + 1).to_bytes(16, "big"))
        return acme.must_look_up()

    assert name_unknown(1000)
    assert len(acme.take_unresolved()) == FEW_IDS + 1
    acme.topics_were_listed()

    assert not name_unknown(1000)
    assert acme.unresolved == set()
    assert name_unknown(FEW_IDS)
    assert len(acme.take_unresolved()) == FEW_IDS
    clock.now_ms += LISTED_FOR_MS
    assert name_unknown(1000)


def test_an_own_id_is_the_same_on_both_sides(acme: Namespace) -> None:
    assert acme.physical(Entity.TOPIC_ID, OWN) == OWN
    assert acme.virtual(Entity.TOPIC_ID, OWN) == OWN
    assert acme.to_physical.tables[Entity.TOPIC_ID] == {OWN: OWN}


@pytest.mark.parametrize("topic_id", [FOREIGN, HIDDEN])
def test_any_other_known_id_goes_out_masked_and_never_comes_back(acme: Namespace, topic_id: bytes) -> None:
    acme.looked_up([topic_id])

    mask = acme.physical(Entity.TOPIC_ID, topic_id)

    assert mask not in (None, topic_id)
    assert acme.physical(Entity.TOPIC_ID, topic_id) == mask
    assert acme.virtual(Entity.TOPIC_ID, mask) == topic_id
    assert acme.virtual(Entity.TOPIC_ID, topic_id) is None
    assert acme.unresolved == set()


@pytest.mark.parametrize("topic_id", [FOREIGN, HIDDEN, UNKNOWN])
def test_a_foreign_id_is_looked_up_as_often_as_one_that_no_topic_has(
    acme: Namespace, clock: Clock, topic_id: bytes
) -> None:
    for _ in range(2):
        assert acme.physical(Entity.TOPIC_ID, topic_id) is None
        assert acme.take_unresolved() == {topic_id}

        acme.looked_up([topic_id])

        assert acme.physical(Entity.TOPIC_ID, topic_id) not in (None, topic_id)
        clock.now_ms += ABSENT_FOR_MS


def test_an_own_id_is_never_looked_up_once_it_is_known(acme: Namespace) -> None:
    acme.looked_up([OWN])

    assert acme.physical(Entity.TOPIC_ID, OWN) == OWN
    assert acme.unresolved == set()


def test_the_masks_of_tenants_are_their_own(ids: TopicIds, clock: Clock, acme: Namespace) -> None:
    initech = namespace_of("initech", ids, clock)
    initech.masked_ids.mask(b"another ID......")
    acme.looked_up([FOREIGN])
    mask = acme.physical(Entity.TOPIC_ID, FOREIGN)

    assert initech.virtual(Entity.TOPIC_ID, mask) != FOREIGN


def test_an_unknown_id_must_be_looked_up_for_any_tenant(acme: Namespace) -> None:
    assert acme.physical(Entity.TOPIC_ID, UNKNOWN) is None
    assert acme.take_unresolved() == {UNKNOWN}
    assert acme.virtual(Entity.TOPIC_ID, UNKNOWN) is None
    assert acme.take_unresolved() == {UNKNOWN}
    assert acme.take_unresolved() == frozenset()


def test_an_absent_id_is_masked_for_as_long_as_it_is_known_to_be(acme: Namespace, clock: Clock) -> None:
    acme.looked_up([UNKNOWN])

    mask = acme.physical(Entity.TOPIC_ID, UNKNOWN)

    assert mask not in (None, UNKNOWN)
    assert acme.virtual(Entity.TOPIC_ID, mask) == UNKNOWN
    clock.now_ms += ABSENT_FOR_MS
    assert acme.physical(Entity.TOPIC_ID, UNKNOWN) is None
    assert acme.virtual(Entity.TOPIC_ID, mask) == UNKNOWN


def test_an_id_that_was_masked_is_used_as_soon_as_it_is_known_to_be_own(
    acme: Namespace, ids: TopicIds
) -> None:
    acme.looked_up([UNKNOWN])
    acme.physical(Entity.TOPIC_ID, UNKNOWN)

    ids.learn(UNKNOWN, b"__vt_acme_orders")

    assert acme.physical(Entity.TOPIC_ID, UNKNOWN) == UNKNOWN


def test_an_absent_id_in_an_answer_that_no_request_named_is_dropped(acme: Namespace) -> None:
    acme.looked_up([UNKNOWN])

    assert acme.virtual(Entity.TOPIC_ID, UNKNOWN) is None
    assert acme.unresolved == set()


def test_the_zero_id_is_no_id(acme: Namespace) -> None:
    assert acme.physical(Entity.TOPIC_ID, bytes(16)) == bytes(16)
    assert acme.virtual(Entity.TOPIC_ID, bytes(16)) == bytes(16)
    assert acme.unresolved == set()


def test_a_topic_is_told_by_its_id_to_its_owner_only(acme: Namespace) -> None:
    assert acme.topic_of(OWN) == "orders"
    assert [acme.topic_of(one) for one in (FOREIGN, HIDDEN, UNKNOWN, bytes(16))] == [None] * 4


# -- patterns and texts


def test_a_pattern_is_confined_and_read_back(acme: Namespace) -> None:
    confined = acme.physical(Entity.TOPIC_REGEX, b"orders.*")

    assert confined.startswith(b"__vt_acme_")
    assert acme.virtual(Entity.TOPIC_REGEX, confined) == b"orders.*"
    assert acme.virtual(Entity.TOPIC_REGEX, b"__vt_globex_.*") is None


@pytest.mark.parametrize("regex", [b"(", b"\xff", b"a{1001}"])
def test_a_pattern_that_cannot_be_confined_stops_the_message(acme: Namespace, regex: bytes) -> None:
    assert acme.physical(Entity.TOPIC_REGEX, regex) is None


def test_no_pattern_is_none(acme: Namespace) -> None:
    assert acme.physical(Entity.TOPIC_REGEX, b"") == b""
    assert acme.virtual(Entity.TOPIC_REGEX, b"") == b""


def test_the_memory_of_patterns_is_bounded(ids: TopicIds, clock: Clock) -> None:
    acme = namespace_of("acme", ids, clock, max_names=10_000)

    for number in range(2 * MAX_REGEXES):
        acme.physical(Entity.TOPIC_REGEX, b"orders-%d" % number)

    assert 0 < len(acme.to_physical.tables[Entity.TOPIC_REGEX]) <= MAX_REGEXES


def test_a_pattern_is_remembered_once_it_was_confined(acme: Namespace) -> None:
    confined = acme.confined_regex("o.*")

    assert acme.to_physical.tables[Entity.TOPIC_REGEX] == {b"o.*": confined.encode()}
    assert acme.confined_regex("o.*") == confined
    assert acme.physical(Entity.TOPIC_REGEX, b"o.*") == confined.encode()


def test_a_long_translation_is_made_anew(ids: TopicIds, clock: Clock) -> None:
    initech = namespace_of("initech", ids, clock)
    within = "x" * ((MAX_REMEMBERED_REGEX_BYTES - 50) // 3)

    assert len(initech.confined_regex(within)) <= MAX_REMEMBERED_REGEX_BYTES
    assert len(initech.confined_regex(within + "y" * 20)) > MAX_REMEMBERED_REGEX_BYTES
    assert list(initech.to_physical.tables[Entity.TOPIC_REGEX]) == [within.encode()]


def test_the_engine_has_a_message_with_a_new_pattern_decoded(acme: Namespace) -> None:
    assert acme.to_physical.missing(Entity.TOPIC_REGEX, b"o.*") is None
    assert acme.to_physical.missing(Entity.TOPIC_REGEX, b"") == b""
    assert acme.to_physical.missing(Entity.TOPIC_NAME, b"orders") == b"__vt_acme_orders"


def test_patterns_are_forgotten_when_the_list_of_topics_changes(acme: Namespace) -> None:
    before = acme.confined_regex("o.*")
    acme.change(["orders", "other"], [], allow_topic_deletion=False, max_names=100)

    assert acme.confined_regex("o.*") != before


def test_texts_are_translated_but_not_remembered(acme: Namespace) -> None:
    assert acme.virtual(Entity.ERROR_TEXT, b"No topic __vt_acme_orders") == b"No topic orders"
    assert acme.physical(Entity.ERROR_TEXT, b"as it is") == b"as it is"
    assert acme.to_virtual.tables[Entity.ERROR_TEXT] is None


# -- the rest


def test_a_cluster_id_is_the_tenants_own_and_always_the_same(
    ids: TopicIds, clock: Clock, acme: Namespace
) -> None:
    globex = namespace_of("globex", ids, clock)
    physical = "4L6g3nShT-eMCtK--X86sw"

    own = acme.virtual_cluster_id(physical)

    assert own == namespace_of("acme", ids, clock).virtual_cluster_id(physical)
    assert len({own, globex.virtual_cluster_id(physical), acme.virtual_cluster_id("another"), physical}) == 4
    assert len(own) == 22
    assert own.replace("-", "").replace("_", "").isalnum()


@pytest.mark.parametrize(
    ("topic", "hidden"),
    [
        ("orders", False),
        ("users", True),
        ("", False),
        ("..", False),
        ("a b", False),
        ("x" * 249, True),
        ("x" * 250, False),
    ],
)
def test_legal_names_outside_the_list_are_hidden(acme: Namespace, topic: str, hidden: bool) -> None:
    assert acme.hides(topic) == hidden


def test_a_topic_of_a_namespace_may_exist(ids: TopicIds, clock: Clock) -> None:
    """What separates a namespace from a topic is no legal character of a topic; its physical name has another one."""
    namespace = namespace_of("initech", ids, clock)
    namespace.names = TenantNames(
        "initech", namespaces=frozenset({("analytics",), ("analytics", "eu"), ("eu",)})
    )

    assert namespace.names.physical_topic(VirtualTopic(b"eu:orders")) == b"__vt_initech_--eu.orders"
    assert namespace.may_exist("eu:orders")
    assert not namespace.may_exist("eu:or ders")
    assert not namespace.may_exist(".")
    assert not namespace.may_exist("x" * 249)


def test_a_dynamic_namespace_hides_nothing(ids: TopicIds, clock: Clock) -> None:
    assert not namespace_of("initech", ids, clock).hides("anything")


def test_an_absent_topic_is_legal_under_the_prefix_and_reads_as_what_it_stands_for(acme: Namespace) -> None:
    absent = acme.absent_topic("users")

    physical = acme.physical(Entity.TOPIC_NAME, absent.encode())

    assert re.fullmatch(rb"__vt_acme_[0-9a-f]{16}\.users", physical)
    assert acme.virtual(Entity.TOPIC_NAME, physical) == b"users"
    assert acme.virtual(Entity.ERROR_TEXT, b"No topic '%s'" % physical) == b"No topic 'users'"
    assert acme.physical(Entity.TOPIC_NAME, b"users") == b"__vt_acme_/users"


def test_the_prefix_takes_its_room_from_a_topics_name(acme: Namespace) -> None:
    assert acme.room_for("orders") == 249 - len("__vt_acme_")


def test_a_slot_that_is_never_looked_up_is_our_mistake(acme: Namespace) -> None:
    with pytest.raises(AssertionError, match="slot 10"):
        acme.to_physical.missing(10, b"x")
    with pytest.raises(AssertionError, match="slot 10"):
        acme.to_virtual.missing(10, b"x")


def test_the_cluster_id_in_an_answer_is_the_tenants_own(acme: Namespace) -> None:
    own = acme.virtual_cluster_id("physical").encode()

    assert acme.to_virtual.missing(SLOT_CLUSTER_ID, b"physical") == own
    assert acme.to_virtual.tables[SLOT_CLUSTER_ID] == {b"physical": own}
    assert acme.to_virtual.missing(SLOT_CLUSTER_ID, b"") == b""
    assert acme.to_virtual.missing(SLOT_CLUSTER_ID, b"\xff") is None
