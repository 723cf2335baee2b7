"""Types and contract of the codec; codec.pyx explains how it works."""

from collections.abc import Sequence
from typing import Any, TypeVar

from bifrost.wire.framer import TakenRoom
from bifrost.wire.message import Struct

_Struct = TypeVar("_Struct", bound=Struct)

class Layout:
    """A message class, or that of a struct, and its fields as they are at one version.

    Args:
        cls: the class; its instances have every field as an attribute.
        name: what errors call it.
        flexible: whether the struct ends with tagged fields (KIP-482).
        fields: (attribute, kind, flags, tag, default, layout of the struct, smallest size of an element in
            bytes). A default of () stands for a fresh list or struct.
    Raises:
        ValueError: a field is incomplete.
    """

    def __init__(
        self,
        cls: type[Struct],
        name: str,
        flexible: bool,
        fields: Sequence[tuple[str, int, int, int, object, Layout | None, int]],
    ) -> None: ...

def untrack(thing: object) -> None:
    """Hide an object from the garbage collector; it must be in no cycle, so it is freed with its last reference.

    A collection visits all other objects, and blocks all connections meanwhile.
    """

def release(layout: Layout, message: Struct) -> None:
    """Empty the lists of a message that is no longer needed, and those in its structs, in steps.

    A list or struct in it to which anything else refers stays as it is.
    """

def decode(layout: Layout, frame: bytes | memoryview, start: int, allow_trailing: bool = False) -> Any:
    """Read a message: an instance of the layout's class.

    Fields that the version lacks get their defaults. Unknown tagged fields are skipped and not kept.
    Records of 4096 bytes and more in a `bytes` are memoryviews that keep it alive; everything else is copied.

    Args:
        frame: a frame without its length, or any other bytes.
        start: where the body begins, in bytes.
        allow_trailing: whether bytes may be left over.
    Raises:
        MalformedFrame: the body does not parse, or goes on behind its end.
    """

def encode(layout: Layout, message: Struct, head: bytes) -> bytes:
    """Write a whole frame: 4-byte length, the header `head`, the message.

    Tagged fields are left out while they are at their defaults, as Kafka's own classes do. Records may be a tuple of
    pieces that follow each other.

    Raises:
        EncodeError: a field cannot be written, see there.
    """

def encode_in_room_of(
    layout: Layout, message: Struct, head: bytes, frame: bytes | memoryview
) -> bytes | memoryview:
    """Write a whole frame that replaces another one: as long as it lives, it is counted where `frame` was.

    If it has records and `frame` has memory of its own, it is written into such memory too, and takes over the room
    that `frame` has; `frame` has none any more and should be dropped. Otherwise this is `encode`.

    Raises:
        EncodeError: a field cannot be written, see there.
    """

def encode_in_pieces(
    layout: Layout, message: Struct, head: bytes, frame: bytes | memoryview
) -> list[bytes | memoryview]:
    """Write likewise a whole frame, in pieces where these are views on the memory of `frame`, but for 64 KiB.

    Records that are such views are not copied then, and that memory, with the room that it has, stays until they are
    gone. Else it is one piece.

    Raises:
        EncodeError: a field cannot be written, see there.
    """

def encode_in_taken_room(
    layout: Layout, message: Struct, head: bytes, taken: TakenRoom
) -> bytes | memoryview:
    """Write a whole frame in memory for which room was taken: as long as it lives, it is counted there.

    A frame without large records is plain bytes, and takes over nothing.

    Raises:
        EncodeError: a field cannot be written, see there.
    """

def encode_body(layout: Layout, message: Struct) -> bytes:
    """Write a message alone, for one that is embedded in another.

    Raises:
        EncodeError: a field cannot be written, see there.
    """
