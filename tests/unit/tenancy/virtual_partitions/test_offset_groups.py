from hypothesis import given
from hypothesis import strategies as st

from bifrost.tenancy.virtual_partitions import offset_groups
from bifrost.tenancy.virtual_partitions.java_hash import java_hash
from bifrost.tenancy.virtual_partitions.offset_groups import (
    consumer_group_of,
    is_offset_group,
    offset_group,
)
from bifrost.tenancy.virtual_partitions.partition_map import FIRST_GROUP, PartitionGroup

GROUPS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)


@given(GROUPS, st.text("abc_-", max_size=20), st.integers(1, 511))
def test_a_consumer_group_and_its_offset_groups_have_one_coordinator(
    group_id: str, prefix: str, number: int
) -> None:
    made = offset_group(group_id, prefix + group_id, PartitionGroup(number))

    assert made.startswith(f"{group_id}-v{number}-")
    assert java_hash(prefix + made) == java_hash(prefix + group_id)
    assert is_offset_group(made, prefix + made)
    assert consumer_group_of(prefix + made) == prefix + group_id


def test_the_first_group_is_the_consumer_group_itself() -> None:
    assert offset_group("app", "__app", FIRST_GROUP) == "app"


def test_offset_groups_are_told_from_groups_with_such_a_name() -> None:
    made = offset_group("app", "prefix-app", PartitionGroup(3))

    assert not is_offset_group("app", "prefix-app")
    assert consumer_group_of("prefix-app") is None
    assert consumer_group_of(f"prefix-{made}x") is None
    assert consumer_group_of("prefix-app-v3-abcdefghi") is None
    assert not is_offset_group("app-v3-abcdefghi", "prefix-app-v3-abcdefghi")
    assert not is_offset_group("app-v0-" + made[-9:], "prefix-app-v0-" + made[-9:])
    assert not is_offset_group(made + "x", f"prefix-{made}x")
    assert is_offset_group(
        offset_group(made, f"prefix-{made}", PartitionGroup(1)),
        "prefix-" + offset_group(made, f"prefix-{made}", PartitionGroup(1)),
    )


def test_long_names_are_not_remembered() -> None:
    """4,096 of them would be 400 MiB."""
    before = offset_groups._remembered.cache_info().currsize
    name = "n" * 32_000

    made = offset_group(name, "prefix-" + name, PartitionGroup(2))

    assert is_offset_group(made, "prefix-" + made)
    assert offset_groups._remembered.cache_info().currsize == before
