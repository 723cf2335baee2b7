import pytest

from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.tenancy.virtual_partitions.partition_rules import PartitionRule, PartitionRules

RULES = PartitionRules(
    [
        PartitionRule(("orders", "eu:*"), PartitionMap(12, 4)),
        PartitionRule(("plain-*",), PartitionMap(4, 4)),
        PartitionRule(("or*s", "a.b", "plain-a"), PartitionMap(9, 1)),
        PartitionRule(("grow-plain",), PartitionMap.of_ratio(1)),
        PartitionRule(("grow-*",), PartitionMap.of_ratio(8)),
    ]
)


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("orders", (12, 4, 0)),
        ("eu:", (12, 4, 0)),
        ("eu:orders", (12, 4, 0)),
        ("ors", (9, 1, 0)),
        ("or-new-s", (9, 1, 0)),
        ("a.b", (9, 1, 0)),
        ("grow-a", (8_000, 1_000, 8)),
        ("grow-plain", None),
        ("aXb", None),
        ("orders-2", None),
        ("my-orders", None),
        ("plain-a", None),
        ("", None),
    ],
)
def test_the_first_rule_that_matches_the_whole_name_is_for_it(
    topic: str, expected: tuple[int, int, int] | None
) -> None:
    found = RULES.map_of(topic)
    assert (None if found is None else found[:3]) == expected


def test_the_largest_number_that_shares_a_partition_is_known() -> None:
    assert RULES.groups == 9
