"""Every message of the protocol by its name: `from bifrost.wire.messages import FetchRequest`.

The classes are made by wire/message.py from the schema table when they are first named; `messages.pyi` beside
this file, written by tools/compile_schemas.py, is what editors and mypy read.
"""

from bifrost.wire.message import Message, message_class
from bifrost.wire.schema import message_names


def __getattr__(name: str) -> type[Message]:
    try:
        found = message_class(name)
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no message {name!r}") from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(message_names())
