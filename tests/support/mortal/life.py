"""What the programs of all libraries have in common: the numbers that they write, and how they tell what is done."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

AT_ONCE = 20
"""Records of a transaction, or between two looks."""
MAX_AWAITED = 10 * AT_ONCE
"""Most records of a writer that are not acknowledged."""
PAUSE_S = 0.02
WAIT_S = 90.0
COMMIT_S = 0.2
SESSION_TIMEOUT_MS = 6000


@dataclass(frozen=True)
class Life:
    """What a client is to do until it is killed."""

    kind: str
    """`idempotent`, `transactional` or `reader`."""
    client: Mapping[str, Any]
    """The library's own settings."""
    topic: str
    partitions: int
    first: int
    """The first number that it writes."""
    group: str
    transactional_id: str

    def values(self) -> Iterator[tuple[int, str]]:
        """Yield partitions and values, for ever: the number decides the partition."""
        number = self.first
        while True:
            yield number % self.partitions, f"{self.kind} {number}"
            number += 1


def tell(values: list[str]) -> None:
    """Say that these are acknowledged, or read, at once: what a killed process has said is true."""
    os.write(1, "".join(f">{value}\n" for value in values).encode())


def fail(error: object) -> None:
    """End the process, from any thread: something happened that its application would not understand."""
    os.write(2, f"{error!r}\n".encode())
    os._exit(1)


def live(does: Mapping[str, Callable[[Life], None]]) -> None:
    """Do what this process's argument says, by its kind."""
    life = Life(**json.loads(sys.argv[1]))
    does[life.kind](life)
