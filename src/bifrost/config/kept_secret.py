"""A secret of the gateway's own: the gateway sends it to a broker, so unlike a `Secret` it can be read back.

Its counterpart is `secrets.py`, for the secrets of clients, where a digest is enough. Neither is ever printed.
"""

from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from bifrost.config.secrets import Secret


class KeptSecret(Secret):
    """A secret value that `reveal` gives back; shown as `Secret(***)` wherever it is printed."""

    __slots__ = ("_value",)
    _value: bytes

    def __init__(self, value: bytes) -> None:
        super().__init__(value)
        object.__setattr__(self, "_value", value)

    def reveal(self) -> bytes:
        """Return the value; send it only to the server that it is meant for."""
        return self._value

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Accept only a KeptSecret, and dump it as `Secret(***)` in JSON."""
        masked = core_schema.plain_serializer_function_ser_schema(str, when_used="json")
        return core_schema.is_instance_schema(cls, serialization=masked)
