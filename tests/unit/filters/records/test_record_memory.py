from collections import Counter

import pytest

from bifrost.config.fields.limits import Limits
from bifrost.filters.records.record_memory import RecordMemory
from bifrost.records.codec.errors import NoRoom, TooLarge

LIMITS = Limits(
    max_unpacked_bytes_total=3_000_000, max_unpacked_bytes=2_000_000, max_unpacked_batch_bytes=1_500_000
)


def test_a_batch_takes_from_its_request_and_the_process() -> None:
    memory = RecordMemory(LIMITS, Counter())
    request = memory.of_request()
    batch = memory.of_batch(request)

    batch.take(1_000_000)

    assert (memory.used, request.used, batch.used) == (1_000_000, 1_000_000, 1_000_000)
    batch.give_back(1_000_000)
    assert memory.used == 0


def test_what_cannot_be_is_told_from_what_others_use() -> None:
    memory = RecordMemory(LIMITS, Counter())
    first, second = memory.of_request(), memory.of_request()
    first.take(2_000_000)

    with pytest.raises(TooLarge) as too_large:
        memory.of_batch(second).take(1_600_000)
    with pytest.raises(NoRoom) as no_room:
        memory.of_batch(second).take(1_400_000)
    memory.note(too_large.value, "acme")
    memory.note(no_room.value, "acme")

    assert memory.hits == {("max_unpacked_batch_bytes", "acme"): 1, ("max_unpacked_bytes_total", "acme"): 1}


def test_other_bounds_apply_at_once() -> None:
    memory = RecordMemory(LIMITS, Counter())

    memory.limit(Limits(max_unpacked_bytes_total=1_048_576, max_unpacked_batch_bytes=65_536))

    with pytest.raises(TooLarge):
        memory.of_request().take(1_048_577)
    with pytest.raises(TooLarge):
        memory.of_batch(memory.of_request()).take(65_537)
