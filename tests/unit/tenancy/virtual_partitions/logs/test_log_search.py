from bifrost.tenancy.virtual_partitions.logs.log_cut import LogCut
from bifrost.tenancy.virtual_partitions.partition_map import FIRST_GROUP


def test_a_search_need_not_ask_for_a_time() -> None:
    assert LogCut(0, {FIRST_GROUP: 3}, frozenset()).time_ms is None
