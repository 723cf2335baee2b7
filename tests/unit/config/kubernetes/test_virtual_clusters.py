"""Each mistake in a document of the second dialect is told with its line, in the words that stand there."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bifrost.config.fields.tenants import Prefixes
from bifrost.config.name_template import NamePrefixes
from bifrost.config.values import Address
from support.physical_names import prefix_of
from unit.config.virtual_cluster_files import AUTH, FILTERS, PROD, loaded, mistakes

Problems = Callable[..., list[str]]


@pytest.fixture
def problems(folder: Path) -> Problems:
    """What is wrong with a file once each part is replaced by another, as printed lines."""
    return partial(mistakes, folder)


def test_a_virtual_cluster_is_a_tenant_with_a_port_of_its_own(folder: Path) -> None:
    config = loaded(folder, PROD)

    [listener_set] = config.proxy.listener_sets
    ports = listener_set.port_range
    assert (listener_set.name, listener_set.tenant) == ("tenant-a-prod", "tenant-a-prod")
    assert listener_set.security_protocol == "PLAINTEXT"
    assert (ports.bind_host, ports.bootstrap_port, ports.advertised_host) == (
        "0.0.0.0",
        9093,
        "gateway.corp.net",
    )
    assert (ports.broker_port_range.start, ports.broker_port_range.end, ports.broker_id_base) == (
        9094,
        9109,
        0,
    )
    [upstream] = config.clusters
    assert upstream.bootstrap == (Address("broker-1.internal", 9092), Address("broker-2.internal", 9092))
    [tenant] = config.tenants
    assert (tenant.name, tenant.upstream) == ("tenant-a-prod", upstream.name)
    assert upstream.name == "broker-1.internal-9092"
    assert tenant.prefixes == Prefixes(topic="t1-", group="t1-", transactional_id="t1-")
    assert list(config.credentials()) == []


def test_the_filters_of_a_virtual_cluster_are_those_of_its_tenant(folder: Path) -> None:
    [tenant] = loaded(folder, text=PROD + FILTERS).tenants

    assert [one.name.value for one in tenant.filters] == ["SchemaValidator", "EnvelopeEncryption"]
    assert tenant.filters[0].config.registry_url == "http://schema-registry.internal:8081"


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (
            "[{ name: 'x y: z', config: {} }]",
            "spec.filters[0].name: expected RecordHeaders, ProducePolicy, Masking, PythonTransform, "
            "EnvelopeEncryption or SchemaValidator, found the text 'x y: z'",
        ),
        ("[5]", "spec.filters[0]: expected a mapping of keys to values, found the number 5"),
        ("{ name: x }", "spec.filters: expected a list, found a mapping"),
        ("", "spec.filters has no value: write one, or remove the line"),
        (
            "[{ name: ProducePolicy, config: { requireKye: true, acks: [all] } }]",
            "spec.filters[0].config.requireKye: unknown key; did you mean requireKey?",
        ),
    ],
)
def test_what_is_no_filter_is_refused_as_well(problems: Problems, filters: str, expected: str) -> None:
    assert problems(text=f"{PROD}  filters: {filters}\n") == [f"a.yaml:21: {expected}"]


def test_encryption_is_written_as_in_the_sample(folder: Path) -> None:
    begin, _, rest = FILTERS.partition("    - name: SchemaValidator\n")
    own = begin + rest[rest.index("    - name: EnvelopeEncryption") :]

    [one] = loaded(folder, PROD + own).tenants[0].filters

    assert one.name == "EnvelopeEncryption"
    config = one.config
    assert (config.kms_provider, config.key_id, config.cache_expiry_seconds) == (
        "Vault",
        "tenant-a-master-key",
        300,
    )


def test_filters_are_those_of_the_flat_dialect(folder: Path) -> None:
    filters = """\
  filters:
    - name: ProducePolicy
      config: { requireKey: true, maxRecordBytes: 1 KiB, acks: [all, 1] }
      rules: [{ topics: [orders*] }]
"""
    [one] = loaded(folder, PROD + filters).tenants[0].filters

    assert (one.name, one.config.require_key, one.config.max_record_bytes) == ("ProducePolicy", True, 1024)
    assert one.rules[0].topics == ("orders*",)


def test_without_any_filter_the_list_may_stand(folder: Path) -> None:
    assert loaded(folder, PROD + "  filters: []\n").tenants[0].name == "tenant-a-prod"


def test_every_other_key_is_that_of_the_flat_dialect(folder: Path) -> None:
    text = PROD.replace(
        "    advertisedHost",
        "    brokerPorts: { start: 9200, end: 9201 }\n    brokerIdBase: 1\n"
        "    saslMechanisms: [PLAIN]\n    advertisedHost",
    ).replace(
        "  virtualization:\n",
        "  virtualization:\n    allowedTopics: [orders]\n    allowTopicDeletion: true\n",
    )

    config = loaded(folder, text + AUTH)

    [listener_set], [tenant] = config.proxy.listener_sets, config.tenants
    assert listener_set.port_range.broker_ports(range(5)) == {1: 9200, 2: 9201}
    assert listener_set.sasl_mechanisms == ("PLAIN",)
    assert (tenant.allowed_topics, tenant.allow_topic_deletion) == (("orders",), True)
    assert tenant.auth.credentials[0].password.matches(b"wile-e")


def test_metadata_may_have_labels_and_annotations(folder: Path) -> None:
    text = PROD.replace("spec:", "  labels: { a.b/c: d }\n  annotations: { e: f }\nspec:")

    assert loaded(folder, text) == loaded(folder, PROD)


def test_without_virtualization_the_names_begin_as_in_the_flat_dialect(folder: Path) -> None:
    text = PROD[: PROD.index("  # 3.")]

    assert loaded(folder, text).tenants[0].prefixes is None


@pytest.mark.parametrize("key", ["topicPrefix", "groupPrefix", "transactionIdPrefix"])
def test_each_prefix_may_stand_alone(folder: Path, key: str) -> None:
    text = PROD[: PROD.index("    topicPrefix")] + f'    {key}: "t1-"\n'

    [tenant] = loaded(folder, text).tenants

    default = prefix_of("tenant-a-prod")
    kinds = {"topicPrefix": "topic", "groupPrefix": "group", "transactionIdPrefix": "transactional_id"}
    expected = dict.fromkeys(kinds.values(), default) | {kinds[key]: "t1-"}
    assert tenant.name_prefixes == NamePrefixes(**expected)


# -- security


@pytest.mark.parametrize(
    ("listener", "auth", "protocol"),
    [
        ("", "", "PLAINTEXT"),
        ("", AUTH, "SASL_PLAINTEXT"),
        ("    securityProtocol: PLAINTEXT\n", "", "PLAINTEXT"),
        ("    securityProtocol: SASL_PLAINTEXT\n", AUTH, "SASL_PLAINTEXT"),
    ],
)
def test_what_is_said_of_security_decides_the_protocol(
    folder: Path, listener: str, auth: str, protocol: str
) -> None:
    text = PROD.replace("  listener:\n", f"  listener:\n{listener}") + auth

    assert loaded(folder, text).proxy.listener_sets[0].security_protocol == protocol


def test_users_of_a_protocol_without_sasl_are_not_ignored(problems: Problems) -> None:
    change = ("  listener:\n", "  listener:\n    securityProtocol: PLAINTEXT\n")

    assert problems(change, text=PROD + AUTH) == [
        "a.yaml:22: spec.auth is of no use with PLAINTEXT: remove it, or securityProtocol"
    ]


def test_a_protocol_with_sasl_needs_a_user(problems: Problems) -> None:
    assert problems(("  listener:\n", "  listener:\n    securityProtocol: SASL_PLAINTEXT\n")) == [
        "a.yaml:5: spec.auth is missing: with SASL_PLAINTEXT it says who belongs to the tenant"
    ]


def test_a_password_gone_astray_is_not_repeated(problems: Problems) -> None:
    for line in ("password: hunter2", "hunter2", "hunter2: x", "passWord: hunter2"):
        told = "".join(problems(("passwordFile: secrets/acme.password", line), text=PROD + AUTH))
        assert "a.yaml:2" in told
        assert "hunter2" not in told


def test_a_missing_password_file_has_its_line(problems: Problems) -> None:
    assert problems(("secrets/acme.password", "secrets/acne.password"), text=PROD + AUTH) == [
        "a.yaml:24: spec.auth.credentials[0].passwordFile: password file secrets/acne.password: no such file; "
        "a relative path starts at the folder of this file"
    ]


# -- mistakes


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("v1alpha1", "v1", "1: apiVersion: expected gateway.corp/v1alpha1"),
        (
            "apiVersion: gateway.corp/v1alpha1\n",
            "",
            "1: apiVersion is missing: add it, e.g. apiVersion: gateway.corp/",
        ),
        ("KafkaVirtualCluster", "Kafka", "2: kind: expected KafkaVirtualCluster or KafkaGateway"),
        ("kind: KafkaVirtualCluster\n", "", "1: kind is missing: add it, e.g. kind: KafkaVirtualCluster"),
        (
            "spec:",
            "status: {}\nspec:",
            "5: status: unknown key; known here: apiVersion, kind, metadata, spec",
        ),
        ("metadata:\n  name: tenant-a-prod\n", "", "1: metadata.name is missing: add it, e.g. name: acme"),
        ("name: tenant-a-prod", "nam: x", "4: metadata.nam: unknown key; did you mean name?"),
        ("name: tenant-a-prod", "name:", "4: metadata.name has no value: write one, or remove the line"),
        ("name: tenant-a-prod", "name: a b", "4: metadata.name: 'a b' has characters other than"),
        (
            "name: tenant-a-prod",
            "name: 5",
            "4: metadata.name: expected a text: put it in quotes, found the number 5",
        ),
        ("  name: tenant-a-prod\n", "  - x\n", "3: metadata: expected a mapping of keys to values"),
        ("  name: tenant-a-prod\n", "", "3: metadata has no value: write one, or remove the line"),
        ("  listener:", "  listner:", "7: spec.listner: unknown key; did you mean listener?"),
        ("port: 9093", "port: 0", "9: spec.listener.port: must be at least 1, found the number 0"),
        ("    port: 9093\n", "", "7: spec.listener.port is missing: add it, e.g. port: 9092"),
        (
            "port: 9093",
            "port: 65535",
            "9: spec.listener.port: 65535 leaves none for the brokers: take a lower one",
        ),
        ("port: 9093", "port:", "9: spec.listener.port has no value: write one, or remove the line"),
        ("port: 9093", "bootstrap_port: 9093", "9: spec.listener.bootstrap_port: unknown key; known here: "),
        ("bind: 0.0.0.0", "bind: 0.0.0", "8: spec.listener.bind: '0.0.0' is no IPv4 address"),
        (
            "gateway.corp.net",
            "gateway:9092",
            "10: spec.listener.advertisedHost: 'gateway:9092' is no host name",
        ),
        (
            "advertisedHost",
            "advertised_host",
            "10: spec.listener.advertised_host: unknown key; did you mean advertis",
        ),
        ("    port", "    name: x\n    port", "9: spec.listener.name: unknown key; known here: "),
        ("    port", "    saslMechanisms: [X]\n    port", "9: spec.listener.saslMechanisms[0]: "),
        (
            "    port",
            "    brokerPorts: { start: 5, end: 4 }\n    port",
            "9: the range starts at 5, after its end 4",
        ),
        (
            "    port",
            "    brokerPorts: { start: 5, ende: 4 }\n    port",
            "9: spec.listener.brokerPorts.ende: unknown",
        ),
        (
            "    port",
            "    brokerPorts: 5\n    port",
            "9: spec.listener.brokerPorts: expected a mapping of keys to",
        ),
        (
            "broker-2.internal:9092",
            "broker-2",
            "14: spec.targetCluster.bootstrapServers: 'broker-2' has no port; ",
        ),
        (
            "bootstrapServers:",
            "bootstrap:",
            "14: spec.targetCluster.bootstrap: unknown key; did you mean boots",
        ),
        (
            '"broker-1.internal:9092,broker-2.internal:9092"',
            "[a]",
            "14: spec.targetCluster.bootstrapServers: write one ",
        ),
        (
            '"broker-1.internal:9092,broker-2.internal:9092"',
            '", "',
            "14: spec.targetCluster.bootstrapServers: is empty",
        ),
        (
            '"broker-1.internal:9092,broker-2.internal:9092"',
            "",
            "14: spec.targetCluster.bootstrapServers: write one ",
        ),
        ("  targetCluster:", "  targets:", "13: spec.targets: unknown key; did you mean targetCluster?"),
        (
            'topicPrefix: "t1-"',
            'topicPrefix: ""',
            "18: spec.virtualization.topicPrefix: is empty: write a text",
        ),
        (
            'topicPrefix: "t1-"',
            'topicPrefix: "t1/"',
            "18: spec.virtualization.topicPrefix: 't1/' has characters",
        ),
        (
            "transactionIdPrefix",
            "transactionalIdPrefix",
            "20: spec.virtualization.transactionalIdPrefix: unknown key; ",
        ),
        (
            "topicPrefix:",
            "name: x\n    topicPrefix:",
            "18: spec.virtualization.name: unknown key; known here: ",
        ),
    ],
)
def test_a_mistake_is_told_with_its_line(problems: Problems, old: str, new: str, expected: str) -> None:
    told = problems((old, new))

    assert any(line.startswith(f"a.yaml:{expected}") for line in told), told
    assert "_" not in "".join(told).replace("bootstrap_port:", "").replace("advertised_host:", "").replace(
        "'_'", ""
    )


def test_all_that_is_wrong_is_told_at_once(problems: Problems) -> None:
    told = problems(
        ("9093", "no"), ("broker-2.internal:", "broker-2"), ("name:", "nam:"), text=PROD + FILTERS
    )

    assert [line.split(":")[1] for line in told] == ["3", "4", "9", "14"]


def test_a_virtual_cluster_without_spec_is_one_problem(problems: Problems) -> None:
    assert problems(text=PROD[: PROD.index("spec:")]) == [
        "a.yaml:1: spec is missing: add it, with listener and targetCluster"
    ]


def test_a_section_that_is_missing_is_one_problem(problems: Problems) -> None:
    listener = PROD[PROD.index("  listener:") : PROD.index("  # 2")]
    target = PROD[PROD.index("  targetCluster:") : PROD.index("  # 3")]

    assert sorted(problems((listener, ""), (target, ""))) == [
        "a.yaml:5: spec.listener is missing: add it, with port and advertisedHost",
        "a.yaml:5: spec.targetCluster is missing: add it, with bootstrapServers",
    ]


def test_a_value_that_cannot_be_read_is_one_problem(problems: Problems) -> None:
    assert problems(("port: 9093", "port: !x 9093")) == [
        "a.yaml:9: a tag (!...) is not supported: put text that begins with ! in quotes"
    ]
