"""A broker with a listener for each security protocol and mechanism, and ACLs; for the tests.

The plain listener is the tests' own: who comes there is a super user, as is `gateway` anywhere else. The other users
may do what they are allowed. Certificates are made anew, and are for the host `localhost` alone.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from bifrost.embedded.kafka import SHORT_SESSION, EmbeddedKafka, _held_port, _Node
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import AlterUserScramCredentialsRequest, CreateAclsRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.identity.certificates import Authority

HOST = "localhost"
USERS = {"gateway": "gateway-pw", "alice": "alice-pw", "bob": "bob-pw", "carol": "carol-pw"}
KEY_PASSWORD = "key-pw"
REAUTH_MS = 6_000
LISTENERS = {
    "SASL": "SASL_PLAINTEXT",
    "TLS": "SSL",
    "MTLS": "SSL",
    "SASLTLS": "SASL_SSL",
    "REAUTH": "SASL_PLAINTEXT",
    "SHA256": "SASL_PLAINTEXT",
    "CLEAR": "SASL_PLAINTEXT",
    "CLEARTLS": "SASL_SSL",
}
"""Those that every broker of this kind has, with their protocols."""
ALL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
OFFERED = {"SHA256": ALL_MECHANISMS[:2], "CLEAR": ALL_MECHANISMS[:1], "CLEARTLS": ALL_MECHANISMS[:1]}
"""The mechanisms of the listeners with SASL that do not have all."""
_MODULES = "org.apache.kafka.common.security"
_SCRAM_TYPES = {1: "sha256", 2: "sha512"}
ALL, DESCRIBE = 2, 8
"""AclOperation, as in Kafka's enum."""
_ALLOW = 3
"""AclPermissionType.ALLOW."""


class SecureKafka(EmbeddedKafka):
    """One broker with secured listeners, and what clients of them need in files."""

    def __init__(
        self,
        directory: Path,
        *,
        listeners: Mapping[str, str] | None = None,
        properties: Mapping[str, str] | None = None,
        java_options: Sequence[str] = (),
    ) -> None:
        """Make the certificates; nothing is started yet.

        Args:
            directory: an empty one, for certificates.
            listeners: further listeners, with their protocols.
            properties: further server properties.
            java_options: further options of its JVM.
        """
        options = {"java_options": (*SHORT_SESSION, *java_options)} if java_options else {}
        super().__init__(properties=properties, **options)  # type: ignore[arg-type]
        self.directory = directory
        self._listeners = {**LISTENERS, **(listeners or {})}
        self._listener_ports: dict[str, int] = {}
        self.authority = Authority("brokers' CA")
        self.ca_file = self.authority.write(directory / "ca.pem")
        self.other_ca_file = Authority("another CA").write(directory / "other-ca.pem")
        server = self.authority.server(HOST)
        # Kafka's key stores in PEM hold the key first (KIP-651).
        (directory / "server.pem").write_bytes(server.key_pem() + server.certificate_pem)
        self.own_certificate_file = directory / "server-certificate.pem"
        self.own_certificate_file.write_bytes(server.certificate_pem)
        self.client_files = self.authority.client("gateway").write(directory, "client")
        self.locked_files = self.authority.client("gateway").write(directory, "locked", password=KEY_PASSWORD)

    def start(self) -> None:
        super().start()
        with self.admin() as client:
            _add_scram_users(client)

    def address(self, listener: str, host: str = HOST) -> str:
        """Return the bootstrap address of a listener; OWN is the plain one."""
        ports = self._listener_ports | {"OWN": self.broker_port(1)}
        return f"{host}:{ports[listener]}"

    def admin(self) -> RawClient:
        """Return a client who may do anything."""
        return RawClient(Endpoint("127.0.0.1", self.broker_port(1)))

    def allow(self, user: str, prefix: str, operation: int = ALL) -> None:
        """Allow a user an operation on topics, groups and transactional IDs whose names begin so."""
        with self.admin() as client:
            # ResourceType TOPIC, GROUP, TRANSACTIONAL_ID; PatternType PREFIXED.
            creations = [
                CreateAclsRequest.AclCreation(
                    resource_type=kind,
                    resource_name=prefix,
                    resource_pattern_type=4,
                    principal=f"User:{user}",
                    host="*",
                    operation=operation,
                    permission_type=_ALLOW,
                )
                for kind in (2, 3, 5)
            ]
            response = client.request(CreateAclsRequest(creations=creations), 3)
            assert [one.error_code for one in response.results] == [ErrorCode.NONE] * 3, response

    def _choose_ports(self) -> None:
        with contextlib.ExitStack() as held:
            self._listener_ports = {
                name: held.enter_context(_held_port()).getsockname()[1] for name in self._listeners
            }
            super()._choose_ports()  # While these are held, so that no two are the same.

    def _server_properties(self, node: _Node) -> dict[str, str]:
        properties = super()._server_properties(node)
        bound = [f"{name}://127.0.0.1:{port}" for name, port in self._listener_ports.items()]
        told = [f"{name}://{HOST}:{port}" for name, port in self._listener_ports.items()]
        protocols = [f"{name}:{protocol}" for name, protocol in self._listeners.items()]
        own = {
            "listeners": ",".join([properties["listeners"], *bound]),
            "advertised.listeners": ",".join([properties["advertised.listeners"], *told]),
            "listener.security.protocol.map": ",".join(
                [properties["listener.security.protocol.map"], *protocols]
            ),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:gateway",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.directory / "server.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.ca_file),
            "ssl.principal.mapping.rules": r"RULE:^.*CN=([^,]+).*$/$1/,DEFAULT",
            "listener.name.mtls.ssl.client.auth": "required",
        }
        for name, protocol in LISTENERS.items():
            if protocol.startswith("SASL"):
                own |= _password_mechanisms(name.lower(), OFFERED.get(name, ALL_MECHANISMS))
        for mechanism in ("plain", "scram-sha-256", "scram-sha-512"):
            own[f"listener.name.reauth.{mechanism}.connections.max.reauth.ms"] = str(REAUTH_MS)
        return properties | own | self._properties


def _password_mechanisms(listener: str, offered: Sequence[str]) -> dict[str, str]:
    users = " ".join(f'user_{user}="{password}"' for user, password in USERS.items())
    at = f"listener.name.{listener}"
    scram = f"{_MODULES}.scram.ScramLoginModule required;"
    return {
        f"{at}.sasl.enabled.mechanisms": ",".join(offered),
        f"{at}.plain.sasl.jaas.config": f"{_MODULES}.plain.PlainLoginModule required {users};",
        f"{at}.scram-sha-256.sasl.jaas.config": scram,
        f"{at}.scram-sha-512.sasl.jaas.config": scram,
    }


def _add_scram_users(client: RawClient) -> None:
    upsertions = []
    for user, password in USERS.items():
        for number, hash_name in _SCRAM_TYPES.items():
            salt = f"salt of {user}".encode()
            upsertions.append(
                AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
                    name=user,
                    mechanism=number,
                    iterations=4096,
                    salt=salt,
                    salted_password=hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, 4096),
                )
            )
    # One credential of a user in a request.
    for number in _SCRAM_TYPES:
        chosen = [one for one in upsertions if one.mechanism == number]
        request = AlterUserScramCredentialsRequest(deletions=[], upsertions=chosen)
        response = client.request(request, 0)
        assert [one.error_code for one in response.results] == [ErrorCode.NONE] * len(USERS), response
