"""The files of one run: the gateway's configuration, the passwords, and ready-made settings for other clients.

The text builders are pure; `write_files` puts them into a directory that only its owner can enter.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TOPIC = "orders"
GROUP = "shop"


@dataclass(frozen=True, slots=True)
class DemoTenant:
    """A tenant of the demo; its user has its name."""

    name: str
    allowed_topics: tuple[str, ...]
    goods: tuple[str, ...]
    """The goods that the tenant sells, so that its records differ from the other tenant's."""
    password: str


@dataclass(frozen=True, slots=True)
class Address:
    """The gateway's address."""

    host: str
    bootstrap_port: int
    broker_port: int
    """The gateway's port for the only broker, node 1."""

    @property
    def bootstrap(self) -> str:
        """`host:port` for a client's bootstrap.servers."""
        return f"{self.host}:{self.bootstrap_port}"


def demo_tenants() -> tuple[DemoTenant, DemoTenant]:
    """Return the two tenants, with passwords made for this run."""
    acme_goods = ("anvil", "rocket skates", "giant magnet", "portable hole")
    globex_goods = ("hammock", "doomsday device", "sugar cube", "moon laser")
    return (
        DemoTenant("acme", (TOPIC, "billing", "events", "audit.log"), acme_goods, secrets.token_hex(4)),
        DemoTenant("globex", (TOPIC, "users"), globex_goods, secrets.token_hex(4)),
    )


def proxy_yaml(address: Address, upstream: str, tenants: Sequence[DemoTenant]) -> str:
    """Return the gateway's configuration for one physical broker with node ID 1."""
    lines = [
        "# What `bifrost demo` runs its gateway with; `bifrost run --config` takes the same.",
        "proxy:",
        "  listener_sets:",
        "    - name: plaintext",
        "      port_range:",
        f'        bind_host: "{address.host}"',
        f'        advertised_host: "{address.host}"',
        f"        bootstrap_port: {address.bootstrap_port}",
        f"        broker_port_range: {{ start: {address.broker_port}, end: {address.broker_port} }}",
        "        broker_id_base: 1",
        "  limits: { drain_timeout_ms: 2s } # the demo's own clients are gone by then",
        "",
        "upstream:",
        f'  bootstrap: ["{upstream}"]',
        "",
        "tenants:",
    ]
    for tenant in tenants:
        lines += [
            f"  - name: {tenant.name}",
            f"    allowed_topics: [{', '.join(tenant.allowed_topics)}]",
            "    auth:",
            "      credentials:",
            f'        - {{ username: {tenant.name}, password_file: "secrets/{tenant.name}.password" }}',
        ]
    return "\n".join([*lines, ""])


def java_properties(tenant: DemoTenant) -> str:
    """Return the properties that Kafka's own command-line tools take as `--command-config`."""
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    login = f'{module} required username="{tenant.name}" password="{tenant.password}";'
    return f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={login}\n"


def kcat_config(address: Address, tenant: DemoTenant) -> str:
    """Return the librdkafka settings that kcat takes with `-F`."""
    return (
        f"bootstrap.servers={address.bootstrap}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanisms=PLAIN\n"
        f"sasl.username={tenant.name}\nsasl.password={tenant.password}\n"
    )


def python_script(address: Address, tenants: Sequence[DemoTenant]) -> str:
    """Return a program that reads `orders` as one of the tenants, with kafka-python."""
    passwords = {tenant.name: tenant.password for tenant in tenants}
    return f'''"""Read `{TOPIC}` through the gateway: python read.py {tenants[0].name}"""

import sys

from kafka import KafkaConsumer

passwords = {passwords!r}
tenant = sys.argv[1] if len(sys.argv) > 1 else "{tenants[0].name}"
consumer = KafkaConsumer(
    "{TOPIC}",
    bootstrap_servers="{address.bootstrap}",
    security_protocol="SASL_PLAINTEXT",
    sasl_mechanism="PLAIN",
    sasl_plain_username=tenant,
    sasl_plain_password=passwords[tenant],
    auto_offset_reset="earliest",
)
for record in consumer:
    print(record.partition, record.offset, record.value.decode(), flush=True)
'''


def hints(
    directory: Path, address: Address, tenants: Sequence[DemoTenant], python: str
) -> list[tuple[str, str]]:
    """Return commands to try the demo with other clients: a label, and a line to copy. The shortest come first.

    Args:
        directory: where the files are.
        address: of the gateway.
        tenants: the first is used where one is enough.
        python: a Python that has kafka-python.
    """
    first, second = tenants[0].name, tenants[-1].name
    console = f"kafka-console-consumer.sh --bootstrap-server {address.bootstrap}"
    return [
        ("kcat", f"kcat -F {directory}/{first}.kcat -C -t {TOPIC}"),
        ("python", f"{python} {directory}/read.py {second}"),
        (
            "java",
            f"{console} --command-config {directory}/{first}.properties --topic {TOPIC} --from-beginning",
        ),
    ]


def write_files(directory: Path, address: Address, upstream: str, tenants: Sequence[DemoTenant]) -> Path:
    """Write everything into `directory` and return the path of the gateway's configuration."""
    (directory / "secrets").mkdir(exist_ok=True)
    for tenant in tenants:
        _write(directory / "secrets" / f"{tenant.name}.password", tenant.password + "\n")
        _write(directory / f"{tenant.name}.properties", java_properties(tenant))
        _write(directory / f"{tenant.name}.kcat", kcat_config(address, tenant))
    _write(directory / "read.py", python_script(address, tenants))
    config = directory / "proxy.yaml"
    _write(config, proxy_yaml(address, upstream, tenants))
    return config


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
