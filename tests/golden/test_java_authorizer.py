"""Verdicts about random ACLs and requests, held against Kafka's StandardAuthorizer.

BIFROST_ACL_EXAMPLES is the number of rule sets, each with a few requests of every kind; `make acl-oracle` takes 10,000.
A run is the same every time unless it is set.
"""

import os
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from bifrost.tenancy.acls.acl_binding import (
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from bifrost.tenancy.acls.acl_index import AclIndex
from bifrost.tenancy.acls.authority import Authority
from bifrost.tenancy.acls.stored_acls import StoredAcls
from golden.java_authorizer import JavaAuthorizer

IS_RANDOM = "BIFROST_ACL_EXAMPLES" in os.environ
EXAMPLES = int(os.environ.get("BIFROST_ACL_EXAMPLES", "300"))
REQUESTS = 4
"""Requests of each kind for a rule set."""

TYPES = [one for one in ResourceType if one != ResourceType.ANY]
OPERATIONS = [one for one in Operation if one not in (Operation.ANY, Operation.ALL)]
NAMES = ["a", "ab", "abc", "abd", "b", "ba", "*", "a*", "kafka-cluster"]
PRINCIPALS = ["User:alice", "User:bob", "User:carol", "Group:alice"]
HOSTS = ["10.0.0.1", "10.0.0.2", "0:0:0:0:0:0:0:1"]


@pytest.fixture(scope="module")
def java() -> Iterator[JavaAuthorizer]:
    with JavaAuthorizer("4.3.1") as process:
        yield process


def random_binding(chance: random.Random, types: list[ResourceType]) -> AclBinding:
    return AclBinding(
        resource_type=chance.choice(types),
        pattern_type=chance.choice([PatternType.LITERAL, PatternType.LITERAL, PatternType.PREFIXED]),
        name=chance.choice(NAMES),
        principal=chance.choice([*PRINCIPALS[:2], "User:*"]),
        host=chance.choice([*HOSTS[:2], "*", "*"]),
        operation=chance.choice([Operation.ALL, *OPERATIONS[:6], *OPERATIONS]),
        permission=chance.choice([Permission.ALLOW, Permission.ALLOW, Permission.DENY]),
    )


def random_filter(chance: random.Random) -> AclBindingFilter:
    return AclBindingFilter(
        resource_type=chance.choice([ResourceType.ANY, *TYPES]),
        pattern_type=chance.choice(list(PatternType)),
        name=chance.choice([None, *NAMES]),
        principal=chance.choice([None, None, *PRINCIPALS[:2], "User:*"]),
        host=chance.choice([None, None, None, "*", HOSTS[0]]),
        operation=chance.choice([Operation.ANY, Operation.ANY, *Operation]),
        permission=chance.choice([Permission.ANY, *Permission]),
    )


def values(one: AclBinding | AclBindingFilter) -> list[Any]:
    return [
        int(one.resource_type),
        int(one.pattern_type),
        one.name,
        one.principal,
        one.host,
        int(one.operation),
        int(one.permission),
    ]


def test_verdicts_and_filters_are_those_of_kafkas_authorizer(java: JavaAuthorizer) -> None:
    chance = random.Random(None if IS_RANDOM else 1)
    counts: Counter[str] = Counter()

    for _ in range(EXAMPLES):
        types = chance.choice([TYPES, [ResourceType.TOPIC]])
        bindings = {random_binding(chance, types): None for _ in range(chance.choice([0, 1, 2, 4, 8, 20]))}
        acls = list(bindings)
        super_users = chance.sample(PRINCIPALS, chance.choice([0, 0, 1]))
        allow_everyone = chance.random() < 0.3
        asked = [
            (chance.choice(types), chance.choice(NAMES[:-1]), *_who(chance), chance.choice(OPERATIONS))
            for _ in range(REQUESTS)
        ]
        by_type = [(chance.choice(types), *_who(chance), chance.choice(OPERATIONS)) for _ in range(REQUESTS)]
        filters = [random_filter(chance) for _ in range(REQUESTS)]
        question = {
            "acls": [values(one) for one in acls],
            "super_users": ";".join(super_users),
            "allow_everyone": allow_everyone,
            "requests": [[int(kind), *rest[:-1], int(rest[-1])] for kind, *rest in asked],
            "by_type": [[int(kind), *rest[:-1], int(rest[-1])] for kind, *rest in by_type],
            "filters": [values(one) for one in filters],
        }
        expected = java.verdicts(question)

        authority = Authority("acme", StoredAcls())
        authority.change(acls, super_users, allow_everyone_if_no_acl_found=allow_everyone)
        index = AclIndex(acls)
        for (kind, name, principal, host, operation), allowed in zip(
            asked, expected["requests"], strict=True
        ):
            found = authority.permits(operation, kind, name, principal, host)
            counts["allowed" if allowed else "denied"] += 1
            assert found == allowed, (
                acls,
                super_users,
                allow_everyone,
                kind,
                name,
                principal,
                host,
                operation,
            )
        for (kind, principal, host, operation), allowed in zip(by_type, expected["by_type"], strict=True):
            found = authority.permits_some(operation, kind, principal, host)
            counts["some" if allowed else "none"] += 1
            assert found == allowed, (acls, super_users, allow_everyone, kind, principal, host, operation)
        for wanted, matching in zip(filters, expected["filters"], strict=True):
            counts["found"] += len(matching)
            assert [acls.index(one) for one in index.find(wanted)] == matching, (acls, wanted)

    assert min(counts[one] for one in ("allowed", "denied", "some", "none", "found")) > EXAMPLES / 20, counts


def _who(chance: random.Random) -> tuple[str, str]:
    return chance.choice(PRINCIPALS), chance.choice(HOSTS)
