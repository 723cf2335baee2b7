"""The bytes of a TLS connection, with a socket that the test plays. Real TLS: tests/kafka/operations/test_tls.py."""

import ssl

import pytest

from bifrost.gateway.sockets.socket_stream import SHUTDOWN_TIMEOUT_S, SocketStream

from .played_socket import Listening, PlayedLoop, PlayedSocket

RECORD = b"r" * 16384


class Line:
    """A stream between a socket and a protocol."""

    def __init__(self, buffer_bytes: int = 65536, *, is_encrypted: bool = True) -> None:
        self.loop, self.socket, self.protocol = PlayedLoop(), PlayedSocket(), Listening(buffer_bytes)
        self.stream = SocketStream(self.loop, self.socket, self.protocol)  # type: ignore[arg-type]
        if is_encrypted:
            self.stream.encrypt(self.socket)  # type: ignore[arg-type]

    def receive(self, *records: bytes | Exception) -> None:
        self.socket.records.extend(records)
        assert self.loop.reader is not None
        self.loop.reader()


@pytest.fixture
def line() -> Line:
    made = Line()
    made.stream.resume_reading()
    return made


class TestReading:
    def test_nothing_is_read_before_it_is_wanted(self) -> None:
        line = Line()
        assert (line.loop.reader, line.stream.is_reading()) == (None, False)

    def test_a_record_goes_to_the_protocol(self, line: Line) -> None:
        line.receive(b"hello")

        assert line.protocol.got == [b"hello"]
        assert not line.loop.soon

    def test_what_openssl_keeps_of_a_record_is_read_before_it_is_told(self) -> None:
        line = Line(buffer_bytes=1000)
        line.stream.resume_reading()
        line.receive(b"a" * 2500)

        assert line.protocol.got == [b"a" * 1000, b"a" * 1000, b"a" * 500]

    def test_records_fill_the_protocols_memory_before_it_is_told(self) -> None:
        line = Line(buffer_bytes=3 * len(RECORD))
        line.stream.resume_reading()
        # As far as the system tells nothing more is unread, so the memory ends each of these.
        for _ in range(3):
            line.receive(RECORD)

        assert b"".join(line.protocol.got) == RECORD * 3

    def test_after_so_many_records_it_is_others_turn(self) -> None:
        line = Line(buffer_bytes=len(RECORD))
        line.stream.resume_reading()
        line.receive(*[RECORD] * 40)

        assert len(line.protocol.got) == 16
        assert line.loop.turn() == 1
        assert len(line.protocol.got) == 32
        line.loop.turn()
        assert b"".join(line.protocol.got) == RECORD * 40
        assert not line.loop.soon

    def test_a_pause_leaves_the_rest_of_a_record_where_it_is(self) -> None:
        line = Line(buffer_bytes=1000)
        line.protocol.buffer_updated = lambda _size: line.stream.pause_reading()  # type: ignore[method-assign]
        line.stream.set_protocol(line.protocol)
        line.stream.resume_reading()
        line.receive(b"a" * 1500)
        assert (line.loop.reader, list(line.socket.records)) == (None, [b"a" * 500])

        line.stream.resume_reading()
        line.loop.turn()

        assert not line.socket.records

    def test_what_came_before_a_failure_is_told(self, line: Line) -> None:
        line = Line(buffer_bytes=4)
        line.stream.resume_reading()
        line.receive(b"whole", ConnectionResetError("reset"))
        line.loop.turn()

        assert line.protocol.got == [b"whol", b"e"]
        line.receive()
        line.loop.turn()
        assert isinstance(line.protocol.told[0], tuple)
        assert isinstance(line.protocol.told[0][1], ConnectionResetError)
        assert line.socket.calls == ["close"]

    def test_what_a_protocol_does_not_catch_ends_it_and_is_told(self, line: Line) -> None:
        def fail(_size: int) -> None:
            raise KeyError("a defect")

        line.protocol.buffer_updated = fail  # type: ignore[method-assign]
        line.stream.set_protocol(line.protocol)
        with pytest.raises(KeyError):
            line.receive(RECORD)
        line.loop.turn()

        assert isinstance(line.protocol.told[0][1], KeyError)
        assert (line.loop.reader, line.socket.calls) == (None, ["close"])

    def test_an_end_without_close_notify_is_one_too(self, line: Line) -> None:
        line.receive(b"last", ssl.SSLEOFError())
        line.receive()
        line.loop.turn()

        assert line.protocol.got == [b"last"]
        assert line.protocol.told == ["eof", ("lost", None)]

    def test_its_end_is_answered_and_everything_closed(self, line: Line) -> None:
        line.receive(b"")
        line.loop.turn()

        assert line.protocol.told == ["eof", ("lost", None)]
        assert line.socket.calls == ["unwrap", "shutdown", "close"]


class TestWriting:
    def test_small_segments_become_one_record(self, line: Line) -> None:
        line.stream.writelines([b"one", memoryview(b"two"), b""])

        assert line.socket.written == [b"onetwo"]

    def test_large_segments_are_not_copied_together(self, line: Line) -> None:
        line.stream.writelines([b"head", b"x" * 20_000, b"tail", b"y" * 16_000, b"z" * 1000])

        expected = [b"head", b"x" * 16384, b"x" * 3616, b"tail" + b"y" * 16_000, b"z" * 1000]
        assert line.socket.written == expected

    def test_nothing_is_no_record(self, line: Line) -> None:
        line.stream.writelines([b"", b""])
        line.stream.write(b"")

        assert line.socket.written == []

    def test_what_the_socket_does_not_take_waits_for_room(self, line: Line) -> None:
        line.socket.room = 10
        line.stream.write(b"a" * 15)
        line.stream.write(b"b" * 5)
        assert line.stream.get_write_buffer_size() == 10
        assert line.loop.writer is not None

        line.socket.room = 1000
        line.loop.writer()

        assert b"".join(line.socket.written) == b"a" * 15 + b"b" * 5
        assert (line.stream.get_write_buffer_size(), line.loop.writer) == (0, None)

    def test_the_protocol_pauses_between_the_limits(self, line: Line) -> None:
        line.stream.set_write_buffer_limits(high=100)
        line.socket.room = 0
        line.stream.write(b"a" * 100)
        assert line.protocol.told == []
        line.stream.write(b"a")
        line.stream.write(b"a")
        assert line.protocol.told == ["pause"]

        line.socket.room = 76
        assert line.loop.writer is not None
        line.loop.writer()
        assert line.protocol.told == ["pause"]
        line.socket.room = 1
        line.loop.writer()
        assert line.protocol.told == ["pause", "resume"]

    def test_what_a_protocol_does_not_catch_when_there_is_room(self, line: Line) -> None:
        def fail() -> None:
            raise KeyError("a defect")

        line.protocol.resume_writing = fail  # type: ignore[method-assign]
        line.stream.set_write_buffer_limits(high=1)
        line.socket.room = 0
        line.stream.write(b"ab")

        line.socket.room = 2
        assert line.loop.writer is not None
        with pytest.raises(KeyError):
            line.loop.writer()
        line.loop.turn()

        assert isinstance(line.protocol.told[-1][1], KeyError)  # type: ignore[index]
        assert (line.loop.reader, line.loop.writer, line.socket.calls) == (None, None, ["close"])

    def test_a_failure_ends_it_once(self, line: Line) -> None:
        line.socket.failure = ssl.SSLError("gone")
        line.stream.write(b"a")
        line.stream.write(b"b")
        line.stream.abort()
        line.loop.turn()

        assert line.protocol.told == [("lost", line.socket.failure)]
        assert (line.loop.reader, line.loop.writer, line.socket.calls) == (None, None, ["close"])


class TestClosing:
    def test_what_was_written_is_sent_first(self, line: Line) -> None:
        line.socket.room = 1
        line.stream.write(b"abc")
        line.stream.close()
        line.stream.write(b"too late")
        assert (line.stream.is_closing(), line.socket.calls) == (True, [])

        line.socket.room = 100
        assert line.loop.writer is not None
        line.loop.writer()

        assert b"".join(line.socket.written) == b"abc"
        assert line.socket.calls == ["unwrap", "shutdown"]

    def test_what_still_comes_is_thrown_away_until_the_other_side_closes(self, line: Line) -> None:
        line.stream.close()
        line.receive(b"a request too many")
        assert line.socket.calls == ["unwrap", "shutdown"]

        line.receive(b"")
        line.loop.turn()

        assert line.protocol.got == []
        assert line.protocol.told == [("lost", None)]
        assert line.socket.calls == ["unwrap", "shutdown", "close"]
        assert line.loop.timers[0].is_cancelled

    def test_who_does_not_close_is_cut(self, line: Line) -> None:
        line.stream.close()
        line.stream.close()
        timer = line.loop.timers[0]
        assert timer.delay_s == SHUTDOWN_TIMEOUT_S

        timer.call()
        line.loop.turn()

        assert line.protocol.told == [("lost", None)]

    def test_without_tls_only_the_connection_is_closed(self) -> None:
        line = Line(is_encrypted=False)
        line.stream.close()

        assert line.socket.calls == ["shutdown"]

    def test_a_closed_one_is_not_read_any_more(self, line: Line) -> None:
        line.stream.abort()
        line.stream.resume_reading()

        assert (line.stream.is_reading(), line.loop.reader) == (False, None)
