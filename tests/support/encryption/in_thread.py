"""Runs what blocks in a thread, as the gateway does; unit tests may use the network only there."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_T = TypeVar("_T")


def in_thread(call: Callable[[], _T]) -> _T:
    """Return what a call returns, or raise what it raises."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result(timeout=60)
