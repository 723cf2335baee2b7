"""Makes the reader of a schema; the library of its kind is loaded then."""

from importlib import import_module

from bifrost.schemas.readers.reader import Reader, SchemaError
from bifrost.schemas.registered_schema import RegisteredSchema, SchemaType

_READERS = {
    SchemaType.AVRO: ("avro_reader", "AvroReader"),
    SchemaType.JSON: ("json_reader", "JsonReader"),
    SchemaType.PROTOBUF: ("protobuf_reader", "ProtobufReader"),
}


def build_reader(schema: RegisteredSchema) -> Reader:
    """Return what reads payloads of a schema.

    Raises:
        SchemaError: it cannot be used, or the library of its kind is not installed.
    """
    module, name = _READERS[schema.kind]
    try:
        made = getattr(import_module(f"bifrost.schemas.readers.{module}"), name)
    except ImportError:
        how = "pip install '.[schemas]' in a clone of Bifrost"
        raise SchemaError(f"nothing reads {schema.kind} here: {how}") from None
    reader: Reader = made(schema)
    return reader
