"""Several documents of the second dialect in one file: what they share, and where they get in each other's way."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bifrost.config.checks.port_clashes import MAX_LISTENER_SETS
from bifrost.config.fields.tenants import Prefixes
from bifrost.config.fields.verifiers import Mechanism, ScramVerifier
from support.journal.loading import load
from unit.config.virtual_cluster_files import AUTH, GATEWAY, PROD, loaded, mistakes, second

EXAMPLE = Path(__file__).resolve().parents[4] / "examples/virtual-clusters"

Problems = Callable[..., list[str]]


@pytest.fixture
def problems(folder: Path) -> Problems:
    """What is wrong with a file once each part is replaced by another, as printed lines."""
    return partial(mistakes, folder)


def test_virtual_clusters_of_the_same_brokers_share_an_upstream(folder: Path) -> None:
    config = loaded(folder, f"{PROD}---\n{second()}---\n")

    assert [tenant.name for tenant in config.tenants] == ["tenant-a-prod", "tenant-b"]
    assert len(config.clusters) == 1
    assert [one.tenant for one in config.proxy.listener_sets] == ["tenant-a-prod", "tenant-b"]
    assert config.tenants[1].prefixes == Prefixes(topic="t2-", group="t2-", transactional_id="t2-")


def ranges(folder: Path, *ports: int) -> list[tuple[int, int] | None]:
    """The ports of the brokers of virtual clusters at these ports; None: their port is the only broker's as well."""
    documents = [
        PROD.replace("tenant-a-prod", f"t-{port}").replace("t1-", f"p{port}-").replace("9093", str(port))
        for port in ports
    ]
    sets = loaded(folder, "---\n".join(documents))
    found = [one.port_range.broker_port_range for one in sets.proxy.listener_sets]
    return [None if one is None else (one.start, one.end) for one in found]


def test_the_ports_of_the_brokers_end_before_the_next_virtual_cluster(folder: Path) -> None:
    assert ranges(folder, 9093, 9094) == [None, (9095, 9110)]
    assert ranges(folder, 9094, 9093, 9097) == [(9095, 9096), None, (9098, 9113)]
    assert ranges(folder, 9093, 9110, 9109) == [(9094, 9108), (9111, 9126), None]


def test_a_virtual_cluster_on_another_address_does_not_end_them(folder: Path) -> None:
    other = second().replace("9193", "9094").replace("0.0.0.0", '"::1"')

    sets = loaded(folder, f"{PROD}---\n{other}").proxy.listener_sets

    assert [one.port_range.broker_port_range.start for one in sets] == [9094, 9095]


def test_the_only_broker_may_have_any_node_id(folder: Path) -> None:
    first = PROD.replace("    port", "    brokerIdBase: 1\n    port")

    [one, _] = loaded(folder, f"{first}---\n{second().replace('9193', '9094')}").proxy.listener_sets

    assert one.port_range.broker_ports({7}) == {7: 9093}


def test_ports_that_follow_by_default_must_not_meet_ports_that_are_written(problems: Problems) -> None:
    other = second().replace("    port", "    brokerPorts: { start: 9100, end: 9101 }\n    port")

    assert problems(text=f"{PROD}---\n{other}") == [
        "a.yaml:30: ports 9100 to 9101 are taken twice, by brokerPorts of tenant-b and by brokerPorts of "
        "tenant-a-prod: move one of them, or set singleAddress: true, which needs no brokerPorts (see line 9); "
        "without brokerPorts the brokers have the 16 ports after port, or those up to the port of the next virtual "
        "cluster: set it, or leave more ports between"
    ]


def test_with_broker_ports_virtual_clusters_may_be_neighbours(folder: Path) -> None:
    first = PROD.replace("    port", "    brokerPorts: { start: 19000, end: 19002 }\n    port")
    other = second(first).replace("9193", "9094").replace("1900", "1910")

    sets = loaded(folder, f"{first}---\n{other}").proxy.listener_sets

    assert [one.port_range.bootstrap_port for one in sets] == [9093, 9094]


def test_tenants_that_would_meet_on_the_broker_are_refused(problems: Problems) -> None:
    assert problems(text=f"{PROD}---\n{second().replace('t2-', 't1-x')}") == [
        "a.yaml:39: topic prefixes t1- of tenant-a-prod and t1-x of tenant-b overlap: what one tenant has could be "
        "the other's on the broker: change one, so that neither begins with the other (see line 18)"
    ]


def test_a_name_is_that_of_one_virtual_cluster(problems: Problems) -> None:
    assert problems(text=f"{PROD}---\n{second().replace('tenant-b', 'tenant-a-prod')}") == [
        "a.yaml:25: tenant tenant-a-prod is given twice: rename one or merge the two (see line 4)"
    ]


def test_a_user_is_that_of_one_virtual_cluster(problems: Problems) -> None:
    assert problems(text=f"{PROD}{AUTH}---\n{second()}{AUTH}") == [
        "a.yaml:48: username a-writer is given twice, and the name decides the tenant: remove or rename one "
        "(see line 23)"
    ]


def test_the_line_is_that_of_the_right_document(problems: Problems) -> None:
    told = problems(text=f"{PROD}---\n{second().replace('gateway.corp.net', 'x y')}")

    assert told == ["a.yaml:31: spec.listener.advertisedHost: 'x y' is no host name and no IP address"]


def test_there_are_no_more_than_one_gateway_takes(problems: Problems) -> None:
    names = [f"tenant-{index}-" for index in range(MAX_LISTENER_SETS + 2)]
    documents = [
        PROD.replace("tenant-a-prod", name).replace("t1-", f"{name}.").replace("9093", str(2000 + 20 * index))
        for index, name in enumerate(names)
    ]

    assert problems(text="---\n".join(documents)) == [
        f"a.yaml:{1000 * 21 + 2}: kind: 1002 are a KafkaVirtualCluster, one gateway takes 1000: run another"
    ]


# -- the gateway's own settings


def test_a_gateway_document_has_what_is_not_of_one_tenant(folder: Path) -> None:
    proxy = loaded(folder, PROD + GATEWAY).proxy

    assert proxy.admin is not None
    assert (proxy.admin.port, proxy.admin.bind_host) == (9404, "127.0.0.1")
    assert (proxy.limits.max_connections, proxy.limits.max_reauth_ms) == (7, 3_600_000)
    assert [one.name for one in proxy.listener_sets] == ["tenant-a-prod"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "maxConnections: 7",
            "maxConnections: 0",
            "28: spec.limits.maxConnections: must be at least 1, found the number 0",
        ),
        (
            "maxReauthMs",
            "max_reauth_ms",
            "29: spec.limits.max_reauth_ms: unknown key; did you mean maxReauthMs?",
        ),
        ("1h", "1 day", "29: spec.limits.maxReauthMs: unknown unit day; "),
        (
            "  limits:",
            "  listenerSets: []\n  limits:",
            "27: spec.listenerSets: unknown key; known here: admin, ",
        ),
        (
            "9404",
            "9093",
            "9: port 9093 is taken twice, by port of tenant-a-prod and by admin: move one of them (see line 26)",
        ),
        ("port: 9404, ", "", "26: spec.admin.port is missing: add it, e.g. port: 9404"),
    ],
)
def test_mistakes_in_it_have_their_lines(problems: Problems, old: str, new: str, expected: str) -> None:
    [told] = problems((old, new), text=PROD + GATEWAY)

    assert told.startswith(f"a.yaml:{expected}")


def test_there_is_one_gateway(problems: Problems) -> None:
    assert problems(text=PROD + GATEWAY + GATEWAY) == [
        "a.yaml:32: kind: a second KafkaGateway, the first is in a.yaml:23: make one of the two"
    ]


def test_a_gateway_without_virtual_clusters_is_refused(problems: Problems) -> None:
    assert problems(text=GATEWAY) == [
        "a.yaml:3: no document is a KafkaVirtualCluster: add one, for it is they that clients reach"
    ]


def test_the_example_folder_loads(tmp_path: Path) -> None:
    copied = shutil.copytree(EXAMPLE, tmp_path / "clusters")
    (copied / "secrets").mkdir()
    verifier = ScramVerifier.derive(Mechanism.SCRAM_SHA_512, b"x", bytes(16), 4096)
    (copied / "secrets/tenant-b.scram").write_text(verifier.to_line())

    config = load(copied)

    assert [tenant.name for tenant in config.tenants] == ["tenant-a-prod", "tenant-b-prod"]
    assert [one.security_protocol for one in config.proxy.listener_sets] == ["PLAINTEXT", "SASL_PLAINTEXT"]
    assert [upstream.name for upstream in config.clusters] == ["east"]
    assert config.proxy.limits.max_connections == 5000
