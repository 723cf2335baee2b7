"""Kafka's enums of API keys and error codes: read from its classes in a Java VM, written as Python.

Neither is in the message definitions: the constants' names, the error texts and what may be retried are code
in `kafka-clients`, so that code is asked.

Source: org.apache.kafka.common.protocol.ApiKeys and Errors; RetriableException.
"""

import json
from dataclasses import dataclass
from typing import Any

from java_vm import java_class

HEADER = "# Written by tools/compile_schemas.py from Kafka's definitions; do not edit."

_API_KEYS = '''
"""Kafka's API keys.

All of them have a name here; those that a broker serves to others are the ones in the schema table.

Source: org.apache.kafka.common.protocol.ApiKeys.
"""

from enum import IntEnum


class ApiKey(IntEnum):
    """The number of an API, the first field of a request's header."""
'''

_ERROR_CODES = '''
"""Kafka's error codes, their texts, and which of them a client may retry.

Source: org.apache.kafka.common.protocol.Errors.
"""

# ruff: noqa: E501
from enum import IntEnum


class ErrorCode(IntEnum):
    """An `error_code` as responses carry it; 0 is success."""

    @property
    def message(self) -> str:
        """Kafka's text for the error; what a client shows if a response brings no text of its own."""
        return _MESSAGES[self]

    @property
    def is_retriable(self) -> bool:
        """Whether the same request may succeed later, as Kafka's own client sees it (RetriableException)."""
        return self in _RETRIABLE
'''


@dataclass(frozen=True, slots=True)
class KafkaError:
    """One constant of Kafka's Errors."""

    name: str
    code: int
    message: str
    is_retriable: bool


@dataclass(frozen=True, slots=True)
class JavaEnums:
    """What Kafka's classes say, in their order."""

    api_keys: dict[str, int]
    errors: list[KafkaError]


def read_enums() -> JavaEnums:
    """Read the enums of the kafka-clients that this process's Java VM has on its class path."""
    retriable: Any = java_class("org.apache.kafka.common.errors.RetriableException")
    api_keys = java_class("org.apache.kafka.common.protocol.ApiKeys").values()
    errors = java_class("org.apache.kafka.common.protocol.Errors").values()
    return JavaEnums(
        {str(key.toString()): int(key.id) for key in api_keys},
        [
            KafkaError(
                str(error.toString()),
                int(error.code()),
                str(error.message()),
                isinstance(error.exception(), retriable),
            )
            for error in errors
        ],
    )


def write_api_keys(enums: JavaEnums) -> str:
    """Write the module wire/api_keys.py."""
    members = [
        f"    {name} = {key}" for name, key in sorted(enums.api_keys.items(), key=lambda item: item[1])
    ]
    return "\n".join([HEADER + _API_KEYS, *members, ""])


def write_error_codes(enums: JavaEnums) -> str:
    """Write the module wire/error_codes.py."""
    errors = sorted(enums.errors, key=lambda error: error.code)
    return "\n".join(
        [
            HEADER + _ERROR_CODES,
            *(f"    {error.name} = {error.code}" for error in errors),
            "\n\n_MESSAGES = {",
            *(f"    ErrorCode.{e.name}: {json.dumps(e.message, ensure_ascii=False)}," for e in errors),
            "}\n\n_RETRIABLE = frozenset(\n    {",
            *(f"        ErrorCode.{error.name}," for error in errors if error.is_retriable),
            "    }\n)\n",
        ]
    )
