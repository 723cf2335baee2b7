"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs: a resource's type says whether its name is a topic, a group
or a broker.

A tenant reads the configs of its own topics and groups, and changes those that the policy allows
(`tenancy/policy.py`): all changes of a request to one resource, or none. It may read some configs of a broker
(broker_configs.py); the rest is refused as Kafka refuses a principal without that right on the cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from bifrost.filters.configs.broker_configs import BROKER
from bifrost.filters.configs.inherited_configs import inherit_altered, remember_altered, show_inherited
from bifrost.filters.filter import Exchange, Note, ResponseFilter
from bifrost.filters.steps import FORWARD, Answer, RequestStep, ResponseStep, StateChange
from bifrost.filters.topics.namespace_policy import with_forced
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.policy import SET, Refusal
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    DescribeConfigsResponse,
    IncrementalAlterConfigsResponse,
)
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.state.state_outcome import StateOutcome
    from bifrost.wire.messages import (
        DescribeConfigsRequest,
        IncrementalAlterConfigsRequest,
        ListConfigResourcesResponse,
    )

    _Request = DescribeConfigsRequest | AlterConfigsRequest | IncrementalAlterConfigsRequest

    _Resource = (
        DescribeConfigsRequest.DescribeConfigsResource
        | AlterConfigsRequest.AlterConfigsResource
        | IncrementalAlterConfigsRequest.AlterConfigsResource
    )

    _Response = DescribeConfigsResponse | AlterConfigsResponse | IncrementalAlterConfigsResponse


_REFUSED: Note[list[Any]] = Note("refused_resources")
"""Answers for the resources that the broker is not asked about."""

# Kafka's ConfigResource.Type codes.
_TOPIC, _GROUP = 2, 32
_CLUSTER_TYPES = frozenset({BROKER, 8, 16})
"""BROKER, BROKER_LOGGER, CLIENT_METRICS."""

_ENTITIES = {_TOPIC: Entity.TOPIC_NAME, _GROUP: Entity.GROUP_ID}


class ConfigResourcesFilter:
    """Translates resource names by their type, and refuses the types that belong to the cluster."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.RESOURCE_NAME})

    def __init__(
        self, response: type[Message], result: type[Any], results: str, passed: frozenset[int] = frozenset()
    ) -> None:
        """Create the filter of one of the APIs.

        Args:
            response: its response.
            result: the struct that answers for one resource.
            results: the response's field that holds them.
            passed: types that are sent to the broker unchanged; another filter handles the response.
        """
        self._response = response
        self._result = result
        self._results = results
        self._passed = passed

    def on_request(self, exchange: Exchange, request: _Request) -> RequestStep:
        """Remove the refused resources; answer at once when none is left."""
        refused, accepted = [], []
        resources: Sequence[_Resource] = request.resources
        is_whole = self._response is AlterConfigsResponse
        unremembered = self._remember(exchange, request, is_whole=is_whole)
        if isinstance(unremembered, StateChange):
            return unremembered
        for resource in in_steps(resources):
            if resource.resource_type in self._passed:
                accepted.append(resource)
                continue
            entity = _ENTITIES.get(resource.resource_type)
            if entity is None:
                known = resource.resource_type in _CLUSTER_TYPES
                code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED if known else ErrorCode.INVALID_REQUEST
                refused.append(self._refusal(resource, code, code.message))
                continue
            refusal = _refuse_default(entity, resource) or _violation(
                exchange.scope.namespace, entity, resource
            )
            if refusal is None and unremembered is not None and entity is Entity.TOPIC_NAME:
                refusal = Refusal(unremembered.error_code, unremembered.message or "")
            if refusal is not None:
                refused.append(self._refusal(resource, refusal.error_code, refusal.message))
                continue
            if entity is Entity.TOPIC_NAME and hasattr(resource, "configs"):
                if is_whole:
                    namespace, new = exchange.scope.namespace, AlterConfigsRequest.AlterableConfig
                    name, configs = resource.resource_name, resource.configs
                    resource.configs = with_forced(namespace, name, configs, new, replaces=False)
                inherit_altered(exchange.scope.namespace, resource, is_whole=is_whole)
            resource.resource_name = _physical(exchange.scope.namespace, entity, resource.resource_name)
            accepted.append(resource)
        if refused and not accepted:
            return Answer(self._response(**{self._results: refused}))
        request.resources = accepted  # type: ignore[assignment]  # of the class that they were of before
        exchange.keep(_REFUSED, refused)
        return FORWARD

    def on_response(self, exchange: Exchange, response: _Response) -> ResponseStep:
        """Give the resources their virtual names, and add the refused ones."""
        namespace = exchange.scope.namespace
        results = getattr(response, self._results)
        for result in in_steps(results):
            if result.resource_type in self._passed:
                continue
            name = namespace.virtual(_ENTITIES[result.resource_type], result.resource_name.encode())
            assert name is not None, "the broker answers what it was asked"
            result.resource_name = name.decode()
            if result.resource_type == _TOPIC and self._response is DescribeConfigsResponse:
                show_inherited(namespace, result.resource_name, result.configs)
        results.extend(exchange.kept(_REFUSED))
        return FORWARD

    def _remember(
        self, exchange: Exchange, request: _Request, *, is_whole: bool
    ) -> StateChange | StateOutcome | None:
        """Remember what topics have of their own from now on; see `remember_altered`."""
        if self._response is DescribeConfigsResponse or getattr(request, "validate_only", False):
            return None
        topics = [
            one for one in in_steps(cast("Sequence[Any]", request.resources)) if one.resource_type == _TOPIC
        ]
        return remember_altered(exchange, topics, is_whole=is_whole)

    def _refusal(self, resource: Any, error_code: ErrorCode, error_message: str) -> Any:
        return self._result(
            error_code=error_code,
            error_message=error_message,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )


def _refuse_default(entity: Entity, resource: Any) -> Refusal | None:
    """Refuse to change the empty topic, as ConfigAdminManager does: with a prefix the broker would see another name."""
    if entity is not Entity.TOPIC_NAME or resource.resource_name or not hasattr(resource, "configs"):
        return None
    return Refusal(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")


def _violation(namespace: Namespace, entity: Entity, resource: Any) -> Refusal | None:
    """Return why a change of a resource is not allowed, None when it is, or when the request only describes it."""
    policy, rules = namespace.policy, namespace.rules if entity is Entity.TOPIC_NAME else None
    refuse = policy.refuse_topic_config if entity is Entity.TOPIC_NAME else policy.refuse_group_config
    for config in in_steps(getattr(resource, "configs", ())):
        # AlterConfigs sets the configs that it names, and resets all others.
        operation = getattr(config, "config_operation", SET)
        refusal = refuse(config.name, config.value, operation)
        if refusal is None and rules is not None:
            refusal = rules.refuse_config(resource.resource_name, config.name, config.value, operation)
        if refusal is not None:
            return refusal
    return None


def _physical(namespace: Namespace, entity: Entity, name: str) -> str:
    if entity is Entity.TOPIC_NAME and namespace.hides(name):
        name = namespace.absent_topic(name)  # These APIs check the form of a name, and quote it in errors.
    found = namespace.physical(entity, name.encode())
    assert found is not None
    return found.decode()


def describe_configs_filter() -> ConfigResourcesFilter:
    """Return the filter of DescribeConfigs."""
    response = DescribeConfigsResponse
    return ConfigResourcesFilter(response, response.DescribeConfigsResult, "results", frozenset({BROKER}))


def alter_configs_filter() -> ConfigResourcesFilter:
    """Return the filter of AlterConfigs."""
    response = AlterConfigsResponse
    return ConfigResourcesFilter(response, response.AlterConfigsResourceResponse, "responses")


def incremental_alter_configs_filter() -> ConfigResourcesFilter:
    """Return the filter of IncrementalAlterConfigs (KIP-339)."""
    response = IncrementalAlterConfigsResponse
    return ConfigResourcesFilter(response, response.AlterConfigsResourceResponse, "responses")


class ListConfigResourcesFilter(ResponseFilter):
    """ListConfigResources (KIP-1142): the tenant's own topics and groups; nothing of the cluster."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.RESOURCE_NAME})

    def on_response(self, exchange: Exchange, response: ListConfigResourcesResponse) -> ResponseStep:
        """Keep the tenant's own resources, under their virtual names."""
        namespace = exchange.scope.namespace
        kept = []
        for resource in in_steps(response.config_resources):
            entity = _ENTITIES.get(resource.resource_type)
            name = None if entity is None else namespace.virtual(entity, resource.resource_name.encode())
            if name is not None:
                resource.resource_name = name.decode()
                kept.append(resource)
        response.config_resources = kept
        return FORWARD
