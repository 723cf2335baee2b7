"""The search for what must not be seen: secrets, and where they stand in a stream.

What a client itself has named is no secret to it: an answer may echo it. A name that an attacker sends becomes a name
of its own (there is now such a topic or group in its namespace) and may stand anywhere; an ID that it sends may stand
only in the answer to the request that has it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from support.clients.tap import Connection

CONTEXT_BYTES = 80


@dataclass(frozen=True)
class Secret:
    """Bytes that must not be delivered."""

    what: str
    value: bytes


@dataclass(frozen=True)
class Exposure:
    """A secret that was delivered, with what stands around it."""

    secret: Secret
    around: bytes


def address_secrets(host: str, port: int) -> list[Secret]:
    """An address as text, and as Metadata has it: the host, and behind it the port in four bytes."""
    return [
        Secret("the upstream's address as text", f"{host}:{port}".encode()),
        Secret("the upstream's port as text", f":{port}".encode()),
        Secret("the upstream's host and port", host.encode() + port.to_bytes(4, "big")),
    ]


def id_secrets(what: str, topic_id: bytes) -> list[Secret]:
    """A topic ID as it is, and as Kafka writes it in messages."""
    text = base64.urlsafe_b64encode(topic_id).rstrip(b"=")
    return [Secret(what, topic_id), Secret(f"{what} as text", text)]


def exposures(
    stream: bytes | bytearray, secrets: Sequence[Secret], allowed: Iterable[bytes] = ()
) -> Iterator[Exposure]:
    """Yield every secret in a stream that is not part of something allowed."""
    allowed = list(allowed)
    for secret in secrets:
        place = stream.find(secret.value)
        while place >= 0:
            end = place + len(secret.value)
            if not any(_covers(stream, one, place, end) for one in allowed):
                around = bytes(stream[max(0, place - CONTEXT_BYTES) : end + CONTEXT_BYTES])
                yield Exposure(secret, around)
            place = stream.find(secret.value, place + 1)


def _covers(stream: bytes | bytearray, name: bytes, start: int, end: int) -> bool:
    """Whether an occurrence of a name has in it what stands from `start` to `end`."""
    if len(name) < end - start:
        return False
    return stream.find(name, max(0, end - len(name)), start + len(name)) >= 0


def exposures_of(
    connection: Connection, secrets: Sequence[Secret], attacked: Sequence[bytes], asked: Sequence[bytes]
) -> Iterator[Exposure]:
    """Yield the exposures on a connection.

    Args:
        connection: a tapped one.
        secrets: of all others.
        attacked: names that this tenant's attacker sends.
        asked: IDs that are allowed in answers to requests that have them, and only there.
    """
    ids = {secret.value for secret in secrets} & set(asked)
    found = list(exposures(connection.received, secrets, attacked))
    if not any(exposure.secret.value in ids for exposure in found):
        yield from found
        return
    yield from (exposure for exposure in found if exposure.secret.value not in ids)
    wanted = [secret for secret in secrets if secret.value in ids]
    for request, answer in connection.answers():
        asked_not = [one for one in wanted if one.value not in request.frame]
        found = list(exposures(answer, asked_not, attacked))
        yield from (exposure for exposure in found if not _is_of_own_member(exposure, request.client_id))


def _is_of_own_member(exposure: Exposure, client_id: str) -> bool:
    """Whether an ID is that of a member which the asking client itself has made, of this ID, in a round before.

    A member chooses its own ID in the newer groups. Behind it stands its client ID, and others have another one.
    """
    _, _, behind = exposure.around.rpartition(exposure.secret.value)
    own = client_id.encode()
    return any(size + own in behind for size in (bytes([len(own) + 1]), len(own).to_bytes(2, "big")))
