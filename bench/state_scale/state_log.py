"""A large state as it is in the topic: namespaces, ACLs and aliases of some tenants, as a gateway would write them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from bench.laboratory import TENANT
from bifrost.records.batch_reader import LogRecord
from bifrost.state.state_change import Change
from bifrost.state.state_record import StateRecord, encode
from bifrost.tenancy.acls.acl_binding import AclBinding, Operation, PatternType, Permission, ResourceType
from bifrost.tenancy.acls.stored_acls import creation_of
from bifrost.tenancy.namespaces.alias_table import Access, AliasTable, Place
from bifrost.tenancy.namespaces.namespace_path import Path
from bifrost.tenancy.namespaces.namespace_tree import key_of

AT_MS = 1_700_000_000_000
IN_A_CHANGE = 10
"""Records of one change, which is one transaction."""
TIERS_BELOW = 9
"""Namespaces below each of the first tier."""


@dataclass(frozen=True)
class Size:
    """How much there is of each kind."""

    namespaces: int = 10_000
    acls: int = 100_000
    aliases: int = 100_000
    tenants: int = 100

    @property
    def records(self) -> int:
        """How many records that makes: a topic that was moved has two."""
        return self.namespaces + self.acls + 2 * self.aliases

    def part(self, divisor: int) -> "Size":
        """Return the same with a part of everything but the tenants."""
        return Size(self.namespaces // divisor, self.acls // divisor, self.aliases // divisor, self.tenants)


def tenant(number: int) -> str:
    """Return a tenant's name."""
    return f"{TENANT}{number}"


def tiers(number: int) -> tuple[str, ...]:
    """Return the tiers of a tenant's namespace: one in ten is of the first tier, and has nine below it."""
    first, second = divmod(number, TIERS_BELOW + 1)
    return (f"team-{first}",) if second == 0 else (f"team-{first}", f"stage{second}")


def user(number: int) -> str:
    """Return the principal of an ACL."""
    return f"User:user-{number % 50}"


def acl(number: int) -> AclBinding:
    """Return one of a tenant's ACLs: of topics, groups and transactional IDs, literal and prefixed.

    All names have one length, however many there are: a decision looks up prefixes of each length that there is.
    """
    kinds = (ResourceType.TOPIC, ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
    is_prefixed = number % 5 == 0
    return AclBinding(
        kinds[number % 4],
        PatternType.PREFIXED if is_prefixed else PatternType.LITERAL,
        f"orders-{number:06}." if is_prefixed else f"orders-{number:06}",
        user(number),
        "*",
        (Operation.READ, Operation.WRITE, Operation.DESCRIBE)[number % 3],
        Permission.DENY if number % 50 == 0 else Permission.ALLOW,
    )


def home(of: str, number: int, namespaces: int) -> Place:
    """Return where a topic was created that was moved."""
    return Place(Path((of, *tiers(number % namespaces))), f"orders-{number}")


def target(of: str, number: int, namespaces: int) -> Place:
    """Return where it was moved to."""
    return Place(Path((of, *tiers((number + 1) % namespaces))), f"moved-{number}")


def changes(size: Size) -> Iterator[Change]:
    """Yield the changes that make a state."""
    each = Size(*(-(-one // size.tenants) for one in (size.namespaces, size.acls, size.aliases)), 1)
    aliases, places = AliasTable(), max(each.namespaces, 1)
    for number in range(size.tenants):
        name = tenant(number)
        yield from (Change(key_of(Path((name, *tiers(one)))), 0, {}) for one in range(each.namespaces))
        yield from (creation_of(name, acl(one)) for one in range(each.acls))
        for one in range(each.aliases):
            source, there = home(name, one, places), target(name, one, places)
            if one % 2:
                yield from aliases.move(source, there)
            else:
                yield from aliases.share(source, there, Access.READ)


def records(size: Size) -> Iterator[StateRecord]:
    """Yield the records of a state."""
    for number, change in enumerate(changes(size)):
        change_id = f"{number // IN_A_CHANGE:024x}"
        yield StateRecord(change.key, 1, AT_MS + number, change_id, "host-1/4711", "User:alice", change.body)


def log_records(size: Size) -> Iterator[LogRecord]:
    """Yield the records of a state as they are in the log."""
    for offset, one in enumerate(records(size)):
        yield LogRecord(offset, one.at_ms, one.key.to_bytes(), encode(one))


def transactions(size: Size) -> Iterator[list[LogRecord]]:
    """Yield the log, a change at a time."""
    batch: list[LogRecord] = []
    for one in chain(log_records(size)):
        batch.append(one)
        if len(batch) == IN_A_CHANGE:
            yield batch
            batch = []
    if batch:
        yield batch
