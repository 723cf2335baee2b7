"""Which messages the session decoded: those that it did not were rewritten in place."""

from typing import Any

import pytest

from bifrost.session import client_session, decoded_response
from bifrost.wire.codec import Layout, decode


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the messages that were decoded so far."""
    names: list[str] = []

    def spy(layout: Layout, *arguments: Any, **options: Any) -> Any:
        message = decode(layout, *arguments, **options)
        names.append(message.SCHEMA.name)
        return message

    monkeypatch.setattr(client_session, "decode", spy)
    monkeypatch.setattr(decoded_response, "decode", spy)
    return names
