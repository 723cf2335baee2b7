import pytest

from bifrost.records.codec.compression import compress, unpack
from bifrost.records.codec.errors import NoRoom, TooLarge
from bifrost.records.codec.memory import MemoryBudget

GZIP = 1


def budgets(*, process: int = 1000, request: int = 500, batch: int = 300) -> list[MemoryBudget]:
    of_process = MemoryBudget("process", process, is_shared=True)
    of_request = MemoryBudget("request", request, of_process)
    return [of_process, of_request, MemoryBudget("batch", batch, of_request)]


def test_what_a_batch_takes_all_of_its_budgets_have_less() -> None:
    process, request, batch = budgets()

    batch.take(100)

    assert [one.used for one in (process, request, batch)] == [100, 100, 100]
    assert (batch.room(), request.room(), process.room()) == (200, 400, 900)
    batch.give_back(100)
    assert [one.used for one in (process, request, batch)] == [0, 0, 0]


def test_room_is_what_the_tightest_budget_has() -> None:
    process, _request, batch = budgets()
    process.take(950)

    assert batch.room() == 50


@pytest.mark.parametrize(
    ("size", "limits", "bound"),
    [
        (301, {}, "batch"),
        (501, {"batch": 9999}, "request"),
        (1001, {"batch": 9999, "request": 9999}, "process"),
    ],
)
def test_what_can_never_fit_is_too_large(size: int, limits: dict[str, int], bound: str) -> None:
    batch = budgets(**limits)[-1]

    with pytest.raises(TooLarge) as caught:
        batch.take(size)

    assert caught.value.bound == bound
    assert batch.used == 0


def test_a_request_that_has_used_up_its_own_budget_is_too_large() -> None:
    _process, request, batch = budgets()
    request.take(400)

    with pytest.raises(TooLarge) as caught:
        batch.take(101)

    assert caught.value.bound == "request"


def test_what_only_others_use_now_is_no_room() -> None:
    process, _request, batch = budgets()
    process.take(900)

    with pytest.raises(NoRoom) as caught:
        batch.take(101)

    assert (caught.value.bound, caught.value.limit) == ("process", 1000)


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        budgets()[-1].take(-1)


def test_memory_gives_back_its_bytes_when_the_last_view_goes() -> None:
    process, _request, batch = budgets(process=10_000, request=10_000, batch=10_000)
    memory = unpack(GZIP, compress(GZIP, b"x" * 700), batch)
    view = memoryview(memory)[3:5]

    assert process.used == len(memory) == 700
    del memory
    assert process.used == 700
    assert view == b"xx"
    del view
    assert process.used == 0


def test_memory_cannot_be_written_to() -> None:
    memory = unpack(GZIP, compress(GZIP, b"abc"), MemoryBudget("batch", 1000))

    assert memoryview(memory).readonly
