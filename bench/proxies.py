"""The file of other proxies: `make bench PROXIES=my-proxies.yaml`. bench/proxies.example.yaml has every key."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_KEYS = {
    "name",
    "bootstrap",
    "broker",
    "pid",
    "pid_file",
    "ca_file",
    "username",
    "password_file",
    "renames_topics",
}
TAKEN_NAMES = ("direct", "relay", "haproxy", "gateway")


class ProxiesError(Exception):
    """The file says something that cannot be; the message is for the operator who wrote it."""


@dataclass(frozen=True)
class Address:
    """Where a program listens."""

    host: str
    port: int


@dataclass(frozen=True)
class Proxy:
    """One proxy that runs already, or will as soon as its broker does."""

    name: str
    bootstrap: Address
    broker: Address
    """Its port for the one broker there is: the raw frames go there, real clients to `bootstrap` first."""
    pid: int | None = None
    pid_file: Path | None = None
    """Exactly one of the two is given: of which process CPU time and memory are read."""
    ca_file: Path | None = None
    """Given when its listener speaks TLS: who signed its certificate."""
    credentials: tuple[str, str] | None = None
    """User and password for SASL/PLAIN."""
    renames_topics: bool = False
    """Whether clients know topics by other names than the broker, so that they are made through the proxy."""

    def process_id(self) -> int:
        """Return the process ID; its file is read now.

        Raises:
            ProxiesError: the file is not there or holds no number.
        """
        if self.pid is not None:
            return self.pid
        assert self.pid_file is not None
        try:
            return int(self.pid_file.read_text())
        except (OSError, ValueError) as error:
            raise ProxiesError(f"{self.name}: pid_file: {error}") from error


@dataclass(frozen=True)
class Proxies:
    """The whole file."""

    kafka_port: int
    """Where the run's Kafka is to listen, for they have to be told before."""
    proxies: tuple[Proxy, ...]


def load_proxies(path: Path) -> Proxies:
    """Read the file; relative paths in it start at its folder.

    Raises:
        ProxiesError: it cannot be read, or says something that cannot be.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        secrets = {
            one["password_file"]: (path.parent / one["password_file"]).read_text().rstrip("\n")
            for one in _list_of(document)
            if isinstance(one, dict) and isinstance(one.get("password_file"), str)
        }
    except (OSError, yaml.YAMLError) as error:
        raise ProxiesError(f"{path}: {error}") from error
    try:
        return read_proxies(document, path.parent, secrets)
    except ProxiesError as error:
        raise ProxiesError(f"{path}: {error}") from None


def read_proxies(document: Any, folder: Path, passwords: dict[str, str]) -> Proxies:
    """Check what the file holds.

    Args:
        document: the file, parsed.
        folder: where relative paths start.
        passwords: what stands in each `password_file`.

    Raises:
        ProxiesError: it says something that cannot be.
    """
    if not isinstance(document, dict) or set(document) != {"kafka_port", "proxies"}:
        raise ProxiesError("needs kafka_port and proxies, and nothing else")
    found = tuple(_read_proxy(one, n, folder, passwords) for n, one in enumerate(_list_of(document)))
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1 or name.split(",")[0] in TAKEN_NAMES:
            raise ProxiesError(f"the name {name!r} is taken: choose another")
    return Proxies(_port(document["kafka_port"], "kafka_port"), found)


def _list_of(document: Any) -> list[Any]:
    proxies = document.get("proxies") if isinstance(document, dict) else None
    if not isinstance(proxies, list) or not proxies:
        raise ProxiesError("proxies is a list of at least one")
    return proxies


def _read_proxy(one: Any, index: int, folder: Path, passwords: dict[str, str]) -> Proxy:
    at = f"proxies[{index}]"
    if not isinstance(one, dict) or not isinstance(one.get("name"), str):
        raise ProxiesError(f"{at}: has no name")
    unknown = sorted(set(one) - _KEYS)
    if unknown:
        raise ProxiesError(f"{at}: unknown key {unknown[0]!r}; there are {', '.join(sorted(_KEYS))}")
    if ("pid" in one) == ("pid_file" in one):
        raise ProxiesError(f"{at}: give either pid or pid_file")
    if ("username" in one) != ("password_file" in one):
        raise ProxiesError(f"{at}: give both username and password_file, or neither")
    pid = one.get("pid")
    if pid is not None and (not isinstance(pid, int) or pid < 1):
        raise ProxiesError(f"{at}.pid: {pid!r} is no process ID")
    return Proxy(
        one["name"],
        _address(one.get("bootstrap"), f"{at}.bootstrap"),
        _address(one.get("broker"), f"{at}.broker"),
        pid,
        folder / one["pid_file"] if "pid_file" in one else None,
        folder / one["ca_file"] if "ca_file" in one else None,
        (one["username"], passwords[one["password_file"]]) if "username" in one else None,
        bool(one.get("renames_topics", False)),
    )


def _address(value: Any, at: str) -> Address:
    host, colon, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if not colon or not host or not port.isdecimal():
        raise ProxiesError(f"{at}: {value!r} is no host:port")
    return Address(host, _port(int(port), at))


def _port(value: Any, at: str) -> int:
    if not isinstance(value, int) or not 1 <= value <= 65535:
        raise ProxiesError(f"{at}: {value!r} is no port: 1 to 65535")
    return value
