import pytest

from bifrost.filters.log_dirs import LogDirsFilter
from support.physical_names import physical_name
from support.stage import messages
from support.stage.playbook import broker_answers, client_sends, to_broker
from support.stage.stage import Stage

PATH = "/var/lib/kafka/data-0"


def described(*log_dirs: str):
    results = [
        {
            "log_dir": log_dir,
            "topics": [
                {"name": name, "partitions": [{"partition_size": 7}]}
                for name in (
                    physical_name("globex", "orders"),
                    "__consumer_offsets",
                    physical_name("acme", "orders"),
                )
            ],
            "total_bytes": 10**12,
            "usable_bytes": 10**11,
        }
        for log_dir in log_dirs
    ]
    return messages.DescribeLogDirsResponse(results=results)


def renamed(stage: Stage, tenant: str, *log_dirs: str) -> list[str]:
    response = messages.DescribeLogDirsResponse(results=[{"log_dir": one} for one in log_dirs])
    LogDirsFilter().on_response(stage.exchange(4, tenant), response)
    return [result.log_dir for result in response.results]


@pytest.mark.parametrize("version", range(1, 5))
def test_a_tenant_sees_its_own_replicas_and_nothing_of_the_disk(stage: Stage, version: int) -> None:
    ask = messages.DescribeLogDirsRequest(topics=None)
    book = stage.play() >> client_sends(ask, version) << to_broker(ask) >> broker_answers(described(PATH))

    frame = book.said.to_client.popleft()

    assert b"orders" in frame
    assert [
        one for one in (b"globex", b"__", PATH.encode(), (10**12).to_bytes(8, "big")) if one in frame
    ] == []


def test_directories_are_told_apart_and_are_called_the_same_every_time(stage: Stage) -> None:
    first, second = renamed(stage, "acme", PATH, "/data-1")

    assert first != second
    assert renamed(stage, "acme", PATH) == [first]
    assert first.startswith("/log-dir-")


def test_two_tenants_cannot_compare_them(stage: Stage) -> None:
    assert renamed(stage, "acme", PATH) != renamed(stage, "globex", PATH)


def test_disks_are_of_unknown_size(stage: Stage) -> None:
    response = messages.DescribeLogDirsResponse(
        results=[{"log_dir": PATH, "total_bytes": 5, "usable_bytes": 4}]
    )

    LogDirsFilter().on_response(stage.exchange(4), response)

    assert (response.results[0].total_bytes, response.results[0].usable_bytes) == (-1, -1)
