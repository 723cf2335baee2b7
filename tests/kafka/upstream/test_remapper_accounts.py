"""A partition remapper's file with SASL on both sides, before a broker that wants a password under TLS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from support.brokers.secure_kafka import USERS, SecureKafka
from support.gateways.reloadable_gateway import Reloadable
from support.identity.certificates import Authority
from support.virtual_topics import WAIT_S

FILE = """\
listen:
  address: "127.0.0.1:9092"
  advertised_address: "localhost:9092"
  max_connections: 3000
  security:
    protocol: SASL_SSL
    tls:
      cert_path: "server.pem"
      key_path: "server.key"
    sasl:
      enabled_mechanisms:
        - SCRAM-SHA-512
        - SCRAM-SHA-256
        - PLAIN
      credentials:
        file: "sasl-credentials.yaml"

kafka:
  bootstrap_servers:
    - "BROKER"
  security_protocol: SASL_SSL
  tls:
    ca_cert_path: "CA"
  sasl:
    mechanism: SCRAM-SHA-512
    username: "${REMAPPER_ACCOUNT}"
    password: "${REMAPPER_PASSWORD}"

mapping:
  virtual_partitions: 12
  physical_partitions: 4
  offset_range: 1099511627776

metrics:
  enabled: true
  address: "127.0.0.1:9090"

logging:
  level: "info"
  json: true
"""
PASSWORDS = {"app-producer": "producer-secret", "app-consumer": "consumer:secret"}
Settings = Callable[..., dict[str, Any]]


class Remapping(Reloadable):
    """A gateway with this file; only its ports and the brokers' address are others."""

    users = PASSWORDS

    def _write_configuration(self) -> None:
        text = FILE.replace("9092", str(self.bootstrap_port)).replace("9090", str(self.admin_port))
        text = text.replace("BROKER", ",".join(self._upstream)).replace("CA", str(self.directory / "ca.pem"))
        self.path.write_text(text, encoding="utf-8")
        self.write_users()

    def write_users(self) -> None:
        lines = "".join(f"  {name}: {{ password: '{one}' }}\n" for name, one in self.users.items())
        new = self.directory / "new-credentials"
        new.write_text(f"users:\n{lines}", encoding="utf-8")
        new.chmod(0o600)
        new.replace(self.directory / "sasl-credentials.yaml")


@pytest.fixture
def remapping(
    secure_kafka: SecureKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Remapping]:
    authority = Authority("clients' CA")
    authority.write(tmp_path / "clients-ca.pem")
    authority.server("localhost").write(tmp_path, "server")
    (tmp_path / "ca.pem").write_bytes(secure_kafka.ca_file.read_bytes())
    monkeypatch.setenv("REMAPPER_ACCOUNT", "gateway")
    monkeypatch.setenv("REMAPPER_PASSWORD", USERS["gateway"])
    with Remapping(tmp_path, secure_kafka.address("SASLTLS"), tenants=(), brokers=1) as process:
        yield process


@pytest.fixture
def settings(remapping: Remapping) -> Settings:
    def of(user: str, password: str, mechanism: str = "SCRAM-SHA-512") -> dict[str, Any]:
        return {
            "bootstrap.servers": f"localhost:{remapping.bootstrap_port}",
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(remapping.directory / "clients-ca.pem"),
            "sasl.mechanism": mechanism,
            "sasl.username": user,
            "sasl.password": password,
        }

    return of


def test_users_of_the_file_write_and_read_virtual_partitions(
    remapping: Remapping, settings: Settings
) -> None:
    writer = settings("app-producer", PASSWORDS["app-producer"])
    admin = AdminClient(writer)
    admin.create_topics([NewTopic("orders", 12, 1)])["orders"].result(WAIT_S)
    producer = Producer(writer)
    for partition in range(12):
        producer.produce("orders", f"{partition}".encode(), partition=partition)
    assert producer.flush(WAIT_S) == 0

    for mechanism in ("SCRAM-SHA-256", "PLAIN"):
        reader = settings("app-consumer", PASSWORDS["app-consumer"], mechanism)
        assert read(reader, mechanism) == {one: f"{one}" for one in range(12)}
    secrets = [*PASSWORDS.values(), USERS["gateway"]]
    assert [one for one in secrets if one in remapping.log()] == []


def test_a_wrong_password_and_an_unknown_user_are_refused(settings: Settings) -> None:
    for user, password in (("app-producer", "consumer:secret"), ("nobody", "producer-secret")):
        with pytest.raises(KafkaException):
            AdminClient(settings(user, password)).list_topics(timeout=3)


def test_a_changed_file_of_users_is_read_again(remapping: Remapping, settings: Settings) -> None:
    since = remapping.mark()
    remapping.users = {"app-consumer": "other-secret"}
    remapping.write_users()

    remapping.await_event(since, event="reloaded")
    assert AdminClient(settings("app-consumer", "other-secret")).list_topics(timeout=WAIT_S).brokers
    for user, password in PASSWORDS.items():
        with pytest.raises(KafkaException):
            AdminClient(settings(user, password)).list_topics(timeout=3)


def read(settings: dict[str, Any], group: str) -> dict[int, str]:
    consumer = Consumer(settings | {"group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    found: dict[int, str] = {}
    try:
        while len(found) < 12:
            message = consumer.poll(WAIT_S)
            assert message is not None
            if message.error() is not None:
                raise KafkaException(message.error())
            found[message.partition()] = message.value().decode()
    finally:
        consumer.close()
    return found
