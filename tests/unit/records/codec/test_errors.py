from bifrost.records.codec.errors import CorruptBatch, NoRoom, OldFormat, TooLarge
from bifrost.wire.error_codes import ErrorCode


def test_each_error_has_the_code_that_kafka_has_for_it() -> None:
    assert CorruptBatch.error_code is ErrorCode.CORRUPT_MESSAGE
    assert OldFormat.error_code is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert TooLarge.error_code is ErrorCode.MESSAGE_TOO_LARGE


def test_only_what_waiting_can_mend_may_be_tried_again() -> None:
    assert NoRoom.error_code.is_retriable
    assert not TooLarge.error_code.is_retriable


def test_errors_about_room_name_the_budget() -> None:
    assert str(TooLarge("batch", 100)) == "the records need more than the 100 bytes of their batch"
    assert str(NoRoom("process", 100)) == (
        "the records need more than is free now of the 100 bytes of their process"
    )
