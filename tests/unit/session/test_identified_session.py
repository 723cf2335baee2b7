"""What a session knows of its client before, when and after the client proves who it is."""

from dataclasses import replace

import pytest

from bifrost.session.client_session import ClientSession
from bifrost.session.close_reason import CloseReason, SessionEnded
from support.physical_names import physical_name
from support.stage.messages import metadata
from support.stage.playbook import Playbook, client_sends, to_broker
from support.stage.stage import Stage, account, authenticate, handshake, plain_token


def test_a_new_session_has_no_client(stage: Stage) -> None:
    session = stage.session()

    session.begin("10.0.0.7:51234")

    assert (session.is_authenticated, session.account, session.authentications) == (False, None, 0)
    assert session.max_unauthenticated_frame_bytes > 0
    assert session.lifetime_left_ms() is None
    assert session.close() is None, "a connection may end before its client is known"


def test_a_listener_that_knows_its_clients_lets_them_in_at_once(stage: Stage) -> None:
    session = ClientSession(stage.shared, replace(stage.entry(), account=account("acme")))

    session.begin("10.0.0.7:51234")

    assert session.account == account("acme")
    assert (session.max_unauthenticated_frame_bytes, session.tried_mechanism) == (0, None)
    assert (
        Playbook(session, stage.topic_ids)
        >> client_sends(metadata("orders"))
        << to_broker(metadata(physical_name("acme", "orders")))
    )


def test_the_mechanism_that_a_client_tries_is_known_until_it_is_let_in(stage: Stage) -> None:
    book = stage.play(tenant=None)
    assert book.session.tried_mechanism is None
    book = book >> client_sends(handshake(), 1)
    tried = book.session.tried_mechanism
    book.said.to_client.clear()

    book = stage.play("acme")

    assert tried == "PLAIN"
    assert (book.session.tried_mechanism, book.session.authentications) == (None, 1)


def test_a_client_without_a_broker_here_is_told_to_go(stage: Stage) -> None:
    entry = replace(stage.entry(), routes={}, account=account("acme"))
    session = ClientSession(stage.shared, entry)

    with pytest.raises(SessionEnded) as caught:
        session.begin()

    assert caught.value.reason is CloseReason.BROKER_UNREACHABLE
    assert session.close() is None, "a connection may end before its client has a broker"


def test_the_bytes_of_an_authentication_are_counted_for_no_tenant(stage: Stage) -> None:
    book = stage.play("acme")

    counted = {
        (tenant, key): one.requests for tenant, key, one in stage.shared.lanes if one.requests and not tenant
    }
    assert book.session.is_authenticated
    assert counted == {("", 17): 1, ("", 36): 1}


def test_when_its_time_is_over_a_session_takes_a_new_authentication_only() -> None:
    stage = Stage(max_reauth_ms=1000)
    book = stage.play(tenant=None) >> client_sends(handshake(), 1)
    book.said.to_client.clear()
    book = book >> client_sends(authenticate(plain_token("acme")), 2)
    session = book.session
    assert session.lifetime_left_ms() == 1000

    stage.now_ms += 999
    assert session.lifetime_left_ms() == 1
    assert session.max_unauthenticated_frame_bytes == 0
    stage.now_ms += 1

    assert session.lifetime_left_ms() == 0
    assert session.max_unauthenticated_frame_bytes > 0
    assert session.account == account("acme")
