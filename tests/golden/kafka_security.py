"""Kafka's own classes for Kerberos names and OAUTHBEARER messages, in a process of its own (a Java VM uses SIGSEGV).

python -m golden.kafka_security RELEASE

in    ["names", realm, [rule, ...], [principal, ...]]     or ["messages", [text of bytes, ...]]     one line each
out   [name or null, ...] or {"refused": why}             or [[authorization ID, token] or null, ...]
"""

import json
import sys
from typing import Any

from bifrost.jars import locked_jars
from golden.java_process import JavaProcess

SECURITY = "org.apache.kafka.common.security"


class KafkaSecurity(JavaProcess):
    """These classes of one Kafka release; a context manager."""

    def __init__(self, release: str) -> None:
        super().__init__("golden.kafka_security", release)

    def names(self, realm: str, rules: list[str], principals: list[str]) -> list[str | None] | None:
        """Give each principal's name, None for those that have none; None if Kafka refuses a rule."""
        answer = self._ask(["names", realm, rules, principals])
        return answer if isinstance(answer, list) else None

    def messages(self, messages: list[bytes]) -> list[list[str] | None]:
        """Give the authorization ID and token of each message, None for those that are malformed."""
        found: list[list[str] | None] = self._ask(["messages", [one.decode("latin-1") for one in messages]])
        return found


def main() -> None:
    """Answer questions until standard input ends."""
    import jpype

    from java_vm import java_class, start_java  # on the path of this process only

    start_java(locked_jars.resolve(locked_jars.client_coordinates(sys.argv[1])))
    namer = java_class(f"{SECURITY}.kerberos.KerberosShortNamer")
    name = java_class(f"{SECURITY}.kerberos.KerberosName")
    message = java_class(f"{SECURITY}.oauthbearer.internals.OAuthBearerClientInitialResponse")

    def name_of(rules: Any, principal: str) -> str | None:
        try:
            return str(rules.shortName(name.parse(principal)))
        except jpype.JException:
            return None

    def parts_of(text: str) -> list[str] | None:
        try:
            read = message(
                jpype.JArray(jpype.JByte)([(one + 128) % 256 - 128 for one in text.encode("latin-1")])
            )
        except jpype.JException:
            return None
        return [str(read.authorizationId()), str(read.tokenValue())]

    for line in sys.stdin:
        kind, *arguments = json.loads(line)
        answer: Any
        if kind == "messages":
            answer = [parts_of(text) for text in arguments[0]]
        else:
            realm, rules, principals = arguments
            try:
                parsed = namer.fromUnparsedRules(realm, jpype.java.util.ArrayList(rules))
                answer = [name_of(parsed, principal) for principal in principals]
            except jpype.JException as error:
                answer = {"refused": str(error)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
