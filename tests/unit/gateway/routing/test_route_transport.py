from bifrost.gateway.routing.route_transport import RouteTransport


def test_frames_are_given_on_until_it_is_closed() -> None:
    received: list[list[bytes | memoryview]] = []
    closed: list[bool] = []
    transport = RouteTransport(received.append, lambda _: None, lambda: closed.append(True))

    transport.writelines([b"a", b"b"])
    transport.write(b"c")
    transport.close()
    transport.abort()
    transport.writelines([b"d"])

    assert received == [[b"a", b"b"], [b"c"]]
    assert closed == [True]
    assert transport.is_closing()


def test_whether_answers_are_read_is_told() -> None:
    told: list[bool] = []
    transport = RouteTransport(lambda _: None, told.append, lambda: None)

    transport.pause_reading()
    assert not transport.is_reading()
    transport.resume_reading()

    assert transport.is_reading()
    assert told == [False, True]


def test_a_relay_takes_it_for_a_transport_without_a_socket_of_its_own() -> None:
    transport = RouteTransport(lambda _: None, lambda _: None, lambda: None)

    assert transport.get_extra_info("sslcontext") is not None
    assert transport.get_extra_info("socket") is None
    assert transport.get_write_buffer_size() == 0
