"""A list of everything is the same to the tenant whether what is foreign was left out before decoding or after."""

import random
from collections.abc import Callable

import pytest

from bifrost.session import decoded_response
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.fields.entities import served_versions
from bifrost.wire.message import Message
from bifrost.wire.messages import ListGroupsResponse, ListTransactionsResponse, MetadataResponse
from bifrost.wire.schema import request_schema
from support.gateways.sample import sample
from support.physical_names import prefix_of
from support.stage.playbook import request_frame, response_frame
from support.stage.stage import WITHOUT_TOPIC_PAGES, Stage

PREFIXES = (prefix_of("acme"), prefix_of("globex"), prefix_of("initech"), "__", "")
NO_ID = bytes(16)


def topics(names: list[str]) -> Message:
    topic, partition = MetadataResponse.MetadataResponseTopic, MetadataResponse.MetadataResponsePartition
    partitions = [partition(partition_index=0, leader_id=1, replica_nodes=[1])]
    return MetadataResponse(topics=[topic(name=n, topic_id=NO_ID, partitions=partitions) for n in names])


def groups(names: list[str]) -> Message:
    return ListGroupsResponse(groups=[ListGroupsResponse.ListedGroup(group_id=name) for name in names])


def transactions(names: list[str]) -> Message:
    state = ListTransactionsResponse.TransactionState
    return ListTransactionsResponse(transaction_states=[state(transactional_id=name) for name in names])


LISTS: dict[ApiKey, Callable[[list[str]], Message]] = {
    ApiKey.METADATA: topics,
    ApiKey.LIST_GROUPS: groups,
    ApiKey.LIST_TRANSACTIONS: transactions,
}


def told(tenant: str, api_key: ApiKey, version: int, answer: bytes) -> bytes:
    """What a tenant that asks for everything is told when the broker answers so."""
    session = Stage(versions=WITHOUT_TOPIC_PAGES).play(tenant).session
    request = sample(request_schema(api_key).name, version, lambda _entity, _field: "")
    if api_key == ApiKey.METADATA:
        request.topics = None if version else []
    session.receive_from_client(request_frame(request, version, 7))
    session.receive_from_broker(answer)
    return b"".join(session.to_client)


@pytest.mark.parametrize("tenant", ["acme", "initech"])
@pytest.mark.parametrize("api_key", LISTS, ids=lambda key: key.name)
def test_pruned_or_not_the_answer_is_the_same(
    api_key: ApiKey, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in served_versions(api_key) or ():
        rng = random.Random(version)
        names = [prefix + name for prefix in PREFIXES for name in ("orders", "events", "x")] * 4
        rng.shuffle(names)
        answer = response_frame(LISTS[api_key](names), version, 7)
        monkeypatch.setattr(decoded_response, "_PRUNED_FROM_BYTES", len(answer))
        decoded = told(tenant, api_key, version, answer)
        monkeypatch.setattr(decoded_response, "_PRUNED_FROM_BYTES", 0)

        assert told(tenant, api_key, version, answer) == decoded
        assert b"orders" in decoded
        assert b"globex" not in decoded
