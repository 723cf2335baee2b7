"""How each client library is told where to connect and who it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from support.brokers.kafka_cluster import sasl_properties


@dataclass(frozen=True)
class Endpoint:
    """An address and, for a gateway, a credential; without one it is a broker, reached directly."""

    host: str
    port: int
    username: str | None = None
    password: str = ""
    mechanism: str = "PLAIN"

    @property
    def bootstrap(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def for_python(self) -> dict[str, Any]:
        """Settings of kafka-python."""
        if self.username is None:
            return {"bootstrap_servers": self.bootstrap}
        return {
            "bootstrap_servers": self.bootstrap,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": self.mechanism,
            "sasl_plain_username": self.username,
            "sasl_plain_password": self.password,
        }

    @property
    def for_aiokafka(self) -> dict[str, Any]:
        """Settings of aiokafka."""
        return self.for_python

    @property
    def for_confluent(self) -> dict[str, Any]:
        """Settings of confluent-kafka (librdkafka)."""
        quiet = {"bootstrap.servers": self.bootstrap, "log_level": 3}
        if self.username is None:
            return quiet
        return quiet | {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": self.mechanism,
            "sasl.username": self.username,
            "sasl.password": self.password,
        }

    @property
    def for_java(self) -> dict[str, str]:
        """Properties of a Java client, without its bootstrap servers, which the tools take as an argument."""
        if self.username is None:
            return {}
        return sasl_properties(self.username, self.password, self.mechanism)
