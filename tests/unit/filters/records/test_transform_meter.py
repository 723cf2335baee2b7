from collections import Counter

from bifrost.filters.records.transform_meter import TransformKey, TransformMeter
from bifrost.transforms.record_transform import Direction


def test_each_transform_is_counted_by_itself() -> None:
    counts: Counter[TransformKey] = Counter()
    times = iter((1_000, 4_000, 10_000, 10_500))
    meter = TransformMeter(counts, lambda: next(times), "acme", Direction.FETCH)

    meter.begin()
    meter.end("edge", 20, 0)
    meter.begin()
    meter.end("gate", 20, 3)

    assert counts == {
        ("acme", "edge", "fetch", "batches"): 1,
        ("acme", "edge", "fetch", "records"): 20,
        ("acme", "edge", "fetch", "rejections"): 0,
        ("acme", "edge", "fetch", "time_ns"): 3_000,
        ("acme", "gate", "fetch", "batches"): 1,
        ("acme", "gate", "fetch", "records"): 20,
        ("acme", "gate", "fetch", "rejections"): 3,
        ("acme", "gate", "fetch", "time_ns"): 500,
    }


def test_reasons_are_kept_until_they_are_taken() -> None:
    counts: Counter[TransformKey] = Counter()
    meter = TransformMeter(counts, lambda: 0, "acme", Direction.PRODUCE)

    meter.note("trial", "unenforced", "first")
    meter.note("trial", "unenforced", "second")
    meter.note("seal", "plaintext", None)

    assert meter.take_reasons() == {"trial": (2, "first")}
    assert meter.take_reasons() == {}
    assert counts == {
        ("acme", "trial", "produce", "unenforced"): 2,
        ("acme", "seal", "produce", "plaintext"): 1,
    }
