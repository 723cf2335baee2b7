from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from bifrost.config.values import Address, AdvertisedHost, Flag, Host, Port, Username, read_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("kafka-1.internal:9092", Address("kafka-1.internal", 9092)),
        ("10.0.0.1:1", Address("10.0.0.1", 1)),
        ("[2001:db8::1]:65535", Address("2001:db8::1", 65535)),
        ("under_score:9092", Address("under_score", 9092)),
        ("dot.at.end.:9092", Address("dot.at.end.", 9092)),
    ],
)
def test_addresses_are_read_and_print_as_written(text: str, address: Address) -> None:
    assert read_address(text) == address
    assert str(address) == text
    assert read_address(address) is address


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "write host:port"),
        (9092, "write host:port"),
        ("host:", "has no port"),
        ("host:²", "has no port"),
        ("host:-1", "has no port"),
        ("host:" + "9" * 5000, "is not between 1 and 65535"),
        ("a:1,b:2", "several addresses are several entries of the list"),
        ("[host]:9092", "has brackets, which only an IPv6 address has"),
        ("[::g]:9092", "no host name and no IP address"),
        ("a b:9092", "no host name and no IP address"),
        ("a..b:9092", "no host name and no IP address"),
        ("-a:9092", "no host name and no IP address"),
        (f"{'a' * 254}:9092", "no host name and no IP address"),
        ("10.0.0.256:9092", "no IPv4 address"),
        ("10.0.1:9092", "no IPv4 address"),
    ],
)
def test_what_is_no_address_is_refused(value: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_address(value)


def test_hosts() -> None:
    hosts: TypeAdapter[str] = TypeAdapter(Host)

    for host in ("0.0.0.0", "::", "localhost", "::1", "gw"):
        assert hosts.validate_python(host) == host
    for host, reason in (
        ("gw:9092", "the port is a setting of its own"),
        ("[::1]", "without them here"),
        ("", "at least 1 character"),
    ):
        with pytest.raises(ValidationError, match=reason):
            hosts.validate_python(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_wildcard_is_not_advertised(host: str) -> None:
    with pytest.raises(ValidationError, match="clients cannot connect to"):
        TypeAdapter(AdvertisedHost).validate_python(host)


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "a\0b", "x" * 257])
def test_user_names_that_a_log_line_or_sasl_cannot_carry_are_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Username).validate_python(name)


@pytest.mark.parametrize(
    ("kind", "value"),
    [(Port, "9092"), (Port, True), (Port, 9092.0), (Port, 0), (Port, 65536), (Flag, "true"), (Flag, 1)],
)
def test_no_value_is_turned_into_another_kind(kind: Any, value: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(kind).validate_python(value)
