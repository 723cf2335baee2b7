"""Every place of a document with wrong values: the schema refuses what the loader refuses, which names a line."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from bifrost.config.errors import ConfigError, Problem
from bifrost.config.json_schema import configuration_schema
from bifrost.config.loc import Loc
from support.identity.certificates import Authority
from support.journal.loading import load
from unit.config.test_wrong_values import places, put
from unit.config.virtual_cluster_files import PROD, SNI, other

SCHEMA = jsonschema.Draft202012Validator(configuration_schema())
WRONG: tuple[Any, ...] = (
    *("text", "", 5, 0, -1, 1.5, True, [], ["a"], {}, {"x": 1}, {1: 2}),
    *("SSL", "PLAINTEXT", "{tenant}.x", "b{node_id}.x", "{tenant}-{node_id}.x"),
)
EVERY = 2
"""Of the wrong values each place gets every second, the next place the others; all of them take twice as long."""

NO_SCHEMA_CAN_SAY: dict[Loc, str] = {
    ("metadata", "name"): "another document has this name, or a host name cannot",
    ("spec", "auth"): "where the KafkaGateway has tokens that name their tenant, no users are needed",
    ("spec", "auth", "credentials"): "the same",
    ("spec", "auth", "credentials", 0, "passwordFile"): "there is no such file",
    ("spec", "listener", "port"): "another document may have the port",
    ("spec", "listener", "sni", "bootstrapHost"): "another document of the port says something else",
    ("spec", "listener", "sni", "brokerHost"): "another document of the port says something else",
    ("spec", "listener", "tls", "certificateFile"): "there is no such file",
    ("spec", "listener", "tls", "keyFile"): "there is no such file",
}
"""Places where the loader refuses a value because of what stands elsewhere."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working directory, with the files that the documents name."""
    folder = tmp_path_factory.mktemp("documents")
    Authority("CA").server("*.kafka.example.com").write(folder / "tls", "server")
    (folder / "secrets").mkdir()
    (folder / "secrets/acme.password").write_text("wile-e")
    before = Path.cwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


def loads(folder: Path, documents: list[Any]) -> bool:
    """Whether the loader takes these documents; if not, every mistake has its line."""
    (folder / "a.yaml").write_text(yaml.safe_dump_all(documents, sort_keys=False))
    problems: tuple[Problem, ...] | None = None
    try:
        load("a.yaml")
    except ConfigError as error:
        problems = error.problems
    assert problems is None or (problems and all(problem.line for problem in problems))
    return problems is None


@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", [SNI, PROD.replace("9093", "19093")], ids=["beside its own kind", "alone"])
def test_every_wrong_value_is_refused_by_both_or_by_neither(folder: Path, first: str) -> None:
    before, sound = yaml.safe_load(first), yaml.safe_load(other("globex"))
    assert loads(folder, [before, sound])
    too_lax: set[Loc] = set()
    for number, loc in enumerate(places(sound)):
        for wrong in WRONG[number % EVERY :: EVERY]:
            changed = put(sound, loc, wrong)
            is_loaded, is_valid = loads(folder, [before, changed]), SCHEMA.is_valid(changed)
            assert is_valid or not is_loaded, f"the schema refuses {wrong!r} at {loc}, the loader does not"
            if is_valid and not is_loaded:
                too_lax.add(loc)

    assert too_lax - NO_SCHEMA_CAN_SAY.keys() == set()


SEALING = {"name": "EnvelopeEncryption", "config": {"kmsProvider": "Vault", "keyId": "k"}}
RETENTION = {"name": "retention.ms"}


@pytest.mark.parametrize(
    ("at", "value", "expected"),
    [
        (("listener", "singleAddress"), True, False),
        (("listener", "singleAddress"), False, True),
        (("virtualization",), {"acls": {"mode": "broker"}}, False),
        (("virtualization",), {"namespaceEncoding": "dotted", "namespaces": ["eu"]}, False),
        (("virtualization",), {"namespacePolicies": [{"maxTopics": 1}, {"maxTopics": 2}]}, False),
        (("virtualization",), {"policy": {"topicConfigs": [RETENTION | {"max": 1}]}}, True),
        (
            ("virtualization",),
            {"policy": {"topicConfigs": [RETENTION | {"max": one} for one in (1, 2)]}},
            False,
        ),
        (("virtualization",), {"virtualPartitions": [{"topics": ["a"], "ratio": 2, "virtual": 4}]}, False),
        (("filters",), [SEALING], True),
        (("filters",), [SEALING, SEALING | {"label": "b"}], False),
    ],
)
def test_rules_of_keys_beside_each_other_hold_in_documents(
    folder: Path, at: Loc, value: object, expected: bool
) -> None:
    changed = put(yaml.safe_load(other("globex")), ("spec", *at), value)

    assert SCHEMA.is_valid(changed) == expected
    assert loads(folder, [changed]) == expected
