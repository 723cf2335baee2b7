import pytest

from bifrost.tenancy.recent_records.recent_records import RecentRecords
from bifrost.wire.error_codes import ErrorCode
from support.stage.divided import divided
from support.stage.playbook import Playbook, broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage
from unit.filters.virtual.sharing.fetches import NOW, VERSION, asked, fetch
from unit.filters.virtual.test_fetched_partitions import ORDERS, told


@pytest.fixture
def store() -> RecentRecords:
    NOW[0] = 1
    made = RecentRecords(lambda: NOW[0])
    made.limit(2**20, 2**20)
    return made


@pytest.fixture
def books(stage: Stage, store: RecentRecords) -> list[Playbook]:
    """Three connections of one client, which read virtual partitions of the same physical one, and have done so."""
    divided(stage, "orders", recent=store)
    opened = [stage.play() for _ in range(3)]
    for number, book in enumerate(opened):
        assert (
            book
            >> client_sends(fetch(100 + number, number), VERSION)
            << to_broker(asked((ORDERS, [(0, 100 + number)])))
            >> broker_answers(told((ORDERS, {0: int(ErrorCode.NOT_LEADER_OR_FOLLOWER)})))
            << to_client(told(("orders", {2 * number: int(ErrorCode.NOT_LEADER_OR_FOLLOWER)})))
        )
    return opened
