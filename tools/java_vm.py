"""Kafka's own classes inside this process, by JPype: they know what the definitions in the jar don't say.

A process can start one Java VM, with one class path, hence one Kafka release per process.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jpype

from bifrost.jars.errors import JavaError
from bifrost.jars.java import find_java


def start_java(jars: Sequence[Path]) -> None:
    """Start this process's Java VM with `jars` as its class path; its standard error is closed.

    Args:
        jars: kafka-clients and what it needs.
    Raises:
        JavaError: there is no Java that is new enough, or its VM cannot be loaded.
    """
    library = find_library(find_java())
    try:
        jpype.startJVM(
            str(library),
            "--enable-native-access=ALL-UNNAMED",  # or Java 24 and newer warn that JPype loads a library
            classpath=[str(jar) for jar in jars],
            convertStrings=True,
        )
    except OSError as error:
        raise JavaError(f"the Java VM {library} cannot be loaded: {error}") from error
    # slf4j complains there that it has no logger; Kafka's log is not read here.
    nowhere = java_class("java.io.OutputStream").nullOutputStream()
    java_class("java.lang.System").setErr(java_class("java.io.PrintStream")(nowhere))


def java_class(name: str) -> Any:
    """Give a Java class by its full name.

    Raises:
        LookupError: the class path has no such class.
    """
    try:
        return jpype.JClass(name)
    except TypeError as error:
        raise LookupError(name) from error


def find_library(java: Path) -> Path:
    """Give the shared library of the VM that the program `java` belongs to; whether it exists is not looked
    at."""
    suffix = "dylib" if sys.platform == "darwin" else "so"
    return java.resolve().parents[1] / "lib" / "server" / f"libjvm.{suffix}"
