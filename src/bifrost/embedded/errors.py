"""The errors of the embedded Kafka, each with one sentence that a user can act on.

The demo and the tests print `str(error)` and nothing else; a message names what failed and how to fix it.
"""

from __future__ import annotations


class EmbeddedError(RuntimeError):
    """The embedded Kafka cannot run here; the message is one line, or a line and a log's tail."""


class JarError(EmbeddedError):
    """A jar is not locked, cannot be downloaded, or is not the one that was locked."""


class JavaError(EmbeddedError):
    """No Java runtime that is new enough was found."""


class KafkaError(EmbeddedError):
    """Kafka did not format its storage, start, or stay up."""
