import pytest

from bifrost.schemas import avro_program as module
from bifrost.schemas.avro_program import TooManyTypes, avro_program

NODE = {
    "type": "record",
    "name": "shop.Node",
    "fields": [{"name": "next", "type": ["null", "shop.Node"]}, {"name": "id", "type": "int"}],
}


def test_a_type_that_has_itself_is_one_node() -> None:
    program = avro_program(NODE, {"shop.Node": NODE})

    assert program.check(b"\2\0\2\4", 100) == 7
    with pytest.raises(ValueError, match="end within a number"):
        program.check(b"\2\0\2", 100)


def test_types_of_references_are_found_by_their_names() -> None:
    assert avro_program({"type": "array", "items": "shop.Node"}, {"shop.Node": NODE}).check(b"\2\0\4\0", 100)


def test_a_schema_of_too_many_types_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_NODES", 3)

    with pytest.raises(TooManyTypes):
        avro_program(NODE, {"shop.Node": NODE})
