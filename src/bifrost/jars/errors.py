"""What a JVM needs and does not find on this machine, each with one sentence that a user can act on.

The demo, the tools and the tests print `str(error)` and nothing else; a message names what failed and how to fix it.
"""

from __future__ import annotations


class JvmError(RuntimeError):
    """A JVM cannot be started here; the message is one line."""


class JarError(JvmError):
    """A jar is not locked, cannot be downloaded, or is not the one that was locked."""


class JavaError(JvmError):
    """No Java runtime that is new enough was found."""
