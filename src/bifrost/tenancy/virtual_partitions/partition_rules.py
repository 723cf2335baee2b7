"""Which topics of a tenant have virtual partitions, by the names that clients of the whole tenant use."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap

NUMBERS = (
    "parts", "own_bytes", "foreign_bytes", "refused_batches", "scanned_bytes", "remapped", "shared_answers",
    "shared_own_bytes", "shared_foreign_bytes", "kept_groups", "expired_offsets", "upkeep_failures",
    "index_scanned_bytes", "index_written", "index_not_written", "index_read", "index_unreadable", "index_distrusted",
)  # fmt: skip
"""What is counted of each tenant: requests that were sent beside those of clients, fetched bytes that clients have got
and those that were records of other virtual partitions, batches that were refused, bytes that were read to list
offsets, partitions of Produce, Fetch and other requests that got the number of their physical one; Fetches that were
answered with what other connections had fetched, and the bytes of these answers likewise; how often an offset group was
touched, offsets that were deleted because they had expired, and offset groups that could not be looked after; bytes
that were read for the index of logs, and its records that were written, could not be, were read, are none, or were
about another log than the one that is there."""


class PartitionRule(NamedTuple):
    """One rule of the configuration."""

    patterns: tuple[str, ...]
    """Names of topics; `*` stands for any characters."""
    partitions: PartitionMap


class PartitionRules:
    """The rules of one tenant, in their order."""

    def __init__(self, rules: Iterable[PartitionRule]) -> None:
        """Take the rules; there is at least one."""
        self.rules = tuple(rules)
        self._compiled = [
            (re.compile("|".join(map(_regex, rule.patterns))), rule.partitions) for rule in self.rules
        ]
        self.groups = max(rule.partitions.groups for rule in self.rules)
        """How many virtual partitions of a topic share a physical one, at the most."""
        self.has_ratio = any(rule.partitions.ratio for rule in self.rules)

    def map_of(self, full_name: str) -> PartitionMap | None:
        """Return the partitions of a topic; None: it has no virtual ones."""
        for regex, partitions in self._compiled:
            if regex.fullmatch(full_name):
                return None if partitions.virtual == partitions.physical else partitions
        return None


def _regex(pattern: str) -> str:
    return ".*".join(map(re.escape, pattern.split("*")))
