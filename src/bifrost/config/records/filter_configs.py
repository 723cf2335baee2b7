"""What single filters do: the keys of `config`, by the filter that they belong to."""

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field, StrictStr

from bifrost.config.records.encryption_config import EnvelopeEncryptionConfig
from bifrost.config.records.masking_config import MaskingConfig
from bifrost.config.records.python_transform_config import PythonTransformConfig
from bifrost.config.records.schema_config import SchemaValidatorConfig
from bifrost.config.section import Section
from bifrost.config.values import Flag, SizeBytes

MAX_HEADERS = 32
"""Most headers that one filter adds, removes, renames or asks for: each is compared with each header of a record."""

HeaderKey = Annotated[StrictStr, Field(min_length=1, max_length=256)]
HeaderValue = Annotated[StrictStr, Field(max_length=4096)]


class CodecName(StrEnum):
    """How the records of a batch may be compressed."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class AcksName(StrEnum):
    """What a producer may wait for, as its setting `acks`."""

    ALL = "all"
    LEADER = "1"
    NONE = "0"


def read_acks(value: object) -> object:
    """Return a number as the text that it is in the settings of a producer."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


AcksValue = Annotated[AcksName, BeforeValidator(read_acks)]


class AddedHeader(Section):
    """A header that records get."""

    key: HeaderKey = Field(examples=["region"])
    """The key of the header. Required."""

    value: HeaderValue = Field(examples=["eu"])
    """The value of the header, a text, in UTF-8. Required."""


class RenamedHeader(Section):
    """A header whose key changes."""

    key: HeaderKey = Field(examples=["trace"])
    """The key that the header has. Required."""

    to: HeaderKey = Field(examples=["traceparent"])
    """The key that the header gets. Required."""


class RecordHeadersConfig(Section):
    """What RecordHeaders does."""

    add: tuple[AddedHeader, ...] = Field(
        default=(), max_length=MAX_HEADERS, examples=["[{ key: region, value: eu }]"]
    )
    """Of `RecordHeaders`: headers that each record gets, behind those that it has. With `remove` of the same key the
    record has this header alone. Default: none."""

    remove: tuple[HeaderKey, ...] = Field(default=(), max_length=MAX_HEADERS)
    """Of `RecordHeaders`: keys of headers that are removed, each as often as a record has it. Default: none."""

    rename: tuple[RenamedHeader, ...] = Field(
        default=(), max_length=MAX_HEADERS, examples=["[{ key: trace, to: traceparent }]"]
    )
    """Of `RecordHeaders`: headers that get another key and stay where they are. Default: none."""


class ProducePolicyConfig(Section):
    """What ProducePolicy asks for."""

    required_headers: tuple[HeaderKey, ...] = Field(default=(), max_length=MAX_HEADERS)
    """Of `ProducePolicy`: headers that each record must have. Default: none."""

    require_key: Flag = False
    """Of `ProducePolicy`: whether each record must have a key. Default false."""

    max_record_bytes: SizeBytes | None = Field(default=None, ge=1, le=2**31 - 1)
    """Of `ProducePolicy`: most bytes of a record, its key, value and headers together, when it is not compressed.
    Default: the key is absent, and only the broker's limit of a batch applies."""

    compression: tuple[CodecName, ...] | None = Field(default=None, min_length=1)
    """Of `ProducePolicy`: how batches may be compressed: `none`, `gzip`, `snappy`, `lz4`, `zstd`. A batch that is
    compressed in another way is refused with POLICY_VIOLATION. Default: the key is absent, and every way is allowed."""

    acks: tuple[AcksValue, ...] | None = Field(default=None, min_length=1)
    """Of `ProducePolicy`: which settings `acks` producers may have: `all`, `1`, `0`. Records that come with another are
    refused with POLICY_VIOLATION. Default: the key is absent, and all are allowed."""


class FilterConfig(
    RecordHeadersConfig,
    ProducePolicyConfig,
    MaskingConfig,
    PythonTransformConfig,
    EnvelopeEncryptionConfig,
    SchemaValidatorConfig,
):
    """What a filter does. A key that belongs to another filter is refused."""
