"""Which SASL mechanism the gateway uses at a broker whose account names none.

    first guess ──SaslHandshake──▶ taken        A broker that does not offer it says what it offers, and closes the
        ▲                  └─────▶ refused      connection; the next connection uses the best of these.
        └────the best of those offered──┘

What a broker offers is not authenticated, so without TLS an attacker in between may offer PLAIN alone, to read the
password. So PLAIN is chosen only where TLS proves who the broker is; anywhere else the operator has to name it.

Source: KIP-43 (SaslHandshake); SaslServerAuthenticator.handleHandshakeRequest.
"""

from collections.abc import Iterable

from bifrost.authentication.sasl_client import LoginFailed
from bifrost.config.fields.client_tls import ClientTls
from bifrost.config.fields.upstream_sasl import UpstreamMechanism, UpstreamSasl

MAX_REMEMBERED = 1_000
"""Brokers whose mechanism is remembered; more are the addresses of brokers that are gone. Then all are asked anew."""


class MechanismChoice:
    """The mechanisms of one account, and which of them it uses at each broker."""

    def __init__(self, sasl: UpstreamSasl, tls: ClientTls | None) -> None:
        """Choose nothing yet.

        Args:
            sasl: the account.
            tls: how its connections are encrypted; None if they are not.
        """
        proves_broker = tls is not None and tls.verify_hostname
        self.allowed = tuple(
            one
            for one in sasl.mechanisms
            if one is sasl.mechanism or one is not UpstreamMechanism.PLAIN or proves_broker
        )
        """Those that may be used, the strongest first."""
        self._is_named = sasl.mechanism is not None
        self._last = self.allowed[0]
        self._at: dict[str, UpstreamMechanism] = {}

    def at(self, address: str) -> UpstreamMechanism:
        """Return the mechanism to use at a broker: the one chosen for it, or for now that of the broker before."""
        return self._at.get(address, self._last)

    def choose(self, address: str, refused: UpstreamMechanism, offered: Iterable[str]) -> UpstreamMechanism:
        """Choose anew for a broker that has refused a mechanism and offers others; return the choice.

        Raises:
            LoginFailed: the account can use none of these.
        """
        names = frozenset(offered)
        best = next((one for one in self.allowed if one in names and one is not refused), None)
        if best is None:
            raise LoginFailed(self._why_none(names))
        if len(self._at) >= MAX_REMEMBERED:
            self._at.clear()
        self._at[address] = self._last = best
        return best

    def _why_none(self, offered: frozenset[str]) -> str:
        known = ", ".join(one for one in UpstreamMechanism if one in offered) or "no other that is known here"
        if self._is_named:
            return f"the broker does not offer {self.allowed[0]}, but {known}: mend mechanism"
        text = f"the broker does not offer {' or '.join(self.allowed)}, but {known}"
        if UpstreamMechanism.PLAIN in offered and UpstreamMechanism.PLAIN not in self.allowed:
            return (
                f"{text}: the password is not sent in clear where TLS does not prove who the broker is; offer SCRAM "
                "there, use SASL_SSL with verify_hostname, or allow it by mechanism: PLAIN"
            )
        return f"{text}: mend the keys of the account, or what the broker offers"
