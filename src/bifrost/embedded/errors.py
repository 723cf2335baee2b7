"""What can go wrong around the embedded Kafka, each as one sentence that a person can act on.

The demo and the tests print `str(error)` and nothing else; a message names what failed and how to mend it.
"""

from __future__ import annotations


class EmbeddedError(RuntimeError):
    """The embedded Kafka cannot be had here; the message is one line, or a line and a log's tail."""


class JarError(EmbeddedError):
    """A jar is not locked, cannot be downloaded, or is not the one that was locked."""


class JavaError(EmbeddedError):
    """No Java runtime that is new enough was found."""


class KafkaError(EmbeddedError):
    """Kafka did not format its storage, start, or stay up."""
