import time

import pytest

from bifrost.tenancy.virtual_partitions.java_hash import java_hash


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("a", 97), ("console-consumer-1", 35782224), ("grüße", 98768023), ("\U0001f600", 1772899)],
)
def test_the_hash_is_java_s(text: str, expected: int) -> None:
    """The expected values are those of `"...".hashCode()` in Java, as unsigned numbers."""
    assert java_hash(text) == expected


def test_the_longest_names_are_hashed_in_less_than_a_millisecond_each() -> None:
    """In Python each took 10 ms, on the event loop."""
    name = "n" * 32_767
    began = time.process_time()

    for _ in range(100):
        java_hash(name)

    assert time.process_time() - began < 0.1
