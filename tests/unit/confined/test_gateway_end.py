import socket
import threading

from bifrost.confined.gateway_end import GatewayEnd


def test_messages_go_both_ways_until_the_gateway_ends() -> None:
    gateway, its_own = socket.socketpair()
    child, other = GatewayEnd(its_own), GatewayEnd(gateway)
    whole = memoryview(bytes(1 << 20))
    sending = threading.Thread(target=other.send, args=({"what": "read"}, [whole]))
    sending.start()

    found = child.receive()

    sending.join()
    assert found is not None
    assert found.head["what"] == "read"
    assert found.buffers == whole
    child.send({"ok": True})
    answer = other.receive()
    assert answer is not None
    assert answer.head["ok"] is True
    gateway.close()
    assert child.receive() is None
    its_own.close()
