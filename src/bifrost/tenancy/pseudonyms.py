"""What a tenant sees in place of the operator's data: the cluster ID, the paths of log directories.

A pseudonym is the same on every gateway of a platform and after every restart, and another for each namespace. An
attacker that knows the method can check guesses offline, and a path is easily guessed. So they are keyed by a secret:
the operator's own (`proxy.pseudonym_key_file`), or else the physical cluster's ID, 128 random bits that every gateway
knows and no tenant sees.
"""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Callable


class Pseudonyms:
    """The pseudonyms of one namespace."""

    __slots__ = ("_below", "_cluster_id", "_key", "_tenant")

    def __init__(self, path: str, key: bytes, cluster_id: Callable[[], str | None]) -> None:
        """Make the pseudonyms of a namespace.

        Args:
            path: the tenant, and the tiers below it.
            key: the operator's secret; empty when there is none.
            cluster_id: tells the physical cluster's ID, which is known once a broker has answered.
        """
        self._tenant, _, self._below = path.partition(":")
        self._key = hashlib.blake2b(key, person=b"bifrost-key").digest() if key else b""
        self._cluster_id = cluster_id

    def cluster_id(self, physical: str) -> str:
        """Return the cluster ID that the tenant sees.

        22 characters of URL-safe base64, the form of Kafka's own (Uuid.toString). Without a key it is the same as
        before keys were introduced: a client may remember a cluster by its ID.
        """
        below = f":{self._below}" if self._below else ""
        content = (physical + below).encode()
        if self._key:
            content = f"{self._tenant}\0".encode() + content
        key = self._key or self._tenant.encode()[:64]
        digest = hashlib.blake2b(content, digest_size=16, key=key, person=b"bifrost-cluster")
        return urlsafe_b64encode(digest.digest()).decode().rstrip("=")

    def log_dir(self, path: str) -> str:
        """Return the tenant's name for a broker's log directory."""
        key = self._key
        if not key:
            cluster_id = self._cluster_id()
            assert cluster_id, "a broker has answered, so the cluster is known"
            key = hashlib.blake2b(cluster_id.encode(), person=b"bifrost-key").digest()
        content = "\0".join((self._tenant, self._below, path)).encode()
        digest = hashlib.blake2b(content, digest_size=4, key=key, person=b"bifrost-log-dir")
        return f"/log-dir-{digest.hexdigest()}"
