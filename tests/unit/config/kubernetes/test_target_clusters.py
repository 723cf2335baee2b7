from pathlib import Path

import pytest

from bifrost.config.files.document import read_documents
from bifrost.config.kubernetes.resource import Resource
from bifrost.config.kubernetes.target_clusters import Target, merge_targets
from unit.config.virtual_cluster_files import PROD, loaded, mistakes, second

SERVERS = '"broker-1.internal:9092,broker-2.internal:9092"'


def merged(*targets: str) -> tuple[list[object], list[object], list[str]]:
    """The names of the upstreams, those of the tenants' upstreams, and what is wrong."""
    made = []
    for target in targets:
        [document] = read_documents(f"spec:\n  targetCluster: {target}\n")
        resource = Resource(f"{len(made)}.yaml", document)
        content = resource.get("spec", "targetCluster")
        assert isinstance(content, dict)
        made.append(Target(resource, content, {}))
    upstreams, problems = merge_targets(made)
    names = [target.tenant["upstream"] for target in made]
    return [one.name for one in upstreams], names, [f"{place}: {text}" for place, text in problems]


def test_the_same_list_is_one_upstream_called_after_its_first_broker() -> None:
    lists = ['{ bootstrapServers: "b-1:9092,b-2:9092" }', '{ bootstrapServers: " b-1:9092 , b-2:9092," }']

    assert merged(*lists) == (["b-1-9092"], ["b-1-9092", "b-1-9092"], [])


def test_other_lists_are_other_upstreams() -> None:
    lists = [
        '{ bootstrapServers: "b:9092" }',
        '{ bootstrapServers: "b:9093" }',
        '{ bootstrapServers: "[::1]:9092" }',
    ]

    assert merged(*lists)[:2] == (["b-9092", "b-9093", "1-9092"], ["b-9092", "b-9093", "1-9092"])


def test_a_name_is_enough_where_another_document_describes_it() -> None:
    assert merged(
        "{ name: east }", '{ name: east, bootstrapServers: "b:9092" }', '{ bootstrapServers: "b:9092" }'
    ) == (
        ["east"],
        ["east", "east", "east"],
        [],
    )


def test_two_names_are_two_upstreams() -> None:
    targets = ['{ name: east, bootstrapServers: "b:9092" }', '{ name: west, bootstrapServers: "c:9092" }']

    assert merged(*targets) == (["east", "west"], ["east", "west"], [])


def test_one_name_is_not_two_clusters() -> None:
    targets = ['{ name: east, bootstrapServers: "b:9092" }', '{ name: east, bootstrapServers: "c:9092" }']

    assert merged(*targets)[2] == [
        "1.yaml:2: spec.targetCluster: another east is described at 0.yaml:2: make the two the same, or rename one"
    ]


def test_two_clusters_do_not_begin_with_the_same_broker() -> None:
    targets = ['{ bootstrapServers: "b:9092" }', '{ bootstrapServers: "b:9092,c:9092" }']

    assert merged(*targets)[2] == [
        "1.yaml:2: spec.targetCluster begins with the same broker as that at 0.yaml:2, so it is that one: make the "
        "two the same"
    ]


def test_a_long_host_makes_a_name_that_the_model_takes(folder: Path) -> None:
    host = ".".join(["a" * 40] * 4)

    [upstream] = loaded(folder, PROD.replace("broker-1.internal", host)).clusters

    assert len(upstream.name) == 64
    assert upstream.name.endswith("-9092")


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (
            "{ name: east }",
            ".bootstrapServers is missing: no document describes it; write host:port with commas ",
        ),
        (
            "{ name: 5, bootstrapServers: b:9092 }",
            ".name: expected a text: put it in quotes, found the number 5",
        ),
        ("{ name: [x], bootstrapServers: b:9092 }", ".name: expected a text: put it in quotes, found a list"),
        ("{ name: , bootstrapServers: b:9092 }", ".name has no value: write one, or remove the line"),
        ("{}", ".bootstrapServers is missing: add it; write host:port with commas between, e.g. "),
    ],
)
def test_what_is_wrong_with_one_is_told(folder: Path, target: str, expected: str) -> None:
    told = mistakes(folder, (f"\n    bootstrapServers: {SERVERS}", f" {target}"))

    assert len(told) == 1
    assert told[0].startswith(f"a.yaml:13: spec.targetCluster{expected}")


def test_what_is_wrong_with_a_shared_one_is_told_once(folder: Path) -> None:
    text = f"{PROD}---\n{second()}".replace("broker-2.internal:9092", "broker-2.internal:x")

    assert mistakes(folder, text=text) == [
        "a.yaml:14: spec.targetCluster.bootstrapServers: 'broker-2.internal:x' has no port; write host:port, e.g. "
        "kafka-1.internal:9092"
    ]


SASL = """
    securityProtocol: SASL_PLAINTEXT
    sasl: { mechanism: SCRAM-SHA-512, username: bifrost, passwordFile: secrets/acme.password }"""


def test_how_connections_are_secured_is_a_part_of_it(folder: Path) -> None:
    text = PROD.replace(SERVERS, SERVERS + SASL)
    own = "  upstreamSasl: { mechanism: PLAIN, username: a, passwordFile: secrets/acme.password }\n"

    config = loaded(folder, f"{text}{own}---\n{second(text)}")

    [upstream] = config.clusters
    assert upstream.security_protocol == "SASL_PLAINTEXT"
    assert (upstream.sasl.mechanism, upstream.sasl.username) == ("SCRAM-SHA-512", "bifrost")
    assert [one.upstream_sasl.username if one.upstream_sasl else None for one in config.tenants] == [
        "a",
        None,
    ]


def test_mistakes_in_that_have_their_lines_and_repeat_no_password(folder: Path) -> None:
    text = PROD.replace(SERVERS, SERVERS + SASL)

    for stray in ("password: hunter2", "hunter2", "pass word: hunter2", "clientSecret: hunter2"):
        told = mistakes(folder, ("passwordFile: secrets/acme.password", stray), text=text)
        assert all(line.startswith("a.yaml:16: ") for line in told), told
        assert "hunter2" not in "".join(told)
        told = mistakes(folder, text=f"{text}  upstreamSasl: {{ mechanism: PLAIN, {stray} }}\n")
        assert all(line.startswith("a.yaml:23: ") for line in told), told
        assert "hunter2" not in "".join(told)


def test_the_same_brokers_as_anothers_are_not_another_upstream(folder: Path) -> None:
    other = second(PROD.replace(SERVERS, SERVERS + SASL))

    assert mistakes(folder, text=f"{PROD}---\n{other}") == [
        "a.yaml:34: spec.targetCluster begins with the same broker as that at a.yaml:13, so it is that one: make the "
        "two the same"
    ]
