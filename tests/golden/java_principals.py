"""Java's own X500Principal and Kafka's own SslPrincipalMapper, in a process of their own.

python -m golden.java_principals RELEASE

in    {"names": [DER as hex, ...]}                            one line
out   ["CN=...", null, ...]                                    null where Java refuses it
in    {"rules": text, "names": [name, ...]}
out   {"refused": "why"} or {"principals": [principal, null where no rule matches or one cannot be carried out, ...]}
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from bifrost.jars import locked_jars
from golden.java_process import JavaProcess


class JavaPrincipals(JavaProcess):
    """What Java and one Kafka release say; a context manager."""

    def __init__(self, release: str) -> None:
        super().__init__("golden.java_principals", release)

    def names(self, encoded: Sequence[bytes]) -> list[str | None]:
        """Return how Java writes distinguished names, None for those that it does not take."""
        return list(self._ask({"names": [one.hex() for one in encoded]}))

    def principals(self, rules: str, names: Sequence[str]) -> list[str | None] | None:
        """Return what Kafka makes of names by these rules; None if it refuses the rules."""
        answer = self._ask({"rules": rules, "names": list(names)})
        return None if "refused" in answer else list(answer["principals"])


def main() -> None:
    """Answer questions until standard input ends."""
    from java_vm import java_class, start_java  # on the path of this process only

    coordinates = locked_jars.broker_coordinates(sys.argv[1])
    start_java(locked_jars.resolve(coordinates))
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
