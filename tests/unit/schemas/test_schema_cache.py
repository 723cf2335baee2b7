from dataclasses import replace

from bifrost.schemas.schema_cache import MAX_STALE_MS, SchemaCache
from bifrost.schemas.schema_key import RegistrySettings, SchemaAnswer, SchemaKey, SubjectStrategy

KEY = SchemaKey(RegistrySettings("http://r"), 0, ("orders",), False, SubjectStrategy.TOPIC, False)
GOOD, BAD = SchemaAnswer(), SchemaAnswer("schema 1 is not registered")


def key(number: int) -> SchemaKey:
    return replace(KEY, schema_id=number)


def test_an_answer_serves_until_its_time() -> None:
    cache = SchemaCache(10)
    cache.put(KEY, GOOD, 100)

    assert cache.get(KEY, 99) is GOOD
    assert cache.get(KEY, 100) is None
    assert cache.get(key(1), 0) is None


def test_a_good_answer_may_serve_longer_when_the_registry_is_away() -> None:
    cache = SchemaCache(10)
    cache.put(KEY, GOOD, 100)

    assert cache.stale(KEY, 100 + MAX_STALE_MS - 1) is GOOD
    assert cache.stale(KEY, 100 + MAX_STALE_MS) is None


def test_a_failure_does_not_end_a_good_answer_but_a_bad_answer_does() -> None:
    cache = SchemaCache(10)
    cache.put(KEY, GOOD, 100)
    cache.put(KEY, "a failure", 300)
    assert cache.get(KEY, 200) == "a failure"
    assert cache.stale(KEY, 200) is GOOD

    cache.put(KEY, BAD, 300)
    assert cache.get(KEY, 200) is BAD
    assert cache.stale(KEY, 200) is None
    cache.put(KEY, GOOD, 400)
    assert cache.get(KEY, 200) is GOOD


def test_many_wrong_ids_push_out_no_good_answer() -> None:
    cache = SchemaCache(3)
    for number in range(3):
        cache.put(key(number), GOOD, 100)
    for number in range(10, 1000):
        cache.put(key(number), BAD, 100)

    assert all(cache.get(key(number), 0) is GOOD for number in range(3))
    assert len(cache) == 6


def test_the_answer_that_was_used_least_recently_makes_room() -> None:
    cache = SchemaCache(2)
    for number in (1, 2):
        cache.put(key(number), GOOD, 100)
    cache.get(key(1), 0)
    cache.put(key(3), GOOD, 100)

    assert [cache.get(key(number), 0) is GOOD for number in (1, 2, 3)] == [True, False, True]
