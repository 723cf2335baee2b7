"""One GET over HTTP or HTTPS, bounded in size and time: the gateway's own requests to an issuer of tokens.

h11 reads HTTP. Redirects are not followed, for who answers must be who was configured; nothing is compressed, so that
no small answer becomes a large one.
"""

import asyncio
import ssl
from urllib.parse import SplitResult, urlsplit

import h11

MAX_HEAD_BYTES = 16 * 1024
"""Largest status line and headers."""

_READ_BYTES = 16 * 1024


class FetchError(Exception):
    """A page could not be fetched; the text says which and why, for the operator."""


async def get(url: str, *, context: ssl.SSLContext | None, max_bytes: int, timeout_s: float) -> bytes:
    """Return the body of a page.

    Args:
        url: `http://` or `https://`.
        context: how HTTPS is spoken; None: HTTP alone is.
        max_bytes: largest body.
        timeout_s: for everything.
    Raises:
        FetchError: there is no answer in time, it is not 200, too large, or no HTTP.
    """
    split = urlsplit(url)
    # A query may hold what is not for a log.
    shown = f"{split.scheme}://{split.netloc}{split.path}"
    try:
        async with asyncio.timeout(timeout_s):
            return await _get(split, context, max_bytes)
    except TimeoutError:
        raise FetchError(f"{shown}: no answer within {timeout_s:g} s") from None
    except ssl.SSLCertVerificationError as error:
        raise FetchError(f"{shown}: the certificate is not trusted: {error.verify_message}") from None
    except OSError as error:
        raise FetchError(f"{shown}: {_words_of(error)}") from None
    except h11.ProtocolError:
        raise FetchError(f"{shown}: the answer ended too early, or is no HTTP") from None
    except FetchError as error:
        raise FetchError(f"{shown}: {error}") from None


async def _get(split: SplitResult, context: ssl.SSLContext | None, max_bytes: int) -> bytes:
    is_secure = split.scheme == "https"
    if is_secure and context is None:
        raise FetchError("HTTPS is not spoken here")
    host = split.hostname or ""
    port = split.port or (443 if is_secure else 80)
    reader, writer = await asyncio.open_connection(host, port, ssl=context if is_secure else None)
    try:
        connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        target = (split.path or "/") + (f"?{split.query}" if split.query else "")
        headers = [
            ("Host", split.netloc),
            ("Accept", "application/json"),
            ("Accept-Encoding", "identity"),
            ("Connection", "close"),
        ]
        for event in (h11.Request(method="GET", target=target, headers=headers), h11.EndOfMessage()):
            writer.write(connection.send(event) or b"")
        await writer.drain()
        return await _receive(connection, reader, max_bytes)
    finally:
        writer.close()


async def _receive(connection: h11.Connection, reader: asyncio.StreamReader, max_bytes: int) -> bytes:
    body = bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(_READ_BYTES))
        elif isinstance(event, h11.Response):
            if event.status_code != 200:
                raise FetchError(f"HTTP status {event.status_code}")
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > max_bytes:
                raise FetchError(f"larger than {max_bytes} bytes")
        elif isinstance(event, h11.EndOfMessage):
            return bytes(body)
        elif not isinstance(event, h11.InformationalResponse):
            raise FetchError("no answer to what was asked")


def _words_of(error: BaseException) -> str:
    reason = getattr(error, "strerror", None) or str(error)
    return str(reason) or type(error).__name__
