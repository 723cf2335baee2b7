from dataclasses import replace

import pytest

from bifrost.config.policies.policy import Policy
from bifrost.tenancy.policy import ResourcePolicy
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.playbook import broker_answers, client_sends, counted, counts, to_broker, to_client
from support.stage.stage import TENANTS, Stage

VERSIONS = range(4)
TEXT = "Replica assignments cannot be chosen on this cluster: the brokers assign them"


def ask(*topics: tuple[str, list[list[int]] | None]):
    wanted = [
        {
            "name": name,
            "count": 4,
            "assignments": None if places is None else [{"broker_ids": one} for one in places],
        }
        for name, places in topics
    ]
    return messages.CreatePartitionsRequest(topics=wanted, timeout_ms=1000)


def results(*names: str):
    return [{"name": name, "error_message": None} for name in names]


def refused(name: str, text: str = TEXT):
    return {"name": name, "error_code": ErrorCode.POLICY_VIOLATION, "error_message": text}


def answer(*outcomes):
    return messages.CreatePartitionsResponse(results=list(outcomes))


@pytest.mark.parametrize("version", VERSIONS)
def test_where_partitions_lie_is_the_brokers_to_decide(stage: Stage, version: int) -> None:
    book = (
        stage.play()
        >> client_sends(ask(("orders", [[1]]), ("billing", None)), version)
        << to_broker(ask((physical_name("acme", "billing"), None)))
        >> broker_answers(answer(*results(physical_name("acme", "billing"))))
    )

    assert book << to_client(answer(*results("billing"), refused("orders")))


@pytest.mark.parametrize("version", VERSIONS)
def test_where_all_is_refused_the_broker_is_not_asked(stage: Stage, version: int) -> None:
    book = stage.play() >> client_sends(ask(("orders", [[1]])), version)

    assert book << to_client(answer(refused("orders")))


def test_a_tenant_that_may_is_bounded_in_replicas() -> None:
    policy = ResourcePolicy(Policy(allow_replica_assignments=True, max_replication_factor=2))
    stage = Stage({**TENANTS, "acme": replace(TENANTS["acme"], policy=policy)})
    book = stage.play() >> client_sends(ask(("orders", [[1, 2], [2, 1]]), ("billing", [[1, 2, 3]])))

    (
        book
        << to_broker(ask((physical_name("acme", "orders"), [[1, 2], [2, 1]])))
        >> broker_answers(answer(*results(physical_name("acme", "orders"))))
    )

    text = "Replication factor 3 is not allowed: this cluster allows at most 2"
    assert book << to_client(answer(*results("orders"), refused("billing", text)))


@pytest.mark.parametrize("version", VERSIONS)
def test_more_partitions_than_the_tenant_may_have_are_refused(version: int) -> None:
    stage = Stage({**TENANTS, "acme": replace(TENANTS["acme"], max_topics=3, max_partitions=9)})
    wanted = ask(("orders", None), ("billing", None), ("absent", None), ("events", None))
    book = stage.play() >> client_sends(wanted, version) << counts()
    has = {
        physical_name("acme", "orders"): 1,
        physical_name("acme", "billing"): 1,
        physical_name("acme", "events"): 4,
    }

    book >> counted(stage.namespaces["acme"].bounds, has)

    # `absent` and `events`, which has as many already, are the broker's to refuse.
    absent = stage.namespaces["acme"].names.denied(b"absent").decode()
    book << to_broker(
        ask((physical_name("acme", "orders"), None), (absent, None), (physical_name("acme", "events"), None))
    )
    book >> broker_answers(answer(*results(physical_name("acme", "orders"), physical_name("acme", "events"))))
    text = "3 more partitions are not allowed: there are 9 over all topics, and this cluster allows 9"
    assert book << to_client(
        answer(*results("orders", "events"), refused("billing", f"{text} (max_partitions)"))
    )
