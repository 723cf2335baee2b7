"""A session whose client is known by the way it came (client_session.py, with an account in its entry)."""

from dataclasses import replace

from bifrost.authentication.accounts import Account
from bifrost.session.client_session import ClientSession
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.messages import metadata
from support.stage.playbook import Playbook, client_sends, to_broker, to_client
from support.stage.stage import Stage, authenticate, handshake, plain_token


def known(stage: Stage) -> ClientSession:
    session = ClientSession(stage.shared, replace(stage.entry(), account=Account("ANONYMOUS", "acme")))
    session.begin()
    return session


def test_the_first_request_goes_to_the_broker() -> None:
    stage = Stage()
    session = known(stage)

    assert session.is_authenticated
    assert session.account == Account("ANONYMOUS", "acme")
    book = Playbook(session, stage.topic_ids)
    assert book >> client_sends(metadata("orders")) << to_broker(metadata(physical_name("acme", "orders")))


def test_sasl_is_out_of_order() -> None:
    stage = Stage(max_reauth_ms=1000)
    book = Playbook(known(stage), stage.topic_ids)
    text = "SaslAuthenticate request received after successful authentication"
    error = ErrorCode.ILLEGAL_SASL_STATE

    assert (
        book
        >> client_sends(handshake(), 1)
        << to_client(messages.SaslHandshakeResponse(error_code=error))
        >> client_sends(authenticate(plain_token("globex")), 2)
        << to_client(messages.SaslAuthenticateResponse(error_code=error, error_message=text))
    )


def test_nothing_expires_for_there_is_nothing_to_repeat() -> None:
    stage = Stage(max_reauth_ms=1000)
    session = known(stage)

    stage.now_ms += 10**9

    assert session.lifetime_left_ms() is None
    assert session.authentications == 0
