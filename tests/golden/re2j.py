"""RE2/J, the broker's regex engine, in a process of its own (a Java VM uses SIGSEGV for itself).

python -m golden.re2j RELEASE

in    [[regex, [text, ...]], ...]            one line
out   [{"program": n, "matches": [0, 1, ...]} or {"refused": "why"}, ...]
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bifrost.embedded import jars

TESTS = Path(__file__).resolve().parents[1]
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A VM that lives for seconds."""


@dataclass(frozen=True)
class Found:
    """What RE2/J says of one regex."""

    matches: list[bool] | None
    """For each text whether the regex matches all of it, None if the regex is refused."""
    program: int
    """RE2/J's instructions."""


class Re2j:
    """The RE2/J of one Kafka release; a context manager."""

    def __init__(self, release: str) -> None:
        environment = {
            "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent / "tools")]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "JAVA_TOOL_OPTIONS": f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {JAVA_OPTIONS}",
        }
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by __exit__
        self._process = subprocess.Popen(
            [sys.executable, "-m", "golden.re2j", release],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=os.environ | environment,
            text=True,
        )

    def __enter__(self) -> "Re2j":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()
        self._process.wait()

    def ask(self, questions: Sequence[tuple[str, Sequence[str]]]) -> list[Found]:
        """Match each regex with its texts; in the order of the questions."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(questions) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._errors.seek(0)
            raise RuntimeError(f"RE2/J failed: {self._errors.read()[-3000:]}")
        return [
            Found([bool(match) for match in answer["matches"]], answer["program"])
            if "matches" in answer
            else Found(None, 0)
            for answer in json.loads(line)
        ]


def main() -> None:
    """Answer questions until standard input ends."""
    from java_vm import java_class, start_java  # on the path of this process only

    coordinates = jars.broker_coordinates(sys.argv[1])
    start_java([jar for jar in jars.resolve(coordinates) if jar.name.startswith("re2j-")])
    pattern_class = java_class("com.google.re2j.Pattern")
    refusal = java_class("com.google.re2j.PatternSyntaxException")
    for line in sys.stdin:
        answers = [_answer(pattern_class, refusal, regex, texts) for regex, texts in json.loads(line)]
        sys.stdout.write(json.dumps(answers) + "\n")
        sys.stdout.flush()


def _answer(pattern_class: Any, refusal: Any, regex: str, texts: list[str]) -> dict[str, Any]:
    try:
        pattern = pattern_class.compile(regex)
    except refusal as error:
        return {"refused": str(error)}
    matches = [int(bool(pattern.matcher(text).matches())) for text in texts]
    return {"program": int(pattern.programSize()), "matches": matches}


if __name__ == "__main__":
    main()
