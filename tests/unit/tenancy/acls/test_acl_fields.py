import hashlib
import sys
from itertools import product
from typing import Any

import pytest

from bifrost.tenancy.acls.acl_binding import AclBinding, Operation, PatternType, Permission, ResourceType
from bifrost.tenancy.acls.acl_fields import read_usual
from bifrost.tenancy.acls.stored_acls import _usual_numbers, body_of, read_acl, read_body
from support.stage.guards import allow

ORDERS = allow("READ", "orders")


def usual(body: dict[str, Any]) -> tuple[AclBinding, str] | None:
    return read_usual(body, AclBinding, _usual_numbers, sys.intern, hashlib.sha256)


def test_every_kind_of_acl_is_read_with_its_id() -> None:
    for kind, pattern, operation, permission in product(ResourceType, PatternType, Operation, Permission):
        binding = AclBinding(kind, pattern, "bestellungen-ü", "User:a:b", "10.0.0.1", operation, permission)
        found = usual(body_of(binding))

        is_possible = binding.problem() is None
        assert found == ((binding, binding.binding_id) if is_possible else None)
        if found is not None:
            assert type(found[0]) is AclBinding


@pytest.mark.parametrize(
    "unusual",
    [
        {"name": "o" * 1000},
        {"host": "ü" * 300},
        {"resource_type": "CLUSTER", "name": "kafka-cluster"},
    ],
)
def test_an_unusual_acl_is_read_in_another_way(unusual: dict[str, Any]) -> None:
    body = body_of(ORDERS) | unusual
    binding = read_body(body)

    assert usual(body) is None
    assert read_acl(body) == (binding, binding.binding_id)


@pytest.mark.parametrize(
    "wrong",
    [
        {"operation": "FLY"},
        {"operation": 3},
        {"operation": "ANY"},
        {"resource_type": "CLUSTER"},
        {"name": ""},
        {"name": None},
        {"name": "\ud800"},
        {"name": "o" * 1025},
        {"principal": "alice"},
        {"principal": ":alice"},
        {"principal": "User:"},
        {"more": "x"},
    ],
)
def test_what_is_no_acl_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any text
        read_acl(body_of(ORDERS) | wrong)
    for name in body_of(ORDERS):
        with pytest.raises(ValueError, match="has not the fields"):
            read_acl({field: value for field, value in body_of(ORDERS).items() if field != name})
