"""One tenant of the two: its unguessable things, and the records that it writes."""

from __future__ import annotations

import itertools
import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from support.clients.endpoint import Endpoint

SHARED = ("shared", "aio-shared", "copied")
"""Topics that both tenants have; `copied` is written in transactions."""
VIRTUAL, PHYSICAL = 12, 4
RECORD_BYTES = 700
LARGE_BYTES = 24_000
"""Of the records that make up most of the traffic."""


def _hex(size: int = 8) -> str:
    return secrets.token_hex(size)


@dataclass
class Side:
    """A tenant; everything that it makes up has its marker."""

    name: str = field(default_factory=lambda: "t" + _hex())
    marker: str = field(default_factory=_hex)
    config_value: str = field(default_factory=lambda: str(10**15 + secrets.randbelow(10**17)))
    """A retention in ms that cannot be guessed."""
    is_divided: bool = False
    """Whether some of its topics have virtual partitions."""
    topic_ids: dict[str, bytes] = field(default_factory=dict)
    endpoint: Endpoint = field(init=False)
    disturbed: threading.Event = field(default_factory=threading.Event)
    """Set while a broker is away: what clients do may fail then, and is done again."""
    numbers: Iterator[int] = field(default_factory=itertools.count)
    """For names that are used once."""
    _large: str = field(default_factory=lambda: _hex(LARGE_BYTES // 2))
    _padding: str = field(default_factory=lambda: _hex(RECORD_BYTES // 2))

    def named(self, kind: str) -> str:
        """An unguessable name."""
        return f"{kind}-{self.marker}"

    @property
    def own_topics(self) -> tuple[str, ...]:
        """Topics that only this tenant has."""
        plain = self.named("own"), self.named("packed"), self.named("codecs"), self.named("large")
        return (*plain, *self.virtual_topics) if self.is_divided else plain

    @property
    def virtual_topics(self) -> tuple[str, ...]:
        """Topics with virtual partitions, which a tenant has that `is_divided`."""
        return self.divided_topic, self.committed_topic, self.compacted_topic

    @property
    def divided_topic(self) -> str:
        """One with virtual partitions."""
        return self.named("divided")

    @property
    def committed_topic(self) -> str:
        """Another one, which is written in transactions."""
        return self.named("committed")

    @property
    def compacted_topic(self) -> str:
        """One with virtual partitions that is compacted."""
        return self.named("compacted")

    def partitions_of(self, topic: str) -> int:
        """How many partitions of a topic the tenant sees."""
        return VIRTUAL if topic in self.virtual_topics else 2

    @property
    def virtual_partitions(self) -> list[dict[str, Any]]:
        """The section of the tenant's configuration."""
        numbers = {"virtual": VIRTUAL, "physical": PHYSICAL}
        return [
            {"topics": [self.divided_topic, self.committed_topic], **numbers},
            {"topics": [self.compacted_topic], **numbers, "compacted": True},
        ]

    def value(self, stream: str, number: int) -> bytes:
        """The value of a record: hex, so that no number of the protocol can occur in it."""
        return f"{self.marker} {stream} {number:09d} {self._padding}".encode()

    def large_value(self, stream: str, number: int) -> bytes:
        """The value of a large record."""
        return f"{self.marker} {stream} {number:09d} {self._large}".encode()

    def key(self, number: int) -> bytes:
        """Its key."""
        return f"key-{self.marker}-{number % 97}".encode()

    def headers(self) -> list[Any]:
        """Its headers."""
        return [(f"header-{self.marker}", f"header-value-{self.marker}".encode())]


def check_records(
    side: Side, stream: str, sent: int, read: list[tuple[bytes, bytes, str]], *, is_large: bool = False
) -> None:
    """Check that what was read is what the tenant sent, each record once and whole.

    Args:
        side: the tenant.
        stream: of its producer.
        sent: how many were sent, from number 0 on.
        read: key, value and the first header's name of each record read.
        is_large: whether the records are large ones.
    """
    value_of = side.large_value if is_large else side.value
    numbers = sorted(int(value.split(b" ", 3)[2]) for _key, value, _header in read)
    assert numbers == list(range(sent)), f"{stream}: sent {sent}, read {len(numbers)}"
    for key, value, header in read:
        number = int(value.split(b" ", 3)[2])
        assert (key, value) == (side.key(number), value_of(stream, number))
        assert header == side.headers()[0][0]
