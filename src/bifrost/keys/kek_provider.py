"""What every provider of a KEK does, and what is told apart when it does not.

A provider is made for one KEK, the one that wraps. It unwraps what that KEK wrapped, in any of its versions, and what
the KEKs wrapped that its configuration names beside it. What an envelope says of its KEK is a claim, never an address.

Errors are those of `encryption/errors.py`: `KekUnavailable` may pass by itself (the service is away, slow, sealed, or
refuses the credentials), `UnknownKek` does not (the KEK is deleted or disabled, or it did not wrap this DEK for this
topic). Their texts have neither a key nor an answer's body.
"""

from typing import Protocol

from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.wrapped_dek import WrappedDek

CALL_TIMEOUT_S = 5.0
"""Time limit of one call; a client's request waits for it."""


class KekProvider(Protocol):
    """One KEK. Calls block, and may come from several threads."""

    @property
    def name(self) -> str:
        """What the operator knows the KEK by: in the cache, in errors and metrics."""

    def wrap(self, key: bytes, context: DekContext) -> WrappedDek:
        """Return a key wrapped by the newest version of the KEK, for one topic.

        Raises:
            KekUnavailable, UnknownKek: see above.
        """

    def unwrap(self, wrapped: WrappedDek, context: DekContext) -> bytes:
        """Return a key that the KEK wrapped for a topic.

        Raises:
            KekUnavailable, UnknownKek: see above.
        """

    def close(self) -> None:
        """Close its connections."""
