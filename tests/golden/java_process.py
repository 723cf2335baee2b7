"""A process of its own in which Java's classes answer questions in JSON lines: a Java VM uses SIGSEGV."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Self

TESTS = Path(__file__).resolve().parents[1]
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A VM that lives for seconds."""


class JavaProcess:
    """One module that answers, run for one Kafka release; a context manager."""

    def __init__(self, module: str, release: str) -> None:
        """Start it.

        Args:
            module: answers each line of standard input by a line.
            release: its only argument.
        """
        environment = {
            "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent / "tools"), *sys.path]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "JAVA_TOOL_OPTIONS": f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {JAVA_OPTIONS}",
        }
        self._module = module
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by __exit__
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, release],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=os.environ | environment,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()
        self._process.wait()

    def _ask(self, question: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._errors.seek(0)
            raise RuntimeError(f"{self._module} failed: {self._errors.read()[-3000:]}")
        return json.loads(line)
