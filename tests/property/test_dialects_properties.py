"""What the flat dialect says and the same in Kubernetes-style documents: equal configurations; the schema has both."""

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bifrost.config.errors import ConfigError, Problem
from bifrost.config.json_schema import configuration_schema
from bifrost.config.kubernetes.virtual_clusters import API_VERSION
from bifrost.config.model import Config
from support.journal.loading import load

SCHEMA = jsonschema.Draft202012Validator(configuration_schema())
NAMES = st.lists(st.from_regex(r"[a-zA-Z0-9-]{1,20}", fullmatch=True), min_size=1, max_size=4, unique=True)
ADDRESSES = st.builds(
    "{}:{}".format, st.sampled_from(["b-1", "b-2.internal", "[::1]", "10.0.0.1"]), st.integers(1, 65535)
)
LIMITS = st.fixed_dictionaries(
    {},
    optional={"max_connections": st.integers(1, 99), "max_reauth_ms": st.sampled_from([0, "30s", "1.5 h"])},
)
ADMIN = st.fixed_dictionaries({"port": st.integers(1, 1000)}, optional={"bind_host": st.just("127.0.0.1")})
LISTENER = st.fixed_dictionaries(
    {"advertised_host": st.sampled_from(["gateway.example.com", "10.1.2.3"])},
    optional={"bind_host": st.sampled_from(["0.0.0.0", "::"]), "broker_id_base": st.integers(0, 5)},
)
TENANT = st.fixed_dictionaries(
    {},
    optional={
        "allowed_topics": st.lists(
            st.sampled_from(["orders", "a.b", "c_d"]), min_size=1, max_size=3, unique=True
        ),
        "allow_topic_deletion": st.booleans(),
    },
)


def camel(value: Any) -> Any:
    """A section with its keys in camelCase."""
    if isinstance(value, dict):
        return {
            re.sub("_(.)", lambda found: found[1].upper(), key): camel(inner) for key, inner in value.items()
        }
    return [camel(inner) for inner in value] if isinstance(value, list) else value


@st.composite
def both_dialects(draw: st.DrawFn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A configuration in the one and in the other."""
    proxy = draw(st.fixed_dictionaries({}, optional={"limits": LIMITS.filter(bool), "admin": ADMIN}))
    upstreams = {
        name: {"bootstrap": draw(st.lists(ADDRESSES, min_size=1, max_size=3, unique=True))}
        for name in draw(NAMES)
    }
    sets, tenants, used, documents = [], [], [], []
    for index, name in enumerate(draw(NAMES)):
        upstream = draw(st.sampled_from(sorted(upstreams)))
        used += [upstream] if upstream not in used else []
        first = 2000 + 100 * index
        ports = {"start": first + 1, "end": first + 1 + draw(st.integers(0, 20))}
        listener, rules = draw(LISTENER), draw(TENANT)
        prefixes = {kind: f"p{index}-{kind[0]}" for kind in ("topic", "group", "transactional_id")}
        users = [{"username": f"user-{index}", "password_file": "password"}] if draw(st.booleans()) else []
        protocol = "SASL_PLAINTEXT" if users else "PLAINTEXT"
        auth = {"auth": {"credentials": users}} if users else {}
        port_range = {"bootstrap_port": first, "broker_port_range": ports, **listener}
        sets.append({"name": name, "tenant": name, "security_protocol": protocol, "port_range": port_range})
        tenants.append({"name": name, "upstream": upstream, "prefixes": prefixes, **rules, **auth})
        bind = {"bind": listener["bind_host"]} if "bind_host" in listener else {}
        others = {key: value for key, value in listener.items() if key != "bind_host"}
        spec = {
            "listener": {"port": first, "brokerPorts": ports, **bind, **camel(others)},
            "targetCluster": {
                "name": upstream,
                "bootstrapServers": ",".join(upstreams[upstream]["bootstrap"]),
            },
            "virtualization": {
                "topicPrefix": prefixes["topic"],
                "groupPrefix": prefixes["group"],
                "transactionIdPrefix": prefixes["transactional_id"],
                **camel(rules),
            },
            **camel(auth),
        }
        if draw(st.booleans()):
            spec["listener"]["securityProtocol"] = protocol
        documents.append(
            {
                "apiVersion": API_VERSION,
                "kind": "KafkaVirtualCluster",
                "metadata": {"name": name},
                "spec": spec,
            }
        )
    if proxy:
        gateway = {"apiVersion": API_VERSION, "kind": "KafkaGateway", "spec": camel(proxy)}
        documents.insert(draw(st.integers(0, len(documents))), gateway)
    flat_upstreams = [{"name": name, **upstreams[name]} for name in used]
    return {
        "proxy": {**proxy, "listener_sets": sets},
        "upstreams": flat_upstreams,
        "tenants": tenants,
    }, documents


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dialects")
    (folder / "password").write_text("correct-horse-battery")
    return folder


@settings(max_examples=max(60, settings().max_examples))
@given(dialects=both_dialects(), is_folder=st.booleans())
def test_both_dialects_make_the_same_configuration(
    folder: Path, dialects: tuple[dict[str, Any], list[dict[str, Any]]], is_folder: bool
) -> None:
    flat, documents = dialects
    (folder / "flat.conf").write_text(yaml.safe_dump(flat, sort_keys=False))
    for old in folder.glob("*.yaml"):
        old.unlink()
    if is_folder:
        for index, document in enumerate(documents):
            (folder / f"{index:02}.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    else:
        (folder / "all.yaml").write_text(yaml.safe_dump_all(documents, sort_keys=False))

    assert load(folder) == load(folder / "flat.conf")
    assert all(SCHEMA.is_valid(document) for document in [flat, *documents])


@settings(max_examples=max(60, settings().max_examples))
@given(dialects=both_dialects(), data=st.data())
def test_damaged_documents_are_refused_with_their_lines_or_load(
    folder: Path, dialects: tuple[dict[str, Any], list[dict[str, Any]]], data: st.DataObject
) -> None:
    text = yaml.safe_dump_all(dialects[1], sort_keys=False)
    lines = text.splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        lines[at] = data.draw(
            st.sampled_from(
                ["", "---", f"{lines[at]} x", f"x: {lines[at]}", lines[at].partition(":")[0] + ":", "- 5"]
            )
        )
    path = folder / "damaged.conf"
    path.write_text("\n".join(lines))

    try:
        found: object = load(path)
        problems: tuple[Problem, ...] = ()
    except ConfigError as error:
        found, problems = error, error.problems

    assert "correct-horse-battery" not in f"{found} {found!r}"
    assert isinstance(found, Config) or problems
    assert all(problem.line and problem.line <= len(lines) + 1 for problem in problems)
