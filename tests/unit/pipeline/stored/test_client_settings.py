from pathlib import Path

import pytest

from bifrost.config.fields.upstream_sasl import UpstreamMechanism
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.client_settings import read_client_settings

JAAS = (
    'org.apache.kafka.common.security.scram.ScramLoginModule required username="o\\"ps" password="p=\\\\w;";'
)
SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": JAAS}


def test_addresses_are_read() -> None:
    found = read_client_settings("a:9092, [::1]:9093", {"client.id": "x"})

    assert found.servers == (("a", 9092), ("::1", 9093))
    assert not found.is_tls
    assert found.mechanism is None


def test_an_account_is_read_and_never_shown() -> None:
    found = read_client_settings("a:1", SASL)

    assert (found.mechanism, found.username, found.password) == (
        UpstreamMechanism.SCRAM_SHA_512,
        'o"ps',
        "p=\\w;",
    )
    assert "p=" not in repr(found)
    assert "ops" not in repr(found)


def test_certificates_are_read_where_the_job_starts(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("-----BEGIN CERTIFICATE-----")
    properties = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(file),
        "ssl.endpoint.identification.algorithm": "",
    }

    found = read_client_settings("a:1", properties)

    assert found.is_tls
    assert found.ca_certificates == "-----BEGIN CERTIFICATE-----"
    assert not found.checks_hostname


@pytest.mark.parametrize(
    ("bootstrap", "properties", "said"),
    [
        ("", {}, "names no broker"),
        ("a:0", {}, "no HOST:PORT"),
        ("a", {}, "no HOST:PORT"),
        ("a:1", {"security.protocol": "TLS"}, "security.protocol is one of"),
        ("a:1", SASL | {"sasl.mechanism": "GSSAPI"}, "sasl.mechanism is one of"),
        ("a:1", SASL | {"sasl.jaas.config": 'Module required username="a";'}, "has no password"),
        ("a:1", {"sasl.login.class": "x"}, "sasl.login.class is not supported"),
        ("a:1", {"ssl.truststore.location": "trust.jks"}, "must be PEM"),
        (
            "a:1",
            {"ssl.truststore.location": "/none/ca.pem", "ssl.truststore.type": "PEM"},
            "No such file",
        ),
    ],
)
def test_what_cannot_be_used_is_one_line_without_secrets(
    bootstrap: str, properties: dict[str, str], said: str
) -> None:
    with pytest.raises(PipelineError, match=said) as caught:
        read_client_settings(bootstrap, properties)

    assert "p=" not in str(caught.value)
