"""Why a client's batch cannot be read, each with the error code that Kafka's protocol has for it.

The caller counts them and puts the code into the answer of the partition. The texts name what is wrong and where,
without any content of a record.
"""

from typing import ClassVar

from bifrost.wire.error_codes import ErrorCode


class RecordsError(ValueError):
    """A batch cannot be read or built."""

    error_code: ClassVar[ErrorCode]
    """What the client is told."""


class CorruptBatch(RecordsError):
    """Its checksum is wrong, it is cut off, or its compression or a record is malformed."""

    error_code = ErrorCode.CORRUPT_MESSAGE


class OldFormat(RecordsError):
    """It is of format v0 or v1, which have no columns here: Kafka 0.11 brought v2 (KIP-98)."""

    error_code = ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT


class TooLarge(RecordsError):
    """It needs more memory than a batch, a request or the process may have, whatever else goes on.

    Attributes:
        bound: the name of the budget that has not enough.
        limit: the bytes of that budget.
    """

    error_code = ErrorCode.MESSAGE_TOO_LARGE

    def __init__(self, bound: str, limit: int) -> None:
        super().__init__(f"the records need more than the {limit} bytes of their {bound}")
        self.bound = bound
        self.limit = limit


class NoRoom(RecordsError):
    """It needs memory that others use now: the request may be held until they are done, or be sent again.

    Attributes: as those of `TooLarge`.
    """

    error_code = ErrorCode.REQUEST_TIMED_OUT
    """A client sends a Produce request again that is answered so; MESSAGE_TOO_LARGE would be final."""

    def __init__(self, bound: str, limit: int) -> None:
        super().__init__(f"the records need more than is free now of the {limit} bytes of their {bound}")
        self.bound = bound
        self.limit = limit
