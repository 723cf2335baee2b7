import pytest

from bifrost.tenancy import topic_ids as module
from bifrost.tenancy.topic_ids import ABSENT_FOR_MS, ZERO_TOPIC_ID, AbsentIds, MaskedIds, TopicIds


def numbered(number: int) -> bytes:
    return number.to_bytes(16, "big")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """All bounds at 3."""
    for name in ("MAX_TOPIC_IDS", "MAX_MASKED_IDS"):
        monkeypatch.setattr(module, name, 3)


@pytest.fixture
def masked() -> MaskedIds:
    """Masks that count from 1001."""
    numbers = iter(range(1001, 2000))
    return MaskedIds(lambda: numbered(next(numbers)))


def test_what_was_learnt_is_known() -> None:
    ids = TopicIds()

    ids.learn(numbered(1), b"orders")

    assert (ids.name_of(numbered(1)), ids.name_of(numbered(2))) == (b"orders", None)


def test_the_zero_id_is_of_no_topic() -> None:
    ids = TopicIds()

    ids.learn(ZERO_TOPIC_ID, b"orders")

    assert ids.name_of(ZERO_TOPIC_ID) is None


@pytest.mark.parametrize(
    ("later_ms", "absent"), [(0, True), (ABSENT_FOR_MS - 1, True), (ABSENT_FOR_MS, False)]
)
def test_absence_is_believed_for_a_while(later_ms: int, absent: bool) -> None:
    ids = AbsentIds(10)

    ids.learn_absent(numbered(1), now_ms=50)

    assert ids.is_absent(numbered(1), 50 + later_ms) == absent
    assert not ids.is_absent(numbered(2), 50)


@pytest.mark.usefixtures("small")
def test_the_index_is_bounded_and_forgets_the_oldest() -> None:
    ids = TopicIds()

    for number in range(1, 6):
        ids.learn(numbered(number), b"topic")

    assert [ids.name_of(numbered(number)) for number in range(1, 6)] == [None, None, *[b"topic"] * 3]


@pytest.mark.usefixtures("small")
def test_what_is_learnt_again_stays() -> None:
    ids = TopicIds()
    for number in (1, 2, 3, 1):
        ids.learn(numbered(number), b"topic")

    ids.learn(numbered(4), b"topic")

    assert [ids.name_of(numbered(number)) is not None for number in (1, 2, 3, 4)] == [True, False, True, True]


def test_the_memory_of_absence_is_bounded() -> None:
    ids = AbsentIds(3)

    for number in range(1, 6):
        ids.learn_absent(numbered(number), now_ms=0)

    assert [ids.is_absent(numbered(number), 0) for number in range(1, 6)] == [False, False, True, True, True]


# -- masks


def test_a_mask_is_the_same_every_time_and_stands_for_its_id(masked: MaskedIds) -> None:
    first, second = masked.mask(numbered(1)), masked.mask(numbered(2))

    assert (first, second) == (numbered(1001), numbered(1002))
    assert masked.mask(numbered(1)) == first
    assert (masked.original(first), masked.original(second)) == (numbered(1), numbered(2))


def test_what_is_no_mask_stands_for_nothing(masked: MaskedIds) -> None:
    masked.mask(numbered(1))

    assert masked.original(numbered(1)) is None
    assert masked.original(numbered(1002)) is None


def test_a_mask_is_masked_as_any_other_id(masked: MaskedIds) -> None:
    # Masking twice must not give back what was masked first: a mask that leaks opens nothing.
    first = masked.mask(numbered(1))

    assert masked.mask(first) not in (first, numbered(1))


@pytest.mark.usefixtures("small")
def test_masks_are_bounded(masked: MaskedIds) -> None:
    small_masks = MaskedIds(masked._new_id)
    masks = [small_masks.mask(numbered(number)) for number in range(1, 6)]

    originals = [small_masks.original(one) for one in masks]

    assert originals == [None, None, numbered(3), numbered(4), numbered(5)]
    assert len(small_masks._originals) == 3
