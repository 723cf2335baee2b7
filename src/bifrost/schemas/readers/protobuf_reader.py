"""Reads Protobuf: by the message that the indexes in front of it name, strictly. Google's library; BSD licence.

Protobuf itself takes fields that a message does not have for those of a later version. Here the producer names the very
schema that it has written with, so such a field says that it is another message.

Clients count nested messages in two ways: Confluent's Java as they stand in the text, its Python and Go as protoc has
them, where each map brings a message of its own. What reads in either way is accepted.
"""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from bifrost.schemas.readers.reader import MAX_RULE_VALUES, NO_BOUND, SchemaError, TakesLong
from bifrost.schemas.reading_costs import PROTOBUF_BYTE, PROTOBUF_VALUE
from bifrost.schemas.registered_schema import RegisteredSchema
from bifrost.schemas.wire_format import Buffer, Payload, Unreadable, read_indexes


class ProtobufReader:
    """Reads payloads of one file; see `Reader`."""

    def __init__(self, schema: RegisteredSchema) -> None:
        """Prepare.

        Raises:
            SchemaError: its descriptors do not fit together.
        """
        self.schema = schema
        pool = descriptor_pool.DescriptorPool()
        try:
            files = descriptor_pb2.FileDescriptorSet.FromString(schema.descriptors).file
            for one in files:
                pool.Add(one)
            file = pool.FindFileByName(files[-1].name)
        except (DecodeError, TypeError, KeyError, IndexError) as error:
            raise SchemaError(f"it is no Protobuf schema ({type(error).__name__})") from None
        self._messages: dict[tuple[int, ...], list[Any]] = {}
        names: list[str] = []
        for index, one in enumerate(files[-1].message_type):
            self._collect({(index,)}, file.message_types_by_name[one.name], one, names)
        self.names = frozenset(names)

    def check(self, payload: Payload, most_ns: int = NO_BOUND) -> None:
        """See `Reader`."""
        self._read(payload, most_ns)

    def value(self, payload: Payload, most_ns: int = NO_BOUND) -> object:
        """See `Reader`."""
        message = self._read(payload, most_ns)
        left_ns = most_ns - PROTOBUF_BYTE * len(payload.data)
        return _Plain(left_ns // PROTOBUF_VALUE).of(message)

    def _collect(self, places: set[tuple[int, ...]], descriptor: Any, proto: Any, names: list[str]) -> None:
        for place in places:
            self._messages.setdefault(place, []).append(message_factory.GetMessageClass(descriptor))
        names.append(descriptor.full_name)
        in_text = 0
        for index, one in enumerate(proto.nested_type):
            if one.options.map_entry:
                continue
            below = {(*place, number) for place in places for number in (index, in_text)}
            self._collect(below, descriptor.nested_types_by_name[one.name], one, names)
            in_text += 1

    def _read(self, payload: Payload, most_ns: int) -> Any:
        if PROTOBUF_BYTE * len(payload.data) > most_ns:
            raise TakesLong
        indexes, data = read_indexes(payload)
        fault = Unreadable("the schema has no message of these indexes")
        for made in self._messages.get(indexes, ()):
            try:
                return self._message(made, data)
            except Unreadable as error:
                fault = error
        raise fault

    @staticmethod
    def _message(made: Any, data: Buffer) -> Any:
        try:
            message = made.FromString(bytes(data))
        except DecodeError:
            raise Unreadable(f"it does not read as {made.DESCRIPTOR.full_name}") from None
        if len(UnknownFieldSet(message)):
            raise Unreadable(f"it has fields that {made.DESCRIPTOR.full_name} does not have")
        if not message.IsInitialized():
            raise Unreadable(f"it lacks required fields of {made.DESCRIPTOR.full_name}")
        return message


class _Plain:
    """Makes dictionaries of messages; fields without presence have their defaults, others are absent when not set."""

    def __init__(self, at_once: int) -> None:
        """Make no more than `at_once` fields: more take too long."""
        self._at_once, self._made = at_once, 0

    def of(self, message: Any) -> dict[str, object]:
        found: dict[str, object] = {}
        self._count(len(message.DESCRIPTOR.fields))
        for field in message.DESCRIPTOR.fields:
            if field.has_presence and not message.HasField(field.name):
                if field.message_type is None and field.containing_oneof is None:
                    found[field.name] = getattr(message, field.name)
                continue
            found[field.name] = self._field(field, getattr(message, field.name))
        return found

    def _field(self, field: Any, value: Any) -> object:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            inner = field.message_type.fields_by_name["value"]
            return {key: self._one(inner, value[key]) for key in value}
        if field.is_repeated:
            return [self._one(field, one) for one in value]
        return self._one(field, value)

    def _one(self, field: Any, value: Any) -> object:
        self._count(1)
        return value if field.message_type is None else self.of(value)

    def _count(self, fields: int) -> None:
        self._made += fields
        if self._made > self._at_once:
            raise TakesLong
        if self._made > MAX_RULE_VALUES:
            raise Unreadable("more values than rules may have")
