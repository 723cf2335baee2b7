"""All attacks. A new one is a function in one of these files, or in another that is named here."""

from bench.hostile.arsenal import (
    bytes_held,
    configs,
    connections,
    every_api,
    floods,
    groups,
    handshakes,
    large_requests,
    logins,
    names,
    patterns,
    quotas,
    records,
    replay,
    topic_ids,
)
from bench.hostile.attack import ATTACKS

__all__ = [
    "ATTACKS",
    "bytes_held",
    "configs",
    "connections",
    "every_api",
    "floods",
    "groups",
    "handshakes",
    "large_requests",
    "logins",
    "names",
    "patterns",
    "quotas",
    "records",
    "replay",
    "topic_ids",
]
