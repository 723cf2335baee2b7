"""Kafka's own error responses (`AbstractRequest.getErrorResponse`), in a process of their own.

python -m golden.kafka_errors RELEASE

out   [[request's name, version], ...]                                     what brokers of this release serve
in    [request's name, version, seed, index, error code, throttle time]    one line each
out   {"request": base64, "response": base64 or null} or {"refused": why}
"""

import json
import sys
from base64 import b64decode, b64encode
from typing import Any, Self

from bifrost.jars import locked_jars
from bifrost.wire.schema import request_schema
from golden.java_process import JavaProcess

REQUESTS = "org.apache.kafka.common.requests"
PROTOCOL = "org.apache.kafka.common.protocol"


class KafkaErrors(JavaProcess):
    """What one Kafka release answers; a context manager."""

    def __init__(self, release: str) -> None:
        super().__init__("golden.kafka_errors", release)

    def __enter__(self) -> Self:
        self.served = {(name, version) for name, version in self._ask("served")}
        """The requests that brokers of this release serve, by name and version."""
        return self

    def ask(self, *question: Any) -> tuple[bytes, bytes | None] | str:
        """Give the bodies of a random request and of its error response, or why Kafka does not read the request.

        Args:
            question: the request's name, version, seed, index, error code, throttle time in ms.
        """
        answer = self._ask(question)
        if "refused" in answer:
            return str(answer["refused"])
        response = answer["response"]
        return b64decode(answer["request"]), None if response is None else b64decode(response)


def main() -> None:
    """Answer questions until standard input ends."""
    import os

    from golden.kafka_serializer import Serializer, served_combinations
    from java_vm import java_class, start_java  # on the path of this process only

    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # a Java VM warns on standard output
    start_java(locked_jars.resolve(locked_jars.converter_coordinates(sys.argv[1])))
    errors = java_class(f"{PROTOCOL}.Errors")
    serializers: dict[str, Any] = {}
    for line in sys.stdin:
        question = json.loads(line)
        if question == "served":
            requests = [one for one in served_combinations() if one[1] == "request"]
            answer: Any = [[request_schema(int(key)).name, version] for key, _, version in requests]
        else:
            name, version, seed, index, code, throttle_time_ms = question
            serializer = serializers.setdefault(seed, Serializer(seed))
            body = b64decode(serializer.sample(name, version, index)["body"])
            error = errors.forCode(code).exception()
            answer = _error_response(name, version, body, error, throttle_time_ms)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _error_response(
    name: str, version: int, body: bytes, error: Any, throttle_time_ms: int
) -> dict[str, Any]:
    from bifrost.wire.schema import message_schema
    from java_vm import java_class

    readable = java_class(f"{PROTOCOL}.ByteBufferAccessor")
    buffer = java_class("java.nio.ByteBuffer")
    api = java_class(f"{PROTOCOL}.ApiKeys").forId(message_schema(name).api_key)
    parse = java_class(f"{REQUESTS}.AbstractRequest").parseRequest
    try:
        wrapped = buffer.wrap(body)
        try:
            request = parse(api, version, readable(wrapped)).request
        except TypeError:  # before Kafka 4.1 it takes the buffer itself
            request = parse(api, version, wrapped).request
        response = request.getErrorResponse(throttle_time_ms, error)
    except (
        java_class("java.lang.IllegalArgumentException"),
        java_class("java.lang.NullPointerException"),
    ) as why:
        return {"refused": str(why)}
    encoded = b64encode(body).decode()
    if response is None:
        return {"request": encoded, "response": None}
    # As a broker does before it sends one; some classes leave the time out until then.
    response.maybeSetThrottleTimeMs(throttle_time_ms)
    data, cache = response.data(), java_class(f"{PROTOCOL}.ObjectSerializationCache")()
    written = buffer.allocate(data.size(cache, version))
    data.write(readable(written), cache, version)
    return {"request": encoded, "response": b64encode(bytes(written.array())).decode()}


if __name__ == "__main__":
    main()
