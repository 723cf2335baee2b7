import pytest

from support.physical_names import physical_name
from support.stage import messages
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

APIS = ["ShareGroupDescribe", "StreamsGroupDescribe"]


def described(api: str, group_id: str, client_host: str):
    member = {"member_id": "a", "client_id": "a-client", "client_host": client_host}
    group = {"group_id": group_id, "group_state": "Stable", "members": [member]}
    if api == "StreamsGroupDescribe":
        group["topology"] = None
    return messages.build(f"{api}Response", {"groups": [group]})


@pytest.mark.parametrize("api", APIS)
def test_members_are_shown_at_the_gateway_as_the_client_knows_it(stage: Stage, api: str) -> None:
    asked, physical = (
        messages.build(f"{api}Request", {"group_ids": [name]}) for name in ("g", physical_name("acme", "g"))
    )
    assert (
        stage.play()
        >> client_sends(asked)
        << to_broker(physical)
        >> broker_answers(described(api, physical_name("acme", "g"), "/10.0.0.9"))
        << to_client(described(api, "g", "/proxy.example.com"))
    )


@pytest.mark.parametrize("api", APIS)
def test_a_group_of_another_tenant_is_not_described(stage: Stage, api: str) -> None:
    asked, physical = (
        messages.build(f"{api}Request", {"group_ids": [name]}) for name in ("g", physical_name("acme", "g"))
    )
    book = stage.play() >> client_sends(asked) << to_broker(physical)

    book >> broker_answers(described(api, physical_name("globex", "g"), "/10.0.0.9"))

    assert book << to_client(messages.build(f"{api}Response", {}))
