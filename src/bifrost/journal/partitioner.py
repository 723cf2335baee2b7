"""Chooses a key's partition as Kafka's own producers do, so that the pipeline's writers choose the same one.

Source: Kafka's Utils.murmur2, BuiltInPartitioner.partitionForKey.
"""

from functools import lru_cache

_M, _R, _SEED, _MASK = 0x5BD1E995, 24, 0x9747B28C, 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the hash of a key, 0 to 2**32 - 1."""
    h = (_SEED ^ len(data)) & _MASK
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        k = (k ^ k >> _R) * _M & _MASK
        h = (h * _M & _MASK) ^ k
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


@lru_cache(maxsize=4096)
def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of a key, 0 to `partitions` - 1."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
