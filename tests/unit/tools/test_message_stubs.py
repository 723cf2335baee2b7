import ast
from pathlib import Path

from bifrost.wire import messages
from bifrost.wire.message import Struct, message_class
from bifrost.wire.schema import all_schemas, read_schemas
from message_stubs import write_stubs


def test_a_message_is_a_class_with_a_line_per_field_and_its_structs_within():
    table = {
        "messages": [
            {
                "name": "PingRequest",
                "kind": "request",
                "versions": "0-1",
                "flexible": "none",
                "fields": [
                    {"name": "TopicId", "type": "uuid", "versions": "0+"},
                    {"name": "Batch", "type": "records", "versions": "0+"},
                    {"name": "Names", "type": "[]string", "versions": "0+", "nullable": "1+"},
                    {
                        "name": "Topics",
                        "type": "[]Topic",
                        "versions": "0+",
                        "fields": [{"name": "Load", "type": "float64", "versions": "0+"}],
                    },
                ],
            }
        ]
    }

    stub = write_stubs(read_schemas(table))

    assert stub.splitlines()[3:] == [
        "class PingRequest(Message):",
        "    class Topic(Struct):",
        "        load: float = ...",
        "    topic_id: bytes = ...",
        "    batch: bytes | memoryview | None = ...",
        "    names: list[str] | None = ...",
        "    topics: list[PingRequest.Topic] = ...",
    ]


def test_a_message_without_fields_is_a_class_all_the_same():
    table = {
        "messages": [{"name": "Nothing", "kind": "data", "versions": "0", "flexible": "none", "fields": []}]
    }

    stub = write_stubs(read_schemas(table))

    assert stub.splitlines()[3:] == ["class Nothing(Message):", "    ..."]


def test_the_committed_stub_has_every_class_and_field_of_the_run_time():
    stub = ast.parse(Path(messages.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))

    stubbed = {node.name: _shape(node) for node in stub.body if isinstance(node, ast.ClassDef)}

    assert stubbed == {schema.name: _run_time_shape(message_class(schema.name)) for schema in all_schemas()}


def _shape(node: ast.ClassDef) -> dict[str, object]:
    fields = [item.target.id for item in node.body if isinstance(item, ast.AnnAssign)]  # type: ignore[union-attr]
    structs = {item.name: _shape(item) for item in node.body if isinstance(item, ast.ClassDef)}
    return {"fields": fields, "structs": structs}


def _run_time_shape(cls: type[Struct]) -> dict[str, object]:
    structs = {name: value for name, value in vars(cls).items() if isinstance(value, type)}
    return {
        "fields": [field.name for field in cls.FIELDS],
        "structs": {name: _run_time_shape(value) for name, value in structs.items()},
    }
