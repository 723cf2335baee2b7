"""The file of a partition remapper: what each key means, every default, and what is said of mistakes."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from bifrost.config.errors import ConfigError
from bifrost.config.fields.server_tls import ClientAuth
from bifrost.config.model import Config
from bifrost.config.security_protocol import SecurityProtocol
from support.identity.certificates import Authority
from support.journal.loading import load
from support.pages.examples import EXAMPLES, load_example
from support.physical_names import prefix_of

SAMPLE = """\
listen:
  address: "0.0.0.0:9092"
  max_connections: 1000

kafka:
  bootstrap_servers:
    - "your-kafka:9092"
  connection_timeout_ms: 10000
  request_timeout_ms: 30000

mapping:
  virtual_partitions: 100
  physical_partitions: 10
  offset_range: 1099511627776

metrics:
  enabled: true
  address: "0.0.0.0:9090"

logging:
  level: info
  json: false
"""
LEAST = """\
listen: {}
kafka: { bootstrap_servers: ["a:9092"] }
mapping: { virtual_partitions: 100, physical_partitions: 10 }
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path("remap.yaml")


def loaded(file: Path, text: str = LEAST, *replacements: tuple[str, str]) -> Config:
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new, 1)
    file.write_text(text)
    return load(file)


def mistakes(file: Path, text: str, *replacements: tuple[str, str]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        loaded(file, text, *replacements)
    return str(caught.value).splitlines()


def rules(config: Config) -> list[tuple[Any, ...]]:
    return [(one.topics, one.virtual, one.physical) for one in config.tenants[0].virtual_partitions]


def test_the_sample_is_loaded_as_it_stands(file: Path) -> None:
    config = loaded(file, SAMPLE)

    [listener], [tenant], [upstream] = config.proxy.listener_sets, config.tenants, config.clusters
    ports = listener.port_range
    assert ports is not None
    assert (ports.bind_host, ports.bootstrap_port, ports.advertised_host) == ("0.0.0.0", 9092, "localhost")
    assert (listener.single_address, listener.tenant, listener.security_protocol) == (
        True,
        "remapper",
        "PLAINTEXT",
    )
    assert [str(one) for one in upstream.bootstrap] == ["your-kafka:9092"]
    assert (tenant.name, tenant.name_prefixes.topic) == ("remapper", prefix_of("remapper"))
    assert rules(config) == [(("*",), 100, 10)]
    limits, admin = config.proxy.limits, config.proxy.admin
    assert (limits.max_connections, limits.upstream_connect_timeout_ms, limits.metadata_refresh_ms) == (
        1000,
        10_000,
        30_000,
    )
    assert admin is not None
    assert (admin.bind_host, admin.port) == ("0.0.0.0", 9090)


def test_what_differs_is_named_with_its_line(file: Path) -> None:
    settings = loaded(file, SAMPLE).process

    assert settings is not None
    assert (settings.log_level, settings.log_as_json) == ("info", False)
    heads = [":".join(one.split(":")[:3]) for one in settings.notices]
    assert heads == [
        "remap.yaml:2: listen.address",
        "remap.yaml:9: kafka.request_timeout_ms",
        "remap.yaml:14: mapping.offset_range",
        "remap.yaml:11: mapping",
    ]


def test_the_defaults_are_those_of_the_sample(file: Path) -> None:
    least, sample = loaded(file), loaded(file, SAMPLE)

    assert least.proxy == sample.proxy
    assert least.tenants == sample.tenants
    assert least.process is not None
    assert [one.split(": ")[1] for one in least.process.notices] == ["listen.address", "mapping"]


def test_the_advertised_host_is_that_of_the_file(file: Path) -> None:
    for old, new, expected in (
        ("listen: {}", 'listen: { address: "10.0.0.1:9000" }', "10.0.0.1"),
        ("listen: {}", 'listen: { address: "[::]:9000" }', "localhost"),
        ("listen: {}", 'listen: { address: ":::9000", advertised_address: "x:9000" }', None),
        ("listen: {}", 'listen: { address: "0.0.0.0:9000", advertised_address: "x:9000" }', "x"),
    ):
        if expected is None:
            assert "more than one colon" in mistakes(file, LEAST, (old, new))[0]
            continue
        ports = loaded(file, LEAST, (old, new)).proxy.listener_sets[0].port_range
        assert ports is not None
        assert (ports.advertised_host, ports.bootstrap_port, ports.advertised_port) == (expected, 9000, None)


def test_the_advertised_port_may_be_that_of_a_load_balancer(file: Path) -> None:
    listen = 'listen: { address: "0.0.0.0:9092", advertised_address: "x:19092" }'
    ports = loaded(file, LEAST, ("listen: {}", listen)).proxy.listener_sets[0].port_range

    assert ports is not None
    assert (ports.bootstrap_port, ports.advertised_port) == (9092, 19092)


def test_metrics_may_be_off(file: Path) -> None:
    assert loaded(file, LEAST + "metrics: { enabled: false }\n").proxy.admin is None


@pytest.mark.parametrize(
    ("level", "expected"),
    [("trace", "debug"), ("debug", "debug"), ("info", "info"), ("warn", "warning"), ("error", "error")],
)
def test_the_log_has_the_level_of_the_file(file: Path, level: str, expected: str) -> None:
    settings = loaded(file, LEAST + f"logging: {{ level: {level}, json: true }}\n").process

    assert settings is not None
    assert (settings.log_level, settings.log_as_json) == (expected, True)


@pytest.mark.parametrize(("form", "expected"), [("json", True), ("text", False)])
def test_the_log_may_have_a_format_in_place_of_json(file: Path, form: str, expected: bool) -> None:
    settings = loaded(file, LEAST + f"logging: {{ json: {not expected}, format: {form} }}\n".lower()).process

    assert settings is not None
    assert settings.log_as_json == expected


def test_an_expression_with_alternatives_is_one_rule(file: Path) -> None:
    topics = r"""{ '(eu|us)\.orders': { virtual_partitions: 20 } }"""
    text = LEAST.replace(" physical_partitions: 10", f" physical_partitions: 10, topics: {topics}")
    (tenant,) = loaded(file, text).tenants

    assert [(one.topics, one.virtual) for one in tenant.virtual_partitions] == [
        (("eu.orders", "us.orders"), 20),
        (("*",), 100),
    ]


def test_overrides_come_first_and_names_before_expressions(file: Path) -> None:
    topics = {
        r"events\..*": {"virtual_partitions": 20},
        "plain": {"virtual_partitions": 10},
        "events.a": {"virtual_partitions": 30, "physical_partitions": 3, "offset_range": 1 << 20},
    }
    text = LEAST.replace(
        " physical_partitions: 10",
        f" physical_partitions: 10, topics: {yaml.safe_dump(topics, default_flow_style=True).strip()}",
    )

    config = loaded(file, text)

    assert rules(config) == [
        (("events.a",), 30, 3),
        (("plain",), 10, 10),
        (("events.*",), 20, 10),
        (("*",), 100, 10),
    ]
    assert config.process is not None
    assert any("mapping.topics['events.a'].offset_range" in one for one in config.process.notices)


def test_equal_numbers_everywhere_mean_no_virtual_partitions(file: Path) -> None:
    assert rules(loaded(file, LEAST, ("virtual_partitions: 100", "virtual_partitions: 10"))) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("listen:\n", "listem:\n", ["listen is missing", "listem: unknown key; did you mean listen?"]),
        (
            "max_connections",
            "max_conections",
            ["listen.max_conections: unknown key; did you mean max_connections?"],
        ),
        ("connection_timeout_ms", "retries", ["kafka.retries: unknown key; known here: "]),
        (
            "offset_range: 1099511627776",
            "ranges: 1",
            ["mapping.ranges: unknown key; known here: offset_range"],
        ),
        ("enabled: true", "port: 1", ["metrics.port: unknown key; known here: address, enabled"]),
        ("json: false", "format: x", ["logging.format: expected json or text, found the text 'x'"]),
        ('"0.0.0.0:9092"', "9092", ["listen.address: write host:port"]),
        ("1000\n", "0\n", ["listen.max_connections: must be at least 1, found the number 0"]),
        (
            '    - "your-kafka:9092"\n',
            '    - "your-kafka"\n',
            ["kafka.bootstrap_servers[0]: 'your-kafka' has no port"],
        ),
        ("10000", "soon", ["kafka.connection_timeout_ms: expected a whole number"]),
        (
            "virtual_partitions: 100",
            "virtual_partitions: 5",
            ["mapping: virtual_partitions 5 is less than physical_partitions 10"],
        ),
        (
            "virtual_partitions: 100",
            "virtual_partitions: 6000",
            ["mapping: 600 virtual partitions would share a physical one: at most 512 do"],
        ),
        (
            "virtual_partitions: 100",
            "virtual_partitions: 51201",
            ["mapping.virtual_partitions: must be at most 51200"],
        ),
        ("  physical_partitions: 10\n", "", ["mapping.physical_partitions is missing: add it"]),
        ("1099511627776", "1048575", ["mapping.offset_range: must be at least 1048576"]),
        (
            "1099511627776",
            "4611686018427387904",
            ["mapping: 10 times offset_range 4611686018427387904 is more than"],
        ),
        (
            "level: info",
            "level: loud",
            ["logging.level: expected trace, debug, info, warn or error, found the text 'loud'"],
        ),
        ("json: false", "json: 1", ["logging.json: expected true or false"]),
        ("kafka:\n", "kafka:\n  security_protocol: SASL_SSL\n", ["kafka.sasl is missing: SASL_SSL needs it"]),
        (
            "kafka:\n",
            "kafka:\n  sasl: { username: a, password: hunter2 }\n",
            ["kafka.sasl is only for SASL_PLAINTEXT and SASL_SSL, found PLAINTEXT"],
        ),
        ("kafka:\n", "kafka:\n  tls: {}\n", ["kafka.tls is only for SSL and SASL_SSL, found PLAINTEXT"]),
        (
            "kafka:\n",
            "kafka:\n  security_protocol: SSL\n  tls: { insecure_skip_verify: true }\n",
            ["kafka.tls.insecure_skip_verify: expected False"],
        ),
        ("listen:\n", "listen:\n  security: { protocol: SSL }\n", ["listen.security.tls is missing"]),
        (
            "listen:\n",
            "listen:\n  security: { sasl: {} }\n",
            ["listen.security.sasl.credentials is missing"],
        ),
        (
            "listen:\n",
            'listen:\n  advertised_address: "x"\n',
            ["listen.advertised_address: 'x' has no port"],
        ),
        (
            "listen:\n",
            'listen:\n  advertised_address: "0.0.0.0:9092"\n',
            ["listen.advertised_address: clients cannot connect to 0.0.0.0"],
        ),
        (
            "mapping:\n",
            'mapping:\n  topics: { "a+": {} }\n',
            ["mapping.topics['a+']: expected a topic's name"],
        ),
        (
            "mapping:\n",
            "mapping:\n  topics: { a: { partitions: 1 } }\n",
            ["mapping.topics['a'].partitions: unknown key"],
        ),
        (
            "mapping:\n",
            "mapping:\n  topics: { a: { virtual_partitions: 5 } }\n",
            ["mapping.topics['a']: virtual_partitions 5 is less"],
        ),
        ("mapping:\n", "mapping:\n  topics: { a: 5 }\n", ["mapping.topics['a']: expected a mapping"]),
        ("mapping:\n", "mapping:\n  topics: [a]\n", ["mapping.topics: expected a mapping"]),
    ],
)
def test_a_mistake_is_told_with_file_and_line_in_the_words_of_the_file(
    file: Path, old: str, new: str, expected: list[str]
) -> None:
    told = mistakes(file, SAMPLE, (old, new))

    assert len(told) == len(expected), told
    for line, text in zip(told, expected, strict=True):
        place, _, message = line.partition(": ")
        assert place.rpartition(":")[0] == "remap.yaml"
        assert message.startswith(text)
        assert "hunter2" not in message


def test_a_mistake_has_its_own_line(file: Path) -> None:
    assert mistakes(file, SAMPLE, ("json: false", "json: 1"))[0].startswith("remap.yaml:22: ")


def test_sections_of_two_dialects_are_not_mixed(file: Path) -> None:
    told = mistakes(file, SAMPLE + "tenants: []\n")

    assert any("listen: unknown key" in one for one in told)


def test_tls_is_taken_on_both_sides(tmp_path: Path) -> None:
    config = load_example("partition-remapper/mutual-tls.yaml", tmp_path)

    [listener], [upstream] = config.proxy.listener_sets, config.clusters
    assert listener.tls is not None
    assert upstream.tls is not None
    assert (listener.security_protocol, listener.tls.client_auth) == (
        SecurityProtocol.SSL,
        ClientAuth.REQUIRED,
    )
    assert listener.tls.principal_mapping_rules.startswith("RULE:")
    assert (upstream.security_protocol, upstream.tls.ca_file is not None) == (SecurityProtocol.SSL, True)


def test_a_certificate_may_be_asked_for_and_not_required(tmp_path: Path) -> None:
    text = (EXAMPLES / "partition-remapper/mutual-tls.yaml").read_text()
    authority = Authority("CA")
    authority.server("gateway.example.com").write(tmp_path / "tls", "gateway")
    authority.write(tmp_path / "tls/client-ca.pem")

    config = loaded(tmp_path / "a.yaml", text, ("      require_client_cert: true\n", ""))
    told = mistakes(tmp_path / "a.yaml", text, ('      ca_cert_path: "tls/client-ca.pem"\n', ""))

    tls = config.proxy.listener_sets[0].tls
    assert tls is not None
    assert tls.client_auth == ClientAuth.REQUESTED
    assert "listen.security.tls: require_client_cert trusts no certificate without ca_cert_path" in told[0]


def test_a_file_that_is_missing_is_told_in_the_words_of_the_file(file: Path) -> None:
    text = (EXAMPLES / "partition-remapper/mutual-tls.yaml").read_text()

    told = mistakes(file, text)

    assert any(": listen.security.tls.cert_path: file " in one for one in told)
    assert any(": kafka.tls.ca_cert_path: certificate file " in one for one in told)


@pytest.mark.parametrize("name", sorted(one.name for one in (EXAMPLES / "partition-remapper").glob("*.yaml")))
def test_each_counterpart_of_the_remappers_examples_is_loaded(name: str, tmp_path: Path) -> None:
    config = load_example(f"partition-remapper/{name}", tmp_path)

    assert all(one.virtual_partitions for one in config.tenants)
    assert config.proxy.listener_sets[0].single_address
