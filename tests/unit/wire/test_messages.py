import pytest

from bifrost.wire import messages
from bifrost.wire.message import Message, message_class
from bifrost.wire.messages import FetchRequest
from bifrost.wire.schema import all_schemas


def test_an_unknown_message_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no message 'FetchReqest'"):
        messages.FetchReqest  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(KeyError):
        message_class("FetchReqest")


def test_a_message_has_one_class_wherever_it_is_named() -> None:
    assert messages.FetchRequest is message_class("FetchRequest") is FetchRequest


def test_every_message_of_the_schema_table_can_be_imported() -> None:
    names = {schema.name for schema in all_schemas()}

    assert len(names) > 150
    assert names <= set(dir(messages))
    assert all(issubclass(getattr(messages, name), Message) for name in names)
