"""A password that is to be checked is a need of the session, which goes on when the check has run."""

from dataclasses import replace

import pytest

from bifrost.authentication.accounts import Account, Accounts
from bifrost.config.fields.verifiers import MIN_ITERATIONS, Mechanism, ScramVerifier
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.session.needs import IssuerKeys, PasswordChecked
from support.stage.playbook import request_frame
from support.stage.stage import Stage, authenticate, handshake, plain_token

SHA_256 = Mechanism.SCRAM_SHA_256
VERIFIER = ScramVerifier.derive(SHA_256, b"acme-password", b"a salt of 16 byt", MIN_ITERATIONS)


@pytest.mark.parametrize("password", [None, "guess"])
def test_a_session_needs_the_check_of_a_password_and_goes_on_when_it_has_run(password: str | None) -> None:
    stage = Stage()
    accounts = Accounts([Account("acme", "acme", verifiers={SHA_256: VERIFIER})], key=b"key")
    stage.shared.sasl = replace(stage.shared.sasl, accounts=accounts)
    session = stage.session()
    session.receive_from_client(request_frame(handshake(), 1, 1))
    session.receive_from_client(request_frame(authenticate(plain_token("acme", password)), 2, 2))

    (need,) = session.needs
    assert isinstance(need, PasswordChecked)
    assert need != IssuerKeys()
    assert session.is_holding
    need.check.run()
    if password is None:
        session.meet(need)
        assert session.is_authenticated
    else:
        with pytest.raises(SessionEnded) as ended:
            session.meet(need)
        assert ended.value.reason == CloseReason.AUTHENTICATION_FAILED
    assert session.needs == ()
