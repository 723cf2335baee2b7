"""The real Kafka of a run: one broker with a second listener that speaks TLS, as it is run in earnest.

A third listener tells clients another port than its own, where a relay stands: real clients connect to the addresses
that they are told.
"""

from bench.certificates import HOST, Certificate
from bifrost.embedded.kafka import EmbeddedKafka, _held_port, _Node

PROPERTIES = {"log.retention.check.interval.ms": "1000"}
JAVA_OPTIONS = ("-XX:-UsePerfData",)
"""The full compiler and the usual collector."""
HEAP_MB = 1024


class BenchKafka(EmbeddedKafka):
    """One broker, PLAINTEXT and SSL, and PLAINTEXT behind a relay."""

    def __init__(self, certificate: Certificate, relay_port: int, port: int | None = None) -> None:
        """Describe it.

        Args:
            certificate: of its listener with TLS.
            relay_port: where a relay for real clients will listen.
            port: of its PLAINTEXT listener, None for one that is free.
        """
        super().__init__(heap_mb=HEAP_MB, properties=PROPERTIES, java_options=JAVA_OPTIONS)
        self._certificate = certificate
        self._fixed_port = port
        self.relay_port = relay_port
        self.tls_port = self.relayed_port = 0

    def _choose_ports(self) -> None:
        super()._choose_ports()
        if self._fixed_port is not None:
            self._node(1).port = self._fixed_port
        with _held_port() as held, _held_port() as other:
            self.tls_port, self.relayed_port = held.getsockname()[1], other.getsockname()[1]

    def _server_properties(self, node: _Node) -> dict[str, str]:
        properties = super()._server_properties(node)
        address = f",TLS://{HOST}:{self.tls_port},RELAYED://{HOST}:"
        protocols = ",TLS:SSL,RELAYED:PLAINTEXT"
        return properties | {
            "listeners": f"{properties['listeners']}{address}{self.relayed_port}",
            "advertised.listeners": f"{properties['advertised.listeners']}{address}{self.relay_port}",
            "listener.security.protocol.map": properties["listener.security.protocol.map"] + protocols,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._certificate.both_file),
        }
