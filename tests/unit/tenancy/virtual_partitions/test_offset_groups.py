import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.tenancy.virtual_partitions.offset_groups import is_offset_group, java_hash, offset_group
from bifrost.tenancy.virtual_partitions.partition_map import FIRST_GROUP, PartitionGroup

GROUPS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("a", 97), ("console-consumer-1", 35782224), ("grüße", 98768023), ("\U0001f600", 1772899)],
)
def test_the_hash_is_java_s(text: str, expected: int) -> None:
    """The expected values are those of `"...".hashCode()` in Java, as unsigned numbers."""
    assert java_hash(text) == expected


@given(GROUPS, st.text("abc_-", max_size=20), st.integers(1, 127))
def test_a_consumer_group_and_its_offset_groups_have_one_coordinator(
    group_id: str, prefix: str, number: int
) -> None:
    made = offset_group(group_id, prefix + group_id, PartitionGroup(number))

    assert made.startswith(f"{group_id}-v{number}-")
    assert java_hash(prefix + made) == java_hash(prefix + group_id)
    assert is_offset_group(made, prefix + made)


def test_the_first_group_is_the_consumer_group_itself() -> None:
    assert offset_group("app", "__app", FIRST_GROUP) == "app"


def test_offset_groups_are_told_from_groups_with_such_a_name() -> None:
    made = offset_group("app", "prefix-app", PartitionGroup(3))

    assert not is_offset_group("app", "prefix-app")
    assert not is_offset_group("app-v3-abcdefghi", "prefix-app-v3-abcdefghi")
    assert not is_offset_group("app-v0-" + made[-9:], "prefix-app-v0-" + made[-9:])
    assert not is_offset_group(made + "x", f"prefix-{made}x")
    assert is_offset_group(
        offset_group(made, f"prefix-{made}", PartitionGroup(1)),
        "prefix-" + offset_group(made, f"prefix-{made}", PartitionGroup(1)),
    )
