"""Large requests of every API at every version, one after the other, as the schemas say."""

from collections.abc import Iterator

from bench.hostile.attack import attack
from bench.hostile.field import Field
from bench.hostile.shapes import Shape, build, can_have, requests

SIZE = 1 << 20
SECONDS = 20.0


def _send_all(field: Field, shape: Shape) -> None:
    found = [one for one in requests() if can_have(*one, shape)]
    field.random.shuffle(found)
    size = field.size(SIZE)
    given = 0

    def frames() -> Iterator[tuple[str, bytes]]:
        nonlocal given
        for schema, version in found:
            given += 1
            yield f"{schema.name.removesuffix('Request')} v{version}", build(schema, version, shape, size)

    field.flood(frames(), connections=2, is_endless=False)
    field.note(f"{given} of {len(found)} APIs and versions")


@attack("1 MiB requests of every API and version, their lists as long as can be", seconds=SECONDS)
def every_api_lists(field: Field) -> Iterator[None]:
    yield
    _send_all(field, Shape.LISTS)


@attack("the same, the lists within lists as long as can be", seconds=SECONDS)
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
