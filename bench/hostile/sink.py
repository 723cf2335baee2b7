"""Reads whatever comes and throws it away: `python -m bench.hostile.sink PORT`. What stands behind the relay."""

import select
import socket
import sys

RECEIVE_BYTES = 256 * 1024


def main() -> None:
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=1024)
    epoll = select.epoll()
    epoll.register(listener, select.EPOLLIN)
    connections: dict[int, socket.socket] = {}
    buffer = bytearray(RECEIVE_BYTES)
    while True:
        for number, _ in epoll.poll():
            if number == listener.fileno():
                connection, _ = listener.accept()
                connection.setblocking(False)
                connections[connection.fileno()] = connection
                epoll.register(connection, select.EPOLLIN)
                continue
            try:
                received = connections[number].recv_into(buffer)
            except BlockingIOError:
                continue
            except OSError:
                received = 0
            if not received:
                connections.pop(number).close()


if __name__ == "__main__":
    main()
