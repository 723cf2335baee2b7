"""How long an authentication is valid, and when a client may renew it (KIP-368).

A broker with `connections.max.reauth.ms` tells clients that time, and tells a client with a token how long the token
lasts. Clients authenticate again before it ends, on the same connection. The end itself closes nothing: the next
request does.
"""

from bifrost.authentication.sasl_server import SaslSettings

MIN_REAUTH_INTERVAL_MS = 1_000
"""Least time between two re-authentications of one connection (KafkaChannel.MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS)."""


class SessionLifetime:
    """The time for which one connection's authentication is valid."""

    __slots__ = ("_ends_ms", "_is_again", "_renewed_ms", "_settings")

    def __init__(self, settings: SaslSettings) -> None:
        """Start unauthenticated."""
        self._settings = settings
        self._ends_ms: int | None = None
        self._renewed_ms = 0
        self._is_again = False

    def begin(self, lifetime_ms: int | None, *, is_again: bool) -> None:
        """Note that the client has authenticated just now, for this time; None: for ever."""
        now_ms = self._settings.now_ms()
        self._ends_ms = None if lifetime_ms is None else now_ms + lifetime_ms
        if is_again:
            self._is_again, self._renewed_ms = True, now_ms

    @property
    def may_renew(self) -> bool:
        """Whether the client may authenticate again; if not, its handshake is out of order."""
        if self._ends_ms is None:
            return False
        since_ms = self._settings.now_ms() - self._renewed_ms
        return not self._is_again or since_ms >= MIN_REAUTH_INTERVAL_MS

    @property
    def left_ms(self) -> int | None:
        """Time until the authentication ends, at least 0; None when it never ends."""
        if self._ends_ms is None:
            return None
        return max(0, self._ends_ms - self._settings.now_ms())
