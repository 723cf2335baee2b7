"""Plays the scenarios beside it; README.md says how they are written."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from bifrost.forwarding.turns import Turns
from bifrost.session.close_reason import CloseReason
from bifrost.tenancy.topic_regex import confine
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import SERVED, served_versions
from bifrost.wire.schema import read_version_range, request_schema, response_schema
from support.physical_names import prefix_of
from support.stage.hasty_turns import HastyTurns, pausing_everywhere
from support.stage.messages import build, consumer_payload, topic_id
from support.stage.playbook import broker_answers, client_sends, ends, to_broker, to_client
from support.stage.stage import PHYSICAL_CLUSTER_ID, TENANTS, Stage

KEYS = {
    "name", "versions", "tenant", "settings", "topics", "client_sends", "to_broker", "broker_answers", "to_client",
    "ends",
}  # fmt: skip


class Late:
    """A value that is known only when the stage is set."""

    def __init__(self, kind: str, argument: str) -> None:
        self.kind = kind
        self.argument = argument

    def value(self, stage: Stage, tenant: str) -> Any:
        if self.kind == "masked":
            return stage.masked(topic_id(self.argument), tenant)
        return stage.namespaces[self.argument].virtual_cluster_id(PHYSICAL_CLUSTER_ID)


class Offered:
    """The answer to ApiVersions."""


class Loader(yaml.SafeLoader):
    """Reads the tags of README.md."""


def _payload(loader: Any, kind: str, node: Any) -> bytes:
    fields = loader.construct_mapping(node, deep=True)
    return consumer_payload(kind, fields.pop("version"), **fields)


Loader.add_constructor("!id", lambda loader, node: topic_id(loader.construct_scalar(node)))
Loader.add_constructor("!masked", lambda loader, node: Late("masked", loader.construct_scalar(node)))
Loader.add_constructor("!cluster_id", lambda loader, node: Late("cluster_id", loader.construct_scalar(node)))
Loader.add_constructor("!offered", lambda _loader, _node: Offered())
Loader.add_constructor("!bytes", lambda loader, node: loader.construct_scalar(node).encode("latin-1"))
Loader.add_constructor("!error", lambda loader, node: int(ErrorCode[loader.construct_scalar(node)]))
Loader.add_constructor("!text", lambda loader, node: ErrorCode[loader.construct_scalar(node)].message)
Loader.add_constructor(
    "!regex", lambda loader, node: confine(loader.construct_scalar(node), prefix_of("acme"))
)
Loader.add_constructor("!subscription", lambda loader, node: _payload(loader, "Subscription", node))
Loader.add_constructor("!assignment", lambda loader, node: _payload(loader, "Assignment", node))

FILES = sorted(Path(__file__).parent.glob("*.yaml"))
SCENARIOS = [
    pytest.param(path.stem, scenario, id=f"{path.stem}: {scenario['name']}")
    for path in FILES
    for scenario in yaml.load(path.read_text(encoding="utf-8"), Loader)
]


def resolved(values: Any, stage: Stage, tenant: str) -> Any:
    """Give the values with everything late filled in."""
    if isinstance(values, Late):
        return values.value(stage, tenant)
    if isinstance(values, Mapping):
        return {key: resolved(value, stage, tenant) for key, value in values.items()}
    if isinstance(values, list):
        return [resolved(value, stage, tenant) for value in values]
    return values


def play(api_key: ApiKey, scenario: Mapping[str, Any], version: int, turns: Turns | None = None) -> None:
    tenant = scenario.get("tenant", "acme")
    settings = {**TENANTS}
    if "settings" in scenario:
        settings[tenant] = replace(settings[tenant], **scenario["settings"])
    stage = Stage(settings)
    stage.shared.turns = turns
    for topic in scenario.get("topics", ()):
        stage.topic(topic)

    def message(key: str, name: str) -> Any:
        if isinstance(scenario[key], Offered):
            return stage.versions.response(version)
        return build(name, resolved(scenario[key] or {}, stage, tenant), version)

    request, response = request_schema(api_key).name, response_schema(api_key).name
    book = stage.play(tenant) >> client_sends(message("client_sends", request), version)
    if "to_broker" in scenario:
        book << to_broker(message("to_broker", request))
    if "broker_answers" in scenario:
        book >> broker_answers(message("broker_answers", response))
    if "to_client" in scenario:
        book << to_client(message("to_client", response))
    if "ends" in scenario:
        book << ends(CloseReason(scenario["ends"]))
    assert book


@pytest.mark.parametrize(("api", "scenario"), SCENARIOS)
def test_scenario(api: str, scenario: Mapping[str, Any]) -> None:
    assert set(scenario) <= KEYS
    api_key = ApiKey[api.upper()]
    served = served_versions(api_key)
    assert served is not None
    versions = read_version_range(str(scenario["versions"])) if "versions" in scenario else served
    assert versions.low in served
    assert versions.high in served

    for version in versions:
        play(api_key, scenario, version)
    with pausing_everywhere():
        play(api_key, scenario, versions.high, HastyTurns())


def test_every_api_that_is_served_has_its_scenarios() -> None:
    assert {path.stem for path in FILES} == {key.name.lower() for key in SERVED}


def test_every_version_of_every_api_is_in_some_scenario() -> None:
    played: dict[str, set[int]] = {}
    for parameters in SCENARIOS:
        api, scenario = parameters.values
        served = served_versions(ApiKey[api.upper()])
        versions = read_version_range(str(scenario["versions"])) if "versions" in scenario else served
        played.setdefault(api, set()).update(versions)

    assert played == {key.name.lower(): set(served_versions(key) or ()) for key in SERVED}
