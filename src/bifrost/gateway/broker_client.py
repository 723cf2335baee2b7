"""The gateway's own requests to a broker: who is there, what can it do, whose topic ID is that.

One request at a time over one connection, with a time limit on each. Clients' requests never come this way.
"""

import asyncio
from typing import Any

from bifrost.gateway.errors import BrokerError
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.engine import decode, encode
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.errors import WireError
from bifrost.wire.headers import REQUEST_PREFIX, response_body_offset
from bifrost.wire.message import Message
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import response_schema

CLIENT_ID = b"bifrost"
_UNSUPPORTED_VERSION = int(ErrorCode.UNSUPPORTED_VERSION).to_bytes(2, "big")

MAX_RESPONSE_BYTES = 256 * 1024 * 1024
"""More than the metadata of a million partitions; a length above it means that this is no Kafka."""


class BrokerClient:
    """A connection to one broker for the gateway's own requests."""

    def __init__(self, host: str, port: int, *, timeout_ms: int) -> None:
        """Prepare a connection; `timeout_ms` bounds connecting and every request."""
        self.address = f"{host}:{port}"
        self._host, self._port = host, port
        self._timeout = timeout_ms / 1000
        self._correlation_id = 0
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def request(self, message: Message, version: int) -> Any:
        """Send a request and return its response.

        Raises:
            BrokerError: no connection, no answer within the time limit, or an answer that does not parse. The
                connection is closed then; the next request makes a new one.
        """
        try:
            async with asyncio.timeout(self._timeout):
                return await self._exchange(message, version)
        except (OSError, EOFError, TimeoutError, WireError) as error:
            await self.close()
            what = str(error) or type(error).__name__
            raise BrokerError(f"{self.address}: {what}") from error
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the connection, if there is one."""
        writer, self._reader, self._writer = self._writer, None, None
        if writer is not None:
            writer.close()

    async def _exchange(self, message: Message, version: int) -> Any:
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        assert self._reader is not None
        assert message.SCHEMA.api_key is not None
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        api_key = message.SCHEMA.api_key
        head = REQUEST_PREFIX.pack(api_key, version, self._correlation_id, len(CLIENT_ID)) + CLIENT_ID
        if message.SCHEMA.request_header_version(version) >= 2:
            head += b"\0"
        self._writer.write(encode(compile_layout(message.SCHEMA.name, version), message, head))
        size = int.from_bytes(await self._reader.readexactly(4), "big", signed=True)
        if not 4 <= size <= MAX_RESPONSE_BYTES:
            raise WireError(f"response length {size}, this is no Kafka broker", 0)
        frame = await self._reader.readexactly(size)
        if int.from_bytes(frame[:4], "big") != self._correlation_id:
            raise WireError("an answer to another request", 0)
        schema = response_schema(api_key)
        if api_key == ApiKey.API_VERSIONS and frame[4:6] == _UNSUPPORTED_VERSION:
            version = 0  # KIP-511: whatever was asked
        offset, _ = response_body_offset(frame, schema.response_header_version(version) >= 1)
        return decode(compile_layout(schema.name, version), frame, offset)
