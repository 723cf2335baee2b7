"""The client of jobs over stored batches, before a broker with every kind of listener."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.broker_connection import BrokerConnection, BrokerLost
from bifrost.pipeline.stored.client_settings import ClientSettings, read_client_settings
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import MetadataRequest
from support.brokers.secure_kafka import KEY_PASSWORD, USERS, SecureKafka

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.fixture(scope="module")
def secure_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    with SecureKafka(tmp_path_factory.mktemp("certificates")) as kafka:
        yield kafka


def account(mechanism: str, protocol: str = "SASL_PLAINTEXT", password: str = "") -> dict[str, str]:
    named = f'username="gateway" password="{password or USERS["gateway"]}"'
    return {
        "security.protocol": protocol,
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"{PLAIN} required {named};",
    }


def trusting(kafka: SecureKafka) -> dict[str, str]:
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(kafka.ca_file)}


def settings(kafka: SecureKafka, listener: str, properties: dict[str, str]) -> ClientSettings:
    return read_client_settings(kafka.address(listener), properties)


def check_served(found: ClientSettings) -> None:
    with BrokerConnection(*found.servers[0], found) as connection:
        assert connection.request(MetadataRequest(topics=None), 8).cluster_id
        assert connection.request(MetadataRequest(topics=[]), 8).topics == []


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_an_account_is_let_in_by_each_mechanism(secure_kafka: SecureKafka, mechanism: str) -> None:
    check_served(settings(secure_kafka, "SASL", account(mechanism)))
    protected = account(mechanism, "SASL_SSL") | trusting(secure_kafka)
    check_served(settings(secure_kafka, "SASLTLS", protected))


def test_a_client_shows_its_certificate(secure_kafka: SecureKafka, tmp_path: Path) -> None:
    files = secure_kafka.locked_files
    store = tmp_path / "client.pem"
    store.write_bytes(files.key.read_bytes() + files.certificate.read_bytes())
    properties = {
        "security.protocol": "SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(store),
        "ssl.key.password": KEY_PASSWORD,
    } | trusting(secure_kafka)

    check_served(settings(secure_kafka, "MTLS", properties))


def test_who_is_not_let_in_is_told_so_in_one_line_without_the_password(secure_kafka: SecureKafka) -> None:
    for mechanism in ("PLAIN", "SCRAM-SHA-512"):
        found = settings(secure_kafka, "SASL", account(mechanism, password="wrong-pw"))
        with pytest.raises(PipelineError, match="refused") as caught:
            BrokerConnection(*found.servers[0], found)
        assert "wrong-pw" not in str(caught.value)
    found = settings(secure_kafka, "SHA256", account("SCRAM-SHA-512"))
    with pytest.raises(PipelineError, match="does not offer SCRAM-SHA-512"):
        BrokerConnection(*found.servers[0], found)


def test_a_broker_that_is_not_trusted_is_not_spoken_to(secure_kafka: SecureKafka) -> None:
    other = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(secure_kafka.other_ca_file)}
    found = settings(secure_kafka, "TLS", {"security.protocol": "SSL"} | other)

    with pytest.raises(PipelineError, match="TLS failed"):
        BrokerConnection(*found.servers[0], found)


def test_a_broker_that_is_not_there_is_lost(secure_kafka: SecureKafka) -> None:
    with pytest.raises(BrokerLost, match=r"127\.0\.0\.1:1"):
        BrokerConnection("127.0.0.1", 1, ClientSettings((("127.0.0.1", 1),)))


def test_error_codes_are_answers(secure_kafka: SecureKafka) -> None:
    found = settings(secure_kafka, "OWN", {})
    with BrokerConnection(*found.servers[0], found) as connection:
        named = MetadataRequest.MetadataRequestTopic(name="none")
        answer = connection.request(MetadataRequest(topics=[named], allow_auto_topic_creation=False), 8)

    assert answer.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
