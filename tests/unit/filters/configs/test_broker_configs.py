import pytest

from bifrost.filters.configs.broker_configs import BROKER, SHOWN
from support.stage import messages
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

NEWEST = 4


def request(*names: str):
    resources = [
        {"resource_type": BROKER, "resource_name": name, "configuration_keys": None} for name in names
    ]
    return messages.build("DescribeConfigsRequest", {"resources": resources})


def response(*configs: dict):
    results = [{"resource_type": BROKER, "resource_name": "1", "configs": list(configs)}]
    return messages.build("DescribeConfigsResponse", {"results": results})


def config(name: str, value: str, **fields):
    return {"name": name, "value": value, **fields}


@pytest.mark.parametrize("version", range(1, NEWEST + 1))
def test_a_client_reads_what_concerns_it_and_nothing_else(stage: Stage, version: int) -> None:
    synonym = {"name": "advertised.listeners", "value": "PLAINTEXT://kafka-1.internal:9092", "source": 4}
    book = stage.play() >> client_sends(request("1"), version) << to_broker(request("1"))

    book >> broker_answers(
        response(
            config("message.max.bytes", "1048588", synonyms=[synonym]),
            config("advertised.listeners", "PLAINTEXT://kafka-1.internal:9092"),
            config("log.dirs", "/var/lib/kafka"),
        )
    )

    assert book << to_client(response(config("message.max.bytes", "1048588", read_only=True)))


@pytest.mark.parametrize(
    "name",
    [
        "advertised.listeners",
        "listeners",
        "log.dirs",
        "broker.rack",
        "zookeeper.connect",
        "super.users",
        "node.id",
    ],
)
def test_addresses_paths_and_users_are_not_among_what_is_shown(name: str) -> None:
    assert name not in SHOWN


def test_nothing_that_is_shown_is_a_secret_or_an_address() -> None:
    suspicious = ("password", "key", "listener", "sasl", "ssl", "dir", "host", "url", "principal", "user")

    assert [name for name in SHOWN if any(word in name for word in suspicious)] == []
