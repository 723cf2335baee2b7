"""Java's own X500Principal and Kafka's own SslPrincipalMapper, in a process of their own.

python -m golden.java_principals RELEASE

in    {"names": [DER as hex, ...]}                            one line
out   ["CN=...", null, ...]                                    null where Java refuses it
in    {"rules": text, "names": [name, ...]}
out   {"refused": "why"} or {"principals": [principal, null where no rule matches or one cannot be carried out, ...]}
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from bifrost.embedded import jars

TESTS = Path(__file__).resolve().parents[1]
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A VM that lives for seconds."""


class JavaPrincipals:
    """What Java and one Kafka release say; a context manager."""

    def __init__(self, release: str) -> None:
        environment = {
            "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent / "tools"), *sys.path]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "JAVA_TOOL_OPTIONS": f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {JAVA_OPTIONS}",
        }
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by __exit__
        self._process = subprocess.Popen(
            [sys.executable, "-m", "golden.java_principals", release],
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

    def names(self, encoded: Sequence[bytes]) -> list[str | None]:
        """Return how Java writes distinguished names, None for those that it does not take."""
        return list(self._ask({"names": [one.hex() for one in encoded]}))

    def principals(self, rules: str, names: Sequence[str]) -> list[str | None] | None:
        """Return what Kafka makes of names by these rules; None if it refuses the rules."""
        answer = self._ask({"rules": rules, "names": list(names)})
        return None if "refused" in answer else list(answer["principals"])

    def _ask(self, question: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._errors.seek(0)
            raise RuntimeError(f"Java failed: {self._errors.read()[-3000:]}")
        return json.loads(line)


def main() -> None:
    """Answer questions until standard input ends."""
    from java_vm import java_class, start_java  # on the path of this process only

    coordinates = jars.broker_coordinates(sys.argv[1])
    start_java(jars.resolve(coordinates))
    principal_class = java_class("javax.security.auth.x500.X500Principal")
    mapper_class = java_class("org.apache.kafka.common.security.ssl.SslPrincipalMapper")
    wrong = java_class("java.lang.Exception")
    for line in sys.stdin:
        question = json.loads(line)
        if "rules" not in question:
            answer: Any = [_name(principal_class, wrong, bytes.fromhex(one)) for one in question["names"]]
        else:
            answer = _principals(mapper_class, wrong, question["rules"], question["names"])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _name(principal_class: Any, wrong: Any, encoded: bytes) -> str | None:
    import jpype

    try:
        return str(principal_class(jpype.JArray(jpype.JByte)(encoded)).getName())
    except wrong:
        return None


def _principals(mapper_class: Any, wrong: Any, rules: str, names: list[str]) -> dict[str, Any]:
    try:
        mapper = mapper_class.fromRules(rules)
    except wrong as error:
        return {"refused": str(error)}
    principals = []
    for name in names:
        try:
            principals.append(str(mapper.getName(name)))
        except wrong:
            principals.append(None)
    return {"principals": principals}


if __name__ == "__main__":
    main()
