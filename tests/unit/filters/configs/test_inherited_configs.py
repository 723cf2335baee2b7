"""Configs that topics inherit from their namespaces, from the client to the broker and back."""

from collections import Counter
from typing import Any

import pytest

from bifrost.filters.configs import inherited_configs
from bifrost.state.state_change import Change
from bifrost.state.state_outcome import OutcomeKind, StateOutcome
from bifrost.tenancy.namespaces.namespace_path import Path
from bifrost.tenancy.policies.namespace_policies import NamespacePolicies
from bifrost.tenancy.policies.namespace_rules import NamespaceRules
from bifrost.tenancy.topic_configs.config_records import (
    NAMESPACE_KIND,
    TOPIC_KIND,
    NamespaceConfig,
    namespace_body,
    namespace_key,
    topic_key,
)
from bifrost.tenancy.topic_configs.namespace_configs import NamespaceConfigs
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage
from support.stage.state_on_stage import StateOnStage

INITECH = Path(("initech",))
SET, DELETE = 0, 1
RETENTION = "retention.ms"


@pytest.fixture
def state(stage: Stage) -> StateOnStage:
    model, namespace = NamespaceConfigs(), stage.namespaces["initech"]
    namespace.rules = NamespaceRules(namespace.names, NamespacePolicies(), Counter(), model)
    found = StateOnStage(stage, **{NAMESPACE_KIND: model, TOPIC_KIND: model})
    found.change(Change(namespace_key(INITECH), 0, namespace_body(NamespaceConfig({RETENTION: "1000"}))))
    return found


def own(state: StateOnStage, topic: str) -> Any:
    record = state.table.get(topic_key(INITECH, topic))
    return None if record is None else record.body


def create(name: str, **configs: str | None) -> Any:
    given = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "configs": given}
    return messages.build("CreateTopicsRequest", {"topics": [topic], "timeout_ms": 1})


def resource(topic: str, *configs: dict[str, Any]) -> dict[str, Any]:
    return {"resource_type": 2, "resource_name": topic, "configs": list(configs)}


def incremental(topic: str, value: str | None, operation: int = SET) -> Any:
    config = {"name": RETENTION, "config_operation": operation, "value": value}
    return messages.build("IncrementalAlterConfigsRequest", {"resources": [resource(topic, config)]})


def physical(name: str) -> str:
    return physical_name("initech", name)


def test_a_new_topic_gets_what_it_inherits_and_nothing_is_written(stage: Stage, state: StateOnStage) -> None:
    book = stage.play("initech")
    book >> client_sends(create("a", cleanup_policy="compact", retention_ms=None), 5)
    book << to_broker(create(physical("a"), cleanup_policy="compact", retention_ms="1000"))

    assert (
        book
        >> client_sends(create("b", retention_ms="5"), 5)
        << to_broker(create(physical("b"), retention_ms="5"))
    )
    assert state.changes == 1


def test_what_a_new_topic_has_of_its_own_is_remembered_first(stage: Stage, state: StateOnStage) -> None:
    book = stage.play("initech") >> client_sends(create("a", retention_ms="1000"), 5) >> state.writes()

    assert book << to_broker(create(physical("a"), retention_ms="1000"))
    assert own(state, "a") == {"own": {RETENTION: "1000"}}


def test_the_answer_tells_the_source(stage: Stage, state: StateOnStage) -> None:
    book = (
        stage.play("initech")
        >> client_sends(create("a"), 5)
        << to_broker(create(physical("a"), retention_ms="1000"))
    )

    def created(name: str, source: int) -> Any:
        config = {"name": RETENTION, "value": "1000", "config_source": source}
        topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "configs": [config]}
        return messages.build("CreateTopicsResponse", {"topics": [topic]})

    assert book >> broker_answers(created(physical("a"), 1)) << to_client(created("a", 3))


def test_a_config_that_is_taken_back_becomes_the_inherited_one(stage: Stage, state: StateOnStage) -> None:
    state.change(Change(topic_key(INITECH, "a"), 0, {"own": {RETENTION: "1000"}}))
    book = stage.play("initech") >> client_sends(incremental("a", None, DELETE), 1) >> state.writes()

    assert book << to_broker(incremental(physical("a"), "1000"))
    assert own(state, "a") is None


def test_a_value_that_is_set_to_just_the_inherited_one_is_the_topics_own(
    stage: Stage, state: StateOnStage
) -> None:
    book = stage.play("initech") >> client_sends(incremental("a", "1000"), 1) >> state.writes()

    assert book << to_broker(incremental(physical("a"), "1000"))
    assert own(state, "a") == {"own": {RETENTION: "1000"}}


def test_configs_that_alter_configs_does_not_name_become_the_inherited_ones(
    stage: Stage, state: StateOnStage
) -> None:
    compact, inherited = {"name": "cleanup.policy", "value": "compact"}, {"name": RETENTION, "value": "1000"}
    request = messages.build("AlterConfigsRequest", {"resources": [resource("a", compact)]})

    assert (
        stage.play("initech")
        >> client_sends(request, 1)
        << to_broker(
            messages.build(
                "AlterConfigsRequest", {"resources": [resource(physical("a"), compact, inherited)]}
            )
        )
    )


def test_nothing_is_remembered_for_a_request_that_only_validates(stage: Stage, state: StateOnStage) -> None:
    request = create("a", retention_ms="1000")
    request.validate_only = True

    book = stage.play("initech") >> client_sends(request, 5)
    request = create(physical("a"), retention_ms="1000")
    request.validate_only = True
    assert book << to_broker(request)


def test_what_cannot_be_remembered_is_not_set(stage: Stage, state: StateOnStage) -> None:
    outcome = StateOutcome(OutcomeKind.UNAVAILABLE)
    book = stage.play("initech") >> client_sends(incremental("a", "1000"), 1) >> state.fails(outcome)
    result = {
        "error_code": ErrorCode.REQUEST_TIMED_OUT,
        "error_message": outcome.message,
        "resource_type": 2,
        "resource_name": "a",
    }
    book << to_client(messages.build("IncrementalAlterConfigsResponse", {"responses": [result]}))

    book = stage.play("initech") >> client_sends(create("a", retention_ms="1000"), 5) >> state.fails(outcome)
    topic = {
        "name": "a",
        "error_code": ErrorCode.REQUEST_TIMED_OUT,
        "error_message": outcome.message,
        "configs": [],
    }
    assert book << to_client(messages.build("CreateTopicsResponse", {"topics": [topic]}))


def test_a_client_cannot_fill_the_state(
    stage: Stage, state: StateOnStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inherited_configs, "MAX_REMEMBERED", 1)
    stage.play("initech") >> client_sends(incremental("a", "1000"), 1) >> state.writes()

    book = stage.play("initech") >> client_sends(incremental("b", "1000"), 1)
    text = StateOutcome(OutcomeKind.TOO_LARGE).message
    result = {"error_code": 44, "error_message": text, "resource_type": 2, "resource_name": "b"}
    assert book << to_client(messages.build("IncrementalAlterConfigsResponse", {"responses": [result]}))


def test_a_description_tells_which_values_are_inherited(stage: Stage, state: StateOnStage) -> None:
    state.change(Change(topic_key(INITECH, "own"), 0, {"own": {RETENTION: "1000"}}))

    def described(source: int, *names: str) -> Any:
        def config(name: str) -> dict[str, Any]:
            kind = 1 if name.endswith("own") else source
            synonyms = [{"name": RETENTION, "value": "1000", "source": one} for one in (kind, 5)]
            return {"name": RETENTION, "value": "1000", "config_source": kind, "synonyms": synonyms}

        results = [{"resource_type": 2, "resource_name": name, "configs": [config(name)]} for name in names]
        return messages.build("DescribeConfigsResponse", {"results": results})

    asked = [{"resource_type": 2, "resource_name": name, "configuration_keys": None} for name in ("a", "own")]
    sent = [one | {"resource_name": physical(one["resource_name"])} for one in asked]
    book = stage.play("initech")
    book >> client_sends(messages.build("DescribeConfigsRequest", {"resources": asked}), 4)
    book << to_broker(messages.build("DescribeConfigsRequest", {"resources": sent}))

    assert (
        book
        >> broker_answers(described(1, physical("a"), physical("own")))
        << to_client(described(3, "a", "own"))
    )
