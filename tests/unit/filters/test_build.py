import ast
import inspect
import sys
from typing import get_args

import pytest

from bifrost.filters.build import _UNLESS_USUAL, build_plans
from bifrost.filters.filter import RequestFilter, ResponseFilter
from bifrost.filters.groups.consumer_protocol import JoinGroupFilter
from bifrost.filters.groups.group_heartbeat import ConsumerRegexFilter, EmptyGroupFilter
from bifrost.filters.groups.group_names import GroupNameFilter
from bifrost.filters.groups.moved_subscriptions import MovedSubscriptionsFilter
from bifrost.filters.left_out.broker_state import (
    CommittedOffsetsFilter,
    JoinedGroupsFilter,
    LivingMembersFilter,
    ProducersFilter,
    TransactionalIdsFilter,
)
from bifrost.filters.topics.fetched_names import FetchedNamesFilter
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.fields.entities import REFUSED, SERVED, served_versions
from bifrost.wire.message import message_class


@pytest.fixture(scope="module")
def plans():
    return build_plans()


@pytest.mark.parametrize("api_key", [*SERVED, *REFUSED], ids=lambda key: key.name)
def test_every_version_that_is_offered_has_a_plan(plans, api_key: ApiKey) -> None:
    for version in served_versions(api_key):
        plan = plans.plan_for(api_key, version)

        assert (plan.api_key, plan.api_version) == (api_key, version)
        assert plan.is_refused == (api_key in REFUSED)


@pytest.mark.parametrize("api_key", [*SERVED, *REFUSED], ids=lambda key: key.name)
def test_no_other_version_has_one(plans, api_key: ApiKey) -> None:
    versions = served_versions(api_key)

    assert plans.plan_for(api_key, versions.low - 1) is None
    assert plans.plan_for(api_key, versions.high + 1) is None


@pytest.mark.parametrize("api_key", [ApiKey.WRITE_TXN_MARKERS, ApiKey.PUSH_TELEMETRY, 999, -1])
def test_no_other_api_has_one(plans, api_key: int) -> None:
    assert plans.plan_for(api_key, 0) is None


def test_the_apis_of_the_hot_path_are_done_in_place(plans) -> None:
    for api_key in (ApiKey.PRODUCE, ApiKey.FETCH):
        for version in served_versions(api_key):
            plan = plans.plan_for(api_key, version)

            assert plan.request.program is not None, plan
            assert plan.response.program is not None, plan


def accepted_types(one: object, method: str, argument: str) -> tuple[type, ...]:
    """Return the message classes that a filter's method takes, as its annotation says."""
    function = inspect.unwrap(getattr(type(one), method))
    module = sys.modules[function.__module__]
    names = dict(vars(module))
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), module.__name__, "exec"), names)  # noqa: S102
    annotation = inspect.signature(function).parameters[argument].annotation
    found = eval(annotation, names) if isinstance(annotation, str) else annotation
    return get_args(found) or (found,)


@pytest.mark.parametrize("api_key", [*SERVED, *REFUSED], ids=lambda key: key.name)
def test_every_filter_is_made_for_the_messages_that_it_gets(plans, api_key: ApiKey) -> None:
    plan = plans.plan_for(api_key, served_versions(api_key).high)

    for one in plan.filters:
        assert issubclass(message_class(plan.request.message), accepted_types(one, "on_request", "request"))
        assert issubclass(
            message_class(plan.response.message), accepted_types(one, "on_response", "response")
        )


def test_a_filter_of_another_api_would_be_found() -> None:
    accepted = accepted_types(JoinGroupFilter(), "on_request", "request")

    assert accepted == (message_class("JoinGroupRequest"),)
    assert not issubclass(message_class("SyncGroupRequest"), accepted)


STOPPED_OTHERWISE = {
    EmptyGroupFilter: "the engine has no physical name of an empty group ID, so it stops at one",
    GroupNameFilter: "the engine has no physical name of a group that a policy refuses",
    FetchedNamesFilter: "the engine has no physical name of a topic to fetch before it was seen to exist",
    **dict.fromkeys(
        (CommittedOffsetsFilter, JoinedGroupsFilter, ProducersFilter, TransactionalIdsFilter),
        "a lane lets no request pass for whose entries there is no room",
    ),
    LivingMembersFilter: "a lane enters the member of each heartbeat that it lets pass",
    ConsumerRegexFilter: "the engine has no physical form of a pattern before the namespace has confined it",
    MovedSubscriptionsFilter: "requests are always decoded, and it asks for the answers that it has to see",
}
"""Filters of messages that are handled in place, and what stops those messages that the filter is for."""


def does_nothing(one: object, method: str) -> bool:
    """Whether a filter leaves all messages of one direction unchanged."""
    return getattr(type(one), method) in (RequestFilter.on_response, ResponseFilter.on_request)


@pytest.mark.parametrize("api_key", SERVED, ids=lambda key: key.name)
def test_every_filter_sees_the_messages_that_it_is_for(plans, api_key: ApiKey) -> None:
    """The engine handles a message without the filters, unless a field stops it: an entity, or an unusual value."""
    missed = set()
    for version in served_versions(api_key):
        plan = plans.plan_for(api_key, version)
        for direction, method in ((plan.request, "on_request"), (plan.response, "on_response")):
            if direction.program is not None and direction.message not in _UNLESS_USUAL:
                missed |= {
                    f"{type(one).__name__}.{method} does not see {direction.message}"
                    for one in plan.filters
                    if not one.ENTITIES
                    and type(one) not in STOPPED_OTHERWISE
                    and not does_nothing(one, method)
                }

    assert missed == set(), "name the message in _DECODED or _UNLESS_USUAL of filters/build.py"
