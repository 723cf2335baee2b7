"""Virtual clusters that share a port: what becomes of their documents, and where these contradict each other."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from bifrost.config.fields.listener_sets import ListenerSet
from bifrost.config.fields.verifiers import Mechanism, ScramVerifier
from bifrost.config.model import Config
from support.identity.certificates import Authority
from support.journal.loading import load
from unit.config.virtual_cluster_files import GATEWAY, PROD, SNI, loaded, mistakes, other

EXAMPLE = Path(__file__).resolve().parents[4] / "examples/virtual-clusters-sni"

Problems = Callable[..., list[str]]


@pytest.fixture
def folder(folder: Path) -> Path:
    """With certificates."""
    authority = Authority("CA")
    authority.server("*.kafka.example.com").write(folder / "tls", "server")
    authority.server("*.kafka.example.com").write(folder / "tls", "another")
    authority.write(folder / "tls/ca.pem")
    return folder


@pytest.fixture
def problems(folder: Path) -> Problems:
    """What is wrong with a file once each part is replaced by another, as printed lines."""
    return partial(mistakes, folder, text=SNI)


def together(*texts: str) -> str:
    return "---\n".join(texts)


def listener_of(config: Config) -> ListenerSet:
    [listener_set] = config.proxy.listener_sets
    return listener_set


def test_documents_with_one_port_are_one_listener_set(folder: Path) -> None:
    config = loaded(folder, together(SNI, other("globex"), other("Initech")))

    one = listener_of(config)
    assert one.sni is not None
    assert one.sni.model_dump() == {
        "bind_host": "0.0.0.0",
        "port": 9093,
        "advertised_port": None,
        "bootstrap_host": "{tenant}.kafka.example.com",
        "broker_host": "b{node_id}-{tenant}.kafka.example.com",
        "tenants": ("acme", "globex", "Initech"),
    }
    assert (one.name, one.tenant, one.security_protocol) == ("sni-9093", None, "SASL_SSL")
    assert [tenant.name for tenant in config.tenants] == ["acme", "globex", "Initech"]


def test_both_dialects_make_the_same_of_it(folder: Path) -> None:
    listener = {"name": "sni-9093", "security_protocol": "SASL_SSL"}
    sni = {
        "port": 9093,
        "bootstrap_host": "{tenant}.kafka.example.com",
        "broker_host": "b{node_id}-{tenant}.kafka.example.com",
        "tenants": ["acme", "globex"],
    }
    tls = {"certificate_file": "tls/server.pem", "key_file": "tls/server.key"}
    tenants: list[dict[str, Any]] = [
        {
            "name": name,
            "upstream": "broker-1.internal-9092",
            "prefixes": {"topic": f"{name}-"},
            "auth": {
                "credentials": [{"username": f"{name}-writer", "password_file": "secrets/acme.password"}]
            },
        }
        for name in ("acme", "globex")
    ]
    flat = {
        "proxy": {"listener_sets": [listener | {"sni": sni, "tls": tls}]},
        "upstreams": [
            {
                "name": "broker-1.internal-9092",
                "bootstrap": ["broker-1.internal:9092", "broker-2.internal:9092"],
            }
        ],
        "tenants": tenants,
    }
    (folder / "flat.yaml").write_text(yaml.safe_dump(flat))

    assert loaded(folder, together(SNI, other("globex"))) == load("flat.yaml")


def test_a_document_that_comes_or_goes_changes_the_list_alone(folder: Path) -> None:
    three = listener_of(loaded(folder, together(SNI, other("globex"), other("initech"))))
    two = listener_of(loaded(folder, together(other("globex"), other("initech"))))

    assert (three.name, three.tls) == (two.name, two.tls)
    assert three.sni is not None
    assert two.sni == three.sni.model_copy(update={"tenants": ("globex", "initech")})


def test_every_port_has_a_listener_set_of_its_own(folder: Path) -> None:
    texts = [
        SNI,
        other("globex", SNI.replace("9093", "9094")),
        PROD.replace("9093", "19093"),
        other("initech", SNI.replace("port: 9093", 'port: 9093\n    bind: "::1"')),
        other("hooli"),
    ]

    sets = loaded(folder, together(*texts)).proxy.listener_sets

    assert [(one.name, one.sni.tenants if one.sni else one.tenant) for one in sets] == [
        ("sni-9093", ("acme", "hooli")),
        ("sni-9094", ("globex",)),
        ("tenant-a-prod", "tenant-a-prod"),
        ("sni--1-9093", ("initech",)),
    ]


def test_the_name_of_the_listener_set_is_no_virtual_clusters(folder: Path) -> None:
    own = PROD.replace("tenant-a-prod", "sni-9093").replace("port: 9093", "port: 19093")

    sets = loaded(folder, together(SNI, own)).proxy.listener_sets

    assert [one.name for one in sets] == ["sni-9093-2", "sni-9093"]


def test_what_is_said_by_default_and_in_words_is_the_same(folder: Path) -> None:
    said = SNI.replace("    sni:", "    bind: 0.0.0.0\n    securityProtocol: SASL_SSL\n    sni:")

    assert loaded(folder, together(SNI, other("globex", said))) == loaded(
        folder, together(SNI, other("globex"))
    )


def test_certificates_say_who_clients_are_where_all_have_them(folder: Path) -> None:
    text = SNI[: SNI.index("  auth:")] + '  auth: { principals: ["CN=acme-"] }\n'
    text = text.replace("    sni:", "    securityProtocol: SSL\n    sni:")
    text = text.replace(
        "server.key", "server.key\n      clientAuth: required\n      clientCaFile: tls/ca.pem"
    )

    one = listener_of(loaded(folder, together(text, other("globex", text))))

    assert (one.security_protocol, one.tenant) == ("SSL", None)
    assert one.sni is not None
    assert one.sni.tenants == ("acme", "globex")


# -- mistakes


@pytest.mark.parametrize(
    ("old", "new", "keys"),
    [
        ("tls/server", "tls/another", "tls differs"),
        ("{tenant}.kafka", "{tenant}-k.kafka", "sni differs"),
        ("    sni:", "    saslMechanisms: [PLAIN]\n    sni:", "saslMechanisms differs"),
        (
            "    sni:",
            "    proxyProtocol: required\n    saslMechanisms: [PLAIN]\n    sni:",
            "proxyProtocol and saslMechanisms differ",
        ),
    ],
)
def test_documents_that_say_something_else_of_one_port_are_refused(
    folder: Path, old: str, new: str, keys: str
) -> None:
    assert mistakes(folder, text=together(SNI, other("globex", SNI.replace(old, new)))) == [
        f"a.yaml:28: spec.listener has the port of a.yaml:6, and {keys}: make the two the same, or take another port"
    ]


def test_the_two_may_be_in_different_files(folder: Path) -> None:
    (folder / "clusters").mkdir()
    (folder / "clusters/tls").symlink_to(folder / "tls")
    (folder / "clusters/secrets").symlink_to(folder / "secrets")
    (folder / "clusters/a.yaml").write_text(SNI)
    (folder / "clusters/b.yaml").write_text(other("globex", SNI.replace("tls/server", "tls/another")))

    with pytest.raises(
        Exception, match=r"clusters/b.yaml:6: .* the port of clusters/a.yaml:6, and tls differs"
    ):
        load("clusters")


def test_a_port_with_and_without_sni_is_taken_twice(folder: Path) -> None:
    assert mistakes(folder, text=together(SNI, PROD)) == [
        "a.yaml:31: port 9093 is taken twice, by port of tenant-a-prod and by port of sni-9093: move one of them "
        "(see line 7); virtual clusters share a port only where all of them have sni, and the same bind"
    ]


def test_a_port_on_one_address_and_on_all_is_taken_twice(folder: Path) -> None:
    text = other("globex", SNI.replace("port: 9093", "port: 9093\n    bind: 127.0.0.1"))

    assert mistakes(folder, text=together(SNI, text)) == [
        "a.yaml:29: port 9093 is taken twice, by port of sni-127.0.0.1-9093 and by port of sni-9093: move one of "
        "them (see line 7); virtual clusters share a port only where all of them have sni, and the same bind"
    ]


def test_the_operators_port_is_not_one_to_share(folder: Path) -> None:
    [told] = mistakes(folder, text=SNI + GATEWAY.replace("9404", "9093"))

    assert told.endswith("by port of sni-9093 and by admin: move one of them (see line 27)")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "Acme",
            "a.yaml:26: tenant Acme differs from another by capitals alone, which hosts "
            "({tenant}.kafka.example.com) ignore: rename one (see line 4)",
        ),
        ("acme", "a.yaml:26: tenant acme is given twice: rename one or merge the two (see line 4)"),
        (
            "b1-acme",
            "a.yaml:26: tenant b1-acme in {tenant}.kafka.example.com is the host of a broker as well: rename one of "
            "the two",
        ),
        (
            "ac_me",
            "a.yaml:26: tenant ac_me cannot stand in {tenant}.kafka.example.com: only 63 letters, digits and inner "
            "hyphens can",
        ),
    ],
)
def test_a_name_that_is_no_label_of_its_own_is_refused(folder: Path, name: str, expected: str) -> None:
    text = SNI.replace("acme-", "other-").replace("name: acme", f"name: {name}")

    assert mistakes(folder, text=together(SNI, text)) == [expected]


def test_names_of_virtual_clusters_at_other_ports_need_not_be_labels(folder: Path) -> None:
    own = PROD.replace("tenant-a-prod", "Acme").replace("9093", "19093")

    assert len(loaded(folder, together(SNI, own)).tenants) == 2


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "    sni:",
            "    advertisedHost: gw\n    sni:",
            "8: spec.listener.advertisedHost is of no use with sni, where each broker has a host name: remove it",
        ),
        (
            "    sni:",
            "    brokerPorts: { start: 1, end: 2 }\n    sni:",
            "8: spec.listener.brokerPorts is of no use with sni, where each broker has a host name: remove it",
        ),
        (
            "b{node_id}-{tenant}",
            "b{node_id}",
            "10: spec.listener.sni.brokerHost has no {tenant}: without it no host name says which virtual cluster a "
            "client means",
        ),
        (
            "b{node_id}-{tenant}",
            "b-{tenant}",
            "8: spec.listener.sni: brokerHost has no {node_id}: without it no broker can be told from another",
        ),
        (
            '      brokerHost: "b{node_id}-{tenant}.kafka.example.com"\n',
            "",
            "8: spec.listener.sni.brokerHost is missing: add it, e.g. brokerHost: ",
        ),
        (
            "      brokerHost",
            "      tenants: [acme]\n      brokerHost",
            "10: spec.listener.sni.tenants: unknown key",
        ),
        (
            "      brokerHost",
            "      broker_host",
            "10: spec.listener.sni.broker_host: unknown key; did you mean broker",
        ),
        ("    port: 9093\n", "", "6: spec.listener.port is missing: add it, e.g. port: 9093"),
        ("port: 9093", "port: 0", "7: spec.listener.port: must be at least 1, found the number 0"),
        ("server.pem", "gone.pem", "12: spec.listener.tls.certificateFile: "),
        (
            "    sni:",
            "    securityProtocol: SASL_PLAINTEXT\n    sni:",
            "6: spec.listener: sni needs TLS, in which clients say the host: set securityProtocol to SASL_SSL or SSL",
        ),
        (
            "      keyFile: tls/server.key\n",
            "",
            "11: spec.listener.tls.keyFile is missing: add it, e.g. keyFile: ",
        ),
    ],
)
def test_mistakes_have_their_lines_and_words(problems: Problems, old: str, new: str, expected: str) -> None:
    told = problems((old, new))

    assert any(line.startswith(f"a.yaml:{expected}") for line in told), told


def test_without_certificates_no_client_can_say_a_host(problems: Problems) -> None:
    tls = SNI[SNI.index("    tls:") : SNI.index("  targetCluster:")]

    assert problems((tls, "")) == [
        "a.yaml:6: spec.listener: SASL_SSL needs certificates: add the section tls"
    ]


@pytest.mark.parametrize(("value", "told"), [("", "has no value: write one"), ("true", "expected a mapping")])
def test_sni_is_a_section(problems: Problems, value: str, told: str) -> None:
    inner = SNI[SNI.index("    sni:") : SNI.index("    tls:")]

    [line] = problems((inner, f"    sni: {value}\n"))

    assert line.startswith("a.yaml:8: spec.listener.sni")
    assert told in line


@pytest.mark.parametrize("protocol", ["", "    securityProtocol: SSL\n", "    securityProtocol: SASL_SSL\n"])
def test_clients_are_always_asked_who_they_are(problems: Problems, protocol: str) -> None:
    auth = SNI[SNI.index("  auth:") :]
    files = "server.key", "server.key\n      clientAuth: required\n      clientCaFile: tls/ca.pem"
    changes = [files] if "SSL" in protocol and "SASL" not in protocol else []

    [told] = problems(("    sni:", f"{protocol}    sni:"), (auth, ""), *changes)

    assert told.endswith(" spec.auth is missing: with sni it says who belongs to the tenant")


def test_passwords_are_of_no_use_where_certificates_say_it(problems: Problems) -> None:
    told = problems(
        ("    sni:", "    securityProtocol: SSL\n    sni:"),
        ("server.key", "server.key\n      clientAuth: required\n      clientCaFile: tls/ca.pem"),
    )

    assert told == [
        "a.yaml:22: spec.auth.credentials is of no use with SSL: principals say whose certificates belong to the "
        "tenant"
    ]


def test_certificates_that_are_not_asked_for_say_nothing(problems: Problems) -> None:
    told = problems(
        ("    sni:", "    securityProtocol: SSL\n    sni:"),
        (
            "    credentials:\n      - username: acme-writer\n        passwordFile: secrets/acme.password\n",
            "",
        ),
        ("  auth:\n", '  auth: { principals: ["CN=acme"] }\n'),
    )

    assert told == [
        "a.yaml:12: spec.listener.tls: with SSL and sni the client's certificate says who it is: set clientAuth to "
        "required"
    ]


def test_a_document_without_a_name_is_told_of_once(problems: Problems) -> None:
    [told] = problems(("  name: acme", "  labels: {}"))

    assert told.startswith("a.yaml:3: metadata.name is missing")


def test_the_example_folder_loads(folder: Path) -> None:
    copied = shutil.copytree(EXAMPLE, folder / "clusters")
    shutil.copytree(folder / "tls", copied / "tls")
    (copied / "tls/server.pem").rename(copied / "tls/gateway.pem")
    (copied / "tls/server.key").rename(copied / "tls/gateway.key")
    (copied / "secrets").mkdir()
    verifier = ScramVerifier.derive(Mechanism.SCRAM_SHA_512, b"x", bytes(16), 4096)
    for name in ("acme", "globex"):
        (copied / f"secrets/{name}.scram").write_text(verifier.to_line())

    config = load(copied)

    one = listener_of(config)
    assert one.sni is not None
    assert (one.name, one.sni.port, one.sni.tenants) == ("sni-9093", 9093, ("acme", "globex"))
    assert one.security_protocol == "SASL_SSL"
