from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.fields.tenants import Tenant
from bifrost.config.fields.virtual_partitions import PartitionIndex, VirtualPartitions


def rule(**values: Any) -> dict[str, Any]:
    return {"topics": ["orders"], "virtual": 12, "physical": 4, **values}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"virtual": 3}, "virtual 3 is less than physical 4: raise it"),
        (
            {"virtual": 513, "physical": 1},
            "513 virtual partitions would share a physical one: at most 512 do",
        ),
        ({"virtual": 51_201, "physical": 1_000}, "less than or equal to 51200"),
        ({"physical": 0}, "greater than or equal to 1"),
        ({"physical": 1_001}, "less than or equal to 1000"),
        ({"topics": []}, "at least 1 item"),
        ({"topics": ["a b"]}, "characters other than those"),
        ({"ratio": 3}, "ratio stands in place of virtual and physical"),
        ({"ratio": 3, "physical": None}, "ratio stands in place of virtual and physical"),
        ({"ratio": 0}, "greater than or equal to 1"),
        ({"ratio": 513}, "less than or equal to 512"),
        ({"virtual": None}, "virtual and physical are missing"),
        ({"virtual": 4, "compacted": True}, "compacted is for virtual partitions that share a physical one"),
        (
            {"virtual": None, "physical": None, "ratio": 1, "compacted": True},
            "compacted is for virtual partitions that share a physical one",
        ),
        (
            {"virtual": 129, "physical": 1, "compacted": True},
            "129 virtual partitions of a compacted topic would share a physical one: at most 128 do",
        ),
        ({"virtual": None, "physical": None, "ratio": 129, "compacted": True}, "at most 128 do"),
    ],
)
def test_numbers_that_cannot_be_are_refused(values: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        VirtualPartitions.model_validate(rule(**values))


@pytest.mark.parametrize(("virtual", "physical"), [(1, 1), (4, 4), (2, 1), (512, 1), (7, 3), (50_000, 100)])
def test_numbers_at_the_bounds_are_taken(virtual: int, physical: int) -> None:
    found = VirtualPartitions.model_validate(rule(virtual=virtual, physical=physical))

    assert (found.virtual, found.physical) == (virtual, physical)


@pytest.mark.parametrize("ratio", [1, 512])
def test_a_ratio_stands_in_place_of_both_numbers(ratio: int) -> None:
    found = VirtualPartitions.model_validate({"topics": ["orders"], "ratio": ratio})

    assert (found.virtual, found.physical, found.ratio) == (None, None, ratio)


def test_a_tenant_has_filters_beside_virtual_partitions() -> None:
    filters = [{"name": "RecordHeaders", "config": {"remove": ["a"]}, "rules": [{"direction": "fetch"}]}]
    found = Tenant.model_validate({"name": "acme", "virtual_partitions": [rule()], "filters": filters})

    assert (len(found.virtual_partitions), len(found.filters)) == (1, 1)
    assert Tenant.model_validate({"name": "acme"}).virtual_partitions == ()


def test_there_is_an_index_by_default() -> None:
    index = PartitionIndex()

    assert (index.enabled, index.topic, index.partitions) == (True, "__bifrost_partition_index", 1)
    assert PartitionIndex.model_validate({"max_scan_bytes_per_second": 0}).max_scan_bytes_per_second == 0
