"""One GET or POST over HTTP or HTTPS, bounded in size and time: the gateway's own requests to an issuer of tokens.

h11 reads HTTP. Redirects are not followed, as only the configured server may answer; nothing is compressed, so that no
small answer becomes a large one.
"""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlencode, urlsplit

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
        context: TLS context for HTTPS; None for plain HTTP.
        max_bytes: largest body.
        timeout_s: time limit for the whole exchange.
    Raises:
        FetchError: no answer came in time, or it is not 200, too large, or not HTTP.
    """
    request = _Request("GET", (), b"", takes_any_status=False)
    _, body = await _ask(url, request, context, max_bytes, timeout_s)
    return body


async def post_form(
    url: str,
    form: Mapping[str, str],
    *,
    authorization: str,
    context: ssl.SSLContext | None,
    max_bytes: int,
    timeout_s: float,
) -> tuple[int, bytes]:
    """Send a form; return the status of the answer, whatever it is, and its body.

    Args:
        url: `http://` or `https://`.
        form: the fields.
        authorization: value of the Authorization header.
        context: TLS context for HTTPS; None for plain HTTP.
        max_bytes: largest body of an answer.
        timeout_s: time limit for the whole exchange.
    Raises:
        FetchError: no answer came in time, or it is too large, or not HTTP.
    """
    content = urlencode(form).encode()
    headers = (
        ("Authorization", authorization),
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Content-Length", str(len(content))),
    )
    request = _Request("POST", headers, content, takes_any_status=True)
    return await _ask(url, request, context, max_bytes, timeout_s)


@dataclass(frozen=True, slots=True, repr=False)
class _Request:
    method: str
    headers: tuple[tuple[str, str], ...]
    content: bytes
    takes_any_status: bool
    """Whether an answer with another status than 200 is accepted."""


async def _ask(
    url: str, request: _Request, context: ssl.SSLContext | None, max_bytes: int, timeout_s: float
) -> tuple[int, bytes]:
    split = urlsplit(url)
    # A query may hold secrets, which must not be logged.
    shown = f"{split.scheme}://{split.netloc}{split.path}"
    try:
        async with asyncio.timeout(timeout_s):
            return await _exchange(split, request, context, max_bytes)
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


async def _exchange(
    split: SplitResult, request: _Request, context: ssl.SSLContext | None, max_bytes: int
) -> tuple[int, bytes]:
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
            *request.headers,
        ]
        head = h11.Request(method=request.method, target=target, headers=headers)
        content = [h11.Data(data=request.content)] if request.content else []
        for event in (head, *content, h11.EndOfMessage()):
            writer.write(connection.send(event) or b"")
        await writer.drain()
        return await _receive(connection, reader, request, max_bytes)
    finally:
        writer.close()


async def _receive(
    connection: h11.Connection, reader: asyncio.StreamReader, request: _Request, max_bytes: int
) -> tuple[int, bytes]:
    status, body = 0, bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(_READ_BYTES))
        elif isinstance(event, h11.Response):
            status = event.status_code
            if status != 200 and not request.takes_any_status:
                raise FetchError(f"HTTP status {status}")
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > max_bytes:
                raise FetchError(f"larger than {max_bytes} bytes")
        elif isinstance(event, h11.EndOfMessage):
            return status, bytes(body)
        elif not isinstance(event, h11.InformationalResponse):
            raise FetchError("no answer to what was asked")


def _words_of(error: BaseException) -> str:
    reason = getattr(error, "strerror", None) or str(error)
    return str(reason) or type(error).__name__
