import pytest

from bifrost.config.security_protocol import SecurityProtocol


@pytest.mark.parametrize(
    ("protocol", "has_tls", "has_sasl"),
    [
        ("PLAINTEXT", False, False),
        ("SSL", True, False),
        ("SASL_PLAINTEXT", False, True),
        ("SASL_SSL", True, True),
    ],
)
def test_a_protocol_says_what_protects_a_connection(protocol: str, has_tls: bool, has_sasl: bool) -> None:
    found = SecurityProtocol(protocol)

    assert (found.has_tls, found.has_sasl) == (has_tls, has_sasl)


def test_the_protocols_are_kafkas() -> None:
    """Source: org.apache.kafka.common.security.auth.SecurityProtocol."""
    assert {*SecurityProtocol} == {"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}
