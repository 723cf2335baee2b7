"""What workers know of topics together."""

import asyncio
import json

from bifrost.gateway.workers.shared_topics import SharedTopics
from bifrost.journal.known_topics import Known


def test_what_one_learns_the_others_hear_at_once() -> None:
    told: list[bytes] = []
    one, other = SharedTopics(told.append), SharedTopics(told.append)

    async def scenario() -> None:
        one.learn("main", "a", 10, {"partitions": "2"})
        one.learn("main", "b", 10, {"partitions": "3"})
        one.learn_gone("main", "b", 11)
        await asyncio.sleep(0)

    asyncio.run(scenario())
    for content in told.copy():
        other.hear(content)

    assert len(told) == 1, "one message a turn, and nothing that was heard is told again"
    assert len(json.loads(told[0])) == 3
    for known in (one, other):
        assert known.get("main", "a") == Known(10, {"partitions": "2"})
        assert known.get("main", "b") == Known(11, {})


def test_what_is_older_than_what_is_known_is_passed_over() -> None:
    async def scenario() -> SharedTopics:
        known = SharedTopics(lambda _: None)
        known.learn("main", "a", 20, {"partitions": "4"})
        known.hear(json.dumps([["main", "a", 19, {"partitions": "2"}], ["main", "a", 18, None]]).encode())
        return known

    assert asyncio.run(scenario()).get("main", "a") == Known(20, {"partitions": "4"})
