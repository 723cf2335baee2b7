import sys

import pytest

from bifrost.schemas.build_reader import build_reader
from bifrost.schemas.readers.reader import SchemaError
from bifrost.schemas.registered_schema import RegisteredSchema, SchemaType


def test_a_reader_is_made_for_the_kind_of_the_schema() -> None:
    assert type(build_reader(RegisteredSchema(SchemaType.AVRO, '"int"'))).__name__ == "AvroReader"
    assert type(build_reader(RegisteredSchema(SchemaType.JSON, "{}"))).__name__ == "JsonReader"


def test_a_library_that_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bifrost.schemas.readers.avro_reader", None)

    with pytest.raises(SchemaError, match=r"pip install '\.\[schemas\]' in a clone of Bifrost"):
        build_reader(RegisteredSchema(SchemaType.AVRO, '"int"'))
