from typing import Any

import pytest

from bifrost.tenancy.recent_records.recent_records import RecentRecords
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.playbook import broker_answers, client_sends, to_broker
from support.stage.stage import Stage, Tenant

ORDERS = physical_name("acme", "orders")
MAY_DELETE = {"acme": Tenant(allow_topic_deletion=True)}


def deletion(name: str) -> Any:
    return messages.build("DeleteTopicsRequest", {"topic_names": [name], "timeout_ms": 1000})


@pytest.mark.parametrize("is_about_virtual", [True, False])
def test_what_is_kept_is_forgotten_when_the_broker_has_deleted_a_topic(is_about_virtual: bool) -> None:
    stage, store = Stage(MAY_DELETE), RecentRecords(lambda: 1)
    divided(stage, "orders", recent=store)
    view, name = store.view("acme"), "orders" if is_about_virtual else "other"
    book = stage.play() >> client_sends(deletion(name), 5) << to_broker(deletion(physical_name("acme", name)))
    assert book
    assert view.tenant.generation == 0
    book >> broker_answers(messages.build("DeleteTopicsResponse", {"responses": []}))

    assert view.tenant.generation == 1


def test_other_tenants_keep_what_they_have() -> None:
    stage, store = Stage({**MAY_DELETE, "globex": Tenant()}), RecentRecords(lambda: 1)
    divided(stage, "orders", recent=store)
    view = store.view("globex")
    book = stage.play() >> client_sends(deletion("orders"), 5)
    assert book << to_broker(deletion(ORDERS))
    book >> broker_answers(messages.build("DeleteTopicsResponse", {"responses": []}))

    assert view.tenant.generation == 0
