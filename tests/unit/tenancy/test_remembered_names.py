import pytest

from bifrost.tenancy.remembered_names import MAX_REGEXES, MAX_REMEMBERED_BYTES, MAX_STRING_BYTES, remember
from bifrost.wire.entity import Entity
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.rewriting import Names


@pytest.fixture
def names() -> Names:
    names = Names(lambda _slot, name: name)
    for entity in (Entity.TOPIC_NAME, Entity.TOPIC_ID, Entity.TOPIC_REGEX):
        names.tables[entity] = {}
    return names


def test_a_translation_is_remembered_and_returned(names: Names) -> None:
    assert remember(names, Entity.TOPIC_NAME, b"a", b"x-a", 2) == b"x-a"
    assert names.tables[Entity.TOPIC_NAME] == {b"a": b"x-a"}


def test_a_name_without_a_translation_is_not_remembered(names: Names) -> None:
    assert remember(names, Entity.TOPIC_NAME, b"a", None, 2) is None
    assert names.tables[Entity.TOPIC_NAME] == {}


@pytest.mark.parametrize(
    ("slot", "found"),
    [(Entity.TOPIC_NAME, b"x" * (MAX_REMEMBERED_BYTES + 1)), (Entity.TOPIC_ID, b"the mask of an ID")],
)
def test_a_translation_that_is_long_or_may_change_is_not_remembered(
    names: Names, slot: Entity, found: bytes
) -> None:
    assert remember(names, slot, b"a", found, 2) == found
    assert names.tables[slot] == {}


@pytest.mark.parametrize(("slot", "most"), [(Entity.TOPIC_NAME, 2), (Entity.TOPIC_REGEX, MAX_REGEXES)])
def test_a_full_table_is_emptied(names: Names, slot: Entity, most: int) -> None:
    for number in range(most + 1):
        remember(names, slot, b"%d" % number, b"x", 2)

    assert names.tables[slot] == {b"%d" % most: b"x"}


def test_a_translation_that_is_no_string_of_the_protocol_is_refused(names: Names) -> None:
    with pytest.raises(MalformedFrame):
        remember(names, Entity.TOPIC_NAME, b"a", b"x" * (MAX_STRING_BYTES + 1), 2)
