"""Answers to Produce with errors of records, as the gateway gives them."""

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from support.stage import messages


def answers(*topics: tuple[str, dict[int, dict[str, object]]]) -> Message:
    return messages.build(
        "ProduceResponse",
        {
            "responses": [
                {"name": name, "partition_responses": [{"index": index, **one} for index, one in of.items()]}
                for name, of in topics
            ]
        },
    )


def refused(code: ErrorCode, text: str, *errors: tuple[int, str]) -> dict[str, object]:
    return {
        "error_code": code,
        "base_offset": -1,
        "log_append_time_ms": -1,
        "log_start_offset": -1,
        "error_message": text,
        "record_errors": [
            {"batch_index": index, "batch_index_error_message": reason} for index, reason in errors
        ],
    }
