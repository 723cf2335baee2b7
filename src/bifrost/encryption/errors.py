"""Why records cannot be sealed or opened, each with the error code that Kafka's protocol has for it.

The texts name what is wrong, without any content of a record, a key or a wrapped key.
"""

from bifrost.records.codec.errors import RecordsError
from bifrost.wire.error_codes import ErrorCode


class EncryptionError(RecordsError):
    """A batch cannot be sealed or opened."""


class BrokenSeal(EncryptionError):
    """What was sealed is not what is there, or it was sealed for another place or by another key."""

    error_code = ErrorCode.CORRUPT_MESSAGE


class OutOfOrder(BrokenSeal):
    """A batch was produced before one that stands before it."""


class UnknownEnvelope(EncryptionError):
    """The envelope is of a version, a mode or a cipher that this gateway does not know."""

    error_code = ErrorCode.CORRUPT_MESSAGE


class NotSealed(EncryptionError):
    """A record is not sealed where all records have to be."""

    error_code = ErrorCode.CORRUPT_MESSAGE


class UnknownKek(EncryptionError):
    """No KEK of the topic's rule is the one that the envelope names, or it was deleted, or may not be used."""

    error_code = ErrorCode.CORRUPT_MESSAGE


class DekUsedUp(EncryptionError):
    """A DEK has sealed as much as it may; the batch needs another one."""

    error_code = ErrorCode.REQUEST_TIMED_OUT
    """A client sends a Produce request again that is answered so."""


class KekUnavailable(EncryptionError):
    """The KEK cannot be asked now: its service is away, slow, sealed or over its limits."""

    error_code = ErrorCode.REQUEST_TIMED_OUT
