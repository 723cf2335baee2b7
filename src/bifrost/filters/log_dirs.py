"""DescribeLogDirs: a tenant sees its own replicas, but not the brokers' disks.

The path becomes a name that distinguishes the directories of one broker and is the same every time
(`tenancy/pseudonyms.py`); the size and the free space of the disk are only for the operator and are reported as unknown
(KIP-827).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bifrost.filters.filter import Exchange, ResponseFilter
from bifrost.filters.steps import FORWARD, ResponseStep
from bifrost.wire.entity import Entity
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import DescribeLogDirsResponse


UNKNOWN_BYTES = -1
"""DescribeLogDirsResponse.UNKNOWN_VOLUME_BYTES."""


class LogDirsFilter(ResponseFilter):
    """Hides paths and volumes."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.LOG_DIR})

    def on_response(self, exchange: Exchange, response: DescribeLogDirsResponse) -> ResponseStep:
        """Rename every directory."""
        for result in in_steps(response.results):
            result.log_dir = exchange.scope.namespace.pseudonyms.log_dir(result.log_dir)
            result.total_bytes = result.usable_bytes = UNKNOWN_BYTES
        return FORWARD
