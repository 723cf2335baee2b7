"""Sets of sequence numbers: one record that came before is found among all others."""

from __future__ import annotations

import random

import pyarrow as pa

from bifrost.pipeline.metering.sequence_sets import MAX_RANGES, SequenceSets, split_by_source

Key = tuple[str, int, int]


def table(keys: list[Key]) -> pa.Table:
    gateways, epochs, numbers = zip(*keys, strict=True) if keys else ((), (), ())
    return pa.table(
        {
            "gateway_id": pa.array(gateways, pa.string()),
            "epoch": pa.array(epochs, pa.int64()),
            "sequence": pa.array(numbers, pa.int64()),
        }
    )


def seen(*parts: list[Key]) -> SequenceSets:
    """The set of parts that tasks found."""
    whole = SequenceSets()
    for keys in parts:
        part = SequenceSets()
        part.add(table(keys[: len(keys) // 2]))
        part.add(table(keys[len(keys) // 2 :]))
        whole.add_words(part.to_table())
        whole.has_repeats |= part.has_repeats
    whole.merge()
    return whole


def numbers(*which: int, gateway: str = "gw-1", epoch: int = 7) -> list[Key]:
    return [(gateway, epoch, number) for number in which]


def test_a_number_that_came_twice_is_found_in_a_part_and_among_parts() -> None:
    evens, odds = numbers(*range(0, 400, 2)), numbers(*range(1, 400, 2))

    assert not seen(evens, odds).has_repeats
    assert seen([*evens, evens[3]]).has_repeats
    assert seen(evens, odds, numbers(399)).has_repeats
    assert not seen(evens, numbers(0, gateway="gw-2"), numbers(0, epoch=8)).has_repeats
    assert not seen().has_repeats


def test_known_records_are_met_one_by_one() -> None:
    ours = seen(numbers(0, 63, 64, 1000), numbers(5, gateway="gw-2"))

    for one in (0, 63, 64, 1000):
        assert ours.meets(table(numbers(one)))
    for one in (1, 62, 65, 999, 1001, 1 << 40):
        assert not ours.meets(table(numbers(one)))
    assert not ours.meets(table(numbers(0, gateway="gw-2")))
    assert not ours.meets(table(numbers(0, gateway="gw-3")))
    assert not ours.meets(table([]))
    assert not seen().meets(table(numbers(1)))


def test_random_numbers_are_told_as_a_set_tells_them() -> None:
    chance = random.Random(5)
    for _ in range(50):
        keys = [
            (f"gw-{chance.randrange(2)}", chance.randrange(2), chance.randrange(300))
            for _ in range(chance.randrange(60))
        ]
        others = [("gw-0", 0, chance.randrange(300)) for _ in range(3)]
        cut = chance.randrange(len(keys) + 1)
        ours = seen(keys[:cut], keys[cut:])

        assert ours.has_repeats == (len(set(keys)) < len(keys))
        assert ours.meets(table(others)) == bool(set(keys) & set(others))


def test_the_reach_in_a_table_is_of_the_numbers_near() -> None:
    stored = table([*numbers(0, 100, 200), *numbers(100, gateway="gw-2"), *numbers(100, epoch=8)])

    reach = seen(numbers(70, 130)).reach()

    assert stored.filter(reach).to_pylist() == table(numbers(100)).to_pylist()


def test_with_too_many_gateways_all_is_in_reach() -> None:
    many = seen([(f"gw-{number}", 1, 1) for number in range(MAX_RANGES + 1)])

    assert many.reach() is None
    assert many.meets(table([(f"gw-{MAX_RANGES}", 1, 1)]))


def test_records_are_split_by_gateway_and_epoch() -> None:
    rows = table([("b", 1, 5), ("a", 2, 6), ("b", 1, 3), ("a", 1, 1)])

    found = {source: sorted(one.tolist()) for source, one in split_by_source(rows)}

    assert found == {("b", 1): [3, 5], ("a", 2): [6], ("a", 1): [1]}
