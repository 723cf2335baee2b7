"""The types of a configuration's values: text, ports, hosts, addresses, names.

The error of each says what it expects, so that an operator can act on it. Numbers and texts are not converted into each
other: YAML reads `0123` and `1:30` as numbers, and a user called `123` must not depend on that.
"""

import ipaddress
import re
from typing import Annotated, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    StrictBool,
    StrictInt,
    StrictStr,
)

from bifrost.config.name_template import MAX_TENANT_NAME_LENGTH
from bifrost.config.tiers import MAX_TIERS_LENGTH, SEPARATOR, misfit
from bifrost.config.units import read_duration_ms, read_size_bytes

_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_HOST = re.compile(r"[a-zA-Z0-9_]([a-zA-Z0-9_.-]*[a-zA-Z0-9_.])?")
_HTTP_URL = re.compile(
    r"https?://(?P<authority>(?P<host>\[[0-9a-fA-F:.]+\]|[^:/?#\[\]]+)(:(?P<port>[0-9]{1,5}))?)([/?][\x21-\x22\x24-\x7e]*)?"
)
_MAX_HOST_LENGTH = 253  # RFC 1035, section 2.3.4, as text
_WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 - recognised, not bound


class Address(NamedTuple):
    """A host and a port."""

    host: str
    """Host name or IP address, an IPv6 address without brackets."""

    port: int
    """TCP port, 1 to 65535."""

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_address(value: object) -> Address:
    """Read `host:port`, or `[address]:port` for IPv6.

    Raises:
        ValueError: it does not have that form, or the port is not 1 to 65535.
    """
    if isinstance(value, Address):
        return value
    expected = "write host:port, e.g. kafka-1.internal:9092"
    if not isinstance(value, str):
        raise ValueError(expected)
    if "://" in value:
        raise ValueError(f"{expected}, without the protocol before ://")
    if "," in value:
        raise ValueError(f"{expected}; several addresses are several entries of the list")
    host, colon, port = value.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit():
        raise ValueError(f"{value!r} has no port; {expected}")
    if len(port) > 5 or not 1 <= int(port) <= 65535:
        raise ValueError(f"port {port[:20]} is not between 1 and 65535; {expected}")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        if ":" not in host:
            raise ValueError(f"{value!r} has brackets, which only an IPv6 address has; {expected}")
    elif ":" in host:
        raise ValueError(f"{value!r} has more than one colon; write an IPv6 address as [::1]:9092")
    return Address(_check_host(host), int(port))


def _check_host(host: str) -> str:
    """Return `host` when it is a host name or an IP address."""
    if host.startswith("[") or host.endswith("]"):
        raise ValueError(f"{host!r} has brackets; write an IPv6 address without them here")
    if ":" in host:
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            hint = "; the port is a setting of its own" if host.count(":") == 1 else ""
            raise ValueError(f"{host!r} is no host name and no IP address{hint}") from None
        return host
    if len(host) > _MAX_HOST_LENGTH or ".." in host or not _HOST.fullmatch(host):
        raise ValueError(f"{host!r} is no host name and no IP address")
    if re.fullmatch(r"[0-9.]+", host):
        try:
            ipaddress.IPv4Address(host)
        except ValueError:
            raise ValueError(f"{host!r} is no IPv4 address") from None
    return host


def _check_advertised_host(host: str) -> str:
    if host in _WILDCARDS:
        raise ValueError(f"clients cannot connect to {host}; write the name they reach the gateway by")
    return _check_host(host)


def _check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} has characters other than a-z, A-Z, 0-9, '.', '_' and '-'")
    return name


def is_namespace(path: str) -> bool:
    """Whether a text names a namespace below a tenant, in the form that a configuration uses."""
    return misfit(path.split(SEPARATOR)) is None


def _check_namespace(path: str) -> str:
    why = misfit(path.split(SEPARATOR))
    if why is not None:
        raise ValueError(why)
    return path


def _check_topic(name: str) -> str:
    if name in (".", ".."):
        raise ValueError(f"{name!r} is no topic name in Kafka")
    return _check_name(name)


def _check_listed_topic(name: str) -> str:
    path, colon, own = name.rpartition(SEPARATOR)
    if colon:
        _check_namespace(path)
    _check_topic(own)
    return name


def _check_username(name: str) -> str:
    # SASL/PLAIN separates its fields by NUL (RFC 4616); the other characters could forge log lines.
    if not name.isprintable() or name != name.strip():
        raise ValueError(f"{name!r} has control characters, or spaces at an end")
    return name


def _check_principal(principal: str) -> str:
    kind, _, name = principal.partition(":")
    if kind != "User" or not name or not name.isprintable():
        raise ValueError(f"{principal!r} is no principal: write User: and a name, as in User:alice")
    return principal


def _check_http_url(url: str) -> str:
    match = _HTTP_URL.fullmatch(url)
    if match is None or "@" in match["authority"]:
        raise ValueError("expected a URL, http:// or https://, without user, password or fragment")
    if match["port"] and not 1 <= int(match["port"]) <= 65535:
        raise ValueError(f"port {match['port']} is not between 1 and 65535")
    _check_host(match["host"].removeprefix("[").removesuffix("]"))
    return url


def _check_workers(value: object) -> object:
    if value != "auto" and (isinstance(value, bool) or not isinstance(value, int)):
        raise ValueError("expected a whole number, or auto")
    if isinstance(value, int) and not 1 <= value <= MAX_WORKERS:
        raise ValueError(f"{value} is not between 1 and {MAX_WORKERS}")
    return value


MAX_WORKERS = 64

Workers = Annotated[
    Literal["auto"] | Annotated[StrictInt, Field(ge=1, le=MAX_WORKERS)], BeforeValidator(_check_workers)
]


def read_rate(value: object) -> float:
    """Read a number above 0.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_RATE:
        raise ValueError(f"expected a number above 0, at most {MAX_RATE:,}")
    return value


MAX_RATE = 1_000_000_000
_RATE_SCHEMA = Annotated[float, Field(gt=0, le=MAX_RATE)]
Rate = Annotated[float, PlainValidator(read_rate, json_schema_input_type=_RATE_SCHEMA)]
"""A number per second, or a percentage."""
Flag = StrictBool
Text = Annotated[StrictStr, Field(min_length=1)]
Count = StrictInt
Port = Annotated[StrictInt, Field(ge=1, le=65535)]
Host = Annotated[Text, AfterValidator(_check_host)]
AdvertisedHost = Annotated[Text, AfterValidator(_check_advertised_host)]
HttpUrl = Annotated[Text, AfterValidator(_check_http_url)]
Name = Annotated[
    StrictStr, Field(min_length=1, max_length=MAX_TENANT_NAME_LENGTH), AfterValidator(_check_name)
]
Prefix = Name
"""A prefix of physical names: characters that a topic's name may have, and short enough to leave room for the rest."""
TopicName = Annotated[Text, AfterValidator(_check_topic)]
ListedTopic = Annotated[Text, AfterValidator(_check_listed_topic)]
"""A topic of a tenant, `eu:orders` for one in its namespace `eu`."""
NamespacePath = Annotated[
    StrictStr, Field(min_length=1, max_length=MAX_TIERS_LENGTH), AfterValidator(_check_namespace)
]
Username = Annotated[StrictStr, Field(min_length=1, max_length=256), AfterValidator(_check_username)]
Principal = Annotated[StrictStr, Field(min_length=6, max_length=261), AfterValidator(_check_principal)]
BrokerAddress = Annotated[Address, BeforeValidator(read_address)]
SizeBytes = Annotated[StrictInt, BeforeValidator(read_size_bytes)]
DurationMs = Annotated[StrictInt, BeforeValidator(read_duration_ms)]
