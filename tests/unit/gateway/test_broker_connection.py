import pytest

from bifrost.gateway.broker_connection import MAX_RESPONSE_BYTES, BrokerConnection
from bifrost.session.close_reason import CloseReason
from support.fake_transport import FakeTransport, framed, receive


class Client:
    """Takes note of what its broker side tells it."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.ends: list[tuple[CloseReason, str]] = []
        self.updates = 0

    def broker_bytes_received(self, framer, nbytes: int) -> None:
        self.frames += map(bytes, framer.buffer_updated(nbytes))

    def update_reading(self) -> None:
        self.updates += 1

    def end(self, reason: CloseReason, detail: str) -> None:
        self.ends.append((reason, detail))


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture
def broker(client: Client) -> BrokerConnection:
    broker = BrokerConnection(client)  # type: ignore[arg-type]
    broker.connection_made(FakeTransport())
    return broker


def test_what_comes_is_handed_to_the_client_in_frames(client: Client, broker: BrokerConnection) -> None:
    stream = framed(b"one", b"two" * 5000, b"three")

    receive(broker, stream[:5])
    receive(broker, stream[5:])

    assert client.frames == [b"one", b"two" * 5000, b"three"]


def test_it_tells_when_the_broker_does_not_read(client: Client, broker: BrokerConnection) -> None:
    broker.pause_writing()
    assert (broker.is_write_paused, client.updates) == (True, 1)

    broker.resume_writing()

    assert (broker.is_write_paused, client.updates) == (False, 2)


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (None, "the broker closed the connection"),
        (
            ConnectionResetError(104, "Connection reset by peer"),
            "ConnectionResetError: [Errno 104] Connection reset by peer",
        ),
    ],
)
def test_its_end_is_the_clients(client: Client, broker: BrokerConnection, error, detail: str) -> None:
    assert broker.eof_received() is False

    broker.connection_lost(error)

    assert client.ends == [(CloseReason.BROKER_CLOSED, detail)]
    assert broker.transport is None


def test_an_answer_has_a_largest_size(broker: BrokerConnection) -> None:
    assert broker.framer.max_frame_bytes == MAX_RESPONSE_BYTES
