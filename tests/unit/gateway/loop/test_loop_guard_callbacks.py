"""All that the event loop calls: it catches its own exceptions, a test raises in it, or a reason says why neither.

A new callback makes this test fail until it is one of these. The event loop catches what escapes, and counts it, so the
listener accepts and the others are served in any case; what could be wrong is that a connection waits for ever, or that
others wait with it.
"""

from __future__ import annotations

from support.pages.loop_callbacks import callbacks, is_guarded_source
from support.pages.source_tree import ROOT

TESTS = "tests/kafka/operations/test_internal_errors.py"
ROUTES = "tests/kafka/operations/test_errors_of_routes.py"
BACKGROUND = "tests/kafka/operations/test_errors_in_background.py"
BUGS = "tests/unit/gateway/clients/test_client_connection_bugs.py"
SPLIT = "tests/unit/gateway/routing/test_straight_relay_split.py"
RELOAD = "tests/unit/gateway/reload/test_reloader.py"
STREAM = "tests/unit/gateway/sockets/test_socket_stream.py"

AWAITED = "the code that waits for the task gets its exception"
ENTERED = "`accepted_socket.enter` catches all"
GUARDED = "calls what catches its own exceptions, and nothing else"
GIVEN = "what is given to it: each giver is in this list, or catches its own exceptions"
STARTED = "ends a process that could not start, or whose supervisor is gone"

REASONS = {
    "admission/password_checks.py: _run": "reports what a check raises, and goes on with the next",
    "admin/admin_port.py: _serve": "a task of asyncio's streams; it reports all but lost connections",
    "brokers/broker_connection.py: BrokerConnection.buffer_updated": BUGS,
    "brokers/broker_connection.py: BrokerConnection.connection_made": TESTS,
    "brokers/broker_connection.py: BrokerConnection.pause_writing": BUGS,
    "brokers/broker_connection.py: BrokerConnection.resume_writing": BUGS,
    "brokers/broker_connection.py: _login_ends": GUARDED,
    "brokers/broker_connection.py: lambda: BrokerConnection(client)": AWAITED,
    "brokers/clusters.py: _discover": AWAITED,
    "brokers/topic_look_ups.py: _release": "sets results of futures that have none",
    "clients/client_connection.py: ClientConnection.buffer_updated": TESTS + " client_frames",
    "clients/client_connection.py: ClientConnection.connection_lost": TESTS + " end",
    "clients/client_connection.py: ClientConnection.connection_made": TESTS,
    "clients/client_connection.py: ClientConnection.pause_writing": BUGS,
    "clients/client_connection.py: ClientConnection.resume_writing": BUGS,
    "clients/client_connection.py: _catch_up": GUARDED,
    "clients/client_handshake.py: ClientHandshake.buffer_updated": TESTS + " _read_on",
    "clients/client_handshake.py: ClientHandshake.connection_lost": TESTS,
    "clients/client_handshake.py: ClientHandshake.connection_made": TESTS,
    "clients/client_handshake.py: ClientHandshake.get_buffer": "returns memory",
    "clients/client_handshake.py: departures.add": GIVEN,
    "clients/listener.py: TurnedAway.connection_made": TESTS,
    "clients/open_tenants.py: call": "tests/unit/forwarding/test_rooms.py test_a_waiter_that_fails",
    "clients/probation.py: _line_up": "its connection goes on by `ClientConnection._go_on`, which ends it",
    "exchange/gateway_exchange.py: _read": AWAITED,
    "exchange/gateway_exchange.py: _write": AWAITED,
    "gateway.py: _reload_in": "begins a task",
    "gateway.py: _serve": STARTED,
    "gateway.py: reloader.reload": RELOAD + " test_a_bug_is_reported_and_refuses_the_configuration",
    "gateway.py: tell": "sets an event",
    "issuers/identity_providers.py: callback": GIVEN,
    "issuers/jwks.py: callback": GIVEN,
    "loop/deadline.py: callback": GIVEN,
    "loop/later.py: call": GIVEN,
    "loop/look_up_line.py: _give_turns": "reports all, and fails those who wait",
    "loop/shared_run.py: _run": AWAITED,
    "loop/spare_memory.py: unmap": "gives memory back; no client waits for it",
    "reload/displaced.py: _end_them": "visits the connections, and reports what raises at one of them",
    "routing/fetch_polls.py: _look": ROUTES + " _complete",
    "routing/route_turns.py: _go_on": "each request catches its own exceptions",
    "routing/router.py: _look_up": ROUTES + " look_up",
    "routing/router.py: deliver": SPLIT + " test_a_bug_where_answers_are_delivered_ends_the_client",
    "routing/share_requests.py: _give_up": "its step catches all (`_do`)",
    "routing/split_requests.py: router.deliver": SPLIT
    + " test_a_bug_where_answers_are_delivered_ends_the_client",
    "routing/straight_relay.pyx: complete": SPLIT
    + " test_a_bug_where_a_large_answer_is_completed_ends_the_client",
    "routing/straight_relay.pyx: deliver": SPLIT + " test_a_bug_where_answers_are_delivered_ends_the_client",
    "sockets/half_close.py: HalfClose.connection_lost": TESTS + " end",
    "sockets/half_close.py: _pace": GUARDED,
    "sockets/ports.py: _watch": "watches a socket",
    "sockets/read_turns.pyx: begin_turn": "each socket's errors end that connection",
    "sockets/socket_stream.pyx: abort": "closes the socket",
    "sockets/socket_stream.pyx: tell": "calls `connection_lost`, each in this list",
    "sockets/socket_watch.pyx: _raise": "raises in the event loop what must end the process",
    "sockets/socket_watch.pyx: on_readable": STREAM
    + " test_what_a_protocol_does_not_catch_ends_it_and_is_told",
    "sockets/socket_watch.pyx: on_writable": STREAM
    + " test_what_a_protocol_does_not_catch_when_there_is_room",
    "sources/child_process.py: reap": "closes what a process that has ended leaves behind",
    "sources/dek_source.py: lambda _: self._asked.pop(key, None)": "removes a key",
    "sources/quarantine_source.py: topic.close": "closes connections that nothing waits for",
    "sources/reading/record_reader.py: _drop": "ends a process",
    "sources/reading/record_reader.py: _in_turn": AWAITED,
    "sources/schema_source.py: lambda _: self._asked.pop(key, None)": "removes a key",
    "sources/transforming/transform_runner.py: _in_turn": AWAITED,
    "state/state_changes.py: _work": "each change has its own outcome, an exception as well",
    "state/state_client.py: reader.run": "of a command, which ends with it",
    "state/state_follower.py: _step": BACKGROUND + " state_follower",
    "workers/channel.py: _answer": "reports all, and answers with an error",
    "workers/child.py: channel.run": AWAITED,
    "workers/child.py: lambda: None if ended.done() else ended.set_result(None)": "sets a result",
    "workers/given_ports.py: _take": ENTERED,
    "workers/kept_ports.py: _resume": "watches a socket",
    "workers/shared_topics.py: _tell_all": "tells other workers what they find out by themselves as well",
    "workers/supervisor.py: _hurry": "tells the workers, which end by themselves as well",
    "workers/supervisor.py: _keep": STARTED,
    "workers/supervisor.py: lambda: begin(self.reloader.reload())": "begins a task",
    "workers/supervisor.py: tell": "sets an event",
    "workers/supervisor.py: work": GIVEN,
    "workers/worker.py: _lose_supervisor": STARTED,
    "workers/worker.py: channel.run": STARTED,
    "workers/worker_peers.py: call": "tests/unit/forwarding/test_time_budgets.py test_a_look_that_fails",
}


def test_each_callback_catches_its_exceptions_or_is_known() -> None:
    found = callbacks()
    open_ones = {place for place, is_guarded in found.items() if not is_guarded}

    assert len(found) > 80, "the search does not find what it found before"
    assert open_ones - REASONS.keys() == set(), "guard it, or raise in it in a test"


def test_no_reason_is_given_in_vain() -> None:
    open_ones = {place for place, is_guarded in callbacks().items() if not is_guarded}

    assert REASONS.keys() - open_ones == set()


def test_tests_that_are_named_raise_in_what_they_are_named_for() -> None:
    for place, reason in REASONS.items():
        if not reason.startswith("tests/"):
            continue
        path, _, name = reason.partition(" ")
        name = name or place.rsplit(".", 1)[-1]
        assert name in (ROOT / path).read_text(encoding="utf-8"), place


def test_what_is_guarded_is_recognised() -> None:
    caught = "try:\n    go()\nexcept Exception as error:\n    report(error)"
    some = "try:\n    go()\nexcept ValueError:\n    pass"

    assert is_guarded_source(f"self.a = 1\n{caught}\nfinally:\n    self.b = None")
    assert is_guarded_source("with self._ending():\n    go()")
    assert is_guarded_source(f"if self.a:\n    return\n{caught}")
    assert not is_guarded_source("go()")
    assert not is_guarded_source(some)
    assert not is_guarded_source(f"{caught}\nfinally:\n    go()")
    assert not is_guarded_source(f"{caught}\ngo()")
    assert not is_guarded_source("if go():\n    return")
