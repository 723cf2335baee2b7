"""How jobs reach the brokers when they read batches as they are stored: the settings of a Kafka client's properties.

Spark's own Kafka source gives records, and nothing of their batches; a sealed batch opens only with its header. So
executors fetch by themselves (`topic_client.py`), by the same properties file that other jobs hand to Java's client.
What stands in the file and is not known here is refused if it is about security, and has no effect otherwise.

Source: Kafka's ClientUtils (bootstrap.servers), SaslConfigs, SslConfigs, KIP-651 (PEM).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bifrost.config.fields.upstream_sasl import UpstreamMechanism
from bifrost.pipeline.errors import PipelineError

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS = (UpstreamMechanism.PLAIN, UpstreamMechanism.SCRAM_SHA_256, UpstreamMechanism.SCRAM_SHA_512)
_SERVER = re.compile(r"(?:\[(?P<literal>[0-9A-Fa-f:.]+)\]|(?P<host>[^:\[\]\s]+)):(?P<port>[0-9]{1,5})")
_JAAS_VALUE = r"\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;\"]+))"
_KNOWN = frozenset(
    {
        "security.protocol",
        "sasl.mechanism",
        "sasl.jaas.config",
        "ssl.truststore.type",
        "ssl.truststore.location",
        "ssl.truststore.certificates",
        "ssl.keystore.type",
        "ssl.keystore.location",
        "ssl.key.password",
        "ssl.endpoint.identification.algorithm",
    }
)


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Where the brokers are and how to log in there; Spark sends it to the executors."""

    servers: tuple[tuple[str, int], ...]
    """Hosts and ports of the brokers that are asked first."""
    is_tls: bool = False
    mechanism: UpstreamMechanism | None = None
    """None: no login by SASL."""
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    ca_certificates: str = field(default="", repr=False)
    """PEM; empty: those that the system trusts."""
    certificate_file: str = ""
    """PEM with a private key and its certificates, a path on every executor; empty: the client shows none."""
    key_password: str = field(default="", repr=False)
    checks_hostname: bool = True


def read_client_settings(bootstrap: str, properties: Mapping[str, str]) -> ClientSettings:
    """Return the settings of a client.

    Args:
        bootstrap: `HOST:PORT,...`.
        properties: of a Kafka client; the file of certificates that it names is read here.
    Raises:
        PipelineError: an address or a property is malformed, not known or not supported.
    """
    servers = tuple(_server(one.strip()) for one in bootstrap.split(",") if one.strip())
    if not servers:
        raise PipelineError("--bootstrap-servers names no broker")
    for name in properties:
        if name.startswith(("security.", "sasl.", "ssl.")) and name not in _KNOWN:
            raise PipelineError(f"--kafka-config: {name} is not supported by jobs that read stored batches")
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in _PROTOCOLS:
        raise PipelineError(f"--kafka-config: security.protocol is one of {', '.join(_PROTOCOLS)}")
    mechanism, username, password = None, "", ""
    if protocol.startswith("SASL_"):
        mechanism, username, password = _account(properties)
    for store in ("truststore", "keystore"):
        if f"ssl.{store}.location" in properties and properties.get(f"ssl.{store}.type", "").upper() != "PEM":
            raise PipelineError(f"--kafka-config: ssl.{store}.type must be PEM")
    return ClientSettings(
        servers,
        is_tls=protocol.endswith("SSL"),
        mechanism=mechanism,
        username=username,
        password=password,
        ca_certificates=_certificates(properties),
        certificate_file=properties.get("ssl.keystore.location", ""),
        key_password=properties.get("ssl.key.password", ""),
        checks_hostname=properties.get("ssl.endpoint.identification.algorithm", "https").strip() != "",
    )


def _server(text: str) -> tuple[str, int]:
    match = _SERVER.fullmatch(text)
    if match is None or not 0 < int(match["port"]) < 1 << 16:
        raise PipelineError(f"--bootstrap-servers: {text!r} is no HOST:PORT")
    return match["literal"] or match["host"], int(match["port"])


def _account(properties: Mapping[str, str]) -> tuple[UpstreamMechanism, str, str]:
    """Return mechanism, name and password; no error shows any of them."""
    try:
        mechanism = UpstreamMechanism(properties.get("sasl.mechanism", "GSSAPI"))
    except ValueError:
        mechanism = UpstreamMechanism.GSSAPI
    if mechanism not in _MECHANISMS:
        raise PipelineError(f"--kafka-config: sasl.mechanism is one of {', '.join(_MECHANISMS)}")
    found = {}
    for name in ("username", "password"):
        match = re.search(rf"\b{name}{_JAAS_VALUE}", properties.get("sasl.jaas.config", ""))
        if match is None:
            raise PipelineError(f"--kafka-config: sasl.jaas.config has no {name}")
        found[name] = match[2] or re.sub(r"\\(.)", r"\1", match[1])
    return mechanism, found["username"], found["password"]


def _certificates(properties: Mapping[str, str]) -> str:
    location = properties.get("ssl.truststore.location")
    if location is None:
        return properties.get("ssl.truststore.certificates", "")
    try:
        return Path(location).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no PEM"
        raise PipelineError(f"--kafka-config: ssl.truststore.location: {location}: {reason}") from None
