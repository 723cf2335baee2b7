"""RE2/J, the broker's regex engine, in a process of its own (a Java VM uses SIGSEGV for itself).

python -m golden.re2j RELEASE

in    [[regex, [text, ...]], ...]            one line
out   [{"program": n, "matches": [0, 1, ...]} or {"refused": "why"}, ...]
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bifrost.jars import locked_jars
from golden.java_process import JavaProcess


@dataclass(frozen=True)
class Found:
    """What RE2/J says of one regex."""

    matches: list[bool] | None
    """For each text whether the regex matches all of it, None if the regex is refused."""
    program: int
    """RE2/J's instructions."""


class Re2j(JavaProcess):
    """The RE2/J of one Kafka release; a context manager."""

    def __init__(self, release: str) -> None:
        super().__init__("golden.re2j", release)

    def ask(self, questions: Sequence[tuple[str, Sequence[str]]]) -> list[Found]:
        """Match each regex with its texts; in the order of the questions."""
        return [
            Found([bool(match) for match in answer["matches"]], answer["program"])
            if "matches" in answer
            else Found(None, 0)
            for answer in self._ask(questions)
        ]


def main() -> None:
    """Answer questions until standard input ends."""
    from java_vm import java_class, start_java  # on the path of this process only

    coordinates = locked_jars.broker_coordinates(sys.argv[1])
    start_java([jar for jar in locked_jars.resolve(coordinates) if jar.name.startswith("re2j-")])
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
