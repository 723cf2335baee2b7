"""DescribeLogDirs: a tenant sees its own replicas, and nothing of the brokers' disks.

The path becomes a name that tells directories of one broker apart, and is the same every time; the size and the free
space of the disk are the operator's affair and read as unknown (KIP-827).
"""

import hashlib
from typing import Any, ClassVar

from bifrost.filters.filter import Exchange, ResponseFilter
from bifrost.wire.engine import in_steps
from bifrost.wire.entity import Entity

UNKNOWN_BYTES = -1
"""DescribeLogDirsResponse.UNKNOWN_VOLUME_BYTES."""


class LogDirsFilter(ResponseFilter):
    """Hides paths and volumes."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.LOG_DIR})

    def on_response(self, exchange: Exchange, response: Any) -> None:
        """Rename every directory."""
        for result in in_steps(response.results):
            key = exchange.scope.namespace.tenant.encode()[:64]
            digest = hashlib.blake2b(result.log_dir.encode(), digest_size=4, key=key)
            result.log_dir = f"/log-dir-{digest.hexdigest()}"
            result.total_bytes = result.usable_bytes = UNKNOWN_BYTES
