"""Large requests of every API at every version, one after the other, as the schemas say.

Each run sends all of them. It takes as long as that takes; what was not answered when the time is over is left out, and
a run that leaves something out is not one that is not felt (`Outcome.missed`).
"""

from collections.abc import Iterator

from bench.hostile.attack import attack
from bench.hostile.field import Field
from bench.hostile.shapes import Shape, build, can_have, requests
from bifrost.wire.schema import MessageSchema

SIZES = ((1 << 20) - 8192, 96 * 1024, 20 * 1024)
"""Bytes. With elements of some ten bytes each is a little less than a limit of the gateway: a MiB for what it decodes,
and 10,000 or 2,000 items."""
MOST_SECONDS = 150.0
"""The longest takes 86 s on two cores that others use as well, most of it while the tenant waits for its share of the
gateway's time. An attack ends when all is sent."""
CONNECTIONS = 4
"""So that others go on while one request waits: for look-ups of topic IDs, or for members of a group."""
TRIES = 2
"""How often a request is sent until it is answered: the gateway closes the connection for what it does not serve, and a
connection may end for the request before."""


def _send_all(field: Field, shape: Shape) -> None:
    found = [one for one in requests() if can_have(*one, shape)]
    field.random.shuffle(found)
    waiting = {
        f"{schema.name.removesuffix('Request')} v{version}": (
            schema,
            version,
            field.size(SIZES[number % len(SIZES)]),
        )
        for number, (schema, version) in enumerate(found)
    }
    for _ in range(TRIES):
        answered = field.flood(_frames(waiting, shape), connections=CONNECTIONS, is_endless=False)
        waiting = {label: one for label, one in waiting.items() if label not in answered}
        if not field.goes_on():
            field.sent.left_out = len(waiting)
        if not field.goes_on() or not waiting:
            break
    field.note(f"{len(found) - len(waiting)} of {len(found)} APIs and versions answered")


def _frames(waiting: dict[str, tuple[MessageSchema, int, int]], shape: Shape) -> Iterator[tuple[str, bytes]]:
    for label, (schema, version, size) in waiting.items():
        yield label, build(schema, version, shape, size)


@attack(
    "requests of up to 1 MiB of every API and version, their lists as long as can be",
    seconds=MOST_SECONDS,
    is_warmed=True,
)
def every_api_lists(field: Field) -> Iterator[None]:
    yield
    _send_all(field, Shape.LISTS)


@attack("the same, the lists within lists as long as can be", seconds=MOST_SECONDS, is_warmed=True)
def every_api_deep(field: Field) -> Iterator[None]:
    yield
    _send_all(field, Shape.DEEP)


@attack("the same, all strings and byte fields as long as can be", seconds=MOST_SECONDS)
def every_api_strings(field: Field) -> Iterator[None]:
    yield
    _send_all(field, Shape.STRINGS)


@attack("the same, the tagged fields as many and as long as can be", seconds=MOST_SECONDS)
def every_api_tags(field: Field) -> Iterator[None]:
    yield
    _send_all(field, Shape.TAGS)


@attack(
    "the longest lists again, where an operator has switched on ACLs, quotas, a state and virtual partitions",
    seconds=MOST_SECONDS,
    is_warmed=True,
    has_features=True,
)
def every_api_lists_features(field: Field) -> Iterator[None]:
    yield
    _send_all(field, Shape.LISTS)
