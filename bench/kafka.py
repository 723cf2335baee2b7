"""The real Kafka of a run: one broker with a second listener that speaks TLS, as it is run in earnest."""

from bench.certificates import HOST, Certificate
from bifrost.embedded.kafka import EmbeddedKafka, _held_port, _Node

PROPERTIES = {"log.retention.check.interval.ms": "1000"}
JAVA_OPTIONS = ("-XX:-UsePerfData",)
"""The full compiler and the usual collector."""
HEAP_MB = 1024


class BenchKafka(EmbeddedKafka):
    """One broker, PLAINTEXT and SSL."""

    def __init__(self, certificate: Certificate, port: int | None = None) -> None:
        """Describe it; `port` is that of its PLAINTEXT listener, None for one that is free."""
        super().__init__(heap_mb=HEAP_MB, properties=PROPERTIES, java_options=JAVA_OPTIONS)
        self._certificate = certificate
        self._fixed_port = port
        self.tls_port = 0

    def _choose_ports(self) -> None:
        super()._choose_ports()
        if self._fixed_port is not None:
            self._node(1).port = self._fixed_port
        with _held_port() as held:
            self.tls_port = held.getsockname()[1]

    def _server_properties(self, node: _Node) -> dict[str, str]:
        properties = super()._server_properties(node)
        address = f",TLS://{HOST}:{self.tls_port}"
        return properties | {
            "listeners": properties["listeners"] + address,
            "advertised.listeners": properties["advertised.listeners"] + address,
            "listener.security.protocol.map": properties["listener.security.protocol.map"] + ",TLS:SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._certificate.both_file),
        }
