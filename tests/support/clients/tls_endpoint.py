"""How each client library is told to speak TLS."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiokafka.helpers import create_ssl_context

from support.clients.endpoint import Endpoint
from support.identity.certificates import Files

STORE_PASSWORD = "of-the-keystore"


@dataclass(frozen=True)
class TlsEndpoint(Endpoint):
    """An address where TLS is spoken; without a user the security protocol is SSL, else SASL_SSL."""

    ca_file: Path = Path()
    client: Files | None = None
    """The client's own certificate."""

    @property
    def security_protocol(self) -> str:
        return "SSL" if self.username is None else "SASL_SSL"

    @property
    def context(self) -> ssl.SSLContext:
        """What Python's own ssl takes."""
        context = ssl.create_default_context(cafile=self.ca_file)
        if self.client is not None:
            context.load_cert_chain(self.client.certificate, self.client.key)
        return context

    @property
    def for_python(self) -> dict[str, Any]:
        settings = super().for_python | {
            "security_protocol": self.security_protocol,
            "ssl_cafile": str(self.ca_file),
        }
        if self.client is not None:
            settings |= {
                "ssl_certfile": str(self.client.certificate),
                "ssl_keyfile": str(self.client.key),
            }
        return settings

    @property
    def for_aiokafka(self) -> dict[str, Any]:
        own = {"security_protocol": self.security_protocol}
        client = self.client
        context = create_ssl_context(
            cafile=str(self.ca_file),
            certfile=None if client is None else str(client.certificate),
            keyfile=None if client is None else str(client.key),
        )
        return super().for_python | own | {"ssl_context": context}

    @property
    def for_confluent(self) -> dict[str, Any]:
        settings = super().for_confluent | {
            "security.protocol": self.security_protocol,
            "ssl.ca.location": str(self.ca_file),
        }
        if self.client is not None:
            settings |= {
                "ssl.certificate.location": str(self.client.certificate),
                "ssl.key.location": str(self.client.key),
            }
        return settings

    @property
    def for_java(self) -> dict[str, str]:
        settings = super().for_java | {
            "security.protocol": self.security_protocol,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.ca_file),
        }
        if self.client is not None:
            settings |= {
                "ssl.keystore.type": "PKCS12",
                "ssl.keystore.location": str(self.client.write_store(STORE_PASSWORD)),
                "ssl.keystore.password": STORE_PASSWORD,
                "ssl.key.password": STORE_PASSWORD,
            }
        return settings
