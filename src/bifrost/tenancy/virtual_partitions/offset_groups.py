"""Consumer groups that keep the committed offsets of virtual partitions which the brokers do not have.

A broker takes no commit for a partition that does not exist. So the offsets of group 0 of a topic's virtual partitions
are in the consumer group itself, and those of each other group g of partitions in a consumer group of their own, an
*offset group*, under the numbers of the physical partitions:

    app  ──▶  app (v < P)    app-v1-qzkfhgtba (P <= v < 2P)    app-v2-...

The nine letters at the end make the Java hash of the whole name equal to that of `app`. A coordinator is chosen by this
hash, whatever the number of partitions that the topic of the offsets has: so all of them have one coordinator for ever,
one transaction, and the same connection. They are also how an offset group is told from others: of 4,294,967,296 other
names of that form one would be mistaken.

Source: GroupMetadataManager.partitionFor, `Utils.abs(groupId.hashCode) % offsets.topic.num.partitions`.
"""

import re
from functools import lru_cache

from bifrost.tenancy.virtual_partitions.java_hash import java_hash
from bifrost.tenancy.virtual_partitions.partition_map import FIRST_GROUP, PartitionGroup

_LETTERS = 9
"""So many base-31 digits between 0 and 25 have several ways to any sum of 32 bits."""
_ALPHABET = 26
_WORD = 1 << 32
_TAIL = re.compile(r"-v[1-9][0-9]{0,2}-[a-z]{9}\Z")
_LONGEST_TAIL = len("-v511-") + _LETTERS

MAX_REMEMBERED_LENGTH = 512
"""Characters of a name whose offset groups are remembered: names of 32 KiB would take hundreds of MiB."""


def offset_group(group_id: str, physical_id: str, group: PartitionGroup) -> str:
    """Return the virtual ID of the consumer group that has the offsets of a group of partitions.

    Args:
        group_id: the client's own consumer group, as the client calls it.
        physical_id: as the coordinator calls it; what is put behind the one is put behind the other.
        group: of partitions; for the first one it is the client's consumer group itself.
    """
    if group == FIRST_GROUP:
        return group_id
    is_long = len(physical_id) > MAX_REMEMBERED_LENGTH
    return _made(group_id, physical_id, group) if is_long else _remembered(group_id, physical_id, group)


def _made(group_id: str, physical_id: str, group: PartitionGroup) -> str:
    mark = f"-v{group}-"
    wanted = java_hash(physical_id) - java_hash(physical_id + mark) * pow(31, _LETTERS, _WORD)
    return group_id + mark + _letters(wanted % _WORD)


_remembered = lru_cache(maxsize=4096)(_made)


def is_offset_group(group_id: str, physical_id: str) -> bool:
    """Whether a consumer group, by its virtual and physical ID, is an offset group, which clients do not see."""
    if _TAIL.search(group_id, max(1, len(group_id) - _LONGEST_TAIL)) is None:
        return False
    return consumer_group_of(physical_id) is not None


def consumer_group_of(physical_id: str) -> str | None:
    """Return the physical ID of the consumer group whose offset group this is; None: it is none, by its name."""
    found = _TAIL.search(physical_id, max(1, len(physical_id) - _LONGEST_TAIL))
    if found is None:
        return None
    consumer_group = physical_id.removesuffix(found.group())
    return consumer_group if java_hash(physical_id) == java_hash(consumer_group) else None


def _letters(wanted: int) -> str:
    """Return letters whose hash is `wanted`."""
    missing = (wanted - java_hash("a" * _LETTERS)) % _WORD
    while True:
        left, digits = missing, []
        for _ in range(_LETTERS):
            left, digit = divmod(left, 31)
            digits.append(digit)
        assert left == 0, "every sum has letters"
        if max(digits) < _ALPHABET:
            return "".join(chr(ord("a") + digit) for digit in reversed(digits))
        missing += _WORD
