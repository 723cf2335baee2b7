import sys

import pytest

from bifrost.registry import protobuf_compiler
from bifrost.registry.protobuf_compiler import compile_protobuf
from bifrost.schemas.readers.reader import SchemaError
from bifrost.schemas.registered_schema import Reference, RegisteredSchema, SchemaType

TIME = 'syntax = "proto3"; import "google/protobuf/timestamp.proto"; message M { google.protobuf.Timestamp at = 1; }'


def compiled(text: str, *references: Reference) -> bytes:
    return compile_protobuf(RegisteredSchema(SchemaType.PROTOBUF, text, references))


def test_a_schema_is_compiled_with_googles_own_types() -> None:
    assert b"google/protobuf/timestamp.proto" in compiled(TIME)


@pytest.mark.parametrize("text", ["", "message", 'syntax = "proto3"; import "other.proto";'])
def test_what_does_not_compile_is_refused(text: str) -> None:
    if not text:
        assert compiled(text)
        return
    with pytest.raises(SchemaError, match="no Protobuf schema"):
        compiled(text)


@pytest.mark.parametrize("name", ["/etc/x.proto", "../x.proto", "a/../../x.proto", "", "a\nb", "x" * 600])
def test_a_reference_cannot_leave_its_folder(name: str) -> None:
    with pytest.raises(SchemaError, match="name"):
        compiled(TIME, Reference(name, TIME))


def test_references_with_one_name_are_refused() -> None:
    with pytest.raises(SchemaError, match="same name"):
        compiled(TIME, Reference("a.proto", TIME), Reference("a.proto", TIME))


def test_a_compiler_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protobuf_compiler, "COMPILE_TIMEOUT_S", 0.0)

    with pytest.raises(SchemaError, match="more than"):
        compiled(TIME)


def test_a_compiler_that_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc_tools", None)

    with pytest.raises(SchemaError, match="install"):
        compiled(TIME)
