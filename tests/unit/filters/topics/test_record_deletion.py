import pytest

from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage, Tenant

VERSIONS = range(3)


def ask(*names: str):
    topics = [{"name": name, "partitions": [{"partition_index": 0, "offset": -1}]} for name in names]
    return messages.DeleteRecordsRequest(topics=topics, timeout_ms=1000)


def answer(**outcomes: tuple[int, int]):
    topics = [
        {
            "name": name.replace("__dot__", "."),
            "partitions": [{"partition_index": 0, "low_watermark": low, "error_code": code}],
        }
        for name, (low, code) in outcomes.items()
    ]
    return messages.DeleteRecordsResponse(topics=topics)


@pytest.mark.parametrize("version", VERSIONS)
def test_without_the_permission_no_record_is_deleted(stage: Stage, version: int) -> None:
    book = stage.play() >> client_sends(ask("orders", "users"), version)

    assert book << to_client(
        answer(
            orders=(-1, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            users=(-1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        )
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_with_it_the_broker_decides(version: int) -> None:
    stage = Stage({"acme": Tenant(("orders",), allow_topic_deletion=True)})
    book = (
        stage.play()
        >> client_sends(ask("orders"), version)
        << to_broker(ask(physical_name("acme", "orders")))
    )

    book >> broker_answers(answer(**{physical_name("acme", "orders"): (7, 0)}))

    assert book << to_client(answer(orders=(7, 0)))
