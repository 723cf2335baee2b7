"""The errors of the embedded Kafka, each with one sentence that a user can act on.

The demo and the tests print `str(error)` and nothing else; a message names what failed and how to fix it.
What a JVM needs and does not find is an error of `jars/`.
"""

from __future__ import annotations


class EmbeddedError(RuntimeError):
    """The embedded Kafka cannot run here; the message is one line, or a line and a log's tail."""


class KafkaError(EmbeddedError):
    """Kafka did not format its storage, start, or stay up."""
