from typing import Any

from bifrost.filters.acls.acl_messages import created, filter_of, listed, match_of
from bifrost.tenancy.acls.acl_binding import PatternType, ResourceType
from support.stage import messages
from support.stage.guards import allow

READ, WRITE = allow("READ", "orders"), allow("WRITE", "orders", principal="User:bob")


def test_acls_are_listed_by_resource() -> None:
    group = allow("READ", "g", ResourceType.GROUP, pattern_type=PatternType.PREFIXED)

    found: Any = listed([READ, group, WRITE])

    names = [(one.resource_type, one.resource_name, one.pattern_type) for one in found.resources]
    assert names == [(2, "orders", 3), (3, "g", 4)]
    assert [one.principal for one in found.resources[0].acls] == ["User:alice", "User:bob"]


def test_a_match_says_all_of_an_acl() -> None:
    match = match_of(WRITE)

    assert (match.resource_type, match.resource_name, match.pattern_type) == (2, "orders", 3)
    assert (match.principal, match.host, match.operation, match.permission_type) == ("User:bob", "*", 4, 3)


def test_before_prefixes_all_patterns_are_literal() -> None:
    item: Any = messages.CreateAclsRequest(
        creations=[
            {"resource_type": 2, "resource_name": "orders", "resource_pattern_type": 4}
            | {"principal": "User:alice", "host": "*", "operation": 3, "permission_type": 3}
        ]
    ).creations[0]

    assert created(item, 0) == (READ, None)
    binding, _ = created(item, 1)
    assert binding is not None
    assert binding.pattern_type is PatternType.PREFIXED


def test_numbers_that_mean_nothing_are_no_filter_and_no_acl() -> None:
    wanted: Any = messages.DescribeAclsRequest(
        resource_type_filter=99, pattern_type_filter=1, operation=1, permission_type=1
    )
    item: Any = messages.CreateAclsRequest(creations=[{"resource_type": 99}]).creations[0]

    assert filter_of(wanted, 3) is None
    binding, why = created(item, 3)
    assert binding is None
    assert "Invalid ACL" in str(why)
