"""What a coordinator is asked; real ones answer in tests/kafka/virtual/test_expiring_offsets.py."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from bifrost.filters.api_versions import offered_versions
from bifrost.gateway.brokers.cluster import Broker
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.upkeep import coordinator as module
from bifrost.gateway.upkeep.coordinator import Coordinator
from bifrost.tenancy.virtual_partitions.commit_stamps import CommitStamp, stamped
from bifrost.tenancy.virtual_partitions.kept_offsets import TOUCHED, KeptOffset
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.stage import messages
from support.stage.stage import broker_versions

T = TypeVar("T")
STAMP = CommitStamp(7, is_transactional=True)


class Script:
    """Stands for the class BrokerClient: gives answers in their order, and keeps what was asked."""

    address = "kafka-1:9092"
    security = None

    def __init__(self, *answers: tuple[str, dict[str, Any]]) -> None:
        self.answers = [messages.build(name, fields) for name, fields in answers]
        self.asked: list[tuple[Any, int]] = []
        self.is_closed = False

    def __call__(self, host: str, port: int, **_options: Any) -> "Script":
        return self

    async def request(self, message: Any, version: int) -> Any:
        self.asked.append((message, version))
        return self.answers.pop(0)

    async def close(self) -> None:
        self.is_closed = True

    @property
    def names(self) -> list[str]:
        return [type(one).__name__ for one, _ in self.asked]


def broker(*without: ApiKey) -> Broker:
    answer = broker_versions()
    answer.api_keys = [one for one in answer.api_keys if one.api_key not in without]
    return Broker(1, "kafka-1", 9092, offered_versions(answer))


def ask(
    monkeypatch: pytest.MonkeyPatch,
    script: Script,
    do: Callable[[Coordinator], Coroutine[Any, Any, T]],
    *without: ApiKey,
) -> T:
    monkeypatch.setattr(module, "BrokerClient", script)
    cluster: Any = script

    async def run() -> T:
        asked = Coordinator(cluster, broker(*without), None)
        try:
            return await do(asked)
        finally:
            await asked.close()

    found = asyncio.run(run())
    assert script.is_closed
    return found


@pytest.mark.parametrize(("value", "expected"), [("10080", 604_800), ("1", 60), ("", None)])
def test_a_broker_tells_how_long_it_keeps_offsets(
    monkeypatch: pytest.MonkeyPatch, value: str, expected: int | None
) -> None:
    configs = [{"name": "offsets.retention.minutes", "value": value}] if value else []
    script = Script(("DescribeConfigsResponse", {"results": [{"error_code": 0, "configs": configs}]}))

    assert ask(monkeypatch, script, lambda one: one.retention_s()) == expected
    assert script.asked[0][0].resources[0].resource_name == "1"


def test_committed_offsets_have_their_stamps(monkeypatch: pytest.MonkeyPatch) -> None:
    partitions = [
        {"partition_index": 0, "committed_offset": 5, "metadata": stamped("x", STAMP)},
        {"partition_index": 1, "committed_offset": 5, "metadata": "x"},
        {"partition_index": 2, "committed_offset": -1, "metadata": ""},
        {"partition_index": 3, "committed_offset": 5, "metadata": "", "error_code": 29},
    ]
    script = Script(("OffsetFetchResponse", {"topics": [{"name": "t", "partitions": partitions}]}))

    found = ask(monkeypatch, script, lambda one: one.offsets("app-v1"))

    assert found == [KeptOffset("t", 0, STAMP), KeptOffset("t", 1, None)]
    assert (script.asked[0][0].group_id, script.asked[0][0].topics) == ("app-v1", None)


def test_a_touch_joins_with_the_member_id_that_it_is_given_and_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = {"error_code": ErrorCode.MEMBER_ID_REQUIRED, "member_id": "m"}
    script = Script(
        ("JoinGroupResponse", wanted), ("JoinGroupResponse", {"member_id": "m"}), ("LeaveGroupResponse", {})
    )

    ask(monkeypatch, script, lambda one: one.touch("app-v1"))

    joins = [one for one, _ in script.asked[:2]]
    assert [(one.member_id, one.protocol_type, one.group_id) for one in joins] == [
        ("", TOUCHED, "app-v1"),
        ("m", TOUCHED, "app-v1"),
    ]
    assert [one.member_id for one in script.asked[2][0].members] == ["m"]


def test_what_is_refused_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = {"error_code": ErrorCode.GROUP_AUTHORIZATION_FAILED}
    for do, answer in (
        (lambda one: one.touch("app-v1"), "JoinGroupResponse"),
        (lambda one: one.offsets("app-v1"), "OffsetFetchResponse"),
        (lambda one: one.groups(), "ListGroupsResponse"),
        (lambda one: one.delete("app-v1", [KeptOffset("t", 0, None)]), "OffsetDeleteResponse"),
    ):
        with pytest.raises(BrokerError, match="GROUP_AUTHORIZATION_FAILED"):
            ask(monkeypatch, Script((answer, refused)), do)


def test_a_broker_without_a_request_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script()

    with pytest.raises(BrokerError, match="OffsetDelete"):
        ask(
            monkeypatch,
            script,
            lambda one: one.delete("app-v1", [KeptOffset("t", 0, None)]),
            ApiKey.OFFSET_DELETE,
        )
    assert script.asked == []


@pytest.mark.parametrize(
    ("state", "error_code", "listed", "expected"),
    [
        ("Dead", 0, [], True),
        ("Dead", ErrorCode.GROUP_ID_NOT_FOUND, [], True),
        ("Dead", 0, ["app"], False),  # A group of the newer protocol.
        ("Empty", 0, [], False),
        ("", ErrorCode.GROUP_AUTHORIZATION_FAILED, [], False),
        ("Dead", ErrorCode.GROUP_AUTHORIZATION_FAILED, [], False),
    ],
)
def test_a_group_is_gone_only_if_the_coordinator_says_so(
    monkeypatch: pytest.MonkeyPatch, state: str, error_code: int, listed: list[str], expected: bool
) -> None:
    described = {"group_id": "app", "group_state": state, "error_code": error_code}
    groups = [{"group_id": one, "protocol_type": ""} for one in listed]
    script = Script(
        ("DescribeGroupsResponse", {"groups": [described]}), ("ListGroupsResponse", {"groups": groups})
    )

    assert ask(monkeypatch, script, lambda one: one.is_gone("app")) is expected


def test_deleted_offsets_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    told = [{"partition_index": 0}, {"partition_index": 1, "error_code": 3}]
    script = Script(("OffsetDeleteResponse", {"topics": [{"name": "t", "partitions": told}]}))
    offsets = [KeptOffset("t", one, STAMP) for one in (0, 1)]

    assert ask(monkeypatch, script, lambda one: one.delete("app-v1", offsets)) == 1
    (topic,) = script.asked[0][0].topics
    assert [one.partition_index for one in topic.partitions] == [0, 1]
