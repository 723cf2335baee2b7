from decimal import Decimal
from typing import Any

import pytest

from bifrost.config.fields.tenants import Tenant
from bifrost.pipeline.packing.proposals import (
    Bounds,
    Proposal,
    Reading,
    TopicLoad,
    amplification,
    propose,
    rules_of,
    shares_of,
)

WIDE = Bounds(1e9, 1e9)


def load(partitions: int = 12, **more: Any) -> TopicLoad:
    named = {"shares": (1 / partitions,) * partitions, "produced": 0.0, "readings": ()} | more
    return TopicLoad("acme", named.pop("name", "orders"), "p-orders", **named)


def test_as_few_as_may_share_where_nothing_is_carried() -> None:
    assert propose(load(12), WIDE).physical == 1
    assert propose(load(1_300), WIDE).physical == 3
    assert propose(load(12), Bounds(1.0, 3.0)).physical == 4


@pytest.mark.parametrize(("bytes_s", "physical"), [(12.0, 2), (11.9, 3), (6.0, 4), (2.0, 12), (1.0, 12)])
def test_no_physical_partition_carries_more_than_its_bound(bytes_s: float, physical: int) -> None:
    found = propose(load(12, produced=24.0, shares=(1 / 12,) * 12), Bounds(bytes_s + 1e-9, 1e9))

    assert found.physical == physical


def test_partitions_that_carry_much_do_not_share_one() -> None:
    shares = (0.4, 0.05, 0.4, 0.05, 0.05, 0.05)
    found = propose(load(shares=shares, produced=10.0), Bounds(5.0 + 1e-9, 1e9))

    # On two, 0 and 2 would be together.
    assert (found.physical, found.largest) == (3, 0)
    assert found.largest_bytes_s == pytest.approx(4.5)


def test_consumers_read_what_others_have_in_the_same_partition() -> None:
    one = load(12, readings=(Reading(6.0, 1),))
    many = load(12, readings=(Reading(6.0, 10),))
    unknown = load(12, readings=(Reading(6.0, None),))
    both = load(12, readings=(Reading(3.0, 1), Reading(3.0, 10)))

    assert [amplification(each, 4) for each in (one, many, unknown, both, load(12))] == [1, 3, 3, 2, 3]
    assert [amplification(each, 12) for each in (one, many, unknown, both, load(12))] == [1] * 5
    assert propose(many, Bounds(1e9, 2.0)).physical == 6
    assert propose(one, Bounds(1e9, 2.0)).physical == 1
    # What is read for others counts as load.
    assert propose(many, Bounds(4.4, 1e9)).physical == 6
    assert propose(many, Bounds(4.6, 1e9)).physical == 4
    assert propose(many, Bounds(4.6, 1e9)).largest_bytes_s == pytest.approx(4.5)


def test_a_topic_that_cannot_have_them_stays_with_the_reason() -> None:
    found = propose(load(12, refused="it is shared with globex", produced=6.0), WIDE)

    assert found == Proposal(found.load, 12, 0, pytest.approx(0.5), 1.0, "it is shared with globex")
    assert propose(load(1), WIDE).reason == "it has one"
    assert propose(load(12, produced=1e12), WIDE).reason == "no fewer keep the bounds"
    assert propose(load(51_201), WIDE).reason == "more than 51200 partitions"
    assert propose(load(2_000, produced=1_000.0), Bounds(0.9, 1e9)).physical == 2_000


def test_the_saving_is_that_of_a_month() -> None:
    found = propose(load(12), Bounds(1.0, 3.0))

    assert (found.saved, found.saving(Decimal("0.0015"))) == (8, Decimal("8.64"))


@pytest.mark.parametrize(
    ("sizes", "shares"),
    [([3, 1], (0.75, 0.25)), ([0, 0], (0.5, 0.5)), ([None, 4], (0.5, 0.5)), ([7], (1.0,))],
)
def test_shares_are_those_of_the_logs_where_all_are_known(
    sizes: list[int | None], shares: tuple[float, ...]
) -> None:
    assert shares_of(sizes) == shares


def test_topics_with_the_same_numbers_have_one_rule() -> None:
    proposals = [
        Proposal(load(size, name=name), physical, 0, 0.0, 1.0)
        for name, size, physical in (("b", 12, 4), ("a", 12, 4), ("c", 6, 2), ("d", 6, 6), ("e", 12, 4))
    ]

    rules, left = rules_of(proposals, 100, 2)
    few, without = rules_of(proposals, 1, 2)

    assert rules == [(6, 2, ("c",)), (12, 4, ("a", "b")), (12, 4, ("e",))]
    assert left == []
    assert few == [(12, 4, ("a", "b"))]
    assert [one.load.name for one in without] == ["e", "c"]
    named = [dict(zip(("virtual", "physical", "topics"), rule, strict=True)) for rule in rules]
    assert len(Tenant.model_validate({"name": "acme", "virtual_partitions": named}).virtual_partitions) == 3
