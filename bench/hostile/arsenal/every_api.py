"""Large requests of every API at every version, one after the other, as the schemas say."""

from collections.abc import Iterator

from bench.hostile.attack import attack
from bench.hostile.field import Field
from bench.hostile.shapes import Shape, build, can_have, requests

SIZES = ((1 << 20) - 8192, 96 * 1024, 20 * 1024)
"""Bytes. With elements of some ten bytes each is a little less than a limit of the gateway: a MiB for what it decodes,
and 10,000 or 2,000 items."""
SECONDS = 20.0


def _send_all(field: Field, shape: Shape) -> None:
    found = [one for one in requests() if can_have(*one, shape)]
    field.random.shuffle(found)
    given = 0

    def frames() -> Iterator[tuple[str, bytes]]:
        nonlocal given
        for number, (schema, version) in enumerate(found):
            given += 1
            size = field.size(SIZES[number % len(SIZES)])
            yield f"{schema.name.removesuffix('Request')} v{version}", build(schema, version, shape, size)

    field.flood(frames(), connections=2, is_endless=False)
    field.note(f"{given} of {len(found)} APIs and versions")


@attack(
    "requests of up to 1 MiB of every API and version, their lists as long as can be",
    seconds=SECONDS,
    is_warmed=True,
)
def every_api_lists(field: Field) -> Iterator[None]:
    yield
    _send_all(field, Shape.LISTS)


@attack("the same, the lists within lists as long as can be", seconds=SECONDS, is_warmed=True)
def every_api_deep(field: Field) -> Iterator[None]:
    yield
    _send_all(field, Shape.DEEP)


@attack("the same, all strings and byte fields as long as can be", seconds=SECONDS)
def every_api_strings(field: Field) -> Iterator[None]:
    yield
    _send_all(field, Shape.STRINGS)


@attack("the same, as many tagged fields as can be", seconds=SECONDS)
def every_api_tags(field: Field) -> Iterator[None]:
    yield
    _send_all(field, Shape.TAGS)
