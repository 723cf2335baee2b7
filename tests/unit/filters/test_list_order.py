from bifrost.filters.list_order import ListOrderFilter
from bifrost.wire import messages
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import DescribeLogDirsResponse, ListGroupsResponse
from support.physical_names import physical_name
from support.stage.messages import build
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

GROUP = ListGroupsResponse.ListedGroup


def test_list_is_sorted_by_its_key(stage: Stage) -> None:
    response = ListGroupsResponse(groups=[GROUP(group_id=name) for name in ("b", "a", "c")])

    ListOrderFilter("groups", "group_id").on_response(stage.exchange(4), response)

    assert [one.group_id for one in response.groups] == ["a", "b", "c"]


def test_lists_within_a_list_are_sorted(stage: Stage) -> None:
    topic, result = (
        DescribeLogDirsResponse.DescribeLogDirsTopic,
        DescribeLogDirsResponse.DescribeLogDirsResult,
    )
    response = DescribeLogDirsResponse(results=[result(topics=[topic(name="b"), topic(name="a")]), result()])

    ListOrderFilter("topics", "name", within="results").on_response(stage.exchange(4), response)

    assert [[one.name for one in each.topics] for each in response.results] == [["a", "b"], []]


def test_own_groups_are_sorted_whether_or_not_the_broker_has_others(stage: Stage) -> None:
    request = messages.ListGroupsRequest()
    own = [{"group_id": name} for name in ("a", "b")]
    for foreign in ([], [{"group_id": physical_name("globex", "a")}]):
        listed = [{"group_id": physical_name("acme", name)} for name in ("b", "a")] + foreign

        assert (
            stage.play()
            >> client_sends(request, 4)
            << to_broker(request)
            >> broker_answers(build("ListGroupsResponse", {"groups": listed}))
            << to_client(build("ListGroupsResponse", {"groups": own}))
        )


def test_order_of_every_list_of_all_tenants_things_is_the_names(stage: Stage) -> None:
    for api_key, version in (
        (ApiKey.LIST_GROUPS, 5),
        (ApiKey.LIST_TRANSACTIONS, 1),
        (ApiKey.DESCRIBE_LOG_DIRS, 4),
    ):
        plan = stage.shared.plans.plan_for(api_key, version)

        assert plan is not None
        assert any(isinstance(one, ListOrderFilter) for one in plan.filters)
        assert plan.response.program is None
